"""Problems for the tests: some whose solution is known exactly, many that are nasty.

``known`` and ``known_without_margin`` build the data from the solution: all numbers are dyadic
rationals with few bits, so that features, linear kernel values, multipliers and decision values
are exact in float64 and the optimality conditions hold without any rounding.
``nasty`` draws small problems with everything that makes a solver stumble.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st
from hypothesis.extra import numpy as stn

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Pair = tuple[int, int]  # a number of rows of class +1 and one of class -1

PARTS = 64  # multipliers of margin rows are whole numbers of C / PARTS


# ---------------------------------------------------------------- solutions known exactly


@dataclass(frozen=True)
class Known:
    """A linear machine with its data: f(x) = weights . x + bias, weights = sum alpha y x."""

    X: Floats
    y: Floats
    bounds: Floats
    alpha: Floats
    bias: float
    weights: Floats
    decision: Floats

    @property
    def kernel(self) -> Floats:
        return np.asarray(self.X @ self.X.T)


def known(
    seed: int,
    dimension: int = 3,
    margin: Pair = (3, 2),
    error: Pair = (2, 2),
    reserve: Pair = (4, 4),
    C: float = 1.0,
) -> Known:
    """A machine with this many rows of each category and class.

    C is a power of two, or inf; there can be no error rows then.  Margin rows must be able to
    balance the error rows: with one margin row in each class the errors are as many too.
    ``alpha`` and ``bias`` are optimal; ``alpha`` need not be the only optimum.
    """
    rng = np.random.default_rng(seed)
    unit = (1.0 if np.isinf(C) else C) / PARTS
    if np.isinf(C) and sum(error):
        raise ValueError("a hard margin has no error rows")
    plus, minus = _shares(
        rng,
        margin,
        PARTS * (error[1] - error[0]),
        # without error rows |w|^2 is the sum of these multipliers
        allowed=lambda total: any(error) or _is_power_of_four(2 * total * unit),
    )
    on_margin = unit * np.array(plus + minus)
    square = _square(float(on_margin.sum()), unit * PARTS * sum(error))
    on_error = _error_values(
        rng, square - float(on_margin.sum()), unit * PARTS, sum(error), above=0.125
    )
    bias = float(rng.integers(-8, 9)) / 4
    rows = _Rows(margin, error, reserve)
    y_f = np.concatenate([np.ones(sum(margin)), on_error, 1.125 + _eighths(rng, sum(reserve))])
    alpha = np.concatenate([on_margin, np.full(sum(error), unit * PARTS), np.zeros(sum(reserve))])
    # the row that takes up the sideways sum divides by its multiplier: a power of two
    pivot = 0 if margin[0] else margin[0] + margin[1] - 1
    return _place(
        rng, rows.labels, y_f, alpha, np.full(rows.total, C), square, bias, dimension, pivot
    )


def known_without_margin(
    seed: int, dimension: int = 3, pairs: int = 2, reserve: Pair = (3, 3), C: float = 1.0
) -> Known:
    """A machine without margin rows: ``pairs`` error rows in each class, b inside an interval.

    The nearest row on either side of the bias stands equally far away from its margin.
    """
    rng = np.random.default_rng(seed)
    count = 2 * pairs
    square = _square(0.0, C * count)
    gap = 0.25 if pairs > 1 else 1 - square / (C * count)
    on_error = np.full(count, 1 - gap)
    if pairs > 1:
        rest = square - 2 * C * (1 - gap)
        on_error[1:-1] = _error_values(rng, rest, C, count - 2, above=gap)
    y_f = np.concatenate([on_error, 1 + gap + _eighths(rng, sum(reserve))])
    rows = _Rows((0, 0), (pairs, pairs), reserve)
    alpha = np.concatenate([np.full(count, C), np.zeros(sum(reserve))])
    bias = float(rng.integers(-8, 9)) / 4
    return _place(rng, rows.labels, y_f, alpha, np.full(rows.total, C), square, bias, dimension, 0)


@dataclass(frozen=True)
class _Rows:
    margin: Pair
    error: Pair
    reserve: Pair

    @property
    def labels(self) -> Floats:
        counts = (*self.margin, *self.error, *self.reserve)
        return np.repeat(np.tile([1.0, -1.0], 3), counts)

    @property
    def total(self) -> int:
        return sum(self.margin) + sum(self.error) + sum(self.reserve)


def _eighths(rng: np.random.Generator, count: int) -> Floats:
    return rng.integers(0, 24, count) / 8


def _shares(
    rng: np.random.Generator, margin: Pair, surplus: int, allowed: Callable[[int], bool]
) -> tuple[list[int], list[int]]:
    """Multipliers of the margin rows in parts of C; class +1 has ``surplus`` more in all.

    The pivot has a power of two: the first row, or the last one if class +1 has none.
    """
    plus, minus = margin
    if not plus and minus:
        other, none = _shares(rng, (minus, plus), -surplus, allowed)
        return none, other[::-1]
    half = PARTS // 2
    totals = [
        total
        for total in range(half + plus - 1, half + (plus - 1) * (PARTS - 1) + 1)
        if minus <= total - surplus <= minus * (PARTS - 1) and allowed(total)
    ]
    if not totals:
        raise ValueError("these margin rows cannot balance the error rows")
    total = int(rng.choice(totals))
    return [half, *_split(rng, total - half, plus - 1)], _split(rng, total - surplus, minus)


def _is_power_of_four(number: float) -> bool:
    mantissa, exponent = np.frexp(number)
    return bool(mantissa == 0.5 and exponent % 2)


def _split(rng: np.random.Generator, total: int, count: int) -> list[int]:
    """``count`` whole numbers from 1 to PARTS - 1 with this sum."""
    numbers = []
    for left in range(count - 1, -1, -1):
        low = max(1, total - left * (PARTS - 1))
        high = min(PARTS - 1, total - left)
        numbers.append(int(rng.integers(low, high + 1)))
        total -= numbers[-1]
    return numbers


def _square(on_margin: float, on_error: float) -> float:
    """|w|^2 = sum alpha y f as a power of four; error rows on average at y f <= 1/2."""
    return float(4.0 ** np.floor(np.log2(on_margin + on_error / 2) / 2))


def _error_values(
    rng: np.random.Generator, rest: float, C: float, count: int, above: float
) -> Floats:
    """Values of y f, none closer to 1 than ``above``, with C * sum = rest."""
    if not count:
        return np.empty(0)
    average = rest / (C * count)
    lowest = int(np.ceil(8 * average))
    values = rng.integers(lowest, int(8 * (1 - above)) + 1, count) / 8
    values[-1] = rest / C - values[:-1].sum()
    return np.asarray(values)


def _place(
    rng: np.random.Generator,
    y: Floats,
    y_f: Floats,
    alpha: Floats,
    bounds: Floats,
    square: float,
    bias: float,
    dimension: int,
    pivot: int,
) -> Known:
    """Points with these decision values whose weighted sum is the weight vector."""
    spread = 4 if dimension >= 4 else 1
    weights = np.zeros(dimension)
    weights[:spread] = np.sqrt(square / spread) * rng.choice([-1.0, 1.0], spread)
    decision = y * y_f
    sideways = rng.integers(-16, 17, (len(y), dimension)) / 4
    sideways -= np.outer(sideways @ weights / square, weights)
    beta = alpha * y
    others = np.arange(len(y)) != pivot
    sideways[pivot] = -(beta[others] @ sideways[others]) / beta[pivot]
    X = sideways + np.outer((decision - bias) / square, weights)
    order = rng.permutation(len(y))
    return Known(X[order], y[order], bounds[order], alpha[order], bias, weights, decision[order])


SHAPES: dict[str, dict[str, Any]] = {
    "two rows": {"dimension": 1, "margin": (1, 1), "error": (0, 0), "reserve": (0, 0)},
    "line": {"dimension": 1},
    "plane": {"dimension": 2, "margin": (2, 3), "error": (3, 3)},
    "more margin rows than dimensions": {"dimension": 2, "margin": (6, 7)},
    "errors of one class": {"margin": (6, 2), "error": (0, 4)},
    "one class all at its bound": {"margin": (0, 7), "error": (4, 0), "reserve": (0, 9)},
    "small C": {"dimension": 5, "C": 2.0**-10},
    "large C": {"dimension": 5, "C": 2.0**10},
    "hard margin": {"margin": (4, 3), "error": (0, 0), "C": np.inf},
    "many rows": {"dimension": 8, "margin": (9, 9), "error": (30, 30), "reserve": (40, 40)},
}


def known_problems() -> dict[str, Known]:
    """One problem of each shape by name, and two without margin rows."""
    found = {name: known(seed, **shape) for seed, (name, shape) in enumerate(SHAPES.items())}
    found["no margin rows"] = known_without_margin(1)
    found["no margin rows, one pair"] = known_without_margin(2, pairs=1, reserve=(2, 0))
    return found


# ---------------------------------------------------------------- nasty small problems

Gram = Callable[[Floats, Floats, float], Floats]


def linear(A: Floats, B: Floats, gamma: float) -> Floats:
    return np.asarray(A @ B.T)


def cubic(A: Floats, B: Floats, gamma: float) -> Floats:
    return np.asarray((gamma * (A @ B.T)) ** 3)


def rbf(A: Floats, B: Floats, gamma: float) -> Floats:
    differences = A[:, None, :] - B[None, :, :]  # equal rows have a distance of exactly zero
    return np.asarray(np.exp(-gamma * (differences**2).sum(axis=2)))


KERNELS: dict[str, Gram] = {"linear": linear, "cubic": cubic, "rbf": rbf}
LARGEST_PRODUCT = 1e6  # of C and a kernel value: beyond it rounding hides nine good digits
SCALES = (1.0, 1e-6, 1e-3, 1e3, 1e6)
COSTS = (1.0, 1e-3, 0.1, 10.0, 1e3, np.inf)
WEIGHTS = (1.0, 0.0, 0.5, 3.0, 1e-3)


@dataclass(frozen=True)
class Nasty:
    """What a fit is asked, in the names of scikit-learn's SVC (cubic: poly with coef0 = 0)."""

    X: Floats
    y: Floats
    sample_weight: Floats
    C: float
    kernel: str
    gamma: float

    @property
    def gram(self) -> Floats:
        return self.gram_with(self.X)

    def gram_with(self, others: Floats) -> Floats:
        return KERNELS[self.kernel](others, self.X, self.gamma)

    @property
    def bounds(self) -> Floats:
        """C times weight; a row of weight 0 does not count even where C = inf."""
        bounds = np.zeros(len(self.y))
        heavy = self.sample_weight > 0
        bounds[heavy] = self.C * self.sample_weight[heavy]
        return bounds


