"""By which factor eight reading threads are slowed while another one changes the model."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Event

from benchmarks.declarations import Below, Contestant, Measure, Problem, Row
from benchmarks.edits import Edited

READERS, BLOCK, EDITS = 8, 200, 1_000


class ReadersTrial:
    """Readers predict blocks of rows without pause, with a writer and without."""

    def __init__(self, contestant: Contestant, problem: Problem) -> None:
        self.contestant = contestant
        self.edited = Edited(contestant, problem)
        self.edited.begin()
        self.queries = self.edited.X[:BLOCK]
        self.alone = self.beside = self.writing = 0.0

    def run(self) -> float:
        """Read beside the writer, then for as long without it."""
        self.beside, self.writing = self.rate_during(self.write)
        self.alone, _ = self.rate_during(lambda: time.sleep(self.writing))
        return self.alone / self.beside

    def rate_during(self, meanwhile: Callable[[], None]) -> tuple[float, float]:
        """Count the blocks that all readers finish in a second, and the seconds."""
        stop = Event()
        with ThreadPoolExecutor(READERS) as pool:
            counts: list[Future[int]] = [pool.submit(self.read, stop) for _ in range(READERS)]
            started = time.perf_counter()
            try:
                meanwhile()
            finally:
                stop.set()
            blocks = sum(count.result() for count in counts)
            elapsed = time.perf_counter() - started
        return blocks / elapsed, elapsed

    def read(self, stop: Event) -> int:
        """Predict until told to stop; how many blocks."""
        count = 0
        while not stop.is_set():
            self.edited.model.predict(self.queries)
            count += 1
        return count

    def write(self) -> None:
        """Unlearn and learn one row by turns."""
        for _ in range(EDITS // 2):
            self.edited.turn()

    def remark(self) -> str:
        """Show both rates, in rows, and how fast the writer was."""
        parts = (
            f"{self.alone * BLOCK:.3g} rows/s without the writer",
            f"{self.beside * BLOCK:.3g} rows/s with it",
            f"{EDITS} edits in {self.writing:.3g} s",
            self.contestant.describe(self.edited.model),
        )
        return ", ".join(parts)


READERS_BESIDE_A_WRITER = Measure(
    name="readers",
    unit="x slower",
    prepare=ReadersTrial,
    rows=(Row("synthetic-apart-5000x20-C1", Below(2, "x slower")),),
    rivals=(),
    warm_up=False,
    at_most=3,
)
