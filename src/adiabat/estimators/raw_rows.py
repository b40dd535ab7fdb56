"""Rows as they came, before any transformer: kept so that transformers can be estimated anew.

Everything is kept in numpy's arrays of its own, a frame's columns one by one, so that rows that
are taken away leave nothing behind: no buffer that is shared with others, no list of categories.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from adiabat.growing_gram import require_memory

Array = NDArray[Any]


class RawRows(Protocol):
    """Rows as they came; a value."""

    def __len__(self) -> int: ...

    @property
    def size(self) -> int:
        """How many numbers, or references, are kept."""

    def table(self) -> Any:
        """The rows in the form in which they came."""

    def joined(self, other: Any) -> RawRows:
        """These rows and others of their kind behind them."""

    def taken(self, index: Array) -> RawRows:
        """Some of the rows."""


def raw_rows(X: Any) -> RawRows:
    """Rows as arrays of their own; what X is made of is not shared."""
    if sparse.issparse(X):
        return SparseRows(X.tocsr(copy=True))
    if hasattr(X, "iloc"):
        return _frame(X, PandasFrames(X.columns.copy()))
    if hasattr(X, "get_columns"):
        return _frame(X, PolarsFrames(tuple(X.columns)))
    return ArrayRows(_array_of(X))


def taken(rows: RawRows, other: RawRows | None, index: Array) -> RawRows:
    """Some of two sets of rows, the second one's counted behind the first one's."""
    every = len(rows) + (0 if other is None else len(other))
    numbers = 2 * (rows.size + (0 if other is None else other.size))
    require_memory(every, 0, numbers, "rows as they came")
    return (rows if other is None else rows.joined(other)).taken(index)


def _array_of(X: Any) -> Array:
    array = np.array(X)
    if array.dtype.kind == "U" and not isinstance(X, np.ndarray):
        array = np.array(X, dtype=object)  # texts of any length
    return array


def _require_width(width: int, held: int) -> None:
    if width != held:
        raise ValueError(
            f"X has {width} features, but Pipeline is expecting {held} features as input"
        )


def _require_kind(rows: Any, other: Any) -> None:
    if type(rows) is not type(other):
        raise ValueError(
            f"X: {type(other).__name__} beside {type(rows).__name__} that are held; wanted rows "
            "in the form in which the first ones came"
        )


@dataclass(frozen=True, eq=False)
class ArrayRows:
    """Rows of an array, of numbers or of whatever else; a list of texts has one dimension.

    Examples
    --------
    >>> raw_rows([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]).taken([0, 2]).table()
    array([[1., 2.],
           [5., 6.]])
    """

    values: Array

    def __len__(self) -> int:
        return len(self.values)

    @property
    def size(self) -> int:
        """How many numbers, or references, are kept."""
        return int(self.values.size)

    def table(self) -> Any:
        """The rows in the form in which they came."""
        return self.values

    def joined(self, other: Any) -> ArrayRows:
        """These rows and others of their kind behind them."""
        _require_kind(self, other)
        shapes = self.values.shape[1:], other.values.shape[1:]
        if list(map(len, shapes)) == [1, 1]:
            _require_width(shapes[1][0], shapes[0][0])
        return ArrayRows(_concatenated(self.values, other.values))

    def taken(self, index: Array) -> ArrayRows:
        """Some of the rows."""
        return ArrayRows(self.values[index])


@dataclass(frozen=True, eq=False)
class SparseRows:
    """Rows of a CSR matrix.

    Examples
    --------
    >>> from scipy import sparse
    >>> raw_rows(sparse.eye_array(3)).taken([0, 2]).table().shape
    (2, 3)
    """

    values: Any

    def __len__(self) -> int:
        return int(self.values.shape[0])

    @property
    def size(self) -> int:
        """How many numbers are kept."""
        return 2 * int(self.values.nnz)

    def table(self) -> Any:
        """The rows in the form in which they came."""
        return self.values

    def joined(self, other: Any) -> SparseRows:
        """These rows and others of their kind behind them."""
        _require_kind(self, other)
        _require_width(other.values.shape[1], self.values.shape[1])
        return SparseRows(sparse.vstack([self.values, other.values], format="csr"))

    def taken(self, index: Array) -> SparseRows:
        """Some of the rows."""
        return SparseRows(self.values[index])


# ---------------------------------------------------------------- frames


@dataclass(frozen=True, eq=False)
class Column:
    """A column of a frame: numbers, or objects where no array of numbers can say it.

    Examples
    --------
    >>> import numpy
    >>> Column(numpy.array([1, 2]), numpy.dtype(int)).values
    array([1, 2])
    """

    values: Array
    dtype: Any

    def joined(self, other: Column) -> Column:
        """Both columns, the other one behind, of the kind that holds both."""
        values = _concatenated(self.values, other.values)
        if hasattr(self.dtype, "categories") and hasattr(other.dtype, "categories"):
            return Column(values, _united(self.dtype, other.dtype))
        if self.dtype == other.dtype:
            return Column(values, self.dtype)
        return Column(values, values.dtype)

    def taken(self, index: Array) -> Column:
        """Some of the column's entries; no category stays that none of them has."""
        return _narrowed(self.values[index], self.dtype)


class Frames(Protocol):
    """What a library of frames makes of columns."""

    @property
    def names(self) -> Any:
        """What the columns are called."""

    def column(self, series: Any) -> Column:
        """A column as an array of its own."""

    def table(self, columns: tuple[Column, ...]) -> Any:
        """A frame of columns."""

    def require(self, other: Any) -> None:
        """Raise where others have other columns."""


