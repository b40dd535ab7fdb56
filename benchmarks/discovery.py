"""Finds what the folders declare by importing their modules: a new file is all it takes."""

from __future__ import annotations

import pkgutil
from importlib import import_module
from typing import TypeVar

from benchmarks.declarations import Contestant, Measure, Problem

Kind = TypeVar("Kind", Problem, Contestant, Measure)


def _declared(folder: str, kind: type[Kind]) -> dict[str, Kind]:
    package = import_module(f"benchmarks.{folder}")
    found: dict[str, Kind] = {}
    for module in pkgutil.iter_modules(package.__path__):
        contents = vars(import_module(f"{package.__name__}.{module.name}"))
        for declaration in (value for value in contents.values() if isinstance(value, kind)):
            if found.setdefault(declaration.name, declaration) is not declaration:
                raise ValueError(f"two declarations in {folder}/ are called {declaration.name!r}")
    return found


def problems() -> dict[str, Problem]:
    """Every problem, by name."""
    return _declared("problems", Problem)


def contestants() -> dict[str, Contestant]:
    """Every contestant, by name, ours first."""
    found = _declared("contestants", Contestant)
    return dict(sorted(found.items(), key=lambda item: not item[1].ours))


def measures() -> dict[str, Measure]:
    """Every measure, by name."""
    return _declared("measures", Measure)
