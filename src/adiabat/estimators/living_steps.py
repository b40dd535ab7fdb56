"""How a pipeline is fitted and changed: all its steps at once, in one assignment."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import fields
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import Pipeline
from sklearn.utils._metadata_requests import _routing_enabled
from sklearn.utils._user_interface import _print_elapsed_time
from sklearn.utils.validation import _num_samples, has_fit_parameter

from adiabat.estimators.carrying import Frozen, Past, Refitting, founded
from adiabat.estimators.ids import named
from adiabat.estimators.passing_through import ExportedPipeline, TransformedCPath
from adiabat.estimators.raw_rows import raw_rows
from adiabat.estimators.refitted_answers import RefittedAnswers
from adiabat.estimators.transformers import (
    Step,
    estimated_where_counted,
    frozen,
    is_estimated,
    is_idle,
    takes_weights,
    unfitted,
)
from adiabat.estimators.validation import checked_weight
from adiabat.estimators.writing import writing

Array = NDArray[Any]
Words = dict[str, Any]

_logger = logging.getLogger("adiabat")


def twin_of(estimator: Any) -> Any:
    """An estimator with the same attributes, whose own change while those of the first stay.

    It shares the living machines and the pen, so that only one of both goes on to be used.
    """
    twin = object.__new__(type(estimator))
    vars(twin).update(vars(estimator).copy())  # at one stroke: others may be changing it
    return twin


def _is_alive(estimator: Any) -> bool:
    """Whether a last step holds rows that can be named."""
    return not is_idle(estimator) and vars(estimator).get("_model") is not None


class LivingSteps(Pipeline):
    """A pipeline whose steps are a value: a change makes others, and shows them all at once."""

    restandardise: bool
    steps: list[Step]
    _past: Past | None

    def __getstate__(self) -> Words:
        state = dict(super().__getstate__())  # at one stroke: others may be changing it
        state.pop("_pen", None)
        return state

    @property
    def _last(self) -> Any:
        return self.steps[-1][1]

    @property
    def _is_alive(self) -> bool:
        return _is_alive(self._last)

    # -- the first rows

    def _begun(self, verb: str, X: Any, y: Any, given: Words, params: Words) -> Words:
        """All steps fitted, the last one by a verb of its own, and what is known of the rows."""
        self._validate_steps()
        if params and self.restandardise:
            raise TypeError(
                f"{verb}: {', '.join(params)} with restandardise=True, which could not repeat it; "
                "wanted sample_weight, ids and groups alone"
            )
        given = {name: value for name, value in given.items() if value is not None}
        weight = given.get("sample_weight")
        weight = None if weight is None else checked_weight(weight, _num_samples(X))
        rows = raw_rows(X) if self.restandardise else None
        steps, values = self._estimated(X if rows is None else rows.table(), y, weight, params)
        name, last = self.steps[-1]
        own = self._routed(weight, params)[name].get("fit", {}) if not is_idle(last) else {}
        machine = last if is_idle(last) else twin_of(last)
        with _print_elapsed_time("Pipeline", self._log_message(len(self.steps) - 1)):
            if not is_idle(last):
                words = self._named_rows(verb, X, {**own, **given})
                getattr(machine, verb)(values, y, **words)
        alive = _is_alive(machine)
        past = founded(_num_samples(X), rows) if alive else None
        return {"steps": [*steps, (name, machine)], "_past": past}

    def _named_rows(self, verb: str, X: Any, words: Words) -> Words:
        """What the last step gets beside rows and labels; the names of the rows among it."""
        if not has_fit_parameter(self._last, "ids"):
            return words
        next_id = 0 if verb == "fit" else vars(self._last).get("_next_id", 0)
        ids, _ = named(words.get("ids"), X, _num_samples(X), next_id)
        return {**words, "ids": ids}

    def _routed(self, weight: Array | None, params: Words) -> Mapping[str, Any]:
        """What each step gets, by its name and its method."""
        if weight is None:
            weights = {}
        elif _routing_enabled():
            weights = {"sample_weight": weight}
        else:
            taking = [name for name, step in self.steps if takes_weights(step)]
            weights = {f"{name}__sample_weight": weight for name in taking}
        return self._check_method_params("fit", props={**weights, **params})

    def _estimated(
        self, X: Any, y: Any, weight: Array | None, params: Words | None = None
    ) -> tuple[list[Step], Any]:
        """The steps before the last one fitted on rows, and what they make of these."""

        def own(weight: Array | None) -> dict[str, Words]:
            routed = self._routed(weight, params or {})
            steps = [name for name, step in self.steps[:-1] if not is_idle(step)]
            return {
                name: routed[name].get("fit_transform") or routed[name]["fit"] for name in steps
            }

        steps = unfitted(self.steps[:-1])
        how = {"memory": self.memory, "log": self._log_message}
        return estimated_where_counted(steps, X, y, weight, own, **how)

    # -- changes

    def _known_past(self) -> Past:
        """What is known of the rows held; an error where there are none."""
        if not self._is_alive:
            raise NotFittedError(
                f"This {type(self).__name__} instance is not fitted yet. Call 'fit' with "
                "appropriate arguments before using this estimator."
            )
        count, past = len(self._last.ids_), vars(self).get("_past")
        if past is None:  # it was made of steps that were fitted elsewhere
            return Past(np.zeros(count, dtype=bool))
        if len(past.founders) != count:
            raise ValueError(
                f"{self.steps[-1][0]}: it holds {count} rows, and {len(past.founders)} came "
                "through this pipeline; wanted changes of the pipeline, not of its last step"
            )
        return past

    def _change(self, act: Callable[[Any], None]) -> Any:
        """Change a twin of the last step, and the steps before it, and show both."""
        with writing(self):
            past, machine = self._known_past(), twin_of(self._last)
            way = self._way(machine, past)
            act(way)
            self._commit(way.steps, machine, way.past)
        return self

    def _way(self, machine: Any, past: Past) -> Frozen | Refitting:
        steps = self.steps[:-1]
        if self.restandardise:
            return Refitting(steps, machine, past, self._estimated)
        return Frozen(steps, machine, past)

    def _commit(self, steps: list[Step], machine: Any, past: Past) -> None:
        """Show all steps after a change, in one step that no other thread sees half of."""
        known: Past | None = past
        if not _is_alive(machine):  # no row is left
            steps, known = unfitted(steps), None
        state = {"steps": [*steps, (self.steps[-1][0], machine)], "_past": known}
        self.__dict__.update(state)
        for name, count in self.remembers_.items():
            _logger.info(
                "%s: estimated on %d rows that were forgotten or revised since; "
                "restandardise=True estimates it anew",
                name,
                count,
            )

    @property
    def remembers_(self) -> dict[str, int]:
        """Steps that were estimated on rows since forgotten or revised, and on how many."""
        now = twin_of(self)
        past: Past | None = vars(now).get("_past")
        if past is None or not past.forgotten or not _is_alive(now.steps[-1][1]):
            return {}
        return {name: past.forgotten for name, step in now.steps[:-1] if is_estimated(step)}

    # -- answers and twins

    def _answering(self) -> Any:
        """Who answers questions that hold rows out."""
        if not self.restandardise:
            return self._last
        rows = self._known_past().rows
        return self._last if rows is None else RefittedAnswers(self.copy(), rows)

    def _c_path(self, C_min: float, C_max: float) -> TransformedCPath:
        now = twin_of(self)
        path = now.steps[-1][1].c_path(C_min, C_max)
        known = {field.name: getattr(path, field.name) for field in fields(path)}
        return TransformedCPath(**known, _steps=tuple(deepcopy(now.steps[:-1])))

    def copy(self) -> Any:
        """Make an independent twin, with all that was learned.

        Returns
        -------
        Pipeline
            A pipeline that nothing done to this one will change.
        """
        twin = twin_of(self)
        vars(twin).pop("_pen", None)
        name, last = twin.steps[-1]
        machine = last.copy() if hasattr(last, "copy") else deepcopy(last)
        twin.steps = [*deepcopy(twin.steps[:-1]), (name, machine)]
        return twin

    def fresh(self) -> Any:
        """Make a pipeline with the same settings whose last step is unfitted, gamma a number.

        Returns
        -------
        Pipeline
            What an honest comparison after a change of the rows should be fitted with. Steps
            before the last one are unfitted too with ``restandardise``, and else frozen as they
            are.
        """
        now = twin_of(self)
        before = unfitted(now.steps[:-1]) if now.restandardise else frozen(now.steps[:-1])
        settings = now.get_params(deep=False)
        return type(self)(
            **{**settings, "steps": [*before, (now.steps[-1][0], now.steps[-1][1].fresh())]}
        )

    def export(self) -> ExportedPipeline:
        """Make a pipeline that only predicts: fitted steps, support rows and coefficients.

        Returns
        -------
        ExportedPipeline
            It holds none of the other rows.
        """
        now = twin_of(self)
        return ExportedPipeline(tuple(deepcopy(now.steps[:-1])), now.steps[-1][1].export())

    def to_sklearn(self) -> Pipeline:
        """Make a fitted scikit-learn pipeline that decides in the same way.

        Returns
        -------
        sklearn.pipeline.Pipeline
            Its last step is a fitted ``sklearn.svm.SVC``.
        """
        now = twin_of(self)
        last = now.steps[-1][0], now.steps[-1][1].to_sklearn()
        return Pipeline([*deepcopy(now.steps[:-1]), last], memory=self.memory, verbose=self.verbose)