@st.composite
def nasty(
    draw: st.DrawFn,
    max_rows: int = 60,
    kernels: Sequence[str] = tuple(KERNELS),
    costs: Sequence[float] = COSTS,
    weights: Sequence[float] = WEIGHTS,
) -> Nasty:
    """Grid data with copies, constant columns, any scale, weights, one-sided classes.

    With C = inf many draws are not separable.  C comes down where C * kernel would pass
    LARGEST_PRODUCT.
    """
    rows = draw(st.integers(1, max_rows))
    grid, y = draw(_grids(rows))
    scale = draw(st.sampled_from(SCALES))
    kernel = draw(st.sampled_from(tuple(kernels)))
    weight = np.ones(rows)
    if draw(st.booleans()):
        weight = draw(stn.arrays(np.float64, rows, elements=st.sampled_from(tuple(weights))))
        weight[draw(st.integers(0, rows - 1))] = 1.0
    gamma = draw(st.sampled_from((1.0, 0.125))) / (grid.shape[1] * scale**2)
    problem = Nasty(scale * grid, y, weight, 1.0, kernel, gamma)
    largest = float(problem.gram.diagonal().max()) * float(weight.max())
    cost = draw(st.sampled_from(tuple(costs)))
    if np.isfinite(cost) and cost * largest > LARGEST_PRODUCT:
        cost = LARGEST_PRODUCT / largest
    return replace(problem, C=cost)


