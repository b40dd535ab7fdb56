"""How the machines of a model get from one optimum to the next."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from adiabat.errors import ExactnessError
from adiabat.estimators.edits import NEW, Edit
from adiabat.estimators.machines import (
    NOBODY,
    Effort,
    Machine,
    Task,
    demand_of,
    problem_of,
    rows_of_task,
)
from adiabat.estimators.model import Model, labels_of, trained
from adiabat.kernels import Kernel, Rows

if TYPE_CHECKING:
    from adiabat.adiabatic.keeper import Keeper

Array = NDArray[Any]

#: Measured on data of 768 to 20,000 rows: changes of category of a path, at its beginning, for
#: each row that comes or goes, and for each that gets another bound; what each reads beside the
#: factor; and what the solver, and setting up a living machine, reads for each row, or costs at
#: least.
_FIRST_CHANGES, _CHANGES_PER_ROW, _CHANGES_PER_BOUND = 5.0, 1.3, 0.5
_READ_PER_CHANGE, _READ_PER_SUPPORT, _READ_PER_MEMBER, _SOLVER_START = 3e4, 9.0, 7.5, 2e6
Pair = tuple[Any, Any]


@dataclass
class Upkeep:
    """The living machines of a model, by their pairs of labels, made when first needed."""

    model: Model
    keepers: dict[Pair, Keeper] = field(default_factory=dict)


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
        same = kernel == self.before.kernel and self._origin_now is self.before.examples.rows.origin
        self._old_keepers = upkeep.keepers if same else {}
        self.solved = 0

    @property
    def _origin_now(self) -> Array | None:
        """What translation-invariant kernels measure from after the change."""
        return self.edit.examples.rows.origin

    def machine(self, task: Task) -> Machine:
        """The machine of a task, at its optimum."""
        pair = labels_of(task, self.edit.examples.classes)
        old = self.machines.get(pair)
        if old is None or task.negative == NOBODY:
            return trained(task, self.kernel, self.edit.examples, self.effort)
        origin = self._origin(task, old.task)
        if self._is_untouched(task, old, origin):
            return self._kept(pair, task, old)
        if self._is_elsewhere(task, old) or is_solved_sooner(task, old, origin):
            return self._solved(task, old, origin)
        return self._moved(pair, task, old, origin)

    def _origin(self, task: Task, old: Task) -> Array:
        """Where each row of a task was in the old one; NEW also where its ridge is another."""
        before, after = len(self.before.examples), len(self.edit.examples)
        if (len(old.index), len(task.index)) == (before, after):  # all rows, in their order
            origin = self.edit.origin.copy()
        else:
            place = np.full(before + 1, NEW)
            place[old.index] = np.arange(len(old.index))
            origin = place[self.edit.origin[task.index]]
        if task.ridge is not None or old.ridge is not None:
            origin[np.append(_ridge(old), np.nan)[origin] != _ridge(task)] = NEW
        return origin

    def _is_untouched(self, task: Task, old: Machine, origin: Array) -> bool:
        """Whether a machine is asked the same as before."""
        return bool(
            self.kernel == self.before.kernel
            and old.finished
            and np.array_equal(origin, np.arange(len(old.task.index)))
            and np.array_equal(task.bounds, old.task.bounds)
            and task.fixed_bias == old.task.fixed_bias
        )

    def _is_elsewhere(self, task: Task, old: Machine) -> bool:
        """Whether no path leads from the old optimum, if it was one, to that of the task."""
        other_bias = task.fixed_bias != old.task.fixed_bias
        return self.kernel != self.before.kernel or other_bias or not old.finished

    def _kept(self, pair: Pair, task: Task, old: Machine) -> Machine:
        """The same machine; its rows may have other positions."""
        if pair in self._old_keepers:
            self.keepers[pair] = self._old_keepers.pop(pair)
        return replace(old, task=task, kernel_evaluations=0, perturbations=0, refactorisations=0)

    # -- along the path

    def _moved(self, pair: Pair, task: Task, old: Machine, origin: Array) -> Machine:
        # numba comes with living machines.
        from adiabat.adiabatic.living import LostError  # noqa: PLC0415

        rows = rows_of_task(task, self.kernel, self.edit.examples.rows)
        self._require_convex(pair, task, rows, origin)
        try:
            keeper, spent, turned, renewed = self._old_keepers.pop(pair, None), 0, 0, 0
            if keeper is None:
                keeper = self._keeper(old)
            else:
                spent, turned = keeper.kernel_evaluations, keeper.perturbations
                renewed = keeper.refactorisations
            theta, bias = keeper.change(demand_of(task, self.kernel, rows), origin)
        except LostError:
            return self._solved(task, old, origin)
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

        every = replace(self.before.examples.rows, origin=self._origin_now)
        rows = rows_of_task(old.task, self.before.kernel, every)
        return Keeper(demand_of(old.task, self.before.kernel, rows), old.theta, old.bias)

    def _require_convex(self, pair: Pair, task: Task, rows: Rows, origin: Array) -> None:
        """Refuse to move a machine whose kernel is not positive semidefinite on its rows.

        Rows that go leave a definite matrix definite, so only new ones are a reason to look.
        """
        known = self.kernel.convex is None and pair in self._old_keepers
        if not known or (origin == NEW).any():
            require_convex(self.kernel, task, rows)

    # -- by the solver

    def _solved(self, task: Task, old: Machine, origin: Array) -> Machine:
        """The task solved from the present coefficients."""
        self.solved += 1
        start = np.append(old.theta, 0.0)[origin]
        return trained(task, self.kernel, self.edit.examples, self.effort, start)


def require_convex(kernel: Kernel, task: Task, rows: Rows) -> None:
    """Refuse to move a machine whose kernel is not positive semidefinite on its rows."""
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


def path_cost(task: Task, old: Machine, origin: Array) -> float:
    """What following the path is likely to cost, in kernel values read.

    Each row that comes or goes brings somewhat more than one change of category with it, each
    that only gets another bound somewhat less; each change reads the factor of the margin.
    """
    new = origin == NEW
    came = np.count_nonzero(new)
    went = len(old.theta) - (len(origin) - came)
    rebound = np.count_nonzero((task.bounds != old.task.bounds[origin]) & ~new)
    members = np.count_nonzero(old.categories == 1)
    changes = _FIRST_CHANGES + _CHANGES_PER_ROW * (came + went) + _CHANGES_PER_BOUND * rebound
    return float(changes * (_READ_PER_CHANGE + members**2))


def is_solved_sooner(task: Task, old: Machine, origin: Array) -> bool:
    """Whether solving from the present solution is likely to cost less than the path."""
    path = path_cost(task, old, origin)
    return path > _SOLVER_START and path > solver_cost(old)


def solver_cost(old: Machine) -> float:
    """What solving from the present solution is likely to cost, and a new living machine."""
    support, members = np.count_nonzero(old.theta), np.count_nonzero(old.categories == 1)
    per_row = _READ_PER_SUPPORT * support + _READ_PER_MEMBER * members
    return float(_SOLVER_START + len(old.theta) * per_row)


def _ridge(task: Task) -> Array:
    """What is added to the kernel's diagonal, row by row."""
    return np.zeros(len(task.index)) if task.ridge is None else task.ridge
