"""What comes in: rows, labels, weights and ids, looked at once."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import check_array
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

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
    groups : ndarray
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
    groups: Array
    next_id: int

    def __len__(self) -> int:
        return len(self.codes)


@dataclass(frozen=True)
class Names:
    """What a user calls rows: ids, and groups that several of them belong to."""

    ids: Any = None
    groups: Any = None


def become(estimator: Any, state: dict[str, Any]) -> None:
    """Give an estimator all its attributes anew, in one step that no other thread sees half of."""
    learned = vars(estimator).keys() - state.keys()
    vars(estimator).update(state)
    for name in learned:  # feature names, where there are none any more
        delattr(estimator, name)


def checked_examples(
    estimator: Any,
    X: Any,
    y: Any,
    sample_weight: Any,
    names: Names,
    *,
    pairwise: bool,
    held: Examples | None = None,
) -> Examples:
    """The examples of a fit; the features' number and names are noted on the estimator.

    Where rows are ``held`` the features have to be theirs, and ids count on from theirs.
    """
    values, y = validate_data(
        estimator,
        X,
        y,
        reset=held is None,
        skip_check_array=False,
        accept_sparse=False if pairwise else "csr",
        dtype=np.float64,
        order="C",
        copy=True,
    )
    check_classification_targets(y)
    weight = checked_weight(sample_weight, len(y), alone=held is None)
    classes, codes = counted_classes(y, weight)
    ids, next_id = named(names.ids, X, len(y), 0 if held is None else held.next_id)
    rows = rows_among(values, held) if not pairwise else Rows(values)
    if pairwise and held is None:
        rows = Rows(_symmetric(values))
    groups = checked_groups(names.groups, len(y))
    return Examples(rows, codes, classes, weight, ids, y, groups, next_id)


def rows_among(values: Any, held: Examples | None) -> Rows:
    """Rows measured from the origin of those that are held, or from their own mean."""
    values = _canonical(values)
    return rows_of(values) if held is None else Rows(values, held.rows.origin)


def checked_groups(groups: Any, count: int) -> Array:
    """What each row belongs to, as Python's own objects."""
    array = np.full(count, None, dtype=object)
    if groups is None:
        return array
    listed = [groups] * count if isinstance(groups, str | Real) else list(groups)
    if len(listed) != count:
        raise ValueError(
            f"groups: {len(listed)} for {count} rows of X; wanted one group for each row"
        )
    array[:] = [g.item() if isinstance(g, np.generic) else g for g in listed]
    return array


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


def checked_weight(sample_weight: Any, count: int, *, alone: bool = True) -> Array:
    """Sample weights as an array of their own; None is 1 for each row.

    Rows that stand ``alone`` need one among them that counts.
    """
    if sample_weight is None:
        return np.ones(count)
    if isinstance(sample_weight, Real):
        sample_weight = np.full(count, sample_weight)
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


def class_weights(class_weight: Any, examples: Examples) -> Array:
    """The weight of each class; "balanced" counts a row of weight 2 as two rows."""
    counts = examples.weight > 0
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


def _symmetric(matrix: Array) -> Array:
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
