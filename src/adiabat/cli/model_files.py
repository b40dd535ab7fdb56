"""Models in files, with what their columns are."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import adiabat
from adiabat.cli.preparing import classifier_of
from adiabat.cli.reading import bytes_of
from adiabat.cli.roles import Roles
from adiabat.errors import ModelFileError
from adiabat.persistence.atomic import only_writer
from adiabat.persistence.saving import notes_of

#: The name of the note that says what columns are.
_NOTE = "columns"
_MEGA = 1_000_000


@dataclass(frozen=True, eq=False)
class Opened:
    """A model that was read from a file.

    Attributes
    ----------
    path : str
        Where it is.
    model : classifier or pipeline
        The model.
    roles : Roles
        What columns are to it.
    digest : str
        SHA-256 of the file.
    noted : Roles
        The same as ``roles``, as the file says it.
    """

    path: str
    model: Any
    roles: Roles
    digest: str
    noted: Roles

    @property
    def classifier(self) -> Any:
        return classifier_of(self.model)

    @property
    def width(self) -> int:
        return int(self.model.n_features_in_)

    def with_columns(self, *, id: str | None, target: str | None = None) -> Opened:  # noqa: A002
        """The same, with other names of the columns in today's file where there are any."""
        roles = replace(self.roles, id=id or self.roles.id, target=target or self.roles.target)
        return replace(self, roles=roles)

    def keep(self) -> str:
        """Put the model back into its file, as a whole or not at all; its digest there."""
        return write(self.model, self.noted, self.path)


def opened(path: str) -> Opened:
    """The model in a file."""
    digest = digest_of(path)
    model = adiabat.load(path)
    roles = _roles_of(path, model)
    return Opened(path, model, roles, digest, roles)


@contextmanager
def owned(path: str) -> Iterator[Opened]:
    """The same, while no other process may change the file."""
    bytes_of(path)  # a file that is not there is not to be locked
    with only_writer(Path(path)):
        yield opened(path)


def _roles_of(path: str, model: Any) -> Roles:
    """What columns are to a model; one that was not saved here says it by its features alone."""
    words = notes_of(path).get(_NOTE)
    if words is None:
        names = getattr(model, "feature_names_in_", None)
        return Roles(None, None, None if names is None else tuple(names.tolist()))
    try:
        return Roles.of_text(words)
    except (ValueError, TypeError, KeyError) as error:
        raise ModelFileError(f"{path}: the note on its columns is damaged") from error


def write(model: Any, roles: Roles, path: str) -> str:
    """Save a model; the digest of its file."""
    adiabat.save(model, path, notes={_NOTE: roles.as_text()})
    return digest_of(path)


def digest_of(path: str) -> str:
    """SHA-256 of a file."""
    return hashlib.sha256(bytes_of(path)).hexdigest()


def size_of(path: str) -> str:
    """How large a file is, for people."""
    size = Path(path).stat().st_size
    return f"{size / _MEGA:.1f} MB" if size >= _MEGA else f"{1000 * size / _MEGA:.1f} kB"
