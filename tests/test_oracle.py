"""The judge is judged: by exact rational arithmetic, by known solutions, by real data."""

from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import assume, given, reject, settings
from hypothesis import strategies as st

from tests import collection, datasets, oracle

GOOD = 1e-10
INF = None  # the bound of a hard row, among fractions


def size(values):
    return max(1.0, np.abs(values).max())


def violation(truth, kernel, y, bounds, diagonal=0.0):
    """Optimality in plain float64, written down anew; also the rounding it has to expect."""
    beta = truth.alpha * y
    g = y * (kernel @ beta + diagonal * beta + truth.bias) - 1
    low = np.where(truth.alpha < bounds, -g, 0.0)
    high = np.where(truth.alpha > 0, g, 0.0)
    noise = 64 * np.finfo(float).eps * ((np.abs(kernel) @ truth.alpha).max() + size(truth.bias))
    return max(low.max(), high.max()), noise


# ---------------------------------------------------------------- exact arithmetic


def solved(matrix, right):
    """The solution of a square system of fractions, or None if it is singular."""
    rows = [[*row, value] for row, value in zip(matrix, right, strict=True)]
    for k in range(len(rows)):
        pivot = next((i for i in range(k, len(rows)) if rows[i][k] != 0), None)
        if pivot is None:
            return None
        rows[k], rows[pivot] = rows[pivot], rows[k]
        rows[k] = [v / rows[k][k] for v in rows[k]]
        for i, row in enumerate(rows):
            if i != k and row[k] != 0:
                rows[i] = [v - row[k] * w for v, w in zip(row, rows[k], strict=True)]
    return [row[-1] for row in rows]


def candidate(kernel, y, bounds, categories, bias):
    """alpha * y for one guess of all categories, or None where it contradicts itself."""
    rows = range(len(y))
    free = [i for i in rows if categories[i] == "margin"]
    beta = [y[i] * bounds[i] if categories[i] == "error" else Fraction(0) for i in rows]
    matrix = [[kernel[i][j] for j in free] for i in free]
    right = [y[i] - sum(k * v for k, v in zip(kernel[i], beta, strict=True)) for i in free]
    if bias is None:
        matrix = [[*row, Fraction(1)] for row in matrix] + [[Fraction(1)] * len(free) + [0]]
        right.append(-sum(beta))
    else:
        right = [value - bias for value in right]
    if bias is None and not free:
        return beta if sum(beta) == 0 else None
    values = solved(matrix, right)
    if values is None:
        return None
    for i, value in zip(free, values, strict=False):
        beta[i] = value
        if y[i] * value < 0 or (bounds[i] is not INF and y[i] * value > bounds[i]):
            return None
    return beta


def biases(y, bounds, beta, h):
    """The demands of the optimality conditions on the bias: not below these, not above those."""
    low, high = [], []
    for label, bound, value, own in zip(y, bounds, beta, h, strict=True):
        if bound == 0:
            continue
        if bound is INF or label * value < bound:
            (low if label > 0 else high).append(label - own)
        if value != 0:
            (high if label > 0 else low).append(label - own)
    return low, high


def canonical(y, bounds, h):
    """The middle of the biases of least weighted slack, by trying every kink."""
    counted = [i for i in range(len(y)) if bounds[i] != 0]
    kinks = {y[i] - h[i] for i in counted}
    hard = [i for i in counted if bounds[i] is INF]
    soft = [i for i in counted if bounds[i] is not INF]
    allowed = [b for b in kinks if all(y[i] * (h[i] + b) >= 1 for i in hard)]
    slack = {b: sum(bounds[i] * max(0, 1 - y[i] * (h[i] + b)) for i in soft) for b in allowed}
    best = [b for b in allowed if slack[b] == min(slack.values())]
    return (min(best) + max(best)) / 2


