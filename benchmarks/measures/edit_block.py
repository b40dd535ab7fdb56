"""Seconds of learning or unlearning a block of 100 random rows in one call, beside a refit."""

from __future__ import annotations

from benchmarks.declarations import Measure, Row
from benchmarks.edits import against_refits

BLOCK = 100
ROWS = (
    Row("pima-C1"),
    Row("synthetic-apart-5000x20-C1"),
    Row("synthetic-apart-20000x50-C1"),
)

LEARN_BLOCK = Measure(
    name="learn_block",
    unit="s",
    prepare=against_refits(learning=True, rows=BLOCK, times=1, refits=1),
    rows=ROWS,
    rivals=("scikit-learn",),
    at_most=3,
)
UNLEARN_BLOCK = Measure(
    name="unlearn_block",
    unit="s",
    prepare=against_refits(learning=False, rows=BLOCK, times=1, refits=1),
    rows=ROWS,
    rivals=("scikit-learn",),
    at_most=3,
)
