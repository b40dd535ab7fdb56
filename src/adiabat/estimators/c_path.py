"""The whole path of a classifier between two values of C."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from adiabat.estimators.changes import CATEGORIES
from adiabat.estimators.held_out import HeldOut
from adiabat.estimators.kernel_choice import is_pairwise
from adiabat.estimators.machines import Machine, costs
from adiabat.estimators.members import MemberCertificates, certified
from adiabat.estimators.model import Model, Work
from adiabat.estimators.predictor import arranged, decided, predictor_of
from adiabat.estimators.validation import checked_queries

if TYPE_CHECKING:
    from adiabat.adiabatic.trail import Trail
    from adiabat.certificate import Certificate

Array = NDArray[Any]

#: Values of C that are decided for at once.
_AT_ONCE = 256


class Event(NamedTuple):
    """A row changes its category.

    Attributes
    ----------
    C : float
        Where.
    id : int or str
        The row's id.
    before, after : str
        "margin", "error" or "reserve", below and above this C.
    pair : tuple
        The labels of the machine; (label, None) where there is only one class.
    """

    C: float
    id: Any
    before: str
    after: str
    pair: tuple[Any, Any]


@dataclass(frozen=True, eq=False, repr=False)
class CPath:
    """The optima of a classifier for all C between two ends.

    Between two neighbouring values of ``C`` nobody changes the category, and every coefficient,
    the bias and every decision value is linear in C. Each of these values is certified.

    Attributes
    ----------
    C : ndarray of shape (n_breakpoints,)
        Both ends, every C at which a row changes its category in a machine, and those at which
        the middle of an interval of biases has a bend; ascending.
    kkt_violation : ndarray of shape (n_breakpoints,)
        The largest violation of an optimality condition at each, computed from kernel values
        made anew.
    perturbations : int
        Changes of category on the way, those of no length included.
    kernel_evaluations : int
        Kernel values that were computed for the path; the proof's come on top.
    seconds : float
        What it took.

    Examples
    --------
    >>> from adiabat import SVC
    >>> model = SVC(kernel="linear").fit([[0.0], [1.0], [2.0], [4.0]], ["a", "a", "b", "b"])
    >>> path = model.c_path(0.05, 4.0)
    >>> path
    CPath(C from 0.05 to 4, 7 breakpoints)
    >>> path.C.round(3)
    array([0.05 , 0.1  , 0.5  , 0.667, 1.   , 2.   , 4.   ])
    >>> path.n_error
    array([4, 2, 2, 2, 2, 0, 0])
    >>> path.decision_function([[0.0], [1.0]], [0.1, 4.0]).round(3)
    array([[-1. , -3. ],
           [-0.5, -1. ]])
    >>> path.certificate(0.5).holds()
    True
    >>> [answer.error_rate for answer in path.leave_one_out([0.1, 4.0])]
    [1.0, 0.25]
    """

    C: Array
    kkt_violation: Array
    perturbations: int
    kernel_evaluations: int
    seconds: float
    _trails: Sequence[Trail]
    _estimator: Any

    def __repr__(self) -> str:
        lowest, highest = self.C[0], self.C[-1]
        return f"CPath(C from {lowest:g} to {highest:g}, {len(self.C)} breakpoints)"

    # -- who is where

    @cached_property
    def _counts(self) -> Array:
        """Rows of each category from each C on, in all machines together."""
        counts = np.zeros((len(self.C), 3), dtype=np.int64)
        for trail in self._trails:
            at = np.searchsorted(trail.C, self.C, side="right") - 1
            counts += trail.counts[at]
        return counts

    @property
    def n_reserve(self) -> Array:
        """Rows with a coefficient of zero: entry k holds from C[k] up to C[k + 1]."""
        return self._counts[:, 0].copy()

    @property
    def n_margin(self) -> Array:
        """Rows with a coefficient between its bounds: entry k holds from C[k] up to C[k + 1]."""
        return self._counts[:, 1].copy()

    @property
    def n_error(self) -> Array:
        """Rows with a coefficient at its bound: entry k holds from C[k] up to C[k + 1]."""
        return self._counts[:, 2].copy()

    @cached_property
    def events(self) -> tuple[Event, ...]:
        """Every change of category, in order of C."""
        model: Model = self._estimator._fitted  # noqa: SLF001
        found = []
        for trail, machine in zip(self._trails, model.machines, strict=True):
            ids, pair = model.examples.ids[machine.task.index], model.labels(machine)
            places, rows, before, after = trail.turns
            found += [
                Event(C, name, CATEGORIES[old], CATEGORIES[new], pair)
                for C, name, old, new in zip(
                    places.tolist(), ids[rows].tolist(), before, after, strict=True
                )
            ]
        return tuple(sorted(found, key=lambda event: event.C))

    # -- the model at a C

    def model_at(self, C: float) -> Model:
        """The model that a fit with this C gives; no kernel value is computed.

        Parameters
        ----------
        C : float
            A value on the path.

        Returns
        -------
        Model
            Machines with their coefficients, bias and bounds.
        """
        if np.ndim(C):
            raise ValueError(f"C: {C!r}; wanted a number")
        C = float(self._on_path(C)[0])
        model: Model = self._estimator._fitted  # noqa: SLF001
        bounds = costs(C, model.examples.weight, model.examples.codes, model.class_weight)
        machines = []
        for trail, machine in zip(self._trails, model.machines, strict=True):
            theta, bias = trail.at(C)
            task = replace(machine.task, bounds=bounds[machine.task.index])
            own = np.clip(theta, -task.bounds, task.bounds)
            machines.append(Machine(task, own, bias, 0, finished=True, kernel_evaluations=0))
        return replace(model, machines=tuple(machines), work=Work(0))

    def certificate(self, C: float) -> Certificate | MemberCertificates:
        """Measure how far the model at a C is from the optimum, from the data alone.

        Parameters
        ----------
        C : float
            A value on the path.

        Returns
        -------
        Certificate or MemberCertificates
            As the classifier's own.
        """
        return certified(self.model_at(C))

    def leave_one_out(self, C: Any, values: bool = False) -> HeldOut | list[HeldOut]:  # noqa: FBT001, FBT002
        """Say of each row what the model at a C would have said had it not seen it.

        Parameters
        ----------
        C : float or array-like of shape (n_C,)
            Values on the path.
        values : bool, default=False
            Whether to give the decision values too.

        Returns
        -------
        HeldOut or list of HeldOut
            As the classifier's own ``leave_one_out``; a list of them for many values of C.
        """
        answers = []
        for place in self._on_path(C).tolist():
            twin = self._estimator.copy().set_params(C=place)
            twin._model = self.model_at(place)  # noqa: SLF001
            answers.append(twin.leave_one_out(values))
        return answers[0] if np.ndim(C) == 0 else answers

    # -- what is decided

    def decision_function(self, X: Any, C: Any) -> Array:
        """Decision values of rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows to decide on.
        C : float or array-like of shape (n_C,)
            Values on the path.

        Returns
        -------
        ndarray of shape (n_samples, ...) or (n_samples, ..., n_C)
            As the classifier's own; for many values of C, one more axis.
        """
        classes, shape = len(self._classes), self._estimator.decision_function_shape
        values = self._values(X, C)
        result = [arranged(values[:, :, j], classes, shape) for j in range(values.shape[2])]
        return _stacked(result, C)

    def predict(self, X: Any, C: Any) -> Array:
        """Labels of rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows to decide on.
        C : float or array-like of shape (n_C,)
            Values on the path.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_C)
            A label for each row, or for each row and each C.
        """
        classes, estimator = self._classes, self._estimator
        shape, ties = estimator.decision_function_shape, estimator.break_ties
        values = self._values(X, C)
        result = [
            classes[decided(values[:, :, j], len(classes), shape, break_ties=ties)]
            for j in range(values.shape[2])
        ]
        return _stacked(result, C)

    @property
    def _classes(self) -> Array:
        return self._estimator.classes_

    def _values(self, X: Any, C: Any) -> Array:
        """Decision values by row, machine and C."""
        model, places = self._estimator._fitted, self._on_path(C)  # noqa: SLF001
        pairwise = is_pairwise(model.kernel)
        queries = checked_queries(self._estimator, X, pairwise=pairwise)
        values = np.empty((queries.shape[0], len(self._trails), len(places)))
        order = np.argsort(places, kind="stable")
        for k, (trail, machine) in enumerate(zip(self._trails, model.machines, strict=True)):
            for i in range(0, len(places), _AT_ONCE):
                some = order[i : i + _AT_ONCE]
                values[:, k, some] = _values_of(
                    model, trail, machine.task.index, places[some], queries
                )
        return values

    def _on_path(self, C: Any) -> Array:
        """Values of C as an array; each of them is on the path."""
        try:
            places = np.atleast_1d(np.asarray(C, dtype=np.float64))
        except (TypeError, ValueError):
            places = np.empty(0)
        endless = all(trail.is_endless for trail in self._trails)
        top = np.inf if endless else self.C[-1]
        listed = places.ndim == 1 and len(places) > 0
        if not (listed and ((self.C[0] <= places) & (places <= top)).all()):
            raise ValueError(
                f"C: {C!r}; wanted a number, or a list of them, from {self.C[0]:g} to {top:g}"
            )
        return places


def _values_of(model: Model, trail: Trail, index: Array, places: Array, queries: Any) -> Array:
    """One machine's decision values, a column for each C in ascending order."""
    weights, bias = np.zeros((len(model.examples), len(places))), np.empty(len(places))
    for j, (theta, b, _) in enumerate(trail.walk(places)):
        weights[index, j], bias[j] = theta, b
    support = np.flatnonzero(weights.any(axis=1))
    made = predictor_of(model.kernel, model.examples.rows, support, weights[support], bias)
    return made.values(queries)


def _stacked(columns: Sequence[Array], C: Any) -> Array:
    """One more axis for many values of C; the only column for a single one."""
    return columns[0] if np.ndim(C) == 0 else np.stack(columns, axis=-1)
