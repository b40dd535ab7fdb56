"""What similarity is.

Most kernels here are an entrywise function of one matrix product,
``K(A, B) = finish(left(A) @ right(B).T)``. Writing them so leaves one BLAS call and one pass
over the result, for dense and sparse rows alike and in either precision.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import log2
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.spatial.distance import cdist

Array = NDArray[Any]

#: Rows and columns of one tile of kernel values: it stays in a core's own cache.
TILE_ROWS, TILE_COLUMNS = 256, 512
#: Columns that spread less than this part of the largest mean have a grid as if they did.
ORIGIN_GRID = 2.0**-20
#: Beyond this gamma |x|^2 a Gaussian's exponent is measured, not added up from products, ...
_FAR = 1e3
#: ... unless exp(-this) is all there is; so many pairs at once.
_NEGLIGIBLE, _PAIRS = 45.0, 8192
#: Kernel values that somebody gives may differ from their transpose by this part of the largest.
ASYMMETRY = 1e-8
#: The largest gamma |x|^2 that float32 can be asked to work with.
_FARTHEST = 1e30


@dataclass(frozen=True)
class Rows:
    """Examples as kernels see them: a dense array or a CSR matrix, and a common origin.

    Translation-invariant kernels measure from ``origin``, which keeps their squared
    distances accurate when all the data lie far from zero. Two sets of rows meet in a
    kernel only when they share it.
    """

    values: Any
    origin: Array | None = None

    def __len__(self) -> int:
        return int(self.values.shape[0])

    def take(self, index: Any) -> Rows:
        return Rows(self.values[index], self.origin)

    def dense(self) -> Array:
        return self.values.toarray() if sparse.issparse(self.values) else self.values

    def centred(self) -> Rows:
        """The same rows measured from the origin."""
        return self if self.origin is None else Rows(self.values - self.origin)

    def squared_norms(self) -> Array:
        if sparse.issparse(self.values):
            return np.asarray(self.values.multiply(self.values).sum(axis=1)).ravel()
        return np.einsum("ij,ij->i", self.values, self.values)

    def extended(self, factor: float, *columns: Any) -> Any:
        """``factor`` times the rows, with further columns (arrays or constants) at the right."""
        rows, features = self.values.shape
        if sparse.issparse(self.values):
            extra = _with_columns(np.empty((rows, len(columns))), 0, columns)
            return sparse.csr_matrix(sparse.hstack([self.values * factor, extra], format="csr"))
        wide = np.empty((rows, features + len(columns)))
        np.multiply(self.values, factor, out=wide[:, :features])
        return _with_columns(wide, features, columns)


def _with_columns(array: Array, first: int, columns: Any) -> Array:
    """The array with columns (arrays or constants) written to it from the first on."""
    for k, column in enumerate(columns):
        array[:, first + k] = column
    return array


def rows_of(X: Any) -> Rows:
    """Rows of a float64 array or CSR matrix; the origin of an array is near its mean.

    It is the mean on a grid as wide as the rows spread, which serves as well and keeps nothing
    of any single row.
    """
    if sparse.issparse(X) or X.shape[0] == 0:
        return Rows(X)
    mean, spread = X.mean(axis=0), 0.5 * X.max(axis=0) - 0.5 * X.min(axis=0)
    largest = float(np.abs(mean).max(initial=0.0))
    least = max(float(np.finfo(np.float64).tiny), ORIGIN_GRID * largest)
    grid = np.exp2(np.floor(np.log2(np.maximum(spread, least))))
    return Rows(X, np.round(mean / grid) * grid)


class Kernel(Protocol):
    """Similarity of rows. Prepared rows are what ``prepare`` made of them for this kernel."""

    @property
    def convex(self) -> bool | None:
        """Whether each of its matrices is positive semidefinite; None where that depends."""

    def prepare(self, rows: Rows, dtype: Any) -> Any:
        """The rows made ready, so that many blocks can be computed from them."""

    def block(self, a: Any, b: Any) -> Array:
        """Kernel values between two sets of prepared rows, one row for each of ``a``."""

    def diagonal(self, rows: Rows) -> Array:
        """K(x, x) in float64."""


@dataclass(frozen=True)
class Factors:
    """Rows as the two factors of a matrix product."""

    left: Any
    right: Any

    def __len__(self) -> int:
        return int(self.left.shape[0])

    def take(self, index: Any) -> Factors:
        return Factors(self.left[index], self.right[index])

    def parts(self) -> dict[str, Any]:
        """The arrays with a line for each row, by name."""
        return {"left": self.left, "right": self.right}

    def products(self, other: Factors) -> Array:
        """Inner products; the same to the last bit however many rows are asked for at once.

        BLAS has a way of its own for a single row, so that one is asked for twice.
        """
        if not sparse.issparse(self.left):
            if len(self) > 1 and len(other) > 1:
                return np.matmul(self.left, other.right.T)
            left = self.left if len(self) > 1 else np.concatenate([self.left] * 2)
            right = other.right if len(other) > 1 else np.concatenate([other.right] * 2)
            return np.matmul(left, right.T)[: len(self), : len(other)]
        return np.ascontiguousarray((self.left @ other.right.T).toarray())


class ProductKernel:
    """An entrywise function of inner products."""

    @property
    def convex(self) -> bool | None:
        return True

    def left(self, rows: Rows) -> Any:
        return rows.values

    def right(self, rows: Rows) -> Any:
        return rows.values

    def finish(self, products: Array) -> Array:
        """Kernel values from the products, written over them."""
        return products

    def prepare(self, rows: Rows, dtype: Any) -> Factors:
        return Factors(self.left(rows).astype(dtype), self.right(rows).astype(dtype))

    def block(self, a: Factors, b: Factors) -> Array:
        return self.finish(a.products(b))

    def diagonal(self, rows: Rows) -> Array:
        left, right = self.left(rows), self.right(rows)
        if sparse.issparse(left):
            return self.finish(np.asarray(left.multiply(right).sum(axis=1)).ravel())
        return self.finish(np.einsum("ij,ij->i", left, right))


@dataclass(frozen=True)
class Linear(ProductKernel):
    """x·x'."""


