"""scikit-learn's SVC with its default tolerance and a cache that holds all rows it wants."""

from __future__ import annotations

from typing import Any

from benchmarks.declarations import Contestant


def make(**settings: Any) -> Any:
    """Build sklearn.svm.SVC; a problem may ask for a smaller cache."""
    from sklearn.svm import SVC

    return SVC(**{"tol": 1e-3, "cache_size": 2000, **settings})


SCIKIT_LEARN = Contestant("scikit-learn", distribution="scikit-learn", make=make)
