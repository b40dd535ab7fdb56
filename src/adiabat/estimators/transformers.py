"""The steps before the last one: estimated on rows, and what they make of rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.utils import _safe_indexing, get_tags
from sklearn.utils._user_interface import _print_elapsed_time
from sklearn.utils.validation import check_memory, has_fit_parameter

Array = NDArray[Any]
Step = tuple[str, Any]


def is_idle(transformer: Any) -> bool:
    """Whether a step is there to let rows pass."""
    return transformer is None or isinstance(transformer, str)


def unfitted(steps: Sequence[Step]) -> list[Step]:
    """The same steps as if they had never seen a row."""
    return [(name, step if is_idle(step) else clone(step)) for name, step in steps]


def takes_weights(transformer: Any) -> bool:
    """Whether a step counts a row of weight 2 as two rows."""
    return not is_idle(transformer) and has_fit_parameter(transformer, "sample_weight")


def is_estimated(transformer: Any) -> bool:
    """Whether a step learns something from rows."""
    if is_idle(transformer) or isinstance(transformer, FrozenEstimator):
        return False
    return bool(get_tags(transformer).requires_fit)


def frozen(steps: Sequence[Step]) -> list[Step]:
    """The same steps such that no fit changes what they know."""
    return [(name, step if is_idle(step) else FrozenEstimator(step)) for name, step in steps]


def transformed(steps: Sequence[Step], X: Any) -> Any:
    """What fitted steps make of rows."""
    for _, step in steps:
        if not is_idle(step):
            X = step.transform(X)
    return X


def estimated(
    steps: Sequence[Step],
    X: Any,
    y: Any,
    params: Mapping[str, dict[str, Any]],
    *,
    memory: Any,
    log: Callable[[int], str | None],
) -> tuple[list[Step], Any]:
    """Steps fitted on rows, one after the other, and what they make of these rows."""
    fit_one = check_memory(memory).cache(_fitted_on)
    made: list[Step] = []
    for position, (name, step) in enumerate(steps):
        with _print_elapsed_time("Pipeline", log(position)):
            if is_idle(step):
                made.append((name, step))
                continue
            X, fitted = fit_one(clone(step), X, y, params.get(name, {}))
        made.append((name, fitted))
    return made, X


def estimated_where_counted(
    steps: Sequence[Step],
    X: Any,
    y: Any,
    weight: Array | None,
    params: Callable[[Array | None], Mapping[str, dict[str, Any]]],
    **how: Any,
) -> tuple[list[Step], Any]:
    """The same for weighted rows; of those of weight 0 nothing is learned.

    Parameters
    ----------
    steps, X, y : list, object, array-like
        As for ``estimated``.
    weight : ndarray or None
        Weights of the rows.
    params : callable
        What each step's fit gets beside rows of these weights.
    **how
        As for ``estimated``.

    Returns
    -------
    tuple of list and object
        Fitted steps, and what they make of all rows.
    """
    if weight is None or (weight == 1.0).all():
        return estimated(steps, X, y, params(None), **how)
    counts = np.flatnonzero(weight > 0)
    if len(counts) == len(weight):
        return estimated(steps, X, y, params(weight), **how)
    some, labels = _safe_indexing(X, counts), None if y is None else _safe_indexing(y, counts)
    made, _ = estimated(steps, some, labels, params(weight[counts]), **how)
    return made, transformed(made, X)


def _fitted_on(step: Any, X: Any, y: Any, params: dict[str, Any]) -> tuple[Any, Any]:
    if hasattr(step, "fit_transform"):
        return step.fit_transform(X, y, **params), step
    return step.fit(X, y, **params).transform(X), step
