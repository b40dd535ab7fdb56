"""One machine without some of its rows, for many choices of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from adiabat.estimators.machines import (
    NOBODY,
    Effort,
    Machine,
    Task,
    demand_of,
    require_definite,
    rows_of_task,
    train,
)
from adiabat.estimators.model import Model
from adiabat.estimators.moving import path_cost, solver_cost
from adiabat.growing_gram import available_memory
from adiabat.kernels import TILE_ROWS, Kernel, Lines, Precomputed, expansion, is_given
from adiabat.solution import BALANCE

if TYPE_CHECKING:
    from adiabat.adiabatic.keeper import Keeper
    from adiabat.adiabatic.leaving import Leaving

Array = NDArray[Any]

#: What a tableau costs for each of its entries, and for each member beside it, in the units of
#: ``moving``; measured on 768 and 5,000 rows.
_PER_ENTRY, _PER_ENTRY_AND_MEMBER = 4.0, 0.15
#: Rows with a coefficient that may leave together through a tableau.
_FEW = 40
#: A row is told wrong by a decision value beyond this; closer to zero it might be rounding.
_SURE = 1e-8


@dataclass
class Spent:
    """What answers have cost, and how well they are proved, added up on the way."""

    perturbations: int = 0
    kernel_evaluations: int = 0
    solved: int = 0
    kkt_violation: float = 0.0


@dataclass(frozen=True, eq=False)
class Question:
    """Which groups of rows leave, one group after the other.

    Attributes
    ----------
    rows, firsts : ndarray
        Positions of the rows, group by group, and where each group begins; the end is the last.
    stretches : ndarray
        By which part of themselves the bounds of each class move when a group leaves.
    hasty : bool
        Whether the signs of the decision values are enough.
    """

    rows: Array
    firsts: Array
    stretches: Array
    hasty: bool

    def __len__(self) -> int:
        return len(self.firsts) - 1

    @cached_property
    def group(self) -> Array:
        """The group of each row."""
        return np.repeat(np.arange(len(self)), np.diff(self.firsts))

    def count(self, which: Array) -> Array:
        """How many rows of each group are among some."""
        return np.bincount(self.group[which], minlength=len(self))


@dataclass(frozen=True, eq=False)
class Sight:
    """The rows of a model as a kernel sees them; how many values it computes when it looks.

    Attributes
    ----------
    kernel : Kernel
        The model's, or one that reads off what is known.
    every : object
        All rows, made ready for it.
    is_known : bool
        Whether all values are there already.
    """

    kernel: Kernel
    every: Any
    is_known: bool

    @classmethod
    def of(cls, model: Model) -> Sight:
        """With the eyes of the model."""
        every = model.kernel.prepare(model.examples.rows, np.float64)
        return cls(model.kernel, every, is_known=is_given(model.kernel))

    def from_memory(self) -> tuple[Sight, int]:
        """The same with all values computed once, for machines that share rows; how many."""
        n = len(self.every)
        matrix, evaluations = np.empty((n, n)), 0
        for start in range(0, n, TILE_ROWS):
            rows = slice(start, min(start + TILE_ROWS, n))
            block = self.kernel.block(self.every.take(rows), self.every.take(slice(start, n)))
            matrix[rows, start:], matrix[start:, rows] = block, block.T
            evaluations += block.size
        return Sight(Precomputed(), Lines(matrix, np.arange(n), np.float64), True), evaluations

    def expansion(self, rows: Array, support: Array, weights: Array) -> Array:
        """K[rows, support] @ weights."""
        every = self.every
        # of lines of a matrix those on this side serve, and only columns of the other
        given = is_given(self.kernel)
        other = Lines(None, every.column[support], np.float64) if given else every.take(support)
        return expansion(self.kernel, every.take(rows), other, weights)

    def count(self, values: int) -> int:
        """How many kernel values are computed where so many are looked at."""
        return 0 if self.is_known else values


def is_affordable(numbers: int, budget: int) -> bool:
    """Whether so many numbers are within a budget of bytes and what the system can hand out."""
    free = available_memory()
    most = budget if free is None else min(budget, free)
    return numbers * np.dtype(np.float64).itemsize <= most


class Absence:
    """A machine, asked what it says of rows that leave it.

    Parameters
    ----------
    model, machine : Model, Machine
        The machine, which is at its optimum, and the model that it belongs to.
    question : Question
        Who leaves.
    sight : Sight
        The model's rows.
    effort : Effort
        What it may use.
    spent : Spent
        Where the cost is added.
    heed : callable
        Told after each part of the work how many groups were led out.
    """

    def __init__(
        self,
        model: Model,
        machine: Machine,
        question: Question,
        sight: Sight,
        effort: Effort,
        spent: Spent,
        heed: Callable[[int], None],
    ) -> None:
        self.model, self.machine, self.question, self.sight = model, machine, question, sight
        self.effort = replace(effort, max_steps=None, verbose=False)
        self.spent, self.heed = spent, heed
        task = machine.task
        self.rows = rows_of_task(task, model.kernel, model.examples.rows)
        place = np.full(len(model.examples), -1)
        place[task.index] = np.arange(len(task.index))
        #: the place of each row of the question among those of the machine, or -1
        self.place = place[question.rows]
        self.stretches = self._own_stretches()
        self._keeper: Keeper | None = None
        self._at = machine
        self._bounded: dict[tuple[float, ...], Machine] = {}

    def _own_stretches(self) -> Array:
        """How the bounds of the negative and the positive class move; infinite ones do not."""
        task = self.machine.task
        if task.negative == NOBODY or (np.isinf(task.bounds).any() and task.ridge is None):
            return np.zeros((len(self.question), 2))
        return self.question.stretches[:, [task.negative, task.positive]]

    # -- the answer

    def values(self) -> Array:
        """f of each row of the question by the optimum that never saw its group."""
        require_definite(self.machine.task, self.model.kernel, self.rows)
        leaving = self._leaving() if self._is_worth_a_tableau() else None
        values = self._decisions(leaving)
        values, open_groups = self._at_once(values)
        if leaving is not None:
            values, open_groups = self._led_out(leaving, values, open_groups)
        for group in np.flatnonzero(open_groups):
            some = slice(*self.question.firsts[group : group + 2])
            values[some] = self._one_by_one(int(group), self.question.rows[some])
            self.heed(int(group))
        return values

    def _decisions(self, leaving: Leaving | None) -> Array:
        """f of each row by the optimum of all."""
        rows = self.question.rows
        if leaving is not None and (self.place >= 0).all():
            return leaving.decisions()[self.place]
        return self._values_by(self.machine, rows)

    def _values_by(self, machine: Machine, rows: Array) -> Array:
        """f of some rows by coefficients and bias."""
        inner = np.flatnonzero(machine.theta)
        support = machine.task.index[inner]
        self.spent.kernel_evaluations += self.sight.count(len(rows) * len(inner))
        return self.sight.expansion(rows, support, machine.theta[inner]) + machine.bias

    def _left(self, sign: float) -> Array:
        """How many rows that count each group leaves of one side."""
        task = self.machine.task
        counts = (task.bounds > 0) & (task.y == sign)
        inside = self.place >= 0
        inside[inside] = counts[self.place[inside]]
        return np.count_nonzero(counts) - self.question.count(inside)

    def _at_once(self, values: Array) -> tuple[Array, Array]:
        """Answers that need no work; and for each group whether it needs some.

        A row without a coefficient has no say, and a row that is told wrong with it is told
        wrong without it all the more. With one class gone, a free bias speaks for the other.
        """
        question, machine = self.question, self.machine
        moves = self._supports() > 0
        if self._leans_on_all():
            moves |= question.count(self.place >= 0) > 0
        if question.hasty:
            y = np.append(machine.task.y, 0.0)[self.place]
            wrong = question.count(y * values < -_SURE) > 0
            moves &= ~(wrong & (np.diff(question.firsts) == 1))
        moves |= self.stretches.any(axis=1)
        positive, negative = self._left(1.0), self._left(-1.0)
        gone = (positive == 0) | (negative == 0)
        gone &= machine.task.fixed_bias is None
        only = np.sign(positive - negative).astype(np.float64)
        values = np.where(gone[question.group], only[question.group], values)
        return values, moves & ~gone

    def _leans_on_all(self) -> bool:
        """Whether the bias is the middle of an interval, whose ends any row may have set."""
        size = np.abs(self.machine.theta)
        room = np.minimum(size, self.machine.task.bounds - size)
        clear = room.max(initial=0.0) > BALANCE * float(size.sum())
        return self.machine.task.fixed_bias is None and not clear

    def _supports(self) -> Array:
        """How many rows of each group have a coefficient here."""
        return self.question.count(np.append(self.machine.theta, 0.0)[self.place] != 0.0)

    # -- all at once, through the tableau

    def _is_worth_a_tableau(self) -> bool:
        """Whether the tableau fits in memory, and costs less than going one by one."""
        # numba comes with living machines.
        from adiabat.adiabatic.tableau import tableau_size  # noqa: PLC0415

        machine, n = self.machine, len(self.machine.theta)
        members = int(np.count_nonzero(machine.categories == 1))
        if not is_affordable(tableau_size(n, members), self.effort.budget):
            return False
        groups = int(np.count_nonzero(self._fits()))
        task = self._task_without(0) if len(self.question) else machine.task
        each = min(path_cost(task, machine, np.arange(n)), solver_cost(machine))
        return n * n * (_PER_ENTRY + _PER_ENTRY_AND_MEMBER * members) < groups * each

    def _fits(self) -> Array:
        """Which groups may go through the tableau: few, and of this machine all of them."""
        question, supports = self.question, self._supports()
        fits = (supports <= _FEW) & (question.count(self.place < 0) == 0)
        if self.machine.task.ridge is not None:  # other bounds would be another kernel
            fits &= ~self.stretches.any(axis=1)
        return fits & ((supports > 0) | self.stretches.any(axis=1))

    def _leaving(self) -> Leaving | None:
        """The tableau; None where the margin has no regular one."""
        # numba comes with living machines.
        from adiabat.adiabatic.leaving import Leaving  # noqa: PLC0415
        from adiabat.adiabatic.living import LostError  # noqa: PLC0415
        from adiabat.adiabatic.tableau import Optimum, tableau_of  # noqa: PLC0415

        demand = demand_of(self.machine.task, self.model.kernel, self.rows)
        optimum = Optimum(
            self.sight.kernel,
            self.sight.every.take(self.machine.task.index),
            demand.target,
            demand.low,
            demand.high,
            demand.ridge,
            self.machine.theta,
            self.machine.bias,
            demand.bias is None,
        )
        try:
            tableau = tableau_of(optimum)
            leaving = Leaving(tableau)
        except LostError:
            return None
        self.spent.kernel_evaluations += self.sight.count(tableau.evaluations)
        return leaving

    def _led_out(self, leaving: Leaving, values: Array, open_groups: Array) -> tuple[Array, Array]:
        """The answers of all groups that fit, and who is still open."""
        # numba comes with living machines.
        from adiabat.adiabatic.leaving import Ways  # noqa: PLC0415

        question, groups = self.question, np.flatnonzero(open_groups & self._fits())
        inside = np.isin(question.group, groups)
        firsts = np.append(0, np.cumsum(np.diff(question.firsts)[groups]))
        ways = Ways(self.place[inside], firsts, self.stretches[groups])
        hasty = question.hasty and not self.stretches.any()
        answers = leaving.answers(
            ways, hasty=hasty, heed=lambda done: self.heed(int(groups[done - 1]))
        )
        spent = self.spent
        spent.perturbations += answers.perturbations
        spent.kkt_violation = max(spent.kkt_violation, answers.violation)
        proved = np.repeat(answers.proved, np.diff(firsts))
        values[np.flatnonzero(inside)[proved]] = answers.values[proved]
        open_groups[groups[answers.proved]] = False
        return values, open_groups

    # -- one by one, from each to the next

    def _task_without(self, group: int) -> Task:
        """What the machine is asked when a group has no weight."""
        task = self.machine.task
        negative, positive = 1.0 + self.stretches[group]
        part = np.where(task.y > 0.0, positive, negative)
        hard = np.isinf(task.bounds)
        bounds = np.where(hard, task.bounds, task.bounds * part)
        gone = self.place[slice(*self.question.firsts[group : group + 2])]
        bounds[gone[gone >= 0]] = 0.0
        return replace(task, bounds=bounds, ridge=None if task.ridge is None else task.ridge / part)

    def _one_by_one(self, group: int, rows: Array) -> Array:
        """f of the rows of a group by the machine without it.

        Rows of other machines alone only move bounds; many of them in the same way.
        """
        inside = self.place[slice(*self.question.firsts[group : group + 2])] >= 0
        if inside.any():
            return self._values_by(self._machine_without(group), rows)
        moved = tuple(self.stretches[group].tolist())
        if moved not in self._bounded:
            self._bounded[moved] = self._machine_without(group)
        return self._values_by(self._bounded[moved], rows)

    def _machine_without(self, group: int) -> Machine:
        """The machine without a group, by path or solver, whichever is likely to cost less."""
        task = self._task_without(group)
        everyone = np.arange(len(self.rows))
        other_kernel = task.ridge is not None and self.stretches.any()
        machine = None
        near = path_cost(task, self._at, everyone) <= solver_cost(self._at)
        if near and not other_kernel:
            machine = self._moved(task, everyone)
        return machine or self._solved(task)

    def _moved(self, task: Task, everyone: Array) -> Machine | None:
        """The machine moved to where a task has its optimum; None where the way was lost."""
        # numba comes with living machines.
        from adiabat.adiabatic.keeper import Keeper  # noqa: PLC0415
        from adiabat.adiabatic.living import LostError  # noqa: PLC0415

        kernel, at = self.model.kernel, self._at
        keeper = self._keeper or Keeper(demand_of(at.task, kernel, self.rows), at.theta, at.bias)
        known = keeper is self._keeper
        before = (keeper.perturbations, keeper.kernel_evaluations) if known else (0, 0)
        self._keeper = None
        try:
            theta, bias = keeper.change(demand_of(task, kernel, self.rows), everyone)
        except LostError:
            self._at = self.machine
            return None
        self._keeper = keeper
        self.spent.perturbations += keeper.perturbations - before[0]
        self.spent.kernel_evaluations += keeper.kernel_evaluations - before[1]
        self._at = replace(at, task=task, theta=theta.copy(), bias=bias)
        return self._at

    def _solved(self, task: Task) -> Machine:
        self.spent.solved += 1
        machine = train(task, self.model.kernel, self.rows, self.effort, self.machine.theta)
        self.spent.kernel_evaluations += machine.kernel_evaluations
        return machine
