"""Which objects a file can hold: a table of their classes, and nothing that is not in it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Protocol

from adiabat.errors import ModelFileError

if TYPE_CHECKING:
    from adiabat.persistence.draft import Draft
    from adiabat.persistence.fields import Fields

#: The part of an object in a header that says what it is.
KIND = "kind"


class Codec(Protocol):
    """How the objects of one class are written and read."""

    @property
    def type(self) -> type:
        """The class; objects of its subclasses are others."""

    @property
    def name(self) -> str:
        """What its objects are called in a file."""

    def packed(self, thing: Any, draft: Draft) -> dict[str, Any]:
        """What the header says of an object; its arrays go to the draft."""

    def read(self, fields: Fields) -> Any:
        """The object, after all that it is made of was looked at."""


class Codecs:
    """All of them.

    Parameters
    ----------
    codecs : iterable of Codec
        One for each class, with a name of its own in the file.
    """

    def __init__(self, codecs: Iterable[Codec]) -> None:
        self._by_type = {codec.type: codec for codec in codecs}
        self._by_name = {codec.name: codec for codec in self._by_type.values()}

    def packed(self, thing: Any, draft: Draft) -> dict[str, Any]:
        """What the header says of an object."""
        codec = self._by_type.get(type(thing))
        if codec is None:
            raise ModelFileError(
                f"{draft.where}: a file cannot hold a {type(thing).__module__}."
                f"{type(thing).__name__}; wanted one of {', '.join(sorted(self._by_name))}"
            )
        return {KIND: codec.name, **codec.packed(thing, draft)}

    def read(self, fields: Fields) -> Any:
        """The object that the header speaks of."""
        name = fields.text(KIND)
        if name not in self._by_name:
            fields.refuse(KIND, name, f"one of {', '.join(sorted(self._by_name))}")
        return self._by_name[name].read(fields)
