"""What others see while a model is changed, and what a change that fails leaves behind."""

import itertools
import logging
import pickle
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

import adiabat
from adiabat import SVC, growing_gram
from adiabat.errors import BusyError
from adiabat.growing_gram import GrowingGram, OwnColumns
from adiabat.kernels import RBF, rows_of
from tests.test_progress import Interruptible, seen

EXACT = 1e-8  # of max(1, max|f|): what is promised
READERS, EDITS = 8, 1000
PATIENCE = 60.0  # seconds until a thread that does not answer is an error


def drawn(n=40, classes=2, seed=0):
    rng = np.random.default_rng(seed)
    codes = np.arange(n) % classes
    return rng.standard_normal((n, 3)) + 0.8 * codes[:, None], np.array(["a", "b", "c"])[codes]


def shown(thing):
    """The immutable model behind a classifier, or behind a change of one."""
    return vars(thing)["_model"]


def agree(model, X, y, w=None):
    """The model is the one that a fresh fit on these rows gives, and proves it."""
    fresh = model.fresh().fit(X, y, w)
    values, expected = model.decision_function(X), fresh.decision_function(X)
    assert np.abs(values - expected).max() <= EXACT * max(1.0, np.abs(expected).max())
    assert model.certificate().holds()


# ---------------------------------------------------------------- readers


@pytest.fixture
def frequent_turns():
    """Threads take turns so often that readers meet every moment of a change."""
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(usual)


class Readers:
    """Threads that ask the same question without pause, and the different answers they got."""

    def __init__(self, ask):
        self.ask, self.over, self.answers = ask, threading.Event(), set()
        self.pool = ThreadPoolExecutor(READERS)
        self.begun = threading.Barrier(READERS + 1)

    def read(self):
        answers, count = {self.ask()}, 1
        self.begun.wait(PATIENCE)
        while not self.over.is_set():
            answers.add(self.ask())
            count += 1
        return answers, count

    def __enter__(self):
        self.reading = [self.pool.submit(self.read) for _ in range(READERS)]
        self.begun.wait(PATIENCE)
        return self

    def __exit__(self, *_):
        self.over.set()
        results = [reading.result(PATIENCE) for reading in self.reading]
        self.pool.shutdown()
        self.answers = set().union(*(answers for answers, _ in results))
        self.counts = [count for _, count in results]


def steps(X, y, rng):
    """Edits without end, of a model that stays small."""
    learned = itertools.count()
    while True:
        row, name = rng.integers(len(X)), f"new {next(learned)}"
        yield lambda m, row=row, name=name: m.partial_fit(X[[row]] + 0.3, y[[row]], ids=[name])
        yield lambda m: m.reweight(f"{rng.integers(20)}", float(rng.choice([0.5, 2.0])))
        yield lambda m: m.relabel("3", str(rng.choice(["a", "b"])))
        yield lambda m: m.revise("4", X[[4]] + 0.1 * rng.standard_normal((1, 3)))
        yield lambda m, name=name: m.unlearn(name)


