"""A table from a path or from standard input, whatever its format."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path

from adiabat.cli.array_files import read_npz, read_parquet
from adiabat.cli.faults import InputError
from adiabat.cli.table import Table
from adiabat.cli.text_files import read_csv, read_svmlight, read_tsv

#: What stands for standard input, or output.
STANDARD = "-"

READERS: dict[str, Callable[[bytes, str], Table]] = {
    "csv": read_csv,
    "tsv": read_tsv,
    "parquet": read_parquet,
    "npz": read_npz,
    "svmlight": read_svmlight,
}
_ENDINGS = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".npz": "npz",
    ".svm": "svmlight",
    ".svmlight": "svmlight",
    ".libsvm": "svmlight",
}
_SVMLIGHT_LINE = re.compile(rb"\s*[-+\d.eE]+(\s+\d+:[-+\d.eE]+)+\s*(#.*)?(\r?\n|$)")


def read(path: str, kind: str | None = None) -> Table:
    """The table in a file, or from standard input where the path is ``-``.

    Parameters
    ----------
    path : str
        Where it is.
    kind : str, optional
        A name of ``READERS``; by default the ending of the path says it, or the content.

    Returns
    -------
    Table
        Its columns.
    """
    source = "standard input" if path == STANDARD else path
    data = bytes_of(path)
    kind = kind or _ENDINGS.get(Path(path).suffix.lower()) or _kind_of(data)
    if kind not in READERS:
        raise InputError(f"--format: {kind!r}; wanted one of {', '.join(READERS)}")
    if not data:
        raise InputError(f"{source}: the file is empty; wanted rows")
    try:
        return READERS[kind](data, source)
    except MemoryError as error:
        raise InputError(f"{source}: more than fits in memory; wanted a smaller file") from error


def bytes_of(path: str) -> bytes:
    """All that a file holds, or the sentence that says why it cannot be read."""
    if path == STANDARD:
        return sys.stdin.buffer.read()
    try:
        return Path(path).read_bytes()
    except FileNotFoundError as error:
        raise InputError(f"{path}: there is no such file") from error
    except IsADirectoryError as error:
        raise InputError(f"{path}: that is a directory; wanted a file") from error
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"{path}: cannot be read ({reason}); wanted a file") from error


def is_file(words: str) -> bool:
    """Whether words name a file; a long list of other things is none."""
    try:
        return Path(words).is_file()
    except (OSError, ValueError):
        return False


def _kind_of(data: bytes) -> str:
    """The format that content shows by itself."""
    if data.startswith(b"PAR1"):
        return "parquet"
    if data.startswith(b"PK\x03\x04"):
        return "npz"
    return "svmlight" if _SVMLIGHT_LINE.match(data) else "csv"
