"""How the machines of a model get from one optimum to the next."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from adiabat.estimators.demands import Shared, demands_of
from adiabat.estimators.edits import NEW, Edit, unedited
from adiabat.estimators.machines import (
    NOBODY,
    Effort,
    Machine,
    Task,
    require_definite,
    rows_of_task,
    turned_round,
)
from adiabat.estimators.model import Model, labels_of, trained
from adiabat.kernels import Kernel

if TYPE_CHECKING:
    from adiabat.adiabatic.keeper import Keeper

Array = NDArray[Any]

#: Measured on data of 768 to 20,000 rows: changes of category of a path, at its beginning, for
#: each row that comes or goes, and for each whose bound comes from or goes to zero or infinity;
#: what each reads beside the factor; and what the solver, and setting up a living machine, reads
#: for each row, or costs at least.
_FIRST_CHANGES, _CHANGES_PER_ROW, _CHANGES_PER_BOUND = 5.0, 1.3, 0.5
_READ_PER_CHANGE, _READ_PER_SUPPORT, _READ_PER_MEMBER, _SOLVER_START = 3e4, 9.0, 7.5, 2e6
#: Measured with C from 1 to 1.01, 1.1, 1.41, 2 and 10 times as much or as little, on Pima, on
#: 2,000 rows of 20 features of two kinds (353 and 320 members) and on 5,000 (565): changes of
#: category for each row with a coefficient and each e that its bound grows or shrinks by, which
#: were 0.40, 0.53, 0.53 and 0.49; what each reads, whatever the machine, and for each row and
#: member. What the path took, with a living machine, of what the solver took for 1.01, 1.41, 2 and
#: 10: on Pima 0.04, 0.6, 0.7 and 2 to 3; on the 2,000 rows 0.05, 0.9 to 1.3, 1.1 to 2.4 and 2.4 to
#: 4; on the 5,000 for the first three 0.1, 1.7 and 3 to 4.
_TURNS_PER_LOG, _READ_PER_TURN, _READ_PER_ROW_AND_MEMBER = 0.45, 1e4, 0.2
#: Measured with gamma from 1/4 to 4 times what it was, on Pima (768 rows, 150 members) and on
#: 2,000 rows of 20 features (364 members): changes of category for each row that is unlearned
#: though it was no member, which meet with others; what each reads, with a third of a factor that
#: begins empty; what computing a kernel value in float64 costs. For 1 % of gamma the path takes
#: 3.9 ms on Pima, the solver and a new living machine 3.0 and 1.6; on the 2,000 rows it is 24 ms,
#: and 8.5 and 6. For twice the gamma 19 ms, and 5.6 and 3; 169 ms, and 23 and 19. For half of it
#: 5.5 ms, and 5 and 1.4; 20 ms, and 9 and 4.
_CHANGES_PER_OUTSIDER, _READ_PER_UNLEARNED, _READ_PER_VALUE = 1.9, 1.5e4, 5.0
#: Rows whose errors tell how many of all are unlearned.
_SAMPLE = 64
Pair = tuple[Any, Any]
Way = Callable[[Pair, Task, Machine, Array], Machine]


@dataclass
class Upkeep:
    """The living machines of a model, by their pairs of labels, made when first needed.

    Those of many classes share their kernel values.
    """

    model: Model
    keepers: dict[Pair, Keeper] = field(default_factory=dict)
    shared: Shared | None = None


class Move:
    """One change of a model.

    Parameters
    ----------
    upkeep : Upkeep
        The model as it was, and its living machines. They move with it, so that those of a move
        that fails are of no use any more.
    edit : Edit
        What the change does to the rows held.
    kernel : Kernel
        The kernel from now on.
    effort : Effort
        How far a solver goes.

    Attributes
    ----------
    keepers : dict
        The living machines afterwards.
    solved : int
        Machines that were solved instead of moved.
    """

    def __init__(self, upkeep: Upkeep, edit: Edit, kernel: Kernel, effort: Effort) -> None:
        self.before, self.edit, self.kernel, self.effort = upkeep.model, edit, kernel, effort
        self.machines = {self.before.labels(m): m for m in self.before.machines}
        self.keepers: dict[Pair, Keeper] = {}
        held = self.before.examples.rows
        same = self._is_same_kernel and edit.examples.rows.origin is held.origin
        keepers, shared = (upkeep.keepers, upkeep.shared) if same else ({}, None)
        if shared is not None:  # it moves now, so that machines left behind would be lost
            upkeep.keepers, upkeep.shared = {}, None
        self._old_keepers = keepers
        if edit.transformed:  # nobody's features are what they were
            held, edit = edit.examples.rows, unedited(edit.examples)
        self._demands = demands_of(kernel, held, edit, shared, effort.budget)
        self.solved = self._tried = 0

    def machine(self, task: Task) -> Machine:
        """The machine of a task, at its optimum."""
        pair = labels_of(task, self.edit.examples.classes)
        old = self._old_machine(pair)
        if old is None or task.negative == NOBODY:
            return trained(task, self.kernel, self.edit.examples, self.effort)
        place = self._place(task, old.task)
        origin = same_ridge(task, old.task, place)
        if self._is_untouched(task, old, origin):
            return self._kept(pair, task, old)
        self._tried = 0
        way = self._cheapest(task, old, place, origin)
        rebound = self._is_same_kernel and _is_everyone(place, old)
        if (way != self._moved and rebound) or self.edit.transformed:
            self._require_convex(pair, task, origin)
        machine = way(pair, task, old, place)
        evaluations = machine.kernel_evaluations + self._tried
        return replace(machine, kernel_evaluations=evaluations) if self._tried else machine

    def _old_machine(self, pair: Pair) -> Machine | None:
        """The machine of two labels as it was, also where there were two classes and now are more.

        Then y = 1 was the second of them.
        """
        machine = self.machines.get(pair[::-1])
        return self.machines.get(pair) if machine is None else turned_round(machine)

    def _cheapest(self, task: Task, old: Machine, place: Array, origin: Array) -> Way:
        """How to get to the optimum of a task: of what leads there, what is likely to cost least.

        From what is no optimum, or one with another fixed bias, only the solver leads on; a path
        of optima along which the kernel changes there is none.
        """
        costs = {self._solved: solver_cost(old)}
        if old.finished and task.fixed_bias == old.task.fixed_bias:
            if self._is_same_kernel:
                costs[self._moved] = path_cost(task, old, origin)
            other = not self._is_same_kernel or bool((origin != place).any())
            if other and _is_everyone(place, old) and self.kernel.convex:
                costs[self._perturbed] = self._perturbation_cost(task, old, min(costs.values()))
        return min(costs, key=costs.__getitem__)

    @property
    def _is_same_kernel(self) -> bool:
        """Whether rows that stay have the similarities that they had."""
        return self.kernel == self.before.kernel and not self.edit.transformed

    def _place(self, task: Task, old: Task) -> Array:
        """Where each row of a task was in the old one."""
        before, after = len(self.before.examples), len(self.edit.examples)
        if (len(old.index), len(task.index)) == (before, after):  # all rows, in their order
            return self.edit.origin
        place = np.full(before + 1, NEW)
        place[old.index] = np.arange(len(old.index))
        return np.asarray(place[self.edit.origin[task.index]])

    def _is_untouched(self, task: Task, old: Machine, origin: Array) -> bool:
        """Whether a machine is asked the same as before."""
        return bool(
            self._is_same_kernel
            and old.finished
            and _is_everyone(origin, old)
            and np.array_equal(task.bounds, old.task.bounds)
            and task.fixed_bias == old.task.fixed_bias
        )

    def _kept(self, pair: Pair, task: Task, old: Machine) -> Machine:
        """The same machine; its rows may have other positions."""
        if pair in self._old_keepers:
            self.keepers[pair] = self._old_keepers.pop(pair)
        return replace(old, task=task, kernel_evaluations=0, perturbations=0, refactorisations=0)

    def upkeep(self, after: Model) -> Upkeep:
        """The living machines of the model that the change has led to."""
        shared = self._demands.concluded() if self.keepers else None
        return Upkeep(after, self.keepers, shared)

    # -- along the path

    def _moved(self, pair: Pair, task: Task, old: Machine, place: Array) -> Machine:
        # numba comes with living machines.
        from adiabat.adiabatic.living import LostError  # noqa: PLC0415

        origin = same_ridge(task, old.task, place)
        self._require_convex(pair, task, origin)
        try:
            keeper, spent, turned, renewed = self._old_keepers.pop(pair, None), 0, 0, 0
            if keeper is None:
                keeper = self._keeper(old)
            else:
                spent, turned = keeper.kernel_evaluations, keeper.perturbations
                renewed = keeper.refactorisations
            theta, bias = keeper.change(self._demands.after(task), origin)
        except LostError:
            return self._solved(pair, task, old, place)
        self.keepers[pair] = keeper
        return replace(
            old,
            task=task,
            theta=theta,
            bias=bias,
            kernel_evaluations=keeper.kernel_evaluations - spent,
            perturbations=keeper.perturbations - turned,
            refactorisations=keeper.refactorisations - renewed,
        )

    def _keeper(self, old: Machine) -> Keeper:
        # numba comes with living machines.
        from adiabat.adiabatic.keeper import Keeper  # noqa: PLC0415

        return Keeper(self._demands.before(old.task), old.theta, old.bias)

    def _require_convex(self, pair: Pair, task: Task, origin: Array) -> None:
        """Refuse to move a machine whose kernel is not positive semidefinite on its rows.

        Rows that go leave a definite matrix definite, so only new ones are a reason to look.
        """
        known = self.kernel.convex
        if known or (known is None and pair in self._old_keepers and (origin != NEW).all()):
            return
        rows = rows_of_task(task, self.kernel, self.edit.examples.rows)
        require_definite(task, self.kernel, rows)

    # -- to another kernel

    def _perturbation_cost(self, task: Task, old: Machine, bar: float) -> float:
        """What leading everybody to another kernel is likely to cost; inf where above a bar.

        All members are unlearned, and of the other rows as many as some of them show.
        """
        support = np.flatnonzero(old.theta)
        outside = np.flatnonzero(old.categories != 1)
        least = perturbation_cost(old, 0.0)
        if least > bar or not len(outside):
            return least
        some = outside[np.linspace(0, len(outside) - 1, _SAMPLE).astype(np.int64)]
        some = np.unique(some)
        rows = rows_of_task(task, self.kernel, self.edit.examples.rows)
        prepared = self.kernel.prepare(rows.take(np.append(some, support)), np.float64)
        here, there = slice(0, len(some)), slice(len(some), None)
        values = self.kernel.block(prepared.take(here), prepared.take(there))
        self._tried = values.size
        error = task.y[some] - values @ old.theta[support] - _ridge(task)[some] * old.theta[some]
        g = -task.y[some] * (error - old.bias)
        wrong = np.where(old.theta[some] == 0.0, g < 0.0, g > 0.0)
        return perturbation_cost(old, float(wrong.mean()) * len(outside))

    def _perturbed(self, pair: Pair, task: Task, old: Machine, place: Array) -> Machine:
        # numba comes with living machines.
        from adiabat.adiabatic.keeper import Keeper  # noqa: PLC0415
        from adiabat.adiabatic.living import LostError  # noqa: PLC0415

        demand = self._demands.after(task)
        try:
            keeper = Keeper.perturbed(demand, old.theta, old.bias, self.effort.budget)
        except LostError:
            return self._solved(pair, task, old, place)
        self.keepers[pair] = keeper
        theta, bias = keeper.answer
        return replace(
            old,
            task=task,
            theta=theta,
            bias=bias,
            kernel_evaluations=keeper.kernel_evaluations,
            perturbations=keeper.perturbations,
            refactorisations=keeper.refactorisations,
        )

    # -- by the solver

    def _solved(self, pair: Pair, task: Task, old: Machine, place: Array) -> Machine:
        """The task solved from the present coefficients."""
        self.solved += 1
        start = np.append(old.theta, 0.0)[place]
        return trained(task, self.kernel, self.edit.examples, self.effort, start)


def path_cost(task: Task, old: Machine, origin: Array) -> float:
    """What following the path is likely to cost, in kernel values read.

    Each row that comes or goes brings somewhat more than one change of category with it, each
    that gets a bound or loses it somewhat less; each change reads the factor of the margin. Where
    bounds grow or shrink, the changes are as many as the logarithms of their ratios tell.
    """
    new = origin == NEW
    came = np.count_nonzero(new)
    went = len(old.theta) - (len(origin) - came)
    members, n = np.count_nonzero(old.categories == 1), len(origin)
    lost, logs = _rebound(task.bounds[~new], old, origin[~new])
    changes = _FIRST_CHANGES + _CHANGES_PER_ROW * (came + went) + _CHANGES_PER_BOUND * lost
    turn = _READ_PER_TURN + _READ_PER_ROW_AND_MEMBER * n * members
    return float(changes * (_READ_PER_CHANGE + members**2) + _TURNS_PER_LOG * logs * turn)


def _rebound(bounds: Array, old: Machine, origin: Array) -> tuple[int, float]:
    """Rows that get a bound or lose it, and how much the bounds of others change.

    That is the sum of the logarithms' sizes, over all rows with a coefficient.
    """
    before = old.task.bounds[origin]
    apart = (before > 0.0) & (before < np.inf) & (bounds > 0.0) & (bounds < np.inf)
    lost = int(np.count_nonzero((before != bounds) & ~apart))
    apart &= old.theta[origin] != 0.0
    return lost, float(np.abs(np.log(bounds[apart] / before[apart])).sum())


def perturbation_cost(old: Machine, outsiders: float) -> float:
    """The same for another kernel and so many unlearned rows that were no members."""
    support, members = np.count_nonzero(old.theta), np.count_nonzero(old.categories == 1)
    changes = _FIRST_CHANGES + members + _CHANGES_PER_OUTSIDER * outsiders
    columns = len(old.theta) * (support + 0.5 * outsiders)
    return float(changes * (_READ_PER_UNLEARNED + members**2 / 3) + _READ_PER_VALUE * columns)


def solver_cost(old: Machine) -> float:
    """What solving from the present solution is likely to cost, and a new living machine."""
    support, members = np.count_nonzero(old.theta), np.count_nonzero(old.categories == 1)
    per_row = _READ_PER_SUPPORT * support + _READ_PER_MEMBER * members
    return float(_SOLVER_START + len(old.theta) * per_row)


def same_ridge(task: Task, old: Task, place: Array) -> Array:
    """Where each row was, but NEW where its ridge is another."""
    if task.ridge is None and old.ridge is None:
        return place
    same = np.append(_ridge(old), np.nan)[place] == _ridge(task)
    return np.where(same, place, NEW)


def _is_everyone(place: Array, old: Machine) -> bool:
    """Whether all rows are there, in their order."""
    return np.array_equal(place, np.arange(len(old.task.index)))


def _ridge(task: Task) -> Array:
    """What is added to the kernel's diagonal, row by row."""
    return np.zeros(len(task.index)) if task.ridge is None else task.ridge
