"""How the cost of learning one row grows with the rows held and with the margin."""

from __future__ import annotations

from functools import partial

from benchmarks.declarations import Measure, Row
from benchmarks.edits import EditTrial

SIZES = (1_000, 2_000, 5_000, 10_000, 20_000)

GROWTH = Measure(
    name="growth",
    unit="s",
    prepare=partial(EditTrial, learning=True, rows=1, times=100),
    rows=tuple(Row(f"synthetic-apart-{n}x20-C1") for n in SIZES),
    rivals=(),
    warm_up=False,
    at_most=3,
)
