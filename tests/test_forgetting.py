"""After rows were unlearned, nothing of them is left in the model or in its pickle."""

import gc
import pickle
from types import FunctionType, MethodType, ModuleType

import numpy as np
import pytest
from scipy import sparse

from adiabat import SVC, NotSeparableError
from adiabat.kernels import RBF, Linear, Polynomial, rows_of

N, GONE = 40, [2, 3, 17, 31]
SAME = 1e-12  # two numbers this near to each other, in parts of them, are the same number
SETTINGS = {
    "rbf": {"gamma": 0.5},
    "linear": {"kernel": "linear"},
    "cubic": {"kernel": "poly", "gamma": 0.5, "coef0": 1.0},
    "squared hinge": {"gamma": 0.5, "loss": "squared_hinge"},
    "fixed bias": {"gamma": 0.5, "fit_intercept": False},
    "balanced": {"gamma": 0.5, "class_weight": "balanced"},
    "hard margin": {"gamma": 5.0, "C": np.inf},
}


# ---------------------------------------------------------------- all that can be reached

OPAQUE = type, ModuleType, FunctionType, MethodType, type(gc.collect)


def parts_of(thing):
    """What an object holds, an array's owner and a function's closure among it."""
    if isinstance(thing, np.ndarray):
        return [thing.base, *(thing.ravel().tolist() if thing.dtype == object else [])]
    if isinstance(thing, FunctionType):
        return [thing.__closure__, thing.__defaults__]
    if isinstance(thing, MethodType):
        return [thing.__self__]
    if isinstance(thing, OPAQUE):
        return []
    return gc.get_referents(thing)


def reachable(root):
    """Everything that an object leads to, each once."""
    seen, waiting = {}, [root]
    while waiting:
        thing = waiting.pop()
        if thing is not None and id(thing) not in seen:
            seen[id(thing)] = thing
            waiting.extend(parts_of(thing))
    return list(seen.values())


class Remains:
    """Numbers, texts and plain bytes of all that an object leads to, spare capacity included."""

    def __init__(self, root):
        things = reachable(root)
        arrays = [a for a in things if isinstance(a, np.ndarray) and a.dtype != object]
        self.blocks = [a.tobytes() for a in arrays]
        floats = [a.ravel().astype(float) for a in arrays if a.dtype.kind == "f"]
        plain = np.array([x for x in things if isinstance(x, float)])
        self.numbers = np.sort(np.concatenate([plain, *floats]))
        texts = [set(a.ravel().tolist()) for a in arrays if a.dtype.kind == "U"]
        self.texts = {x for x in things if isinstance(x, str)}.union(*texts)
        self.blocks += [x for x in things if isinstance(x, bytes | bytearray)]

    def has_number(self, value):
        near = np.searchsorted(self.numbers, value) + np.array([-1, 0])
        beside = self.numbers[near.clip(0, len(self.numbers) - 1)]
        return bool((np.abs(beside - value) <= SAME * abs(value)).any())

    def has_bytes(self, value):
        double, single = np.float64(value).tobytes(), np.float32(value).tobytes()
        return any(double in block or aligned(single, block) for block in self.blocks)

    def found(self, traces):
        """Those of the traces that are there."""
        texts = " ".join(self.texts)
        return [
            trace
            for trace in traces
            if (trace in texts if isinstance(trace, str) else self.has_number(trace))
            or (not isinstance(trace, str) and self.has_bytes(trace))
        ]


def aligned(word, block):
    """Whether a word of four bytes stands where numbers of four bytes stand."""
    at = block.find(word)
    while at >= 0 and at % 4:
        at = block.find(word, at + 1)
    return at >= 0


def left_of(model, traces):
    """Traces in a model, in its pickle, and in what comes out of that."""
    stored = pickle.dumps(model)
    words = [t.encode() if isinstance(t, str) else np.float64(t).tobytes() for t in traces]
    in_pickle = [t for t, word in zip(traces, words, strict=True) if word in stored]
    return Remains(model).found(traces) + in_pickle + Remains(pickle.loads(stored)).found(traces)


