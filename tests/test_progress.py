"""What long work says while it lasts, and what an interrupt in the middle of it leaves behind."""

import io
import logging
import os
import re
import sys
from collections.abc import Callable
from dataclasses import asdict
from itertools import groupby
from pathlib import Path

import numpy as np
import pytest

from adiabat import SVC, compiled
from adiabat.gram import Gram
from adiabat.kernels import RBF, rows_of
from adiabat.problem import classification
from adiabat.solvers.monitor import Monitor
from adiabat.solvers.solve import solve

LINE = re.compile(
    r"(?P<phase>decomposition|polish|active set) +(?P<steps>[\d,]+) steps   "
    r"gap +(?P<gap>\d\.\d\de[+-]\d+|nan|inf)   +(?P<seconds>\d+\.\d) s"
)


def drawn(n=400, features=4, classes=2, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(n) % classes)
    return rng.standard_normal((n, features)) + 0.5 * y[:, None], y


def problem_of(X, y):
    gram = Gram(RBF(0.5), rows_of(X))
    return classification(gram, np.where(y == 1, 1.0, -1.0), np.full(len(y), 10.0))


def progress(text):
    """The lines of progress as dictionaries; nothing else may be there."""
    matches = [LINE.fullmatch(line.removeprefix("adiabat: ")) for line in text.splitlines()]
    assert all(matches), text
    return [match.groupdict() for match in matches]


@pytest.fixture
def every_report(monkeypatch):
    """All that a solver reports becomes a line, however soon it comes."""
    monkeypatch.setitem(Monitor.__init__.__kwdefaults__, "every", 0.0)


# ---------------------------------------------------------------- lines of progress


def test_a_monitor_writes_phase_steps_gap_and_seconds(capsys):
    solution = solve(problem_of(*drawn()), monitor=Monitor(verbose=True, every=0.0))
    out, err = capsys.readouterr()
    assert out == ""
    assert all(line.startswith("adiabat: ") for line in err.splitlines())
    lines = progress(err)
    assert lines[0]["phase"] == "decomposition"
    assert lines[-1]["phase"] == "polish"
    steps = [int(line["steps"].replace(",", "")) for line in lines]
    assert steps == sorted(steps)
    assert steps[0] > 0
    assert steps[-1] == solution.steps
    seconds = [float(line["seconds"]) for line in lines]
    assert seconds == sorted(seconds)
    gaps = [float(line["gap"]) for line in lines if line["phase"] == "decomposition"]
    assert len(gaps) > 1
    assert gaps[-1] <= 0.1 < gaps[0]
    assert float(lines[-1]["gap"]) == 0.0  # rows that the last round of the polish exchanged


def test_a_verbose_classifier_writes_progress_to_standard_error(capsys, every_report):
    X, y = drawn()
    model = SVC(C=10.0, gamma=0.5, verbose=True).fit(X, y)
    out, err = capsys.readouterr()
    assert out == ""
    assert {line["phase"] for line in progress(err)} == {"decomposition", "polish"}
    quiet = SVC(C=10.0, gamma=0.5).fit(X, y)
    assert np.array_equal(model.dual_coef_, quiet.dual_coef_)


@pytest.mark.parametrize("verbose", [True, False])
def test_progress_is_logged_at_debug_in_any_case(verbose, capsys, caplog, every_report):
    X, y = drawn()
    with caplog.at_level(logging.DEBUG, logger="adiabat"):
        SVC(C=10.0, gamma=0.5, verbose=verbose).fit(X, y)
    records = [record for record in caplog.records if record.name == "adiabat"]
    assert {record.levelno for record in records} == {logging.DEBUG}
    logged = [record.getMessage() for record in records]
    assert len(progress("\n".join(logged))) > 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.splitlines() == [f"adiabat: {line}" for line in logged if verbose]


def test_nobody_who_does_not_ask_hears_anything(capfd, every_report):
    SVC(C=10.0, gamma=0.5).fit(*drawn())
    assert capfd.readouterr() == ("", "")


def test_a_short_fit_has_nothing_to_tell(capsys):
    monitor = Monitor(verbose=True, every=1e6)
    solution = solve(problem_of(*drawn()), monitor=monitor)
    assert capsys.readouterr().err == ""
    assert monitor.steps == solution.steps > 0


def test_every_machine_of_many_classes_tells(capsys, every_report):
    X, y = drawn(150, classes=3)
    SVC(C=10.0, gamma=0.5, verbose=True).fit(X, y)
    phases = [line["phase"] for line in progress(capsys.readouterr().err)]
    assert [phase for phase, _ in groupby(phases)] == ["decomposition", "polish"] * 3


def test_steps_that_are_reported_never_fall():
    monitor = Monitor(every=1e6)
    for steps in (5, 3, 8, 0):
        monitor.report("decomposition", steps, 1.0)
    assert monitor.steps == 8


# ---------------------------------------------------------------- compiling


@pytest.fixture
def unannounced():
    """As in a process that has not compiled anything."""
    compiled.announce.cache_clear()
    yield
    compiled.announce.cache_clear()
    compiled.announce()


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_code_that_is_older_than_any_source_is_compiled_anew(tmp_path):
    """What a loop calls may stand in another file than the loop itself."""
    old, new = tmp_path / "path.follow-1.nbi", tmp_path / "path.follow-2.nbi"
    for age, entry in enumerate((old, new)):
        entry.touch()
        os.utime(entry, (age, age))
    (tmp_path / "path.look-1.nbi").touch()
    assert compiled.drop_outdated(tmp_path, "path.follow-*.nbi", newest=0.5) == 1
    assert sorted(entry.name for entry in tmp_path.iterdir()) == [
        "path.follow-2.nbi",
        "path.look-1.nbi",
    ]
    assert compiled.newest_source() >= Path(compiled.__file__).stat().st_mtime


