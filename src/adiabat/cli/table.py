"""What a file of rows holds, before anybody has said which column is what."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from adiabat.cli.faults import InputError, listed

Array = NDArray[Any]

#: What stands in a cell that holds nothing.
_MISSING = {"", "na", "n/a", "nan", "null", "none", "?"}
#: A number as this program writes it itself, so that text and number are each other's image.
_WHOLE = re.compile(r"0|-?[1-9]\d{0,17}")


@dataclass(frozen=True, eq=False)
class Table:
    """Columns by name, and what is needed to say where a cell stands.

    Attributes
    ----------
    source : str
        What messages call the file.
    columns : dict
        An array for each column: of strings, or of numbers where the file's format knows.
    places : ndarray
        For each row its line, or its number, in the file.
    unit : str
        "line" or "row": what a place counts.
    matrix : ndarray, sparse matrix or None
        Features without names, where the format has such.
    target, id : str or None
        The columns that hold labels and ids by the format's own rules.
    counts_from : int or None
        The index that its first feature has in the file; None where features have no indices.
    """

    source: str
    columns: dict[str, Array]
    places: Array
    unit: str
    matrix: Any = None
    target: str | None = None
    id: str | None = None
    counts_from: int | None = None

    def __len__(self) -> int:
        return len(self.places)

    def at(self, row: int, name: str) -> str:
        """Where a cell stands, for the beginning of a sentence."""
        return f"{self.source}, {self.unit} {self.places[row]}, column {name!r}"

    def require(self, name: str, wanted_for: str) -> Array:
        """A column by its name."""
        if name not in self.columns:
            raise InputError(
                f"{self.source}: no column {name!r} for {wanted_for}; wanted one of "
                f"{listed(self.columns)}"
            )
        return self.columns[name]


def is_missing(cell: Any) -> bool:
    """Whether a cell holds nothing."""
    if isinstance(cell, str):
        return cell.strip().lower() in _MISSING
    return bool(cell != cell)  # noqa: PLR0124 - NaN


def number_of(cell: str) -> float | None:
    """The number that a cell shows; None where it shows none."""
    try:
        return None if "_" in cell else float(cell)
    except ValueError:
        return None


def id_of(cell: Any) -> Any:
    """An id as it is held: whole numbers as such, everything else as text.

    Text that does not come back from the number, like "007", stays text.
    """
    text = str(cell).strip()
    return int(text) if _WHOLE.fullmatch(text) else text


def is_text(column: Array) -> bool:
    """Whether a column holds words, or numbers that nobody has read yet."""
    return column.dtype.kind == "O"


def all_numbers(column: Array) -> Array | None:
    """A column as numbers; None where a cell is none."""
    if not is_text(column):
        return column.astype(np.float64)
    try:
        numbers = column.astype(np.float64)
    except ValueError:
        return None
    return None if any("_" in cell for cell in column) else numbers


def numbers(table: Table, name: str) -> Array:
    """A column of finite numbers, or the sentence that says which cell is none."""
    column = table.columns[name]
    found = all_numbers(column)
    if found is None or not np.isfinite(found).all():
        _refuse_first(table, name)
    return np.asarray(found)


def _refuse_first(table: Table, name: str) -> None:
    """Raise for the first cell of a column that is no finite number."""
    for row, cell in enumerate(table.columns[name].tolist()):
        if is_missing(cell):
            _refuse_missing(table, row, name)
        value = number_of(cell) if isinstance(cell, str) else cell
        if value is None:
            raise InputError(f"{table.at(row, name)}: {short(cell)} is not a number; wanted one")
        if not np.isfinite(value):
            raise InputError(f"{table.at(row, name)}: {cell}; wanted a finite number")


def words(table: Table, name: str) -> Array:
    """A column of text, or the sentence that says where there is none."""
    column = table.columns[name]
    if not is_text(column):
        column = np.array([_written(cell) for cell in column.tolist()], dtype=object)
    for row, cell in enumerate(column):
        if is_missing(cell):
            _refuse_missing(table, row, name)
    return column


def _written(number: float) -> str:
    """A number as text, the same whether its format calls it whole or not."""
    return str(int(number)) if float(number).is_integer() else str(number)


def _refuse_missing(table: Table, row: int, name: str) -> None:
    raise InputError(
        f"{table.at(row, name)}: no value there; wanted one (fill it in, take the row out of the "
        f"file, or leave the column out with --drop {name})"
    )


def short(cell: Any) -> str:
    """A cell for a sentence, not more of it than one can read."""
    text = repr(cell)
    return text if len(text) <= 40 else f"{text[:36]}...'"
