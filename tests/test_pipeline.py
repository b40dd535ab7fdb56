"""A pipeline that lives: every verb through its transformers, frozen or estimated anew."""

import pickle
import warnings

import joblib
import numpy as np
import pytest
from scipy import sparse
from sklearn import config_context
from sklearn.base import clone
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError, UnsetMetadataPassedError
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import Pipeline as PlainPipeline
from sklearn.pipeline import make_pipeline as make_plain_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    StandardScaler,
)

from adiabat import SVC, make_pipeline
from adiabat.errors import ExactnessError, UnknownIdError
from adiabat.model_selection import LeaveOneOutSearch
from tests.datasets import LOADERS

EXACT = 1e-8  # of max(1, max|f|): what is promised
both_ways = pytest.mark.parametrize("anew", [False, True], ids=["frozen", "anew"])


def drawn(n=40, seed=0, classes=2):
    rng = np.random.default_rng(seed)
    codes = np.arange(n) % classes
    X = rng.standard_normal((n, 3)) * [1.0, 20.0, 0.3] + [0.0, 100.0, 5.0]
    X[np.arange(n), codes % 3] += np.array([1.5, 30.0, 0.5])[codes % 3]
    return X, np.array(["a", "b", "c"])[codes]


def alike(model, other, X):
    values, expected = model.decision_function(X), other.decision_function(X)
    assert np.abs(values - expected).max() <= EXACT * max(1.0, np.abs(expected).max())


def seen(model, X):
    state = vars(model)
    return (
        pickle.dumps([step for _, step in state["steps"][:-1]]),
        model.decision_function(X).tobytes(),
        model.ids_.tolist(),
        model.remembers_,
        [id(step) for _, step in state["steps"]],
        id(state["_past"]),
        sorted(state),
    )


class Book:
    """A pipeline beside the plain list of the rows that it should hold."""

    def __init__(self, pipeline, X, y):
        self.X, self.y, self.w, self.ids = X.copy(), y.copy(), np.ones(len(y)), list(range(len(y)))
        self.model = pipeline.fit(X, y)
        self.first = pipeline[:-1]

    def at(self, ids):
        return [self.ids.index(name) for name in ids]

    def learn(self, X, y, w):
        self.model.partial_fit(X, y, sample_weight=w)
        self.X, self.y = np.vstack([self.X, X]), np.append(self.y, y)
        self.w, self.ids = np.append(self.w, w), self.model.ids_.tolist()

    def unlearn(self, ids):
        self.model.unlearn(ids)
        keep = np.setdiff1d(np.arange(len(self.ids)), self.at(ids))
        self.X, self.y, self.w = self.X[keep], self.y[keep], self.w[keep]
        self.ids = [self.ids[k] for k in keep]

    def relabel(self, ids, y):
        self.model.relabel(ids, y)
        self.y[self.at(ids)] = y

    def reweight(self, ids, w):
        self.model.reweight(ids, w)
        self.w[self.at(ids)] = w

    def revise(self, ids, X):
        self.model.revise(ids, X)
        self.X[self.at(ids)] = X

    def agree(self, anew):
        """It is what scikit-learn's parts, put together by hand, make of the rows held."""
        assert self.model.ids_.tolist() == self.ids
        steps = [step for _, step in self.model.steps[:-1]]
        if anew:
            counts = self.w > 0
            scaler = StandardScaler().fit(self.X[counts], sample_weight=self.w[counts])
            np.testing.assert_allclose(steps[0].mean_, scaler.mean_, rtol=1e-12)
            np.testing.assert_allclose(steps[0].scale_, scaler.scale_, rtol=1e-12)
        else:
            scaler = self.first[0]
        fresh = SVC(C=self.model[-1].C, gamma=self.model.gamma_)
        fresh.fit(scaler.transform(self.X), self.y, self.w)
        values = fresh.decision_function(scaler.transform(self.X))
        own = self.model.decision_function(self.X)
        assert np.abs(values - own).max() <= EXACT * max(1.0, np.abs(values).max())
        alike(self.model, self.model.fresh().fit(self.X, self.y, self.w), self.X)
        assert self.model.certificate().holds()