def exact_optimum(kernel, y, bounds, bias):
    """Decision values as fractions, or None if hard rows are not separable.

    Some optimum has a regular system of margin rows, so every guess of categories is tried.
    """
    counted = {y[i] for i in range(len(y)) if bounds[i] != 0}
    if bias is None and len(counted) == 1:
        return [Fraction(counted.pop())] * len(y)
    choices = [
        ("reserve", "margin", "error")[: 3 if bound is not INF else 2]
        if bound != 0
        else ("reserve",)
        for bound in bounds
    ]
    for categories in product(*choices):
        beta = candidate(kernel, y, bounds, categories, bias)
        if beta is None:
            continue
        h = [sum(k * v for k, v in zip(row, beta, strict=True)) for row in kernel]
        low, high = biases(y, bounds, beta, h)
        if bias is not None and all(v <= bias for v in low) and all(v >= bias for v in high):
            return [value + bias for value in h]
        if bias is None and (not low or not high or max(low) <= min(high)):
            middle = canonical(y, bounds, h)
            return [value + middle for value in h]
    return None


@st.composite
def rational_problems(draw):
    """Up to five points of a small grid; bounds all finite or, where not 0, all infinite."""
    rows = draw(st.integers(1, 5))
    columns = draw(st.integers(1, 3))
    point = st.lists(st.integers(-3, 3), min_size=columns, max_size=columns)
    grid = draw(st.lists(point, min_size=rows, max_size=rows))
    power = draw(st.sampled_from((0, -20, 10)))
    scale = Fraction(2) ** power
    kernel = [
        [scale**2 * sum(a * b for a, b in zip(p, q, strict=True)) for q in grid] for p in grid
    ]
    y = draw(st.lists(st.sampled_from((-1, 1)), min_size=rows, max_size=rows))
    cost = draw(st.sampled_from((Fraction(1), Fraction(1, 1024), Fraction(8), INF)))
    share = st.sampled_from((Fraction(1), Fraction(0), Fraction(2), Fraction(1, 4)))
    shares = draw(st.lists(share, min_size=rows, max_size=rows))
    bounds = [INF if cost is INF and part else (cost or 0) * part for part in shares]
    bias = draw(st.sampled_from((None, None, Fraction(0), Fraction(1, 2), Fraction(-1))))
    return kernel, y, bounds, bias


@settings(max_examples=150, deadline=None)
@given(rational_problems())
def test_oracle_agrees_with_exact_arithmetic(problem):
    kernel, y, bounds, bias = problem
    assume(any(bound != 0 for bound in bounds))
    expected = exact_optimum(kernel, y, bounds, bias)
    floats = (
        np.array(kernel, dtype=float),
        np.array(y, dtype=float),
        np.array([np.inf if bound is INF else float(bound) for bound in bounds]),
    )
    fixed = None if bias is None else float(bias)
    if expected is None:
        with pytest.raises(oracle.InseparableError):
            oracle.solve(*floats, bias=fixed)
        return
    truth = oracle.solve(*floats, bias=fixed)
    f = np.array(expected, dtype=float)
    assert np.abs(truth.decision - f).max() <= GOOD * size(f)
    # the stated error is no promise but an estimate; it must not be far too small
    assert np.abs(truth.decision - f).max() <= 10 * truth.decision_error


# ---------------------------------------------------------------- known solutions


@pytest.mark.parametrize("name", collection.known_problems())
def test_known_problems_are_optimal_without_any_rounding(name):
    problem = collection.known_problems()[name]
    alpha, y, f = (
        [Fraction(v) for v in part] for part in (problem.alpha, problem.y, problem.decision)
    )
    rows = [[Fraction(v) for v in row] for row in problem.X]
    weights = [
        sum(a * label * row[k] for a, label, row in zip(alpha, y, rows, strict=True))
        for k in range(len(problem.weights))
    ]
    assert sum(a * label for a, label in zip(alpha, y, strict=True)) == 0
    assert weights == [Fraction(v) for v in problem.weights]
    for row, value in zip(rows, f, strict=True):
        assert (
            sum(v * w for v, w in zip(row, weights, strict=True)) + Fraction(problem.bias) == value
        )
    for a, bound, label, value in zip(alpha, problem.bounds, y, f, strict=True):
        g = label * value - 1
        assert (g > 0 and a == 0) or (g == 0 and 0 < a < bound) or (g < 0 and a == bound)
    for row, values in zip(rows, problem.kernel, strict=True):
        products = [sum(v * w for v, w in zip(row, other, strict=True)) for other in rows]
        assert products == [Fraction(v) for v in values]


