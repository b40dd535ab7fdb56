"""Every kernel against its formula, written once more with nothing but numpy."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from adiabat.kernels import (
    RBF,
    TILE_COLUMNS,
    TILE_ROWS,
    Augmented,
    Custom,
    Exponential,
    ExponentialProduct,
    Linear,
    Polynomial,
    Precomputed,
    Rows,
    Sigmoid,
    expansion,
    rows_of,
)

ROUNDING = 1e-13  # of the largest kernel value
SINGLE = 2e-5  # the same for float32


# ---------------------------------------------------------------- all kernels, once


def product(A, B):
    return np.array([[sum(a * b) for b in B] for a in A]).reshape(len(A), len(B))


def distance(A, B):
    return np.array([[np.linalg.norm(a - b) for b in B] for a in A]).reshape(len(A), len(B))


def inverse_distance(A, B):
    """A similarity that the library does not have, for dense and sparse rows."""
    A, B = (M.toarray() if sparse.issparse(M) else M for M in (A, B))
    return 1.0 / (1.0 + np.abs(A[:, None, :] - B[None, :, :]).sum(axis=2))


def negative_product(A, B):
    return -(A @ B.T)


@dataclass(frozen=True)
class Case:
    """A kernel, the formula that it has to follow, and whether it takes kernel values for rows."""

    kernel: Any
    formula: Callable[..., Any]
    given: bool = False

    def rows(self, X, kind=np.asarray):
        if self.given:
            return Rows(kind(self.formula(X, X)))
        return rows_of(kind(X))

    def prepared(self, X, dtype=np.float64, kind=np.asarray):
        return self.kernel.prepare(self.rows(X, kind), dtype)

    def size(self, X):
        return max(1.0, np.abs(self.formula(X, X)).max())


def polynomial(degree, gamma, coef0):
    return Case(
        Polynomial(degree, gamma, coef0), lambda A, B: (gamma * product(A, B) + coef0) ** degree
    )


CASES = {
    "linear": Case(Linear(), product),
    "constant polynomial": polynomial(0, 0.5, 1.0),
    "affine polynomial": polynomial(1, 0.5, 2.0),
    "quadratic": polynomial(2, 1.0, 1.0),
    "cubic": polynomial(3, 0.25, 0.0),
    "quintic": polynomial(5, 0.2, 0.5),
    "polynomial of degree 7": polynomial(7, 0.1, 1.0),
    "polynomial with a negative constant": polynomial(2, 1.0, -1.0),
    "rbf": Case(RBF(0.5), lambda A, B: np.exp(-0.5 * distance(A, B) ** 2)),
    "narrow rbf": Case(RBF(8.0), lambda A, B: np.exp(-8.0 * distance(A, B) ** 2)),
    "sigmoid": Case(Sigmoid(0.5, -1.0), lambda A, B: np.tanh(0.5 * product(A, B) - 1.0)),
    "exponential of the product": Case(
        ExponentialProduct(0.3), lambda A, B: np.exp(0.3 * product(A, B)) - 1.0
    ),
    "exponential": Case(Exponential(0.7), lambda A, B: np.exp(-0.7 * distance(A, B))),
    "precomputed": Case(Precomputed(), lambda A, B: np.cos(distance(A, B)), given=True),
    "custom": Case(Custom(inverse_distance), inverse_distance),
    "augmented linear": Case(Augmented(Linear(), 2.5), lambda A, B: product(A, B) + 2.5),
    "augmented rbf": Case(
        Augmented(RBF(0.5), 1.0), lambda A, B: np.exp(-0.5 * distance(A, B) ** 2) + 1.0
    ),
    "augmented custom": Case(
        Augmented(Custom(inverse_distance), 0.5), lambda A, B: inverse_distance(A, B) + 0.5
    ),
}
GIVEN = [name for name, case in CASES.items() if case.given]
every_kernel = pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
COMPUTED = {name: case for name, case in CASES.items() if not case.given}
every_computed_kernel = pytest.mark.parametrize("case", COMPUTED.values(), ids=COMPUTED.keys())


def drawn(n=23, features=4, seed=0):
    """Rows with zeros among them, and two rows twice."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, features)) * (rng.random((n, features)) < 0.7)
    X[n - 2 :] = X[:2]
    return X