def random_edit(book, rng, X, y):
    """One of the verbs on a few rows of the book."""
    some = rng.choice(book.ids, 3, replace=False).tolist()
    row = rng.integers(len(X), size=2)
    moved = X[row] + 0.1 * rng.standard_normal((2, X.shape[1])) * X.std(axis=0)
    match rng.integers(6):
        case 0 | 1:
            book.unlearn(some)
        case 2:
            book.learn(moved, y[row], rng.choice([0.5, 1.0, 2.0], 2))
        case 3:
            book.relabel(some, rng.choice(np.unique(y), 3))
        case 4:
            book.reweight(some, rng.choice([0.0, 1.0, 3.0], 3))
        case _:
            book.revise(some[:2], moved)


@both_ways
@pytest.mark.parametrize("settings", [{}, {"gamma": 0.25, "C": 10.0}])
def test_pima_after_fifty_random_edits(settings, anew):
    X, y = LOADERS["pima"]()
    book = Book(make_pipeline(StandardScaler(), SVC(**settings), restandardise=anew), X, y)
    gamma, rng = book.model.gamma_, np.random.default_rng(50)
    for count in range(1, 51):
        random_edit(book, rng, X, y)
        if count % 10 == 0:
            book.agree(anew)
    assert book.model.gamma_ == gamma
    assert bool(book.model.remembers_) != anew


# ---------------------------------------------------------------- every verb, many transformers

BEFORE = {
    "standard": lambda: (StandardScaler(),),
    "minmax": lambda: (MinMaxScaler(), "passthrough"),
    "pca": lambda: (StandardScaler(), PCA(2)),
    "sparse": lambda: (FunctionTransformer(sparse.csr_matrix), StandardScaler(with_mean=False)),
    "same": lambda: (FunctionTransformer(np.tanh),),
    "none": tuple,
}


@both_ways
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("before", BEFORE)
def test_every_verb_leads_where_a_fresh_fit_leads(before, classes, anew):
    X, y = drawn(36, classes=classes)
    new, labels = drawn(6, seed=1, classes=classes)
    model = make_pipeline(*BEFORE[before](), SVC(gamma=0.5), restandardise=anew)
    model.fit(X[:30], y[:30])
    model.partial_fit(X[30:], y[30:], sample_weight=[1.0, 2.0, 0.0, 0.5, 1.0, 1.0])
    model.relabel([3, 7], [y[4], y[6]]).reweight([5, 8], [0.0, 3.0])
    model.revise([1, 2], new[:2]).revise(11, new[2:3], labels[3]).unlearn([0, 8, 31])
    model.adapt(C=3.0)
    X[[1, 2, 11]] = new[:3]
    y[[3, 7, 11]] = y[4], y[6], labels[3]
    w = np.ones(36)
    w[[5, 30, 31, 32, 33, 8]] = 0.0, 1.0, 2.0, 0.0, 0.5, 3.0
    held = np.delete(np.arange(36), [0, 8, 31])
    assert model.ids_.tolist() == held.tolist()
    fresh = model.fresh().fit(X[held], y[held], w[held])
    alike(model, fresh, np.vstack([X, new]))
    assert fresh[-1].C == 3.0
    assert model.certificate().holds()


def person_frame(library, n=48, seed=0):
    rng = np.random.default_rng(seed)
    age = rng.normal(50.0, 12.0, n)
    columns = {
        "age": np.where(rng.random(n) < 0.15, np.nan, age),
        "town": rng.choice(["Ulm", "Graz", "Brig"], n).tolist(),
        "grade": rng.choice(["low", "mid", "high"], n).tolist(),
        "dose": rng.integers(1, 9, n),
    }
    y = np.where(age + 3.0 * columns["dose"] + rng.normal(0.0, 8.0, n) > 63.0, "ill", "well")
    return pytest.importorskip(library).DataFrame(columns), y


def columns_by_name():
    return ColumnTransformer(
        [
            ("number", make_plain_pipeline(SimpleImputer(), StandardScaler()), ["age", "dose"]),
            ("town", OneHotEncoder(handle_unknown="ignore"), ["town"]),
            ("grade", OrdinalEncoder(), ["grade"]),
        ]
    )


def rows_at(frame, index):
    return frame.iloc[index] if hasattr(frame, "iloc") else frame[[int(k) for k in index]]


@both_ways
@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frames_with_an_imputer_and_encoders(library, anew):
    frame, y = person_frame(library)
    model = make_pipeline(columns_by_name(), SVC(gamma=0.3), restandardise=anew)
    model.fit(rows_at(frame, range(40)), y[:40], ids=range(40))
    model.partial_fit(rows_at(frame, range(40, 48)), y[40:], ids=range(40, 48))
    model.unlearn([1, 5, 9]).relabel(3, "ill").reweight(4, 2.0)
    model.revise([2, 7], rows_at(frame, [1, 5]))
    index = np.delete(np.arange(48), [1, 5, 9])
    y, w, source = y.copy(), np.ones(48), np.arange(48)
    y[3], w[4], source[[2, 7]] = "ill", 2.0, [1, 5]
    held = rows_at(frame, source[index])
    alike(model, model.fresh().fit(held, y[index], w[index]), frame)
    assert model.feature_names_in_.tolist() == ["age", "town", "grade", "dose"]
    assert model.n_features_in_ == 4


