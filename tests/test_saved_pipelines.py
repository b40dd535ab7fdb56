"""Living pipelines in files: the same steps, rows and memory of rows, and the same way on."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline as make_plain
from sklearn.preprocessing import MaxAbsScaler, OneHotEncoder, StandardScaler

import adiabat
from adiabat import SVC, ModelFileError, Pipeline, make_pipeline
from adiabat.errors import BusyError
from adiabat.estimators.writing import writing
from adiabat.persistence.fields import Fields
from adiabat.persistence.kinds import Sizes
from adiabat.persistence.raw_rows import read_raw
from adiabat.persistence.saving import CODECS
from tests.mutations import ACCIDENTS, forged, survey


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.adiabat"


def drawn(count=40, seed=0):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(5 + rng.standard_normal((count, 3)), columns=["a", "b", "c"])
    X["d"] = rng.choice(["red", "green", "blue"], count)
    return X, np.where(np.arange(count) % 2, "yes", "no")


def columns():
    numbers = ("numbers", StandardScaler(), ["a", "b", "c"])
    return ColumnTransformer([numbers, ("words", OneHotEncoder(handle_unknown="ignore"), ["d"])])


def through_a_file(model, path):
    adiabat.save(model, path)
    return adiabat.load(path)


@pytest.mark.parametrize("inner", ["columns", "scaler", "nothing"])
def test_both_go_on_the_same_way_to_the_last_bit(path, inner):
    X, y = drawn()
    step = {"columns": columns(), "scaler": StandardScaler(), "nothing": "passthrough"}[inner]
    X = X if inner == "columns" else X.drop(columns="d")
    model = make_pipeline(step, SVC(C=2.0)).fit(X[:30], y[:30]).unlearn([3, 4])
    twin = through_a_file(model, path)
    assert type(twin) is Pipeline
    for each in (model, twin):
        each.partial_fit(X[30:], y[30:]).relabel([7], ["no"]).unlearn([0, 31]).adapt(C=1.0)
    assert np.array_equal(model.decision_function(X), twin.decision_function(X))
    assert twin.ids_.tolist() == model.ids_.tolist()
    assert twin.remembers_ == model.remembers_
    assert (twin.remembers_ != {}) is (inner != "nothing")
    assert twin.certificate().holds()


def test_a_pipeline_that_was_never_fitted_or_holds_nothing_comes_back(path):
    X, y = drawn(4)
    X = X.drop(columns="d")
    model = make_pipeline(StandardScaler(), SVC(C=3.0))
    assert through_a_file(model, path).get_params()["svc__C"] == 3.0
    assert through_a_file(model, path).fit(X, y).ids_.tolist() == [0, 1, 2, 3]
    empty = through_a_file(model.fit(X, y).unlearn([0, 1, 2, 3]), path)
    assert empty.get_params()["svc__C"] == 3.0


def test_a_pipeline_of_steps_that_were_fitted_elsewhere_comes_back(path):
    X, y = drawn()
    X = X.drop(columns="d")
    model = Pipeline(make_plain(StandardScaler(), SVC()).fit(X, y).steps)
    twin = through_a_file(model, path)
    assert twin.remembers_ == model.remembers_
    assert twin.unlearn(1).ids_.tolist() == model.unlearn(1).ids_.tolist()


# -- rows as they came


def mixed(count=40):
    X, y = drawn(count)
    X["e"] = np.arange(count) % 3 == 0
    X["f"] = (np.arange(count) % 7).astype(np.int16)
    X["g"] = np.where(np.arange(count) % 5, X["d"].astype(object), "grey")
    return X, y


def encoder():
    words = OneHotEncoder(handle_unknown="ignore")
    numbers = StandardScaler()
    return ColumnTransformer([("n", numbers, [0, 1, 2, 5]), ("w", words, [3, 4, 6])])


def with_holes(X):
    X = X.copy()
    X[::7, 1] = np.nan
    return X


def floats(count=40):
    return drawn(count)[0].drop(columns="d").to_numpy()


FORMS = {
    "dense": lambda: (StandardScaler(), floats()),
    "turned": lambda: (StandardScaler(), np.asfortranarray(floats())),
    "small": lambda: (StandardScaler(), floats().astype(np.float32)),
    "holes": lambda: (make_plain(SimpleImputer(), StandardScaler()), with_holes(floats())),
    "matrix": lambda: (MaxAbsScaler(), sparse.csr_matrix(floats() * (floats() > 5))),
    "sparse array": lambda: (MaxAbsScaler(), sparse.csr_array(floats() * (floats() > 5))),
    "objects": lambda: (OneHotEncoder(handle_unknown="ignore"), mixed()[0][["d", "e"]].to_numpy()),
    "texts": lambda: (
        OneHotEncoder(handle_unknown="ignore"),
        mixed()[0][["d", "g"]].to_numpy().astype(str),
    ),
    "pandas": lambda: (encoder(), mixed()[0]),
    "columns by number": lambda: (
        StandardScaler(),
        mixed()[0][["a", "b"]].rename(columns={"a": 1, "b": 0}),
    ),
    "strings": lambda: (encoder(), mixed()[0].astype({"d": "string", "g": object})),
    "polars": lambda: (encoder(), pl.DataFrame(mixed()[0].to_dict("list"))),
}


@pytest.mark.parametrize("form", FORMS)
def test_rows_as_they_came_go_on_the_same_way(path, form):
    step, X = FORMS[form]()
    y = drawn()[1]
    model = make_pipeline(step, SVC(C=2.0), restandardise=True).fit(X[:30], y[:30]).unlearn([3, 4])
    twin = through_a_file(model, path)
    for each in (model, twin):
        each.partial_fit(X[30:], y[30:]).relabel([7], ["no"]).unlearn([0, 31])
        each.revise([8, 9], X[1:3]).reweight([5], 0.0).adapt(C=1.0)
    assert np.array_equal(model.decision_function(X), twin.decision_function(X))
    assert twin.remembers_ == model.remembers_ == {}
    assert twin.certificate().holds()
    adiabat.save(model, path)
    content = path.read_bytes()
    adiabat.save(twin, path)
    assert path.read_bytes() == content


@pytest.mark.parametrize("form", ["frame", "array", "matrix", "objects"])
def test_no_byte_of_forgotten_rows_as_they_came_is_in_the_file(path, form):
    X, y = drawn()
    X.loc[5, ["a", "b", "c"]] = np.float64(1234.56789)
    X.loc[5, "d"] = "conspicuous"
    table, step = X, columns()
    if form in ("array", "matrix"):
        table, step = X.drop(columns="d").to_numpy(), MaxAbsScaler()
    if form == "matrix":
        table = sparse.csr_matrix(table)
    if form == "objects":
        table, step = X[["d"]].to_numpy(dtype=object), OneHotEncoder(handle_unknown="ignore")
    traces = [np.float64(1234.56789).tobytes(), b"1234.56789", b"conspicuous"]
    model = make_pipeline(step, SVC(), restandardise=True).fit(table, y)
    adiabat.save(model, path)
    assert any(trace in path.read_bytes() for trace in traces)
    adiabat.save(model.unlearn(5), path)
    assert not any(trace in path.read_bytes() for trace in traces)
    twin = adiabat.load(path).unlearn(6)
    adiabat.save(twin, path)
    assert twin.remembers_ == {}


@pytest.mark.parametrize("dtype", ["category", "datetime64[ns]", "Int64", "complex128"])
def test_a_column_that_a_file_cannot_hold_is_named(path, dtype):
    X, y = drawn()
    X["when"] = pd.Series(np.arange(len(X)) % 3).astype(dtype)
    step = ColumnTransformer([("numbers", StandardScaler(), ["a", "b"])])
    model = make_pipeline(step, SVC(), restandardise=True).fit(X, y)
    with pytest.raises(ModelFileError, match="column 'when' is of type") as caught:
        adiabat.save(model, path)
    assert str(X.dtypes.iloc[-1]) in str(caught.value)
    assert not path.exists()


def column(word, *entries):
    return {"type": word, "values": {"dtype": "object", "values": list(entries)}}


def frame(library, *columns):
    names = [f"c{k}" for k in range(len(columns))]
    return {"form": "frame", "library": library, "names": names, "columns": list(columns)}


GOOD = [column("Int8", 1, 127), column("String", "x", None), column("Boolean", True, None)]
WRONG_ROWS = {
    "a form": {"form": "pickle"},
    "fewer rows": {"form": "array", "values": "three"},
    "fewer entries": frame("polars", column("String", "x"), *GOOD[1:]),
    "fewer columns": frame("polars", *GOOD[1:]),
    "a library": frame("os", *GOOD),
    "another library's type": frame("pandas", *GOOD),
    "an unknown type": frame("polars", column("Object", "x", "y"), *GOOD[1:]),
    "another type": frame("polars", column("Int8", 1, "y"), *GOOD[1:]),
    "too large": frame("polars", column("Int8", 1, 128), *GOOD[1:]),
    "no strings": frame("pandas", column("str[python]", "x", 1.5), *[column("object", 1, 2)] * 2),
    "a shape": {
        "form": "array", "values": None, "shape": [2, -3], "turned": False,
        "listed": {"dtype": "object", "values": [1] * 6},
    },
    "no such column": {
        "form": "csr", "features": 3, "array": True,
        "data": "data", "indices": "beyond", "indptr": "starts",
    },
    "backwards": {
        "form": "csr", "features": 3, "array": True,
        "data": "data", "indices": "data", "indptr": "backwards",
    },
}  # fmt: skip


def rows_read(given):
    tensors = {
        "three": np.zeros((3, 3)),
        "data": np.array([0, 1], dtype=np.int32),
        "beyond": np.array([0, 3], dtype=np.int32),
        "starts": np.array([0, 1, 2], dtype=np.int32),
        "backwards": np.array([0, 3, 2], dtype=np.int32),
    }
    return read_raw(Fields("rows", given, tensors, CODECS), 2, Sizes(3))


@pytest.mark.parametrize("case", WRONG_ROWS)
def test_rows_as_they_came_that_cannot_be_are_refused(case):
    with pytest.raises(ModelFileError, match="wanted"):
        rows_read(WRONG_ROWS[case])


def test_rows_of_a_frame_are_made_of_words():
    rows = rows_read(frame("polars", *GOOD)).table()
    assert rows.dtypes == [pl.Int8, pl.String, pl.Boolean]
    assert rows.rows() == [(1, "x", True), (127, None, None)]


@pytest.mark.parametrize("form", ["pandas", "polars", "objects", "matrix", "dense"])
def test_forged_rows_as_they_came_are_refused_or_load(path, form):
    step, X = FORMS[form]()
    model = make_pipeline(step, SVC(), restandardise=True).fit(X, drawn()[1])
    contents = []
    for each in (model, model.copy().unlearn([1, 2])):
        adiabat.save(each, path)
        contents.append(path.read_bytes())
    tally = survey(contents, 40, 0, ACCIDENTS, on_purpose=False)
    assert {result for _, result in tally} <= {"refused", "loaded"}
    tally = survey(contents, 80, 0, [forged], on_purpose=True)
    assert ("forged", "refused") in tally


def test_mutated_files_are_refused_or_load(path):
    X, y = drawn()
    contents = []
    for step, rows in ((columns(), X), (StandardScaler(), X.drop(columns="d"))):
        model = make_pipeline(step, SVC()).fit(rows, y).unlearn([1, 2])
        adiabat.save(model, path, notes={"columns": "{}"})
        contents.append(path.read_bytes())
    tally = survey(contents, 100, 0, ACCIDENTS, on_purpose=False)
    assert {result for _, result in tally} <= {"refused", "loaded"}
    tally = survey(contents, 200, 0, [forged], on_purpose=True)
    assert ("forged", "refused") in tally


def test_nobody_changes_a_pipeline_while_it_is_saved(path):
    X, y = drawn()
    model = make_pipeline(StandardScaler(), SVC()).fit(X.drop(columns="d"), y)
    with writing(model), pytest.raises(BusyError):
        adiabat.save(model, path)
    assert not path.exists()