@pytest.mark.parametrize("name", collection.known_problems())
def test_oracle_finds_the_known_solution(name):
    problem = collection.known_problems()[name]
    truth = oracle.solve(problem.kernel, problem.y, problem.bounds)
    assert np.abs(truth.decision - problem.decision).max() <= 1e-13 * size(problem.decision)
    assert abs(truth.bias - problem.bias) <= 1e-13 * size(problem.decision)
    others = np.eye(problem.X.shape[1])
    expected = problem.weights + problem.bias
    assert np.abs(truth.decide(others @ problem.X.T) - expected).max() <= 1e-13 * size(expected)


@pytest.mark.parametrize("name", collection.known_problems())
def test_oracle_does_not_depend_on_a_good_first_answer(name, monkeypatch):
    monkeypatch.setattr(oracle, "TOLERANCES", (0.1,))
    problem = collection.known_problems()[name]
    truth = oracle.solve(problem.kernel, problem.y, problem.bounds)
    assert np.abs(truth.decision - problem.decision).max() <= 1e-13 * size(problem.decision)


def test_known_problems_without_margin_rows_leave_an_interval_of_biases():
    problem = collection.known_without_margin(1)
    low, high = oracle.solve(problem.kernel, problem.y, problem.bounds).bias_range
    assert (low, high) == pytest.approx((problem.bias - 0.25, problem.bias + 0.25), abs=1e-13)


def test_margin_rows_that_cannot_balance_the_error_rows_are_refused():
    with pytest.raises(ValueError, match="cannot balance"):
        collection.known(0, margin=(1, 1), error=(3, 0))


# ---------------------------------------------------------------- conventions


def test_bias_is_the_middle_where_bound_sums_balance_up_to_rounding():
    x = np.array([3.0, -1.0, -2.0])
    bounds = np.array([0.3, 0.1, 0.2]) / 1024  # equal sums, but not in float64
    assert bounds[0] != bounds[1] + bounds[2]
    truth = oracle.solve(np.outer(x, x), np.sign(x), bounds)
    weight = bounds @ np.abs(x)
    low, high = -1 + 2 * weight, 1 - 3 * weight  # where row 2 and row 0 reach their margins
    assert truth.bias_range == pytest.approx((low, high), abs=1e-14)
    assert truth.bias == pytest.approx((low + high) / 2, abs=1e-14)


def test_hard_margin_of_two_points_lies_half_way():
    truth = oracle.solve(np.diag([4.0, 0.0]), np.array([1.0, -1.0]), np.inf)
    assert truth.alpha == pytest.approx([0.5, 0.5], abs=1e-15)
    assert truth.bias == pytest.approx(-1.0, abs=1e-15)


def test_one_class_has_no_weights_and_its_own_label_as_bias():
    kernel = np.eye(3)
    truth = oracle.solve(kernel, np.array([-1.0, -1.0, 1.0]), np.array([1.0, np.inf, 0.0]))
    assert not truth.alpha.any()
    assert truth.bias == -1.0
    assert (truth.decision == -1.0).all()


def test_points_of_both_classes_at_one_place_are_not_separable():
    x = np.array([1.0, 1.0, -1.0])
    y = np.array([1.0, -1.0, -1.0])
    with pytest.raises(oracle.InseparableError) as caught:
        oracle.solve(np.outer(x, x), y, np.inf)
    assert caught.value.distance < 1e-6


