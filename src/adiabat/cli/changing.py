"""The verbs that change a model in its file: each of them as a whole or not at all."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from adiabat.cli.asking import output
from adiabat.cli.faults import InputError, listed
from adiabat.cli.model_files import Opened
from adiabat.cli.proofs import figures, sizes, verdict
from adiabat.cli.reading import STANDARD, bytes_of, is_file, read
from adiabat.cli.roles import features_of, ids_of, label_of, labels_of
from adiabat.cli.speech import Answer, Manner, duration, written
from adiabat.cli.table import Table, id_of
from adiabat.cli.text_files import text_of
from adiabat.errors import UnknownIdError


def learn(held: Opened, data: str, kind: str | None, manner: Manner) -> Answer:
    """Learn the rows of a file."""
    table = read(data, kind)
    classes = held.classifier.classes_
    X = features_of(table, held.roles, held.width)
    y, ids = labels_of(table, _targeted(held, table), classes), ids_of(table, held.roles)
    strange = sorted(set(y.tolist()) - set(classes.tolist()))
    if strange:
        manner.remark(f"{listed(strange)}: a class that the model has not seen before")
    return _changed(
        held, manner, f"Learned {len(y):,} rows", lambda: held.model.partial_fit(X, y, ids=ids)
    )


def forget(held: Opened, ids: str, receipt: str | None, manner: Manner) -> Answer:
    """Forget rows, and say so in a receipt."""
    named = ids_named(ids, held)
    if receipt is not None:
        output(receipt, held.path)
    if len(named) == len(held.classifier.ids_):
        raise InputError(
            f"--ids: all {len(named):,} rows of {held.path}; wanted one to be left (to forget "
            "everything, delete the file)"
        )
    answer = _changed(
        held, manner, f"Forgot {len(named):,} rows", lambda: held.model.unlearn(named)
    )
    if getattr(held.model, "restandardise", False):
        answer.say("No step remembers them: each was measured anew on the rows held now.")
    if receipt is not None:
        kept = ("digest_before", "digest_after", "remembers", "certificate")
        record = {
            "verb": "forget",
            "time": datetime.now(UTC).isoformat(timespec="seconds"),
            "count": len(named),
            **{name: answer.facts[name] for name in kept},
        }
        _write_receipt(receipt, record)
        answer.say(f"Receipt in {receipt}.")
    return answer


def _write_receipt(receipt: str, record: dict[str, Any]) -> None:
    try:
        Path(receipt).write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
    except OSError as error:
        raise InputError(
            f"{receipt}: the rows are forgotten, but the receipt cannot be written "
            f"({error.strerror})"
        ) from error


def relabel(held: Opened, ids: str, to: str, manner: Manner) -> Answer:
    """Correct the labels of some ids to one."""
    named = ids_named(ids, held)
    return _relabelled(held, named, [label_of(to, held.classifier.classes_)] * len(named), manner)


def relabel_from(held: Opened, data: str, kind: str | None, manner: Manner) -> Answer:
    """Correct the labels of the ids in a file to those in the file."""
    table = read(data, kind)
    labels = labels_of(table, _targeted(held, table), held.classifier.classes_)
    return _relabelled(held, _ids_in(held, table), labels, manner)


def _relabelled(held: Opened, named: list[Any], labels: Any, manner: Manner) -> Answer:
    done = f"Corrected the labels of {len(named):,} rows"
    return _changed(held, manner, done, lambda: held.model.relabel(named, labels))


def revise(held: Opened, data: str, kind: str | None, manner: Manner) -> Answer:
    """Correct the features of the rows in a file, and their labels if it has them."""
    table = read(data, kind)
    named, X = _ids_in(held, table), features_of(table, held.roles, held.width)
    labels = None
    if held.roles.target in table.columns:
        labels = labels_of(table, held.roles, held.classifier.classes_)
    return _changed(
        held,
        manner,
        f"Corrected {len(named):,} rows",
        lambda: held.model.revise(named, X, labels),
    )


def adapt(held: Opened, settings: dict[str, Any], manner: Manner) -> Answer:
    """Move the model to other settings."""
    if not settings:
        raise InputError("adapt: no setting given; wanted --C, --gamma or another")
    told = ", ".join(f"{name} = {written(value)}" for name, value in settings.items())
    return _changed(held, manner, f"Moved to {told}", lambda: held.model.adapt(**settings))


def _changed(held: Opened, manner: Manner, done: str, change: Callable[[], Any]) -> Answer:
    """Make a change, prove it, put the model into its file and say what happened."""
    with manner.waiting("changing the model"):
        change()
        proof = held.model.certificate()
    after = held.keep()
    last = held.classifier.last_change_
    rows = len(held.classifier.ids_)
    remembers = getattr(held.model, "remembers_", {})
    answer = Answer(
        {
            "model": held.path,
            "rows": rows,
            "perturbations": last.perturbations,
            "seconds": last.seconds,
            "digest_before": held.digest,
            "digest_after": after,
            "remembers": remembers,
            "certificate": figures(proof),
        }
    )
    answer.say(
        f"{done} in {duration(last.seconds)}; {held.path} holds {rows:,} rows now.",
        f"{sizes(proof).capitalize()}.",
        verdict(proof),
        *(
            f"The step {name} was measured on {count:,} rows since forgotten or corrected, and "
            "remembers them; train anew for one that does not."
            for name, count in remembers.items()
        ),
    )
    return answer


def ids_named(words: str, held: Opened) -> list[Any]:
    """The ids that somebody names: a list with commas, a file with one in each line, or ``-``."""
    known = set(held.classifier.ids_.tolist())
    if words == STANDARD or is_file(words):
        source = "standard input" if words == STANDARD else words
        lines = text_of(bytes_of(words), source).replace(",", "\n").splitlines()
        listing = [line.strip().strip('"') for line in lines]
        if listing[0] == held.roles.id and id_of(listing[0]) not in known:
            listing = listing[1:]  # the name of the column
    else:
        source, listing = "--ids", [word.strip() for word in words.split(",")]
    named = [name if name in known else id_of(name) for name in listing if name]
    if not named:
        raise InputError(f"{source}: no id there; wanted one at least")
    twice = sorted({str(name) for name in named if named.count(name) > 1})
    if twice:
        raise InputError(f"{source}: {listed(twice)} stands there twice; wanted each id once")
    unknown = [name for name in named if name not in known]
    if unknown:
        hint = ", and there is no such file either" if source == "--ids" and len(named) == 1 else ""
        raise UnknownIdError(
            f"{source}: {listed(unknown)} not held in {held.path}{hint}; wanted ids of its rows"
        )
    return named


def _ids_in(held: Opened, table: Table) -> list[Any]:
    """The ids in a file of corrections."""
    named = ids_of(table, held.roles)
    if named is None:
        raise InputError(
            f"{held.path}: its rows are counted and have no column of ids; wanted --id with the "
            f"column of {table.source} that holds their numbers"
        )
    known = set(held.classifier.ids_.tolist())
    for row, name in enumerate(named):
        if name not in known:
            where = table.at(row, held.roles.id or "")
            raise UnknownIdError(
                f"{where}: id {name!r} is not held in {held.path}; wanted one that is"
            )
    return named


def _targeted(held: Opened, table: Table) -> Any:
    """The model's roles, if the labels can be found."""
    if held.roles.target is None and table.target is None:
        raise InputError(
            f"--target: {held.path} does not say which column holds labels; wanted one of "
            f"{listed(table.columns)}"
        )
    return replace(held.roles, target=held.roles.target or table.target)
