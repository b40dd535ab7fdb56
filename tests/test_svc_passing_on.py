"""What a trained classifier gives away: twins, exports, scikit-learn's own, certificates."""

import pickle
import subprocess
import sys

import numpy as np
import pytest
from scipy import sparse
from sklearn.calibration import CalibratedClassifierCV
from sklearn.model_selection import GridSearchCV, cross_val_score

from adiabat import SVC
from adiabat.kernels import (
    RBF,
    Augmented,
    Exponential,
    ExponentialProduct,
    Linear,
    Polynomial,
    Precomputed,
    Sigmoid,
)

KERNELS = [
    "linear",
    "poly",
    "rbf",
    Linear(),
    Polynomial(2, 0.5, 1.0),
    RBF(0.3),
    Sigmoid(0.01),
    Exponential(0.5),
    ExponentialProduct(0.1),
    Augmented(RBF(0.3)),
    np.inner,
]


def data(classes, n=45):
    rng = np.random.default_rng(7)
    y = np.arange(n) % classes
    X = rng.standard_normal((n, 4)) + y[:, None]
    X[np.abs(X) < 0.3] = 0.0
    return X, np.array(["red", "green", "blue"])[y], rng.standard_normal((11, 4))


def same(one, other):
    assert one.shape == other.shape
    assert one == pytest.approx(other, abs=1e-10)


@pytest.mark.parametrize("shape", ["ovr", "ovo"])
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("kernel", KERNELS[:-1], ids=str)
def test_scikit_learns_own_decides_in_the_same_way(kernel, make, classes, shape):
    X, y, queries = data(classes)
    model = SVC(kernel=kernel, C=2.0, decision_function_shape=shape).fit(make(X), y)
    theirs = model.to_sklearn()
    same(theirs.decision_function(make(queries)), model.decision_function(make(queries)))
    assert theirs.predict(make(queries)).tolist() == model.predict(make(queries)).tolist()
    again = pickle.loads(pickle.dumps(theirs))
    same(again.decision_function(make(queries)), model.decision_function(make(queries)))


@pytest.mark.parametrize("classes", [2, 3])
def test_scikit_learns_own_for_a_matrix_and_a_callable(classes):
    X, y, queries = data(classes)
    by_matrix = SVC(kernel="precomputed").fit(X @ X.T, y)
    by_callable = SVC(kernel=np.inner).fit(X, y)
    same(by_matrix.to_sklearn().decision_function(queries @ X.T), _values(by_matrix, queries @ X.T))
    same(by_callable.to_sklearn().decision_function(queries), _values(by_callable, queries))


def _values(model, queries):
    return model.decision_function(queries)


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
def test_scikit_learns_own_has_the_attributes_of_a_fit(make):
    X, y, _ = data(3)
    theirs = SVC(kernel="linear", C=0.5).fit(make(X), y).to_sklearn()
    fitted = type(theirs)(kernel="linear", C=0.5, tol=1e-9).fit(make(X), y)
    assert set(vars(fitted)) <= set(vars(theirs))
    assert {k: type(v) for k, v in vars(fitted).items() if not k.startswith("_")} == {
        k: type(v) for k, v in vars(theirs).items() if not k.startswith("_") and k in vars(fitted)
    }
    assert theirs.get_params() == fitted.set_params(cache_size=1000).get_params()
    ours, others = (sparse.csr_array(m.coef_).toarray() for m in (theirs, fitted))
    assert ours == pytest.approx(others, abs=1e-3)


def test_scikit_learn_knows_no_single_class_and_not_every_kernel():
    X, y, _ = data(2)
    with pytest.raises(ValueError, match="to_sklearn: the model has one class"):
        SVC().fit(X, ["a"] * len(y)).to_sklearn()
    with pytest.raises(ValueError, match=r"to_sklearn: .* has no counterpart"):
        SVC(kernel=Augmented(Precomputed())).fit(X @ X.T, y).to_sklearn()


