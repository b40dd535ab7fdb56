"""Which column is what, and the rows, labels and ids that come of it."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse

from adiabat.cli.faults import InputError, listed
from adiabat.cli.table import (
    Table,
    all_numbers,
    id_of,
    is_missing,
    is_text,
    number_of,
    numbers,
    short,
    words,
)

Array = NDArray[Any]

#: More classes than this are taken for a column that holds something else.
_MOST_CLASSES = 100
#: From here on float64 does not know every whole number.
_LARGEST_LABEL = 2**53


@dataclass(frozen=True)
class Roles:
    """What the columns are to a model; kept with it, so that later files are read alike.

    Attributes
    ----------
    target : str or None
        The column of the labels.
    id : str or None
        The column of the ids; None where rows are counted.
    features : tuple of str or None
        The columns of the features; None where they have no names.
    categories : tuple of str
        Those of them that hold words.
    counts_from : int
        The index of the first feature, where a file has indices: 0 or 1.
    """

    target: str | None
    id: str | None
    features: tuple[str, ...] | None
    categories: tuple[str, ...] = ()
    counts_from: int = 1

    def as_text(self) -> str:
        """The roles as they go into a model's file."""
        return json.dumps(asdict(self), ensure_ascii=False)

    @staticmethod
    def of_text(words: str) -> Roles:
        """The roles that a model's file has."""
        said = json.loads(words)
        features = None if said["features"] is None else tuple(map(str, said["features"]))
        categories = tuple(map(str, said["categories"]))
        target, ids = (None if said[role] is None else str(said[role]) for role in ("target", "id"))
        first = said.get("counts_from", 1)
        if first not in (0, 1):
            raise ValueError(f"counts_from: {first!r}; wanted 0 or 1")
        return Roles(target, ids, features, categories, int(first))

    @property
    def measured(self) -> tuple[str, ...]:
        """The features that are numbers."""
        return tuple(name for name in self.features or () if name not in self.categories)


def assigned(
    table: Table,
    *,
    target: str | None,
    id: str | None,  # noqa: A002
    dropped: Collection[str],
    encode: bool,
    categories: Collection[str],
) -> Roles:
    """The roles of a table's columns as somebody asks for them, or a sentence."""
    target, id = target or table.target, id or table.id  # noqa: A001
    if target is None:
        raise InputError(
            f"--target: not given; wanted the column of {table.source} that holds the labels, one "
            f"of {listed(table.columns)}"
        )
    table.require(target, "--target")
    if target == id:
        raise InputError(f"--id: {id!r} is the target; wanted another column")
    if id is not None:
        table.require(id, "--id")
    for name in [*dropped, *categories]:
        table.require(name, "--drop" if name in dropped else "--category")
    if table.matrix is not None:
        first = 1 if table.counts_from is None else table.counts_from
        return Roles(target, id, None, counts_from=first)
    aside = {target, id, *dropped}
    features = tuple(name for name in table.columns if name not in aside)
    if not features:
        raise InputError(f"{table.source}: no column is left for features; wanted one at least")
    worded = _worded(table, features, categories)
    if worded and not (encode or categories):
        _refuse_words(table, worded[0])
    return Roles(target, id, features, tuple(worded))


def _worded(table: Table, features: Sequence[str], categories: Collection[str]) -> list[str]:
    """The features that hold words, or are said to: a column with a number in it is numbers."""
    return [
        name
        for name in features
        if name in categories
        or (
            is_text(table.columns[name])
            and all_numbers(table.columns[name]) is None
            and not any(
                number_of(cell) is not None and not is_missing(cell) for cell in table.columns[name]
            )
        )
    ]


def _refuse_words(table: Table, name: str) -> None:
    column = table.columns[name]
    row = next((row for row, cell in enumerate(column) if not is_missing(cell)), 0)
    raise InputError(
        f"{table.at(row, name)}: {short(column[row])} is text; wanted numbers, or --encode to "
        f"have each of its {len(set(column))} values made a column of 0 and 1, or --drop {name}"
    )


def features_of(table: Table, roles: Roles, width: int) -> Any:
    """The features as a model takes them: a frame, or a matrix without names.

    Parameters
    ----------
    table : Table
        Where they are.
    roles : Roles
        What the columns are.
    width : int
        How many features a matrix without names has to have; 0 where nobody knows yet.

    Returns
    -------
    frame, ndarray or sparse matrix
        A line for each row.
    """
    if roles.features is None:
        return _matrix(table, roles.counts_from, width)
    if table.matrix is not None:
        raise InputError(
            f"{table.source}: its features have no names; wanted columns {listed(roles.features)}"
        )
    for name in roles.features:
        table.require(name, "a feature of the model")
    columns = {
        name: (words if name in roles.categories else numbers)(table, name)
        for name in roles.features
    }
    return pd.DataFrame(columns, index=np.full(len(table), np.nan))  # names nobody by itself


