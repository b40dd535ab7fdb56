"""The questions that need no refit: leave one out, leave a group out, k-fold."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import LeaveOneGroupOut, check_cv

from adiabat.errors import ExactnessError
from adiabat.estimators.attributes import FittedAttributes
from adiabat.estimators.held_out import HeldOut
from adiabat.estimators.leaving_out import Absence, Question, Sight, Spent, is_affordable
from adiabat.estimators.machines import Effort
from adiabat.estimators.model import Model
from adiabat.estimators.predictor import arranged, decided
from adiabat.estimators.validation import Examples
from adiabat.solvers.monitor import Monitor

Array = NDArray[Any]


class Validating(FittedAttributes):
    """Leave-one-out and its kin, exactly and without refitting; the model stays as it is."""

    # What the classifier that mixes this in has.
    decision_function_shape: str
    break_ties: bool
    _effort: Callable[[], Effort]

    def leave_one_out(self, values: bool = False) -> HeldOut:  # noqa: FBT001, FBT002
        """Say of each row what the model would have said had it not seen it.

        Each answer is that of a fit on all other rows with the settings of the last fit or
        change; a row of weight 2 leaves with its whole weight. A number that ``gamma="scale"``
        came to stays.

        Parameters
        ----------
        values : bool, default=False
            Whether to give the decision values too. Without them, a row's way out ends where its
            label is decided, and many need none.

        Returns
        -------
        HeldOut
            Predictions, errors, their rate by class, and scores; the rows that count, in the
            order of ``ids_``.
        """
        rows = np.flatnonzero(self._fitted.examples.weight > 0)
        return self._held_out([rows[[k]] for k in range(len(rows))], "leave_one_out", values=values)

    def leave_one_group_out(self, values: bool = False) -> HeldOut:  # noqa: FBT001, FBT002
        """Say of each row what the model would have said had it not seen its group.

        Parameters
        ----------
        values : bool, default=False
            Whether to give the decision values too.

        Returns
        -------
        HeldOut
            As ``leave_one_out``.
        """
        return self.k_fold(LeaveOneGroupOut(), values)

    def k_fold(self, cv: Any = None, values: bool = False) -> HeldOut:  # noqa: FBT001, FBT002
        """Say of each row what the model would have said had it not seen its fold.

        Parameters
        ----------
        cv : int, splitter, iterable of pairs of arrays or None, default=None
            What scikit-learn takes: a number of folds (None is 5), a splitter, or pairs of
            positions among the rows that count, in the order of ``ids_``. Each row has to be held
            out once, and each fold's other rows learned.
        values : bool, default=False
            Whether to give the decision values too.

        Returns
        -------
        HeldOut
            As ``leave_one_out``.
        """
        examples = self._fitted.examples
        rows = np.flatnonzero(examples.weight > 0)
        splitter = check_cv(cv, examples.labels[rows], classifier=True)
        groups = _groups_for(splitter, examples, rows)
        folds = splitter.split(np.zeros((len(rows), 1)), examples.labels[rows], groups)
        return self._held_out(_partition(list(folds), rows), "k_fold", values=values)

    def _held_out(self, groups: Sequence[Array], asked: str, *, values: bool) -> HeldOut:
        if not isinstance(values, bool | np.bool_):
            raise TypeError(f"values: {values!r}; wanted True or False")
        started, model, effort = perf_counter(), self._fitted, self._effort()
        require_answers(model, groups, asked)
        firsts = np.append(0, np.cumsum([len(group) for group in groups]))
        hasty = not values and not (self.break_ties and len(model.examples.classes) > 2)
        rows = np.concatenate(groups)
        left = _weights_left(model, rows, firsts)
        stretches = _stretches(model, left) if model.balanced else np.zeros(left.shape)
        question = Question(rows, firsts, stretches, hasty)
        monitor, spent = Monitor(verbose=effort.verbose), Spent()

        def heed(done: int) -> None:
            monitor.say(f"{asked.replace('_', ' ')}   {done:,} of {len(question):,}")

        sight = Sight.of(model)
        if len(model.machines) > 1 and is_affordable(2 * len(model.examples) ** 2, effort.budget):
            sight, spent.kernel_evaluations = sight.from_memory()
        pairs = np.column_stack(
            [
                Absence(model, machine, question, sight, effort, spent, heed).values()
                for machine in model.machines
            ]
        )
        codes = self._codes(model, pairs, left[question.group] > 0)
        order = np.argsort(rows, kind="stable")
        rows, codes, pairs = rows[order], codes[order], pairs[order]
        examples = model.examples
        shape = self.decision_function_shape
        return HeldOut(
            ids=examples.ids[rows],
            labels=examples.labels[rows],
            predictions=examples.classes[codes],
            decision_function=arranged(pairs, len(examples.classes), shape) if values else None,
            weight=examples.weight[rows],
            classes=examples.classes.copy(),
            kkt_violation=spent.kkt_violation,
            perturbations=spent.perturbations,
            kernel_evaluations=spent.kernel_evaluations,
            solved=spent.solved,
            seconds=perf_counter() - started,
        )

    def _codes(self, model: Model, pairs: Array, there: Array) -> Array:
        """What each row is told by the machines of the classes that are there without its group."""
        codes = np.empty(len(pairs), dtype=np.int64)
        kinds, which = np.unique(there, axis=0, return_inverse=True)
        for kind, classes in enumerate(kinds):
            some, left = np.flatnonzero(which.ravel() == kind), np.flatnonzero(classes)
            values = _values_among(model, pairs[some], left)
            told = decided(
                values, len(left), self.decision_function_shape, break_ties=self.break_ties
            )
            codes[some] = left[told]
        return codes


def _values_among(model: Model, pairs: Array, left: Array) -> Array:
    """The decision values that a model of some of the classes has; two classes make one machine.

    That has its positive class behind the other one, in a pair it is before it.
    """
    if len(left) == len(model.examples.classes):
        return pairs
    own = [k for k, m in enumerate(model.machines) if {m.task.positive, m.task.negative} <= {*left}]
    return -pairs[:, own] if len(left) == 2 and len(model.machines) > 1 else pairs[:, own]


def _weights_left(model: Model, rows: Array, firsts: Array) -> Array:
    """The weight that each class has left when a group is gone, groups by classes.

    A class whose rows all go has none, whatever rounding says.
    """
    examples = model.examples
    shape = len(firsts) - 1, len(examples.classes)
    cell = np.repeat(np.arange(shape[0]), np.diff(firsts)) * shape[1] + examples.codes[rows]
    size = shape[0] * shape[1]
    gone, count = np.bincount(cell, examples.weight[rows], size), np.bincount(cell, minlength=size)
    counts = examples.weight > 0
    total = np.bincount(examples.codes[counts], examples.weight[counts], shape[1])
    number = np.bincount(examples.codes[counts], minlength=shape[1])
    left = total - gone.reshape(shape)
    return np.where(count.reshape(shape) == number, 0.0, left)


def _stretches(model: Model, left: Array) -> Array:
    """By which part of themselves bounds move where weights are balanced anew."""
    there = left > 0
    classes = there.sum(axis=1, keepdims=True)
    balanced = np.divide(
        left.sum(axis=1, keepdims=True), classes * left, out=np.ones(left.shape), where=there
    )
    return np.where(there, balanced / model.class_weight - 1.0, 0.0)


def require_answers(model: Model, groups: Sequence[Array], asked: str) -> None:
    """Raise where rows would leave that nobody can answer for."""
    count = sum(len(group) for group in groups)
    if max(map(len, groups), default=0) >= count:
        raise ValueError(
            f"{asked}: with {count} sample{'s'[: count != 1]} that count, all would leave at once; "
            "wanted some to be left"
        )
    if not all(machine.finished for machine in model.machines):
        raise ExactnessError(
            f"{asked}: max_iter ended the fit before the optimum, from which every answer starts; "
            "wanted a fit that was finished"
        )


def _groups_for(splitter: Any, examples: Examples, rows: Array) -> Array | None:
    """What a splitter is told of the rows' groups: scikit-learn's say whether they want to know."""
    groups = [None] * len(rows) if examples.groups is None else examples.groups[rows].tolist()
    routing = getattr(splitter, "get_metadata_routing", None)
    if routing is None:  # somebody's own
        return None if examples.groups is None else examples.groups[rows]
    if not routing().consumes("split", ["groups"]):
        return None
    without = sum(group is None for group in groups)
    if without:
        raise ValueError(
            f"groups: {without} of {len(rows)} rows belong to none; wanted a group for each, as "
            "in fit(X, y, groups=...)"
        )
    order = sorted(set(groups), key=lambda group: (isinstance(group, str), group))
    number = {group: k for k, group in enumerate(order)}
    return np.array([number[group] for group in groups])


def _positions(part: Any, fold: int, count: int) -> Array:
    """The rows that a fold names."""
    part = np.asarray(part)
    if len(part) and part.dtype.kind not in "iu":
        raise ValueError(
            f"cv: fold {fold} names rows by {part[0]!r}; wanted positions from 0 to {count - 1}"
        )
    beyond = part[(part < 0) | (part >= count)]
    if len(beyond):
        raise ValueError(
            f"cv: fold {fold} names row {beyond[0]}; wanted positions from 0 to {count - 1}"
        )
    return part.astype(np.int64)


def _partition(folds: list[tuple[Any, Any]], rows: Array) -> list[Array]:
    """Who is held out in each fold, where each row is once, and learned in all others."""
    groups = []
    for k, fold in enumerate(folds):
        train, test = (_positions(part, k, len(rows)) for part in fold)
        rest = np.setdiff1d(np.arange(len(rows)), test)
        if not np.array_equal(np.sort(train), rest):
            raise ValueError(
                f"cv: fold {k} trains on {len(train)} rows beside {len(test)} that it holds out, "
                f"of {len(rows)}; wanted it to train on all others"
            )
        groups.append(rows[test])
    held_out = np.sort(np.concatenate(groups)) if groups else rows[:0]
    if not np.array_equal(held_out, rows):
        raise ValueError(
            f"cv: {len(held_out)} rows held out, of {len(rows)} that count; wanted each of them "
            "once"
        )
    return groups
