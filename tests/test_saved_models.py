"""Models in files: the same model to the last bit, the whole file or the old one, or a refusal."""

import subprocess
import sys
from threading import Event

import numpy as np
import pytest
from scipy import sparse
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    KBinsDiscretizer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    RobustScaler,
    StandardScaler,
)

import adiabat
from adiabat import SVC, ModelFileError, kernels
from adiabat.errors import BusyError
from tests.test_editing import SETTINGS, Book, drawn, gaussian
from tests.test_progress import seen

SAVED = {name: what for name, what in SETTINGS.items() if name != "callable"}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.adiabat"


def through_a_file(model, path):
    adiabat.save(model, path)
    return adiabat.load(path)


def all_of(model, queries):
    state = seen(model, queries)
    rows = state["support_vectors_"]
    return {**state, "support_vectors_": rows.toarray().tolist() if sparse.issparse(rows) else rows}


def book_of(name, classes):
    """A model after some edits, and its rows."""
    settings, shown = SAVED[name]
    X, y = drawn(30, classes)
    book = Book(settings, X, y, shown)
    book.learn(X[:2] + 0.1, y[:2], [1.0, 2.0])
    book.relabel([3], [y[4]])
    book.reweight([5, 6], [0.0, 0.5])
    book.unlearn([0, 9])
    return book


# ---------------------------------------------------------------- the same model


@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("name", SAVED)
def test_a_loaded_model_is_the_one_that_was_saved(name, classes, path):
    book = book_of(name, classes)
    queries = book.shown(np.vstack([book.X, 0.8 * book.X + 0.1]), book.X)
    before = all_of(book.model, queries)
    loaded = through_a_file(book.model, path)
    assert loaded.get_params() == book.model.get_params()
    assert all_of(loaded, queries) == all_of(book.model, queries) == before
    assert loaded.certificate().holds()
    content = path.read_bytes()
    adiabat.save(loaded, path)
    assert path.read_bytes() == content


def random_edit(rng, book, model, classes):
    """One edit of a model of dense rows, as a function."""
    ids = rng.choice(model.ids_, 2, replace=False).tolist()
    labels, rows = drawn(2 * classes, classes, seed=int(rng.integers(1 << 20)))[::-1]
    some = rng.permutation(len(labels))[:2]
    verbs = [
        lambda m: m.partial_fit(rows[some], labels[some]),
        lambda m: m.unlearn(ids),
        lambda m: m.relabel(ids, labels[some]),
        lambda m: m.reweight(ids, [0.0, 2.0]),
        lambda m: m.revise(ids, rows[some]),
        lambda m: m.reweight(ids, [1.0, 1.5]),
    ]
    verb = verbs[int(rng.integers(len(verbs)))]
    if book.shown is gaussian or len(model.ids_) < 20:
        return verbs[0] if book.shown is not gaussian else verbs[3]
    return verb


@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("name", [n for n in SAVED if n not in ("hard margin", "precomputed")])
def test_both_go_on_the_same_way_to_the_last_bit(name, classes, path):
    book = book_of(name, classes)
    model, rng = book.model, np.random.default_rng(7)
    loaded = through_a_file(model, path)
    queries = 0.8 * book.X + 0.1
    for _ in range(50):
        edit = random_edit(rng, book, model, classes)
        edit(model)
        edit(loaded)
        assert np.array_equal(loaded.ids_, model.ids_)
        assert np.array_equal(loaded.dual_coef_, model.dual_coef_)
        assert np.array_equal(loaded.decision_function(queries), model.decision_function(queries))
        assert loaded.work_ == model.work_
    assert loaded.certificate() == model.certificate()
    assert loaded.certificate().holds()


@pytest.mark.parametrize("name", ["hard margin", "precomputed"])
def test_so_do_those_that_cannot_do_every_edit(name, path):
    book = book_of(name, 2)
    model, loaded = book.model, through_a_file(book.model, path)
    rng = np.random.default_rng(3)
    for _ in range(15):
        ids = rng.choice(model.ids_, 1).tolist()
        if rng.random() < 0.5 and len(model.ids_) > 15:
            model.unlearn(ids)
            loaded.unlearn(ids)
        else:
            weight = rng.choice([0.5, 1.0, 2.0])
            model.reweight(ids, weight)
            loaded.reweight(ids, weight)
        assert np.array_equal(loaded.dual_coef_, model.dual_coef_)
        assert np.array_equal(loaded.intercept_, model.intercept_)
    loaded.adapt(C=3.0)
    assert np.array_equal(loaded.dual_coef_, model.adapt(C=3.0).dual_coef_)


