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
    if not any(Path(str(loop.stats.cache_path)).glob(f"{module}.{function.__name__}-*.nbi")):
        announce()
    return loop


@cache
def announce() -> None:
    """Say once that first calls will take seconds: some loop is not in the cache yet."""
    message = "compiling its loops for this machine, once; later runs take them from a cache"
    logger.info(message)
    if not logger.isEnabledFor(logging.INFO) and sys.stderr.isatty():
        sys.stderr.write(f"adiabat: {message}\n")