def _matrix(table: Table, counts_from: int, width: int) -> Any:
    if table.matrix is None:
        raise InputError(
            f"{table.source}: the model's features have no names, and these columns have; wanted "
            ".npz or svmlight"
        )
    matrix = _counted(table, counts_from)
    if not width or matrix.shape[1] == width:
        return matrix
    if sparse.issparse(matrix) and matrix.shape[1] < width:  # the last ones are all zero
        matrix.resize(matrix.shape[0], width)
        return matrix
    raise InputError(
        f"{table.source}: rows of {matrix.shape[1]} features; wanted {width}, as many as the "
        "model's have"
    )


def _counted(table: Table, counts_from: int) -> Any:
    """The features of a table, whose indices count from where the model's do."""
    matrix, first = table.matrix, table.counts_from
    if first is None or first == counts_from:
        return matrix
    if first == 1:  # no row has anything at index 0
        return sparse.hstack([sparse.csr_matrix((len(table), 1)), matrix], format="csr")
    row = int(np.searchsorted(matrix.indptr, np.flatnonzero(matrix.indices == 0)[0], "right")) - 1
    raise InputError(
        f"{table.source}, {table.unit} {table.places[row]}: index 0; wanted indices that count "
        "from 1, as the model's do"
    )


def ids_of(table: Table, roles: Roles) -> list[Any] | None:
    """The ids of the rows; None where they are to be counted."""
    if roles.id is None:
        return None
    seen: dict[Any, int] = {}
    for row, cell in enumerate(table.require(roles.id, "the ids").tolist()):
        if is_missing(cell):
            raise InputError(f"{table.at(row, roles.id)}: no id there; wanted one for each row")
        name = id_of(cell)
        if name in seen:
            raise InputError(
                f"{table.at(row, roles.id)}: id {name!r} stands in {table.unit} "
                f"{table.places[seen[name]]} too; wanted each id once"
            )
        seen[name] = row
    return list(seen)


def labels_of(table: Table, roles: Roles, classes: Array | None = None) -> Array:
    """The labels: whole numbers where all of them are, otherwise words.

    Parameters
    ----------
    table : Table
        Where they are.
    roles : Roles
        What the columns are.
    classes : ndarray, optional
        The labels that the model knows; theirs are of the same kind.

    Returns
    -------
    ndarray
        A label for each row.
    """
    name = roles.target or ""
    column = table.require(name, "the labels")
    if classes is not None and classes.dtype.kind not in "iuf":
        return _texts(words(table, name))
    found = all_numbers(column)
    if found is None and classes is None:
        labels = _texts(words(table, name))
    else:
        labels = _whole(table, name)
    if classes is None:
        _check_classes(table, name, labels)
    return labels


def _texts(column: Array) -> Array:
    return np.array([str(cell) for cell in column])


def _whole(table: Table, name: str) -> Array:
    """Labels that are numbers: whole ones, for others are measured and not told."""
    found = numbers(table, name)
    broken = np.flatnonzero(found != np.rint(found))
    if len(broken):
        raise InputError(
            f"{table.at(int(broken[0]), name)}: {found[broken[0]]} is a label with a fraction; "
            "wanted classes, as words or whole numbers"
        )
    large = np.flatnonzero(np.abs(found) > _LARGEST_LABEL)
    if len(large):
        raise InputError(
            f"{table.at(int(large[0]), name)}: {found[large[0]]:.0f} is more than a number can "
            "tell apart from its neighbours; wanted classes, as words or smaller numbers"
        )
    return found.astype(np.int64)


def _check_classes(table: Table, name: str, labels: Array) -> None:
    classes = np.unique(labels)
    if len(classes) == 1:
        raise InputError(
            f"{table.source}, column {name!r}: one class only, {classes[0].item()!r}; wanted two "
            "at least"
        )
    if len(classes) > _MOST_CLASSES:
        raise InputError(
            f"{table.source}, column {name!r}: {len(classes):,} different labels in "
            f"{len(labels):,} rows; wanted {_MOST_CLASSES} classes at most"
        )


def label_of(text: str, classes: Array) -> Any:
    """A label that somebody writes, of the kind that the model knows."""
    if classes.dtype.kind not in "iuf":
        return text
    value = number_of(text)
    if value is None or value != np.rint(value):
        raise InputError(
            f"--to: {text!r}; wanted a whole number, as the model's labels "
            f"{listed(classes.tolist())} are"
        )
    return int(value)
