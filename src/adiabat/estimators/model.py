"""A fitted model: a value, made once, from which all fitted attributes are read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from adiabat.errors import NotSeparableError
from adiabat.estimators.machines import (
    NOBODY,
    Effort,
    Machine,
    Task,
    rows_of_task,
    train,
    with_ids,
)
from adiabat.estimators.predictor import Predictor, predictor_of
from adiabat.estimators.validation import Examples
from adiabat.kernels import Kernel

Array = NDArray[Any]


@dataclass(frozen=True)
class Work:
    """What a model has cost so far.

    Attributes
    ----------
    kernel_evaluations : int
        Kernel values that were computed, by all machines together.
    perturbations : int
        Changes of a margin set while a solution was moved; a fit makes none.

    Examples
    --------
    >>> from adiabat import SVC
    >>> SVC(kernel="linear").fit([[0.0], [1.0]], [0, 1]).work_.perturbations
    0
    """

    kernel_evaluations: int
    perturbations: int = 0

    def __add__(self, other: Work) -> Work:
        """Both together."""
        return Work(
            self.kernel_evaluations + other.kernel_evaluations,
            self.perturbations + other.perturbations,
        )


def spent_on(machines: Sequence[Machine]) -> Work:
    """What machines have cost when they were last brought to their optimum."""
    return Work(
        sum(machine.kernel_evaluations for machine in machines),
        sum(machine.perturbations for machine in machines),
    )


@dataclass(frozen=True, eq=False)
class Model:
    """Rows, kernel and trained machines of one fit.

    It has ``decided`` unless all it ever saw came row by row and was of one class. Its gamma is
    ``scaled`` where it was measured on rows: then it stays while the setting does. Its class
    weights are ``balanced`` where they go by the rows.
    """

    kernel: Kernel
    gamma: float | None
    examples: Examples
    class_weight: Array
    machines: tuple[Machine, ...]
    work: Work
    decided: bool = True
    scaled: bool = False
    balanced: bool = False

    def __getstate__(self) -> dict[str, Any]:
        """Without what can be made anew."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @cached_property
    def support(self) -> Array:
        """Positions of the rows that any machine uses, class by class."""
        used = np.zeros(len(self.examples), dtype=bool)
        for machine in self.machines:
            used[machine.task.index[machine.theta != 0.0]] = True
        positions = np.flatnonzero(used)
        return positions[np.argsort(self.examples.codes[positions], kind="stable")]

    @cached_property
    def weights(self) -> Array:
        """Signed coefficients, support rows by machines."""
        weights = np.zeros((len(self.support), len(self.machines)))
        whole = np.zeros(len(self.examples))
        for k, machine in enumerate(self.machines):
            whole[machine.task.index] = machine.theta
            weights[:, k] = whole[self.support]
            whole[machine.task.index] = 0.0
        return weights

    @cached_property
    def bias(self) -> Array:
        """The bias of each machine."""
        return np.array([machine.bias for machine in self.machines])

    @cached_property
    def predictor(self) -> Predictor:
        """What decides on new rows."""
        return predictor_of(self.kernel, self.examples.rows, self.support, self.weights, self.bias)

    def dual_coef(self) -> Array:
        """Coefficients in scikit-learn's layout: one row fewer than there are classes.

        A support row of class c has its coefficient against class o in row o, or o - 1 where
        o stands behind c.
        """
        if len(self.machines) == 1:
            return self.weights.T.copy()
        codes = self.examples.codes[self.support]
        layout = np.zeros((len(self.examples.classes) - 1, len(self.support)))
        for k, machine in enumerate(self.machines):
            i, j = machine.task.positive, machine.task.negative
            layout[j - 1, codes == i] = self.weights[codes == i, k]
            layout[i, codes == j] = self.weights[codes == j, k]
        return layout

    def ids_where(self, category: Callable[[Machine], Array]) -> Any:
        """The ids of a category, for many classes in a dict by pair of labels."""
        found = {
            self.labels(machine): self.examples.ids[machine.task.index[category(machine)]]
            for machine in self.machines
        }
        return found if len(found) > 1 else next(iter(found.values()))

    def labels(self, machine: Machine) -> tuple[Any, Any]:
        """The labels with y = 1 and y = -1."""
        return labels_of(machine.task, self.examples.classes)


def labels_of(task: Task, classes: Array) -> tuple[Any, Any]:
    """The labels of a task's two classes as Python's own objects; None for nobody."""
    names = classes.tolist()
    return names[task.positive], None if task.negative == NOBODY else names[task.negative]


def trained(
    task: Task, kernel: Kernel, examples: Examples, effort: Effort, start: Array | None = None
) -> Machine:
    """One machine, whose errors speak of ids and labels."""
    try:
        return train(task, kernel, rows_of_task(task, kernel, examples.rows), effort, start)
    except NotSeparableError as error:
        first, second = labels_of(task, examples.classes)
        ids = examples.ids[task.index]
        raise with_ids(error, ids, f"classes {first!r} and {second!r}") from error
