"""From the words of a user to a kernel: names, and what ``gamma`` means."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from adiabat.kernels import (
    RBF,
    Custom,
    Kernel,
    Linear,
    Polynomial,
    Precomputed,
    Sigmoid,
    is_given,
)

Array = NDArray[Any]

#: Makes a kernel of gamma, degree and coef0.
NAMED: dict[str, Callable[[float, int, float], Kernel]] = {
    "linear": lambda gamma, degree, coef0: Linear(),  # noqa: ARG005
    "poly": lambda gamma, degree, coef0: Polynomial(degree, gamma, coef0),
    "rbf": lambda gamma, degree, coef0: RBF(gamma),  # noqa: ARG005
    "sigmoid": lambda gamma, degree, coef0: Sigmoid(gamma, coef0),  # noqa: ARG005
}
#: What makes an object a kernel.
METHODS = ["prepare", "block", "diagonal"]

#: A standard deviation below this part of the largest entry is the rounding of a mean.
_ROUNDING = 32.0 * float(np.finfo(np.float64).eps)


def kernel_of(kernel: Any, gamma: float | None, degree: int, coef0: float) -> Kernel:
    """The kernel that a name, a kernel object or a callable stands for."""
    if isinstance(kernel, str):
        if gamma is None:
            return Precomputed()
        return NAMED[kernel](gamma, degree, coef0)
    if isinstance(kernel, type):
        raise TypeError(f"kernel: the class {kernel.__name__}; wanted an object of it")
    is_kernel = all(hasattr(kernel, method) for method in METHODS)
    return kernel if is_kernel else Custom(kernel)


def reads_gamma(kernel: Any) -> bool:
    """Whether a kernel has a name and a gamma."""
    return isinstance(kernel, str) and kernel not in ("linear", "precomputed")


def is_scaled(gamma: Any) -> bool:
    """Whether gamma depends on the rows."""
    return isinstance(gamma, str) and gamma == "scale"


def is_pairwise(kernel: Any) -> bool:
    """Whether rows are lines of a kernel matrix, for a kernel or the name of one."""
    return is_given(kernel) or (isinstance(kernel, str) and kernel == "precomputed")


def gamma_of(kernel: Any, gamma: float | str, values: Any, weight: Array) -> float | None:
    """gamma as a number for the kernels that have a name; the others carry their own.

    "scale" is one over the number of features and their variance, in which a row of weight 2
    counts as two rows.
    """
    if not isinstance(kernel, str) or kernel == "precomputed":
        return None
    if isinstance(gamma, Real):
        return float(gamma)
    features = int(values.shape[1])
    if gamma == "auto":
        return 1.0 / features
    largest, relative = _spread(values, weight)
    if relative <= _ROUNDING:
        return 1.0
    with np.errstate(over="ignore", under="ignore", divide="ignore"):
        scaled = float(1.0 / (features * np.square(largest * relative)))
    if not 0.0 < scaled < np.inf:
        raise ValueError(
            f"gamma: 'scale' gives {scaled} for these X, with entries up to {largest:.3g}; wanted "
            "scaled features, or a number for gamma"
        )
    return scaled


def _spread(values: Any, weight: Array) -> tuple[np.float64, np.float64]:
    """The size of the largest entry, and the weighted standard deviation of all, relative to it."""
    counts = weight > 0
    values, weight = values[counts], weight[counts] / weight.max()
    stored = values.data if sparse.issparse(values) else values
    largest = np.float64(np.abs(stored).max(initial=0.0))
    if largest == 0.0:
        return largest, largest
    entries, stored = values.shape[1] * weight.sum(), stored / largest
    if sparse.issparse(values):
        each = np.repeat(weight, np.diff(values.indptr))
        mean = each @ stored / entries
        squares = each @ (stored - mean) ** 2 + (entries - each.sum()) * mean**2
    else:
        mean = weight @ stored.sum(axis=1) / entries
        stored -= mean
        squares = weight @ np.einsum("ij,ij->i", stored, stored)
    return largest, np.sqrt(squares / entries)
