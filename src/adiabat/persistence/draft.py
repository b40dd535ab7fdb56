"""What is going to be in a file: the arrays that were collected, and the names of all parts."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from typing import Any

from numpy.typing import NDArray

from adiabat.persistence.codecs import Codecs

Array = NDArray[Any]


@dataclass(frozen=True, eq=False)
class Draft:
    """A file in the making.

    Attributes
    ----------
    codecs : Codecs
        How objects are written.
    held : ExitStack
        What is kept as it is until the file is there.
    tensors : dict
        The arrays by name.
    where : str
        The part of the model that is being written, for names and errors.
    """

    codecs: Codecs
    held: ExitStack
    tensors: dict[str, Array] = field(default_factory=dict)
    where: str = ""

    def within(self, part: str | int) -> Draft:
        """The same file, and a part of this part."""
        return replace(self, where=f"{self.where}.{part}" if self.where else str(part))

    def array(self, name: str, array: Array) -> str:
        """Put an array into the file; the name by which it is found there."""
        full = self.within(name).where
        while full in self.tensors:  # parts may have names with dots
            full += "'"
        self.tensors[full] = array
        return full
