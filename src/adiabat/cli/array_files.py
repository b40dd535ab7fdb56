"""Tables from files of arrays: NumPy's .npz and Parquet."""

from __future__ import annotations

import io
import struct
import tokenize
import zipfile
import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from adiabat.cli.faults import InputError, listed
from adiabat.cli.table import Table

Array = NDArray[Any]

#: What a damaged archive is noticed by.
_DAMAGE = (
    ValueError,
    OSError,
    EOFError,
    KeyError,
    NotImplementedError,
    RuntimeError,
    SyntaxError,
    struct.error,
    tokenize.TokenError,
    zipfile.BadZipFile,
    zlib.error,
)
#: What pandas calls an index without a name.
_INDEX = "__index_level_0__"


def read_npz(data: bytes, source: str) -> Table:
    """Features X, labels y and, if they are there, ids, from an archive of arrays."""
    try:
        with np.load(io.BytesIO(data), allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
    except (*_DAMAGE, AttributeError, TypeError) as error:
        raise InputError(
            f"{source}: no whole .npz archive of plain arrays ({_first_line(error)}); wanted one "
            "as numpy.savez writes it"
        ) from error
    if "X" not in arrays:
        raise InputError(f"{source}: holds {listed(arrays)}; wanted arrays 'X' and 'y'")
    matrix = arrays.pop("X")
    if matrix.ndim != 2 or matrix.dtype.kind not in "biuf" or not matrix.size:
        raise InputError(
            f"{source}: 'X' has shape {matrix.shape} and type {matrix.dtype}; wanted rows by "
            "columns of numbers"
        )
    matrix = matrix.astype(np.float64)
    strange = np.argwhere(~np.isfinite(matrix))
    if len(strange):
        row, column = strange[0]
        raise InputError(
            f"{source}: X[{row}, {column}] is {matrix[row, column]}; wanted finite numbers"
        )
    columns = {
        name: _plain(array) for name, array in arrays.items() if array.shape == (len(matrix),)
    }
    places = np.arange(len(matrix))
    return Table(
        source, columns, places, "row", matrix, target="y", id="ids" if "ids" in columns else None
    )


def _plain(array: Array) -> Array:
    """Numbers as they are, everything else as text."""
    if array.dtype.kind in "iuf":
        return array
    return np.array([str(value) for value in array.tolist()], dtype=object)


def read_parquet(data: bytes, source: str) -> Table:
    """A Parquet file's columns, as far as they are numbers or text."""
    try:
        import pyarrow as pa  # noqa: PLC0415
        from pyarrow import parquet  # noqa: PLC0415
    except ImportError as error:
        raise InputError(
            f"{source}: reading Parquet needs pyarrow; wanted: python -m pip install "
            "'adiabat[parquet]'"
        ) from error
    try:
        table = parquet.read_table(pa.BufferReader(data))
        columns = {name: _column(table[name], name, source) for name in table.column_names}
    except (pa.ArrowException, OSError, KeyError) as error:
        raise InputError(
            f"{source}: no whole Parquet file ({_first_line(error)}); wanted one"
        ) from error
    if not table.num_rows:
        raise InputError(f"{source}: no row in it; wanted rows")
    index = _INDEX if _INDEX in columns else None
    return Table(source, columns, np.arange(table.num_rows), "row", id=index)


def _column(column: Any, name: str, source: str) -> Array:
    """Numbers with NaN where there is nothing, or text with nothing there."""
    import pyarrow as pa  # noqa: PLC0415

    kind = column.type
    if pa.types.is_dictionary(kind):
        column = column.cast(kind.value_type)
        kind = column.type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_boolean(kind):
        cells = ["" if cell is None else str(cell) for cell in column.to_pylist()]
        return np.array(cells, dtype=object)
    if pa.types.is_integer(kind) and not column.null_count:
        return np.asarray(column.to_numpy())
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return np.asarray(column.cast(pa.float64()).to_numpy())
    raise InputError(f"{source}, column {name!r}: holds {kind}; wanted numbers or text")


def _first_line(error: BaseException) -> str:
    return str(error).strip().split("\n")[0][:100] or type(error).__name__
