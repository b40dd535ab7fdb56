"""The verb that follows C, and what it asks of the engine."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from numbers import Real
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from adiabat.errors import ExactnessError
from adiabat.estimators.c_path import CPath
from adiabat.estimators.machines import (
    NOBODY,
    Effort,
    Machine,
    Task,
    costs,
    demand_of,
    require_definite,
    rows_of_task,
)
from adiabat.estimators.model import Model, trained

if TYPE_CHECKING:
    from adiabat.adiabatic.trail import Trail

Array = NDArray[Any]


class AlongC:
    """Follow the optimum through C."""

    # What the classifier that mixes this in has.
    _effort: Callable[[], Effort]
    copy: Callable[[], Any]

    def c_path(self, C_min: float, C_max: float) -> CPath:
        """Find the optimum for every C between two values, without changing the model.

        Parameters
        ----------
        C_min : float
            Where the path begins, above 0.
        C_max : float
            Where it ends, not below. ``np.inf`` ends it where nothing changes any more, and
            raises ``NotSeparableError`` where there is no such C.

        Returns
        -------
        CPath
            The path: decision values, counts and certificates for every C on it.
        """
        started = perf_counter()
        ends = _checked_ends(C_min, C_max)
        twin = self.copy()
        model: Model = twin._fitted  # noqa: SLF001
        effort = replace(self._effort(), max_steps=None)
        surveyed = [_Ascent(model, m, effort, ends).surveyed() for m in model.machines]
        trails = [trail for trail, _ in surveyed]
        C = np.unique(np.concatenate([trail.C for trail in trails]))
        return CPath(
            C=C,
            kkt_violation=np.max([_between(trail.C, v, C) for trail, v in surveyed], axis=0),
            perturbations=sum(trail.perturbations for trail in trails),
            kernel_evaluations=sum(trail.kernel_evaluations for trail in trails),
            seconds=perf_counter() - started,
            _trails=trails,
            _estimator=twin,
        )


def _checked_ends(C_min: Any, C_max: Any) -> tuple[float, float]:
    """Both ends as floats, the first positive and finite and not above the second."""
    lowest, highest = (float(C) if isinstance(C, Real) else np.nan for C in (C_min, C_max))
    if not 0.0 < lowest < np.inf:
        raise ValueError(f"C_min: {C_min!r}; wanted a positive finite number")
    if not lowest <= highest:
        raise ValueError(f"C_max: {C_max!r}; wanted a number not below C_min, which is {C_min!r}")
    return lowest, highest


def _between(known: Array, violations: Array, C: Array) -> Array:
    """The larger of the violations at the neighbouring places, or that at the place itself."""
    above = np.minimum(np.searchsorted(known, C, side="left"), len(known) - 1)
    below = np.maximum(np.searchsorted(known, C, side="right") - 1, 0)
    return np.maximum(violations[above], violations[below])


class _Ascent:
    """One machine's way from the lowest C to the highest."""

    def __init__(
        self, model: Model, machine: Machine, effort: Effort, ends: tuple[float, float]
    ) -> None:
        self.model, self.machine, self.effort, self.ends = model, machine, effort, ends
        examples = model.examples
        weight = costs(1.0, examples.weight, examples.codes, model.class_weight)
        self.weight = weight[machine.task.index]
        self.rows = rows_of_task(machine.task, model.kernel, examples.rows)

    def surveyed(self) -> tuple[Trail, Array]:
        """The path and the violation at each of its places."""
        # numba comes with living machines.
        from adiabat.adiabatic.c_path import path_of, without_bounds  # noqa: PLC0415
        from adiabat.adiabatic.trail_proof import proved  # noqa: PLC0415
        from adiabat.solvers.monitor import Monitor  # noqa: PLC0415

        task = self.machine.task
        self._require_exact(task)
        lowest, highest = self.ends
        top = max(lowest, self._last_turn()) if np.isinf(highest) else highest
        start = self._at(lowest)
        monitor = Monitor(verbose=self.effort.verbose)
        demand = demand_of(start.task, self.model.kernel, self.rows)
        trail = path_of(
            demand,
            start.theta,
            start.bias,
            task.y * self.weight,
            (lowest, top),
            lambda C, changes: monitor.arrived("path of C", changes, f"C {C:9.3g}"),
        )
        if np.isinf(highest):
            trail = without_bounds(trail)
        return trail, proved(trail, demand)

    def _require_exact(self, task: Task) -> None:
        if task.ridge is not None:
            raise ExactnessError(
                "loss: 'squared_hinge'; its C is in the kernel and not in a bound, so that no "
                "path is linear in C; wanted 'hinge'"
            )
        require_definite(task, self.model.kernel, self.rows)

    def _at(self, C: float) -> Machine:
        """The machine solved for one C; the one that is there where it serves."""
        bounds = C * self.weight
        bounds[self.weight == 0.0] = 0.0
        old = self.machine
        if old.finished and np.array_equal(bounds, old.task.bounds):
            return old
        task = replace(old.task, bounds=bounds)
        if task.negative == NOBODY:
            return replace(old, task=task)
        return trained(task, self.model.kernel, self.model.examples, self.effort)

    def _last_turn(self) -> float:
        """A C from which on nothing changes: no bound is needed any more."""
        hard = self._at_infinity()
        counts = self.weight > 0.0
        return float((np.abs(hard.theta[counts]) / self.weight[counts]).max(initial=0.0))

    def _at_infinity(self) -> Machine:
        bounds = np.where(self.weight > 0.0, np.inf, 0.0)
        task = replace(self.machine.task, bounds=bounds)
        return trained(task, self.model.kernel, self.model.examples, self.effort)
