"""Living pipelines in files: the same steps, rows and memory of rows, and the same way on."""

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import make_pipeline as make_plain
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import adiabat
from adiabat import SVC, ModelFileError, Pipeline, make_pipeline
from adiabat.errors import BusyError
from adiabat.estimators.writing import writing
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


def test_rows_as_they_came_are_not_put_into_a_file(path):
    X, y = drawn()
    model = make_pipeline(StandardScaler(), SVC(), restandardise=True)
    with pytest.raises(ModelFileError, match="restandardise=True keeps the rows as they came"):
        adiabat.save(model.fit(X.drop(columns="d"), y), path)
    assert not path.exists()


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
