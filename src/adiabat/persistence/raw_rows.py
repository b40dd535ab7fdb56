"""Rows as they came, in a file: arrays, sparse matrices, and frames column by column."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from adiabat.errors import ModelFileError
from adiabat.estimators.raw_rows import (
    ArrayRows,
    Column,
    FrameRows,
    PandasFrames,
    PolarsFrames,
    RawRows,
    SparseRows,
)
from adiabat.persistence.draft import Draft
from adiabat.persistence.fields import Fields
from adiabat.persistence.kinds import FEATURES, Sizes
from adiabat.persistence.values import (
    PLAIN,
    packed_scalar,
    packed_values,
    read_scalar,
    read_values,
)

Array = NDArray[Any]

#: Types of numbers that scipy's sparse matrices have.
_SPARSE = tuple(name for name in PLAIN if name != "float16")
#: pandas' types of strings: where they are kept, with NaN for what is missing or with NA.
_STRINGS = {
    f"{name}[{storage}]": (storage, missing)
    for name, missing in (("str", "nan"), ("string", "NA"))
    for storage in ("python", "pyarrow")
}
_POLARS_INTEGERS = tuple(f"{kind}{bits}" for kind in ("Int", "UInt") for bits in (8, 16, 32, 64))
#: polars' types, and what the entries of a column are that no array of numbers can say.
_POLARS: dict[str, tuple[type, ...]] = {
    "Boolean": (bool,),
    "String": (str,),
    "Float32": (float,),
    "Float64": (float,),
    **dict.fromkeys(_POLARS_INTEGERS, (int,)),
}


def packed_raw(rows: RawRows, draft: Draft) -> dict[str, Any]:
    """What the header says of rows as they came."""
    word, pack = _PACKED[type(rows)]
    return {"form": word, **pack(rows, draft)}


def read_raw(fields: Fields, count: int, sizes: Sizes) -> RawRows:
    """Such rows, as many as are held, of as many features as the pipeline takes."""
    form = fields.text("form")
    if form not in _READ:
        fields.refuse("form", form, f"one of {', '.join(_READ)}")
    rows, width = _READ[form](fields, count)
    met = sizes[FEATURES] in (-1, width)
    fields.require("form", "as many features as the pipeline takes", met=met)
    return rows


# ---------------------------------------------------------------- arrays


def _pack_array(rows: ArrayRows, draft: Draft) -> dict[str, Any]:
    """Numbers as they stand in memory; texts and objects one behind the other."""
    values = rows.values
    if values.dtype.name in PLAIN:
        return {"values": draft.array("values", values)}
    turned = values.ndim == 2 and values.flags.f_contiguous and not values.flags.c_contiguous
    flat = np.ravel(values, order="F" if turned else "C")
    listed = packed_values(flat, draft, "values")
    return {"values": None, "shape": list(values.shape), "turned": turned, "listed": listed}


def _read_array(fields: Fields, count: int) -> tuple[RawRows, int]:
    if not fields.is_absent("values"):
        values = fields.array("values", (count, None), *PLAIN)
        return ArrayRows(values), values.shape[1]
    shape = tuple(fields.items("shape"))
    met = len(shape) in (1, 2) and all(type(length) is int and length >= 0 for length in shape)
    fields.require("shape", f"{count} rows", met=met and shape[0] == count)
    turned, width = fields.flag("turned"), shape[1] if len(shape) == 2 else -1
    flat = read_values(fields.inner("listed"), count * abs(width))
    fields.require("listed", "texts or objects", met=flat.dtype.kind in "UO")
    return ArrayRows(np.reshape(flat, shape, order="F" if turned else "C")), width


def _pack_sparse(rows: SparseRows, draft: Draft) -> dict[str, Any]:
    values, count = rows.values, int(rows.values.indptr[-1])
    if values.dtype.name not in _SPARSE:
        raise ModelFileError(f"{draft.where}: values of type {values.dtype}; wanted numbers")
    parts = {"data": values.data[:count], "indices": values.indices[:count]}
    parts["indptr"] = values.indptr
    arrays = {name: draft.array(name, part) for name, part in parts.items()}
    is_array = isinstance(values, sparse.sparray)
    return {"features": int(values.shape[1]), "array": is_array, **arrays}


def _read_sparse(fields: Fields, count: int) -> tuple[RawRows, int]:
    """A CSR matrix, with entries in any order, as it came."""
    width = fields.count("features")
    data = fields.array("data", (None,), *_SPARSE)
    indices = fields.array("indices", (len(data),), "int32", "int64")
    starts = fields.array("indptr", (count + 1,), "int32", "int64")
    met = starts[0] == 0 and starts[-1] == len(data) and (np.diff(starts) >= 0).all()
    fields.require("indptr", "the beginnings of the rows, in order", met=met)
    met = indices.min(initial=0) >= 0 and indices.max(initial=-1) < width
    fields.require("indices", "columns that there are", met=met)
    kind = sparse.csr_array if fields.flag("array") else sparse.csr_matrix
    return SparseRows(kind((data, indices, starts), shape=(count, width))), width


# ---------------------------------------------------------------- frames


@dataclass(frozen=True)
class _Library:
    """A library of frames: the types of its columns and of their names, and how they are said."""

    name: str
    types: tuple[str, ...]
    names: tuple[type, ...]
    frames: Callable[[list[Any]], Any]
    word: Callable[[Any], str | None]
    dtype: Callable[[str], Any]
    fits: Callable[[str, Array], bool]


def _is_entries(values: Array, kinds: tuple[type, ...]) -> bool:
    """Whether objects are of some types, or None."""
    return values.dtype == object and {type(v) for v in values.tolist()} <= {*kinds, type(None)}


def _pandas_word(dtype: Any) -> str | None:
    if isinstance(dtype, np.dtype):
        return dtype.name if dtype.name in (*PLAIN, "object") else None
    if getattr(dtype, "name", None) not in ("str", "string"):
        return None
    word = f"{'str' if isinstance(dtype.na_value, float) else 'string'}[{dtype.storage}]"
    return word if word in _STRINGS else None


def _pandas_dtype(word: str) -> Any:
    if word in (*PLAIN, "object"):
        return np.dtype(word)
    pandas = import_module("pandas")
    storage, missing = _STRINGS[word]
    return pandas.StringDtype(storage, na_value=np.nan if missing == "nan" else pandas.NA)


def _pandas_fits(word: str, values: Array) -> bool:
    if word in (*PLAIN, "object"):
        return values.dtype.name == word
    return _is_entries(values, (str, float)) and all(
        isinstance(value, str) or value != value  # noqa: PLR0124 - NaN
        for value in values.tolist()
    )


def _polars_word(dtype: Any) -> str | None:
    return str(dtype) if str(dtype) in _POLARS else None


def _polars_fits(word: str, values: Array) -> bool:
    if values.dtype.name == word.lower():
        return True
    whole = word in _POLARS_INTEGERS and _is_entries(values, (int,))
    if whole:
        within = np.iinfo(word.lower())
        return all(v is None or within.min <= v <= within.max for v in values.tolist())
    return _is_entries(values, _POLARS[word])


_LIBRARIES = {
    PandasFrames: _Library(
        "pandas",
        (*PLAIN, "object", *_STRINGS),
        (str, int),
        lambda names: PandasFrames(import_module("pandas").Index(names)),
        _pandas_word,
        _pandas_dtype,
        _pandas_fits,
    ),
    PolarsFrames: _Library(
        "polars",
        tuple(_POLARS),
        (str,),
        lambda names: PolarsFrames(tuple(names)),
        _polars_word,
        lambda word: getattr(import_module("polars"), word),
        _polars_fits,
    ),
}


def _pack_frame(rows: FrameRows, draft: Draft) -> dict[str, Any]:
    library, part = _LIBRARIES[type(rows.frames)], draft.within("columns")
    names = list(rows.frames.names)
    columns = [
        _pack_column(column, library, part, str(name))
        for name, column in zip(names, rows.columns, strict=True)
    ]
    return {
        "library": library.name,
        "names": [packed_scalar(name, draft.within("names")) for name in names],
        "columns": columns,
    }


def _pack_column(column: Column, library: _Library, draft: Draft, name: str) -> dict[str, Any]:
    word = library.word(column.dtype)
    if word is None:
        raise ModelFileError(
            f"{draft.where}: column {name!r} is of type {column.dtype}, which a file cannot hold "
            "as it came; wanted numbers, bools or strings"
        )
    return {"type": word, "values": packed_values(column.values, draft, name)}


def _read_frame(fields: Fields, count: int) -> tuple[RawRows, int]:
    word, held = fields.text("library"), {library.name: library for library in _LIBRARIES.values()}
    if word not in held:
        fields.refuse("library", word, f"one of {', '.join(held)}")
    library = held[word]
    try:
        import_module(word)
    except ImportError as error:
        raise ModelFileError(
            f"{fields.where}: rows of a frame of {word}, which is not installed"
        ) from error
    names = [read_scalar(name, fields, "names") for name in fields.items("names")]
    met = all(type(name) in library.names for name in names)
    fields.require("names", "names that columns can have", met=met)
    given = fields.items("columns")
    fields.require("columns", "one for each name", met=len(given) == len(names))
    columns = [
        _read_column(fields.among(f"columns.{k}", column), library, count)
        for k, column in enumerate(given)
    ]
    return FrameRows(tuple(columns), library.frames(names), count), len(columns)


def _read_column(fields: Fields, library: _Library, count: int) -> Column:
    word = fields.text("type")
    if word not in library.types:
        fields.refuse("type", word, f"a type of {library.name}'s columns")
    values = read_values(fields.inner("values"), count)
    fields.require("values", f"entries of the type {word}", met=library.fits(word, values))
    return Column(values, library.dtype(word))


_PACKED: dict[type, tuple[str, Callable[[Any, Draft], dict[str, Any]]]] = {
    ArrayRows: ("array", _pack_array),
    SparseRows: ("csr", _pack_sparse),
    FrameRows: ("frame", _pack_frame),
}
_READ: dict[str, Callable[[Fields, int], tuple[RawRows, int]]] = {
    "array": _read_array,
    "csr": _read_sparse,
    "frame": _read_frame,
}