def assert_close(values, wanted, tolerance):
    assert values.shape == wanted.shape
    assert np.abs(values - wanted).max(initial=0.0) <= tolerance


# ---------------------------------------------------------------- values


@every_kernel
def test_a_block_is_what_the_formula_says(case):
    X = drawn()
    a, b = np.arange(3, 20), np.array([5, 0, 22, 11])
    rows = case.prepared(X)
    block = case.kernel.block(rows.take(a), rows.take(b))
    assert block.dtype == np.float64
    assert_close(block, case.formula(X, X)[np.ix_(a, b)], ROUNDING * case.size(X))


@every_kernel
def test_a_block_in_single_precision_is_close(case):
    X = drawn()
    rows = case.prepared(X, np.float32)
    block = case.kernel.block(rows, rows)
    assert block.dtype == np.float32
    assert_close(block, case.formula(X, X), SINGLE * case.size(X))


@every_kernel
def test_the_diagonal_is_that_of_the_block(case):
    X = drawn()
    diagonal = case.kernel.diagonal(case.rows(X))
    assert diagonal.dtype == np.float64
    assert_close(diagonal, np.diag(case.formula(X, X)), ROUNDING * case.size(X))


@every_kernel
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_sparse_rows_give_what_dense_rows_give(case, dtype):
    X = drawn()
    sparse_rows = case.prepared(X, dtype, sparse.csr_matrix)
    tolerance = (ROUNDING if dtype is np.float64 else SINGLE) * case.size(X)
    block = case.kernel.block(sparse_rows, sparse_rows)
    assert isinstance(block, np.ndarray)
    assert block.dtype == dtype
    assert_close(block, case.formula(X, X), tolerance)
    diagonal = case.kernel.diagonal(case.rows(X, sparse.csr_matrix))
    assert_close(diagonal, np.diag(case.formula(X, X)), ROUNDING * case.size(X))


@every_kernel
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix])
def test_a_block_leaves_the_rows_as_they_were(case, kind):
    rows = case.prepared(drawn(), kind=kind)
    first = case.kernel.block(rows, rows).copy()
    case.kernel.block(rows, rows)[:] = np.nan
    assert np.array_equal(case.kernel.block(rows, rows), first)


@every_kernel
@pytest.mark.parametrize("index", [slice(4, 9), np.array([7, 7, 1]), np.arange(0)])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix])
def test_taking_rows_is_taking_lines_of_the_matrix(case, index, kind):
    X = drawn()
    whole = case.prepared(X, kind=kind)
    part = whole.take(index)
    K = case.formula(X, X)
    assert len(part) == len(K[index])
    if len(part):
        tolerance = ROUNDING * case.size(X)
        assert_close(case.kernel.block(part, whole), K[index], tolerance)
        assert_close(case.kernel.block(whole, part), K[:, index], tolerance)


@every_computed_kernel
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix])
def test_taking_rows_before_they_are_prepared_is_the_same(case, kind):
    X, index = drawn(), np.array([3, 20, 8])
    some = case.kernel.prepare(case.rows(X, kind).take(index), np.float64)
    block = case.kernel.block(some, case.prepared(X, kind=kind))
    assert_close(block, case.formula(X[index], X), ROUNDING * case.size(X))


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.integers(0, 25), st.sampled_from((-1.5, -0.5, 0.5, 1.0)), st.floats(-1.0, 1.0))
def test_a_power_by_squaring_is_the_power(degree, gamma, coef0):
    X = np.array([[0.5, -0.25], [1.0, 0.75], [-0.5, 0.5], [0.0, 0.0]])
    rows = Polynomial(degree, gamma, coef0).prepare(rows_of(X), np.float64)
    wanted = (gamma * product(X, X) + coef0) ** degree
    block = Polynomial(degree, gamma, coef0).block(rows, rows)
    assert_close(block, wanted, 1e-14 * (degree + 1) * max(1.0, np.abs(wanted).max()))