def test_a_category_that_comes_and_goes_is_a_column_that_comes_and_goes():
    frame, y = person_frame("pandas")
    model = make_pipeline(columns_by_name(), SVC(), restandardise=True).fit(frame, y)
    assert model[-1].n_features_in_ == 6
    other = frame.iloc[:2].assign(town="Linz", grade="mid")
    other.index = [100, 101]
    model.partial_fit(other, y[:2])
    assert model[-1].n_features_in_ == 7
    assert model[0].named_transformers_["town"].categories_[0].tolist() == [
        "Brig", "Graz", "Linz", "Ulm"
    ]  # fmt: skip
    model.unlearn([100, 101])
    assert model[-1].n_features_in_ == 6
    alike(model, model.fresh().fit(frame, y), frame)


def test_columns_may_be_chosen_by_their_type():
    pandas = pytest.importorskip("pandas")
    frame, y = person_frame("pandas")
    frame = frame.astype({"town": "category", "grade": "category", "dose": "Int64"})
    chosen = ColumnTransformer(
        [
            ("number", SimpleImputer(), make_column_selector(dtype_include="number")),
            ("word", OneHotEncoder(), make_column_selector(dtype_include="category")),
        ]
    )
    model = make_pipeline(chosen, SVC(gamma=0.01), restandardise=True).fit(frame[:40], y[:40])
    model.partial_fit(frame[40:], y[40:]).unlearn([0, 1, 2])
    assert isinstance(vars(model)["_past"].rows.table()["town"].dtype, pandas.CategoricalDtype)
    alike(model, model.fresh().fit(frame[3:], y[3:]), frame)


def test_texts_are_rows_too():
    from sklearn.feature_extraction.text import TfidfVectorizer

    texts = ["red fox", "red hen", "blue sea", "blue sky", "red sky", "blue fox"] * 3
    y = np.array([0, 0, 1, 1, 0, 1] * 3)
    model = make_pipeline(TfidfVectorizer(), SVC(), restandardise=True).fit(texts[:12], y[:12])
    model.partial_fit(texts[12:], y[12:]).partial_fit(["green frog"], [1]).unlearn([18, 0])
    assert "frog" not in model[0].vocabulary_
    alike(model, model.fresh().fit(texts[1:], y[1:]), texts)


# ---------------------------------------------------------------- ids


@both_ways
@pytest.mark.parametrize("output", ["default", "pandas"])
def test_a_frame_brings_its_index_as_ids(output, anew):
    pandas = pytest.importorskip("pandas")
    X, y = drawn(12)
    names = [f"row {i}" for i in range(12)]
    frame = pandas.DataFrame(X, columns=["u", "v", "w"], index=names)
    model = make_pipeline(StandardScaler(), SVC(), restandardise=anew)
    model[:-1].set_output(transform=output)
    model.fit(frame.iloc[:9], y[:9]).partial_fit(frame.iloc[9:], y[9:])
    assert model.ids_.tolist() == names
    assert model.unlearn("row 3").explain("row 4").id == "row 4"


@both_ways
def test_other_rows_are_counted(anew):
    pandas = pytest.importorskip("pandas")
    X, y = drawn(12)
    frame = pandas.DataFrame(X, index=[0, 1] * 6)
    frame.columns = frame.columns.astype(str)
    for rows in (X, frame):
        model = make_pipeline(StandardScaler(), SVC(), restandardise=anew)
        model[:-1].set_output(transform="pandas")  # its index must not pass for ids
        model.fit(rows[:8], y[:8]).unlearn(7).partial_fit(rows[8:], y[8:])
        assert model.ids_.tolist() == [0, 1, 2, 3, 4, 5, 6, 8, 9, 10, 11]
        model.unlearn(model.ids_)
        with pytest.raises(NotFittedError):
            model.predict(rows)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            assert model.partial_fit(rows[7:10], y[7:10]).ids_.tolist() == [12, 13, 14]