@pytest.mark.parametrize("classes", [2, 3])
def test_every_answer_while_a_thread_edits_is_that_of_one_model(classes, frequent_turns):
    X, y = drawn(24, classes)
    model = SVC(gamma=0.5).fit(X, y, ids=[str(i) for i in range(24)])
    queries = X[:5] + 0.05

    def ask():
        return model.decision_function(queries).tobytes()

    committed = [ask()]
    edits = steps(X, y, np.random.default_rng(classes))
    with Readers(ask) as readers:
        for edit in itertools.islice(edits, EDITS if classes == 2 else EDITS // 5):
            edit(model)
            committed.append(ask())
    assert len(set(committed)) > len(committed) // 2
    assert readers.answers <= set(committed)
    assert len(readers.answers) > 1  # they did see it change
    assert model.certificate().holds()


def test_readers_of_a_model_that_fails_to_change_see_what_was_there(frequent_turns):
    X, y = drawn(24)
    model = SVC(gamma=0.5).fit(X, y)

    def ask():
        return model.decision_function(X).tobytes(), model.predict(X).tobytes()

    before = ask()
    with Readers(ask) as readers:
        for _ in range(50):
            with pytest.raises(ValueError, match="held already"):
                model.partial_fit(X[:2], y[:2], ids=[99, 3])
            with pytest.raises(ValueError, match="none of the 24 rows"):
                model.reweight(range(24), 0.0)
            with pytest.raises(KeyError):
                model.unlearn([1, 2, 77])
    assert readers.answers == {before}


def test_readers_of_a_model_that_forgets_all_get_an_answer_or_are_told(frequent_turns):
    X, y = drawn(8)
    model = SVC(gamma=0.5).fit(X, y)
    said = model.decision_function(X).tobytes()

    def ask():
        try:
            return model.decision_function(X).tobytes()
        except NotFittedError:
            return None

    with Readers(ask) as readers:
        for _ in range(50):
            model.unlearn(model.ids_)
            model.partial_fit(X, y)
    assert readers.answers == {None, said}


def test_twins_and_pickles_of_a_changing_model_are_whole(frequent_turns):
    X, y = drawn(24)
    model = SVC(gamma=0.5).fit(X, y, ids=[str(i) for i in range(24)])

    def ask():
        twin, stored = model.copy(), pickle.loads(pickle.dumps(model))
        for one in (twin, stored):
            change = vars(one).get("last_change_")
            if change is not None:
                assert sum(change.flow.values()) >= len(one.ids_)
                assert shown(change) is shown(one)
        return len(twin.ids_)

    edits = steps(X, y, np.random.default_rng(0))
    with Readers(ask) as readers:
        for edit in itertools.islice(edits, 50):
            edit(model)
    assert readers.answers <= {24, 25}


# ---------------------------------------------------------------- a second writer


class Visited:
    """A Gaussian kernel that does something at its next call, if it is told to."""

    def __init__(self):
        self.visit = None

    def __call__(self, A, B):
        visit, self.visit = self.visit, None
        if visit is not None:
            visit()
        return np.exp(-0.5 * ((A[:, None, :] - B[None, :, :]) ** 2).sum(axis=2))


def second_edits(X, y):
    return {
        "fit": lambda m: m.fit(X, y),
        "partial_fit": lambda m: m.partial_fit(X[:1], y[:1]),
        "unlearn": lambda m: m.unlearn(2),
        "relabel": lambda m: m.relabel(2, "b"),
        "reweight": lambda m: m.reweight(2, 2.0),
        "revise": lambda m: m.revise(2, X[:1]),
    }


@pytest.mark.parametrize("verb", second_edits(*drawn()))
def test_a_second_writer_is_refused_and_the_first_one_finishes(verb):
    X, y = drawn(20)
    kernel = Visited()
    model = SVC(kernel=kernel).fit(X, y)
    before = model.decision_function(X).tolist()
    entered, go_on = threading.Event(), threading.Event()

    def visit():
        entered.set()
        assert go_on.wait(PATIENCE)

    kernel.visit = visit
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(model.unlearn, [3, 4])
        assert entered.wait(PATIENCE)
        try:
            with pytest.raises(BusyError, match="another thread"):
                second_edits(X, y)[verb](model)
            assert model.decision_function(X).tolist() == before  # who reads need not wait
            twin = model.copy().unlearn(7)  # and a twin is another model
        finally:
            go_on.set()
        assert first.result(PATIENCE) is model
    assert model.last_change_.rows == 2
    second_edits(X, y)[verb](model)
    assert model.certificate().holds()
    agree(twin, np.delete(X, 7, axis=0), np.delete(y, 7))


def test_a_kernel_that_edits_the_model_it_works_for_is_refused():
    X, y = drawn(20)
    kernel = Visited()
    model = SVC(kernel=kernel).fit(X, y)
    before = seen(model, X)
    kernel.visit = lambda: model.unlearn(3)
    with pytest.raises(BusyError):
        model.reweight(2, 2.0)
    assert seen(model, X) == before
    agree(model.unlearn(3), np.delete(X, 3, axis=0), np.delete(y, 3))


# ---------------------------------------------------------------- interrupts


VERBS = {
    "partial_fit": lambda m, X, y: m.partial_fit(X[:3] + 0.4, y[:3], ids=["p", "q", "r"]),
    "unlearn": lambda m, *_: m.unlearn([0, 1, 2]),
    "relabel": lambda m, _, y: m.relabel([0, 1, 2], y[[1, 2, 3]]),
    "reweight": lambda m, *_: m.reweight([0, 1, 2], [0.0, 3.0, 0.5]),
    "revise": lambda m, X, _: m.revise([0, 1, 2], X[:3] - 0.6),
}


def lived(X, y, **settings):
    """A model that keeps living machines from its last change."""
    return SVC(C=2.0, **settings).fit(X, y).reweight(5, 2.0)


def come_back(X, y, **settings):
    """A model that has to make them anew."""
    return lived(X, y, **settings).copy()


def agree_with_a_fit(model):
    held = shown(model).examples
    agree(model, held.rows.values, held.labels, held.weight)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("change", VERBS.values(), ids=VERBS.keys())
@pytest.mark.parametrize("model_of", [lived, come_back])
@pytest.mark.parametrize("problem", [KeyboardInterrupt, MemoryError])
def test_a_change_whose_kernel_fails_leaves_the_model_as_it_was(problem, model_of, change, classes):
    X, y = drawn(30, classes)
    kernel = Interruptible()
    model = model_of(X, y, kernel=kernel)
    kernel.calls = 0
    change(model, X, y)
    needed, kernel.problem = kernel.calls, problem
    for at in sorted({1, 2, 3, needed // 2, needed - 1, needed} & set(range(1, needed + 1))):
        kernel.at = 0
        model = model_of(X, y, kernel=kernel)
        before, told = seen(model, X), model.last_change_
        kernel.calls, kernel.at = 0, at
        with pytest.raises(problem):
            change(model, X, y)
        kernel.at = 0
        assert seen(model, X) == before
        assert model.last_change_ is told
        agree_with_a_fit(model.reweight(7, 3.0))
        agree_with_a_fit(change(model, X, y))


OURS = str(Path(adiabat.__file__).parent)


class Interrupt:
    """Interrupts what it is called with when that comes to its k-th line in this library.

    But for the lines that hold the pen: Python looks for interrupts between calls only, and
    these are so written that it does not look where that would matter.
    """

    def __init__(self, at):
        self.at, self.lines = at, 0

    def trace(self, frame, event, _):
        name = frame.f_code.co_filename
        if not name.startswith(OURS) or name.endswith("writing.py"):
            return None
        if event == "line":
            self.lines += 1
            if self.lines == self.at:
                raise KeyboardInterrupt
        return self.trace

    def __call__(self, function, *given):
        usual = sys.gettrace()
        sys.settrace(self.trace)
        try:
            return function(*given)
        finally:
            sys.settrace(usual)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("verb", VERBS)
def test_an_interrupt_at_any_line_leaves_a_whole_model(verb, classes):
    X, y = drawn(20, classes)
    counting = Interrupt(0)
    counting(VERBS[verb], lived(X, y, gamma=0.5), X, y)
    assert counting.lines > 200
    late = range(counting.lines - 12, counting.lines + 1)  # around the commit
    for at in [*range(1, counting.lines, counting.lines // 25), *late]:
        model = lived(X, y, gamma=0.5)
        before, there = seen(model, X), shown(model)
        with pytest.raises(KeyboardInterrupt):
            Interrupt(at)(VERBS[verb], model, X, y)
        if shown(model) is there:
            assert seen(model, X) == before
            assert shown(model.last_change_) is there
            VERBS[verb](model, X, y)
        assert model.last_change_.verb == verb
        assert shown(model.last_change_) is shown(model)
        agree_with_a_fit(model)
        agree_with_a_fit(model.reweight(7, 3.0))


@pytest.mark.parametrize("begin", ["fit", "partial_fit"])
def test_an_interrupt_at_any_line_of_a_beginning_leaves_nothing(begin):
    X, y = drawn(20)
    counting = Interrupt(0)
    counting(getattr(SVC(gamma=0.5), begin), X, y)
    for at in range(1, counting.lines, counting.lines // 20):
        model = SVC(gamma=0.5)
        with pytest.raises(KeyboardInterrupt):
            Interrupt(at)(getattr(model, begin), X, y)
        fitted = model.__sklearn_is_fitted__()
        assert not fitted or at > counting.lines // 2
        assert fitted or not hasattr(model, "n_features_in_")
        agree(model.fit(X, y), X, y)


# ---------------------------------------------------------------- memory


def gram_of(rows, columns):
    X = np.arange(float(rows))[:, None]
    prepared = RBF(0.5).prepare(rows_of(X), np.float64)
    return GrowingGram(OwnColumns(RBF(0.5), prepared), np.zeros(rows), columns)


def test_a_table_that_no_machine_has_room_for_is_refused_before_it_is_taken():
    with pytest.raises(MemoryError, match=r"10 rows and 1000000000 members takes \d{20} bytes"):
        gram_of(10, 10**9)


@pytest.mark.parametrize(("rows", "said"), [(3000, True), (100, False)])
def test_large_tables_are_spoken_of_and_small_ones_are_not(rows, said, caplog):
    with caplog.at_level(logging.INFO, logger="adiabat"):
        gram = gram_of(rows, rows)
    bytes_taken = gram.table.nbytes + 8 * growing_gram.with_room(rows) ** 2
    assert (bytes_taken > 64 << 20) == said
    expected = f"a change with {rows} rows and {rows} members takes {bytes_taken} bytes"
    assert [record.getMessage() for record in caplog.records] == [expected] * said


@pytest.fixture
def scarcity(monkeypatch):
    """A system with little memory left, on which every table is a large one."""

    def free(bytes_left):
        monkeypatch.setattr(growing_gram, "NOTABLE", 0)
        monkeypatch.setattr(growing_gram, "available_memory", lambda: bytes_left)

    yield free
    monkeypatch.undo()


@pytest.mark.parametrize("kept", [False, True], ids=["first change", "grown table"])
def test_a_change_for_which_there_is_no_memory_changes_nothing(kept, scarcity, monkeypatch):
    X, y = drawn(30)
    new, labels = drawn(40, seed=1)
    model = SVC(gamma=0.5).fit(X, y)
    if kept:
        model.reweight(3, 2.0)
    before = seen(model, X)
    scarcity(1000)
    with pytest.raises(MemoryError, match=r"rows and \d+ members takes \d+ bytes .* 1000 are"):
        model.partial_fit(new, labels)
    assert seen(model, X) == before
    monkeypatch.undo()
    model.partial_fit(new, labels)
    agree_with_a_fit(model)


def test_available_memory_is_told_in_bytes_or_not_at_all():
    free = growing_gram.available_memory()
    assert (free is None) == (not Path("/proc/meminfo").exists())
    assert free is None or free > 1 << 20
