"""The living machine on its own: any problem of the design, moved, is the problem solved anew."""

import numpy as np
import pytest

from adiabat.adiabatic.keeper import NEW, Demand, Keeper
from adiabat.adiabatic.layout import HIGH, LOW, MEMBER, THETA
from adiabat.gram import Gram
from adiabat.kernels import RBF, Linear, Polynomial, Rows
from adiabat.problem import Problem
from adiabat.solution import violations
from adiabat.solvers.solve import solve

EXACT = 1e-8
KERNELS = [RBF(0.5), Linear(), Polynomial(2, 0.5, 1.0)]
every_kernel = pytest.mark.parametrize("kernel", KERNELS, ids=["rbf", "linear", "quadratic"])


class Asked:
    """A problem with any targets, bounds and right-hand side, and the means to change it."""

    def __init__(self, kernel, seed, n=30, total=0.0, bias=None):
        self.rng = np.random.default_rng(seed)
        self.kernel, self.total, self.bias = kernel, total, bias
        self.X, self.target, self.low, self.high = self.drawn(n)

    def drawn(self, n):
        X = self.rng.integers(-3, 4, (n, 3)) / 2.0
        bound = self.rng.choice([0.5, 1.0, 2.0], (2, n))
        return X, self.rng.normal(size=n), -bound[0], bound[1]

    @property
    def demand(self):
        zero = np.zeros(len(self.target))
        rows = Rows(self.X, np.zeros(3))
        return Demand(
            self.kernel, rows, self.target, self.low, self.high, zero, self.bias, self.total
        )

    def solved(self):
        """The same by the solver, which knows y, p and one bound: rows split in two."""
        n = len(self.target)
        y = np.concatenate([np.ones(n), -np.ones(n)])
        bounds = np.concatenate([self.high, -self.low])
        p = -y * np.concatenate([self.target, self.target])
        twice = Rows(np.vstack([self.X, self.X]), np.zeros(3))
        problem = Problem(Gram(self.kernel, twice), y, bounds, p, self.total, self.bias)
        solution = solve(problem)
        assert violations(problem, solution.theta, solution.error).max() <= 1e-9
        return solution.theta[:n] + solution.theta[n:], solution.bias

    def change(self):
        """Drop some, change some bounds, add some; where everybody was before."""
        n = len(self.target)
        stay = np.delete(np.arange(n), self.rng.choice(n, 2, replace=False))
        parts = [a[stay] for a in (self.X, self.target, self.low, self.high)]
        other = self.rng.integers(0, len(stay), 2)
        parts[2][other], parts[3][other] = -0.25, 1.5
        new = self.drawn(2)
        self.X, self.target, self.low, self.high = (
            np.concatenate([old, more]) for old, more in zip(parts, new, strict=True)
        )
        return np.concatenate([stay, [NEW, NEW]])

    def weights_of(self, theta):
        """K theta: what tells two optima apart, the coefficients themselves need not be unique."""
        rows = self.kernel.prepare(Rows(self.X, np.zeros(3)), np.float64)
        return self.kernel.block(rows, rows) @ theta


def assert_optimal(asked, theta, bias):
    """The optimality conditions for any targets and two bounds, and the equality."""
    error = asked.target - asked.weights_of(theta) - bias
    assert (theta >= asked.low).all()
    assert (theta <= asked.high).all()
    assert np.where(theta < asked.high, error, 0.0).max() <= 1e-9
    assert np.where(theta > asked.low, -error, 0.0).max() <= 1e-9
    if asked.bias is None:
        assert theta.sum() == pytest.approx(asked.total, abs=1e-12 * np.abs(theta).sum())


@every_kernel
@pytest.mark.parametrize("total", [0.0, 1.5])
@pytest.mark.parametrize("bias", [None, 0.25])
def test_any_targets_bounds_and_right_hand_side(kernel, total, bias):
    asked = Asked(kernel, seed=1, total=total, bias=bias)
    keeper = Keeper(asked.demand, *asked.solved())
    for _ in range(25):
        theta, b = keeper.change(*reversed((asked.change(), asked.demand)))
        assert_optimal(asked, theta, b)
        truth, _ = asked.solved()
        assert asked.weights_of(theta) == pytest.approx(asked.weights_of(truth), abs=EXACT)


@every_kernel
def test_there_and_back_is_the_identity(kernel):
    asked = Asked(kernel, seed=2)
    keeper = Keeper(asked.demand, *asked.solved())
    before = asked.weights_of(keeper.living.theta)
    held = asked.X, asked.target, asked.low, asked.high
    n = len(asked.target)
    more = asked.drawn(5)
    asked.X, asked.target, asked.low, asked.high = (
        np.concatenate(pair) for pair in zip(held, more, strict=True)
    )
    keeper.change(asked.demand, np.append(np.arange(n), [NEW] * 5))
    asked.X, asked.target, asked.low, asked.high = held
    theta, _ = keeper.change(asked.demand, np.arange(n))
    assert asked.weights_of(theta) == pytest.approx(before, abs=EXACT)


def test_members_are_regular_and_the_factor_is_theirs():
    """More rows on the margin than the feature space has dimensions: some stay out."""
    asked = Asked(Linear(), seed=3, n=40)
    keeper = Keeper(asked.demand, *asked.solved())
    for _ in range(20):
        keeper.change(*reversed((asked.change(), asked.demand)))
        living = keeper.living
        inside = living.inside
        assert len(inside) <= 4
        assert (living.kinds[inside] == MEMBER).all()
        matrix = living.gram.table[np.ix_(inside, living.gram.slot_of[inside])]
        matrix = matrix + living.scalars[3]  # SHIFT
        factor = np.tril(living.factor[: len(inside), : len(inside)])
        assert factor @ factor.T == pytest.approx(matrix, rel=1e-9, abs=1e-9)


def test_kept_errors_and_columns_are_those_of_the_data():
    asked = Asked(RBF(0.5), seed=4, n=60)
    keeper = Keeper(asked.demand, *asked.solved())
    for _ in range(30):
        theta, bias = keeper.change(*reversed((asked.change(), asked.demand)))
    living = keeper.living
    error = asked.target - asked.weights_of(theta) - bias
    assert living.errors()[keeper.row_of] == pytest.approx(error, abs=1e-11)
    for row in range(living.n):
        slot = living.gram.slot_of[row]
        if slot >= 0:
            kept = living.gram.table[: living.n, slot]
            assert kept == pytest.approx(living.gram.column(row), abs=1e-14)
    assert (living.rows[LOW, : living.n] <= living.rows[THETA, : living.n]).all()
    assert (living.rows[THETA, : living.n] <= living.rows[HIGH, : living.n]).all()


def test_what_is_taken_out_is_overwritten():
    asked = Asked(RBF(0.5), seed=5, n=20)
    keeper = Keeper(asked.demand, *asked.solved())
    asked.X, asked.target = asked.X[:8], asked.target[:8]
    asked.low, asked.high = asked.low[:8], asked.high[:8]
    keeper.change(asked.demand, np.arange(8))
    living = keeper.living
    assert not living.gram.table[8:].any()
    assert not living.rows[:, 8:].any()
    assert not living.factor[living.size : -2].any()
    assert (living.gram.slot_of[8:] == -1).all()