@both_ways
def test_groups_go_together(anew):
    X, y = drawn()
    groups = np.arange(40) // 4
    model = make_pipeline(StandardScaler(), SVC(), restandardise=anew).fit(X, y, groups=groups)
    model.unlearn(groups=[2, 3])
    assert model.ids_.tolist() == [*range(8), *range(16, 40)]
    assert len(model.leave_one_group_out().ids) == 32


# ---------------------------------------------------------------- the first rows


def test_a_first_partial_fit_says_what_it_freezes():
    X, y = drawn()
    model = make_pipeline(StandardScaler(), FunctionTransformer(), SVC(gamma=0.5))
    with pytest.warns(UserWarning, match="^standardscaler: frozen .* partial_fit .10 of them") as w:
        model.partial_fit(X[:10], y[:10])
    assert w[0].filename == __file__
    model.partial_fit(X[10:], y[10:])
    np.testing.assert_array_equal(model[0].mean_, X[:10].mean(axis=0))
    anew = make_pipeline(StandardScaler(), SVC(gamma=0.5), restandardise=True)
    anew.partial_fit(X[:10], y[:10]).partial_fit(X[10:], y[10:])
    alike(anew, clone(anew).fit(X, y), X)


def test_parameters_of_steps_reach_them():
    X, y = drawn()
    w = np.linspace(0.5, 2.0, 40)
    model = make_pipeline(StandardScaler(), SVC(gamma=0.5))
    model.fit(X, y, svc__sample_weight=w, svc__groups=y)
    np.testing.assert_allclose(model[0].mean_, X.mean(axis=0))
    assert model.unlearn(groups="a").classes_.tolist() == ["b"]
    model.fit(X, y, standardscaler__sample_weight=w)
    np.testing.assert_allclose(model[0].mean_, np.average(X, axis=0, weights=w))
    with pytest.raises(ValueError, match="does not accept the colour"):
        model.fit(X, y, colour="red")
    with pytest.raises(TypeError, match="svc__sample_weight with restandardise=True"):
        model.set_params(restandardise=True).fit(X, y, svc__sample_weight=w)


def test_nothing_is_estimated_on_rows_without_weight():
    X, y = drawn()
    X[3], w = 1e3, np.ones(40)
    w[3] = 0.0
    model = make_pipeline(MinMaxScaler(), SVC(gamma=0.5), restandardise=True).fit(X, y, w)
    without = np.delete(X, 3, axis=0)
    assert model[0].data_max_.tolist() == without.max(axis=0).tolist()
    alike(model, clone(model).fit(without, np.delete(y, 3)), without)
    model.reweight(3, 1.0)
    assert model[0].data_max_.tolist() == [1e3, 1e3, 1e3]
    model.reweight(3, 0.0)
    alike(model, clone(model).fit(without, np.delete(y, 3)), without)


def test_steps_stay_unfitted_where_they_came_from():
    X, y = drawn()
    scaler, last = StandardScaler(), SVC()
    model = make_pipeline(scaler, last).fit(X, y)
    assert not hasattr(scaler, "mean_")
    assert not hasattr(last, "ids_")
    assert model.named_steps["svc"].ids_.tolist() == list(range(40))


def test_a_pipeline_of_fitted_steps_lives():
    X, y = drawn()
    scaler = StandardScaler().fit(X)
    model = make_pipeline(scaler, SVC(gamma=0.5).fit(scaler.transform(X), y))
    alike(model.unlearn([1, 2]), model.fresh().fit(X[3:], y[3:]).partial_fit(X[:1], y[:1]), X)
    assert model.remembers_ == {}  # of these rows it does not know
    with pytest.raises(ValueError, match="restandardise: True now, and False when"):
        model.set_params(restandardise=True).unlearn(3)


# ---------------------------------------------------------------- questions


def left_out(model, X, y, ids):
    """The answers of leave-one-out by refits of the whole pipeline."""
    answers = []
    for i in range(len(y)):
        fresh = model.fresh().fit(np.delete(X, i, axis=0), np.delete(y, i), ids=np.delete(ids, i))
        answers.append(fresh.decision_function(X[[i]])[0])
    return np.array(answers)


