"""What everybody forgets: copies, too many margin rows, no margin row, one class, ties, scales."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy import sparse

from adiabat import SVC, NotSeparableError, SolverError
from adiabat.certificate import certify
from adiabat.gram import Gram
from adiabat.kernels import RBF, Linear, Polynomial, rows_of
from adiabat.problem import classification
from adiabat.solvers.solve import solve
from tests import collection, oracle

EXACT = 1e-8  # of max(1, max|f|): what is promised
OBJECTS = {
    "linear": lambda _: Linear(),
    "cubic": lambda gamma: Polynomial(3, gamma, 0.0),
    "rbf": RBF,
}
every_kernel = pytest.mark.parametrize("kernel", collection.KERNELS)


def solved(X, y, bounds, kernel="linear", gamma=1.0, bias=None):
    """Problem, solution and decision values of the bare solver."""
    gram = Gram(OBJECTS[kernel](gamma), rows_of(X), ridge=None)
    bounds = np.broadcast_to(np.asarray(bounds, dtype=float), y.shape).copy()
    problem = classification(gram, y, bounds, bias)
    solution = solve(problem)
    values = collection.KERNELS[kernel](X, X, gamma) @ solution.theta + solution.bias
    return problem, solution, values


def assert_same(values, truth):
    assert_near(values, truth.decision)


def assert_near(values, others):
    assert np.abs(values - others).max() <= EXACT * max(1.0, np.abs(others).max())


def judged(X, y, bounds, kernel="linear", gamma=1.0, bias=None):
    """The solution, after the oracle and the certificate have agreed to it."""
    problem, solution, values = solved(X, y, bounds, kernel, gamma, bias)
    K = collection.KERNELS[kernel](X, X, gamma)
    assert_same(values, oracle.solve(K, y, bounds, bias=bias))
    certificate = certify(problem, solution.theta, solution.bias)
    assert certificate.kkt_violation <= certificate.kkt_bar
    assert certificate.holds(), certificate
    return solution


def blobs(n=40, features=3, seed=0, apart=1.0):
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n) % 2, 1.0, -1.0)
    return rng.standard_normal((n, features)) + apart * y[:, None], y


# ---------------------------------------------------------------- copies


@every_kernel
@pytest.mark.parametrize("C", [0.1, 10.0])
def test_copies_with_equal_labels(kernel, C):
    X, y = blobs()
    rows = np.concatenate([np.arange(len(y)), np.arange(len(y)), np.arange(7)])
    solution = judged(X[rows], y[rows], C, kernel, 0.5)
    once = np.full(len(y), 2 * C)
    once[:7] = 3 * C
    together = judged(X, y, once, kernel, 0.5)
    assert solution.bias == pytest.approx(together.bias, abs=1e-8)


@every_kernel
@pytest.mark.parametrize("C", [0.1, 10.0])
def test_copies_with_opposite_labels(kernel, C):
    X, y = blobs()
    judged(np.vstack([X, X[:9]]), np.concatenate([y, -y[:9]]), C, kernel, 0.5)


@every_kernel
def test_every_row_twice_with_both_labels(kernel):
    X, y = blobs(16)
    solution = judged(np.vstack([X, X]), np.concatenate([y, -y]), 1.0, kernel, 0.5)
    assert solution.bias == pytest.approx(0.0, abs=1e-8)


@every_kernel
def test_all_rows_are_one_point(kernel):
    y = np.array([1.0, 1.0, 1.0, -1.0, -1.0])
    solution = judged(np.full((5, 2), 0.5), y, 1.0, kernel)
    assert solution.bias == 1.0


@every_kernel
def test_opposite_copies_have_no_hard_margin(kernel):
    X, y = blobs(10, apart=5.0)
    with pytest.raises(NotSeparableError) as caught:
        solved(np.vstack([X, X[3]]), np.append(y, -y[3]), np.inf, kernel)
    assert sorted(caught.value.ids) == [3, 10]
    assert caught.value.distance == pytest.approx(0.0, abs=1e-6)


# ---------------------------------------------------------------- more margin rows than dimensions


@pytest.mark.parametrize("features", [1, 2, 3])
def test_margin_rows_outnumber_the_dimensions_of_a_linear_kernel(features):
    rng = np.random.default_rng(features)
    side = rng.integers(-9, 10, (60, features)).astype(float)
    y = np.where(np.arange(60) % 2, 1.0, -1.0)
    side[:, 0] = y * np.where(np.arange(60) < 40, 1.0, 2.0)  # forty rows exactly on the margin
    solution = judged(side, y, 1.0)
    assert solution.bias == pytest.approx(0.0, abs=1e-9)


def test_margin_rows_outnumber_the_dimensions_of_a_cubic_kernel():
    line = np.repeat([-2.0, -1.0, -0.5, 0.5, 1.0, 2.0], 8)[:, None]
    judged(line, np.sign(line.ravel()), 10.0, "cubic")


@pytest.mark.parametrize("seed", range(5))
def test_known_margin_sets_larger_than_the_space(seed):
    known = collection.known(seed, dimension=2, margin=(9, 8), error=(2, 2))
    solution = judged(known.X, known.y, known.bounds)
    assert solution.bias == pytest.approx(known.bias, abs=1e-9)


# ---------------------------------------------------------------- no margin row, one class


@pytest.mark.parametrize("seed", range(6))
def test_without_margin_rows_the_bias_is_the_middle_of_its_interval(seed):
    known = collection.known_without_margin(seed)
    solution = judged(known.X, known.y, known.bounds)
    assert np.abs(solution.bias - known.bias) <= 1e-12
    assert set(np.abs(solution.theta)) == {0.0, 1.0}


def test_two_rows_that_cannot_reach_their_margin():
    """|w| = 2 C leaves the interval [-1 + 2 C, 1 - 2 C] about 0 for b."""
    solution = judged(np.array([[1.0], [-1.0]]), np.array([1.0, -1.0]), 0.125)
    assert solution.theta.tolist() == [0.125, -0.125]
    assert solution.bias == 0.0


@every_kernel
@pytest.mark.parametrize("label", [1.0, -1.0])
@pytest.mark.parametrize("C", [1.0, np.inf])
def test_one_class(kernel, label, C):
    X, _ = blobs(6)
    solution = judged(X, np.full(6, label), C, kernel)
    assert (solution.theta == 0).all()
    assert solution.bias == label


def test_the_other_class_without_weight_is_one_class():
    X, y = blobs(10)
    solution = judged(X, y, np.where(y > 0, 1.0, 0.0))
    assert (solution.theta == 0).all()
    assert solution.bias == 1.0


@pytest.mark.parametrize("label", [1.0, -1.0])
def test_one_class_with_a_fixed_bias_still_has_weights(label):
    X, _ = blobs(6)
    judged(X, np.full(6, label), 1.0, "rbf", 0.5, bias=-0.5 * label)


# ---------------------------------------------------------------- ties, small C, hard margins


@every_kernel
@pytest.mark.parametrize("C", [0.25, 1.0, 64.0])
def test_ties_on_an_integer_grid(kernel, C):
    grid = np.array([[i, j] for i in range(-3, 4) for j in range(-3, 4)], dtype=float)
    y = np.where(grid.sum(axis=1) + (grid[:, 0] == 2) > 0, 1.0, -1.0)
    judged(grid, y, C, kernel, 0.125)


@every_kernel
@pytest.mark.parametrize("C", [1e-12, 1e-8, 1e-4])
def test_a_whole_class_at_its_bound(kernel, C):
    X, y = blobs(60)
    y[:50] = 1.0
    solution = judged(X, y, C, kernel, 0.5)
    assert (solution.theta[y < 0] == -C).all()


@pytest.mark.parametrize("gap", [1e-4, 1e-2, 1.0])
def test_a_hard_margin_that_is_nearly_none(gap):
    X = np.array([[0.0, -1.0], [0.0, 1.0], [gap, 0.0], [1.0, 3.0]])
    y = np.array([-1.0, -1.0, 1.0, 1.0])
    solution = judged(X, y, np.inf)
    assert solution.bias == pytest.approx(-1.0, abs=1e-7)
    assert solution.theta @ X == pytest.approx([2 / gap, 0.0], rel=1e-9, abs=1e-9)


def test_no_margin_is_not_taken_for_a_huge_one():
    """Coefficients grow along a null direction until theta'K theta has nothing but rounding."""
    X = np.array(
        [*[[0, 3, 0]] * 2, [3, 0, 0], [1, 0, 0], [1, 1, 0], [0, 0, 1], [0, 0, 0], *[[0, 3, 0]] * 3]
    )
    y = np.array([-1, -1, 1, 1, 1, -1, -1, -1, -1, -1])
    model = SVC(C=np.inf, kernel="poly", gamma=1 / 3).fit(X, y)
    # the third of these rows comes between the images of two others
    with pytest.raises(NotSeparableError) as refused:
        model.revise([7, 4, 3], [[0.75, 3, 0.375], [0, 0, 1], [0, 1, 0]], [-1, -1, 1])
    assert refused.value.distance <= 1e-8
    assert model.certificate().holds()


