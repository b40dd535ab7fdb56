"""The proof of a trail: at every C that stands in it, from kernel values computed anew.

Between two of them coefficients, bias and so all errors are linear in C and the categories stay,
so that no condition is violated by more than at the ends.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from adiabat.adiabatic.keeper import Demand
from adiabat.adiabatic.trail import Trail
from adiabat.errors import SolverError
from adiabat.kernels import TILE_ROWS
from adiabat.margin_system import EPS

Array = NDArray[Any]

#: Numbers of coefficients that are looked at together, in as many places as that makes.
_NUMBERS, _PLACES = 4_000_000, 256
#: The bars of ``certificate.py``.
_FLOOR, _ROUNDINGS = 1e-9, 64.0


def proved(trail: Trail, demand: Demand) -> Array:
    """The largest violation of an optimality condition at each C of a trail.

    Raises
    ------
    SolverError
        Where it is more than rounding can cause.
    """
    every = np.arange(len(trail))
    prepared = demand.some(every, every)[0]
    at_once = max(1, min(_PLACES, _NUMBERS // max(len(trail), 1)))
    theta, bias = np.empty((at_once, len(trail))), np.empty(at_once)
    free = np.empty(theta.shape, dtype=bool)
    violations = np.empty(len(trail.C))
    for k, (coefficients, b, members) in enumerate(trail.walk(trail.C)):
        at = k % at_once
        theta[at], bias[at], free[at] = coefficients, b, False
        free[at, members] = True
        if at + 1 == at_once or k + 1 == len(trail.C):
            done = slice(0, at + 1)
            places = slice(k - at, k + 1)
            block = _Block(trail, demand, prepared, trail.C[places])
            violations[places] = block.checked(theta[done], bias[done], free[done])
    return violations


class _Block:
    """Some places of a trail."""

    def __init__(self, trail: Trail, demand: Demand, prepared: Any, C: Array) -> None:
        self.trail, self.demand, self.prepared, self.C = trail, demand, prepared, C

    def checked(self, theta: Array, bias: Array, free: Array) -> Array:
        """The violation at each place, none of them beyond its bar."""
        sums = np.abs(theta).sum(axis=1)
        if self.demand.bias is None:
            residual = np.abs(theta.sum(axis=1) - self.demand.total)
            self._require(residual, _ROUNDINGS * EPS * np.maximum(sums, 1.0), "the equality")
        support = np.flatnonzero(theta.any(axis=0))
        worst = np.zeros(len(theta))
        for i in range(0, len(self.trail), TILE_ROWS):
            lines = slice(i, min(i + TILE_ROWS, len(self.trail)))
            values = self._values(lines, support) @ theta[:, support].T
            values += bias
            np.subtract(self.demand.target[lines, None], values, out=values)
            wrong = self._wrong(values, lines, theta[:, lines].T, free[:, lines].T)
            np.maximum(worst, wrong, out=worst)
        doubtful = np.flatnonzero(worst > _FLOOR)
        if len(doubtful):
            bars = _FLOOR + _ROUNDINGS * EPS * self._magnitudes(theta, bias, support)
            self._require(worst, bars, "an optimality condition")
        return worst

    def _values(self, lines: slice, support: Array) -> Array:
        """Kernel values, computed anew."""
        block = self.demand.kernel.block(self.prepared.take(lines), self.prepared.take(support))
        return np.asarray(block)

    def _wrong(self, errors: Array, lines: slice, theta: Array, free: Array) -> Array:
        """By how much the worst row of some breaks its condition (004, eq. 4), at each place."""
        signed = self.trail.signed[lines, None]
        inner = free | ((theta != 0.0) & (theta != self.C * signed))
        rises = np.where(inner, np.abs(errors), 0.0).max(axis=0)
        errors *= np.sign(signed)  # reserve rows want none above zero, error rows none below
        at_bound = np.where(theta == 0.0, errors, -errors).max(axis=0)
        return np.maximum(rises, at_bound)

    def _magnitudes(self, theta: Array, bias: Array, support: Array) -> Array:
        """What the sums of the decision values are made of."""
        largest, sizes = np.zeros(len(theta)), np.abs(theta[:, support])
        for i in range(0, len(self.trail), TILE_ROWS):
            lines = slice(i, min(i + TILE_ROWS, len(self.trail)))
            parts = np.abs(self._values(lines, support)) @ sizes.T
            np.maximum(largest, parts.max(axis=0), out=largest)
        return largest + np.abs(bias)

    def _require(self, found: Array, bars: Array, condition: str) -> None:
        """Raise at the first place where something is beyond its bar."""
        beyond = np.flatnonzero(~(found <= bars))
        if len(beyond):
            at = beyond[0]
            raise SolverError(
                f"C: at {self.C[at]:g} the path violates {condition} by {found[at]:.3g}; wanted "
                f"{bars[at]:.3g} at most"
            )
