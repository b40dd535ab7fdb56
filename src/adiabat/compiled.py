"""How hot loops are compiled: arrays and scalars in, cached on disk, the GIL released."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from numba import njit

logger = logging.getLogger("adiabat")

#: Sums may be reordered and contracted, so that loops become vector instructions; infinity
#: keeps its meaning.
_FAST = {"nsz", "arcp", "contract", "reassoc", "nnan"}


def compiled(function: Callable[..., Any]) -> Any:
    """Compile at the first call, or take the code from the cache of an earlier process.

    Divisions are the processor's own: a check for zero keeps a loop from vector instructions.
    """
    loop = njit(cache=True, nogil=True, fastmath=_FAST, error_model="numpy")(function)
    module = function.__module__.rpartition(".")[2]
    pattern = f"{module}.{function.__name__}-*.nbi"
    if not drop_outdated(Path(str(loop.stats.cache_path)), pattern, newest_source()):
        announce()
    return loop


@cache
def newest_source() -> float:
    """When a file of this package was last written."""
    return max(file.stat().st_mtime for file in Path(__file__).parent.rglob("*.py"))


def drop_outdated(folder: Path, pattern: str, newest: float) -> int:
    """Remove what is older than the newest source; how many entries of the cache are left.

    A loop carries the code of those that it calls from other files, and Numba looks at its own
    file only.
    """
    left = 0
    for entry in folder.glob(pattern):
        if entry.stat().st_mtime < newest:
            entry.unlink(missing_ok=True)
        else:
            left += 1
    return left


@cache
def announce() -> None:
    """Say once that first calls will take seconds: some loop is not in the cache yet."""
    message = "compiling its loops for this machine, once; later runs take them from a cache"
    logger.info(message)
    if not logger.isEnabledFor(logging.INFO) and sys.stderr.isatty():
        sys.stderr.write(f"adiabat: {message}\n")
