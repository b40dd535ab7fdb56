"""Two algorithms have to agree: the descent with its polish, and one row at a time on all rows."""

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from adiabat import NotSeparableError
from adiabat.certificate import certify
from adiabat.gram import Gram
from adiabat.kernels import RBF, Linear, Polynomial, Precomputed, Sigmoid, rows_of
from adiabat.problem import classification
from adiabat.solution import canonical_bias
from adiabat.solvers.active_set import ActiveSet, DenseProblem, UnboundedError, solve_dense
from adiabat.solvers.hard_margin import not_separable
from adiabat.solvers.monitor import Monitor
from adiabat.solvers.solve import solve
from tests import collection

EXACT = 1e-8  # of max(1, max|f|): what is promised
OBJECTS = {
    "linear": lambda _: Linear(),
    "cubic": lambda gamma: Polynomial(3, gamma, 0.0),
    "rbf": RBF,
}


def asked(X, y, bounds, kernel=None, bias=None):
    gram = Gram(kernel or Linear(), rows_of(X))
    bounds = np.broadcast_to(np.asarray(bounds, dtype=float), y.shape).copy()
    return classification(gram, y, bounds, bias)


def matrix_of(problem):
    rows = np.arange(len(problem))
    return problem.gram.block(rows, rows)


# ---------------------------------------------------------------- all solvers, once


@dataclass(frozen=True)
class Answer:
    theta: np.ndarray
    bias: float


def descent_and_polish(problem):
    solution = solve(problem)
    return Answer(solution.theta, solution.bias)


def dense(problem, theta=None):
    """What the rescue is asked when all rows are in play, and a point to start from."""
    K = matrix_of(problem)
    shift = max(float(np.diag(K).mean()), 1e-300) if problem.bias is None else 0.0
    low, high, total = problem.low, problem.high, problem.total
    task = DenseProblem(K, problem.target, low, high, total, problem.bias, shift)
    return task, np.zeros(len(problem)) if theta is None else theta, problem.bias or 0.0


def one_row_at_a_time(problem):
    task, start, bias = dense(problem)
    try:
        theta, _ = solve_dense(task, start, bias, Monitor())
    except UnboundedError as ray:
        raise not_separable(problem, ray.direction) from None
    return Answer(theta, canonical_bias(problem, problem.target - task.matrix @ theta))


SOLVERS = {"descent and polish": descent_and_polish, "one row at a time": one_row_at_a_time}
every_solver = pytest.mark.parametrize("solver", SOLVERS.values(), ids=SOLVERS.keys())


def assert_same(one, other):
    assert np.abs(one - other).max() <= EXACT * max(1.0, np.abs(other).max())


def values(K, answer):
    return K @ answer.theta + answer.bias


def assert_feasible(problem, theta):
    assert (theta >= problem.low).all()
    assert (theta <= problem.high).all()
    if problem.bias is None:
        assert abs(theta.sum() - problem.total) <= 1e-12 * max(np.abs(theta).sum(), 1.0)


def drawn(n=60, features=3, seed=0, C=1.0, kernel=None, bias=None):
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(n) < 0.4, 1.0, -1.0)
    X = rng.standard_normal((n, features)) + 0.5 * y[:, None]
    return asked(X, y, C, kernel or RBF(0.5), bias)


# ---------------------------------------------------------------- agreement


@every_solver
@pytest.mark.parametrize("name", collection.known_problems())
def test_every_solver_finds_the_known_solution(solver, name):
    known = collection.known_problems()[name]
    problem = asked(known.X, known.y, known.bounds)
    answer = solver(problem)
    assert_feasible(problem, answer.theta)
    assert_same(values(known.kernel, answer), known.decision)
    assert answer.bias == pytest.approx(known.bias, abs=EXACT)


@every_solver
@pytest.mark.parametrize("seed", range(20))
def test_every_solver_finds_many_known_solutions(solver, seed):
    shape = list(collection.SHAPES.values())[seed % len(collection.SHAPES)]
    known = collection.known(300 + seed, **shape)
    answer = solver(asked(known.X, known.y, known.bounds))
    assert_same(values(known.kernel, answer), known.decision)