@dataclass(frozen=True)
class Polynomial(ProductKernel):
    """(gamma x·x' + coef0)^degree."""

    degree: int = 3
    gamma: float = 1.0
    coef0: float = 0.0

    @property
    def convex(self) -> bool | None:
        return True if self.coef0 >= 0 and self.gamma >= 0 else None

    def left(self, rows: Rows) -> Any:
        return rows.extended(self.gamma, self.coef0)

    def right(self, rows: Rows) -> Any:
        return rows.extended(1.0, 1.0)

    def finish(self, products: Array) -> Array:
        """By repeated squaring: a general power costs twenty times as much."""
        result, square, power = None, products, self.degree
        while power:
            if power & 1:
                result = square.copy() if result is None else np.multiply(result, square, result)
            power >>= 1
            if power:
                square = square * square
        return np.ones_like(products) if result is None else result


@dataclass(frozen=True)
class RBF(ProductKernel):
    """exp(-gamma |x - x'|^2); the papers' sigma^2 is 1/gamma."""

    gamma: float = 1.0

    def scaled(self, rows: Rows) -> tuple[Rows, float]:
        """The rows from the origin in units near 1/sqrt(gamma), and what that leaves of gamma.

        The unit is a power of two, so that nothing is rounded; and in it only those squares are
        out of range that have no say.
        """
        unit = self.unit
        return Rows(rows.centred().values * unit), self.gamma / unit / unit

    @property
    def unit(self) -> float:
        return 2.0 ** round(log2(self.gamma) / 2) if self.gamma > 0 else 1.0

    def prepare(self, rows: Rows, dtype: Any) -> Factors:
        with np.errstate(over="ignore"):  # such a row is far from all others, whatever its size
            rows, rest = self.scaled(rows)
            own = -rest * rows.squared_norms()
            left, right = rows.extended(2.0 * rest, own, 1.0), rows.extended(1.0, 1.0, own)
            factors = Factors(left.astype(dtype, copy=False), right.astype(dtype, copy=False))
        if dtype is np.float32 and -_own_exponents(factors).min(initial=0.0) > _FARTHEST:
            raise ValueError(
                f"gamma: {self.gamma:.3g} for rows so far apart that gamma |x - x'|^2 passes "
                f"{_FARTHEST:.0g}; wanted scaled features, or a smaller gamma"
            )
        return factors

    def block(self, a: Factors, b: Factors) -> Array:
        with np.errstate(over="ignore", invalid="ignore"):  # only rows far away; see _measure_anew
            exponents = a.products(b)
            self._measure_anew(exponents, a, b)
            return np.exp(exponents, out=exponents)

    def diagonal(self, rows: Rows) -> Array:
        return np.ones(len(rows))

    def _measure_anew(self, exponents: Array, a: Factors, b: Factors) -> None:
        """Exponents of pairs that are near each other and far from the origin, from differences.

        As a sum of products they would be off by the rounding of |x|^2.
        """
        own = _own_exponents(a)
        far = np.flatnonzero(own < -_FAR)
        if not len(far):
            return
        features = a.right.shape[1] - 2
        rest = self.gamma / self.unit / self.unit
        rounding = 8.0 * np.finfo(own.dtype).eps * (features + 2) * own[far]
        rows, columns = np.nonzero(~(exponents[far] <= (rounding - _NEGLIGIBLE)[:, None]))
        rows = far[rows]
        for k in range(0, len(rows), _PAIRS):
            i, j = rows[k : k + _PAIRS], columns[k : k + _PAIRS]
            apart = Rows(a.right[i][:, :features] - b.right[j][:, :features])
            exponents[i, j] = -rest * apart.squared_norms()


