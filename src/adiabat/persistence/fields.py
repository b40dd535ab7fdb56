"""Reading what a header says, with every part looked at before anything is made of it."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from adiabat.errors import ModelFileError
from adiabat.persistence.codecs import Codecs

Array = NDArray[Any]


class Fields:
    """The parts of one object in a header, each of which has to be read, once.

    Parameters
    ----------
    where : str
        What the object is part of, for errors.
    given : object
        What stands there.
    tensors : dict
        The arrays that nobody has read yet.
    codecs : Codecs
        How objects are read.
    """

    def __init__(self, where: str, given: Any, tensors: dict[str, Array], codecs: Codecs) -> None:
        self.where, self._tensors, self.codecs = where, tensors, codecs
        if not isinstance(given, dict):
            raise ModelFileError(f"{where}: {given!r:.40}; wanted an object")
        self._left = dict(given)
        self._inner: list[Fields] = []

    @property
    def left(self) -> set[str]:
        """The names of what was not read yet."""
        return set(self._left)

    def refuse(self, name: str, came: Any, wanted: str) -> NoReturn:
        """Say what came and what was wanted."""
        raise ModelFileError(f"{self.where}.{name}: {came!r:.40}; wanted {wanted}")

    def require(self, name: str, wanted: str, *, met: Any) -> None:
        """Raise where a condition on several parts is not met."""
        if not met:
            raise ModelFileError(f"{self.where}.{name}: not as it has to be; wanted {wanted}")

    def end(self) -> None:
        """Raise where something was not read: it is not ours."""
        if self._left:
            raise ModelFileError(f"{self.where}: {min(self._left)!r:.40} is not known there")
        for inner in self._inner:
            inner.end()

    def value(self, name: str) -> Any:
        """Whatever stands there."""
        if name not in self._left:
            raise ModelFileError(f"{self.where}.{name}: missing")
        return self._left.pop(name)

    def flag(self, name: str) -> bool:
        """True or False."""
        value = self.value(name)
        return value if isinstance(value, bool) else self.refuse(name, value, "true or false")

    def text(self, name: str) -> str:
        """A string."""
        value = self.value(name)
        return value if isinstance(value, str) else self.refuse(name, value, "a string")

    def count(self, name: str, most: int | None = None) -> int:
        """An integer that is not negative."""
        value = self.value(name)
        if not is_integer(value) or value < 0 or (most is not None and value > most):
            self.refuse(name, value, f"an integer from 0 to {most or 'any'}")
        return int(value)

    def number(self, name: str) -> float:
        """A finite number, as a float."""
        value = self.value(name)
        if isinstance(value, bool) or not isinstance(value, int | float):
            self.refuse(name, value, "a number")
        if not -np.inf < value < np.inf:
            self.refuse(name, value, "a finite number")
        return float(value)

    def is_absent(self, name: str) -> bool:
        """Whether null stands there, which is then read."""
        if self._left.get(name, ...) is not None:
            return False
        del self._left[name]
        return True

    def items(self, name: str) -> list[Any]:
        """A list."""
        value = self.value(name)
        return value if isinstance(value, list) else self.refuse(name, value, "a list")

    def inner(self, name: str) -> Fields:
        """The parts of an object in this one."""
        return self.among(name, self.value(name))

    def among(self, name: str, given: Any) -> Fields:
        """The parts of an object that stands somewhere in this one."""
        inner = Fields(f"{self.where}.{name}", given, self._tensors, self.codecs)
        self._inner.append(inner)
        return inner

    def array(self, name: str, shape: tuple[int | None, ...], *types: str) -> Array:
        """An array of this shape, where None is any length, and of one of these types."""
        reference = self.value(name)
        known = isinstance(reference, str) and reference in self._tensors
        if not known:
            self.refuse(name, reference, "the name of an array that nothing else has")
        array = self._tensors.pop(reference)
        fits = array.ndim == len(shape) and all(
            wanted in (None, length) for wanted, length in zip(shape, array.shape, strict=True)
        )
        if not fits or array.dtype.name not in types:
            found = f"{array.dtype} of shape {array.shape}"
            self.refuse(name, found, f"{' or '.join(types)} of shape {shape}")
        return array

    def floats(self, name: str, *shape: int | None) -> Array:
        """An array of float64, all of them finite."""
        array = self.array(name, shape, "float64")
        self.require(name, "finite numbers", met=np.isfinite(array).all())
        return array

    def bounds(self, name: str, *shape: int | None) -> Array:
        """An array of float64, none of them negative; infinite ones are."""
        array = self.array(name, shape, "float64")
        self.require(name, "numbers that are not negative", met=(array >= 0.0).all())
        return array

    def counts(self, name: str, *shape: int | None) -> Array:
        """An array of int64, none of them negative."""
        array = self.array(name, shape, "int64")
        self.require(name, "integers that are not negative", met=(array >= 0).all())
        return array


def is_integer(value: Any) -> bool:
    """Whether JSON has an integer there."""
    return isinstance(value, int) and not isinstance(value, bool)