LABELS = {
    "words": (np.array(["no", "yes"]), None),
    "objects": (np.array(["no", "yes"], dtype=object), None),
    "bools": (np.array([False, True]), None),
    "floats": (np.array([-1.0, 1.0]), None),
    "small floats": (np.array([-1.0, 1.0], dtype=np.float16), None),
    "bytes": (np.array([0, 255], dtype=np.uint8), None),
    "other end first": (np.array([0, 300], dtype=">i2"), np.dtype("int16")),
    "strange": (np.array(["\0a", "\ud800\U0001f600'\"\\\n"]), None),
}


@pytest.mark.parametrize("name", LABELS)
def test_labels_come_back_as_they_were(name, path):
    names, dtype = LABELS[name]
    X, _ = drawn(20)
    y = names[np.arange(20) % 2]
    model = SVC(gamma=0.5, class_weight={names.tolist()[1]: 2.0}).fit(X, y)
    loaded = through_a_file(model, path)
    assert loaded.classes_.tolist() == model.classes_.tolist()
    assert loaded.classes_.dtype == (dtype or y.dtype)
    assert loaded.predict(X).dtype == (dtype or y.dtype)
    assert loaded.class_weight == model.class_weight
    loaded.relabel(3, y[4])
    assert loaded.certificate().holds()


@pytest.mark.parametrize(
    "ids",
    [range(5, 25), [2**70 + k for k in range(20)], [f"row {k}" for k in range(20)],
     [-1, "x", 2**64, *range(17)]],
    ids=["counted", "huge", "words", "mixed"],
)  # fmt: skip
def test_ids_and_groups_come_back_as_they_were(ids, path):
    X, y = drawn(20)
    groups = ["Ann", 7, 2.5, None, True] * 4
    model = SVC(gamma=0.5).fit(X, y, ids=list(ids), groups=groups)
    loaded = through_a_file(model, path)
    assert loaded.ids_.tolist() == model.ids_.tolist()
    assert loaded.ids_.dtype == model.ids_.dtype
    for one in (model, loaded):
        one.unlearn(groups=["Ann", 2.5]).partial_fit(X[:1] + 1.0, y[:1])
    assert loaded.ids_.tolist() == model.ids_.tolist()


def test_a_model_that_holds_nothing_knows_which_numbers_were_ids(path):
    X, y = drawn(20)
    model = SVC(gamma=0.5).fit(X, y)
    loaded = through_a_file(model.unlearn(model.ids_), path)
    with pytest.raises(NotFittedError):
        loaded.predict(X)
    assert loaded.partial_fit(X, y).ids_.tolist() == list(range(20, 40))
    assert through_a_file(SVC(C=3.0), path).fit(X, y).ids_.tolist() == list(range(20))


def test_settings_that_were_changed_after_the_fit_stay_so(path):
    X, y = drawn(20)
    model = SVC(gamma="scale", C=np.float64(2.0)).fit(X, y).set_params(C=np.inf, gamma=0.7)
    loaded = through_a_file(model, path)
    assert loaded.get_params() == model.get_params()
    assert loaded.gamma_ == model.gamma_
    assert np.array_equal(loaded.unlearn(3).dual_coef_, model.unlearn(3).dual_coef_)


def test_a_first_class_alone_is_saved_too(path):
    X, y = drawn(20)
    loaded = through_a_file(SVC(gamma=0.5).partial_fit(X[y == "bee"], y[y == "bee"]), path)
    with pytest.raises(NotFittedError, match="only class"):
        loaded.predict(X)
    assert loaded.partial_fit(X[y == "ant"], y[y == "ant"]).certificate().holds()


