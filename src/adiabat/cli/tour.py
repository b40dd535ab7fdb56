"""The main job from start to finish, on data that ship with scikit-learn."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import track
from rich.rule import Rule
from rich.table import Table as Grid
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

import adiabat
from adiabat.cli.asking import output
from adiabat.cli.faults import InputError
from adiabat.cli.model_files import size_of
from adiabat.cli.proofs import in_full, sizes, verdict
from adiabat.cli.speech import Answer, Manner, console, duration

Array = NDArray[Any]

_FEATURES = ["worst radius", "worst texture"]
#: Two patients who get the wrong diagnosis in the table, far from the boundary.
_MISTYPED = (380, 566)
_WITHDRAWN = 10
_C_BEFORE, _C_AFTER = 1.0, 10.0


@dataclass(eq=False)
class Journey:
    """What the tour carries from station to station."""

    out: Console
    rows: pd.DataFrame
    truth: Array
    labels: Array
    model: Any

    def say(self, *parts: Any) -> None:
        for part in parts:
            self.out.print(part)

    def held(self) -> tuple[pd.DataFrame, Array]:
        """The rows that the model holds, and their labels as they are by now."""
        return self.rows.loc[self.model.ids_], self.labels[self.model.ids_]

    def apart_from_fresh(self) -> tuple[float, float]:
        """How far a fit of the same settings on the rows held decides differently; its seconds."""
        X, y = self.held()
        scaled = self.model[:-1].transform(X)
        fresh = self.model[-1].fresh()
        seconds = _timed(lambda: fresh.fit(scaled, y))
        everyone = self.model[:-1].transform(self.rows)
        ours = self.model.decision_function(self.rows)
        return float(np.abs(fresh.decision_function(everyone) - ours).max()), seconds


def tour(picture: str, manner: Manner) -> Answer:
    """Train, prove, leave out, correct, forget, compare, move C, save, load and draw."""
    _require_pictures()
    output(picture)
    with threadpool_limits(1):  # both sides of each comparison, and nobody waits for another core
        _travel(picture, manner)
    return Answer({"picture": picture})


def _travel(picture: str, manner: Manner) -> None:
    out = console()
    out.quiet = manner.quiet
    started = perf_counter()
    journey = _set_out(out)
    with manner.waiting("getting ready"):
        _warm_up()
    _train(journey)
    _prove(journey)
    suspects = _leave_out(journey, manner)
    before = _panel(journey, f"Before: two labels are wrong, C = {_C_BEFORE:g}", suspects)
    _correct(journey, suspects)
    before.squared.extend(_forget(journey))
    _move(journey)
    _save(journey)
    after = _panel(journey, f"After: corrected, ten rows forgotten, C = {_C_AFTER:g}", suspects)
    _draw(journey, before, after, picture)
    journey.say("", f"The tour took {perf_counter() - started:.0f} s, on one thread.")


def _require_pictures() -> None:
    if find_spec("matplotlib") is None:
        raise InputError(
            "tour: its picture needs matplotlib, which is not installed; "
            "python -m pip install 'adiabat[cli,plot]' brings it"
        )


def _set_out(out: Console) -> Journey:
    data = load_breast_cancer(as_frame=True)
    rows = data.data[_FEATURES]
    truth = np.where(data.target == 0, "malignant", "benign")
    labels = truth.copy()
    for row in _MISTYPED:
        labels[row] = "benign" if truth[row] == "malignant" else "malignant"
    model = adiabat.make_pipeline(StandardScaler(), adiabat.SVC(C=_C_BEFORE))
    return Journey(out, rows, truth, labels, model)


def _warm_up() -> None:
    """Have every loop compiled that the tour measures."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((60, 2)), np.arange(60) % 2
    model = adiabat.SVC().fit(X, y)
    model.leave_one_out(values=True)
    model.leave_one_out()
    model.relabel([0], [1]).unlearn([1, 2]).adapt(C=_C_AFTER).certificate()


def _timed(work: Callable[[], Any]) -> float:
    started = perf_counter()
    work()
    return perf_counter() - started


def _station(journey: Journey, title: str) -> None:
    journey.say("", Rule(f"[bold]{title}[/bold]", align="left", characters="─"))


def _train(journey: Journey) -> None:
    _station(journey, "1  Train")
    seconds = _timed(lambda: journey.model.fit(journey.rows, journey.labels))
    journey.say(
        f"{len(journey.rows)} patients, two measures of a tumour ({' and '.join(_FEATURES)}), and "
        "whether it was malignant. Two diagnoses were mistyped; let us see who finds them.",
        f"Standardised and learned in {duration(seconds)}: {sizes(journey.model.certificate())}.",
    )


def _prove(journey: Journey) -> None:
    _station(journey, "2  Prove")
    proof = journey.model.certificate()
    journey.say(
        verdict(proof),
        "From data and coefficients alone, whatever the solver believed:",
        in_full(proof),
    )


