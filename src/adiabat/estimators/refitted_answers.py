"""Leave-one-out of a pipeline whose steps are estimated anew without the rows that leave."""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from adiabat.estimators.held_out import HeldOut
from adiabat.estimators.machines import Effort, Machine
from adiabat.estimators.members import certified
from adiabat.estimators.model import Model
from adiabat.estimators.predictor import arranged
from adiabat.estimators.raw_rows import RawRows
from adiabat.estimators.transformers import transformed
from adiabat.estimators.validating import Validating, require_answers
from adiabat.estimators.validation import checked_queries
from adiabat.solvers.monitor import Monitor

Array = NDArray[Any]


class RefittedAnswers(Validating):
    """The questions that hold rows out, answered by a pipeline that forgets these in earnest.

    Parameters
    ----------
    pipeline : Pipeline
        A fitted one that estimates its steps anew; twins of it forget.
    rows : RawRows
        Its rows as they came.

    Examples
    --------
    >>> from sklearn.preprocessing import StandardScaler
    >>> from adiabat import SVC, make_pipeline
    >>> pipeline = make_pipeline(StandardScaler(), SVC(kernel="linear"), restandardise=True)
    >>> pipeline.fit([[0.0], [1.0], [5.0], [7.0]], [0, 0, 1, 1]).leave_one_out().error_rate
    0.0
    """

    def __init__(self, pipeline: Any, rows: RawRows) -> None:
        self.pipeline, self.rows = pipeline, rows
        self.machine = pipeline[-1]
        self._model = self.machine._fitted  # noqa: SLF001

    def _effort(self) -> Effort:
        return self.machine._effort()  # noqa: SLF001

    def _held_out(self, groups: Sequence[Array], asked: str, *, values: bool) -> HeldOut:
        started, model = perf_counter(), self._model
        require_answers(model, groups, asked)
        monitor = Monitor(verbose=self._effort().verbose)
        rows = np.concatenate(groups)
        pairs = np.zeros((len(model.examples), len(model.machines)))
        predictions = model.examples.labels.copy()
        spent = np.zeros(4)
        for done, group in enumerate(groups):
            twin, cost = self._without(group)
            asked_of = self.rows.taken(group).table()
            predictions[group] = twin.predict(asked_of)
            if values:
                pairs[group] = _pair_values(model, twin, asked_of)
            spent = np.append(spent[:3] + cost[:3], max(spent[3], cost[3]))
            monitor.report(asked.replace("_", " "), done, spent[3])
        rows = np.sort(rows)
        examples, shape = model.examples, self.machine.decision_function_shape
        return HeldOut(
            ids=examples.ids[rows],
            labels=examples.labels[rows],
            predictions=predictions[rows],
            decision_function=(
                arranged(pairs[rows], len(examples.classes), shape) if values else None
            ),
            weight=examples.weight[rows],
            classes=examples.classes.copy(),
            kkt_violation=float(spent[3]),
            perturbations=int(spent[0]),
            kernel_evaluations=int(spent[1]),
            solved=int(spent[2]),
            seconds=perf_counter() - started,
        )

    def _without(self, group: Array) -> tuple[Any, Array]:
        """A twin that never saw some rows; changes, kernel values, solutions and violation."""
        twin = self.pipeline.copy()
        twin.unlearn(self._model.examples.ids[group])
        change = twin.last_change_
        violation = certified(twin[-1]._fitted).kkt_violation  # noqa: SLF001
        return twin, np.array(
            [change.perturbations, change.kernel_evaluations, change.solved, violation]
        )


def _pair_values(model: Model, twin: Any, X: Any) -> Array:
    """What a twin's machines say, in the places and with the signs of the model's.

    Where one class of a pair is gone the other one is all there is to say; where both are,
    nothing.
    """
    other: Model = twin[-1]._fitted  # noqa: SLF001
    values = transformed(twin.steps[:-1], X)
    said = other.predictor.values(checked_queries(twin[-1], values, pairwise=False))
    known = dict(zip(map(other.labels, other.machines), said.T, strict=True))
    there = set(other.examples.classes.tolist())

    def pair(machine: Machine) -> Any:
        positive, negative = model.labels(machine)
        if (positive, negative) in known:
            return known[positive, negative]
        if (negative, positive) in known:
            return -known[negative, positive]
        return np.full(len(said), float(positive in there) - float(negative in there))

    return np.column_stack([pair(machine) for machine in model.machines])
