"""Decision values of new rows: one object that never changes, and how the pairs vote."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from adiabat.estimators.kernel_choice import is_pairwise
from adiabat.kernels import Kernel, Linear, Lines, Rows, expansion

Array = NDArray[Any]


@dataclass(frozen=True, eq=False)
class Predictor:
    """What prediction needs: the support rows, made ready once, and their coefficients.

    Any number of threads may use one; a model that changes gets a new one.
    """

    kernel: Kernel
    support: Any
    weights: Array
    bias: Array
    origin: Array | None
    is_sparse: bool

    def values(self, X: Any) -> Array:
        """Decision values of the rows of X, one column for each machine."""
        rows = Rows(self._alike(X), self.origin)
        prepared = self.kernel.prepare(rows, np.float64)
        return expansion(self.kernel, prepared, self.support, self.weights) + self.bias

    def _alike(self, X: Any) -> Any:
        """X as dense or as sparse as the support rows."""
        if self.is_sparse:
            return sparse.csr_matrix(X)
        return X.toarray() if sparse.issparse(X) else X


def predictor_of(
    kernel: Kernel, rows: Rows, support: Array, weights: Array, bias: Array
) -> Predictor:
    """A predictor from coefficients (support rows by machines) and the rows they belong to."""
    prepared, weights = _support_side(kernel, rows, support, weights)
    return Predictor(kernel, prepared, weights, bias, rows.origin, sparse.issparse(rows.values))


def _support_side(kernel: Kernel, rows: Rows, support: Array, weights: Array) -> tuple[Any, Array]:
    """The support rows for this kernel, and what each of them weighs."""
    if is_pairwise(kernel):  # the values are on the other side; here are only the columns
        return Lines(None, support, np.float64), weights
    own = rows.take(support)
    if isinstance(kernel, Linear):  # one row for each machine, its weight vector
        own = Rows(normals(own, weights))
        weights = np.eye(weights.shape[1])
    if isinstance(kernel, Linear) and sparse.issparse(rows.values):
        own = Rows(sparse.csr_matrix(own.values))
    return kernel.prepare(own, np.float64), weights


def normals(rows: Rows, weights: Array) -> Array:
    """The weight vectors of linear machines, one in each row."""
    return np.asarray(weights.T @ rows.values)


def arranged(values: Array, classes: int, shape: str) -> Array:
    """Decision values in scikit-learn's shapes, from those of the machines."""
    if classes <= 2:
        return values[:, 0]
    return values if shape == "ovo" else one_vs_rest(values, classes)


def one_vs_rest(values: Array, classes: int) -> Array:
    """Votes of the pairs, and less than half a vote more or less for how clear they were."""
    votes, clearness = _tally(values >= 0.0, classes), np.zeros((len(values), classes))
    for k, (i, j) in enumerate(combinations(range(classes), 2)):
        clearness[:, i] += values[:, k]
        clearness[:, j] -= values[:, k]
    return votes + clearness / (3.0 * (np.abs(clearness) + 1.0))


def winners(values: Array, classes: int) -> Array:
    """The class of each row: the one with most votes, among equals the first."""
    if classes == 1:
        return np.zeros(len(values), dtype=np.int64)
    if classes == 2:
        return (values[:, 0] >= 0.0).astype(np.int64)
    return np.argmax(_tally(values > 0.0, classes), axis=1)


def decided(values: Array, classes: int, shape: str, *, break_ties: bool) -> Array:
    """The class of each row; equal numbers of votes go by clearness if ``break_ties``."""
    if break_ties and shape == "ovo":
        raise ValueError("break_ties: True with decision_function_shape='ovo'; wanted 'ovr' for it")
    if break_ties and classes > 2:
        return np.argmax(one_vs_rest(values, classes), axis=1)
    return winners(values, classes)


def _tally(first: Array, classes: int) -> Array:
    """How many pairs each class has won; ``first`` says where the first of the two did."""
    votes = np.zeros((len(first), classes))
    for k, (i, j) in enumerate(combinations(range(classes), 2)):
        votes[:, i] += first[:, k]
        votes[:, j] += ~first[:, k]
    return votes
