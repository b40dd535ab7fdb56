"""Two overlapping classes with noisy labels, of any size; RBF kernel with gamma = 1/d."""

from __future__ import annotations

from functools import partial

from sklearn.datasets import make_classification

from benchmarks.declarations import Data, Problem


def two_classes(n: int, d: int) -> Data:
    """Draw n rows of d columns, half of them informative, and standardise each column."""
    X, y = make_classification(
        n, d, n_informative=d // 2, flip_y=0.05, class_sep=0.7, random_state=0
    )
    return (X - X.mean(axis=0)) / X.std(axis=0), y


def synthetic(n: int, d: int, C: float, **settings: float) -> Problem:
    """Name a problem by its size and C."""
    return Problem(
        name=f"synthetic-{n}x{d}-C{C:g}",
        load=partial(two_classes, n, d),
        settings={"C": C, "gamma": 1 / d, **settings},
    )


TINY = synthetic(n=1_000, d=20, C=1)
SMALL = synthetic(n=5_000, d=20, C=1)
SMALL_STIFF = synthetic(n=5_000, d=20, C=100)
MIDDLE = synthetic(n=20_000, d=50, C=1)
MIDDLE_STIFF = synthetic(n=20_000, d=50, C=100)
LARGE = synthetic(n=50_000, d=50, C=1, cache_size=500)