def _leave_out(journey: Journey, manner: Manner) -> list[int]:
    """Leave-one-out beside refits, and the rows that it contradicts most."""
    _station(journey, "3  Leave one out")
    told = journey.model.leave_one_out()
    refitted, brute = _refits(journey, manner)
    same = np.array_equal(told.predictions, refitted)
    grid = Grid(box=None, padding=(0, 2))
    for name in ("", "time", "errors"):
        grid.add_column(name, justify="left" if not name else "right")
    grid.add_row("leave_one_out, exact", duration(told.seconds), f"{told.errors.sum()}")
    wrong = (refitted != told.labels).sum()
    grid.add_row(f"{len(refitted)} refits", duration(brute), f"{wrong}")
    journey.say(
        grid,
        f"{'The same' if same else 'NOT the same'} answer for every row, "
        f"{brute / told.seconds:,.0f} times as fast.",
    )
    values = journey.model.leave_one_out(values=True).decision_function
    side = np.where(journey.labels == journey.model.classes_[1], 1, -1)
    suspects = np.argsort(side * values)[: len(_MISTYPED)].tolist()
    found = "the mistyped ones" if set(suspects) == set(_MISTYPED) else "not the mistyped ones"
    journey.say(f"It contradicts the labels of rows {suspects[0]} and {suspects[1]} most: {found}.")
    return suspects


def _refits(journey: Journey, manner: Manner) -> tuple[Array, float]:
    """What fits on all rows but one say of that one, and the seconds that they take."""
    X, y = journey.model[:-1].transform(journey.rows), journey.labels
    machine, everyone = journey.model[-1].fresh(), np.arange(len(y))
    told, err = [], console(stderr=True)
    started = perf_counter()
    hidden = manner.quiet or not err.is_terminal
    for row in track(everyone, "refitting", console=err, transient=True, disable=hidden):
        others = everyone != row
        told.append(machine.fit(X[others], y[others]).predict(X[[row]])[0])
    return np.array(told), perf_counter() - started


def _correct(journey: Journey, suspects: list[int]) -> None:
    _station(journey, "4  Correct two labels")
    right = journey.truth[suspects]
    journey.model.relabel(suspects, right)
    journey.labels[suspects] = right
    seconds = journey.model.last_change_.seconds
    errors = journey.model.leave_one_out().errors.sum()
    journey.say(
        f"Rows {suspects[0]} and {suspects[1]} relabelled in {duration(seconds)}; "
        f"{errors} leave-one-out errors are left.",
        f"Now {sizes(journey.model.certificate())}.",
    )


def _forget(journey: Journey) -> list[int]:
    _station(journey, "5  Forget ten rows")
    drawn = np.random.default_rng(4).choice(journey.model.ids_, _WITHDRAWN, replace=False)
    gone = sorted(set(drawn.tolist()) - set(_MISTYPED))
    journey.model.unlearn(gone)
    seconds = journey.model.last_change_.seconds
    apart, refit = journey.apart_from_fresh()
    journey.say(
        f"Patients {', '.join(map(str, gone))} withdraw their data: unlearned in "
        f"{duration(seconds)}.",
        f"A fresh fit on the {len(journey.model.ids_)} rows that are left takes "
        f"{duration(refit)} and decides the same, to {apart:.0e}.",
        "(Given the scaler, which was measured on all rows; make_pipeline(..., "
        "restandardise=True) would measure it anew.)",
    )
    return gone


def _move(journey: Journey) -> None:
    _station(journey, f"6  Move C from {_C_BEFORE:g} to {_C_AFTER:g}")
    journey.model.adapt(C=_C_AFTER)
    change = journey.model.last_change_
    apart, refit = journey.apart_from_fresh()
    journey.say(
        f"There in {duration(change.seconds)}, {_way(change)}; a fresh fit takes "
        f"{duration(refit)} and decides the same, to {apart:.0e}.",
        f"Now {sizes(journey.model.certificate())}.",
        verdict(journey.model.certificate()),
    )


def _way(change: Any) -> str:
    """How a change was made."""
    if change.solved:
        return "by the solver, from where the model stood"
    return f"along a path with {change.perturbations} changes of category"


def _save(journey: Journey) -> None:
    _station(journey, "7  Save and load")
    with tempfile.TemporaryDirectory() as folder:
        place = str(Path(folder) / "tumours.adiabat")
        adiabat.save(journey.model, place)
        size, twin = size_of(place), adiabat.load(place)
    rows = journey.rows
    alike = np.array_equal(twin.decision_function(rows), journey.model.decision_function(rows))
    journey.say(
        f"One file of {size}, without pickle. Loaded again it decides the same to the last bit: "
        f"{'yes' if alike else 'NO'}; its certificate holds: "
        f"{'yes' if twin.certificate().holds() else 'NO'}.",
    )
    journey.model = twin


def _panel(journey: Journey, title: str, suspects: list[int]) -> Any:
    """The model as it is now, for the picture."""
    from adiabat.cli.picture import Panel  # noqa: PLC0415 - matplotlib comes late

    X, y = journey.held()
    return Panel(title, journey.model.copy(), X, y.copy(), list(suspects), [])


def _draw(journey: Journey, before: Any, after: Any, picture: str) -> None:
    from adiabat.cli.picture import draw  # noqa: PLC0415

    _station(journey, "8  Look")
    draw(before, after, picture)
    journey.say(f"Margin, error and reserve rows before and after: {picture}")