# ---------------------------------------------------------------- rows and their traces


def drawn(seed=0, n=N, classes=2, noise=0.7):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 3))
    side = X[:, 0] + noise * rng.standard_normal(n)
    y = np.where(side > 0, "yes", "no")
    return X, y if classes == 2 else np.where(side > 0.8, "perhaps", y)


both_sorts = pytest.mark.parametrize("classes", [2, 3])


def names_of(n=N):
    return [f"name-{i:03d}." for i in range(n)]


def similarities(X, rows, kernel):
    """Kernel values of some rows with all others; that of a Gaussian with itself is no trace."""
    every = kernel.prepare(rows_of(X), np.float64)
    values = kernel.block(every.take(rows), every)
    return values[(values != 0.0) & (np.abs(values - 1.0) > 1e-9)].tolist()


def traces_of(X, rows, kernel=None):
    """Features of rows, and their kernel values with all rows."""
    values = [] if kernel is None else similarities(X, rows, kernel)
    return [*X[rows].ravel().tolist(), *values]


def kernel_for(settings):
    name, gamma = settings.get("kernel", "rbf"), settings.get("gamma", 1.0)
    made = {"rbf": RBF(gamma), "linear": Linear(), "poly": Polynomial(3, gamma, 1.0)}
    return made[name]


def lived(settings, X, y, **names):
    """A model with some life behind it, so that every array has had its use."""
    first = N - 6
    model = SVC(**settings).fit(X[:first], y[:first], **{k: v[:first] for k, v in names.items()})
    for i in range(first, N, 2):
        model.partial_fit(X[i : i + 2], y[i : i + 2], **{k: v[i : i + 2] for k, v in names.items()})
    model.reweight(model.ids_[[2, 5, 17]], 2.0).reweight(model.ids_[[2, 5, 17]], 1.0)
    model.predict(X)
    model.certificate()
    return model


# ---------------------------------------------------------------- unlearned rows


@both_sorts
@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS.keys())
def test_no_byte_of_unlearned_rows_is_left(settings, classes):
    X, y = drawn(classes=classes, noise=0.0 if settings.get("C") == np.inf else 0.7)
    model = lived(settings, X, y, ids=names_of())
    features, ids = traces_of(X, GONE), [names_of()[i] for i in GONE]
    # the search finds what is there: features, ids, and kernel values with members of the margin
    assert set(left_of(model, features + ids)) == set(features + ids)
    values = similarities(X, GONE, kernel_for(settings))
    assert Remains(model).found(values)
    model.unlearn(ids)
    assert left_of(model, features + ids + values) == []
    assert model.last_change_.certificate.holds()
    assert left_of(model, features + ids + values) == []


@pytest.mark.parametrize("gamma", [0.3, 0.45, 0.55, 2.0])
def test_rows_that_were_led_to_another_kernel_are_forgotten(gamma):
    X, y = drawn()
    model = lived(SETTINGS["rbf"], X, y, ids=names_of())
    assert model.adapt(gamma=gamma).last_change_.solved == 0  # the model has come along the way
    values = [*similarities(X, GONE, RBF(gamma)), *similarities(X, GONE, RBF(0.5))]
    assert Remains(model).found(values)
    model.unlearn([names_of()[i] for i in GONE])
    traces = traces_of(X, GONE) + [names_of()[i] for i in GONE] + values
    assert left_of(model, traces) == []
    assert left_of(model.adapt(C=3.0), traces) == []
    assert left_of(model.adapt(gamma=gamma + 0.1), traces) == []


