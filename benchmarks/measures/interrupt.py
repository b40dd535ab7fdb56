"""Seconds from an interrupt in the middle of a long fit until KeyboardInterrupt surfaces."""

from __future__ import annotations

import signal
import subprocess
import time
from itertools import count

from benchmarks import child, discovery
from benchmarks.declarations import Below, Contestant, Measure, Problem, Row

READY = "ready"
GOLDEN = 0.618


def long_fit(contestant_name: str, problem_name: str) -> child.Answer:
    """Fit until done or interrupted, and say when that was on the clock all processes share."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    contestant = discovery.contestants()[contestant_name]
    problem = discovery.problems()[problem_name]
    X, y = problem.load()
    contestant.new(problem).fit(X[:200], y[:200])
    try:
        print(READY, flush=True)
        started = time.monotonic()
        contestant.new(problem).fit(X, y)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    except KeyboardInterrupt:
        return {"interrupted": time.monotonic()}
    return {"fit": time.monotonic() - started}


class InterruptTrial:
    """Interrupts at a different point of the fit each time, the first time in its middle."""

    def __init__(self, contestant: Contestant, problem: Problem) -> None:
        contestant.new(problem)
        self.contestant, self.problem = contestant, problem
        self.duration = child.run(long_fit, contestant, problem)["fit"]
        self.fractions = ((0.5 + GOLDEN * turn) % 1 for turn in count())

    def run(self) -> float:
        """Interrupt one fit; earlier, should it have ended before the signal."""
        delay = next(self.fractions) * self.duration
        while (latency := self.interrupt_after(delay)) is None:
            delay *= 0.9
        return latency

    def interrupt_after(self, delay: float) -> float | None:
        """Return the latency, or None when the fit ended first."""
        process = child.start(long_fit, self.contestant, self.problem)
        self.wait_until_ready(process)
        time.sleep(delay)
        sent = time.monotonic()
        process.send_signal(signal.SIGINT)
        surfaced = child.answer(process).get("interrupted")
        return None if surfaced is None else surfaced - sent

    @staticmethod
    def wait_until_ready(process: subprocess.Popen[str]) -> None:
        """Read up to the line that says the long fit begins."""
        assert process.stdout is not None
        for line in process.stdout:
            if line.strip() == READY:
                return

    def remark(self) -> str:
        """Say how long the fit is without the interrupt."""
        return f"worst of the repeats; the whole fit takes {self.duration:.3g} s"


INTERRUPT = Measure(
    name="interrupt",
    unit="s",
    prepare=InterruptTrial,
    rows=(Row("synthetic-20000x50-C100", Below(1, "s")),),
    rivals=(),
    warm_up=False,
    summary=max,
)
