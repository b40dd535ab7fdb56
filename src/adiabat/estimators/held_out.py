"""What a model says of rows that it has not seen: the answer of leave-one-out and its kin."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import check_scoring

from adiabat.errors import AdiabatError

Array = NDArray[Any]


class ValuesWantedError(AdiabatError, ValueError):
    """A scorer judges decision values, and only predictions were asked for."""


@dataclass(frozen=True)
class ClassErrors:
    """How the rows of one class were told.

    Attributes
    ----------
    rows : int
        Rows of the class.
    errors : int
        How many of them were given another label.
    error_rate : float
        Their part, by weight.

    Examples
    --------
    >>> from adiabat import SVC
    >>> model = SVC(kernel="linear").fit([[0.0], [1.0], [5.0]], ["a", "a", "b"])
    >>> model.leave_one_out().per_class["b"]
    ClassErrors(rows=1, errors=1, error_rate=1.0)
    """

    rows: int
    errors: int
    error_rate: float


@dataclass(frozen=True, eq=False, repr=False)
class HeldOut:
    """What a model would say of each of its rows had it not seen it, or its fold.

    Only rows that count are here: those with a weight.

    Attributes
    ----------
    ids : ndarray of shape (n_rows,)
        The rows.
    labels : ndarray of shape (n_rows,)
        Their labels.
    predictions : ndarray of shape (n_rows,)
        What they would be told. The last row of a class is told to be of another one.
    decision_function : ndarray or None
        Exact decision values, in the shape of the classifier's own; None where only predictions
        were asked for. A pair of which one class is gone speaks for the other with 1.
    weight : ndarray of shape (n_rows,)
        The rows' weights.
    classes : ndarray
        All labels, sorted.
    kkt_violation : float
        The largest violation of an optimality condition in any of the optima behind the answers
        that were reached through the tableau, measured with kernel values of their own; more than
        1e-9 is not accepted there.
    perturbations, kernel_evaluations : int
        What it took.
    solved : int
        Optima that were solved for instead of being reached along a path.
    seconds : float
        The time it took.

    Examples
    --------
    >>> from adiabat import SVC
    >>> X, y = [[0.0], [1.0], [2.0], [6.0], [7.0], [8.0]], ["a", "a", "a", "b", "b", "b"]
    >>> answer = SVC(kernel="linear", C=10.0).fit(X, y).leave_one_out(values=True)
    >>> answer.predictions
    array(['a', 'a', 'a', 'b', 'b', 'b'], dtype='<U1')
    >>> answer.error_rate
    0.0
    >>> answer.decision_function.round(3)
    array([-2. , -1.5, -0.6,  0.6,  1.5,  2. ])
    """

    ids: Array
    labels: Array
    predictions: Array
    decision_function: Array | None
    weight: Array
    classes: Array
    kkt_violation: float
    perturbations: int
    kernel_evaluations: int
    solved: int
    seconds: float

    @cached_property
    def errors(self) -> Array:
        """Which rows are told wrong, as an array of booleans beside ``ids``."""
        return np.asarray(self.predictions != self.labels)

    @property
    def error_rate(self) -> float:
        """The part of the rows that are told wrong, by weight."""
        return float(np.average(self.errors, weights=self.weight))

    @property
    def per_class(self) -> dict[Any, ClassErrors]:
        """The same for the rows of each class."""
        return {label: self._of_class(label) for label in self.classes.tolist()}

    def _of_class(self, label: Any) -> ClassErrors:
        own = self.labels == label
        wrong = self.errors[own]
        rate = float(np.average(wrong, weights=self.weight[own]))
        return ClassErrors(int(own.sum()), int(wrong.sum()), rate)

    def score(self, scoring: str | Callable[..., float] | None = None) -> float:
        """How good the answers are in somebody else's eyes.

        Parameters
        ----------
        scoring : str, callable or None, default=None
            A scorer of scikit-learn's or its name; None for accuracy. Those that judge decision
            values need ``values=True``.

        Returns
        -------
        float
            The score; rows count by their weights where these differ.
        """
        told = _Told(self)
        scorer = check_scoring(told, scoring)
        weight = {} if (self.weight == 1.0).all() else {"sample_weight": self.weight}
        return float(scorer(told, np.arange(len(self.ids))[:, None], self.labels, **weight))

    def __repr__(self) -> str:
        return f"HeldOut({len(self.ids)} rows, {self.errors.sum()} errors)"

    def __str__(self) -> str:
        lines = [f"{'class':<16}{'rows':>8}{'errors':>8}{'error rate':>12}"]
        table = {**{str(label): row for label, row in self.per_class.items()}, "all": self._all()}
        for name, row in table.items():
            lines.append(f"{name:<16}{row.rows:>8}{row.errors:>8}{row.error_rate:>12.2%}")
        return "\n".join(lines)

    def _all(self) -> ClassErrors:
        return ClassErrors(len(self.ids), int(self.errors.sum()), self.error_rate)


class _Told(ClassifierMixin, BaseEstimator):
    """A classifier, to a scorer's eyes, that has the answers; its rows are their numbers."""

    def __init__(self, answers: HeldOut) -> None:
        self.answers = answers
        self.classes_ = answers.classes

    def fit(self, X: Any, y: Any) -> _Told:
        """There is nothing left to learn."""
        return self

    def predict(self, X: Array) -> Array:
        """The labels that the rows were told."""
        return self.answers.predictions[X[:, 0]]

    def decision_function(self, X: Array) -> Array:
        """Their decision values."""
        values = self.answers.decision_function
        if values is None:
            raise ValuesWantedError(
                "scoring: it judges decision values, and only predictions were asked for; "
                "wanted values=True"
            )
        return values[X[:, 0]]