@both_sorts
@pytest.mark.parametrize("verb", ["reweight", "relabel", "partial_fit", "unlearn", "adapt"])
def test_nothing_comes_back_with_later_changes(verb, classes):
    X, y = drawn(classes=classes)
    model = lived(SETTINGS["rbf"], X, y, ids=names_of())
    traces = traces_of(X, GONE, RBF(0.5)) + [names_of()[i] for i in GONE]
    model.unlearn([names_of()[i] for i in GONE])
    later = {
        "reweight": lambda: model.reweight(["name-000.", "name-001."], 3.0),
        "relabel": lambda: model.relabel("name-004.", "yes" if y[4] == "no" else "no"),
        "partial_fit": lambda: model.partial_fit(0.7 * X[:9], y[:9]),
        "unlearn": lambda: model.unlearn("name-039."),
        "adapt": lambda: model.adapt(gamma=0.7),
    }
    later[verb]()
    assert left_of(model, traces) == []


def test_groups_are_forgotten_with_their_rows():
    X, y = drawn()
    groups = [f"person-{i // 4}." for i in range(N)]
    model = lived(SETTINGS["rbf"], X, y, ids=names_of(), groups=groups)
    rows = [i for i in range(N) if groups[i] in ("person-1.", "person-8.")]
    traces = ["person-1.", "person-8.", *(names_of()[i] for i in rows), *traces_of(X, rows)]
    assert set(left_of(model, traces)) == set(traces)
    model.unlearn(groups=["person-1.", "person-8."])
    assert left_of(model, traces) == []


@both_sorts
@pytest.mark.parametrize("form", [sparse.csr_matrix, sparse.csr_array, sparse.csc_matrix])
def test_sparse_rows_are_forgotten(form, classes):
    X, y = drawn(classes=classes)
    X[np.abs(X) < 0.4] = 0.0
    model = lived(SETTINGS["rbf"], form(X).tocsr(), y)
    traces = [value for value in traces_of(X, GONE, RBF(0.5)) if value]
    assert set(X[GONE][X[GONE] != 0.0]) <= set(left_of(model, traces))
    model.unlearn(GONE)
    assert left_of(model, traces) == []
    model.partial_fit(sparse.csr_matrix(X[:2] + 0.25), y[:2])
    assert left_of(model, traces) == []


@both_sorts
def test_rows_of_a_kernel_matrix_are_forgotten(classes):
    X, y = drawn(classes=classes)
    kernel = RBF(0.5)
    rows = kernel.prepare(rows_of(X), np.float64)
    matrix = kernel.block(rows, rows)
    matrix = 0.5 * (matrix + matrix.T)
    model = SVC(kernel="precomputed").fit(matrix[:30, :30], y[:30], ids=names_of()[:30])
    model.partial_fit(matrix[30:], y[30:], ids=names_of()[30:])
    traces = similarities(X, GONE, kernel) + [names_of()[i] for i in GONE]
    assert set(left_of(model, traces)) == set(traces)
    model.unlearn([names_of()[i] for i in GONE])
    assert left_of(model, traces) == []
    kept = np.delete(np.arange(N), GONE)
    expected = SVC(kernel="precomputed").fit(matrix[np.ix_(kept, kept)], y[kept])
    values = model.decision_function(matrix[:, kept])
    assert np.abs(values - expected.decision_function(matrix[:, kept])).max() <= 1e-8


def test_names_of_a_kernel_matrix_go_with_its_rows():
    pandas = pytest.importorskip("pandas")
    X, y = drawn()
    names = names_of()
    frame = pandas.DataFrame(X @ X.T, index=names, columns=names)
    model = SVC(kernel="precomputed").fit(frame, y)
    gone = [names[i] for i in GONE]
    model.unlearn(gone)
    assert left_of(model, gone) == []
    kept = [name for name in names if name not in gone]
    assert model.feature_names_in_.tolist() == kept == model.ids_.tolist()
    assert model.predict(frame.loc[gone, kept]).shape == (len(gone),)