@pytest.mark.parametrize("shape", ["ovr", "ovo"])
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_an_export_decides_in_the_same_way(kernel, make, classes, shape):
    if kernel is np.inner and make is not np.asarray:
        pytest.skip("np.inner takes arrays only")
    X, y, queries = data(classes)
    model = SVC(kernel=kernel, decision_function_shape=shape).fit(make(X), y)
    export = pickle.loads(pickle.dumps(model.export()))
    same(export.decision_function(make(queries)), model.decision_function(queries))
    assert export.predict(queries).tolist() == model.predict(queries).tolist()
    assert export.classes_.tolist() == model.classes_.tolist()


def test_an_export_of_a_matrix_machine_takes_columns_of_all_rows():
    X, y, queries = data(3)
    model = SVC(kernel="precomputed", break_ties=True).fit(X @ X.T, y)
    export = model.export()
    same(export.decision_function(queries @ X.T), model.decision_function(queries @ X.T))
    assert export.predict(queries @ X.T).tolist() == model.predict(queries @ X.T).tolist()


def test_an_export_holds_support_rows_only():
    X, y, _ = data(2)
    model = SVC(kernel="poly", C=10.0).fit(X, y)
    packed = pickle.dumps(model.export())
    support = {value.tobytes() for value in model.support_vectors_.ravel()}
    others = {value.tobytes() for value in X.ravel()} - support
    assert len(others) > 20
    assert all(value in packed for value in support)
    assert not any(value in packed for value in others)


def test_an_export_needs_neither_numba_nor_scikit_learn(tmp_path):
    X, y, queries = data(3)
    model = SVC().fit(X, y)
    (tmp_path / "model").write_bytes(pickle.dumps(model.export()))
    np.save(tmp_path / "queries.npy", queries)
    program = """if True:
        import pickle, sys
        import numpy as np
        folder = sys.argv[1]
        with open(folder + "/model", "rb") as file:
            model = pickle.load(file)
        values = model.decision_function(np.load(folder + "/queries.npy"))
        assert not {"numba", "sklearn", "pandas"} & set(sys.modules), sorted(sys.modules)
        np.save(folder + "/values.npy", values)
    """
    subprocess.run([sys.executable, "-c", program, str(tmp_path)], check=True)
    same(np.load(tmp_path / "values.npy"), model.decision_function(queries))


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        (np.ones((2, 3)), r"X: shape \(2, 3\); wanted rows of 4 features"),
        (np.ones(4), r"X: shape \(4,\)"),
        (np.full((1, 4), np.nan), "X: NaN or infinity"),
        (sparse.csr_array(np.full((1, 4), np.inf)), "X: NaN or infinity"),
    ],
)
def test_an_export_looks_at_what_it_gets(rows, words):
    X, y, _ = data(2)
    with pytest.raises(ValueError, match=words):
        SVC().fit(X, y).export().predict(rows)


def test_a_copy_is_independent():
    X, y, queries = data(3)
    model = SVC(C=2.0).fit(X, y)
    values, twin = model.decision_function(queries), model.copy()
    model.set_params(C=5.0).fit(X[::2], y[::2])
    same(twin.decision_function(queries), values)
    assert (twin.C, len(twin.ids_), twin.n_features_in_) == (2.0, 45, 4)
    assert not np.allclose(model.decision_function(queries), values)
    assert SVC(C=7.0).copy().C == 7.0


def test_a_fresh_one_has_the_same_settings_and_the_gamma_of_the_fit():
    X, y, queries = data(2)
    model = SVC(C=2.0, class_weight={"red": 3.0}).fit(X, y)
    fresh = model.fresh()
    assert not hasattr(fresh, "classes_")
    assert fresh.get_params() == {**model.get_params(), "gamma": model.gamma_}
    assert model.gamma == "scale"
    same(fresh.fit(X, y).decision_function(queries), model.decision_function(queries))
    assert SVC(kernel=RBF(2.0)).fit(X, y).fresh().gamma == "scale"


