"""The kinds of attributes that a fit gives a transformer: how each is written, read, looked at."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from adiabat.persistence.draft import Draft
from adiabat.persistence.fields import Fields
from adiabat.persistence.settings import packed_setting, read_setting
from adiabat.persistence.values import PLAIN, packed_values, read_values

Array = NDArray[Any]

FEATURES = "features"


class Sizes:
    """Lengths by name: the first array that has one says what it is for all others.

    Parameters
    ----------
    features : int or None
        The number of features.
    """

    def __init__(self, features: int | None) -> None:
        self._known: dict[str, int] = {} if features is None else {FEATURES: features}

    def shape(self, *names: str) -> tuple[int | None, ...]:
        """The shape that an array with these lengths has, as far as it is known."""
        return tuple(self._known.get(name) for name in names)

    def note(self, names: tuple[str, ...], array: Array) -> Array:
        """From now on these lengths are the array's."""
        self._known.update(zip(names, array.shape, strict=True))
        return array

    def __getitem__(self, name: str) -> int:
        return self._known.get(name, -1)


@dataclass(frozen=True)
class Kind:
    """How an attribute is written, and how it is read and looked at.

    It is there ``always`` unless only some settings, or some versions, have it.
    """

    pack: Callable[[Any, Draft, str], Any]
    read: Callable[[Fields, str, Sizes], Any]
    always: bool = True


def sometimes(kind: Kind) -> Kind:
    """The same where an estimator may be fitted without it."""
    return replace(kind, always=False)


def optional(kind: Kind) -> Kind:
    """The same, or None."""
    return Kind(
        lambda value, draft, name: None if value is None else kind.pack(value, draft, name),
        lambda fields, name, sizes: (
            None if fields.is_absent(name) else kind.read(fields, name, sizes)
        ),
    )


def floats(*lengths: str) -> Kind:
    """An array of finite floats with lengths of these names."""

    def read(fields: Fields, name: str, sizes: Sizes) -> Array:
        array = fields.array(name, sizes.shape(*lengths), "float64", "float32")
        fields.require(name, "finite numbers", met=np.isfinite(array).all())
        return sizes.note(lengths, array)

    return Kind(lambda value, draft, name: draft.array(name, value), read)


def values(*lengths: str) -> Kind:
    """An array of numbers or labels, NaN among them, with lengths of these names."""

    def read(fields: Fields, name: str, sizes: Sizes) -> Array:
        return sizes.note(lengths, read_values(fields.inner(name), *sizes.shape(*lengths)))

    return Kind(packed_values, read)


def plain(wanted: str, accepted: Callable[[Any, Sizes], bool]) -> Kind:
    """Whatever a parameter can be, if it is accepted."""

    def read(fields: Fields, name: str, sizes: Sizes) -> Any:
        value = read_setting(fields.value(name), fields, name)
        fields.require(name, wanted, met=accepted(value, sizes))
        return value

    return Kind(lambda value, draft, name: packed_setting(value, draft.within(name)), read)


def _pack_dtype(value: Any, draft: Draft, name: str) -> str:  # noqa: ARG001
    return str(np.dtype(value).str if np.dtype(value).kind == "U" else np.dtype(value).name)


def _read_dtype(fields: Fields, name: str, sizes: Sizes) -> Any:  # noqa: ARG001
    word = fields.text(name)
    is_text = word[:2] in ("<U", ">U") and word[2:].isdecimal() and len(word) < 10
    if word not in (*PLAIN, "object") and not is_text:
        fields.refuse(name, word, "the name of a type of numbers or strings")
    return np.dtype(word)


def is_count(value: Any) -> bool:
    """Whether a value is an integer that is not negative."""
    return type(value) is int and value >= 0


def is_each_feature(value: Any, sizes: Sizes) -> bool:
    """Whether a value is a list with an entry for each feature."""
    return isinstance(value, list) and len(value) == sizes[FEATURES]


def _is_amount(value: Any, sizes: Sizes) -> bool:
    """Whether a value is a number of rows, or one for each feature."""
    array = np.asarray(value)
    fits = array.dtype.kind in "iuf" and array.shape in ((), sizes.shape(FEATURES))
    return fits and bool((np.isfinite(array) & (array >= 0)).all())


def _are_arrays(value: Any, sizes: Sizes) -> bool:
    """Whether there is an array for each feature, none of them empty."""
    return is_each_feature(value, sizes) and all(isinstance(v, np.ndarray) for v in value)


def _are_indices(value: Any, sizes: Sizes) -> bool:
    """Whether there is an array of integers or None for each feature."""
    return is_each_feature(value, sizes) and all(
        v is None or (isinstance(v, np.ndarray) and v.dtype.kind == "i") for v in value
    )


def _are_places(value: Any, sizes: Sizes) -> bool:
    """Whether features have a place each."""
    return isinstance(value, dict) and all(
        is_count(key) and key < sizes[FEATURES] and is_count(place) for key, place in value.items()
    )


COUNT = plain("an integer that is not negative", lambda value, sizes: is_count(value))  # noqa: ARG005
FLAG = plain("true or false", lambda value, sizes: isinstance(value, bool))  # noqa: ARG005
WORD = plain("a string", lambda value, sizes: isinstance(value, str))  # noqa: ARG005
NUMBER = plain(
    "a finite number",
    lambda value, sizes: type(value) in (int, float) and bool(np.isfinite(value)),  # noqa: ARG005
)
AMOUNT = plain("numbers of rows", _is_amount)
CATEGORIES = plain("an array for each feature", _are_arrays)
INDICES = plain("an array of integers or null for each feature", _are_indices)
COUNTS = plain(
    "an integer for each feature",
    lambda value, sizes: is_each_feature(value, sizes) and all(map(is_count, value)),
)
PLACES = plain("a place for features", _are_places)
DTYPE = Kind(_pack_dtype, _read_dtype)
#: An estimator in an attribute.
INNER = plain("an estimator", lambda value, sizes: hasattr(value, "get_params"))  # noqa: ARG005