def _own_exponents(factors: Factors) -> Array:
    """-gamma |x|^2 of the rows; for sparse ones zeros where none of them is far."""
    right = factors.right
    if not sparse.issparse(right):
        return right[:, -1]
    if right.data.min(initial=0.0) >= -_FAR:
        return np.zeros(len(factors))
    return right[:, [right.shape[1] - 1]].toarray().ravel()


@dataclass(frozen=True)
class Sigmoid(ProductKernel):
    """tanh(gamma x·x' + coef0): not positive semidefinite in general."""

    gamma: float = 1.0
    coef0: float = 0.0

    @property
    def convex(self) -> bool | None:
        return None

    def left(self, rows: Rows) -> Any:
        return rows.extended(self.gamma, self.coef0)

    def right(self, rows: Rows) -> Any:
        return rows.extended(1.0, 1.0)

    def finish(self, products: Array) -> Array:
        return np.tanh(products, out=products)


@dataclass(frozen=True)
class ExponentialProduct(ProductKernel):
    """exp(gamma x·x') - 1 (002, eq. 21)."""

    gamma: float = 1.0

    def left(self, rows: Rows) -> Any:
        return rows.values * self.gamma

    def finish(self, products: Array) -> Array:
        return np.expm1(products, out=products)


@dataclass(frozen=True)
class Points:
    """Dense rows for kernels that need the rows themselves."""

    values: Any
    dtype: Any

    def __len__(self) -> int:
        return int(self.values.shape[0])

    def take(self, index: Any) -> Points:
        return Points(self.values[index], self.dtype)

    def parts(self) -> dict[str, Any]:
        """The array with a line for each row, by name."""
        return {"values": self.values}


@dataclass(frozen=True)
class Exponential:
    """exp(-gamma |x - x'|), no square (002, Figure 4).

    Distances come from differences: from inner products a distance of 0 would come out as
    about 1e-8, which this kernel, unlike the Gaussian, shows at full size.
    """

    gamma: float = 1.0

    @property
    def convex(self) -> bool | None:
        return True

    def prepare(self, rows: Rows, dtype: Any) -> Points:
        return Points(rows.dense(), dtype)

    def block(self, a: Points, b: Points) -> Array:
        distances = cdist(a.values, b.values)
        return np.exp(np.multiply(distances, -self.gamma, out=distances)).astype(a.dtype)

    def diagonal(self, rows: Rows) -> Array:
        return np.ones(len(rows))