# ---------------------------------------------------------------- definiteness


def spectrum(case, X):
    rows = case.prepared(X)
    K = case.kernel.block(rows, rows)
    return np.linalg.eigvalsh(0.5 * (K + K.T))


@every_kernel
@pytest.mark.parametrize("seed", range(4))
def test_a_kernel_that_says_so_is_positive_semidefinite(case, seed):
    eigenvalues = spectrum(case, drawn(40, 1 + seed, seed))
    if case.kernel.convex:
        assert eigenvalues[0] >= -1e-13 * len(eigenvalues) * eigenvalues[-1]


@pytest.mark.parametrize(
    "kernel",
    [
        Polynomial(2, 1.0, -1.0),
        Polynomial(3, -1.0, 0.0),
        Sigmoid(2.0, -1.0),
        Augmented(Linear(), -1.0),
        Custom(negative_product),
    ],
    ids=lambda kernel: type(kernel).__name__,
)
def test_a_kernel_that_can_be_indefinite_does_not_say_otherwise(kernel):
    assert spectrum(Case(kernel, product), drawn())[0] < -1e-3
    assert kernel.convex is None


@pytest.mark.parametrize("name", ["linear", "cubic", "rbf", "exponential", "augmented rbf"])
def test_the_usual_kernels_say_that_they_are_positive_semidefinite(name):
    assert CASES[name].kernel.convex is True


# ---------------------------------------------------------------- far away, and equal rows

distances = pytest.mark.parametrize("away", [0.0, 1e3, 1e6, 1e9])


def on_grid(away):
    """Rows on a grid of sixteenths, so that the same rows far away are exactly the same."""
    rng = np.random.default_rng(3)
    return rng.integers(-32, 33, (60, 3)) / 16.0 + away


@distances
@pytest.mark.parametrize("gamma", [0.1, 1.0, 10.0])
def test_a_gaussian_kernel_is_as_exact_far_from_the_origin(away, gamma):
    near, far = on_grid(0.0), on_grid(away)
    wanted = np.exp(-gamma * distance(near, near) ** 2)
    for dtype, tolerance in ((np.float64, ROUNDING), (np.float32, SINGLE)):
        rows = RBF(gamma).prepare(rows_of(far), dtype)
        assert_close(RBF(gamma).block(rows, rows), wanted, tolerance * max(1.0, gamma))


@distances
def test_new_rows_share_the_origin_of_the_old_ones(away):
    near, far = on_grid(0.0), on_grid(away)
    held = rows_of(far[:40])
    old = RBF(1.0).prepare(held, np.float64)
    new = RBF(1.0).prepare(Rows(far[40:], held.origin), np.float64)
    wanted = np.exp(-(distance(near[40:], near[:40]) ** 2))
    assert_close(RBF(1.0).block(new, old), wanted, ROUNDING)


@distances
@pytest.mark.parametrize("gamma", [1e-3, 1.0, 10.0])
def test_equal_rows_are_as_similar_as_can_be(away, gamma):
    X = on_grid(away)
    pairs = np.flatnonzero((X[:, None, :] == X[None, :, :]).all(axis=2))
    reach = gamma * (np.square(X - X.mean(axis=0)).sum(axis=1).max() + 1.0)
    for kernel, rounding in ((RBF(gamma), 4e-16 * (1.0 + 4.0 * reach)), (Exponential(gamma), 0.0)):
        rows = kernel.prepare(rows_of(X), np.float64)
        values = kernel.block(rows, rows).ravel()[pairs]
        assert np.abs(values - 1.0).max() <= rounding
        assert (kernel.diagonal(rows_of(X)) == 1.0).all()


def test_rows_without_an_origin_stay_where_they_are():
    X = on_grid(5.0)
    assert rows_of(sparse.csr_matrix(X)).origin is None
    assert rows_of(X[:0]).origin is None


