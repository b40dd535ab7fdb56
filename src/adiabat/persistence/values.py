"""Arrays of labels, categories and names: of whatever type, and without pickle."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from adiabat.errors import ModelFileError
from adiabat.persistence.draft import Draft
from adiabat.persistence.fields import Fields, is_integer

Array = NDArray[Any]

#: Types whose arrays stand in the file as they are.
PLAIN = ("bool", "float16", "float32", "float64", *(
    f"{kind}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64)
))  # fmt: skip
#: Characters that an array of strings may have room for.
MOST_CHARACTERS = 1 << 26
_SPECIAL = {"inf": np.inf, "-inf": -np.inf, "nan": np.nan}


def packed_values(values: Array, draft: Draft, name: str) -> dict[str, Any]:
    """An array of numbers, strings, or objects that are numbers, strings or None."""
    kind = values.dtype.kind
    if values.dtype.name in PLAIN:
        return {"dtype": values.dtype.name, "array": draft.array(name, values)}
    if values.ndim == 1 and kind in "UO":
        part = draft.within(name)
        listed = [packed_scalar(value, part) for value in values.tolist()]
        dtype = "object" if kind == "O" else f"U{values.dtype.itemsize // 4}"
        return {"dtype": dtype, "values": listed}
    raise ModelFileError(
        f"{draft.where}.{name}: values of type {values.dtype}; wanted numbers, strings or bools"
    )


def read_values(fields: Fields, *shape: int | None) -> Array:
    """Such an array."""
    dtype = fields.text("dtype")
    if dtype in PLAIN:
        return fields.array("array", shape, dtype)
    listed = [read_scalar(value, fields, "values") for value in fields.items("values")]
    fits = len(shape) == 1 and shape[0] in (None, len(listed))
    fields.require("values", f"shape {shape}", met=fits)
    if dtype == "object":
        values = np.empty(len(listed), dtype=object)
        values[:] = listed
        return values
    return _strings(fields, dtype, listed)


def _strings(fields: Fields, dtype: str, listed: list[Any]) -> Array:
    width = int(dtype[1:]) if dtype[:1] == "U" and dtype[1:].isdecimal() and len(dtype) < 9 else -1
    if width < 0:
        fields.refuse("dtype", dtype, "a type of labels")
    fits = all(isinstance(value, str) and len(value) <= width for value in listed)
    fields.require("values", f"strings of at most {width} characters", met=fits)
    fields.require("values", "less room", met=width * len(listed) <= MOST_CHARACTERS)
    return np.array(listed, dtype=f"U{width}")


def packed_repeated(values: Array, draft: Draft, name: str) -> dict[str, Any]:
    """An array in which few values stand often: each of them once, and who has which."""
    different, which = np.unique(values, return_inverse=True)
    return {
        "values": packed_values(different, draft.within(name), "values"),
        "which": draft.array(f"{name}.which", which.astype(np.int64)),
    }


def read_repeated(fields: Fields, count: int) -> Array:
    """Such an array."""
    different = read_values(fields.inner("values"), None)
    which = fields.counts("which", count)
    met = which.max(initial=-1) < len(different)
    fields.require("which", "numbers of values that there are", met=met)
    return different[which]


def packed_scalar(value: Any, draft: Draft) -> Any:
    """A number, a string or None."""
    value = value.item() if isinstance(value, np.generic) else value
    if value is None or isinstance(value, bool | int | str):
        return value
    if not isinstance(value, float):
        raise ModelFileError(
            f"{draft.where}: {value!r:.60} is a {type(value).__name__}; "
            "wanted a number, a string or None"
        )
    if np.isfinite(value):
        return value
    return {"float": "nan" if value != value else repr(value)}  # noqa: PLR0124


def read_scalar(value: Any, fields: Fields, name: str) -> Any:
    """Such a value."""
    if isinstance(value, dict) and value.keys() == {"float"}:
        word = value["float"]
        if word not in tuple(_SPECIAL):
            fields.refuse(name, word, "inf, -inf or nan")
        return _SPECIAL[word]
    if value is not None and not isinstance(value, str | int | float):
        fields.refuse(name, value, "a number, a string or null")
    if isinstance(value, float) and not np.isfinite(value):
        fields.refuse(name, value, "a number of float64")
    return value


def packed_ids(ids: Array, draft: Draft) -> dict[str, Any]:
    """Ids: integers or strings."""
    return packed_values(ids, draft, "ids")


def read_ids(fields: Fields, next_id: int) -> Array:
    """Ids, each of them once; counting numbers among them are below the next."""
    ids = read_values(fields, None)
    met = ids.dtype in (np.dtype(np.int64), np.dtype(object))
    fields.require("dtype", "int64 or object", met=met)
    plain = ids.tolist()
    met = all(is_integer(name) or isinstance(name, str) for name in plain)
    fields.require("values", "integers and strings", met=met)
    fields.require("values", "each id once", met=len(set(plain)) == len(plain))
    largest = max((name for name in plain if isinstance(name, int)), default=-1)
    fields.require("values", "ids below next_id", met=largest < next_id)
    return ids


def packed_groups(groups: Array | None, draft: Draft) -> dict[str, Any] | None:
    """What rows belong to; None where nobody said."""
    return None if groups is None else packed_values(groups, draft, "groups")


def packed_names(names: Array | None, draft: Draft) -> list[str] | None:
    """Names of features; None where they have none."""
    if names is None:
        return None
    part = draft.within("feature_names")
    return [packed_scalar(name, part) for name in names.tolist()]


def read_names(fields: Fields, count: int | None) -> Array | None:
    """Such names, one for each feature."""
    if fields.is_absent("feature_names"):
        return None
    names = fields.items("feature_names")
    met = all(isinstance(name, str) for name in names) and len(names) == count
    fields.require("feature_names", f"{count} strings", met=met)
    array = np.empty(len(names), dtype=object)
    array[:] = names
    return array
