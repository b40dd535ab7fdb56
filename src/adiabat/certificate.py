"""The proof that goes with a model: computed from data, coefficients and bias alone.

Nothing here knows how the coefficients were found. Kernel values are computed anew, in
float64; sums over the rows that decide are taken in the widest floating type there is.

How far the decision values can be from the optimum's: the weights by ``optimum_distance``; the
bias is a weighted quantile of the rows' open errors and moves by no more than they do.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigvalsh

from adiabat.gram import Gram
from adiabat.optimum_distance import EPS, Examination
from adiabat.problem import Problem
from adiabat.solution import canonical_bias, violations

Array = NDArray[Any]
#: Largest number of rows on which definiteness of a kernel matrix is decided by eigenvalues.
_SPECTRUM_ROWS = 4000


@dataclass(frozen=True)
class Certificate:
    """What is proved about a model.

    Attributes
    ----------
    kkt_violation : float
        Largest violation of an optimality condition over the three categories.
    kkt_bar : float
        What rounding alone can cause: 1e-9 + 64 eps max_i(sum_j |alpha_j K_ij| + |b|).
    equality_residual : float
        abs(sum y alpha), 0 with a fixed bias.
    equality_bar : float
        What rounding alone can cause there.
    primal, dual, duality_gap, relative_gap : float
        Objective values of model and proof; the optimum lies between them.
    decision_error_bound : float
        No decision value on the rows held is further than this from the optimal machine's, for
        kernel values as float64 gives them.
    bound_from : str
        "margin system" or "duality gap": where the bound comes from.
    margin : float
        1 / |w|, the distance of the margin from the boundary in feature space.
    convex : bool
        False where the kernel is not positive semidefinite on these rows: then there is no
        unique optimum and the model is a stationary point. A kernel that does not know it is
        judged by eigenvalues, on 4,000 rows at the most.
    n_margin, n_error, n_reserve : int
        Rows of each category.
    scale : float
        max(1, max |f|) over the rows.
    """

    kkt_violation: float
    kkt_bar: float
    equality_residual: float
    equality_bar: float
    primal: float
    dual: float
    duality_gap: float
    relative_gap: float
    decision_error_bound: float
    bound_from: str
    margin: float
    convex: bool
    n_margin: int
    n_error: int
    n_reserve: int
    scale: float

    def holds(self, tol: float = 1e-8) -> bool:
        """Whether the model is the optimum: its decision values to ``tol * scale``."""
        return bool(
            self.convex
            and self.kkt_violation <= self.kkt_bar
            and self.equality_residual <= self.equality_bar
            and self.decision_error_bound <= tol * self.scale
        )

    def __str__(self) -> str:
        verdict = "optimal" if self.holds() else "not proved optimal"
        if not self.convex:
            verdict = "a stationary point: this kernel is indefinite and has no unique optimum"
        return (
            f"{verdict}; decision values within {self.decision_error_bound:.1e} of the "
            f"optimum's (from the {self.bound_from}), violation {self.kkt_violation:.1e}, "
            f"gap {self.duality_gap:.1e}, {self.n_margin} margin, {self.n_error} error and "
            f"{self.n_reserve} reserve rows"
        )


def is_convex(case: Examination) -> bool:
    """Whether the kernel is positive semidefinite on the rows that count."""
    gram = case.problem.gram
    if gram.kernel.convex is not None:
        return gram.kernel.convex
    rows = np.flatnonzero(case.counts)
    return is_definite(gram, rows if len(rows) <= _SPECTRUM_ROWS else case.support)


def is_definite(gram: Gram, rows: Array) -> bool:
    """Whether the kernel matrix of some rows, of the first of them if they are too many, is."""
    rows = rows[:_SPECTRUM_ROWS]
    matrix = gram.block(rows, rows)
    spectrum = eigvalsh(0.5 * (matrix + matrix.T))
    return bool(spectrum[0] >= -1e-12 * len(rows) * max(spectrum[-1], 0.0))


def decision_error(case: Examination, gap: float) -> tuple[float, str]:
    """How far a decision value can be from the optimum's, and what says so."""
    distance, shift, source = case.distance(gap)
    offset = abs(canonical_bias(case.problem, case.points) - case.bias)
    moved = case.reach * (distance + case.excess)
    return case.rounding + offset + shift + moved, source


def certify(problem: Problem, theta: Array, bias: float) -> Certificate:
    """The certificate of coefficients and bias for a problem."""
    case = Examination(problem, theta, bias)
    dual, gap = case.objectives()
    bound, source = decision_error(case, gap)
    free = case.free
    return Certificate(
        kkt_violation=float(violations(problem, case.theta, case.error).max(initial=0.0)),
        kkt_bar=1e-9 + 64.0 * EPS * case.magnitude,
        equality_residual=abs(case.surplus),
        equality_bar=64.0 * EPS * max(float(np.abs(theta).sum()), 1.0),
        primal=dual + gap,
        dual=dual,
        duality_gap=gap,
        relative_gap=gap / max(1.0, abs(dual)),
        decision_error_bound=float(bound),
        bound_from=source,
        margin=1.0 / case.length if case.length else np.inf,
        convex=is_convex(case),
        n_margin=int(free.sum()),
        n_error=int(((case.theta != 0) & ~free).sum()),
        n_reserve=int((case.theta == 0).sum()),
        scale=max(1.0, float(np.max(np.abs(problem.target - case.error), initial=0.0))),
    )