@pytest.mark.parametrize("offset", [0.0, 3.0, -1e6, 1e12])
@pytest.mark.parametrize("rows", [1, 2, 30])
def test_the_origin_is_near_the_mean_and_no_row(offset, rows):
    X = offset + np.random.default_rng(0).standard_normal((rows, 4))
    origin = rows_of(X).origin
    assert (
        np.abs(origin - X.mean(axis=0)) <= np.maximum(np.ptp(X, axis=0), 1e-6 * np.abs(X).max())
    ).all()
    assert not np.isin(X, origin).any()


# ---------------------------------------------------------------- callables that go wrong


def transposed(A, B):
    return np.ones((len(B), len(A)))


def flat(A, B):
    return np.ones(len(A))


def scalar(A, B):
    return 1.0


def missing(A, B):
    return np.where(A @ B.T > 0, np.nan, 1.0)


def infinite(A, B):
    return np.full((len(A), len(B)), -np.inf)


SHAPE = "kernel: the callable returned shape {} for 3 and 2 rows; wanted (3, 2)"
FINITE = "kernel: the callable returned NaN or infinity; wanted finite numbers"


@pytest.mark.parametrize(
    ("returned", "text"),
    [
        (transposed, SHAPE.format("(2, 3)")),
        (flat, SHAPE.format("(3,)")),
        (scalar, SHAPE.format("()")),
        (missing, FINITE),
        (infinite, FINITE),
    ],
)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_callable_that_returns_something_else_is_refused(returned, text, dtype):
    rows = Custom(returned).prepare(Rows(np.ones((5, 2))), dtype)
    with pytest.raises(ValueError, match=f"^{re.escape(text)}$"):
        Custom(returned).block(rows.take(slice(3)), rows.take(slice(3, 5)))


def test_the_diagonal_of_a_callable_is_checked_too():
    kernel = Custom(lambda A, B: np.log(A @ B.T - 2.0))
    with pytest.raises(ValueError, match="NaN or infinity"), np.errstate(all="ignore"):
        kernel.diagonal(Rows(np.eye(2)))


def test_a_callable_may_return_a_sparse_matrix_a_list_or_integers():
    X = sparse.csr_matrix(np.array([[1.0, 0.0], [0.0, 2.0], [1.0, 1.0]]))
    wanted = [[1.0, 0.0, 1.0], [0.0, 4.0, 2.0], [1.0, 2.0, 2.0]]
    for function in (
        lambda A, B: A @ B.T,
        lambda A, B: (A @ B.T).toarray().tolist(),
        lambda A, B: (A @ B.T).toarray().astype(int),
    ):
        rows = Custom(function).prepare(Rows(X), np.float64)
        block = Custom(function).block(rows, rows)
        assert block.dtype == np.float64
        assert block.tolist() == wanted


def test_what_a_callable_returned_is_not_written_to():
    held = np.ones((3, 3))

    def the_same_array(A, B):
        return held

    kernel = Augmented(Custom(the_same_array), 1.0)
    rows = kernel.prepare(Rows(np.eye(3)), np.float64)
    assert (kernel.block(rows, rows) == 2.0).all()
    assert (held == 1.0).all()


# ---------------------------------------------------------------- sums of columns

SIZES = [1, TILE_ROWS - 1, TILE_ROWS, TILE_ROWS + 1, TILE_COLUMNS + 1, 2 * TILE_COLUMNS + 7]


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("m", SIZES)
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix])
def test_an_expansion_is_matrix_times_weights_whatever_the_tiles(n, m, kind):
    rng = np.random.default_rng(n + m)
    A, B = rng.standard_normal((n, 3)), rng.standard_normal((m, 3))
    a, b = (Linear().prepare(Rows(kind(M)), np.float64) for M in (A, B))
    for shape in ((m,), (m, 2)):
        weights = rng.standard_normal(shape)
        wanted = A @ (B.T @ weights)
        tolerance = ROUNDING * (np.abs(A) @ (np.abs(B).T @ np.abs(weights))).max()
        assert_close(expansion(Linear(), a, b, weights), wanted, tolerance)