@dataclass(frozen=True)
class Custom:
    """A callable ``function(A, B)`` that returns the matrix of similarities."""

    function: Callable[[Any, Any], Any]

    @property
    def convex(self) -> bool | None:
        return None

    def prepare(self, rows: Rows, dtype: Any) -> Points:
        return Points(rows.values, dtype)

    def block(self, a: Points, b: Points) -> Array:
        values = self.function(a.values, b.values)
        values = values.toarray() if sparse.issparse(values) else values
        values = np.array(values, dtype=a.dtype)
        if values.shape != (len(a), len(b)):
            raise ValueError(
                f"kernel: the callable returned shape {values.shape} "
                f"for {len(a)} and {len(b)} rows; wanted {(len(a), len(b))}"
            )
        if not np.isfinite(values).all():
            raise ValueError("kernel: the callable returned NaN or infinity; wanted finite numbers")
        return values

    def diagonal(self, rows: Rows) -> Array:
        points = self.prepare(rows, np.float64)
        singles = (points.take(slice(i, i + 1)) for i in range(len(rows)))
        return np.array([self.block(x, x)[0, 0] for x in singles])


@dataclass(frozen=True)
class Lines:
    """Lines of a given kernel matrix, and which of its columns belong to them."""

    values: Any
    column: Array
    dtype: Any

    def __len__(self) -> int:
        return len(self.column)

    def take(self, index: Any) -> Lines:
        values = None if self.values is None else self.values[index]
        return Lines(values, self.column[index], self.dtype)


@dataclass(frozen=True)
class Precomputed:
    """The rows are lines of a kernel matrix; line i belongs to column i."""

    @property
    def convex(self) -> bool | None:
        return None

    def prepare(self, rows: Rows, dtype: Any) -> Lines:
        return Lines(rows.dense(), np.arange(len(rows)), dtype)

    def block(self, a: Lines, b: Lines) -> Array:
        return np.take(a.values, b.column, axis=1).astype(a.dtype, copy=False)

    def diagonal(self, rows: Rows) -> Array:
        return np.asarray(rows.values.diagonal(), dtype=np.float64).copy()


@dataclass(frozen=True)
class Augmented:
    """Another kernel plus a constant: a machine without offset in the space (x, sqrt(c))."""

    kernel: Kernel
    constant: float = 1.0

    @property
    def convex(self) -> bool | None:
        return self.kernel.convex if self.constant >= 0 else None

    def prepare(self, rows: Rows, dtype: Any) -> Any:
        return self.kernel.prepare(rows, dtype)

    def block(self, a: Any, b: Any) -> Array:
        values = self.kernel.block(a, b)
        return np.add(values, values.dtype.type(self.constant), out=values)

    def diagonal(self, rows: Rows) -> Array:
        return self.kernel.diagonal(rows) + self.constant


def is_given(kernel: Kernel) -> bool:
    """Whether rows are lines of a kernel matrix."""
    inner = kernel.kernel if isinstance(kernel, Augmented) else kernel
    return isinstance(inner, Precomputed)


def made_ready(kernel: Kernel, rows: Rows, index: Array, columns: Array) -> tuple[Any, Array]:
    """Some of the rows prepared in float64, and their K(x, x).

    Lines of a kernel matrix have these columns.
    """
    some = own = rows.take(index)
    if is_given(kernel):
        some, own = Rows(some.values[:, columns]), Rows(some.values[:, index])
    return kernel.prepare(some, np.float64), kernel.diagonal(own)


def expansion(kernel: Kernel, a: Any, b: Any, weights: Array) -> Array:
    """``K(a, b) @ weights`` tile by tile, never holding more than one tile of K."""
    result = np.zeros((len(a), *weights.shape[1:]))
    for i in range(0, len(a), TILE_ROWS):
        rows = slice(i, i + TILE_ROWS)
        part = a.take(rows)
        for j in range(0, len(b), TILE_COLUMNS):
            columns = slice(j, j + TILE_COLUMNS)
            result[rows] += kernel.block(part, b.take(columns)) @ weights[columns]
    return result
