"""Verbs carried through the steps before the last one.

Either these steps stay what they were when they were fitted, and rows go through them; or they
are estimated anew on the rows held after each change of rows, which moves every row in the eyes
of the last step: a change of its kernel, which it follows exactly.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from adiabat.estimators.edits import (
    NEW,
    Edit,
    joined,
    positions_of,
    relabelled,
    require_new,
    reweighted,
    without,
)
from adiabat.estimators.ids import listed_ids, named
from adiabat.estimators.raw_rows import RawRows, raw_rows, taken
from adiabat.estimators.transformers import Step, transformed
from adiabat.estimators.validation import (
    Examples,
    Names,
    checked_labels,
    checked_newcomers,
    checked_weight,
    require_among,
)

Array = NDArray[Any]
#: Fits steps on rows, labels and weights, and says what they make of the rows.
Estimate = Callable[[Any, Any, Array | None], tuple[list[Step], Any]]


@dataclass(frozen=True, eq=False)
class Past:
    """What a pipeline knows of the rows that its steps before the last one were estimated on.

    Attributes
    ----------
    founders : ndarray
        For each row held, in the order of ids_, whether they were estimated on it.
    forgotten : int
        How many others they were estimated on, which are gone or have other features now.
    rows : RawRows or None
        The rows as they came, where the steps are to be estimated anew.
    """

    founders: Array
    forgotten: int = 0
    rows: RawRows | None = field(default=None, repr=False)

    def after(self, stayed: Array, revised: Array | None = None) -> Past:
        """The same after a change, by the position before of each row held and who is revised."""
        founders = np.append(self.founders, False)[stayed]
        if revised is not None:
            founders[revised] = False
        gone = int(np.count_nonzero(self.founders)) - int(np.count_nonzero(founders))
        return Past(founders, self.forgotten + gone)


def founded(count: int, rows: RawRows | None) -> Past:
    """What is known after a fit on so many rows."""
    return Past(np.ones(count, dtype=bool), rows=rows)


class Frozen:
    """A change of the last step, with steps before it that stay as they are.

    Parameters
    ----------
    steps : list
        The fitted steps before the last one.
    machine : estimator
        The last step; the verbs change it.
    past : Past
        What is known of the rows.
    """

    def __init__(self, steps: Sequence[Step], machine: Any, past: Past) -> None:
        self.steps, self.machine, self.past = list(steps), machine, past

    def _follow(self, revised: Array | None = None) -> None:
        if vars(self.machine).get("_model") is not None:
            stayed = self.machine.last_change_._stayed  # noqa: SLF001
            self.past = self.past.after(stayed, revised)

    def partial_fit(self, X: Any, y: Any, classes: Any, sample_weight: Any, names: Names) -> None:
        """Learn further rows."""
        held = self.machine._fitted.examples  # noqa: SLF001
        values = transformed(self.steps, X)
        ids, _ = named(names.ids, X, values.shape[0], held.next_id)
        self.machine.partial_fit(values, y, classes, sample_weight, ids, names.groups)
        self._follow()

    def unlearn(self, ids: Any, groups: Any) -> None:
        """Forget rows."""
        self.machine.unlearn(ids, groups=groups)
        self._follow()

    def relabel(self, ids: Any, y: Any) -> None:
        """Correct labels."""
        self.machine.relabel(ids, y)

    def reweight(self, ids: Any, sample_weight: Any) -> None:
        """Change weights."""
        self.machine.reweight(ids, sample_weight)

    def revise(self, ids: Any, X: Any, y: Any) -> None:
        """Correct features."""
        positions = positions_of(self.machine._fitted.examples, listed_ids(ids))  # noqa: SLF001
        self.machine.revise(ids, transformed(self.steps, X), y)
        self._follow(positions)


class Refitting:
    """A change of the last step, with steps before it that are estimated anew on the rows held.

    Parameters
    ----------
    steps : list
        The steps before the last one.
    machine : estimator
        The last step; the verbs change it.
    past : Past
        What is known of the rows, with these as they came.
    estimate : callable
        What fits the steps.
    """

    def __init__(self, steps: Sequence[Step], machine: Any, past: Past, estimate: Estimate) -> None:
        self.steps, self.machine, self.past = list(steps), machine, past
        self._estimate = estimate

    def _make(
        self,
        verb: str,
        edited: Callable[[Examples], Edit],
        new: RawRows | None = None,
        revised: Array | None = None,
    ) -> None:
        """Estimate the steps anew on the rows after an edit, and have the last step see them."""
        rows = self.past.rows
        if rows is None:
            raise ValueError(
                "restandardise: True now, and False when the rows were learned, so that they are "
                "not there as they came; wanted a fit with restandardise=True"
            )
        count = len(rows)

        def seen(edit: Edit) -> Any:
            index = edit.stayed.copy()
            came = np.flatnonzero(index == NEW) if revised is None else revised
            index[came] = count + np.arange(len(came))
            now = taken(rows, new, index)
            examples = edit.examples
            self.steps, values = self._estimate(now.table(), examples.labels, examples.weight)
            self.past = founded(len(examples), now)
            return values

        self.machine._retransform(verb, edited, seen)  # noqa: SLF001

    def partial_fit(self, X: Any, y: Any, classes: Any, sample_weight: Any, names: Names) -> None:
        """Learn further rows."""
        require_among(y, classes)

        def edited(held: Examples) -> Edit:
            new = checked_newcomers(X, y, sample_weight, names, held)
            require_new(held, new.ids)
            return joined(held, new, pairwise=False)

        self._make("partial_fit", edited, raw_rows(X))

    def unlearn(self, ids: Any, groups: Any) -> None:
        """Forget rows."""

        def edited(held: Examples) -> Edit:
            return without(held, self.machine._named(held, ids, groups), pairwise=False)  # noqa: SLF001

        self._make("unlearn", edited)

    def relabel(self, ids: Any, y: Any) -> None:
        """Correct labels."""

        def edited(held: Examples) -> Edit:
            positions = positions_of(held, listed_ids(ids))
            return relabelled(held, positions, checked_labels(y, len(positions), held))

        self._make("relabel", edited)

    def reweight(self, ids: Any, sample_weight: Any) -> None:
        """Change weights."""

        def edited(held: Examples) -> Edit:
            positions = positions_of(held, listed_ids(ids))
            weight = checked_weight(sample_weight, len(positions), alone=False)
            return reweighted(held, positions, weight)

        self._make("reweight", edited)

    def revise(self, ids: Any, X: Any, y: Any) -> None:
        """Correct features."""
        new = raw_rows(X)
        positions = positions_of(self.machine._fitted.examples, listed_ids(ids))  # noqa: SLF001
        if len(new) != len(positions):
            raise ValueError(
                f"X: {len(new)} rows for {len(positions)} ids; wanted a row for each id"
            )

        def edited(held: Examples) -> Edit:
            labels = held.labels[positions]
            if y is not None:
                labels = checked_labels(y, len(positions), held)
            return relabelled(held, positions, labels)

        self._make("revise", edited, new, positions)