@pytest.mark.parametrize("classes", [3, 4])
def test_rows_of_many_classes_are_forgotten(classes):
    X, _ = drawn()
    y = np.array(["one", "two", "three", "four"])[np.arange(N) % classes]
    model = lived(SETTINGS["rbf"], X, y, ids=names_of())
    traces = traces_of(X, GONE, RBF(0.5)) + [names_of()[i] for i in GONE]
    model.unlearn([names_of()[i] for i in GONE])
    assert left_of(model, traces) == []


def test_what_many_classes_share_is_searched_and_stays_with_its_owner():
    X, y = drawn(classes=3)
    model = lived(SETTINGS["rbf"], X, y)
    shared = vars(model)["_upkeep"].shared
    values = similarities(X, GONE, RBF(0.5))
    assert Remains(shared).found(values)
    assert set(Remains(model).found(values)) >= set(Remains(shared).found(values))
    assert not Remains(pickle.loads(pickle.dumps(model))).found(values)
    assert not Remains(model.copy()).found(values)


def test_a_class_that_vanishes_is_forgotten():
    X, _ = drawn()
    y = np.array(["one", "two", "three-of-them"])[np.arange(N) % 3]
    model = lived(SETTINGS["rbf"], X, y)
    rows = np.flatnonzero(y == "three-of-them")
    traces = ["three-of-them", *traces_of(X, rows, RBF(0.5))]
    assert "three-of-them" in left_of(model, traces)
    model.unlearn(rows)
    assert left_of(model, traces) == []


def test_after_the_last_row_nothing_is_left():
    X, y = drawn()
    model = lived(SETTINGS["rbf"], X, y, ids=names_of())
    traces = [*traces_of(X, range(N), RBF(0.5)), *names_of(), *set(y)]
    model.unlearn(names_of())
    assert left_of(model, traces) == []


@pytest.mark.parametrize("rows", [1, 2, 3])
def test_rows_that_the_others_are_measured_from_are_forgotten(rows):
    X, y = drawn()
    X[:, 1] = np.where(np.arange(N) < rows, 1234.56789, X[:, 1])  # the same for the first ones
    y[:3] = "no", "yes", "no"
    model = SVC(gamma=0.5).partial_fit(X[:rows], y[:rows]).partial_fit(X[rows:], y[rows:])
    model.unlearn(range(rows))
    assert left_of(model, traces_of(X, range(rows), RBF(0.5))) == []
    assert not near(Remains(model), X[:rows])


def near(remains, rows):
    """Numbers that come close to a feature: an origin may be coarse, and is none of them."""
    beside = remains.numbers[:, None]
    values = rows.ravel()
    return remains.numbers[(np.abs(beside - values) <= 1e-5 * np.abs(values)).any(axis=1)].tolist()


# ---------------------------------------------------------------- what was corrected


@both_sorts
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_revised_features_are_forgotten(form, classes):
    X, y = drawn(classes=classes)
    model = lived(SETTINGS["rbf"], form(X), y)
    traces = traces_of(X, GONE, RBF(0.5))
    assert set(X[GONE].ravel()) <= set(left_of(model, traces))
    model.revise(GONE, form(0.7 * X[GONE]))
    assert left_of(model, traces) == []


@both_sorts
def test_revised_lines_of_a_kernel_matrix_are_forgotten(classes):
    X, y = drawn(classes=classes)
    other = X.copy()
    other[GONE] *= 0.7
    model = SVC(kernel="precomputed").fit(X @ X.T, y).reweight(GONE, 2.0)
    model.revise(GONE, (other @ other.T)[GONE])
    assert left_of(model, (X @ X.T)[GONE].ravel().tolist()) == []


@pytest.mark.parametrize("kind", [str, object])
def test_labels_that_no_row_has_any_more_are_forgotten(kind):
    X, y = drawn()
    y = y.astype("U20")
    y[5], y[GONE] = "an old label", "another old label"
    model = SVC(gamma=0.5).fit(X[:35], y[:35].astype(kind))
    model.partial_fit(X[35:], y[35:].astype(kind))
    traces = ["an old label", "another old label"]
    assert set(left_of(model, traces)) == set(traces)
    model.relabel(5, "yes").relabel(GONE, ["no", "yes", "no", "yes"])
    assert left_of(model, traces) == []


