"""Tables from text: CSV, TSV and svmlight."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from adiabat.cli.faults import InputError, listed
from adiabat.cli.table import Table, number_of, short

Array = NDArray[Any]

#: What may stand between the columns, if the first line says so.
_SEPARATORS = (",", ";", "\t")
#: Characters of the longest cell.
_LONGEST_CELL = 100_000
#: The largest index of a feature: a dense line of as many numbers has to fit in memory.
_MOST_FEATURES = 10_000_000


def text_of(data: bytes, source: str) -> str:
    """Bytes as text, or the sentence that says why they are none."""
    if not data.strip():
        raise InputError(f"{source}: the file is empty; wanted rows")
    at = data.find(b"\0")
    if at >= 0:
        raise InputError(f"{source}: byte {at} is 0, so that this is no text; wanted a text file")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputError(
            f"{source}, line {line}: byte {error.start} is no UTF-8 text; wanted a text file in "
            "UTF-8"
        ) from error


def read_csv(data: bytes, source: str) -> Table:
    """A table with a line of names and a line for each row, separated by comma, ; or tab."""
    text = text_of(data, source)
    first = text.lstrip().split("\n", 1)[0]
    return _delimited(text, source, max(_SEPARATORS, key=first.count))


def read_tsv(data: bytes, source: str) -> Table:
    """The same, separated by tabs."""
    return _delimited(text_of(data, source), source, "\t")


def _delimited(text: str, source: str, separator: str) -> Table:
    lines = _lines(text, source, separator)
    place, names = next(lines)
    _check_names(names, source, place)
    places, rows = [], []
    for place, cells in lines:
        if len(cells) != len(names):
            raise InputError(
                f"{source}, line {place}: {len(cells)} cells; wanted {len(names)}, as many as the "
                "first line has names"
            )
        places.append(place)
        rows.append(cells)
    if not rows:
        raise InputError(f"{source}: only the names of columns, no row; wanted rows")
    grid = np.array(rows, dtype=object)
    columns = {name: grid[:, k] for k, name in enumerate(names)}
    return Table(source, columns, np.array(places), "line")


def _lines(text: str, source: str, separator: str) -> Iterator[tuple[int, list[str]]]:
    """The lines that hold something: their numbers and their cells."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    try:
        for cells in reader:
            if not cells:
                continue
            if max(map(len, cells)) > _LONGEST_CELL:
                raise InputError(
                    f"{source}, line {reader.line_num}: a cell of {max(map(len, cells)):,} "
                    f"characters; wanted {_LONGEST_CELL:,} at most"
                )
            yield reader.line_num, [cell.strip() for cell in cells]
    except csv.Error as error:
        raise InputError(
            f"{source}, line {reader.line_num}: {error}; wanted cells separated by {separator!r}, "
            'and a cell in "quotes" where it holds one'
        ) from error


def _check_names(names: list[str], source: str, place: int) -> None:
    where = f"{source}, line {place}"
    if all(number_of(name) is not None for name in names):
        raise InputError(f"{where}: {short(names[0])} is a number; wanted the names of the columns")
    if "" in names:
        raise InputError(
            f"{where}: column {names.index('') + 1} has no name; wanted a name for each column"
        )
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise InputError(f"{where}: column {listed(twice)} stands there twice; wanted each once")


def read_svmlight(data: bytes, source: str) -> Table:
    """Rows of a label and ``index:value`` pairs; indices count from 0 if one of them is 0."""
    places: list[int] = []
    labels: list[float] = []
    indices: list[int] = []
    values: list[float] = []
    starts = [0]
    for place, line in enumerate(text_of(data, source).splitlines(), start=1):
        tokens = line.partition("#")[0].split()
        if not tokens:
            continue
        where = f"{source}, line {place}"
        places.append(place)
        labels.append(_label(tokens[0], where))
        before = -1
        for token in tokens[1:]:
            before, value = _pair(token, before, where)
            indices.append(before)
            values.append(value)
        starts.append(len(indices))
    if not places:
        raise InputError(f"{source}: no row in it; wanted rows like '1 1:0.5 3:2'")
    if not indices:
        raise InputError(f"{source}: no feature in any row; wanted rows like '1 1:0.5 3:2'")
    first = 0 if 0 in indices else 1
    columns_of, shape = np.array(indices) - first, (len(places), max(indices) + 1 - first)
    matrix = sparse.csr_matrix((values, columns_of, starts), shape=shape, dtype=np.float64)
    labelled = {"y": np.array(labels)}
    return Table(source, labelled, np.array(places), "line", matrix, target="y", counts_from=first)


def _label(token: str, where: str) -> float:
    label = number_of(token)
    if label is None or not np.isfinite(label):
        raise InputError(f"{where}: {short(token)} is no label; wanted a number, as in '1 1:0.5'")
    return label


def _pair(token: str, before: int, where: str) -> tuple[int, float]:
    """Index and value, the index behind the one before."""
    left, colon, right = token.partition(":")
    value = number_of(right)
    if not colon or not (left.isascii() and left.isdigit()) or value is None:
        raise InputError(f"{where}: {short(token)} is no feature; wanted index:value, as in 3:0.5")
    if not np.isfinite(value):
        raise InputError(f"{where}: {short(token)} is not finite; wanted a finite number")
    index = int(left) if len(left) < 20 else _MOST_FEATURES + 1
    if index > _MOST_FEATURES:
        raise InputError(f"{where}: index {short(left)}; wanted {_MOST_FEATURES:,} at most")
    if index <= before:
        raise InputError(f"{where}: index {index} behind {before}; wanted indices in order")
    return index, value
