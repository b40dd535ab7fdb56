"""What can go wrong, each with a name of its own.

Every message names the argument, what came and what was wanted.
"""

from __future__ import annotations

from typing import Any


class AdiabatError(Exception):
    """Base of every error that is special to this library."""


class NotSeparableError(AdiabatError, ValueError):
    """A hard margin was asked for (``C=inf``) and the data have none.

    Attributes
    ----------
    distance : float
        Distance between the two convex hulls in feature space, as far as it was bounded.
    ids : ndarray
        Rows that span the nearest points of the two hulls.
    weights : ndarray
        Weight of each of these rows in the nearest point of its own class's hull; the
        weights of a class add up to one.
    """

    def __init__(self, message: str, *, distance: float, ids: Any, weights: Any) -> None:
        super().__init__(message)
        self.distance = distance
        self.ids = ids
        self.weights = weights


class SolverError(AdiabatError, RuntimeError):
    """A solver ended without a solution that meets the bar. There is no half answer."""


class ExactnessError(AdiabatError, ValueError):
    """Something was asked exactly that has no unique exact answer."""


class UnknownIdError(AdiabatError, KeyError):
    """An id was named that is not held. Nothing has changed."""

    def __str__(self) -> str:
        return str(self.args[0])


class BusyError(AdiabatError, RuntimeError):
    """Another thread is changing this model. Readers may go on; a second writer may not."""


class ModelFileError(AdiabatError, ValueError):
    """A file is no whole model file, or a model holds something that such a file cannot."""