@pytest.mark.parametrize("classes", [1, 2, 3])
@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
def test_a_pickle_is_the_model(make, classes):
    X, y, queries = data(classes)
    model = SVC().fit(make(X), y, ids=[f"row {i}" for i in range(len(y))])
    again = pickle.loads(pickle.dumps(model))
    assert again.decision_function(queries).tolist() == model.decision_function(queries).tolist()
    assert again.ids_.tolist() == model.ids_.tolist()
    assert again.certificate().kkt_violation == model.certificate().kkt_violation


def test_a_pickle_is_not_much_larger_than_the_rows():
    rows = np.random.default_rng(0).standard_normal((300, 50))
    model = SVC().fit(rows, np.arange(300) % 2)
    assert model.predict(rows).shape == (300,)
    assert len(pickle.dumps(model)) < 1.2 * rows.nbytes


# ---------------------------------------------------------------- the certificate


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"kernel": "linear", "C": 10.0},
        {"loss": "squared_hinge"},
        {"fit_intercept": False},
        {"class_weight": "balanced"},
    ],
    ids=str,
)
@pytest.mark.parametrize("classes", [1, 2, 3])
@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
def test_a_fit_is_certified(settings, classes, make):
    X, y, _ = data(classes)
    weight = np.arange(len(y)) % 3
    certificate = SVC(**settings).fit(make(X), y, sample_weight=weight).certificate()
    assert certificate.holds()
    assert certificate.convex
    assert certificate.kkt_violation < 1e-9


def test_a_matrix_is_certified_too():
    X, y, _ = data(3)
    certificate = SVC(kernel="precomputed").fit(X @ X.T, y).certificate()
    assert certificate.kkt_violation < 1e-9


def test_the_certificate_of_many_machines_is_that_of_the_worst():
    X, y, _ = data(3)
    certificate = SVC().fit(X, y).certificate()
    members = certificate.members
    assert list(members) == [("blue", "green"), ("blue", "red"), ("green", "red")]
    for name in ("kkt_violation", "equality_residual", "duality_gap", "decision_error_bound"):
        assert getattr(certificate, name) == max(getattr(m, name) for m in members.values())
    assert certificate.holds()
    assert not certificate.holds(tol=0.0)
    assert str(certificate).count("optimal") == 3
    assert certificate.margin == min(m.margin for m in members.values())
    for name in ("n_margin", "n_error", "n_reserve"):
        assert getattr(certificate, name) == sum(getattr(m, name) for m in members.values())
    assert certificate.n_margin + certificate.n_error + certificate.n_reserve == 2 * len(y)


def test_the_certificate_counts_the_categories():
    X, y, _ = data(2)
    model = SVC().fit(X, y)
    certificate = model.certificate()
    counted = certificate.n_margin, certificate.n_error, certificate.n_reserve
    assert counted == (len(model.margin_), len(model.error_), len(model.reserve_))


# ---------------------------------------------------------------- among scikit-learn's tools


def test_a_search_and_a_cross_validation_take_it():
    X, y, _ = data(3)
    search = GridSearchCV(SVC(), {"C": [0.1, 1.0], "kernel": ["linear", "rbf"]}, cv=3).fit(X, y)
    assert search.best_score_ > 0.5
    scores = cross_val_score(SVC(kernel="precomputed"), X @ X.T, y, cv=3)
    assert scores.tolist() == cross_val_score(SVC(kernel="linear"), X, y, cv=3).tolist()


def test_probabilities_come_by_calibration():
    X, y, queries = data(3)
    calibrated = CalibratedClassifierCV(SVC(), ensemble=False).fit(X, y)
    assert calibrated.predict_proba(queries).sum(axis=1) == pytest.approx(np.ones(len(queries)))
