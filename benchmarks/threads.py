"""One thread for everybody, and a check that it is so.

Thread pools read their size when their library is loaded, so ``pin`` has to run before numpy is
imported. Child processes inherit the environment.
"""

from __future__ import annotations

import gc
import os
import time
from collections.abc import Callable

POOLS = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "NUMBA_NUM_THREADS",
)


class TooManyThreadsError(RuntimeError):
    """Something runs on more than one thread, so no ratio would be fair."""


def pin() -> None:
    """Ask every pool for one thread; a library that ignores this is caught by the checks."""
    os.environ.update(dict.fromkeys(POOLS, "1"))


def verify() -> list[str]:
    """Describe the thread pools now loaded; raise when one of them is wider than one thread."""
    from threadpoolctl import threadpool_info

    pools = threadpool_info()
    wide = [pool["prefix"] for pool in pools if pool["num_threads"] != 1]
    if wide:
        raise TooManyThreadsError(f"thread pools wider than one thread: {', '.join(wide)}")
    names = (f"{p['internal_api']} {p['version']} {p.get('architecture', '')}" for p in pools)
    return sorted({name.replace(" None", "").strip() for name in names})


class Stopwatch:
    """Wall-clock time of several calls, refused if they used more than one core.

    The processor time of a process counts all of its threads, also those of pools that
    threadpoolctl does not know.
    """

    def __init__(self) -> None:
        self._elapsed = self._used = 0.0

    def time(self, call: Callable[[], object]) -> None:
        """Add one call."""
        used_before, before = time.process_time(), time.perf_counter()
        call()
        self._elapsed += time.perf_counter() - before
        self._used += time.process_time() - used_before

    @property
    def seconds(self) -> float:
        """What all of them took."""
        if self._used > 1.1 * self._elapsed + 0.02:
            cores = self._used / self._elapsed
            raise TooManyThreadsError(f"used {cores:.1f} cores where one is allowed")
        return self._elapsed


def seconds(call: Callable[[], object]) -> float:
    """Wall-clock time of one call, refused if the process used more than one core meanwhile."""
    gc.collect()
    watch = Stopwatch()
    watch.time(call)
    return watch.seconds
