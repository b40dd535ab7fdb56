"""The questions: what a model says of rows, and of itself. None of them changes it."""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterable, Sequence
from itertools import product
from pathlib import Path
from typing import Any, TextIO

import numpy as np
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table as Grid

from adiabat.cli.faults import InputError, listed
from adiabat.cli.model_files import Opened, size_of
from adiabat.cli.proofs import figures, in_full, sizes, verdict
from adiabat.cli.reading import STANDARD, read
from adiabat.cli.roles import features_of
from adiabat.cli.speech import Answer, Manner, console, duration, written
from adiabat.cli.table import Table
from adiabat.errors import NotSeparableError


def check(held: Opened, manner: Manner) -> Answer:
    """Prove a model anew, from the rows in its file."""
    with manner.waiting("computing every kernel value anew"):
        proof = held.model.certificate()
    rows = len(held.classifier.ids_)
    facts = {"model": held.path, "rows": rows, "digest": held.digest, **figures(proof)}
    answer = Answer(facts, good=proof.holds())
    answer.say(
        verdict(proof),
        f"Computed from the {rows:,} rows and the coefficients in {held.path} alone:",
        in_full(proof),
        f"  {sizes(proof)}",
    )
    return answer


def predict(held: Opened, data: str, kind: str | None, manner: Manner, *, values: bool) -> Answer:
    """Labels for the rows of a file, as CSV."""
    table = read(data, kind)
    X = features_of(table, held.roles, held.width)
    _remark_unused(held, table, manner)
    called, names = _names(held, table)
    columns = {called: names, "prediction": held.model.predict(X).tolist()}
    if values:
        columns |= _decisions(held, held.model.decision_function(X))
    if manner.as_json:
        return Answer({"model": held.path, "rows": len(table), **columns})
    write_csv(sys.stdout, columns)
    return Answer()


def _names(held: Opened, table: Table) -> tuple[str, list[Any]]:
    """What rows are called in the answer: by their ids if there are any, otherwise by number."""
    name = held.roles.id or table.id
    if name is None or name not in table.columns:
        return "row", list(range(len(table)))
    return name, table.columns[name].tolist()


def _decisions(held: Opened, values: np.ndarray[Any, Any]) -> dict[str, list[float]]:
    if values.ndim == 1:
        return {"decision": values.tolist()}
    classes = held.classifier.classes_.tolist()
    return {
        f"decision {label}": column.tolist()
        for label, column in zip(classes, values.T, strict=True)
    }


def _remark_unused(held: Opened, table: Table, manner: Manner) -> None:
    if held.roles.features is None:
        return
    known = {*held.roles.features, held.roles.target, held.roles.id, table.target, table.id}
    unused = [name for name in table.columns if name not in known]
    if unused:
        manner.remark(f"{table.source}: {listed(unused)} is nothing to this model, and not used")


def write_csv(file: TextIO, columns: dict[str, Sequence[Any]]) -> None:
    """Columns with a line of names."""
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))


def leave_one_out(held: Opened, out: str | None, manner: Manner) -> Answer:
    """What the model would say of each of its rows had it not seen it."""
    with manner.waiting("leaving out one row after the other"):
        told = held.model.leave_one_out()
    answer = Answer(
        {
            "model": held.path,
            "rows": len(told.ids),
            "errors": int(told.errors.sum()),
            "error_rate": told.error_rate,
            "per_class": {
                str(label): {"rows": part.rows, "errors": part.errors}
                for label, part in told.per_class.items()
            },
            "wrong": told.ids[told.errors].tolist(),
            "seconds": told.seconds,
        }
    )
    answer.say(_by_class(told))
    wrong = told.ids[told.errors].tolist()
    if wrong:
        answer.say(f"Told wrong: {', '.join(map(str, wrong[:12]))}{', ...' * (len(wrong) > 12)}")
    answer.say(f"Exact, without a refit, in {duration(told.seconds)}.")
    if out is not None:
        columns = {
            held.roles.id or "row": told.ids.tolist(),
            "label": told.labels.tolist(),
            "prediction": told.predictions.tolist(),
        }
        with Path(out).open("w", encoding="utf-8", newline="") as file:
            write_csv(file, columns)
        answer.say(f"Every row in {out}.")
    return answer


def _by_class(told: Any) -> Grid:
    grid = Grid(box=None, padding=(0, 2))
    for name in ("class", "rows", "errors", "error rate"):
        grid.add_column(name, justify="left" if name == "class" else "right")
    for label, part in told.per_class.items():
        grid.add_row(str(label), f"{part.rows:,}", f"{part.errors:,}", f"{part.error_rate:.2%}")
    grid.add_row("all", f"{len(told.ids):,}", f"{told.errors.sum():,}", f"{told.error_rate:.2%}")
    return grid


