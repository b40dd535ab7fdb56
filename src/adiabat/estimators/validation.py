"""What comes in: rows, labels, weights and ids, looked at once."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import check_array, check_X_y
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _num_samples, column_or_1d, validate_data

from adiabat.estimators.ids import named
from adiabat.kernels import ASYMMETRY, Rows, rows_of

Array = NDArray[Any]


@dataclass(frozen=True, eq=False)
class Examples:
    """The rows that a model holds, and what is known about each of them.

    Attributes
    ----------
    rows : Rows
        The features, or lines of a kernel matrix.
    codes : ndarray
        Position of each row's label in ``classes``; -1 where no row of the class counts.
    classes : ndarray
        The labels of the rows that count, sorted.
    weight : ndarray
        Sample weights; a row of weight 0 is held and does not count.
    ids : ndarray
        The rows' names.
    labels : ndarray
        The rows' labels.
    groups : ndarray or None
        What each row belongs to, None where nobody said.
    next_id : int
        The least counting number that was never an id.
    """

    rows: Rows
    codes: Array
    classes: Array
    weight: Array
    ids: Array
    labels: Array
    groups: Array | None
    next_id: int

    def __len__(self) -> int:
        return len(self.weight)


@dataclass(frozen=True)
class Names:
    """What a user calls rows: ids, and groups that several of them belong to."""

    ids: Any = None
    groups: Any = None


def checked_examples(
    estimator: Any,
    X: Any,
    y: Any,
    sample_weight: Any,
    names: Names,
    *,
    pairwise: bool,
    held: Examples | None = None,
    next_id: int = 0,
) -> Examples:
    """The examples of a fit; the features' number and names are noted on the estimator.

    Where rows are ``held`` the features have to be theirs. Ids count on from theirs, or from
    ``next_id``.
    """
    values, y = _checked_rows(estimator, X, y, pairwise=pairwise, held=held)
    weight = checked_weight(sample_weight, len(y), alone=held is None)
    # rows that join others are counted with them
    classes, codes = counted_classes(y, weight) if held is None else (held.classes, y[:0])
    ids, next_id = named(names.ids, X, len(y), held.next_id if held is not None else next_id)
    rows = rows_among(values, held) if not pairwise else Rows(values)
    if pairwise and held is None:
        rows = Rows(symmetric(values))
    groups = None if names.groups is None else checked_groups(names.groups, len(y))
    return Examples(rows, codes, classes, weight, ids, y, groups, next_id)


def _checked_rows(
    estimator: Any, X: Any, y: Any, *, pairwise: bool, held: Examples | None
) -> tuple[Any, Array]:
    """Features and labels as arrays of their own; plain ones need no more than a look."""
    if held is not None and not pairwise and is_plain(estimator, X):
        labels = np.array(y)
        if is_known(labels, X, held):
            return X.copy(order="C"), labels
    if held is not None and pairwise:  # the lines get longer with every row that is held
        values, y = check_X_y(X, y, dtype=np.float64, order="C", copy=True, estimator=estimator)
    else:
        values, y = validate_data(
            estimator,
            X,
            y,
            reset=held is None,
            accept_sparse=False if pairwise else "csr",
            dtype=np.float64,
            order="C",
            copy=True,
        )
    check_classification_targets(y)
    return values, y


def is_plain(estimator: Any, X: Any) -> bool:
    """Whether X is an array that passes every check of scikit-learn's for rows without names."""
    return bool(
        type(X) is np.ndarray
        and X.dtype == np.float64
        and X.ndim == 2
        and len(X)
        and X.shape[1] == estimator.n_features_in_
        and not hasattr(estimator, "feature_names_in_")
        and np.isfinite(X).all()
    )


def is_known(labels: Any, X: Array, held: Examples) -> bool:
    """Whether labels are one for each row and of classes that are held."""
    if labels.shape != (len(X),) or labels.dtype.kind != held.labels.dtype.kind:
        return False
    return labels.dtype.kind in "biU" and set(labels.tolist()) <= set(held.classes.tolist())


def rows_among(values: Any, held: Examples | None) -> Rows:
    """Rows measured from the origin of those that are held, or from their own mean."""
    values = _canonical(values)
    return rows_of(values) if held is None else Rows(values, held.rows.origin)


