"""Kernel values: each of them counted, the columns right whatever has been evicted before."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from adiabat.gram import Gram
from adiabat.kernels import RBF, TILE_COLUMNS, TILE_ROWS, Custom, Linear, Sigmoid, rows_of

ROUNDING = 1e-13
SINGLE = 1e-5  # of the largest kernel value, in float32


def drawn(n=40, features=3, seed=0):
    return np.random.default_rng(seed).standard_normal((n, features))


def gaussian(X, gamma=0.5):
    return np.exp(-gamma * ((X[:, None, :] - X[None, :, :]) ** 2).sum(axis=2))


def columns_of(gram, index):
    """The float32 columns as the Gram says they are, one row each."""
    return gram.columns.values[gram.hold(index)].astype(np.float64) * gram.scale


def bytes_for(columns, n):
    return 4 * n * columns


def assert_close(values, wanted, tolerance):
    assert np.shape(values) == np.shape(wanted)
    assert np.abs(values - wanted).max(initial=0.0) <= tolerance


# ---------------------------------------------------------------- counting


class Counting:
    """A kernel function that knows how many values it was asked for."""

    def __init__(self):
        self.values = 0

    def __call__(self, A, B):
        self.values += len(A) * len(B)
        return A @ B.T


@pytest.mark.parametrize("n", [7, TILE_ROWS + 44, TILE_COLUMNS + 1])
def test_every_kernel_value_is_counted(n):
    function = Counting()
    X = drawn(n)
    gram = Gram(Custom(function), rows_of(X), ridge=np.ones(n), budget=bytes_for(5, n))
    assert gram.evaluations == function.values == n
    some, others = np.array([3, 0, 6]), np.array([1, 3, 2, 4])
    asks = [
        lambda: gram.hold(some),
        lambda: gram.hold(others),
        lambda: gram.hold(some),
        lambda: gram.block(some, others),
        lambda: gram.times(some, np.ones(3)),
        lambda: gram.times(others, np.ones(4), some),
        lambda: gram.times_single(others, np.ones(4), some),
        lambda: gram.among(others),
        lambda: gram.magnitude(np.where(np.arange(n) % 2, 1.0, 0.0)),
        gram.release_columns,
        lambda: gram.hold(others),
    ]
    for ask in asks:
        before = gram.evaluations
        ask()
        assert gram.evaluations == function.values
        assert gram.evaluations > before or ask == gram.release_columns


def test_columns_that_are_held_cost_nothing():
    gram = Gram(RBF(0.5), rows_of(drawn()), budget=bytes_for(6, 40))
    gram.hold(np.arange(4))
    before = gram.evaluations
    gram.hold(np.array([2, 0, 3]))
    assert gram.evaluations == before
    gram.hold(np.array([3, 9]))
    assert gram.evaluations == before + 40


@pytest.mark.parametrize("first", [np.array([0]), np.array([1])])
def test_the_column_unused_longest_goes_first(first):
    gram = Gram(RBF(0.5), rows_of(drawn()), budget=bytes_for(3, 40))
    for index in (np.array([0]), np.array([1]), np.array([2]), 1 - first):
        gram.hold(index)
    gram.hold(np.array([7]))
    assert gram.columns.missing(np.array([0, 1, 2, 7])).tolist() == first.tolist()


# ---------------------------------------------------------------- columns within a budget


@pytest.mark.parametrize("n", [1, 40, TILE_COLUMNS + 3])
@pytest.mark.parametrize("ridge", [0.0, 0.75])
def test_columns_in_single_precision_are_those_of_the_matrix(n, ridge):
    X = drawn(n)
    gram = Gram(RBF(0.5), rows_of(X), ridge=np.full(n, ridge))
    wanted = gaussian(X) + ridge * np.eye(n)
    assert gram.columns.values.dtype == np.float32
    assert_close(columns_of(gram, np.arange(n)), wanted, SINGLE)


@pytest.mark.parametrize("size", [1.0, 1e-20])
def test_single_precision_without_columns_is_that_of_the_matrix(size):
    X, ridge = size * drawn(TILE_COLUMNS + 3), size**2 * np.linspace(0.5, 2.0, TILE_COLUMNS + 3)
    gram = Gram(Linear(), rows_of(X), ridge=ridge)
    rows, support = np.array([3, 0, 514, 7]), np.array([7, 1, 2, 514])
    wanted = X @ X.T + np.diag(ridge)
    among = gram.among(rows)
    assert among.dtype == np.float32
    assert_close(among, wanted[np.ix_(rows, rows)] / gram.scale, SINGLE * 10)
    weights = np.array([1.0, -2.0, 0.5, 3.0]) / size**2
    sums = gram.times_single(support, weights, rows)
    assert_close(sums, wanted[np.ix_(rows, support)] @ weights, SINGLE * 100)


def test_columns_of_sparse_rows_are_those_of_dense_rows():
    X = drawn() * (drawn(seed=1) > 0)
    gram = Gram(Linear(), rows_of(sparse.csr_matrix(X)))
    assert_close(columns_of(gram, np.array([5, 39, 0])), (X @ X.T)[[5, 39, 0]], SINGLE * 10)


@pytest.mark.parametrize(
    ("budget", "columns"),
    [(0, 2), (bytes_for(2, 40), 2), (bytes_for(7, 40) + 159, 7), (1 << 30, 40)],
)
def test_a_budget_is_kept(budget, columns):
    gram = Gram(RBF(0.5), rows_of(drawn()), budget=budget)
    assert gram.columns.capacity == columns
    assert gram.columns.values.nbytes == bytes_for(columns, 40)


def test_a_single_row_has_a_single_column():
    gram = Gram(RBF(0.5), rows_of(drawn(1)), budget=0)
    assert gram.columns.capacity == 1
    assert columns_of(gram, np.array([0])).tolist() == [[1.0]]


@st.composite
def asks(draw):
    """A capacity and sets of columns, none larger than it."""
    capacity = draw(st.integers(2, 6))
    rows = st.lists(st.integers(0, 14), min_size=1, max_size=capacity, unique=True)
    return capacity, draw(st.lists(rows, min_size=1, max_size=25))


@settings(max_examples=150, deadline=None, derandomize=True)
@given(asks(), st.booleans())
def test_eviction_never_spoils_a_column(ask, ridged):
    capacity, sets = ask
    X = drawn(15)
    ridge = np.linspace(0.5, 2.0, 15) * ridged
    gram = Gram(RBF(0.5), rows_of(X), ridge=ridge, budget=bytes_for(capacity, 15))
    wanted = gaussian(X) + np.diag(ridge)
    for index in sets:
        assert_close(columns_of(gram, np.array(index)), wanted[index], SINGLE)
    store, before = gram.columns, gram.evaluations
    held = np.setdiff1d(np.arange(15), store.missing(np.arange(15)))
    assert len(sets[-1]) <= len(held) <= capacity
    assert_close(columns_of(gram, held), wanted[held], SINGLE)
    assert gram.evaluations == before


def test_fresh_memory_is_taken_only_as_requests_grow(monkeypatch):
    monkeypatch.setattr("adiabat.gram._FREE_OF_CARE", bytes_for(4, 40))
    X = drawn()
    gram = Gram(RBF(0.5), rows_of(X))
    for size, most in [(1, 4), (1, 4), (2, 6), (9, 27), (20, 40)]:
        for first in range(0, 41 - size, size):
            index = np.arange(first, first + size)
            assert_close(columns_of(gram, index), gaussian(X)[index], SINGLE)
        held = 40 - len(gram.columns.missing(np.arange(40)))
        assert held <= most


def test_released_columns_come_back_as_they_were():
    X = drawn()
    gram = Gram(RBF(0.5), rows_of(X))
    first = columns_of(gram, np.array([4, 2]))
    gram.release_columns()
    assert np.array_equal(columns_of(gram, np.array([4, 2])), first)


# ---------------------------------------------------------------- the ridge belongs to the row


def ridged(n=9):
    """Rows that are equal in threes, a ridge of their own each, and the matrix of both."""
    X = np.repeat(drawn(n // 3), 3, axis=0)
    ridge = 1.0 + np.arange(n)
    return Gram(RBF(0.5), rows_of(X), ridge=ridge), gaussian(X) + np.diag(ridge)


def test_the_diagonal_has_the_ridge():
    gram, K = ridged()
    assert_close(gram.diagonal, np.diag(K), ROUNDING)


def test_equal_rows_share_no_ridge_in_a_block():
    gram, K = ridged()
    a, b = np.array([0, 1, 8, 4]), np.array([1, 2, 0, 4, 5])
    assert_close(gram.block(a, b), K[np.ix_(a, b)], ROUNDING)
    everything = np.arange(9)
    assert_close(gram.block(everything, everything), K, ROUNDING)


def test_equal_rows_share_no_ridge_in_a_column():
    gram, K = ridged()
    assert_close(columns_of(gram, np.array([1, 0, 7])), K[[1, 0, 7]], SINGLE)


def test_equal_rows_share_no_ridge_in_a_sum():
    gram, K = ridged()
    support, weights = np.array([8, 1, 3]), np.array([1.0, -2.0, 0.5])
    assert_close(gram.times(support, weights), K[:, support] @ weights, 1e-12)
    rows = np.array([1, 2, 3])
    assert_close(gram.times(support, weights, rows), K[np.ix_(rows, support)] @ weights, 1e-12)


def test_without_a_ridge_there_is_none():
    gram = Gram(RBF(0.5), rows_of(drawn()))
    assert (gram.diagonal == 1.0).all()
    assert not gram.ridge.any()


# ---------------------------------------------------------------- sums and blocks against numpy

SIZES = [5, TILE_ROWS + 1, TILE_COLUMNS + 130]


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("part", [0.0, 0.3, 1.0])
def test_sums_are_matrix_times_weights(n, part):
    rng = np.random.default_rng(n)
    X, weights = drawn(n), rng.standard_normal(n)
    ridge = rng.random(n)
    gram = Gram(Linear(), rows_of(X), ridge=ridge)
    support = np.flatnonzero(rng.random(n) < part)
    K = X @ X.T + np.diag(ridge)
    wanted = K[:, support] @ weights[support]
    size = max(1.0, (np.abs(K[:, support]) @ np.abs(weights[support])).max(initial=0.0))
    assert_close(gram.times(support, weights[support]), wanted, ROUNDING * size)
    rows = rng.permutation(n)[: n // 2]
    found = gram.times(support, weights[support], rows)
    assert_close(found, wanted[rows], ROUNDING * size)


@pytest.mark.parametrize("n", SIZES)
def test_blocks_are_parts_of_the_matrix(n):
    X = drawn(n)
    rng = np.random.default_rng(n)
    gram = Gram(RBF(0.5), rows_of(X))
    a, b = rng.permutation(n)[: n // 2], rng.permutation(n)[: n // 3]
    block = gram.block(a, b)
    assert block.dtype == np.float64
    assert_close(block, gaussian(X)[np.ix_(a, b)], ROUNDING)
    assert gram.block(a, b[:0]).shape == (len(a), 0)


@pytest.mark.parametrize("n", SIZES)
def test_the_magnitude_is_the_largest_sum_of_sizes(n):
    rng = np.random.default_rng(n)
    X, weights = drawn(n), rng.standard_normal(n) * (rng.random(n) < 0.5)
    ridge = rng.random(n)
    gram = Gram(Linear(), rows_of(X), ridge=ridge)
    wanted = (np.abs(X @ X.T + np.diag(ridge)) @ np.abs(weights)).max()
    assert gram.magnitude(weights) == pytest.approx(wanted, rel=1e-12)
    assert gram.magnitude(np.zeros(n)) == 0.0


def test_the_magnitude_of_an_indefinite_kernel_has_no_signs():
    X = drawn()
    weights = np.where(np.arange(40) % 2, 1.0, -1.0)
    gram = Gram(Sigmoid(2.0, -1.0), rows_of(X))
    assert gram.magnitude(weights) == pytest.approx(np.abs(np.tanh(2 * X @ X.T - 1)).sum(1).max())


# ---------------------------------------------------------------- extreme scales


@pytest.mark.parametrize("size", [1e-20, 1e-13, 1e-6, 1.0, 1e6, 1e13, 1e20, 1e60])
@pytest.mark.parametrize("ridge", [0.0, 0.5, 1e6])
def test_columns_of_any_scale_are_finite_and_right(size, ridge):
    X = drawn() * size**0.5
    gram = Gram(Linear(), rows_of(X), ridge=np.full(40, ridge * size), budget=bytes_for(3, 40))
    K = X @ X.T + ridge * size * np.eye(40)
    for start in range(0, 39, 3):
        index = np.arange(start, start + 3)
        slots = gram.hold(index)
        assert np.isfinite(gram.columns.values[slots]).all()
        assert_close(columns_of(gram, index) / size, K[index] / size, 1e-6 * (K.max() / size))
    assert_close(gram.diagonal / size, np.diag(K) / size, 1e-13 * (K.max() / size))
    assert_close(gram.block(index, index) / size, K[np.ix_(index, index)] / size, 1e-8)


@pytest.mark.parametrize(("size", "scaled"), [(1e-20, True), (1.0, False), (1e20, True)])
def test_only_extreme_columns_are_scaled(size, scaled):
    gram = Gram(Linear(), rows_of(np.full((3, 1), size**0.5)))
    assert (gram.scale != 1.0) is scaled
    assert np.abs(columns_of(gram, np.arange(2)) / size - 1.0).max() <= 1e-6


def test_rows_that_are_all_zero_have_columns_of_zeros():
    gram = Gram(Linear(), rows_of(np.zeros((4, 2))))
    assert gram.scale == 1.0
    assert not columns_of(gram, np.arange(4)).any()