def test_a_label_relabelled_twice_is_forgotten():
    X, y = drawn()
    model = SVC(gamma=0.5).fit(X, y)
    model.relabel([4, 5], ["a slip", "yes"]).reweight(4, 2.0).relabel(4, "no")
    assert left_of(model, ["a slip"]) == []


def test_old_labels_and_features_go_with_a_revision_of_both():
    X, y = drawn()
    y = y.astype("U20")
    y[GONE] = "an old label"
    model = lived(SETTINGS["rbf"], X, y)
    traces = ["an old label", *traces_of(X, GONE, RBF(0.5))]
    model.revise(GONE, -0.7 * X[GONE], "yes")
    assert left_of(model, traces) == []


# ---------------------------------------------------------------- twins, refits, refusals


def test_a_fit_forgets_all_that_was_edited_before():
    X, y = drawn()
    model = lived(SETTINGS["rbf"], X, y, ids=names_of())
    traces = [*traces_of(X, range(N)), *names_of()]
    model.fit(X + 0.5, y)
    assert left_of(model, traces) == []
    assert not hasattr(model, "last_change_")


def test_a_twin_keeps_what_the_original_forgets():
    X, y = drawn()
    model = lived(SETTINGS["rbf"], X, y)
    twin, traces = model.copy(), traces_of(X, GONE)
    model.unlearn(GONE)
    assert left_of(model, traces) == []
    assert set(left_of(twin, traces)) == set(traces)


def test_questions_leave_nothing_behind():
    X, y = drawn()
    model = lived(SETTINGS["rbf"], X, y, ids=names_of())
    other = "something else"
    model.what_if(relabel=("name-003.", other))
    model.explain("name-003.")
    assert left_of(model, [other]) == []


def test_a_refused_change_leaves_nothing_of_what_came():
    X, y = drawn()
    y = np.where(X[:, 0] > 0, "yes", "no")
    model = SVC(kernel="linear", C=np.inf).fit(X, y).reweight(3, 2.0)
    new = 0.5 * (X[y == "yes"][:2] + X[y == "yes"][2:4])
    with pytest.raises(NotSeparableError):
        model.partial_fit(new, ["no", "no"])
    assert left_of(model, new.ravel().tolist()) == []


@both_sorts
@pytest.mark.parametrize("kernel", [Linear(), Polynomial(3, 0.5, 1.0), RBF(0.5)])
@pytest.mark.parametrize("free", [True, False], ids=["free bias", "fixed bias"])
def test_what_a_change_has_led_through_tells_nothing_of_a_row(free, kernel, classes):
    X, y = drawn(n=12, classes=classes)
    model = SVC(kernel=kernel, fit_intercept=free).fit(X, y).reweight(3, 2.0)
    held = list(range(12))
    for row in (3, 7, 0, 9, 5, 1, 10, 4):
        values = kernel.block(*[kernel.prepare(rows_of(X), np.float64)] * 2)[row, held]
        traces = values[np.abs(values - 1.0) > 1e-9].tolist() + X[row].tolist()
        model.unlearn(row)
        held.remove(row)
        assert left_of(model, traces) == []
        if set(y[held]) != set(y):
            break
    assert len(held) < 8


@pytest.mark.parametrize("row", range(12))
def test_errors_are_noted_as_they_are_and_not_by_what_has_moved_since(row):
    X = np.random.default_rng(3).standard_normal((12, 3))
    y = np.where(np.arange(12) % 2, "yes", "no")
    model = SVC(kernel="linear", fit_intercept=False).fit(X, y).unlearn(row)
    values = np.delete(X, row, axis=0) @ X[row]
    assert left_of(model, [*values.tolist(), *(-values).tolist()]) == []