@st.composite
def _grids(draw: st.DrawFn, rows: int) -> tuple[Floats, Floats]:
    """Points of an integer grid and labels, the last rows being copies of earlier ones."""
    columns = draw(st.integers(1, 5))
    reach = draw(st.sampled_from((1, 3, 20)))
    points = st.integers(-reach, reach)
    grid = draw(stn.arrays(np.int64, (rows, columns), elements=points, fill=st.nothing()))
    y = draw(_labels(grid))
    signs = draw(st.sampled_from(((1.0,), (1.0, -1.0))))  # do copies contradict each other?
    for copy in range(rows - draw(st.integers(0, rows // 2)), rows):
        original = draw(st.integers(0, copy - 1))
        grid[copy] = grid[original]
        y[copy] = draw(st.sampled_from(signs)) * y[original]
    if draw(st.booleans()):
        grid[:, -1] = draw(st.sampled_from((0, 1, 7)))
    return grid.astype(np.float64), y


@st.composite
def _labels(draw: st.DrawFn, grid: Ints) -> Floats:
    rows = len(grid)
    manner = draw(st.sampled_from(("by side", "any", "one apart", "any", "by side", "one class")))
    y = np.ones(rows)
    if manner == "by side":
        y = np.where(grid[:, 0] > draw(st.integers(-1, 1)), 1.0, -1.0)
    elif manner == "any":
        either = st.sampled_from((1.0, -1.0))
        y = draw(stn.arrays(np.float64, rows, elements=either, fill=st.nothing()))
    elif manner == "one apart":
        y[draw(st.integers(0, rows - 1))] = -1.0
    return y * draw(st.sampled_from((1.0, -1.0)))