def checked_groups(groups: Any, count: int) -> Array:
    """What each row belongs to, as Python's own objects."""
    listed = [groups] * count if np.ndim(groups) == 0 else list(groups)
    if len(listed) != count:
        raise ValueError(
            f"groups: {len(listed)} for {count} rows of X; wanted one group for each row"
        )
    array = np.empty(count, dtype=object)
    array[:] = [_plain_group(group) for group in listed]
    return array


def _plain_group(group: Any) -> Any:
    """A group as Python's own number or string; None, or NaN in a column of numbers, is none."""
    value = group.item() if isinstance(group, np.generic | np.ndarray) else group
    if value is None:
        return None
    if not isinstance(value, Real | str):
        raise TypeError(f"groups: {group!r} is a {type(group).__name__}; wanted numbers or strings")
    return value if value == value else None  # noqa: PLR0124


def checked_queries(estimator: Any, X: Any, *, pairwise: bool) -> Any:
    """Rows to decide on, with the features of those that were learned."""
    return validate_data(
        estimator,
        X,
        accept_sparse=False if pairwise else "csr",
        dtype=np.float64,
        order="C",
        reset=False,
    )


def checked_newcomers(X: Any, y: Any, sample_weight: Any, names: Names, held: Examples) -> Examples:
    """Examples that join those that are held, and whose features are still to be made from X."""
    count = _num_samples(X)
    _, labels = check_X_y(np.zeros((count, 1)), y)
    check_classification_targets(labels)
    weight = checked_weight(sample_weight, count, alone=False)
    ids, next_id = named(names.ids, X, count, held.next_id)
    groups = None if names.groups is None else checked_groups(names.groups, count)
    rows = Rows(np.empty((count, 0)))
    return Examples(rows, labels[:0], held.classes, weight, ids, labels, groups, next_id)


def checked_features(estimator: Any, X: Any) -> Any:
    """Features of all rows, made anew; their number and names are noted on the estimator."""
    return _canonical(
        validate_data(
            estimator, X, accept_sparse="csr", dtype=np.float64, order="C", copy=True, reset=True
        )
    )


def checked_values(estimator: Any, X: Any, count: int, held: Examples, *, pairwise: bool) -> Any:
    """Other features for ``count`` of the rows that are held, or their lines of a matrix."""
    if not count and not np.shape(X)[0]:
        values = held.rows.values[:0]
    elif not pairwise and is_plain(estimator, X):
        values = X.copy(order="C")
    elif pairwise:
        values = check_array(X, dtype=np.float64, order="C", copy=True, input_name="X")
    else:
        values = _canonical(
            validate_data(
                estimator,
                X,
                reset=False,
                accept_sparse="csr",
                dtype=np.float64,
                order="C",
                copy=True,
            )
        )
    width = len(held) if pairwise else values.shape[1]
    if values.shape != (count, width):
        raise ValueError(
            f"X: shape {values.shape} for {count} ids; wanted {(count, width)}, a row for each id"
        )
    return values


def checked_labels(y: Any, count: int, held: Examples) -> Array:
    """Labels, one for each of ``count`` ids or one for all of them."""
    labels = np.asarray(y) if np.size(y) or count else held.labels[:0]
    if labels.ndim == 0:
        labels = np.full(count, labels)
    labels = column_or_1d(labels, input_name="y")
    if labels.shape != (count,):
        raise ValueError(f"y: {len(labels)} labels for {count} ids; wanted one label for each id")
    check_classification_targets(labels)
    return alike(held.labels, labels)


def require_among(y: Any, classes: Any) -> None:
    """Raise where a label is none of those that somebody said would come."""
    if classes is None:
        return
    unknown = sorted({repr(label) for label in np.ravel(y)} - {repr(c) for c in np.ravel(classes)})
    if unknown:
        raise ValueError(f"y: {', '.join(unknown[:5])} not in classes; wanted labels among them")


def alike(held: Array, labels: Array) -> Array:
    """Labels of the kind that is held: numbers and strings are never taken for each other."""
    text = {array.dtype.kind in "US" for array in (held, labels) if array.dtype.kind != "O"}
    if len(text) > 1:
        raise ValueError(
            f"y: labels of type {labels.dtype} beside the {held.dtype} that is held; wanted "
            "labels of one kind"
        )
    return labels


