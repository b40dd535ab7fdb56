"""A classifier as plain values: what has to be kept of it so that it can be made again."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from adiabat.estimators.editing import PASSING, PAST
from adiabat.estimators.model import Model
from adiabat.estimators.svc import SVC
from adiabat.estimators.writing import writing

Array = NDArray[Any]

#: What is learned about the features, beside the model.
_NOTED = ("n_features_in_", "feature_names_in_")


@dataclass(frozen=True, eq=False)
class State:
    """All that a classifier is.

    Attributes
    ----------
    settings : dict
        The constructor's parameters.
    model : Model or None
        What it has learned; None where no row is held.
    next_id : int
        The least counting number that was never an id.
    features : int or None
        How many features the rows have, or had.
    names : ndarray or None
        Their names.
    """

    settings: dict[str, Any]
    model: Model | None
    next_id: int
    features: int | None
    names: Array | None


def state_of(classifier: Any) -> State:
    """What a classifier is, without what it did last."""
    held = vars(classifier).copy()
    settings = classifier.get_params(deep=False)
    strange = held.keys() - settings.keys() - {*PASSING, *PAST, *_NOTED}
    if strange:
        raise ValueError(
            f"{type(classifier).__name__} has the attribute {min(strange)!r}, which is none of "
            "its own; wanted parameters and what was learned"
        )
    model, features, names = (held.get(name) for name in ("_model", *_NOTED))
    next_id = held.get("_next_id", 0) if model is None else model.examples.next_id
    return State(settings, model, next_id, features, names)


def classifier_of(state: State) -> SVC:
    """The classifier that a state is of."""
    classifier: Any = SVC(**state.settings)
    learned = {
        "_model": state.model,
        "_next_id": state.next_id if state.model is None else None,
        **dict(zip(_NOTED, (state.features, state.names), strict=True)),
    }
    vars(classifier).update({name: value for name, value in learned.items() if value is not None})
    return classifier


@contextmanager
def at_rest(classifier: Any) -> Iterator[None]:
    """Keep a classifier from changing, and from then on without living machines.

    The next change makes them anew from the model alone, as it does in a twin made of the
    classifier's state: so both go the same way to the last bit. Where something goes wrong
    inside, they stay.
    """
    with writing(classifier):
        vars(classifier).pop("_upkeep", None)
        yield