@pytest.mark.parametrize("C", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize("bias", [None, 0.0, -0.75])
@pytest.mark.parametrize(
    "kernel", [RBF(0.5), RBF(5.0), Linear(), Polynomial(2, 0.5, 1.0)], ids=repr
)
def test_all_solvers_agree(kernel, bias, C):
    problem = drawn(C=C, kernel=kernel, bias=bias)
    K = matrix_of(problem)
    answers = [solver(problem) for solver in SOLVERS.values()]
    for answer in answers:
        assert_feasible(problem, answer.theta)
        assert_same(values(K, answer), values(K, answers[0]))


@settings(
    max_examples=250, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck)
)
@given(collection.nasty(max_rows=40), st.sampled_from((None, None, 0.0, 0.5)))
def test_all_solvers_agree_on_nasty_problems(nasty, bias):
    kernel = OBJECTS[nasty.kernel](nasty.gamma)
    problem = asked(nasty.X, nasty.y, nasty.bounds, kernel, bias)
    answers = []
    for solver in SOLVERS.values():
        try:
            answers.append(values(nasty.gram, solver(problem)))
        except NotSeparableError:
            answers.append(None)
    inseparable = [answer is None for answer in answers]
    assert all(inseparable) or not any(inseparable)
    if not any(inseparable):
        assert_same(answers[1], answers[0])


@pytest.mark.parametrize("bias", [None, 0.5])
@pytest.mark.parametrize("seed", range(4))
def test_one_row_at_a_time_reaches_the_optimum_from_anywhere(bias, seed):
    problem = drawn(seed=seed, bias=bias)
    K = matrix_of(problem)
    rng = np.random.default_rng(seed)
    start = rng.random(60) * problem.y
    if bias is None:
        start *= np.where(start > 0, -start[start < 0].sum(), start[start > 0].sum())
        start /= np.abs(start).max()
    task, start, level = dense(problem, start)
    theta, found = solve_dense(task, start, level, Monitor())
    wanted = solve(problem)
    assert_same(K @ theta + found, values(K, wanted))


def test_one_row_at_a_time_leaves_its_start_alone():
    task, start, bias = dense(drawn())
    solve_dense(task, start, bias, Monitor())
    assert not start.any()


# ---------------------------------------------------------------- ending early


@pytest.mark.parametrize("steps", [1, 2, 17, 100])
@pytest.mark.parametrize("bias", [None, 0.5])
def test_a_solver_ends_after_the_steps_it_was_given(steps, bias):
    problem = drawn(800, features=6, C=10.0, bias=bias)
    solution = solve(problem, max_steps=steps)
    assert solution.steps == steps
    assert_feasible(problem, solution.theta)
    assert 0 < len(solution.support) <= (2 if bias is None else 1) * steps
    optimum = solve(problem)
    assert optimum.steps > steps
    K = matrix_of(problem)
    assert np.abs(values(K, solution) - values(K, optimum)).max() > 1e-3


def test_an_early_end_still_has_the_bias_and_errors_of_its_coefficients():
    problem = drawn(400, C=10.0)
    solution = solve(problem, max_steps=20)
    points = problem.target - matrix_of(problem) @ solution.theta
    assert solution.bias == pytest.approx(canonical_bias(problem, points), abs=1e-12)
    assert solution.error == pytest.approx(points - solution.bias, abs=1e-12)


def test_more_steps_than_it_takes_change_nothing():
    free, bounded = solve(drawn()), solve(drawn(), max_steps=1_000_000)
    assert bounded.theta.tolist() == free.theta.tolist()
    assert bounded.steps == free.steps


# ---------------------------------------------------------------- no hard margin


def touching():
    """Two segments that cross."""
    X = np.array([[-1.0, 0.0], [1.0, 0.0], [0.0, -1.0], [0.0, 1.0], [5.0, 5.0]])
    return X, np.array([1.0, 1.0, -1.0, -1.0, 1.0])


def blended(n=30, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, 2)), np.where(np.arange(n) % 2, 1.0, -1.0)


@every_solver
@pytest.mark.parametrize("data", [touching(), blended()], ids=["touching", "blended"])
def test_a_hard_margin_that_does_not_exist_is_refused(solver, data):
    X, y = data
    with pytest.raises(NotSeparableError) as caught:
        solver(asked(X, y, np.inf))
    error = caught.value
    meeting = (y[error.ids] * error.weights) @ X[error.ids]
    assert meeting == pytest.approx([0.0, 0.0], abs=1e-6)
    for label in (-1.0, 1.0):
        assert error.weights[y[error.ids] == label].sum() == pytest.approx(1.0)