def checked_weight(sample_weight: Any, count: int, *, alone: bool = True) -> Array:
    """Sample weights as an array of their own; None is 1 for each row.

    Rows that stand ``alone`` need one among them that counts.
    """
    if isinstance(sample_weight, Real):
        sample_weight = np.full(count, sample_weight)
    if sample_weight is None or (not count and not np.size(sample_weight)):
        return np.ones(count)
    weight = check_array(
        sample_weight, ensure_2d=False, dtype=np.float64, copy=True, input_name="sample_weight"
    )
    if weight.shape != (count,):
        raise ValueError(
            f"sample_weight: shape {weight.shape} for {count} rows; wanted one weight for each row"
        )
    if weight.min() < 0:
        raise ValueError(f"sample_weight: {weight.min()} is among them; wanted no negative weight")
    if alone and weight.max() == 0:
        raise ValueError("sample_weight: all weights are zero; wanted a positive one at least")
    return weight


def counted_classes(y: Array, weight: Array) -> tuple[Array, Array]:
    """The classes that have weight, and the position of each row's label among them."""
    classes, codes = np.unique(y, return_inverse=True)
    counts = np.zeros(len(classes), dtype=bool)
    counts[codes[weight > 0]] = True
    position = np.where(counts, np.cumsum(counts) - 1, -1)
    return classes[counts], position[codes]


def codes_of(labels: Array, classes: Array) -> Array:
    """The position of each label among the classes; -1 where it is none of them."""
    at = np.minimum(np.searchsorted(classes, labels), len(classes) - 1)
    return np.where(classes[at] == labels, at, -1)


def require_weighed(class_weight: Any, classes: Array) -> None:
    """Raise where weights are for other classes than those that there are, as a slip would be."""
    named = set(class_weight) if isinstance(class_weight, dict) else set()
    strange, forgotten = named - set(classes.tolist()), set(classes.tolist()) - named
    if strange and forgotten:
        raise ValueError(
            f"class_weight: {min(strange, key=repr)!r} is no class of y, and classes "
            f"{sorted(forgotten, key=repr)} are not in class_weight; wanted classes of y"
        )


def is_balanced(class_weight: Any) -> bool:
    """Whether class weights go by the rows."""
    return isinstance(class_weight, str)


def class_weights(class_weight: Any, examples: Examples) -> Array:
    """The weight of each class; "balanced" counts a row of weight 2 as two rows.

    Classes that nobody speaks of weigh 1; those spoken of may be gone, or still to come.
    """
    if class_weight is None:
        return np.ones(len(examples.classes))
    counts = examples.weight > 0
    if not is_balanced(class_weight):
        class_weight = {**dict.fromkeys(examples.classes.tolist(), 1.0), **class_weight}
    weights = compute_class_weight(
        class_weight,
        classes=examples.classes,
        y=examples.classes[examples.codes[counts]],
        sample_weight=examples.weight[counts],
    )
    for label, value in zip(examples.classes.tolist(), weights, strict=True):
        if not 0 < value < np.inf:
            raise ValueError(
                f"class_weight: {value} for class {label!r}; wanted a positive finite number "
                "(sample_weight=0 takes rows out of account)"
            )
    return np.asarray(weights, dtype=np.float64)


def _canonical(values: Any) -> Any:
    """One kind of sparse matrix, its entries in order and each of them once."""
    if not sparse.issparse(values):
        return values
    values = sparse.csr_matrix(values)
    values.sum_duplicates()
    return values


def symmetric(matrix: Array) -> Array:
    """A given kernel matrix, freed of the asymmetry that rounding leaves."""
    if matrix.shape[0] != matrix.shape[1]:
        raise ValueError(
            f"X: shape {matrix.shape} for a precomputed kernel; wanted a square matrix of the "
            "kernel values between the rows"
        )
    asymmetry, largest = np.abs(matrix - matrix.T).max(), np.abs(matrix).max()
    if asymmetry > ASYMMETRY * largest:
        raise ValueError(
            f"X: the precomputed kernel matrix differs from its transpose by {asymmetry:.3g} with "
            f"entries up to {largest:.3g}; wanted a symmetric matrix"
        )
    return 0.5 * (matrix + matrix.T) if asymmetry > 0 else matrix