@pytest.mark.parametrize("gap", [0.0, -0.5])
def test_hulls_that_touch_or_overlap_have_no_hard_margin(gap):
    X = np.array([[0.0, -1.0], [0.0, 1.0], [gap, 0.0], [1.0, 3.0]])
    y = np.array([-1.0, -1.0, 1.0, 1.0])
    with pytest.raises(NotSeparableError) as caught:
        solved(X, y, np.inf)
    error = caught.value
    assert error.distance == pytest.approx(0.0, abs=1e-6)
    meeting = (y[error.ids] * error.weights) @ X[error.ids]
    assert meeting == pytest.approx([0.0, 0.0], abs=1e-6)


@pytest.mark.parametrize(("distance", "separable"), [(1e-5, True), (1e-7, False)])
def test_a_margin_below_a_millionth_of_the_longest_row_is_none(distance, separable):
    X, y = np.array([[-1.0], [distance], [-distance], [1.0]]), np.array([-1.0, 1.0, -1.0, 1.0])
    if separable:
        judged(X, y, np.inf)
    else:
        with pytest.raises(NotSeparableError):
            solved(X, y, np.inf)


# ---------------------------------------------------------------- columns, scales, weights


@pytest.mark.parametrize("value", [0.0, 1.0, 7.0])
@every_kernel
def test_constant_columns(kernel, value):
    X, y = blobs()
    judged(np.column_stack([X, np.full(len(y), value)]), y, 1.0, kernel, 0.125)