@every_kernel
def test_an_expansion_of_every_kernel_is_its_matrix_times_weights(case):
    X = np.tile(drawn(67), (8, 1))  # more rows than a tile, with few formulas to evaluate
    K = np.tile(case.formula(X[:67], X[:67]), (8, 8))
    values = K if case.given else X
    rows = case.kernel.prepare(Rows(values), np.float64)
    weights = np.random.default_rng(0).standard_normal((len(X), 2))
    result = expansion(case.kernel, rows.take(slice(300)), rows, weights)
    assert_close(result, K[:300] @ weights, ROUNDING * (np.abs(K) @ np.abs(weights)).max())


def neighbours_at(scale):
    """Points of an integer grid of that size, copies of them, and neighbours one and two off."""
    rng = np.random.default_rng(0)
    points = np.round(scale * rng.standard_normal((12, 2)))
    beside, above = points + np.array([1.0, 0.0]), points + np.array([0.0, 2.0])
    return np.vstack([points, points, beside, above])


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array, sparse.csr_matrix])
@pytest.mark.parametrize("gamma", [0.01, 0.3, 1.0])
@pytest.mark.parametrize("scale", [1e2, 1e4, 1e6, 1e12])
def test_a_gaussian_is_exact_for_neighbours_far_from_the_origin(scale, gamma, kind):
    X = neighbours_at(scale)
    rows = RBF(gamma).prepare(Rows(kind(X)), np.float64)
    wanted = np.exp(-gamma * ((X[:, None, :] - X[None, :, :]) ** 2).sum(axis=2))
    assert_close(RBF(gamma).block(rows, rows), wanted, 1e-12)


@pytest.mark.parametrize("gamma", [0.25, 1.0])  # the rows themselves are exact in float32
def test_a_gaussian_is_as_good_as_float32_for_neighbours_far_from_the_origin(gamma):
    X = neighbours_at(1e6)
    rows = RBF(gamma).prepare(Rows(X), np.float32)
    wanted = np.exp(-gamma * ((X[:, None, :] - X[None, :, :]) ** 2).sum(axis=2))
    assert_close(RBF(gamma).block(rows, rows), wanted, SINGLE)


@pytest.mark.parametrize("size", [1e-150, 1e-100, 1e100, 1e150])
def test_a_gaussian_knows_no_size_but_gamma(size):
    X, kernel = drawn(), RBF(0.5 / size / size)
    wanted = np.exp(-0.5 * distance(X, X) ** 2)
    for dtype, rounding in ((np.float64, ROUNDING), (np.float32, SINGLE)):
        rows = kernel.prepare(rows_of(size * X), dtype)
        assert_close(kernel.block(rows, rows), wanted, rounding)


@pytest.mark.parametrize("far", [1e10, 1e100, 1e200, 1e300])
def test_a_row_far_away_is_similar_to_itself_alone(far):
    X = np.vstack([drawn(), np.full((2, drawn().shape[1]), far)])
    rows = RBF(0.5).prepare(Rows(X), np.float64)
    values = RBF(0.5).block(rows, rows)
    assert not values[-2:, :-2].any()
    assert not values[:-2, -2:].any()
    assert values[-2:, -2:].tolist() == [[1.0, 1.0], [1.0, 1.0]]


def test_a_gaussian_too_narrow_for_float32_is_refused():
    with pytest.raises(ValueError, match=r"gamma: 1e\+300 for rows so far apart"):
        RBF(1e300).prepare(rows_of(drawn()), np.float32)


def test_an_expansion_of_nothing_is_zero():
    rows = RBF().prepare(rows_of(drawn()), np.float64)
    assert expansion(RBF(), rows, rows.take(np.arange(0)), np.empty(0)).tolist() == [0.0] * 23
    assert expansion(RBF(), rows.take(np.arange(0)), rows, np.ones(23)).shape == (0,)
