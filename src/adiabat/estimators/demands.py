"""What living machines are asked, before and after an edit, and what they share.

The machine of two classes has its kernel values to itself. Those of more classes, whose rows
are each in several of them, share theirs.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from adiabat.estimators.edits import NEW, Edit
from adiabat.estimators.machines import Task, demand_of, rows_of_task
from adiabat.kernels import Kernel, Rows, made_ready

# numba comes with living machines, so only those who change one wait for it.
if TYPE_CHECKING:
    from adiabat.adiabatic.keeper import Demand
    from adiabat.shared_gram import SharedGram

Array = NDArray[Any]


@dataclass(frozen=True, eq=False)
class Shared:
    """What the living machines of a model share, and the names of its rows there."""

    gram: SharedGram
    names: Array


class Demands(Protocol):
    """What the machines are asked on both sides of an edit."""

    def before(self, task: Task) -> Demand:
        """What a task of the old model asks."""

    def after(self, task: Task) -> Demand:
        """What a task of the new model asks."""

    def concluded(self) -> Shared | None:
        """What is shared from now on, without the rows that are gone."""


class Apart:
    """Each machine has its kernel values to itself.

    Parameters
    ----------
    kernel : Kernel
        The kernel.
    held : Rows
        The rows before the edit.
    edit : Edit
        The edit.
    """

    def __init__(self, kernel: Kernel, held: Rows, edit: Edit) -> None:
        self._kernel, self._held, self._now = kernel, held, edit.examples.rows

    def before(self, task: Task) -> Demand:
        """What a task of the old model asks."""
        return self._asked(task, self._held)

    def after(self, task: Task) -> Demand:
        """What a task of the new model asks."""
        return self._asked(task, self._now)

    def _asked(self, task: Task, rows: Rows) -> Demand:
        return demand_of(task, self._kernel, rows_of_task(task, self._kernel, rows))

    def concluded(self) -> None:
        """Nothing is shared."""


class Together:
    """All machines share their kernel values.

    Parameters
    ----------
    kernel, held, edit : Kernel, Rows, Edit
        As above.
    stays : ndarray
        For each row held afterwards its position before, or NEW where its features are others.
    shared : Shared or None
        What is shared so far.
    budget : int
        Bytes for kernel values that are kept.
    """

    def __init__(
        self,
        kernel: Kernel,
        held: Rows,
        edit: Edit,
        *,
        stays: Array,
        shared: Shared | None,
        budget: int,
    ) -> None:
        self._kernel, self._held, self._now, self._stays = kernel, held, edit.examples.rows, stays
        self._budget = budget
        self._shared, self._names = shared, np.empty(0, dtype=np.int64)
        if shared is not None:
            self._take_in(shared)

    def _begun(self) -> Shared:
        """What is shared, with all rows of both sides."""
        if self._shared is None:
            from adiabat.shared_gram import SharedGram  # noqa: PLC0415

            every = np.arange(len(self._held))
            first = made_ready(self._kernel, self._held, every, every)
            self._shared = Shared(SharedGram(self._kernel, *first, self._budget), every)
            self._take_in(self._shared)
        return self._shared

    def _take_in(self, shared: Shared) -> None:
        """Find the rows' names after the edit; new ones get theirs."""
        names, new = np.append(shared.names, NEW)[self._stays], np.flatnonzero(self._stays == NEW)
        if len(new):
            # of those that are gone nobody has told the values with those who come: any will do
            position = np.zeros(int(shared.names.max()) + 1, dtype=np.int64)
            kept = np.flatnonzero(self._stays != NEW)
            position[names[kept]] = kept
            columns = np.concatenate([position[shared.gram.names], new])
            names[new] = shared.gram.append(*made_ready(self._kernel, self._now, new, columns))
        self._names = names

    def before(self, task: Task) -> Demand:
        """What a task of the old model asks."""
        shared = self._begun()
        return self._asked(task, shared.gram, shared.names)

    def after(self, task: Task) -> Demand:
        """What a task of the new model asks."""
        return self._asked(task, self._begun().gram, self._names)

    def _asked(self, task: Task, gram: SharedGram, names: Array) -> Demand:
        from adiabat.adiabatic.keeper import SharedDemand  # noqa: PLC0415

        demand = demand_of(task, self._kernel, Rows(names[task.index]))
        return SharedDemand(**vars(demand), shared=gram)

    def concluded(self) -> Shared | None:
        """What is shared from now on, without the rows that are gone."""
        if self._shared is None:
            return None
        gram, names = self._shared.gram, self._shared.names
        gone = np.ones(len(names), dtype=bool)
        gone[self._stays[self._stays != NEW]] = False
        gram.remove(names[gone])
        return Shared(gram, self._names)


def demands_of(
    kernel: Kernel, held: Rows, edit: Edit, shared: Shared | None, budget: int
) -> Demands:
    """What machines are asked on both sides of an edit, by the same kernel."""
    now = edit.examples.rows
    measured = held if now.origin is held.origin else replace(held, origin=now.origin)
    if len(edit.examples.classes) <= 2:
        return Apart(kernel, measured, edit)
    # a row that only gets another label is the same row
    stays = edit.stayed if now is held else edit.origin
    return Together(kernel, measured, edit, stays=stays, shared=shared, budget=budget)
