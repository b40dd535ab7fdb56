"""What a change has done, told to the user."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from adiabat.estimators.edits import Edit
from adiabat.estimators.machines import Machine
from adiabat.estimators.members import MemberCertificates, certified
from adiabat.estimators.model import Model, spent_on

if TYPE_CHECKING:
    from adiabat.certificate import Certificate

Array = NDArray[Any]

#: What a row can be in a machine, and where it comes from or goes to beyond that.
CATEGORIES = ("reserve", "margin", "error")
CAME, WENT = "new", "gone"


@dataclass(frozen=True, eq=False)
class Change:
    """What the last change of a model has done.

    Attributes
    ----------
    verb : str
        The method that made it.
    rows : int
        How many rows it named.
    perturbations : int
        Changes of category on the way.
    kernel_evaluations : int
        Kernel values that were computed.
    refactorisations : int
        Factors of a margin system that did not serve any more and were made anew.
    solved : int
        Machines that were solved from their present solution, because that was cheaper than
        following the path or the path was lost.
    seconds : float
        What it took.
    flow : dict
        How many rows went from one category to another, by pairs of "reserve", "margin" and
        "error"; "new" and "gone" stand for rows that came and went. With more than two classes
        a row counts in each of its machines.
    certificate : Certificate or MemberCertificates or None
        The proof that goes with the model after the change, measured when it is first asked
        for; None where no row was left.

    Examples
    --------
    >>> from adiabat import SVC
    >>> model = SVC(kernel="linear").fit([[0.0], [1.0], [2.0]], ["a", "b", "b"])
    >>> change = model.unlearn(2).last_change_
    >>> change.flow
    {('reserve', 'gone'): 1, ('error', 'error'): 2}
    >>> change.certificate.holds()
    True
    """

    verb: str
    rows: int
    perturbations: int
    kernel_evaluations: int
    refactorisations: int
    solved: int
    seconds: float
    _were: Sequence[tuple[Array, int]] = field(repr=False)
    _stayed: Array = field(repr=False)
    _model: Model | None = field(default=None, repr=False)

    @cached_property
    def flow(self) -> dict[tuple[str, str], int]:
        """How many rows went from where to where."""
        are = (
            []
            if self._model is None
            else [categories(self._model, machine) for machine in self._model.machines]
        )
        none = np.full(len(self._stayed), -1)
        pairs = [(were, are[place] if place >= 0 else none) for were, place in self._were]
        followed = {place for _, place in self._were}
        pairs += [(none[:0], now) for place, now in enumerate(are) if place not in followed]
        counted = np.zeros(16, dtype=np.int64)
        for were, now in pairs:
            counted += _pair_flow(were, now, self._stayed)
        before, after = (CAME, *CATEGORIES), (WENT, *CATEGORIES)
        return {
            (before[at // 4], after[at % 4]): count
            for at, count in enumerate(counted.tolist())
            if count and at  # neither before nor after is no flow
        }

    @cached_property
    def certificate(self) -> Certificate | MemberCertificates | None:
        """The proof that goes with the model after the change."""
        return None if self._model is None else certified(self._model)


def categories(model: Model, machine: Machine) -> Array:
    """What each row held is in a machine, as an index to CATEGORIES; -1 for none of its rows."""
    if len(machine.task.index) == len(model.examples):
        return machine.categories
    kinds = np.full(len(model.examples), -1)
    kinds[machine.task.index] = machine.categories
    return kinds


def told(
    verb: str, edit: Edit, before: Model | None, after: Model | None, solved: int, started: float
) -> Change:
    """A change that began at some time and has come to its end."""
    machines = after.machines if after is not None else ()
    spent = spent_on(machines)
    return Change(
        verb=verb,
        rows=edit.named,
        perturbations=spent.perturbations,
        kernel_evaluations=spent.kernel_evaluations,
        refactorisations=sum(machine.refactorisations for machine in machines),
        solved=solved,
        seconds=perf_counter() - started,
        _were=_categories_before(before, after),
        _stayed=edit.stayed,
        _model=after,
    )


def _categories_before(before: Model | None, after: Model | None) -> list[tuple[Array, int]]:
    """What rows were in each machine, and which machine is that of the same classes now.

    Machines have numbers here: labels that no row has any more are not to be kept.
    """
    if before is None:
        return []
    place = {}
    if after is not None:
        place = {frozenset(after.labels(machine)): k for k, machine in enumerate(after.machines)}
    return [
        (categories(before, machine), place.get(frozenset(before.labels(machine)), -1))
        for machine in before.machines
    ]


def _pair_flow(old: Array, new: Array, stayed: Array) -> Array:
    """The same for one machine; who was or is none of its rows came or went."""
    was = np.append(old, -1)[stayed] if len(old) else np.full(len(stayed), -1)
    counted = np.bincount(4 * was + new + 5, minlength=16)
    if len(old):  # who was there and did not stay
        counted[::4] += np.bincount(old + 1, minlength=4) - np.bincount(was + 1, minlength=4)
    return counted