@pytest.mark.parametrize("value", [0.0, 3.0])
def test_nothing_but_a_constant_column(value):
    X, y = np.full((7, 1), value), np.array([1.0, -1.0, 1.0, 1.0, -1.0, 1.0, 1.0])
    model = SVC().fit(X, y)
    assert model.decision_function(X).tolist() == [1.0] * 7


@pytest.mark.parametrize("scale", [1e-6, 1e-3, 1.0, 1e3, 1e6])
def test_scales_of_a_gaussian_kernel(scale):
    X, y = blobs()
    model = SVC(C=3.0).fit(scale * X, y)
    K = collection.rbf(X, X, 1 / (X.shape[1] * X.var()))
    assert_same(model.decision_function(scale * X), oracle.solve(K, y, 3.0))
    assert model.certificate().holds()


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("gamma", [0.01, 1.0])
@pytest.mark.parametrize("scale", [1e2, 1e4, 1e6])
def test_features_that_nobody_scaled(scale, gamma, make):
    """Every row has copies and neighbours, and all the others are far away."""
    rng = np.random.default_rng(0)
    points = np.round(scale * rng.standard_normal((20, 2)))
    X = np.vstack([points, points, points + np.array([1.0, 0.0]), points + np.array([0.0, 2.0])])
    y = np.where(rng.random(len(X)) < 0.5, 1.0, -1.0)
    model = SVC(C=10.0, gamma=gamma).fit(make(X), y)
    truth = oracle.solve(collection.rbf(X, X, gamma), y, 10.0)
    assert np.abs(model.decision_function(make(X)) - truth.decision).max() <= 1e-11
    assert model.certificate().holds()


