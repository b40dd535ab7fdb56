"""What is asked.

Minimise  1/2 a'Qa + p'a  subject to  y'a = r  and  0 <= a_i <= C_i,   Q = (y y') * K

(003, eq. 3.103-3.105; 004, eq. 3). Classification has p = -1 and r = 0. With a bias that is
fixed beforehand (002, section 2) the equality falls away.

Inside the solvers everything is said in signed coefficients theta = y * a, which takes the
labels out of every formula:

    minimise 1/2 theta'K theta - t'theta,   sum(theta) = r,   low <= theta <= high

with t = -y * p. The error of row i is e_i = t_i - (K theta)_i - b; in the words of 004,
g = -y * e. At the optimum e = 0 where theta is between its bounds, e <= 0 where it is at the
lower and e >= 0 where it is at the upper one (004, eq. 4).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from adiabat.gram import Gram

Array = NDArray[Any]


@dataclass(frozen=True)
class Problem:
    """A support vector machine's dual problem.

    Attributes
    ----------
    gram : Gram
        Kernel values of the rows.
    y : ndarray
        Labels, -1.0 or 1.0.
    bounds : ndarray
        Largest coefficient of each row, C_i; infinite for a hard margin, 0 for a row that
        is held and does not count.
    p : ndarray
        Linear term.
    total : float
        Right-hand side r of the equality.
    bias : float or None
        The bias where it is fixed beforehand; None where it is free.
    """

    gram: Gram
    y: Array
    bounds: Array
    p: Array
    total: float = 0.0
    bias: float | None = None

    def __len__(self) -> int:
        return len(self.y)

    @property
    def low(self) -> Array:
        return np.where(self.y > 0, 0.0, -self.bounds)

    @property
    def high(self) -> Array:
        return np.where(self.y > 0, self.bounds, 0.0)

    @property
    def target(self) -> Array:
        return -self.y * self.p

    @property
    def is_hard(self) -> bool:
        return bool(np.isinf(self.bounds).any())


def classification(gram: Gram, y: Array, bounds: Array, bias: float | None = None) -> Problem:
    """The problem of a support vector classifier (p = -1, r = 0)."""
    return Problem(gram, y, bounds, np.full(len(y), -1.0), 0.0, bias)
