"""How hot loops are compiled: arrays and scalars in, cached on disk, the GIL released."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from numba import njit

logger = logging.getLogger("adiabat")

#: Sums may be reordered and contracted, so that loops become vector instructions; infinity
#: keeps its meaning.
_FAST = {"nsz", "arcp", "contract", "reassoc", "nnan"}


def compiled(function: Callable[..., Any]) -> Any:
    """Compile at the first call, or take the code from the cache of an earlier process."""
    return njit(cache=True, nogil=True, fastmath=_FAST)(function)