@pytest.mark.parametrize("label", [1.0, -1.0])
def test_a_hard_margin_with_a_fixed_bias_on_the_wrong_side_is_refused(label):
    """A row at the origin has the decision value b."""
    X, y = np.array([[0.0], [3.0]]), np.array([label, -label])
    for solver in SOLVERS.values():
        with pytest.raises(NotSeparableError):
            solver(asked(X, y, np.inf, bias=0.5 * label))
        assert solver(asked(X, y, np.inf, bias=1.5 * label)).bias == 1.5 * label


@pytest.mark.parametrize("data", [touching(), blended()], ids=["touching", "blended"])
def test_the_ray_of_an_unbounded_dual_is_one(data):
    """Along it the weights stay, the sum stays, all coefficients may go on and the dual falls."""
    X, y = data
    task, start, bias = dense(asked(X, y, np.inf))
    with pytest.raises(UnboundedError) as caught:
        solve_dense(task, start, bias, Monitor())
    ray = caught.value.direction
    assert (ray * y >= 0).all()
    size = np.abs(ray).sum()
    assert np.abs(ray @ X).max() <= 1e-7 * size
    assert abs(ray.sum()) <= 1e-9 * size
    assert task.target @ ray > 0.1 * size


def test_finite_bounds_make_a_ray_end():
    X, y = touching()
    problem = asked(X, y, 100.0)
    K = matrix_of(problem)
    one, other = (values(K, solver(problem)) for solver in SOLVERS.values())
    assert_same(one, other)


# ---------------------------------------------------------------- indefinite kernels


def indefinite_matrix(n, seed, negative):
    """A symmetric matrix with so many negative eigenvalues."""
    rng = np.random.default_rng(seed)
    vectors, _ = np.linalg.qr(rng.standard_normal((n, n)))
    spectrum = rng.uniform(0.1, 2.0, n)
    spectrum[:negative] *= -0.5
    K = (vectors * spectrum) @ vectors.T
    return 0.5 * (K + K.T)


def assert_stationary(problem, K):
    """The optimality conditions hold, to rounding."""
    solution = solve(problem)
    assert_feasible(problem, solution.theta)
    error = problem.target - K @ solution.theta - solution.bias
    rise = np.where(solution.theta < problem.high, error, 0.0).max()
    fall = np.where(solution.theta > problem.low, -error, 0.0).max()
    bar = 1e-9 + 1e-14 * ((np.abs(K) @ np.abs(solution.theta)).max() + abs(solution.bias))
    assert max(rise, fall) <= bar
    return solution


def assert_stationary_and_no_more(problem, K):
    """The certificate measures the same, and does not call it an optimum."""
    solution = assert_stationary(problem, K)
    certificate = certify(problem, solution.theta, solution.bias)
    assert certificate.kkt_violation <= certificate.kkt_bar
    assert not certificate.convex
    assert not certificate.holds()


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("C", [0.1, 1.0, 10.0])
def test_a_strange_sigmoid_ends_at_a_stationary_point(seed, C):
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((50, 3)), np.where(np.arange(50) % 2, 1.0, -1.0)
    problem = asked(X, y, C, Sigmoid(2.0, 0.0))
    assert_stationary_and_no_more(problem, np.tanh(2.0 * X @ X.T))


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("negative", [1, 8])
@pytest.mark.parametrize("bias", [None, 0.25])
def test_an_indefinite_matrix_ends_at_a_stationary_point(seed, negative, bias):
    K = indefinite_matrix(40, seed, negative)
    y = np.where(np.arange(40) % 3, 1.0, -1.0)
    assert (np.diag(K) > 0).all()
    assert_stationary_and_no_more(asked(K, y, 1.0, Precomputed(), bias), K)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("bias", [None, 0.25])
def test_a_matrix_with_a_negative_diagonal_ends_at_a_stationary_point(seed, bias):
    K = indefinite_matrix(40, seed, 30)
    y = np.where(np.arange(40) % 3, 1.0, -1.0)
    assert (np.diag(K) < 0).any()
    assert_stationary(asked(K, y, 1.0, Precomputed(), bias), K)


def test_a_rate_of_next_to_nothing_meets_no_bound():
    dense = DenseProblem(np.eye(2), np.ones(2), np.zeros(2), np.full(2, 10.0), 0.0, 0.0, 0.0)
    state = ActiveSet(dense, np.zeros(2), 0.0)
    assert state.room(np.array([1e-310, 0.0])) == (np.inf, -1)
    assert state.room(np.array([1e-310, -1.0])) == (0.0, 1)
