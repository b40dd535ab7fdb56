"""Progress of long work."""

from __future__ import annotations

import logging
import sys
import time

logger = logging.getLogger("adiabat")


class Monitor:
    """One line now and then: phase, iterations, gap, seconds.

    Parameters
    ----------
    verbose : bool
        Write the lines to standard error; they are logged at DEBUG in any case.
    every : float
        Seconds between two lines.
    """

    def __init__(self, *, verbose: bool = False, every: float = 0.5) -> None:
        self.verbose = verbose
        self.every = every
        self.started = self._last = time.perf_counter()
        self.steps = 0

    def report(self, phase: str, steps: int, gap: float) -> None:
        self.steps = max(self.steps, steps)
        self.arrived(phase, steps, f"gap {gap:9.2e}")

    def arrived(self, phase: str, steps: int, where: str) -> None:
        """Say where the work has come to."""
        self.say(f"{phase:<14} {steps:>9,} steps   {where}")

    def say(self, words: str, *, last: bool = False) -> None:
        """Write a line and the time, if it is time for one or nothing will come any more."""
        now = time.perf_counter()
        if now - self._last < self.every and not last:
            return
        self._last = now
        line = f"{words}   {now - self.started:7.1f} s"
        logger.debug(line)
        if self.verbose:
            sys.stderr.write(f"adiabat: {line}\n")