def search(held: Opened, grid: dict[str, list[Any]], manner: Manner, *, take: bool) -> Answer:
    """Leave-one-out for every combination of settings, from the model that there is."""
    if not grid:
        raise InputError("search: nothing to try; wanted --C or --gamma with several values")
    names, twin = list(grid), held.model.copy()
    candidates = [dict(zip(names, each, strict=True)) for each in product(*grid.values())]
    found = []
    for candidate in _followed(candidates, manner):
        try:
            twin.adapt(**candidate)
        except NotSeparableError:
            found.append({**candidate, "errors": None, "error_rate": None})
            continue
        told = twin.leave_one_out()
        found.append({**candidate, "errors": int(told.errors.sum()), "error_rate": told.error_rate})
    judged = [each for each in found if each["errors"] is not None]
    if not judged:
        raise InputError("search: none of the settings separates the classes; wanted a finite --C")
    best = min(judged, key=lambda each: each["error_rate"])
    chosen = {name: best[name] for name in names}
    answer = Answer({"model": held.path, "tried": found, "best": best, "taken": take})
    told = ", ".join(f"{name} = {value:g}" for name, value in chosen.items())
    answer.say(
        _tried(names, found, best),
        f"Best by exact leave-one-out: {told} ({best['error_rate']:.2%}).",
        "The lowest of many error rates is a little too good to be true.",
    )
    if take:
        held.model.adapt(**chosen)
        answer.facts["digest"] = held.keep()
        answer.say(f"{held.path} has these settings now.", verdict(held.model.certificate()))
    return answer


def _followed(candidates: list[dict[str, Any]], manner: Manner) -> Iterable[dict[str, Any]]:
    err = console(stderr=True)
    shown = err.is_terminal and not (manner.quiet or manner.as_json)
    bar = Progress(
        TextColumn("trying settings"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=err,
        transient=True,
        disable=not shown,
    )
    with bar:
        yield from bar.track(candidates)


def _tried(names: list[str], found: list[dict[str, Any]], best: dict[str, Any]) -> Grid:
    grid = Grid(box=None, padding=(0, 2))
    for name in [*names, "errors", "error rate"]:
        grid.add_column(name, justify="right")
    for each in found:
        cells = [f"{each[name]:g}" for name in names]
        failed = each["errors"] is None
        cells += (
            ["no margin", ""] if failed else [f"{each['errors']:,}", f"{each['error_rate']:.2%}"]
        )
        grid.add_row(*cells, style="bold" if each is best else None)
    return grid


def info(held: Opened) -> Answer:
    """What is in a model file."""
    classifier, roles = held.classifier, held.roles
    settings = {
        name: value
        for name, value in classifier.get_params(deep=False).items()
        if name in ("C", "kernel", "gamma", "degree", "coef0", "loss", "class_weight")
    }
    steps = [type(step).__name__ for _, step in getattr(held.model, "steps", [])] or ["SVC"]
    facts = {
        "model": held.path,
        "bytes": Path(held.path).stat().st_size,
        "digest": held.digest,
        "rows": len(classifier.ids_),
        "features": held.width,
        "feature_names": None if roles.features is None else list(roles.features),
        "target": roles.target,
        "id": roles.id,
        "classes": classifier.classes_.tolist(),
        "steps": steps,
        "settings": {name: _plain(value) for name, value in settings.items()},
        "gamma": classifier.gamma_,
        "support_rows": len(classifier.support_),
    }
    names = f": {', '.join(roles.features)}" if roles.features else ""
    lines = {
        "file": f"{held.path}, {size_of(held.path)}, SHA-256 {held.digest[:16]}...",
        "rows": f"{facts['rows']:,}, {facts['support_rows']:,} of them with a coefficient",
        "ids": f"column {roles.id}" if roles.id else "counted",
        "target": f"{roles.target or 'not known'}: {', '.join(map(str, facts['classes']))}",
        "features": f"{held.width}{names}",
        "steps": ", ".join(steps),
        "settings": ", ".join(
            f"{name} = {written(value)}" for name, value in facts["settings"].items()
        ),
        "gamma": "not read by this kernel" if facts["gamma"] is None else f"{facts['gamma']:.6g}",
    }
    grid = Grid.grid(padding=(0, 2))
    for name, line in lines.items():
        grid.add_row(name, line)
    return Answer(facts, [grid])


def _plain(value: Any) -> Any:
    return value if isinstance(value, str | int | float | dict | None) else str(value)


def output(path: str, *others: str) -> str:
    """A path to write to that is none of the others, or the sentence that says why it is none."""
    place = Path(path)
    if path == STANDARD or place.is_dir() or not place.resolve().parent.is_dir():
        raise InputError(f"{path}: cannot be written; wanted a file in a directory that is there")
    if place.resolve() in [Path(other).resolve() for other in others]:
        raise InputError(f"{path}: that is what is read; wanted another file to write to")
    return path
