"""Two overlapping classes with noisy labels, of any size; RBF kernel with gamma = 1/d."""

from __future__ import annotations

from functools import partial

from sklearn.datasets import make_classification

from benchmarks.declarations import Data, Problem


def two_classes(n: int, d: int, separation: float) -> Data:
    """Draw n rows of d columns, half of them informative, and standardise each column."""
    X, y = make_classification(
        n, d, n_informative=d // 2, flip_y=0.05, class_sep=separation, random_state=0
    )
    return (X - X.mean(axis=0)) / X.std(axis=0), y


def synthetic(n: int, d: int, C: float, **settings: float) -> Problem:
    """Name a problem by its size and C."""
    return Problem(
        name=f"synthetic-{n}x{d}-C{C:g}",
        load=partial(two_classes, n, d, 0.7),
        settings={"C": C, "gamma": 1 / d, **settings},
    )


def apart(n: int, d: int) -> Problem:
    """The same with classes that overlap less, class_sep = 1."""
    return Problem(
        name=f"synthetic-apart-{n}x{d}-C1",
        load=partial(two_classes, n, d, 1.0),
        settings={"C": 1.0, "gamma": 1 / d},
    )


TINY = synthetic(n=1_000, d=20, C=1)
SMALL = synthetic(n=5_000, d=20, C=1)
SMALL_STIFF = synthetic(n=5_000, d=20, C=100)
MIDDLE = synthetic(n=20_000, d=50, C=1)
MIDDLE_STIFF = synthetic(n=20_000, d=50, C=100)
LARGE = synthetic(n=50_000, d=50, C=1, cache_size=500)

APART_1000 = apart(n=1_000, d=20)
APART_2000 = apart(n=2_000, d=20)
APART_5000 = apart(n=5_000, d=20)
APART_10000 = apart(n=10_000, d=20)
APART_20000 = apart(n=20_000, d=20)
APART_WIDE = apart(n=20_000, d=50)
