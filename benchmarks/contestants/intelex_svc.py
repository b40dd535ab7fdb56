"""The SVC of scikit-learn-intelex, imported by itself: scikit-learn is not patched."""

from __future__ import annotations

from typing import Any

from benchmarks.declarations import Contestant


def make(**settings: Any) -> Any:
    """Build sklearnex.svm.SVC on one thread; its pool reads no environment variable."""
    import daal4py
    from sklearnex.svm import SVC

    daal4py.daalinit(1)
    if daal4py.num_threads() != 1:
        raise RuntimeError("daal4py.daalinit(1) did not take effect")
    return SVC(**{"tol": 1e-3, "cache_size": 2000, **settings})


def describe(model: Any) -> str:
    """Say so when the work was handed back to scikit-learn."""
    return "" if hasattr(model, "_onedal_estimator") else "fell back to scikit-learn"


INTELEX = Contestant(
    "scikit-learn-intelex", distribution="scikit-learn-intelex", make=make, describe=describe
)
