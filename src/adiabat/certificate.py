"""The proof that goes with a model: computed from data, coefficients and bias alone.

Nothing here knows how the coefficients were found. Kernel values are computed anew, in
float64; sums over the rows that decide are taken in the widest floating type there is.

How far the decision values can be from the optimum's. Let D be the difference of the
optimal coefficients and the given ones. Optimality of the former gives |dw|^2 <= D'e, and
rows whose error is beyond doubt have D = 0 (what "beyond doubt" means follows from the
duality gap: |dw|^2 <= gap). On the rows T in doubt solve K_TT u + 1 c = e_T for the members
of a regular basis; then |dw| <= |w(u)| + |rest| / sqrt(lambda), where the rest is what the
solve left over plus all that rounding can have hidden, and lambda a lower bound of the basis
matrix's eigenvalues. Rows of T that depend on the basis to rounding are taken as dependent.
The canonical bias is a weighted quantile of the rows' open errors and moves by no more than
they do. docs/maths.md has the steps.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_solve, eigvalsh
from scipy.linalg.lapack import dpstrf, dtrtri

from adiabat.problem import Problem
from adiabat.solution import canonical_bias, violations

Array = NDArray[Any]
EPS = float(np.finfo(np.float64).eps)
WIDE = np.longdouble
WIDE_EPS = float(np.finfo(np.longdouble).eps)
#: Largest number of rows on which definiteness of a kernel matrix is decided by eigenvalues.
_SPECTRUM_ROWS = 4000
#: Times that rows within rounding of another category join the members.
_PASSES = 6


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
        No decision value on the rows held is further than this from the optimal machine's.
    bound_from : str
        "margin system" or "duality gap": where the bound comes from.
    margin : float
        1 / |w|, the distance of the margin from the boundary in feature space.
    convex : bool
        False where the kernel is not positive semidefinite on these rows: then there is no
        unique optimum and the model is a stationary point.
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


class Examination:
    """One model under examination."""

    def __init__(self, problem: Problem, theta: Array, bias: float) -> None:
        self.problem, self.theta, self.bias = problem, theta, bias
        self.support = np.flatnonzero(theta)
        gram = problem.gram
        self.points = problem.target - gram.times(self.support, theta[self.support])
        self.error = self.points - bias
        surplus = float(theta.astype(WIDE).sum() - WIDE(problem.total))
        self.surplus = surplus if problem.bias is None else 0.0
        self.counts = problem.bounds > 0
        self.reach = float(np.sqrt(np.max(gram.diagonal[self.counts], initial=0.0)))
        self.near_reach = self.reach  # of the rows that decide the bias
        own = float(theta @ (self.points - problem.target))
        self.length = float(np.sqrt(max(-own, 0.0)))  # |w| in the space of K plus ridge

    # -- objectives

    def objectives(self) -> tuple[float, float]:
        """Dual value and duality gap, the gap as a sum of terms that are not negative."""
        problem, theta = self.problem, self.theta
        fixed = problem.bias or 0.0
        dual = float(theta @ (problem.target - fixed)) - 0.5 * self.length**2
        slack = problem.y * self.error
        if problem.is_hard:
            return dual, max(0.5 * (self.stretch() * self.length) ** 2 - dual, 0.0)
        loss = problem.bounds * np.maximum(slack, 0.0) - theta * self.error
        return dual, float(np.maximum(loss[self.counts], 0.0).sum())

    def stretch(self) -> float:
        """The factor by which w must grow to keep every row at its distance; infinite if none.

        With a free bias b grows too; a fixed one leaves 1 - y b to be made good by w.
        """
        wanted = 1.0 - self.problem.y * (self.problem.bias or 0.0)
        reached = wanted - self.problem.y * self.error
        binding = self.counts & (wanted > 0)
        if (reached[binding] <= 0).any():
            return np.inf
        return float(np.max(wanted[binding] / reached[binding], initial=1.0))

    # -- distance from the optimum

    def from_gap(self, gap: float) -> float:
        """|dw| from the duality gap alone."""
        if self.problem.is_hard:
            return float(np.sqrt(2.0 * gap)) + (self.stretch() - 1.0) * self.length
        return float(np.sqrt(gap))

    def from_margin_system(self, radius: float) -> float:
        """|dw| from the rows that ``radius`` leaves in doubt; infinite where that fails."""
        doubt = 4.0 * radius * self.reach + 1e-9
        low, high = self.problem.low, self.problem.high
        free = (self.theta > low) & (self.theta < high)
        rows = np.flatnonzero(self.counts & (free | (np.abs(self.error) <= doubt)))
        if not free.any():
            return 0.0 if not len(rows) and not self.surplus else np.inf
        self.near_reach = float(np.sqrt(np.max(self.problem.gram.diagonal[rows])))
        error, hidden = self._wide_error(rows)
        matrix = self.problem.gram.block(rows, rows)
        taken_off, settled = self._balanced(rows, matrix)
        error = error + settled
        shift = 0.0 if self.problem.bias is not None else self.reach**2
        rise, fall = self.theta[rows] < high[rows], self.theta[rows] > low[rows]
        inside = rise & fall
        for _ in range(_PASSES):
            system = MarginSolve(matrix[np.ix_(inside, inside)], error[inside], shift)
            left = error - system.effect(matrix[:, inside])
            wrong = ((rise & (left > 0)) | (fall & (left < 0))) & ~inside
            if not wrong.any():
                return taken_off + system.bound(hidden[inside])
            inside |= wrong  # within rounding of a change of category: treated as members
        return np.inf

    def _balanced(self, rows: Array, matrix: Array) -> tuple[float, Array]:
        """Take the surplus of sum(theta) off the member with the most room.

        What that does to |w|, and to the errors of ``rows``.
        """
        room = np.minimum(self.theta - self.problem.low, self.problem.high - self.theta)[rows]
        member = int(np.argmax(room))
        length = abs(self.surplus) * float(np.sqrt(matrix[member, member]))
        return length, self.surplus * matrix[:, member].astype(WIDE)

    def _wide_error(self, rows: Array) -> tuple[Array, Array]:
        """Errors of some rows in the widest type, and what rounding may still hide."""
        weights = self.theta[self.support].astype(WIDE)
        error, hidden = np.empty(len(rows), dtype=WIDE), np.empty(len(rows))
        depth = (np.log2(max(len(weights), 2)) + 4.0) * WIDE_EPS
        for i in range(0, len(rows), 128):
            some = rows[i : i + 128]
            terms = self.problem.gram.block(some, self.support) * weights
            error[i : i + 128] = self.problem.target[some] - terms.sum(axis=1) - WIDE(self.bias)
            hidden[i : i + 128] = depth * (np.abs(terms).sum(axis=1) + 1.0 + abs(self.bias))
        return error, hidden

    def sway(self) -> float:
        """How far decision values can move per unit of |dw|: the weights' part, the bias's."""
        return self.reach + (self.near_reach if self.problem.bias is None else 0.0)

    def bias_offset(self) -> float:
        """How far the bias is from the canonical one for the given weights."""
        return abs(canonical_bias(self.problem, self.theta, self.points) - self.bias)

    # -- definiteness

    def is_convex(self) -> bool:
        known = self.problem.gram.kernel.convex
        if known is not None:
            return known
        rows = np.flatnonzero(self.counts)
        if len(rows) > _SPECTRUM_ROWS:
            rows = self.support[:_SPECTRUM_ROWS]
        matrix = self.problem.gram.block(rows, rows)
        spectrum = eigvalsh(0.5 * (matrix + matrix.T))
        return bool(spectrum[0] >= -1e-12 * len(rows) * max(spectrum[-1], 0.0))


class MarginSolve:
    """The step that puts rows exactly on the margin, on a regular basis of them."""

    def __init__(self, matrix: Array, error: Array, shift: float) -> None:
        noise = 8.0 * EPS * max(len(matrix), 8) * float(matrix.diagonal().max() + shift)
        factor, pivots, rank, _ = dpstrf(matrix + shift, lower=1, tol=noise)
        self.matrix, self.error = matrix, error
        self.basis = pivots[:rank] - 1
        lower = np.tril(factor[:rank, :rank])
        inverse, _ = dtrtri(lower, lower=1)
        self.inverse = inverse
        self.spread = float(np.linalg.norm(inverse))  # >= 1 / sqrt(smallest eigenvalue)
        self.step, self.bias = _solve_border(lower, shift, error[self.basis].astype(np.float64))

    def effect(self, lines: Array) -> Array:
        """What the step does to the errors of rows with these kernel values."""
        moved = lines[:, self.basis].astype(WIDE) @ self.step.astype(WIDE)
        return moved + WIDE(self.bias)

    def bound(self, hidden: Array) -> float:
        """|w(u)|, and |L^-1 rest| for what the step left over and rounding can have hidden."""
        left = (self.error - self.effect(self.matrix)).astype(np.float64)
        inner = self.matrix[np.ix_(self.basis, self.basis)]
        length = float(np.sqrt(max(float(self.step @ inner @ self.step), 0.0)))
        over = float(np.linalg.norm(self.inverse @ left[self.basis]))
        over += float(np.linalg.norm(self.inverse, axis=0) @ hidden[self.basis])
        tied = np.abs(left) + hidden
        tied[self.basis] = 0.0
        over += float(np.linalg.norm(tied)) * self.spread
        return length + over


def _solve_border(lower: Array, shift: float, error: Array) -> tuple[Array, float]:
    """u and c with K u + 1 c = error and sum(u) = 0; c = 0 without border."""
    u = cho_solve((lower, True), error)
    if not shift:
        return u, 0.0
    v = cho_solve((lower, True), np.ones(len(error)))
    bias = float(u.sum() / v.sum())
    return u - bias * v, bias


def certify(problem: Problem, theta: Array, bias: float) -> Certificate:
    """The certificate of coefficients and bias for a problem."""
    case = Examination(problem, theta, bias)
    dual, gap = case.objectives()
    by_gap = case.from_gap(gap)
    by_system = case.from_margin_system(by_gap) if np.isfinite(by_gap) else np.inf
    distance = min(by_gap, by_system)
    magnitude = problem.gram.magnitude(theta) + abs(bias)
    rounding = 8.0 * EPS * (magnitude + 1.0)  # of the decision values themselves
    bound = rounding + case.bias_offset() + case.sway() * distance
    low, high = problem.low, problem.high
    free = (theta > low) & (theta < high)
    return Certificate(
        kkt_violation=float(violations(problem, theta, case.error).max(initial=0.0)),
        kkt_bar=1e-9 + 64.0 * EPS * magnitude,
        equality_residual=abs(case.surplus),
        equality_bar=64.0 * EPS * max(float(np.abs(theta).sum()), 1.0),
        primal=dual + gap,
        dual=dual,
        duality_gap=gap,
        relative_gap=gap / max(1.0, abs(dual)),
        decision_error_bound=float(bound),
        bound_from="margin system" if by_system < by_gap else "duality gap",
        margin=1.0 / case.length if case.length else np.inf,
        convex=case.is_convex(),
        n_margin=int(free.sum()),
        n_error=int(((theta != 0) & ~free).sum()),
        n_reserve=int((theta == 0).sum()),
        scale=max(1.0, float(np.max(np.abs(problem.target - case.error), initial=0.0))),
    )
