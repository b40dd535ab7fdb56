"""One certificate for a classifier of one machine, or of many."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from adiabat.estimators.machines import Machine, problem_of, rows_of_task
from adiabat.estimators.model import Model

if TYPE_CHECKING:
    from adiabat.certificate import Certificate


@dataclass(frozen=True)
class MemberCertificates:
    """The certificates of all machines: each figure is that of the worst of them.

    Parameters
    ----------
    members : mapping
        The certificate of each machine by its pair of labels.

    Examples
    --------
    >>> from adiabat import SVC
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], ["a", "b", "c", "c"]
    >>> certificate = SVC(kernel="linear").fit(X, y).certificate()
    >>> sorted(certificate.members)
    [('a', 'b'), ('a', 'c'), ('b', 'c')]
    >>> certificate.holds()
    True
    """

    members: Mapping[tuple[Any, Any], Certificate]

    def _each(self, figure: str) -> list[Any]:
        return [getattr(member, figure) for member in self.members.values()]

    @property
    def kkt_violation(self) -> float:
        """The largest violation of an optimality condition."""
        return max(self._each("kkt_violation"))

    @property
    def equality_residual(self) -> float:
        """The largest residual of an equality constraint."""
        return max(self._each("equality_residual"))

    @property
    def duality_gap(self) -> float:
        """The largest gap."""
        return max(self._each("duality_gap"))

    @property
    def decision_error_bound(self) -> float:
        """The largest distance of a machine's decision values from those of its optimum."""
        return max(self._each("decision_error_bound"))

    @property
    def margin(self) -> float:
        """The smallest margin."""
        return min(self._each("margin"))

    @property
    def convex(self) -> bool:
        """Whether all problems are convex."""
        return all(self._each("convex"))

    @property
    def n_margin(self) -> int:
        """Margin vectors of all machines together; a row counts in each of its machines."""
        return sum(self._each("n_margin"))

    @property
    def n_error(self) -> int:
        """Error vectors of all machines together."""
        return sum(self._each("n_error"))

    @property
    def n_reserve(self) -> int:
        """Reserve vectors of all machines together."""
        return sum(self._each("n_reserve"))

    def holds(self, tol: float = 1e-8) -> bool:
        """Whether every certificate holds.

        Parameters
        ----------
        tol : float, default=1e-8
            Largest error of a decision value, relative to the largest one or to 1.

        Returns
        -------
        bool
            False if one machine is not proved to be the optimum.
        """
        return all(member.holds(tol) for member in self.members.values())

    def __str__(self) -> str:
        return "\n".join(f"{one} and {other}: {c}" for (one, other), c in self.members.items())


def certified(model: Model) -> Certificate | MemberCertificates:
    """The certificate of a model, computed from its data anew."""
    members = {model.labels(machine): _certificate(model, machine) for machine in model.machines}
    return MemberCertificates(members) if len(members) > 1 else next(iter(members.values()))


def _certificate(model: Model, machine: Machine) -> Certificate:
    # Only those who ask for a proof wait for its linear algebra.
    from adiabat.certificate import certify  # noqa: PLC0415

    rows = rows_of_task(machine.task, model.kernel, model.examples.rows)
    problem = problem_of(machine.task, model.kernel, rows, budget=0)
    return certify(problem, machine.theta, machine.bias)
