"""What the classifier takes, what it refuses, and in which words."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn.svm
from scipy import sparse
from sklearn.exceptions import NotFittedError

from adiabat import SVC
from adiabat.kernels import RBF

X = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 2.0], [3.0, 1.0], [4.0, 4.0], [5.0, 3.0]])
Y = np.array([0, 0, 0, 1, 1, 1])


# ---------------------------------------------------------------- ids


def test_rows_are_counted_where_nobody_names_them():
    assert SVC().fit(X, Y).ids_.tolist() == [0, 1, 2, 3, 4, 5]
    assert SVC().fit(X, Y).ids_.dtype == np.int64


@pytest.mark.parametrize(
    ("ids", "held"),
    [
        ([5, 4, 3, 2, 1, 0], [5, 4, 3, 2, 1, 0]),
        (np.arange(10, 16, dtype=np.uint8), [10, 11, 12, 13, 14, 15]),
        (np.array(list("fedcba")), list("fedcba")),
        ((1, "1", np.int32(2), np.str_("b"), -3, "c"), [1, "1", 2, "b", -3, "c"]),
        (pd.Series(list("uvwxyz")), list("uvwxyz")),
        ([2**70, 1, 2, 3, 4, 5], [2**70, 1, 2, 3, 4, 5]),
    ],
)
def test_ids_are_integers_or_strings(ids, held):
    model = SVC().fit(X, Y, ids=ids)
    assert model.ids_.tolist() == held
    assert {type(name) for name in model.ids_.tolist()} <= {int, str}
    categories = [*model.margin_, *model.error_, *model.reserve_]
    assert sorted(map(str, categories)) == sorted(map(str, held))


@pytest.mark.parametrize(
    ("ids", "error", "words"),
    [
        ([0, 1, 2, 3, 4, 0], ValueError, "ids: 0 stands there twice"),
        (["a", "b", "c", "d", "e", np.str_("a")], ValueError, "ids: 'a' stands there twice"),
        ([0, 1, 2, 3, 4], ValueError, r"ids: shape \(5,\) for 6 rows"),
        ("abcdef", ValueError, r"ids: shape \(1,\) for 6 rows"),
        ([0, 1, 2, 3, 4, 5.0], TypeError, "ids: 5.0 is a float; wanted integers or strings"),
        ([0, 1, 2, 3, 4, None], TypeError, "ids: None is a NoneType"),
        ([0, 1, 2, 3, 4, True], TypeError, "ids: True is a bool"),
        (np.linspace(0, 1, 6), TypeError, "is a float64; wanted integers or strings"),
        ([[0], [1], [2], [3], [4], [5]], TypeError, "is a list"),
    ],
)
def test_ids_of_another_kind_are_refused(ids, error, words):
    with pytest.raises(error, match=words):
        SVC().fit(X, Y, ids=ids)


def test_one_string_is_one_id():
    assert SVC().fit(X[:1], Y[:1], ids="first").ids_.tolist() == ["first"]


# ---------------------------------------------------------------- frames


@pytest.mark.parametrize(
    ("index", "ids"),
    [
        ([3, 1, 4, 15, 9, 2], [3, 1, 4, 15, 9, 2]),
        (list("qwerty"), list("qwerty")),
        ([1, "b", 2, "d", 3, "f"], [1, "b", 2, "d", 3, "f"]),
        ([1, 1, 2, 3, 4, 5], range(6)),
        (pd.date_range("2020-01-01", periods=6), range(6)),
        (pd.MultiIndex.from_product([[1, 2], [1, 2, 3]]), range(6)),
        (np.linspace(0.0, 1.0, 6), range(6)),
    ],
)
def test_a_frame_brings_its_index_where_it_can_serve(index, ids):
    model = SVC().fit(pd.DataFrame(X, columns=["u", "v"], index=index), Y)
    assert model.ids_.tolist() == list(ids)
    assert model.feature_names_in_.tolist() == ["u", "v"]


def test_given_ids_go_before_the_index():
    frame = pd.DataFrame(X, index=list("abcdef"))
    assert SVC().fit(frame, Y, ids=range(6)).ids_.tolist() == list(range(6))


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_frames_are_rows_with_names(frame):
    table = frame({"u": X[:, 0], "v": X[:, 1]})
    labels = pd.Series(Y).map({0: "no", 1: "yes"}) if frame is pd.DataFrame else pl.Series(Y)
    model, plain = SVC().fit(table, labels), SVC().fit(X, Y)
    assert model.feature_names_in_.tolist() == ["u", "v"]
    assert model.decision_function(table).tolist() == plain.decision_function(X).tolist()
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame({"v": X[:, 1], "u": X[:, 0]}))


# ---------------------------------------------------------------- parameters


@pytest.mark.parametrize(
    "setting",
    [
        {"C": 0.0},
        {"C": -1.0},
        {"C": np.nan},
        {"kernel": "gauss"},
        {"kernel": 3},
        {"degree": -1},
        {"degree": 2.5},
        {"gamma": "wide"},
        {"gamma": -0.1},
        {"gamma": np.inf},
        {"coef0": np.inf},
        {"loss": "log"},
        {"fit_intercept": "no"},
        {"intercept": np.inf},
        {"shrinking": None},
        {"tol": 0.0},
        {"cache_size": 0},
        {"class_weight": "equal"},
        {"verbose": "loud"},
        {"max_iter": -2},
        {"decision_function_shape": "one"},
        {"break_ties": "first"},
        {"random_state": "x"},
    ],
    ids=str,
)
def test_a_wrong_parameter_is_named(setting):
    (name,) = setting
    with pytest.raises(ValueError, match=f"'{name}' parameter of SVC must be"):
        SVC(**setting).fit(X, Y)


def test_probability_is_refused_with_the_way_to_have_it():
    with pytest.raises(TypeError, match=r"CalibratedClassifierCV\(SVC\(\.\.\.\)"):
        SVC(probability=True)
    with pytest.raises(TypeError, match="unexpected keyword argument 'nu'"):
        SVC(nu=0.5)
    assert "probability" not in SVC().get_params()
    assert not hasattr(SVC().fit(X, Y), "predict_proba")


def test_parameters_are_those_of_scikit_learn_and_three_more():
    theirs = set(sklearn.svm.SVC().get_params()) - {"probability"}
    assert set(SVC().get_params()) == theirs | {"loss", "fit_intercept", "intercept"}


def test_a_class_is_no_kernel():
    with pytest.raises(TypeError, match="kernel: the class RBF; wanted an object of it"):
        SVC(kernel=RBF).fit(X, Y)


def test_a_callable_must_return_the_matrix_of_similarities():
    with pytest.raises(ValueError, match=r"kernel: the callable returned shape \(1,\)"):
        SVC(kernel=lambda A, B: A @ B[0]).fit(X, Y)


def test_a_callable_must_be_symmetric():
    with pytest.raises(ValueError, match=r"kernel: the callable's values of x, x' .* symmetric"):
        SVC(kernel=lambda A, B: A @ [[1.0, 1.0], [0.0, 1.0]] @ B.T).fit(X, Y)


@pytest.mark.parametrize("labels", [[0, 0, 1, 1, 2, 2], [1] * 6])
def test_a_bias_leans_towards_one_of_two_classes(labels):
    with pytest.raises(ValueError, match=r"intercept: 0.5 with [13] classes in y"):
        SVC(fit_intercept=False, intercept=0.5).fit(X, labels)


# ---------------------------------------------------------------- data


@pytest.mark.parametrize(
    ("weight", "words"),
    [
        (np.zeros(6), "sample_weight: all weights are zero"),
        (0, "sample_weight: all weights are zero"),
        (-np.ones(6), "sample_weight: -1.0 is among them"),
        (np.ones(5), r"sample_weight: shape \(5,\) for 6 rows"),
        (np.ones((6, 1)), r"sample_weight: shape \(6, 1\) for 6 rows"),
        (np.full(6, np.nan), "sample_weight contains NaN"),
    ],
)
def test_weights_that_make_no_sense_are_refused(weight, words):
    with pytest.raises(ValueError, match=words):
        SVC().fit(X, Y, sample_weight=weight)


def test_one_weight_is_the_weight_of_all():
    one, many = SVC().fit(X, Y, sample_weight=3), SVC(C=3.0).fit(X, Y)
    assert one.dual_coef_.tolist() == many.dual_coef_.tolist()


@pytest.mark.parametrize("value", [0.0, -1.0, np.inf, np.nan])
def test_class_weights_are_positive(value):
    with pytest.raises(ValueError, match=r"class_weight: .* for class 1; wanted a positive finite"):
        SVC(class_weight={1: value}).fit(X, Y)


@pytest.mark.parametrize(
    ("rows", "labels", "words"),
    [
        (np.where(X == 5, np.nan, X), Y, "X contains NaN"),
        (np.where(X == 5, np.inf, X), Y, "X contains infinity"),
        (sparse.csr_array(np.where(X == 5, np.nan, X)), Y, "X contains NaN"),
        (X + 1j, Y, "Complex data not supported"),
        (X[0], Y, "Expected 2D array"),
        (X[:0], Y[:0], r"0 sample\(s\)"),
        (X[:, :0], Y, r"0 feature\(s\)"),
        (X, Y[:5], "inconsistent numbers of samples"),
        (X, X, "y should be a 1d array"),
        (X, X[:, 0] / 3, "Unknown label type"),
        (X, None, "requires y"),
        (X, np.array([0, 0, 0, 1, 1, np.nan]), "y contains NaN"),
        (np.full((6, 2), "a"), Y, "could not convert string to float"),
        (X * 1e200, Y, "gamma: 'scale' gives 0.0"),
        (X * 1e-200, Y, "gamma: 'scale' gives inf"),
    ],
)
def test_data_that_make_no_sense_are_refused(rows, labels, words):
    with pytest.raises(ValueError, match=words):
        SVC().fit(rows, labels)


def test_kernel_values_beyond_float64_are_refused():
    with np.errstate(over="ignore"), pytest.raises(ValueError, match="X: kernel values"):
        SVC(kernel="linear", gamma=1.0).fit(X * 1e200, Y)


@pytest.mark.parametrize(
    ("matrix", "words"),
    [
        (X, r"X: shape \(6, 2\) for a precomputed kernel; wanted a square matrix"),
        (X @ X.T + np.triu(np.full((6, 6), 1e-5), 1), "X: the precomputed kernel matrix differs"),
        (sparse.csr_array(X @ X.T), "Sparse data was passed"),
    ],
)
def test_a_precomputed_matrix_is_square_and_symmetric(matrix, words):
    with pytest.raises((ValueError, TypeError), match=words):
        SVC(kernel="precomputed").fit(matrix, Y)


def test_asymmetry_by_rounding_is_forgiven():
    K = X @ X.T
    rounded = K + np.triu(np.full((6, 6), 1e-10), 1)
    one, other = (SVC(kernel="precomputed").fit(matrix, Y) for matrix in (K, rounded))
    assert one.decision_function(K) == pytest.approx(other.decision_function(K), abs=1e-8)


def test_rows_to_decide_on_have_the_features_that_were_learned():
    model = SVC().fit(X, Y)
    with pytest.raises(ValueError, match="X has 1 features, but SVC is expecting 2"):
        model.predict(X[:, :1])
    with pytest.raises(ValueError, match="X contains NaN"):
        model.decision_function(np.where(X == 5, np.nan, X))
    with pytest.raises(ValueError, match="X has 2 features, but SVC is expecting 6"):
        SVC(kernel="precomputed").fit(X @ X.T, Y).predict(X)


# ---------------------------------------------------------------- manners

FITTED = [
    "classes_", "ids_", "class_weight_", "gamma_", "support_", "support_vectors_", "n_support_",
    "dual_coef_", "intercept_", "coef_", "shape_fit_", "fit_status_", "n_iter_", "margin_",
    "error_", "reserve_", "work_", "n_features_in_",
]  # fmt: skip


@pytest.mark.parametrize("name", FITTED)
def test_an_attribute_is_there_after_fit_and_its_array_is_the_callers(name):
    model = SVC(kernel="linear")
    assert not hasattr(model, name)
    value = getattr(model.fit(X, Y), name)
    if isinstance(value, np.ndarray):
        before = value.copy()
        value[...] = 77
        assert getattr(model, name).tolist() == before.tolist()


@pytest.mark.parametrize(
    "method", ["certificate", "fresh", "export", "to_sklearn", "predict", "decision_function"]
)
def test_nothing_is_answered_before_fit(method):
    arguments = [X] if method in {"predict", "decision_function"} else []
    with pytest.raises(NotFittedError):
        getattr(SVC(), method)(*arguments)


def test_coef_is_for_linear_kernels():
    with pytest.raises(AttributeError, match="coef_ is only available when using a linear kernel"):
        SVC().fit(X, Y).coef_  # noqa: B018


def test_a_fit_that_fails_changes_nothing():
    model = SVC().fit(pd.DataFrame(X, columns=["u", "v"]), Y)
    before = dict(vars(model))
    with pytest.raises(ValueError, match="ids"):
        model.fit(np.hstack([X, X]), 1 - Y, ids=[0] * 6)
    assert {name: id(value) for name, value in vars(model).items()} == {
        name: id(value) for name, value in before.items()
    }
    unfitted = SVC()
    with pytest.raises(ValueError, match="ids"):
        unfitted.fit(X, Y, ids=[0] * 6)
    del vars(unfitted)["_pen"]  # what a writer holds says nothing of what was learned
    assert vars(unfitted) == vars(SVC())


def test_while_a_fit_lasts_the_model_is_the_one_before():
    """Also where the new rows have other features: a reader may come between any two steps."""
    seen = []

    def kernel(A, B):
        if np.shape(A)[1] == 4:
            seen.append((model.n_features_in_, model.decision_function(X).tolist()))
        return A @ B.T

    model = SVC(kernel=kernel).fit(pd.DataFrame(X, columns=["u", "v"]), Y)
    before = (2, model.decision_function(pd.DataFrame(X, columns=["u", "v"])).tolist())
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        model.fit(np.hstack([X, X]), Y)
    assert len(seen) > 6
    assert all(state == before for state in seen)
    assert model.n_features_in_ == 4
    assert not hasattr(model, "feature_names_in_")


def test_the_callers_arrays_stay_the_callers():
    rows, labels, weight = X.copy(), Y.copy(), np.ones(6)
    model = SVC().fit(rows, labels, sample_weight=weight)
    values, coefficients = model.decision_function(X), model.dual_coef_
    assert (rows.tolist(), labels.tolist(), weight.tolist()) == (X.tolist(), Y.tolist(), [1.0] * 6)
    rows[:], labels[:], weight[:] = 99.0, 5, 7.0
    assert model.decision_function(X).tolist() == values.tolist()
    assert model.support_vectors_.max() <= X.max()
    assert model.classes_.tolist() == [0, 1]
    assert model.dual_coef_.tolist() == coefficients.tolist()


def test_a_notebook_can_show_it():
    assert "SVC" in SVC(C=3.0)._repr_html_()
    assert "SVC" in SVC(C=3.0).fit(X, Y)._repr_html_()
    assert repr(SVC(C=3.0, kernel=RBF(2.0))) == "SVC(C=3.0, kernel=RBF(gamma=2.0))"


def test_metadata_can_be_routed():
    with sklearn.config_context(enable_metadata_routing=True):
        request = SVC().set_fit_request(sample_weight=True, ids=True).get_metadata_routing()
    assert request.fit.requests == {"sample_weight": True, "ids": True, "groups": None}


@pytest.mark.parametrize(
    ("kernel", "pairwise"),
    [("rbf", False), ("precomputed", True), (RBF(), False), (lambda A, B: A @ B.T, False)],
)
def test_tags_say_what_rows_are(kernel, pairwise):
    tags = SVC(kernel=kernel).__sklearn_tags__().input_tags
    assert (tags.pairwise, tags.sparse) == (pairwise, not pairwise)