def _frame(X: Any, frames: Frames) -> FrameRows:
    names = range(X.shape[1])
    series = [X.iloc[:, k] if hasattr(X, "iloc") else X.to_series(k) for k in names]
    return FrameRows(tuple(map(frames.column, series)), frames, len(X))


@dataclass(frozen=True, eq=False)
class FrameRows:
    """Rows of a frame, column by column.

    Examples
    --------
    >>> import pandas
    >>> frame = pandas.DataFrame({"age": [3, 4, 5], "sex": ["f", "m", "f"]})
    >>> raw_rows(frame).taken([0, 2]).table()
       age sex
    0    3   f
    1    5   f
    """

    columns: tuple[Column, ...]
    frames: Frames
    count: int

    def __len__(self) -> int:
        return self.count

    @property
    def size(self) -> int:
        """How many numbers, or references, are kept."""
        return self.count * len(self.columns)

    def table(self) -> Any:
        """The rows in the form in which they came; the index is not kept."""
        return self.frames.table(self.columns)

    def joined(self, other: Any) -> FrameRows:
        """These rows and others of their kind behind them."""
        _require_kind(self, other)
        _require_kind(self.frames, other.frames)
        self.frames.require(other.frames)
        pairs = zip(self.columns, other.columns, strict=True)
        columns = tuple(own.joined(new) for own, new in pairs)
        return replace(self, columns=columns, count=len(self) + len(other))

    def taken(self, index: Array) -> FrameRows:
        """Some of the rows."""
        columns = tuple(column.taken(index) for column in self.columns)
        return replace(self, columns=columns, count=len(index))


@dataclass(frozen=True, eq=False)
class PandasFrames:
    """What pandas makes of columns.

    Examples
    --------
    >>> import pandas
    >>> PandasFrames(pandas.Index(["age"])).column(pandas.Series([3, 4])).values
    array([3, 4])
    """

    names: Any

    def column(self, series: Any) -> Column:
        """A column as an array of its own."""
        plain = isinstance(series.dtype, np.dtype)
        values = series.to_numpy(copy=True) if plain else series.to_numpy(dtype=object, copy=True)
        return _narrowed(values, series.dtype)

    def table(self, columns: tuple[Column, ...]) -> Any:
        """A frame of columns."""
        pandas = import_module("pandas")
        frame = pandas.DataFrame(
            {
                k: pandas.Series(column.values, dtype=column.dtype)
                for k, column in enumerate(columns)
            }
        )
        frame.columns = self.names
        return frame

    def require(self, other: PandasFrames) -> None:
        """Raise where others have other columns."""
        _require_columns(list(other.names), list(self.names))


@dataclass(frozen=True, eq=False)
class PolarsFrames:
    """What polars makes of columns.

    Examples
    --------
    >>> import polars
    >>> PolarsFrames(("age",)).column(polars.Series([3, 4])).values
    array([3, 4])
    """

    names: tuple[str, ...]

    def column(self, series: Any) -> Column:
        """A column as an array of its own."""
        if series.dtype.is_numeric() and not series.null_count():
            return Column(np.array(series.to_numpy()), series.dtype)
        values = np.empty(len(series), dtype=object)
        values[:] = series.to_list()
        return Column(values, series.dtype)

    def table(self, columns: tuple[Column, ...]) -> Any:
        """A frame of columns."""
        polars = import_module("polars")
        series = [
            polars.Series(
                name, column.values.tolist() if column.values.dtype == object else column.values,
                dtype=column.dtype,
            )
            for name, column in zip(self.names, columns, strict=True)
        ]  # fmt: skip
        return polars.DataFrame(series)

    def require(self, other: PolarsFrames) -> None:
        """Raise where others have other columns."""
        _require_columns(list(other.names), list(self.names))


def _require_columns(names: list[Any], held: list[Any]) -> None:
    if names == held:
        return
    _require_width(len(names), len(held))
    other = next(pair for pair in zip(names, held, strict=True) if pair[0] != pair[1])
    raise ValueError(
        f"X: column {other[0]!r} where {other[1]!r} is held; wanted the columns {held}, in this "
        "order"
    )


def _concatenated(values: Array, others: Array) -> Array:
    """Entries behind others; a number beside texts stays a number."""
    kinds = {array.dtype.kind in "US" for array in (values, others)}
    if len(kinds) > 1:
        values, others = values.astype(object), others.astype(object)
    return np.concatenate([values, others])


def _narrowed(values: Array, dtype: Any) -> Column:
    """A column whose categories, where it has any that depend on its entries, are among these."""
    if not hasattr(dtype, "ordered"):  # it is not a categorical of pandas
        return Column(values, dtype)
    there = {value for value in values.tolist() if value == value}  # noqa: PLR0124
    return Column(values, _categorical([c for c in dtype.categories if c in there], dtype))


def _united(dtype: Any, other: Any) -> Any:
    """The categories of both; where each has its own order, the first one's comes first."""
    if not hasattr(dtype, "ordered"):
        return dtype
    return _categorical(list(dict.fromkeys([*dtype.categories, *other.categories])), dtype)


def _categorical(categories: list[Any], dtype: Any) -> Any:
    return import_module("pandas").CategoricalDtype(categories, ordered=dtype.ordered)
