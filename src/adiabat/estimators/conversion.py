"""A trained machine in the clothes of scikit-learn's own classifier."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn import svm

from adiabat.estimators.kernel_choice import is_pairwise
from adiabat.estimators.model import Model
from adiabat.kernels import RBF, Custom, Kernel, Linear, Polynomial, Precomputed, Rows, Sigmoid

Array = NDArray[Any]

#: The settings that both classifiers have and understand in the same way.
_SHARED = (
    "C",
    "shrinking",
    "tol",
    "cache_size",
    "class_weight",
    "verbose",
    "max_iter",
    "decision_function_shape",
    "break_ties",
    "random_state",
)


@dataclass(frozen=True)
class KernelFunction:
    """A kernel as a function of two arrays, for those who know callables only.

    Examples
    --------
    >>> from adiabat.kernels import Exponential
    >>> KernelFunction(Exponential(gamma=1.0))([[0.0]], [[0.0], [1.0]]).round(3)
    array([[1.   , 0.368]])
    """

    kernel: Kernel

    def __call__(self, A: Any, B: Any) -> Array:
        """Kernel values, one row for each row of A."""
        a, b = (self.kernel.prepare(Rows(_floats(X)), np.float64) for X in (A, B))
        return self.kernel.block(a, b)


def _floats(X: Any) -> Any:
    return X.tocsr() if sparse.issparse(X) else np.asarray(X, dtype=np.float64)


def kernel_settings(kernel: Kernel) -> dict[str, Any]:
    """scikit-learn's words for a kernel."""
    words: dict[str, Any]
    match kernel:
        case Precomputed():
            words = {"kernel": "precomputed"}
        case Linear():
            words = {"kernel": "linear"}
        case RBF(gamma):
            words = {"kernel": "rbf", "gamma": gamma}
        case Polynomial(degree, gamma, coef0):
            words = {"kernel": "poly", "degree": degree, "gamma": gamma, "coef0": coef0}
        case Sigmoid(gamma, coef0):
            words = {"kernel": "sigmoid", "gamma": gamma, "coef0": coef0}
        case Custom(function):
            words = {"kernel": function}
        case _ if is_pairwise(kernel):
            raise ValueError(f"to_sklearn: {kernel} has no counterpart; wanted a kernel of rows")
        case _:
            words = {"kernel": KernelFunction(kernel)}
    return words


def as_scikit_learn(estimator: Any, model: Model) -> svm.SVC:
    """A fitted ``sklearn.svm.SVC`` with the same coefficients, bias and support rows."""
    if len(model.examples.classes) < 2:
        raise ValueError("to_sklearn: the model has one class; sklearn.svm.SVC wants two or more")
    shared = {name: getattr(estimator, name) for name in _SHARED}
    twin = svm.SVC(**shared, **kernel_settings(model.kernel))
    vars(twin).update(_shown(estimator), **_internal(estimator, model, twin.kernel))
    if callable(twin.kernel):
        vars(twin).update(_support_only(model))
    return twin


def _shown(estimator: Any) -> dict[str, Any]:
    """Attributes that mean the same in both."""
    names = (
        "classes_",
        "class_weight_",
        "n_features_in_",
        "feature_names_in_",
        "support_",
        "support_vectors_",
        "dual_coef_",
        "intercept_",
        "shape_fit_",
        "fit_status_",
    )
    return {name: getattr(estimator, name) for name in names if hasattr(estimator, name)}


def _internal(estimator: Any, model: Model, kernel: Any) -> dict[str, Any]:
    """What scikit-learn hands to libsvm, where with two classes the signs are the other way."""
    sign = -1.0 if len(model.examples.classes) == 2 else 1.0
    is_sparse = sparse.issparse(model.examples.rows.values) and not callable(kernel)
    dual = estimator.dual_coef_
    internal = {
        "_sparse": is_sparse,
        "_n_support": estimator.n_support_,
        "_dual_coef_": sign * dual,
        "_intercept_": sign * estimator.intercept_,
        "_gamma": getattr(model.kernel, "gamma", 0.0),
        "_probA": np.empty(0),
        "_probB": np.empty(0),
        "_effective_probability": False,
        "_num_iter": estimator.n_iter_.astype(np.int32),
        "n_iter_": estimator.n_iter_.astype(np.int32),
    }
    if is_sparse:
        internal["dual_coef_"] = _full_csr(dual)
        internal["_dual_coef_"] = _full_csr(sign * dual)
        internal["support_vectors_"] = _with_short_indices(estimator.support_vectors_)
    return internal


def _full_csr(dual: Array) -> Any:
    """A sparse matrix that stores its zeros too: libsvm reads the plain entries."""
    machines, count = dual.shape
    columns = np.tile(np.arange(count, dtype=np.int32), machines)
    starts = np.arange(machines + 1, dtype=np.int32) * count
    return sparse.csr_matrix((dual.ravel(), columns, starts), shape=dual.shape)


def _with_short_indices(rows: Any) -> Any:
    indices, starts = (part.astype(np.int32) for part in (rows.indices, rows.indptr))
    return sparse.csr_matrix((rows.data, indices, starts), shape=rows.shape)


def _support_only(model: Model) -> dict[str, Any]:
    """For a callable, rows to call it with: scikit-learn keeps them under this name."""
    count = len(model.support)
    rows = model.examples.rows.take(model.support).values
    return {
        "_BaseLibSVM__Xfit": rows,
        "support_": np.arange(count, dtype=np.int32),
        "support_vectors_": np.empty((0, 0)),
        "shape_fit_": rows.shape,
    }
