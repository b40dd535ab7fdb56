"""Answers to questions: what a model would be after a change, and what a row is to it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from adiabat.estimators.changes import CATEGORIES, Change, categories
from adiabat.estimators.edits import positions_of
from adiabat.estimators.ids import listed_ids
from adiabat.estimators.kernel_choice import is_pairwise
from adiabat.estimators.machines import Machine
from adiabat.estimators.members import MemberCertificates
from adiabat.estimators.model import Model

if TYPE_CHECKING:
    from adiabat.certificate import Certificate

Array = NDArray[Any]


@dataclass(frozen=True, eq=False)
class Prospect:
    """The model that a change would give.

    Attributes
    ----------
    model : estimator
        An independent classifier in the state after the change; unfitted if no row is left.
    change : Change
        What the change does, as ``last_change_`` would tell it.

    Examples
    --------
    >>> from adiabat import SVC
    >>> model = SVC(kernel="linear").fit([[0.0], [1.0], [2.0]], ["a", "b", "b"])
    >>> prospect = model.what_if(unlearn=1)
    >>> prospect.decision_function([[1.0]])
    array([0.])
    >>> model.decision_function([[1.0]])
    array([1.])
    """

    model: Any
    change: Change

    @property
    def certificate(self) -> Certificate | MemberCertificates | None:
        """The proof of that model; None if no row is left."""
        return self.change.certificate

    @property
    def flow(self) -> Mapping[tuple[str, str], int]:
        """How many rows would go from one category to another."""
        return self.change.flow

    def decision_function(self, X: Any) -> Array:
        """Decision values of that model.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows to decide on.

        Returns
        -------
        ndarray
            As the classifier's own.
        """
        return self.model.decision_function(X)

    def predict(self, X: Any) -> Array:
        """Labels by that model.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows to decide on.

        Returns
        -------
        ndarray of shape (n_samples,)
            A label for each row.
        """
        return self.model.predict(X)


@dataclass(frozen=True, eq=False)
class Explanation:
    """What a row is to a machine, and what the machine makes of it.

    Attributes
    ----------
    id : int or str
        The row's id.
    label : object
        Its label.
    category : str
        "margin", "error" or "reserve".
    coefficient : float
        Its own multiplier, alpha.
    decision_value : float
        f(x), positive where the machine decides for its first label.
    slack : float
        By how much y f(x) falls short of 1.
    leave_one_out_value : float or None
        f(x) by the model that never saw the row; None if that has no machine for these labels,
        because the row is the last one of its class that counts.
    bias : float
        b, the part of f(x) that no row is answerable for.
    for_it, against_it : list of tuple
        Ids of rows and their terms alpha_j y_j K(x_i, x_j) in f(x), the weightiest first: those
        that speak for the row's label, and those that speak against it.

    Examples
    --------
    >>> from adiabat import SVC
    >>> model = SVC(kernel="linear").fit([[-1.0], [1.0], [2.0]], ["a", "b", "b"])
    >>> answer = model.explain(1)
    >>> answer.category, answer.slack
    ('margin', 0.0)
    >>> answer.for_it
    [(0, 0.5), (1, 0.5)]
    """

    id: int | str
    label: Any
    category: str
    coefficient: float
    decision_value: float
    slack: float
    leave_one_out_value: float | None
    bias: float
    for_it: list[tuple[Any, float]]
    against_it: list[tuple[Any, float]]


def tried(twin: Any, asked: Mapping[str, Any]) -> Any:
    """A twin after the only one of some changes that somebody has asked for."""
    named = {verb: words for verb, words in asked.items() if words is not None}
    if len(named) != 1:
        raise ValueError(
            f"what_if: {', '.join(named) or 'nothing'} given; wanted one of {', '.join(asked)}"
        )
    ((verb, words),) = named.items()
    if verb != "adapt":
        return getattr(twin, verb)(*((words,) if verb == "unlearn" else words))
    if not isinstance(words, Mapping):
        raise TypeError(f"what_if: adapt={words!r}; wanted settings by name, as in {{'C': 2.0}}")
    return twin.adapt(**words)


def explained(estimator: Any, name: Any, most: int) -> Any:
    """The explanation of a row; for more than two classes a dict of them by pair of labels."""
    model: Model = estimator._fitted  # noqa: SLF001
    positions = positions_of(model.examples, listed_ids(name))
    if len(positions) != 1:
        raise ValueError(f"id: {len(positions)} ids; wanted one")
    position = int(positions[0])
    left_out = _left_out_values(model, position, estimator)
    answers = {
        model.labels(machine): _explanation(model, machine, position, left_out, most)
        for machine in model.machines
        if (machine.task.index == position).any()
    }
    return answers if len(model.machines) > 1 else next(iter(answers.values()))


def _left_out_values(model: Model, position: int, estimator: Any) -> dict[tuple[Any, Any], float]:
    """What the machines of the model without a row say of it, by pair of labels."""
    if not np.delete(model.examples.weight, position).any():  # nobody else counts
        return {}
    twin = estimator.what_if(unlearn=model.examples.ids[position]).model
    other: Model = twin._fitted  # noqa: SLF001
    values = model.examples.rows.take([position]).values
    if is_pairwise(model.kernel):
        values = np.delete(values, position, axis=1)
    said = other.predictor.values(values)[0]
    return dict(zip(map(other.labels, other.machines), map(float, said), strict=True))


def _explanation(
    model: Model,
    machine: Machine,
    position: int,
    left_out: dict[tuple[Any, Any], float],
    most: int,
) -> Explanation:
    examples = model.examples
    at = int(np.flatnonzero(machine.task.index == position)[0])
    y = float(machine.task.y[at])
    support, terms = _terms(model, machine, position)
    value = float(terms.sum() + machine.bias)
    names = examples.ids[support].tolist()
    order = np.argsort(-np.abs(terms), kind="stable")
    weighed = [(names[j], float(terms[j])) for j in order if terms[j]]
    return Explanation(
        id=examples.ids[[position]].tolist()[0],
        label=examples.labels[[position]].tolist()[0],
        category=CATEGORIES[categories(model, machine)[position]],
        coefficient=float(abs(machine.theta[at])),
        decision_value=value,
        slack=max(0.0, 1.0 - y * value),
        leave_one_out_value=left_out.get(model.labels(machine)),
        bias=machine.bias,
        for_it=[(name, term) for name, term in weighed if y * term > 0][:most],
        against_it=[(name, term) for name, term in weighed if y * term < 0][:most],
    )


def _terms(model: Model, machine: Machine, position: int) -> tuple[Array, Array]:
    """Rows with a coefficient, and what each of them adds to the decision value of a row."""
    inner = np.flatnonzero(machine.theta)
    support = machine.task.index[inner]
    rows = model.examples.rows
    if is_pairwise(model.kernel):
        values = rows.values[position, support]
    else:
        one = model.kernel.prepare(rows.take([position]), np.float64)
        values = model.kernel.block(one, model.kernel.prepare(rows.take(support), np.float64))[0]
    return support, machine.theta[inner] * values