@pytest.mark.parametrize(("label", "inseparable"), [(-1.0, True), (1.0, False)])
def test_a_point_without_length_stays_on_the_side_of_the_fixed_bias(label, inseparable):
    rows = (np.zeros((1, 1)), np.array([label]), np.inf)
    if inseparable:
        with pytest.raises(oracle.InseparableError):
            oracle.solve(*rows, bias=2.0)
    else:
        assert oracle.solve(*rows, bias=2.0).decision == pytest.approx([2.0])


@pytest.mark.parametrize(("distance", "separable"), [(1e-4, True), (1e-6, False)])
def test_a_margin_below_a_millionth_of_the_longest_row_does_not_count(distance, separable):
    x = np.array([[1.0, 0.0], [1.0, distance]])
    y = np.array([1.0, -1.0])
    if separable:
        assert oracle.solve(x @ x.T, y, np.inf).decision == pytest.approx(y)
    else:
        with pytest.raises(oracle.InseparableError):
            oracle.solve(x @ x.T, y, np.inf)


def test_squared_slacks_are_a_hard_margin_with_a_longer_kernel():
    X, y = datasets.standardised(np.random.default_rng(0).normal(size=(30, 3))), np.ones(30)
    y[::3] = -1.0
    extra = np.full(30, 1 / (2 * 4.0))
    truth = oracle.solve(X @ X.T, y, np.inf, diagonal=extra)
    longer = oracle.solve(X @ X.T + np.diag(extra), y, np.inf)
    assert truth.alpha == pytest.approx(longer.alpha, abs=1e-12)
    assert truth.bias == pytest.approx(longer.bias, abs=1e-12)
    assert longer.decision - truth.decision == pytest.approx(extra * truth.alpha * y, abs=1e-12)
    slack = np.maximum(0, 1 - y * truth.decision)
    assert truth.alpha == pytest.approx(2 * 4.0 * slack, abs=1e-10)


def test_weight_two_is_two_copies():
    rng = np.random.default_rng(1)
    X, y = rng.integers(-3, 4, (20, 2)).astype(float), rng.choice([-1.0, 1.0], 20)
    weight = rng.integers(0, 3, 20)
    copies = np.repeat(np.arange(20), weight)
    one = oracle.solve(X @ X.T, y, 0.5 * weight)
    two = oracle.solve(X[copies] @ X[copies].T, y[copies], 0.5)
    assert two.decide(X @ X[copies].T) == pytest.approx(one.decision, abs=1e-12)


# ---------------------------------------------------------------- honesty


def test_oracle_refuses_where_rounding_hides_the_digits():
    x = np.random.default_rng(0).normal(size=40)
    y = np.where(x + np.random.default_rng(1).normal(size=40) > 0, 1.0, -1.0)
    kernel = (x[:, None] * x) ** 3
    assert oracle.solve(kernel, y, 1.0).decision_error < GOOD
    with pytest.raises(oracle.InaccurateError):
        oracle.solve(kernel, y, 1e12)


@pytest.mark.parametrize(
    ("part", "value"),
    [("kernel", np.array([[1.0, 2.0], [1.0, 1.0]])), ("y", np.array([1.0, 0.0])), ("bounds", -1.0)],
)
def test_oracle_refuses_what_is_no_problem(part, value):
    asked = {"kernel": np.eye(2), "y": np.array([1.0, -1.0]), "bounds": 1.0, part: value}
    with pytest.raises(ValueError, match=r"must"):
        oracle.solve(**asked)


def test_stated_residual_is_the_one_anybody_can_compute():
    problem = collection.known(5, dimension=4, margin=(4, 4), error=(5, 5))
    truth = oracle.solve(problem.kernel, problem.y, problem.bounds)
    worst, noise = violation(truth, problem.kernel, problem.y, problem.bounds)
    assert worst <= truth.kkt + noise
    spoiled = replace(truth, alpha=truth.alpha * (1 - 1e-6))
    assert violation(spoiled, problem.kernel, problem.y, problem.bounds)[0] > 1e3 * noise


