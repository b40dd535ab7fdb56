"""Binary machines: what each is asked, and how it is trained.

Two classes make one machine, in which y = 1 is the second class. More classes make a machine
for each pair (i, j), i < j, in which y = 1 is class i: scikit-learn's conventions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from adiabat.errors import ExactnessError, NotSeparableError
from adiabat.estimators.kernel_choice import is_pairwise
from adiabat.gram import Gram, WholeGram
from adiabat.kernels import ASYMMETRY, Custom, Kernel, Rows
from adiabat.problem import Problem, classification

if TYPE_CHECKING:
    from adiabat.adiabatic.keeper import Demand

Array = NDArray[Any]

#: Rows on which a callable is tried.
_SAMPLE = 32
#: Up to so many kernel values a problem that is solved from nearby has all of them at once.
_FEW_VALUES = 2_000_000
#: No class: what the machine of a single class has on its other side.
NOBODY = -2


@dataclass(frozen=True, eq=False)
class Task:
    """What one machine is asked.

    Attributes
    ----------
    positive, negative : int
        The classes with y = 1 and y = -1.
    index : ndarray
        Its rows, as positions among all that are held.
    y, bounds : ndarray
        Label and largest coefficient of each of them.
    ridge : ndarray or None
        What squared slacks add to the kernel's diagonal.
    fixed_bias : float or None
        The bias where it is fixed beforehand.
    """

    positive: int
    negative: int
    index: Array
    y: Array
    bounds: Array
    ridge: Array | None
    fixed_bias: float | None


@dataclass(frozen=True, eq=False)
class Machine:
    """A task and its solution: signed coefficients, bias, and the work that it took last."""

    task: Task
    theta: Array
    bias: float
    steps: int
    finished: bool
    kernel_evaluations: int
    perturbations: int = 0
    refactorisations: int = 0

    @cached_property
    def categories(self) -> Array:
        """0 for a reserve row, 1 for a margin row, 2 for an error row."""
        return (self.theta != 0.0) + self.in_error.astype(np.int64)

    @property
    def on_margin(self) -> Array:
        """Coefficients strictly between their bounds."""
        return (self.theta != 0.0) & ~self.in_error

    @property
    def in_error(self) -> Array:
        """Coefficients at a positive bound."""
        return (self.theta != 0.0) & (np.abs(self.theta) == self.task.bounds)

    @property
    def in_reserve(self) -> Array:
        """Coefficients that are zero."""
        return self.theta == 0.0


def turned_round(machine: Machine) -> Machine:
    """The same machine with its classes in the other order: everything changes its sign."""
    task, bias = machine.task, machine.task.fixed_bias
    task = replace(
        task,
        positive=task.negative,
        negative=task.positive,
        y=-task.y,
        fixed_bias=None if bias is None else 0.0 - bias,
    )
    return replace(machine, task=task, theta=0.0 - machine.theta, bias=0.0 - machine.bias)


@dataclass(frozen=True)
class Effort:
    """How far a solver goes, and what it may use."""

    tol: float
    budget: int
    max_steps: int | None
    verbose: bool


def hinge(cost: Array) -> tuple[Array, Array | None]:
    """Bounds and ridge of sum_i cost_i xi_i."""
    return cost, None


def squared_hinge(cost: Array) -> tuple[Array, Array | None]:
    """Bounds and ridge of sum_i cost_i xi_i^2 (004, eq. 1 with p = 2)."""
    counts = cost > 0
    ridge = np.zeros(len(cost))
    ridge[counts] = 0.5 / cost[counts]
    return np.where(counts, np.inf, 0.0), ridge


LOSSES: dict[str, Callable[[Array], tuple[Array, Array | None]]] = {
    "hinge": hinge,
    "squared_hinge": squared_hinge,
}


def costs(C: float, weight: Array, codes: Array, class_weight: Array) -> Array:
    """C times the weights of the row and of its class; 0 for a row of weight 0 also if C = inf.

    To the last bit it is C times what it is for C = 1: on that a path of C stands.
    """
    counts = weight > 0
    if counts.all():
        return C * (weight * class_weight[codes])
    cost = np.zeros(len(weight))
    cost[counts] = C * (weight[counts] * class_weight[codes[counts]])
    return cost


def tasks(
    codes: Array, classes: int, bounds: Array, ridge: Array | None, fixed_bias: float | None
) -> list[Task]:
    """What the machines of so many classes are asked.

    Up to two classes, the one machine holds all rows, those without weight of whatever class.
    """

    def task(positive: int, negative: int, index: Array) -> Task:
        y = np.where(codes[index] == positive, 1.0, -1.0)
        own_ridge = None if ridge is None else ridge[index]
        return Task(positive, negative, index, y, bounds[index], own_ridge, fixed_bias)

    if classes <= 2:
        y = np.where(codes == classes - 1, 1.0, -1.0)
        other = 0 if classes == 2 else NOBODY
        return [Task(classes - 1, other, np.arange(len(y)), y, bounds, ridge, fixed_bias)]
    return [
        task(i, j, np.flatnonzero((codes == i) | (codes == j)))
        for i, j in combinations(range(classes), 2)
    ]


def rows_of_task(task: Task, kernel: Kernel, rows: Rows) -> Rows:
    """The rows of one machine; of a given kernel matrix, the columns go with the lines."""
    if len(task.index) == len(rows):
        return rows
    if is_pairwise(kernel):
        return Rows(rows.values[np.ix_(task.index, task.index)])
    return rows.take(task.index)


def problem_of(
    task: Task, kernel: Kernel, rows: Rows, budget: int, values: type[Gram] = Gram
) -> Problem:
    """The task as a problem with kernel values of its own."""
    gram = values(kernel, rows, ridge=task.ridge, budget=budget)
    if not np.isfinite(gram.diagonal).all():
        raise ValueError(
            "X: kernel values of these rows exceed what float64 can hold; wanted scaled features"
        )
    return classification(gram, task.y, task.bounds, task.fixed_bias)


def require_symmetry(gram: Gram) -> None:
    """Try a callable on some rows: what is not symmetric there is no kernel."""
    if not isinstance(gram.kernel, Custom):
        return
    some = np.unique(np.linspace(0, len(gram) - 1, _SAMPLE).astype(np.int64))
    prepared = gram.kernel.prepare(gram.rows.take(some), np.float64)
    values = gram.kernel.block(prepared, prepared)
    gram.evaluations += values.size
    asymmetry, largest = np.abs(values - values.T).max(), np.abs(values).max()
    if asymmetry > ASYMMETRY * largest:
        raise ValueError(
            f"kernel: the callable's values of x, x' and of x', x differ by {asymmetry:.3g}, "
            f"with values up to {largest:.3g}; wanted a symmetric function"
        )


def require_definite(task: Task, kernel: Kernel, rows: Rows) -> None:
    """Refuse exact moves of a machine whose kernel is not positive semidefinite on its rows."""
    if kernel.convex:
        return
    # The proof's linear algebra is for those who need it.
    from adiabat.certificate import is_definite  # noqa: PLC0415

    problem = problem_of(task, kernel, rows, budget=0)
    if kernel.convex is None and is_definite(problem.gram, np.flatnonzero(task.bounds > 0)):
        return
    raise ExactnessError(
        "kernel: not positive semidefinite on these rows, so there is no unique optimum to "
        "move to; wanted one that is, or fit on all rows"
    )


def demand_of(task: Task, kernel: Kernel, rows: Rows) -> Demand:
    """The task in the words of a living machine."""
    # numba comes with living machines, so only those who change one wait for it.
    from adiabat.adiabatic.keeper import Demand  # noqa: PLC0415

    zero = np.zeros(len(task.y))
    positive = task.y > 0
    low, high = np.where(positive, 0.0, -task.bounds), np.where(positive, task.bounds, 0.0)
    ridge = zero if task.ridge is None else task.ridge
    return Demand(kernel, rows, task.y, low, high, ridge, task.fixed_bias)


def train(
    task: Task, kernel: Kernel, rows: Rows, effort: Effort, start: Array | None = None
) -> Machine:
    """Solve one task on its own rows, from nothing or from coefficients near the optimum."""
    # numba comes with the solvers, so only those who fit wait for it.
    from adiabat.solvers.monitor import Monitor  # noqa: PLC0415
    from adiabat.solvers.solve import solve  # noqa: PLC0415

    few = start is not None and len(rows) ** 2 <= _FEW_VALUES
    problem = problem_of(task, kernel, rows, effort.budget, WholeGram if few else Gram)
    require_symmetry(problem.gram)
    monitor = Monitor(verbose=effort.verbose)
    solution = solve(
        problem, tol=effort.tol, max_steps=effort.max_steps, monitor=monitor, start=start
    )
    return Machine(
        task,
        solution.theta,
        solution.bias,
        solution.steps,
        finished=effort.max_steps is None or solution.steps < effort.max_steps,
        kernel_evaluations=problem.gram.evaluations,
    )


def with_ids(error: NotSeparableError, ids: Array, versus: str) -> NotSeparableError:
    """The same error in the words of somebody who knows ids and labels, not positions."""
    return NotSeparableError(
        f"{versus}: {error}", distance=error.distance, ids=ids[error.ids], weights=error.weights
    )
