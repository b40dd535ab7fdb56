"""The machine and the versions a table was made with."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from benchmarks import threads

CPU_INFO = Path("/proc/cpuinfo")


def cpu_model() -> str:
    """Name the processor."""
    if CPU_INFO.exists():
        for line in CPU_INFO.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def memory_gigabytes() -> float:
    """Return the physical memory."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9


def load() -> float:
    """Return how many processes wanted to run in the last minute, on average."""
    return os.getloadavg()[0]


def describe(load_before: float) -> dict[str, str]:
    """Describe what the times depend on, once all libraries are loaded."""
    return {
        "processor": cpu_model(),
        "cores": str(os.cpu_count()),
        "memory": f"{memory_gigabytes():.1f} GB",
        "system": f"{platform.system()} {platform.machine()}",
        "load before and after": f"{load_before:.2f}, {load():.2f}",
        "thread pools, one thread each": ", ".join(threads.verify()),
    }


def versions(distributions: Iterable[str]) -> dict[str, str]:
    """Return the version of Python and of each distribution, or that it is not installed."""
    found = {"python": platform.python_version()}
    for name in distributions:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "not installed"
    return found