@both_ways
@pytest.mark.parametrize("classes", [2, 3])
def test_leave_one_out_is_that_of_refits(classes, anew):
    X, y = drawn(24, classes=classes)
    last = SVC(gamma=0.5, decision_function_shape="ovo")
    model = make_pipeline(StandardScaler(), last, restandardise=anew).fit(X, y)
    expected = left_out(model, X, y, model.ids_)
    answer = model.leave_one_out(values=True)
    assert np.abs(answer.decision_function - expected).max() <= EXACT
    assert answer.ids.tolist() == model.ids_.tolist()
    assert answer.kkt_violation <= 1e-9
    assert model.leave_one_out().predictions.tolist() == answer.predictions.tolist()
    assert len(model.ids_) == 24
    folds = model.k_fold(4, values=True)
    assert folds.score("accuracy") > 0.4


@both_ways
def test_settings_are_chosen_by_leave_one_out(anew):
    X, y = drawn(24)
    model = make_pipeline(StandardScaler(), SVC(), restandardise=anew)
    grid = {"svc__C": [0.1, 1.0, 10.0], "svc__gamma": [0.1, 1.0]}
    search = LeaveOneOutSearch(model, grid).fit(X, y)
    for candidate, score in zip(
        search.cv_results_["params"], search.cv_results_["mean_test_score"], strict=True
    ):
        one = clone(model).set_params(**candidate).fit(X, y)
        assert score == pytest.approx(one.leave_one_out().score())
    alike(search, clone(model).set_params(**search.best_params_).fit(X, y), X)
    with pytest.raises(ValueError, match=r"param_grid: C; wanted settings .* svc__C"):
        LeaveOneOutSearch(model, {"C": [1.0]}).fit(X, y)
    inside = make_pipeline(StandardScaler(), LeaveOneOutSearch(SVC(), {"C": [0.1, 1.0]}))
    assert inside.fit(X, y, ids=range(24)).predict(X).shape == (24,)


@both_ways
def test_metadata_are_routed_where_that_is_asked_for(anew):
    X, y = drawn()
    w = np.linspace(0.5, 2.0, 40)
    expected = make_pipeline(StandardScaler(), SVC(gamma=0.5), restandardise=anew)
    expected.fit(X, y, sample_weight=w)
    with config_context(enable_metadata_routing=True):
        scaler = StandardScaler().set_fit_request(sample_weight=True)
        last = SVC(gamma=0.5).set_fit_request(sample_weight=True)
        model = make_pipeline(scaler, last, restandardise=anew).fit(X, y, sample_weight=w)
        alike(model, expected, X)
        model.unlearn(3)
        with pytest.raises(UnsetMetadataPassedError):
            make_pipeline(StandardScaler(), SVC()).fit(X, y, sample_weight=w)
    alike(model, expected.unlearn(3), X)


@both_ways
def test_the_last_row_of_a_class_counts_as_an_error(anew):
    X, y = drawn(24)
    y[0] = "c"
    model = make_pipeline(StandardScaler(), SVC(gamma=0.5), restandardise=anew).fit(X, y)
    answer = model.leave_one_out(values=True)
    assert answer.errors[0]
    X, y = X[:9], np.array(["a"] + ["b"] * 8)
    answer = model.fit(X, y).leave_one_out(values=True)
    assert answer.predictions[0] == "b"
    assert answer.decision_function[0] == 1.0
    answer = model.fit(X, np.where(y == "a", "c", "b")).leave_one_out(values=True)
    assert (answer.predictions[0], answer.decision_function[0]) == ("b", -1.0)


@both_ways
def test_what_if_looks_and_does_not_touch(anew):
    X, y = drawn()
    model = make_pipeline(StandardScaler(), SVC(gamma=0.5), restandardise=anew).fit(X, y)
    before = seen(model, X)
    prospect = model.what_if(unlearn=[1, 2])
    alike(prospect, model.copy().unlearn([1, 2]), X)
    assert prospect.certificate.holds()
    alike(model.what_if(adapt={"C": 5.0}), model.copy().adapt(svc__C=5.0), X)
    alike(model.what_if(relabel=(3, "a")), model.copy().relabel(3, "a"), X)
    with pytest.raises(ValueError, match="what_if: nothing given"):
        model.what_if()
    assert seen(model, X) == before


def test_the_path_of_c_takes_rows_as_they_come():
    X, y = drawn()
    model = make_pipeline(StandardScaler(), SVC(gamma=0.5)).fit(X, y)
    path = model.c_path(0.1, 10.0)
    alike(model.adapt(C=2.0), make_pipeline(*[s for _, s in model.steps]), X)
    assert np.abs(path.decision_function(X, 2.0) - model.decision_function(X)).max() <= EXACT
    assert path.predict(X, [0.1, 2.0]).shape == (40, 2)
    assert path.leave_one_out(2.0).errors.tolist() == model.leave_one_out().errors.tolist()