KERNELS = [
    kernels.Linear(), kernels.Polynomial(2, 0.5, 1.0), kernels.RBF(0.5),
    kernels.ExponentialProduct(0.1), kernels.Exponential(0.5), kernels.Sigmoid(0.01, 0.0),
    kernels.Augmented(kernels.RBF(np.float64(0.5)), 2), kernels.Augmented(kernels.Precomputed()),
]  # fmt: skip


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_kernels_go_by_their_names_and_fields(kernel, path):
    X, y = drawn(20)
    X = gaussian(X, X) if kernel == KERNELS[-1] else X
    model = SVC(kernel=kernel).fit(X, y)
    loaded = through_a_file(model, path)
    assert loaded.kernel == kernel
    assert np.array_equal(loaded.decision_function(X), model.decision_function(X))
    assert loaded.certificate() == model.certificate()


def test_names_of_features_come_back(path):
    pandas = pytest.importorskip("pandas")
    X, y = drawn(20)
    frame = pandas.DataFrame(X, columns=["u", "v", "w"], index=[f"row {k}" for k in range(20)])
    loaded = through_a_file(SVC(gamma=0.5).fit(frame, y), path)
    assert loaded.feature_names_in_.tolist() == ["u", "v", "w"]
    with pytest.raises(ValueError, match="feature names"):
        loaded.predict(frame[["v", "u", "w"]])


def test_a_program_that_loads_and_predicts_does_not_load_numba(path):
    X, y = drawn(20)
    adiabat.save(make_pipeline(StandardScaler(), SVC()).fit(X, y), path)
    program = (
        "import sys, adiabat; model = adiabat.load(sys.argv[1]);"
        "model.predict([[0.0, 1.0, 2.0]]); print('numba' in sys.modules)"
    )
    answer = subprocess.run(
        [sys.executable, "-c", program, path], check=True, capture_output=True, text=True
    )
    assert answer.stdout.strip() == "False"


def test_without_safetensors_there_is_a_sentence_that_installs_it(path, monkeypatch):
    model = SVC().fit(*drawn(20))
    adiabat.save(model, path)
    monkeypatch.setitem(sys.modules, "safetensors", None)
    monkeypatch.setitem(sys.modules, "safetensors.numpy", None)
    with pytest.raises(ImportError, match=r"pip install 'adiabat\[save\]'"):
        adiabat.save(model, path)
    with pytest.raises(ImportError, match=r"pip install 'adiabat\[save\]'"):
        adiabat.load(path)


def test_other_threads_do_not_change_a_model_while_it_is_saved(path, monkeypatch):
    model, asked = SVC(gamma=0.5).fit(*drawn(20)), Event()

    def write(*_, check):
        with pytest.raises(BusyError):
            model.unlearn(3)
        asked.set()

    monkeypatch.setattr("adiabat.persistence.saving.overwrite", write)
    adiabat.save(model, path)
    assert asked.is_set()


# ---------------------------------------------------------------- transformers

ONES = {
    "standard": StandardScaler(),
    "standard, without": StandardScaler(with_mean=False, with_std=False),
    "range": MinMaxScaler((0, 2)),
    "largest": MaxAbsScaler(),
    "robust": RobustScaler(quantile_range=(10.0, 90.0)),
    "components": PCA(2),
    "components by share": PCA(0.9, svd_solver="full"),
    "components at random": PCA(2, svd_solver="randomized", whiten=True, random_state=0),
    "imputer": SimpleImputer(strategy="median"),
    "one hot": OneHotEncoder(handle_unknown="ignore"),
    "one hot, rare": OneHotEncoder(
        sparse_output=False, dtype=np.float32, min_frequency=3, drop="first",
        handle_unknown="infrequent_if_exist",
    ),
    "ordinal": OrdinalEncoder(
        handle_unknown="use_encoded_value", unknown_value=-1, max_categories=4
    ),
    "none": "passthrough",
}  # fmt: skip


@pytest.mark.parametrize("name", ONES)
def test_transformers_come_back(name, path):
    X, y = drawn(40)
    X[:, 2] = np.round(X[:, 2])
    model = Pipeline([("first", ONES[name]), ("svc", SVC(gamma=0.5))]).fit(X, y)
    loaded = through_a_file(model, path)
    assert repr(loaded) == repr(model)
    assert np.array_equal(loaded.decision_function(X), model.decision_function(X))
    content = path.read_bytes()
    adiabat.save(loaded, path)
    assert path.read_bytes() == content


