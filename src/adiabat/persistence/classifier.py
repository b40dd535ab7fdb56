"""A support vector classifier in a file: its rows, its machines, and all that has to fit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from adiabat.estimators.kernel_choice import is_pairwise
from adiabat.estimators.machines import NOBODY, Machine, Task, tasks
from adiabat.estimators.model import Model, Work
from adiabat.estimators.state import State, at_rest, classifier_of, state_of
from adiabat.estimators.svc import SVC
from adiabat.estimators.validation import Examples, codes_of, counted_classes
from adiabat.kernels import Kernel, Rows
from adiabat.persistence.draft import Draft
from adiabat.persistence.fields import Fields
from adiabat.persistence.kernel_words import packed_kernel, read_kernel
from adiabat.persistence.settings import packed_settings, read_settings
from adiabat.persistence.values import (
    packed_groups,
    packed_ids,
    packed_names,
    packed_repeated,
    packed_values,
    read_ids,
    read_names,
    read_repeated,
    read_values,
)

Array = NDArray[Any]

#: What the coefficients may add up to, in parts of the sum of their sizes or of 1.
_BALANCE = 1e-8
#: Sparse rows may have so many features: their weight vector is dense.
MOST_FEATURES = 1 << 26
#: What each machine has cost, and whether its solver came to the end.
_COUNTS = ("steps", "kernel_evaluations", "perturbations", "refactorisations")


class ClassifierCodec:
    """How an ``SVC`` is written and read."""

    type = SVC
    name = "SVC"

    def packed(self, thing: SVC, draft: Draft) -> dict[str, Any]:
        """What the header says of a classifier, which rests until the file is there."""
        draft.held.enter_context(at_rest(thing))
        state = state_of(thing)
        return {
            "settings": packed_settings(state.settings, draft),
            "next_id": state.next_id,
            "features": state.features,
            "feature_names": packed_names(state.names, draft),
            "model": None if state.model is None else packed_model(state.model, draft),
        }

    def read(self, fields: Fields) -> SVC:
        """The classifier."""
        settings = read_settings(fields.inner("settings"))
        known = SVC().get_params(deep=False).keys()
        fields.require("settings", "the parameters of SVC", met=settings.keys() <= known)
        SVC(**settings)._validate_params()  # noqa: SLF001
        next_id = fields.count("next_id")
        features = None if fields.is_absent("features") else fields.count("features")
        names = read_names(fields, features)
        model = None
        if not fields.is_absent("model"):
            model = read_model(fields.inner("model"), next_id, features)
        return classifier_of(State(settings, model, next_id, features, names))


# ---------------------------------------------------------------- writing


def packed_model(model: Model, draft: Draft) -> dict[str, Any]:
    """What the header says of what was learned."""
    examples = model.examples
    return {
        "kernel": packed_kernel(model.kernel, draft),
        "gamma": model.gamma,
        "scaled": model.scaled,
        "decided": model.decided,
        "balanced": model.balanced,
        "rows": _packed_rows(examples.rows, draft),
        "ids": packed_ids(examples.ids, draft),
        "weight": draft.array("weight", examples.weight),
        "labels": packed_repeated(examples.labels, draft, "labels"),
        "classes": packed_values(examples.classes, draft, "classes"),
        "class_weight": draft.array("class_weight", model.class_weight),
        "groups": packed_groups(examples.groups, draft),
        "work": [int(model.work.kernel_evaluations), int(model.work.perturbations)],
        "machines": _packed_machines(model.machines, draft),
    }


def _packed_rows(rows: Rows, draft: Draft) -> dict[str, Any]:
    values = rows.values
    if not sparse.issparse(values):
        origin = None if rows.origin is None else draft.array("origin", rows.origin)
        return {"form": "dense", "values": draft.array("rows", values), "origin": origin}
    parts = {name: getattr(values, name) for name in ("data", "indices", "indptr")}
    arrays = {name: draft.array(f"rows.{name}", part) for name, part in parts.items()}
    return {"form": "csr", "features": int(values.shape[1]), **arrays}


def _packed_machines(machines: Sequence[Machine], draft: Draft) -> dict[str, Any]:
    """Arrays of all machines, one after the other."""
    asked = [machine.task for machine in machines]
    ridges = [task.ridge for task in asked if task.ridge is not None]
    counts = {
        name: np.array([getattr(m, name) for m in machines], dtype=np.int64) for name in _COUNTS
    }
    arrays = {
        "theta": np.concatenate([machine.theta for machine in machines]),
        "bounds": np.concatenate([task.bounds for task in asked]),
        "bias": np.array([machine.bias for machine in machines], dtype=np.float64),
        "finished": np.array([machine.finished for machine in machines], dtype=bool),
        **counts,
    }
    words = {name: draft.array(name, array) for name, array in arrays.items()}
    ridge = draft.array("ridge", np.concatenate(ridges)) if ridges else None
    return {**words, "ridge": ridge, "fixed_bias": asked[0].fixed_bias}


# ---------------------------------------------------------------- reading


def read_model(fields: Fields, next_id: int, features: int | None) -> Model:
    """What was learned."""
    kernel = read_kernel(fields.inner("kernel"))
    gamma = None if fields.is_absent("gamma") else fields.number("gamma")
    fields.require("gamma", "a number that is not negative", met=gamma is None or gamma >= 0.0)
    scaled, decided, balanced = map(fields.flag, ("scaled", "decided", "balanced"))
    examples = _read_examples(fields, kernel, next_id)
    met = features == examples.rows.values.shape[1]
    fields.require("rows", "as many features as the model has", met=met)
    count = len(examples.classes)
    fields.require("decided", "true with more classes than one", met=decided or count == 1)
    class_weight = fields.floats("class_weight", count)
    fields.require("class_weight", "positive numbers", met=(class_weight > 0.0).all())
    evaluations, perturbations = _read_work(fields)
    machines = _read_machines(fields.inner("machines"), examples)
    work = Work(evaluations, perturbations)
    flags = decided, scaled, balanced
    return Model(kernel, gamma, examples, class_weight, machines, work, *flags)


def _read_work(fields: Fields) -> tuple[int, int]:
    work = fields.items("work")
    met = len(work) == 2 and all(type(count) is int and count >= 0 for count in work)
    fields.require("work", "two integers that are not negative", met=met)
    return work[0], work[1]


def _read_examples(fields: Fields, kernel: Kernel, next_id: int) -> Examples:
    weight = fields.bounds("weight", None)
    met = len(weight) > 0 and np.isfinite(weight).all() and weight.max() > 0.0
    fields.require("weight", "finite weights, one of them positive", met=met)
    count = len(weight)
    ids = read_ids(fields.inner("ids"), next_id)
    fields.require("ids", "one for each row", met=len(ids) == count)
    labels = read_repeated(fields.inner("labels"), count)
    classes = _read_classes(fields, labels, weight)
    rows = _read_rows(fields.inner("rows"), kernel, count)
    groups = None if fields.is_absent("groups") else _read_groups(fields.inner("groups"), count)
    codes = codes_of(labels, classes)
    return Examples(rows, codes, classes, weight, ids, labels, groups, next_id)


def _read_classes(fields: Fields, labels: Array, weight: Array) -> Array:
    """The classes, which are those of the rows that count, and of one kind with the labels."""
    classes = read_values(fields.inner("classes"), None)
    counted, _ = counted_classes(labels, weight)
    kinds = {"U": "text", "O": "text"}
    alike = kinds.get(classes.dtype.kind, "number") == kinds.get(labels.dtype.kind, "number")
    met = alike and classes.tolist() == counted.tolist()
    fields.require("classes", "the labels of the rows that count, sorted", met=met)
    return classes


def _read_groups(fields: Fields, count: int) -> Array:
    groups = read_values(fields, count)
    fields.require("dtype", "object", met=groups.dtype == object)
    return groups


def _read_rows(fields: Fields, kernel: Kernel, count: int) -> Rows:
    form = fields.text("form")
    if form == "csr":
        fields.require("form", "dense lines of a matrix", met=not is_pairwise(kernel))
        return Rows(_read_sparse(fields, count))
    if form != "dense":
        fields.refuse("form", form, "dense or csr")
    values = fields.floats("values", count, None)
    fields.require("values", "a feature at least", met=values.shape[1] > 0)
    if not is_pairwise(kernel):
        return Rows(values, fields.floats("origin", values.shape[1]))
    fields.require("origin", "null", met=fields.is_absent("origin"))
    square = values.shape[1] == count
    fields.require("values", "a symmetric matrix", met=square and np.array_equal(values, values.T))
    return Rows(values)


def _read_sparse(fields: Fields, count: int) -> Any:
    """A CSR matrix with the entries of each row in order, each of them once."""
    features = fields.count("features", MOST_FEATURES)
    data = fields.floats("data", None)
    indices = fields.array("indices", (len(data),), "int32", "int64")
    starts = fields.array("indptr", (count + 1,), "int32", "int64")
    steps = np.diff(starts)
    met = starts[0] == 0 and starts[-1] == len(data) and (steps >= 0).all()
    fields.require("indptr", "the beginnings of the rows, in order", met=met)
    met = features > 0 and indices.min(initial=0) >= 0 and indices.max(initial=0) < features
    fields.require("indices", "columns that there are", met=met)
    inside = np.ones(len(data), dtype=bool)
    inside[starts[:-1][steps > 0]] = False  # the first of a row stands behind nobody
    ordered = (np.diff(indices) > 0)[inside[1:]].all()
    fields.require("indices", "the columns of each row in order, each once", met=ordered)
    return sparse.csr_matrix((data, indices, starts), shape=(count, features))


def _read_machines(fields: Fields, examples: Examples) -> tuple[Machine, ...]:
    """The machines, whose rows and labels follow from the classes."""
    classes = len(examples.classes)
    count = 1 if classes <= 2 else classes * (classes - 1) // 2
    bias = fields.floats("bias", count)
    total = len(examples) if classes <= 2 else (classes - 1) * int((examples.codes >= 0).sum())
    theta, bounds = fields.floats("theta", total), fields.bounds("bounds", total)
    ridge = None if fields.is_absent("ridge") else fields.floats("ridge", total)
    fixed = None if fields.is_absent("fixed_bias") else fields.number("fixed_bias")
    finished = fields.array("finished", (count,), "bool")
    counts = {name: fields.counts(name, count).tolist() for name in _COUNTS}
    met = ridge is None or (ridge >= 0.0).all()
    fields.require("ridge", "numbers that are not negative", met=met)
    fields.require("bias", "the fixed bias", met=fixed is None or (bias == fixed).all())
    nothing, machines, end = np.zeros(len(examples)), [], 0
    for k, task in enumerate(tasks(examples.codes, classes, nothing, None, fixed)):
        start, end = end, end + len(task.index)
        own_ridge = None if ridge is None else ridge[start:end].copy()
        task = replace(task, bounds=bounds[start:end].copy(), ridge=own_ridge)  # noqa: PLW2901
        require_feasible(fields, task, theta[start:end], examples.weight[task.index])
        work = {name: values[k] for name, values in counts.items()}
        own = theta[start:end].copy()
        machines.append(Machine(task, own, float(bias[k]), finished=bool(finished[k]), **work))
    return tuple(machines)


def require_feasible(fields: Fields, task: Task, theta: Array, weight: Array) -> None:
    """Raise where coefficients are not within their bounds, or do not balance."""
    alpha = theta * task.y
    met = (alpha >= 0.0).all() and (alpha <= task.bounds).all()
    fields.require("theta", "coefficients within their bounds", met=met)
    met = (task.bounds[weight == 0.0] == 0.0).all()
    fields.require("bounds", "zero for rows of weight zero", met=met)
    free = task.fixed_bias is None and task.negative != NOBODY
    size = max(1.0, float(np.abs(theta).sum()))
    balanced = abs(float(theta.sum())) <= _BALANCE * size
    fields.require("theta", "coefficients that add up to zero", met=balanced or not free)
