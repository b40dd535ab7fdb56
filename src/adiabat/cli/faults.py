"""What was wrong with what came in from outside."""

from __future__ import annotations

from collections.abc import Iterable

from adiabat.errors import AdiabatError

#: So many of a long list are named.
_NAMED = 5


class InputError(AdiabatError, ValueError):
    """A file, a column or a cell that cannot be used, in one sentence that says which and why."""


def listed(names: Iterable[object]) -> str:
    """A few names for a sentence, as they would be written in a program."""
    everything = list(names)
    shown = ", ".join(repr(name) for name in everything[:_NAMED])
    more = len(everything) - _NAMED
    return f"{shown} and {more} more" if more > 0 else shown or "nothing"
