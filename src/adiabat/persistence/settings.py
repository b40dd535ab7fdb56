"""Parameters of estimators: plain values, and estimators and kernels among them.

What JSON has no word for stands in an object with one entry, whose name says what it is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from adiabat.errors import ModelFileError
from adiabat.persistence.draft import Draft
from adiabat.persistence.fields import Fields
from adiabat.persistence.kernel_words import is_kernel, packed_kernel, read_kernel
from adiabat.persistence.values import (
    PLAIN,
    packed_scalar,
    packed_values,
    read_scalar,
    read_values,
)

#: Types that are values of parameters themselves.
_TYPES: dict[str, Any] = {
    **{kind.__name__: kind for kind in (bool, int, float, str, object)},
    **{f"numpy.{name}": np.dtype(name).type for name in PLAIN},
}
_NAMES = {kind: name for name, kind in _TYPES.items()}


def packed_settings(settings: Mapping[str, Any], draft: Draft) -> dict[str, Any]:
    """Parameters by name."""
    return {name: packed_setting(value, draft.within(name)) for name, value in settings.items()}


def read_settings(fields: Fields) -> dict[str, Any]:
    """Parameters by name."""
    return {name: read_setting(fields.value(name), fields, name) for name in sorted(fields.left)}


def packed_setting(value: Any, draft: Draft) -> Any:
    """One parameter."""
    if hasattr(value, "get_params") and not isinstance(value, type):
        return {"estimator": draft.codecs.packed(value, draft)}
    if is_kernel(value):
        return {"kernel": packed_kernel(value, draft)}
    if isinstance(value, type) and value in _NAMES:
        return {"type": _NAMES[value]}
    if callable(value):
        raise ModelFileError(
            f"{draft.where}: {value!r:.80} is code, and a file holds none; wanted a plain value"
        )
    if hasattr(value, "to_numpy"):  # the columns of a frame
        value = value.to_numpy()
    for kind, pack in _PACKED.items():
        if type(value) is kind:
            return pack(value, draft)
    return packed_scalar(value, draft)


def _packed_list(value: Any, draft: Draft) -> list[Any]:
    return [packed_setting(part, draft.within(_name_of(k, part))) for k, part in enumerate(value)]


def _name_of(place: int, part: Any) -> str:
    """A step's own name, or its place."""
    is_step = isinstance(part, tuple) and len(part) > 1 and isinstance(part[0], str)
    return part[0] if is_step else str(place)


def _packed_step(value: Any, draft: Draft) -> list[Any]:
    """A tuple; its parts go by the name of the whole."""
    return [packed_setting(part, draft) for part in value]


_PACKED: dict[type, Callable[[Any, Draft], Any]] = {
    list: _packed_list,
    tuple: lambda value, draft: {"tuple": _packed_step(value, draft)},
    dict: lambda value, draft: {"dict": _packed_list(value.items(), draft)},
    slice: lambda value, draft: {
        "slice": [packed_scalar(end, draft) for end in (value.start, value.stop, value.step)]
    },
    np.ndarray: lambda value, draft: {"array": packed_values(value, draft, "values")},
}


def read_setting(given: Any, fields: Fields, name: str) -> Any:
    """One parameter."""
    if isinstance(given, list):
        return [read_setting(part, fields, name) for part in given]
    if not isinstance(given, dict) or given.keys() == {"float"}:
        return read_scalar(given, fields, name)
    word = next(iter(given)) if len(given) == 1 else None
    if word not in _READ:
        fields.refuse(name, given, f"an object with one entry, one of {', '.join(_READ)}")
    return _READ[word](given[word], fields, name)


def _read_tuple(given: Any, fields: Fields, name: str) -> tuple[Any, ...]:
    if not isinstance(given, list):
        fields.refuse(name, given, "a list")
    return tuple(read_setting(part, fields, name) for part in given)


def _read_dict(given: Any, fields: Fields, name: str) -> dict[Any, Any]:
    pairs = _read_tuple(given, fields, name)
    plain = all(
        isinstance(pair, tuple) and len(pair) == 2 and not isinstance(pair[0], list | dict | slice)
        for pair in pairs
    )
    fields.require(name, "pairs of a plain key and a value", met=plain)
    return dict(pairs)


def _read_slice(given: Any, fields: Fields, name: str) -> slice:
    ends = _read_tuple(given, fields, name)
    plain = all(end is None or isinstance(end, int | str) for end in ends)
    fields.require(name, "three integers, strings or null", met=plain and len(ends) == 3)
    return slice(*ends)


def _read_type(given: Any, fields: Fields, name: str) -> Any:
    if given not in tuple(_TYPES):
        fields.refuse(name, given, "the name of a type of numbers or strings")
    return _TYPES[given]


_READ: dict[Any, Callable[[Any, Fields, str], Any]] = {
    "tuple": _read_tuple,
    "dict": _read_dict,
    "slice": _read_slice,
    "type": _read_type,
    "array": lambda given, fields, name: read_values(fields.among(name, given), None),
    "kernel": lambda given, fields, name: read_kernel(fields.among(name, given)),
    "estimator": lambda given, fields, name: fields.codecs.read(fields.among(name, given)),
}