@pytest.mark.parametrize("offset", [1e6, 1e8, 1e12])
def test_a_linear_kernel_of_nothing_but_rounding_still_ends(offset):
    """The differences between the rows are lost in x·x': no optimum can be told, nor certified."""
    X, y = blobs()
    model = SVC(kernel="linear")
    try:
        model.fit(X + offset, y)
    except SolverError:
        return
    assert not model.certificate().holds()


@pytest.mark.parametrize("C", [1.0, np.inf])
def test_a_kernel_of_zeros(C, capfd):
    model = SVC(kernel="precomputed", C=C)
    K, y = np.zeros((6, 6)), np.array([1, 1, 0, 0, 0, 0])
    if np.isinf(C):
        with pytest.raises(NotSeparableError):
            model.fit(K, y)
        return
    assert model.fit(K, y).decision_function(K).tolist() == [-1.0] * 6
    assert model.certificate().holds()
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("C", [1.0, 100.0])
def test_an_indefinite_matrix_is_fitted_to_a_stationary_point(C):
    rng = np.random.default_rng(0)
    A = rng.standard_normal((30, 30))
    for K in (A + A.T, -A @ A.T):
        certificate = SVC(kernel="precomputed", C=C).fit(K, np.arange(30) % 2).certificate()
        assert not certificate.convex
        assert not certificate.holds()
        assert certificate.kkt_violation <= certificate.kkt_bar
        assert "indefinite" in str(certificate)


@pytest.mark.parametrize("C", [np.inf, "as large as the scale needs"])
@pytest.mark.parametrize("scale", [1e-6, 1e-3, 1.0, 1e3, 1e6])
def test_scales_of_a_linear_kernel(scale, C):
    X, y = blobs(apart=3.0)
    cost = np.inf if np.inf == C else 1.0 / scale**2
    model = SVC(C=cost, kernel="linear").fit(scale * X, y)
    truth = oracle.solve(X @ X.T, y, np.inf if np.inf == C else 1.0)
    assert_same(model.decision_function(scale * X), truth)
    assert model.certificate().holds()


@pytest.mark.parametrize("C", [1.0, 1e6, 1e12])
@pytest.mark.parametrize("scale", [1.0, 1e3, 1e6])
def test_a_cost_far_above_every_coefficient_is_a_hard_margin(scale, C):
    """Coefficients are as small as scale^-2: of no size beside the sum of the bounds."""
    X, y = blobs(apart=3.0)
    X *= scale
    judged(X, y, C)
    model = SVC(C=C, kernel="linear").fit(X, y)
    hard = SVC(C=np.inf, kernel="linear").fit(X, y)
    assert len(model.support_) > 1
    assert_near(model.decision_function(X), hard.decision_function(X))
    assert model.certificate().holds()


@every_kernel
@pytest.mark.parametrize("C", [1.0, 1e4])
def test_rows_of_different_scales(kernel, C):
    X, y = blobs(30)
    X *= np.array([1e-3, 1.0, 10.0])
    judged(X, y, C if kernel != "cubic" else C * 1e-3, kernel, 1e-2)


@every_kernel
@pytest.mark.parametrize("ratio", [1e3, 1e6])
def test_classes_of_very_different_weight(kernel, ratio):
    X, y = blobs()
    judged(X, y, np.where(y > 0, 1.0, 1.0 / ratio), kernel, 0.5)
    judged(X, y, np.where(y > 0, 1e-2 * ratio / 1e3, 1e-2), kernel, 0.5)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("weight", [1e6, 1e12, 1e16])
def test_a_heavy_row_beyond_its_margin_has_no_say(kernel, weight):
    X, y = blobs(60)
    bounds = np.ones(len(y))
    light = judged(X, y, bounds, kernel, 0.1)
    beyond = int(np.argmin(y * light.error))
    bounds[beyond] = weight
    heavy = judged(X, y, bounds, kernel, 0.1)
    assert light.theta[beyond] == heavy.theta[beyond] == 0.0
    assert heavy.bias == pytest.approx(light.bias, abs=1e-12)