# ---------------------------------------------------------------- nasty and real data


@settings(max_examples=150, deadline=None, derandomize=True)
@given(collection.nasty(), st.sampled_from((None, None, 0.0, 0.5)))
def test_nasty_problems_are_solved_or_shown_to_be_inseparable(problem, bias):
    kernel, y, bounds = problem.gram, problem.y, problem.bounds
    try:
        truth = oracle.solve(kernel, y, bounds, bias=bias)
    except oracle.InaccurateError:
        reject()  # it says so; hypothesis complains when that happens often
    except oracle.InseparableError:
        assert np.isinf(problem.C)
        return
    assert truth.decision_error <= oracle.REQUIRED * size(truth.decision)
    if bias is None and np.ptp(y[bounds > 0]) == 0:
        assert (truth.decision == y[bounds > 0][0]).all()
        return
    counted = np.flatnonzero(bounds > 0)
    low, high = truth.bias_range
    assert low <= truth.bias <= high
    worst, noise = violation(
        replace(truth, alpha=truth.alpha[counted]),
        kernel[np.ix_(counted, counted)],
        y[counted],
        bounds[counted],
    )
    assert worst <= 1e-9 * size(truth.decision) + noise


def gram(name, X):
    return collection.KERNELS[name](X, X, 1 / X.shape[1])


@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
@pytest.mark.parametrize("kernel", collection.KERNELS)
@pytest.mark.parametrize("name", ["breast_cancer", "heart", "thyroid"])
def test_oracle_is_accurate_on_real_data(name, kernel, C):
    X, y = datasets.load(name)
    K = gram(kernel, X)
    truth = oracle.solve(K, y, C)
    assert truth.decision_error <= GOOD * size(truth.decision)
    worst, noise = violation(truth, K, y, C)
    assert worst <= 1e-9 + noise


@pytest.mark.parametrize(
    ("name", "kernel", "separable"),
    [
        ("breast_cancer", "rbf", False),  # equal rows with opposite labels
        ("heart", "linear", False),
        ("heart", "rbf", True),
        ("thyroid", "cubic", True),
        ("thyroid", "linear", False),
    ],
)
def test_hard_margin_on_real_data(name, kernel, separable):
    X, y = datasets.load(name)
    K = gram(kernel, X)
    if separable:
        truth = oracle.solve(K, y, np.inf)
        assert (y * truth.decision).min() == pytest.approx(1, abs=1e-9 * size(truth.decision))
    else:
        with pytest.raises(oracle.InseparableError):
            oracle.solve(K, y, np.inf)


def test_pima_has_145_margin_and_330_error_vectors():
    """Gaussian kernel with sigma^2 = 4, C = 1; printed are 150, 328 and 290 reserve vectors."""
    X, y = datasets.load("pima")
    truth = oracle.solve(collection.rbf(X, X, 0.25), y, 1.0)
    n_margin = ((truth.alpha > 0) & (truth.alpha < 1)).sum()
    assert (n_margin, (truth.alpha == 1).sum(), (truth.alpha == 0).sum()) == (145, 330, 293)


@pytest.mark.parametrize("name", datasets.LOADERS)
def test_data_sets_are_standardised(name):
    X, y = datasets.load(name)
    assert set(y) == {-1.0, 1.0}
    assert len(X) == len(y)
    spread = X.std(axis=0)
    assert np.abs(X.mean(axis=0)).max() < 1e-12
    assert ((np.abs(spread - 1) < 1e-9) | (X == 0).all(axis=0)).all()


def test_a_missing_data_set_skips_the_test_that_wants_it(tmp_path, monkeypatch):
    monkeypatch.setenv("ADIABAT_DATA", str(tmp_path))
    with pytest.raises(pytest.skip.Exception, match="pima"):
        datasets.load("pima")
