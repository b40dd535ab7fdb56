"""Seconds of learning or unlearning one row, averaged over 200 random ones, beside a refit."""

from __future__ import annotations

from benchmarks.declarations import Measure, Row, TimesBetter
from benchmarks.edits import against_refits

TIMES = 200
REFITS = 7
ROWS = (
    Row("pima-C1", TimesBetter("scikit-learn", 20, aim=40)),
    Row("synthetic-apart-5000x20-C1", TimesBetter("scikit-learn", 40, aim=150)),
    Row("synthetic-apart-20000x50-C1", TimesBetter("scikit-learn", 40, aim=300)),
)

LEARN_ONE = Measure(
    name="learn_one",
    unit="s",
    prepare=against_refits(learning=True, rows=1, times=TIMES, refits=REFITS),
    rows=ROWS,
    rivals=("scikit-learn",),
    warm_up=False,
    at_most=3,
)
UNLEARN_ONE = Measure(
    name="unlearn_one",
    unit="s",
    prepare=against_refits(learning=False, rows=1, times=TIMES, refits=REFITS),
    rows=ROWS,
    rivals=("scikit-learn",),
    warm_up=False,
    at_most=3,
)