@pytest.mark.parametrize("light", [1e-14, 1e-13, 1e-12, 1e-11, 1e-9])
def test_weights_that_hardly_count_still_settle_the_bias(light):
    """The bounds of the two classes differ by a few light rows, which decide whose margin it is."""
    X = np.array([[1.0]] + [[0.0]] * 11 + [[1.0]])
    y = np.array([1.0] + [-1.0] * 11 + [1.0])
    bounds = np.full(13, light)
    bounds[[0, 3]] = 1.0
    _, solution, values = solved(X, y, bounds)
    assert_same(values, oracle.solve(X @ X.T, y, bounds))
    assert solution.theta[[0, 12]].tolist() == [1.0, light]
    assert solution.bias == pytest.approx(-1.0 if light >= 1e-12 else -0.5, abs=1e-8)


def test_a_bound_below_the_rounding_of_another_is_still_a_bound():
    X, y = np.zeros((3, 1)), np.full(3, -1.0)
    solution = judged(X, y, np.array([1e12, 1.0, 1e-3]), bias=0.0)
    assert solution.theta.tolist() == [-1e12, -1.0, -1e-3]


@every_kernel
def test_one_row_against_many(kernel):
    X, y = blobs(80)
    y[:] = -1.0
    y[17] = 1.0
    judged(X, y, 1.0, kernel, 0.5)


# ---------------------------------------------------------------- hardly any rows


@pytest.mark.parametrize("kernel", ["linear", "poly", "rbf"])
def test_a_single_row(kernel):
    model = SVC(kernel=kernel, gamma=1.0).fit([[1.0, 2.0]], ["only"])
    assert model.predict([[5.0, 5.0]]).tolist() == ["only"]
    assert model.certificate().holds()


@pytest.mark.parametrize("C", [0.1, 1.0, np.inf])
def test_two_rows(C):
    X, y = np.array([[0.0, 0.0], [2.0, 0.0]]), np.array([-1.0, 1.0])
    model = SVC(C=C, kernel="linear").fit(X, y)
    # alpha = min(C, 2 / |x - x'|^2); the bias is that of the point between the two
    assert model.coef_ == pytest.approx(np.array([[min(2 * C, 1.0), 0.0]]), abs=1e-15)
    assert model.intercept_ == pytest.approx([-min(2 * C, 1.0)], abs=1e-15)


def test_two_equal_rows_of_two_classes():
    model = SVC(kernel="linear").fit([[1.0], [1.0]], [0, 1])
    assert model.decision_function([[1.0], [4.0]]).tolist() == [0.0, 0.0]


def test_no_rows_are_refused():
    with pytest.raises(ValueError, match="0 sample"):
        SVC().fit(np.empty((0, 2)), [])


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_what_is_not_a_number_is_refused(bad):
    X, y = blobs(6)
    X[4, 1] = bad
    with pytest.raises(ValueError, match=r"NaN|infinity"):
        SVC().fit(X, y)
    with pytest.raises(ValueError, match=r"NaN|infinity"):
        SVC().fit(*blobs(6)).decision_function(X)


# ---------------------------------------------------------------- all of it at once


@settings(
    max_examples=120, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck)
)
@given(collection.nasty(), st.sampled_from((None, None, 0.0, 0.5)))
def test_nasty_problems_are_what_the_oracle_says(problem, bias):
    arguments = (problem.X, problem.y, problem.bounds, problem.kernel, problem.gamma, bias)
    try:
        truth = oracle.solve(problem.gram, problem.y, problem.bounds, bias=bias)
    except oracle.InseparableError:
        with pytest.raises(NotSeparableError):
            solved(*arguments)
        return
    asked, solution, values = solved(*arguments)
    assert_same(values, truth)
    certificate = certify(asked, solution.theta, solution.bias)
    assert certificate.kkt_violation <= certificate.kkt_bar
    apart = np.abs(values - truth.decision).max()
    assert apart <= certificate.decision_error_bound + truth.decision_error