def test_kernels_without_an_optimum_are_refused():
    X, y = drawn()
    last = SVC(kernel="sigmoid", gamma=0.5, coef0=-1.0)
    model = make_pipeline(StandardScaler(), last, restandardise=True).fit(X, y)
    with pytest.raises(ExactnessError, match="not positive semidefinite"):
        model.unlearn(3)
    matrix = make_pipeline(FunctionTransformer(), SVC(kernel="precomputed"), restandardise=True)
    matrix.fit(X @ X.T, y)
    with pytest.raises(ValueError, match="kernel: 'precomputed' has lines"):
        matrix.unlearn(3)


# ---------------------------------------------------------------- manners of scikit-learn's


@both_ways
def test_it_is_passed_on(anew, tmp_path):
    X, y = drawn()
    model = make_pipeline(StandardScaler(), SVC(gamma=0.5), restandardise=anew).fit(X, y)
    model.unlearn([3, 4])
    exported, plain = model.export(), model.to_sklearn()
    alike(exported, model, X)
    assert exported.predict(X).tolist() == model.predict(X).tolist()
    assert exported.classes_.tolist() == ["a", "b"]
    assert type(plain) is PlainPipeline
    assert np.abs(plain.decision_function(X) - model.decision_function(X)).max() < 1e-9
    joblib.dump(model, tmp_path / "model")
    for twin in (model.copy(), pickle.loads(pickle.dumps(model)), joblib.load(tmp_path / "model")):
        before = seen(model, X)
        twin.unlearn(5).partial_fit(X[:2], y[:2])
        assert seen(model, X) == before
        assert twin.ids_.tolist() == [0, 1, 2, *range(6, 40), 40, 41]


@both_ways
def test_settings_are_those_of_a_pipeline(anew):
    X, y = drawn()
    model = make_pipeline(StandardScaler(), SVC(), restandardise=anew, memory=None, verbose=False)
    assert model.get_params()["svc__C"] == 1.0
    assert model.get_params()["restandardise"] is anew
    twin = clone(model.set_params(svc__C=3.0, standardscaler__with_std=False))
    assert (twin[-1].C, twin[0].with_std, twin.restandardise) == (3.0, False, anew)
    assert "svc" in model._repr_html_() if hasattr(model, "_repr_html_") else True
    assert "restandardise=True" in repr(make_pipeline(SVC(), restandardise=True))
    assert model.fit(X, y)[:-1].transform(X).shape == (40, 3)
    assert model.__sklearn_tags__().classifier_tags is not None
    model.set_params(svc__C=0.5).unlearn(3)  # the next change goes by it
    alike(model, model.fresh().fit(np.delete(X, 3, axis=0), np.delete(y, 3)), X)


@both_ways
def test_searches_and_validation_go_over_it(anew):
    X, y = drawn(60)
    model = make_pipeline(StandardScaler(), SVC(), restandardise=anew)
    search = GridSearchCV(model, {"svc__C": [0.1, 1.0], "standardscaler__with_std": [True, False]})
    search.fit(X, y, sample_weight=np.linspace(0.5, 1.5, 60))
    assert search.best_estimator_.unlearn(3).certificate().holds()
    assert cross_val_score(model, X, y, cv=3).shape == (3,)


def test_a_cache_of_steps_serves(tmp_path, capsys):
    X, y = drawn()
    model = make_pipeline(StandardScaler(), SVC(), memory=str(tmp_path), verbose=True)
    alike(model.fit(X, y), make_pipeline(StandardScaler(), SVC()).fit(X, y), X)
    alike(model.fit(X, y).unlearn(3), model.fresh().fit(np.delete(X, 3, 0), np.delete(y, 3)), X)
    assert "Processing standardscaler" in capsys.readouterr().out
    assert any(tmp_path.iterdir())


def test_any_classifier_may_be_the_last_step():
    X, y = drawn()
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y)
    plain = make_plain_pipeline(StandardScaler(), LogisticRegression()).fit(X, y)
    assert model.predict_proba(X).tolist() == plain.predict_proba(X).tolist()
    assert not hasattr(model, "unlearn")
    assert not hasattr(model, "ids_")
    with pytest.raises(TypeError, match="ids"):
        model.fit(X, y, ids=range(40))


def test_unknown_ids_are_named():
    X, y = drawn()
    model = make_pipeline(StandardScaler(), SVC()).fit(X, y)
    with pytest.raises(UnknownIdError, match="99 not held"):
        model.revise([3, 99], X[:2])