def mixed():
    pandas = pytest.importorskip("pandas")
    X, y = drawn(40)
    columns = {
        "a": X[:, 0],
        "b": np.where(np.arange(40) % 7, X[:, 1], np.nan),
        "c": np.array(["x", "y", None, "z"], dtype=object)[np.arange(40) % 4],
        "d": pandas.Categorical(["u", "v"] * 20),
        "e": np.arange(40) % 5,
    }
    return pandas.DataFrame(columns), y


NUMBERS = make_pipeline(SimpleImputer(add_indicator=True), StandardScaler())
COLUMNS = {
    "names": ColumnTransformer(
        [("numbers", NUMBERS, ["a", "b"]), ("words", OneHotEncoder(), ["c", "d"])],
        remainder="passthrough",
    ),
    "places": ColumnTransformer(
        [("numbers", NUMBERS, [0, 1]), ("gone", "drop", slice(2, 3)),
         ("as is", "passthrough", [False, False, False, False, True])],
        transformer_weights={"numbers": 2.0},
    ),
    "rest": ColumnTransformer(
        [("words", OrdinalEncoder(encoded_missing_value=-1), ["c", "d"])], remainder=NUMBERS
    ).set_output(transform="pandas"),
}  # fmt: skip


@pytest.mark.parametrize("name", COLUMNS)
def test_column_transformers_come_back(name, path):
    frame, y = mixed()
    model = make_pipeline(COLUMNS[name], SVC(gamma=0.5)).fit(frame, y)
    loaded = through_a_file(model, path)
    assert repr(loaded) == repr(model)
    assert np.array_equal(loaded.decision_function(frame), model.decision_function(frame))
    assert loaded[0].get_feature_names_out().tolist() == model[0].get_feature_names_out().tolist()


def similarity(A, B):
    return A @ B.T


REFUSED = {
    "callable": (SVC(kernel=similarity), "kernel: .*similarity.* is code"),
    "step": (
        Pipeline([("scale", StandardScaler()), ("bins", KBinsDiscretizer()), ("svc", SVC())]),
        r"steps\.bins: a file cannot hold a sklearn.*KBinsDiscretizer; wanted one of .*Pipeline",
    ),
    "inner step": (
        make_pipeline(ColumnTransformer([("cut", KBinsDiscretizer(), [0])]), SVC()),
        r"steps\.columntransformer\.transformers\.cut: .*KBinsDiscretizer",
    ),
    "function": (make_pipeline(FunctionTransformer(np.abs), SVC()), "absolute.* is code"),
    "no classifier": (make_pipeline(StandardScaler(), MaxAbsScaler()), "does not end in"),
    "random state": (SVC(random_state=np.random.RandomState(0)), "random_state: .*RandomState"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_a_file_cannot_hold_is_named_and_leaves_the_old_file(name, path):
    model, sentence = REFUSED[name]
    path.write_bytes(b"old")
    with pytest.raises(ModelFileError, match=sentence):
        adiabat.save(model, path)
    assert path.read_bytes() == b"old"
    assert [entry.name for entry in path.parent.iterdir()] == [path.name]


def test_a_model_that_was_given_other_attributes_is_refused(path):
    model = SVC(gamma=0.5).fit(*drawn(20))
    model.note = "mine"
    with pytest.raises(ValueError, match="attribute 'note'"):
        adiabat.save(model, path)


# ---------------------------------------------------------------- others' formats


def test_joblib_takes_models(path):
    joblib = pytest.importorskip("joblib")
    X, y = drawn(30, 3)
    model = make_pipeline(StandardScaler(), SVC()).fit(X, y)
    joblib.dump(model, path)
    loaded = joblib.load(path)
    assert np.array_equal(loaded.decision_function(X), model.decision_function(X))
    assert np.array_equal(through_a_file(loaded, path).predict(X), model.predict(X))


def test_skops_takes_models():
    io = pytest.importorskip("skops.io")
    X, y = drawn(30, 3)
    model = make_pipeline(StandardScaler(), SVC()).fit(X, y)
    content = io.dumps(model)
    trusted = io.get_untrusted_types(data=content)
    assert all(name.startswith("adiabat.") for name in trusted)
    loaded = io.loads(content, trusted=trusted)
    assert np.array_equal(loaded.decision_function(X), model.decision_function(X))
    assert loaded[-1].unlearn(3).certificate().holds()