def test_compiling_is_announced_once(unannounced, caplog, capsys):
    with caplog.at_level(logging.INFO, logger="adiabat"):
        compiled.announce()
        compiled.announce()
    (record,) = caplog.records
    assert (record.name, record.levelno) == ("adiabat", logging.INFO)
    assert record.getMessage().startswith("compiling its loops")
    assert capsys.readouterr() == ("", "")


def test_compiling_is_announced_on_a_terminal_that_has_no_log(unannounced, monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    compiled.announce()
    compiled.announce()
    assert terminal.getvalue().count("\n") == 1
    assert terminal.getvalue().startswith("adiabat: compiling its loops")


def test_compiling_is_not_announced_twice_on_a_terminal(unannounced, monkeypatch, caplog):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    with caplog.at_level(logging.INFO, logger="adiabat"):
        compiled.announce()
    assert terminal.getvalue() == ""
    assert len(caplog.records) == 1


# ---------------------------------------------------------------- interrupts


class Interruptible:
    """A Gaussian kernel that raises at the call that it is told to."""

    def __init__(self) -> None:
        self.calls, self.at = 0, 0
        self.problem: Callable[[], BaseException] = KeyboardInterrupt

    def __call__(self, A, B):
        self.calls += 1
        if self.calls == self.at:
            raise self.problem
        return np.exp(-0.5 * ((A[:, None, :] - B[None, :, :]) ** 2).sum(axis=2))


def plain(value):
    """Something that is equal only where every bit is."""
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.shape, value.tolist()
    if isinstance(value, dict):
        return {name: plain(part) for name, part in value.items()}
    return value


def seen(model, X):
    """All that a user can see of a model."""
    names = (
        "classes_ ids_ support_ support_vectors_ n_support_ dual_coef_ intercept_ shape_fit_ "
        "fit_status_ n_iter_ margin_ error_ reserve_ work_ class_weight_ n_features_in_"
    )
    state = {name: plain(getattr(model, name)) for name in names.split()}
    certificate = model.certificate()
    proofs = getattr(certificate, "members", {"": certificate})
    state["proofs"] = {pair: asdict(proof) for pair, proof in proofs.items()}
    state["values"], state["labels"] = plain(model.decision_function(X)), plain(model.predict(X))
    return state


REFITS = {
    "hinge": {},
    "hard margin": {"C": np.inf},
    "squared hinge": {"loss": "squared_hinge"},
    "fixed bias": {"fit_intercept": False},
}


@pytest.mark.parametrize("problem", [KeyboardInterrupt, MemoryError])
@pytest.mark.parametrize("left", [0, 1, 2, 4, 30])  # calls that do not come any more
@pytest.mark.parametrize("changes", REFITS.values(), ids=REFITS.keys())
@pytest.mark.parametrize("classes", [2, 3])
def test_an_interrupted_fit_leaves_the_model_as_it_was(problem, left, changes, classes):
    X, y = drawn(60, 3, classes)
    kernel = Interruptible()
    model = SVC(C=2.0, kernel=kernel).fit(X, y, ids=[f"row {i}" for i in range(60)])
    before = seen(model, X)
    others, labels = drawn(45, 5, classes, seed=1)
    labels = np.array(["a", "b", "c"])[labels]

    kernel.calls = 0
    twin = model.copy().set_params(**changes)
    needed = twin.fit(others, labels).kernel.calls
    assert needed > 45  # one for each value of the diagonal, at the start of the fit
    kernel.calls, kernel.at, kernel.problem = 0, needed - left, problem
    model.set_params(**changes)
    with pytest.raises(problem):
        model.fit(others, labels)
    assert kernel.calls == kernel.at
    assert model.get_params()["kernel"] is kernel
    assert seen(model, X) == before


@pytest.mark.parametrize("problem", [KeyboardInterrupt, MemoryError])
def test_after_an_interrupt_the_same_fit_gives_the_same_model(problem):
    X, y = drawn(60, 3)
    kernel = Interruptible()
    model = SVC(C=2.0, kernel=kernel).fit(X, y)
    others, labels = drawn(45, 5, seed=1)
    kernel.calls, kernel.at, kernel.problem = 0, 50, problem
    with pytest.raises(problem):
        model.fit(others, labels)
    again = seen(model.fit(others, labels), others)
    assert again == seen(SVC(C=2.0, kernel=Interruptible()).fit(others, labels), others)


@pytest.mark.parametrize("problem", [KeyboardInterrupt, MemoryError])
def test_an_interrupted_first_fit_leaves_nothing(problem):
    X, y = drawn(60, 3)
    kernel = Interruptible()
    kernel.at, kernel.problem = 50, problem
    model = SVC(C=2.0, kernel=kernel)
    before = dict(vars(model))
    with pytest.raises(problem):
        model.fit(X, y)
    del vars(model)["_pen"]  # what a writer holds says nothing of what was learned
    assert vars(model) == before


def test_an_interrupted_prediction_leaves_the_model_as_it_was():
    X, y = drawn(60, 3)
    kernel = Interruptible()
    model = SVC(C=2.0, kernel=kernel).fit(X, y)
    before = seen(model, X)
    kernel.calls, kernel.at = 0, 1
    with pytest.raises(KeyboardInterrupt):
        model.predict(X)
    assert seen(model, X) == before
