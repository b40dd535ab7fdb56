"""The proof: never better than the truth, whatever the coefficients, and what it counts is so."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from adiabat import SVC
from adiabat.certificate import certify
from adiabat.gram import Gram
from adiabat.kernels import RBF, Linear, Polynomial, Precomputed, Sigmoid, rows_of
from adiabat.problem import classification
from adiabat.solution import canonical_bias
from adiabat.solvers.solve import solve
from tests import collection, oracle

EXACT = 1e-8
OBJECTS = {
    "linear": lambda _: Linear(),
    "cubic": lambda gamma: Polynomial(3, gamma, 0.0),
    "rbf": RBF,
}
SIZES = (1e-12, 1e-9, 1e-6, 1e-3, 1.0)
every_known = pytest.mark.parametrize("name", collection.known_problems())


def asked(X, y, bounds, kernel=None, bias=None):
    gram = Gram(kernel or Linear(), rows_of(X), ridge=None)
    bounds = np.broadcast_to(np.asarray(bounds, dtype=float), y.shape).copy()
    return classification(gram, y, bounds, bias)


def drawn(n=40, seed=0, C=1.0, gamma=0.5, bias=None):
    """A Gaussian problem without any degeneracy, and its kernel matrix."""
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n) % 3, 1.0, -1.0)
    X = rng.standard_normal((n, 3)) + 0.5 * y[:, None]
    return asked(X, y, C, RBF(gamma), bias), collection.rbf(X, X, gamma)


def decisions(K, theta, bias):
    wide = K.astype(np.longdouble) @ theta.astype(np.longdouble) + np.longdouble(bias)
    return wide.astype(np.float64)


def shuffled(problem, theta, size, rng):
    """Coefficients moved between pairs of rows, within their bounds and keeping their sum."""
    theta = theta.copy()
    counted = np.flatnonzero(problem.bounds > 0)
    for _ in range(8):
        i, j = rng.choice(counted, 2, replace=len(counted) < 2)
        most = min(problem.high[i] - theta[i], theta[j] - problem.low[j])
        step = min(most, size * rng.uniform())
        theta[i] += step
        theta[j] -= step
    return np.clip(theta, problem.low, problem.high)


def assert_bounded(problem, theta, bias, K, decision, slack=0.0):
    """The stated error is no less than the true one, and a wrong model is not let through."""
    certificate = certify(problem, theta, bias)
    apart = np.abs(decisions(K, theta, bias) - decision).max()
    assert apart <= certificate.decision_error_bound + slack
    if apart > 2 * EXACT * certificate.scale:
        assert not certificate.holds()
    return certificate


# ---------------------------------------------------------------- never below the true error


@every_known
def test_the_bound_covers_the_error_of_the_solver(name):
    known = collection.known_problems()[name]
    problem = asked(known.X, known.y, known.bounds)
    solution = solve(problem)
    certificate = assert_bounded(
        problem, solution.theta, solution.bias, known.kernel, known.decision
    )
    assert certificate.holds()


@every_known
def test_the_known_solution_itself_is_proved(name):
    known = collection.known_problems()[name]
    problem = asked(known.X, known.y, known.bounds)
    certificate = assert_bounded(
        problem, known.alpha * known.y, known.bias, known.kernel, known.decision
    )
    assert certificate.holds()
    assert certificate.equality_residual == 0.0
    assert certificate.margin == pytest.approx(1 / np.linalg.norm(known.weights))


@pytest.mark.parametrize("seed", range(40))
def test_the_bound_covers_the_error_of_the_solver_on_many_problems(seed):
    dimension = 1 + seed % 5
    known = collection.known(seed, dimension=dimension)
    problem = asked(known.X, known.y, known.bounds)
    solution = solve(problem)
    certificate = assert_bounded(
        problem, solution.theta, solution.bias, known.kernel, known.decision
    )
    assert certificate.holds()


@pytest.mark.parametrize("size", SIZES)
@every_known
def test_the_bound_covers_the_error_of_spoiled_coefficients(name, size):
    known = collection.known_problems()[name]
    problem = asked(known.X, known.y, known.bounds)
    unit = size * min(1.0, float(known.bounds.max()))
    for seed in range(12):
        rng = np.random.default_rng(seed)
        theta = shuffled(problem, known.alpha * known.y, unit, rng)
        assert_bounded(problem, theta, known.bias, known.kernel, known.decision)
        points = problem.target - known.kernel @ theta
        bias = canonical_bias(problem, points)
        assert_bounded(problem, theta, bias, known.kernel, known.decision)


@pytest.mark.parametrize("shift", [*SIZES, *(-size for size in SIZES)])
@every_known
def test_the_bound_covers_the_error_of_a_shifted_bias(name, shift):
    known = collection.known_problems()[name]
    problem = asked(known.X, known.y, known.bounds)
    theta, bias = known.alpha * known.y, known.bias + shift
    certificate = assert_bounded(problem, theta, bias, known.kernel, known.decision)
    assert certificate.decision_error_bound >= abs(shift) * (1 - 1e-3)


@pytest.mark.parametrize("seed", range(25))
def test_the_bound_covers_the_error_of_many_spoiled_problems(seed):
    rng = np.random.default_rng(seed)
    shape = list(collection.SHAPES.values())[seed % len(collection.SHAPES)]
    known = collection.known(100 + seed, **shape)
    problem = asked(known.X, known.y, known.bounds)
    for size in SIZES:
        unit = size * min(1.0, float(known.bounds.max()))
        theta = shuffled(problem, known.alpha * known.y, unit, rng)
        bias = known.bias + size * rng.choice([-1.0, 0.0, 1.0])
        assert_bounded(problem, theta, bias, known.kernel, known.decision)


@settings(
    max_examples=100, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck)
)
@given(
    collection.nasty(max_rows=30),
    st.sampled_from((None, None, 0.5)),
    st.sampled_from((*SIZES, 0.0)),
    st.integers(0, 999),
)
def test_the_bound_covers_the_error_of_spoiled_nasty_problems(nasty, bias, size, seed):
    K = nasty.gram
    try:
        truth = oracle.solve(K, nasty.y, nasty.bounds, bias=bias)
    except oracle.InseparableError:
        assume(False)
    problem = asked(nasty.X, nasty.y, nasty.bounds, OBJECTS[nasty.kernel](nasty.gamma), bias)
    unit = size * min(1.0, float(nasty.bounds.max()))
    start = solve(problem).theta
    theta = shuffled(problem, start, unit, np.random.default_rng(seed))
    value = canonical_bias(problem, problem.target - K @ theta)
    assert_bounded(problem, theta, value, K, truth.decision, slack=truth.decision_error)


@pytest.mark.parametrize("kernel", collection.KERNELS)
@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
def test_the_bound_of_an_optimum_is_of_use(kernel, C):
    """A bound of a thousand could never fail the tests above."""
    rng = np.random.default_rng(3)
    X, y = rng.standard_normal((80, 4)), np.where(np.arange(80) % 2, 1.0, -1.0)
    problem = asked(X, y, C, OBJECTS[kernel](0.25))
    solution = solve(problem)
    certificate = certify(problem, solution.theta, solution.bias)
    assert certificate.decision_error_bound <= EXACT * certificate.scale
    said_by = "margin system" if certificate.n_margin else "duality gap"  # the gap is 0 there
    assert certificate.bound_from == said_by


# ---------------------------------------------------------------- wrong models


def test_a_model_without_coefficients_is_not_proved():
    problem, _ = drawn()
    certificate = certify(problem, np.zeros(len(problem)), 0.0)
    assert not certificate.holds()
    assert certificate.kkt_violation == 1.0
    assert certificate.duality_gap == len(problem)
    assert certificate.margin == np.inf


@pytest.mark.parametrize("factor", [1 - 1e-6, 1 + 1e-6, 0.5, -1.0])
def test_longer_or_shorter_weights_are_not_proved(factor):
    problem, _ = drawn(C=100.0)
    solution = solve(problem)
    assert certify(problem, solution.theta, solution.bias).holds()
    assert not certify(problem, factor * solution.theta, solution.bias).holds()


@pytest.mark.parametrize("change", [{"C": 1.1}, {"gamma": 0.51}, {"seed": 1}, {"bias": 0.0}])
def test_the_optimum_of_another_problem_is_not_proved(change):
    problem, _ = drawn()
    other, _ = drawn(**change)
    solution = solve(other)
    assert certify(other, solution.theta, solution.bias).holds()
    assert not certify(problem, solution.theta, solution.bias).holds()


def test_other_labels_are_another_problem():
    problem, _ = drawn()
    solution = solve(problem)
    flipped = replace(problem, y=-problem.y)
    assert not certify(flipped, solution.theta, solution.bias).holds()
    assert certify(flipped, -solution.theta, -solution.bias).holds()


@pytest.mark.parametrize("row", [0, 1])
def test_a_coefficient_too_many_breaks_the_equality(row):
    problem, _ = drawn()
    solution = solve(problem)
    theta = solution.theta.copy()
    theta[row] += 1e-6
    certificate = certify(problem, theta, solution.bias)
    assert certificate.equality_residual == pytest.approx(1e-6, rel=1e-6)
    assert certificate.equality_residual > certificate.equality_bar
    assert not certificate.holds()


def test_a_fixed_bias_has_no_equality():
    problem, _ = drawn(bias=0.5)
    solution = solve(problem)
    assert abs(solution.theta.sum()) > 0.1
    certificate = certify(problem, solution.theta, solution.bias)
    assert certificate.equality_residual == 0.0
    assert certificate.holds()


# ---------------------------------------------------------------- the numbers


@pytest.mark.parametrize("bias", [None, 0.0, 0.5])
@pytest.mark.parametrize("spoiled", [0.0, 1e-3, 1.0])
def test_objectives_are_what_numpy_says(bias, spoiled):
    problem, K = drawn(bias=bias)
    solution = solve(problem)
    theta = shuffled(problem, solution.theta, spoiled, np.random.default_rng(0))
    value = solution.bias + (spoiled if bias is None else 0.0)
    certificate = certify(problem, theta, value)
    f = K @ theta + value
    square = theta @ K @ theta
    primal = 0.5 * square + np.maximum(1 - problem.y * f, 0).sum()
    dual = np.abs(theta).sum() - (bias or 0.0) * theta.sum() - 0.5 * square
    assert certificate.primal == pytest.approx(primal, rel=1e-12)
    assert certificate.dual == pytest.approx(dual, rel=1e-12)
    assert certificate.duality_gap == pytest.approx(primal - dual, rel=1e-9, abs=1e-12)
    assert certificate.relative_gap == pytest.approx(certificate.duality_gap / max(1, dual))
    assert certificate.scale == pytest.approx(max(1.0, np.abs(f).max()))
    assert certificate.margin == pytest.approx(square**-0.5)


@pytest.mark.parametrize("spoiled", [0.0, 1e-3])
def test_objectives_of_a_hard_margin(spoiled):
    """The primal value is 1/2 |w|^2 / m^2 with m = min y f."""
    problem, K = drawn(C=np.inf, gamma=2.0)
    solution = solve(problem)
    theta = shuffled(problem, solution.theta, spoiled, np.random.default_rng(0))
    certificate = certify(problem, theta, solution.bias)
    square = theta @ K @ theta
    m = (problem.y * (K @ theta + solution.bias)).min()
    assert m > 0.9
    assert certificate.primal == pytest.approx(0.5 * square / m**2, rel=1e-9)
    assert certificate.dual == pytest.approx(np.abs(theta).sum() - 0.5 * square, rel=1e-12)
    assert certificate.holds() == (spoiled == 0.0)


def test_a_hard_margin_that_is_none_has_an_infinite_gap():
    problem, _ = drawn(C=np.inf, gamma=2.0)
    solution = solve(problem)
    certificate = certify(problem, -solution.theta, solution.bias)
    assert certificate.duality_gap == np.inf
    assert certificate.decision_error_bound == np.inf
    assert not certificate.holds()


def test_the_violation_is_the_worst_of_the_three_categories():
    problem, K = drawn()
    theta = solve(problem).theta
    bias = 0.3
    g = problem.y * (K @ theta + bias) - 1
    alpha = np.abs(theta)
    worst = max(np.where(alpha < 1, -g, 0).max(), np.where(alpha > 0, g, 0).max())
    assert certify(problem, theta, bias).kkt_violation == pytest.approx(worst, rel=1e-12)
    magnitude = (np.abs(K) @ alpha).max() + bias
    bar = 1e-9 + 64 * np.finfo(float).eps * magnitude
    assert certify(problem, theta, bias).kkt_bar == pytest.approx(bar, rel=1e-12)


def test_categories_are_counted():
    known = collection.known(5, dimension=4, margin=(2, 2), error=(3, 3), reserve=(4, 6))
    problem = asked(known.X, known.y, known.bounds)
    certificate = certify(problem, known.alpha * known.y, known.bias)
    counted = certificate.n_margin, certificate.n_error, certificate.n_reserve
    assert counted == (4, 6, 10)


def test_a_row_without_weight_is_in_reserve_and_breaks_nothing():
    known = collection.known(5)
    X, y = np.vstack([known.X, known.X[:1]]), np.append(known.y, -known.y[0])
    problem = asked(X, y, np.append(known.bounds, 0.0))
    certificate = certify(problem, np.append(known.alpha * known.y, 0.0), known.bias)
    assert certificate.holds()
    assert certificate.n_reserve == 9


def test_the_verdict_is_a_sentence():
    problem, _ = drawn()
    solution = solve(problem)
    assert str(certify(problem, solution.theta, solution.bias)).startswith("optimal; ")
    wrong = certify(problem, solution.theta, solution.bias + 0.1)
    assert str(wrong).startswith("not proved optimal; ")


# ---------------------------------------------------------------- where the bound comes from


def test_far_from_the_optimum_the_gap_speaks():
    """|w - w*| <= sqrt(gap) (003's duality); here both are known."""
    known = collection.known(7, dimension=4)
    problem = asked(known.X, known.y, known.bounds)
    theta = np.zeros(len(problem))
    certificate = certify(problem, theta, canonical_bias(problem, problem.target))
    assert np.linalg.norm(known.weights) <= certificate.duality_gap**0.5
    assert certificate.bound_from in {"duality gap", "margin system"}
    assert certificate.decision_error_bound >= np.abs(known.decision).max() - 1


def test_near_the_optimum_the_margin_system_speaks_and_says_far_less():
    problem, _ = drawn(200)
    solution = solve(problem)
    certificate = certify(problem, solution.theta, solution.bias)
    assert certificate.bound_from == "margin system"
    assert certificate.decision_error_bound < 1e-2 * certificate.duality_gap**0.5


# ---------------------------------------------------------------- definiteness


def test_a_strange_sigmoid_is_no_convex_problem():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((40, 3)), np.where(np.arange(40) % 2, 1.0, -1.0)
    spectrum = np.linalg.eigvalsh(np.tanh(2 * X @ X.T - 1))
    assert spectrum[0] < -0.1
    problem = asked(X, y, 1.0, Sigmoid(2.0, -1.0))
    certificate = certify(problem, np.zeros(40), 0.0)
    assert not certificate.convex
    assert not certificate.holds()
    assert "indefinite" in str(certificate)


def test_a_fit_with_a_strange_sigmoid_says_so():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((40, 3)), np.arange(40) % 2
    model = SVC(kernel="sigmoid", gamma=2.0, coef0=-1.0).fit(X, y)
    certificate = model.certificate()
    assert not certificate.convex
    assert not certificate.holds()
    assert certificate.kkt_violation <= certificate.kkt_bar


@pytest.mark.parametrize(("least", "convex"), [(0.0, True), (1e-3, True), (-1e-3, False)])
def test_a_given_matrix_is_judged_by_its_eigenvalues(least, convex):
    rng = np.random.default_rng(1)
    vectors, _ = np.linalg.qr(rng.standard_normal((20, 20)))
    K = vectors @ np.diag([least, *np.linspace(0.5, 2, 19)]) @ vectors.T
    y = np.where(np.arange(20) % 2, 1.0, -1.0)
    problem = asked((K + K.T) / 2, y, 1.0, Precomputed())
    assert certify(problem, np.zeros(20), 0.0).convex is convex


def test_rows_without_weight_do_not_make_a_matrix_indefinite():
    K = np.diag([1.0, 1.0, -1.0])
    y = np.array([1.0, -1.0, 1.0])
    problem = asked(K, y, np.array([1.0, 1.0, 0.0]), Precomputed())
    assert certify(problem, np.zeros(3), 0.0).convex
    assert not certify(replace(problem, bounds=np.ones(3)), np.zeros(3), 0.0).convex
