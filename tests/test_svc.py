"""The classifier: what it learns, judged by the oracle, by scikit-learn and by itself."""

from itertools import combinations

import numpy as np
import pytest
import sklearn.svm
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.datasets import load_breast_cancer, load_digits, load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import StandardScaler

from adiabat import SVC, NotSeparableError
from adiabat.kernels import RBF, Exponential, Linear, Polynomial, Precomputed, Sigmoid
from tests import oracle

INEXACT = 1e-3  # scikit-learn at tol=1e-6, its kernel values in float32
EXACT = 1e-8  # of max(1, max|f|): what is promised


def real(name):
    loaders = {"iris": load_iris, "digits": load_digits, "breast_cancer": load_breast_cancer}
    X, y = loaders[name](return_X_y=True)
    if name == "digits":
        X, y = X[:150], y[:150]
    return StandardScaler().fit_transform(X), y


def drawn(n=40, features=3, classes=2, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(n) % classes)
    return rng.standard_normal((n, features)) + y[:, None], y


def assert_same_values(one, other, tolerance=EXACT):
    assert one.shape == other.shape
    assert np.abs(one - other).max() <= tolerance * max(1.0, np.abs(other).max())


def assert_judged(model, X, y, K, bounds, diagonal=None, bias=None):
    """Decision values are those of the optimum."""
    truth = oracle.solve(K, np.where(y == 1, 1.0, -1.0), bounds, diagonal=diagonal, bias=bias)
    assert_same_values(model.decision_function(X), truth.decision)


# ---------------------------------------------------------------- the optimum


def test_hinge_is_solved_to_the_end():
    X, y = drawn()
    K = np.exp(-0.5 * cdist(X, X, "sqeuclidean"))
    assert_judged(SVC(C=2.0, gamma=0.5).fit(X, y), X, y, K, 2.0)


def test_bounds_are_the_cost_times_both_weights():
    X, y = drawn()
    weight = np.random.default_rng(1).integers(0, 4, len(y)) / 2
    model = SVC(C=0.7, kernel="linear", class_weight={0: 3.0}).fit(X, y, sample_weight=weight)
    assert_judged(model, X, y, X @ X.T, 0.7 * weight * np.where(y == 0, 3.0, 1.0))
    assert model.class_weight_.tolist() == [3.0, 1.0]


def test_squared_hinge_is_a_ridge_on_the_diagonal():
    X, y = drawn()
    weight = np.random.default_rng(1).integers(0, 4, len(y)).astype(float)
    model = SVC(C=0.5, kernel="linear", loss="squared_hinge").fit(X, y, sample_weight=weight)
    counts = weight > 0
    diagonal = np.where(counts, 1.0 / np.where(counts, weight, 1.0), 0.0)
    assert_judged(model, X, y, X @ X.T, np.where(counts, np.inf, 0.0), diagonal)
    assert len(model.error_) == 0


@pytest.mark.parametrize("bias", [0.0, 0.75, -2.0])
def test_the_bias_can_be_fixed(bias):
    X, y = drawn()
    model = SVC(kernel="linear", fit_intercept=False, intercept=bias).fit(X, y)
    assert model.intercept_.tolist() == [bias]
    assert_judged(model, X, y, X @ X.T, 1.0, bias=bias)


def test_hard_margin():
    X, y = drawn(seed=3)
    X[:, 0] += 8.0 * y
    model = SVC(C=np.inf, kernel="linear").fit(X, y)
    assert_judged(model, X, y, X @ X.T, np.inf)
    assert np.min(np.where(y == 1, 1, -1) * model.decision_function(X)) > 1 - EXACT


def test_a_row_without_weight_does_not_count_in_a_hard_margin():
    X, y = drawn(seed=3)
    X[:, 0] += 8.0 * y
    among_the_others = X[y == 1].mean(axis=0)
    weight = np.append(np.ones(len(y)), 0.0)
    model = SVC(C=np.inf, kernel="linear").fit(
        np.vstack([X, among_the_others]), np.append(y, 0), sample_weight=weight
    )
    assert_same_values(
        model.decision_function(X), SVC(C=np.inf, kernel="linear").fit(X, y).decision_function(X)
    )
    assert len(y) in model.reserve_


def test_an_inseparable_problem_names_ids_and_classes():
    X, y, ids = [[0.0], [2.0], [1.0], [5.0]], ["a", "a", "b", "b"], [10, 20, "in", "out"]
    with pytest.raises(NotSeparableError, match="'b' and 'a'") as caught:
        SVC(C=np.inf, kernel="linear").fit(X, y, ids=ids)
    assert set(caught.value.ids) == {10, 20, "in"}
    assert caught.value.weights.sum() == pytest.approx(2.0)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from([0.01, 1.0, 100.0]))
def test_any_small_problem_is_solved_to_the_end(seed, C):
    rng = np.random.default_rng(seed)
    X = rng.integers(-3, 4, (12, 2)).astype(float)
    y = rng.permutation(np.arange(12) % 2)
    assert_judged(SVC(C=C, kernel="linear").fit(X, y), X, y, X @ X.T, C)


# ---------------------------------------------------------------- beside scikit-learn

KERNELS = {
    "linear": {"kernel": "linear"},
    "poly": {"kernel": "poly", "degree": 2, "coef0": 1.0},
    "rbf": {"kernel": "rbf"},
    "sigmoid": {"kernel": "sigmoid", "gamma": 0.01},
    "auto": {"kernel": "rbf", "gamma": "auto"},
    "callable": {"kernel": lambda A, B: (A @ B.T + 1.0) ** 2 / 100},
}


def both(settings, X, y, **fit):
    ours = SVC(**settings).fit(X, y, **fit)
    return ours, sklearn.svm.SVC(tol=1e-6, **settings).fit(X, y, **fit)


@pytest.mark.parametrize("shape", ["ovr", "ovo"])
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("name", ["iris", "digits", "breast_cancer"])
def test_decisions_are_scikit_learns(name, kernel, shape):
    X, y = real(name)
    ours, theirs = both({"decision_function_shape": shape, **KERNELS[kernel]}, X, y)
    queries = X + 0.1 * np.random.default_rng(0).standard_normal(X.shape)
    assert_same_values(ours.decision_function(queries), theirs.decision_function(queries), INEXACT)
    clear = np.abs(theirs.decision_function(queries)).reshape(len(X), -1).min(axis=1) > INEXACT
    assert (ours.predict(queries) == theirs.predict(queries))[clear].all()


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array, sparse.csr_matrix])
@pytest.mark.parametrize("classes", [2, 4])
def test_attributes_have_scikit_learns_layout(classes, make):
    X, y = drawn(n=60, features=4, classes=classes)
    ours, theirs = both({"kernel": "linear", "C": 0.3}, make(X), y, sample_weight=1.0 + y)
    assert ours.support_.tolist() == theirs.support_.tolist()
    assert ours.n_support_.tolist() == theirs.n_support_.tolist()
    for name in ("support_vectors_", "dual_coef_", "coef_"):
        one, other = getattr(ours, name), getattr(theirs, name)
        one, other = (v.toarray() if sparse.issparse(v) else v for v in (one, other))
        assert_same_values(one, other, INEXACT)
    assert_same_values(ours.intercept_, theirs.intercept_, INEXACT)
    assert ours.shape_fit_ == theirs.shape_fit_
    assert ours.n_iter_.shape == theirs.n_iter_.shape
    assert ours.fit_status_ == theirs.fit_status_
    for name in ("support_", "n_support_", "dual_coef_", "intercept_", "coef_"):
        assert getattr(ours, name).dtype == getattr(theirs, name).dtype, name


def test_a_precomputed_matrix_is_the_kernel():
    X, y = drawn(n=50, classes=3)
    Z = np.random.default_rng(0).standard_normal((7, 3))
    K, between = (X @ X.T + 1) ** 2, (Z @ X.T + 1) ** 2
    by_matrix = SVC(kernel="precomputed").fit(K, y)
    by_name = SVC(kernel="poly", degree=2, gamma=1.0, coef0=1.0).fit(X, y)
    assert_same_values(by_matrix.decision_function(between), by_name.decision_function(Z))
    assert by_matrix.support_.tolist() == by_name.support_.tolist()
    assert by_matrix.support_vectors_.shape == (0, 0)
    assert not hasattr(by_matrix, "gamma_")
    as_object = SVC(kernel=Precomputed()).fit(K, y)
    assert_same_values(as_object.decision_function(between), by_matrix.decision_function(between))


@pytest.mark.parametrize(
    ("named", "kernel"),
    [
        ({"kernel": "linear"}, Linear()),
        ({"kernel": "rbf", "gamma": 0.3}, RBF(0.3)),
        ({"kernel": "poly", "gamma": 0.3, "coef0": 2.0}, Polynomial(3, 0.3, 2.0)),
        ({"kernel": "sigmoid", "gamma": 0.01}, Sigmoid(0.01)),
    ],
)
def test_a_name_stands_for_a_kernel_object(named, kernel):
    X, y = drawn()
    by_object, by_name = SVC(kernel=kernel).fit(X, y), SVC(**named).fit(X, y)
    assert_same_values(by_object.decision_function(X), by_name.decision_function(X))
    assert not hasattr(by_object, "gamma_")


def test_a_kernel_without_a_name_is_used_as_it_is():
    X, y = drawn()
    model = SVC(kernel=Exponential(gamma=0.5)).fit(X, y)
    assert_judged(model, X, y, np.exp(-0.5 * cdist(X, X)), 1.0)


# ---------------------------------------------------------------- votes


@pytest.mark.parametrize("break_ties", [False, True])
def test_votes_and_their_ties_are_scikit_learns(break_ties):
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((60, 2)), np.arange(60) % 5
    ours, theirs = both({"C": 0.1, "break_ties": break_ties}, X, y)
    queries = rng.standard_normal((2000, 2))
    assert (ours.predict(queries) == theirs.predict(queries)).mean() > 0.99
    votes = np.floor(ours.decision_function(queries) + 0.5)
    tied = (votes == votes.max(axis=1, keepdims=True)).sum(axis=1) > 1
    assert tied.sum() > 10
    first = votes.argmax(axis=1)
    agrees = ours.predict(queries[tied]) == first[tied]
    assert agrees.mean() < 0.9 if break_ties else agrees.all()


def test_break_ties_wants_one_value_for_each_class():
    X, y = drawn(classes=3)
    model = SVC(decision_function_shape="ovo", break_ties=True).fit(X, y)
    with pytest.raises(ValueError, match="break_ties"):
        model.predict(X)


def test_members_of_many_classes_are_the_binary_machines():
    X, y = drawn(n=60, classes=3)
    model = SVC(gamma=0.2, decision_function_shape="ovo").fit(X, y)
    for k, (i, j) in enumerate(combinations(range(3), 2)):
        either = (y == i) | (y == j)
        alone = SVC(gamma=0.2).fit(X[either], y[either], ids=np.flatnonzero(either))
        assert_same_values(model.decision_function(X)[:, k], -alone.decision_function(X))
        assert model.margin_[i, j].tolist() == alone.margin_.tolist()
        assert model.error_[i, j].tolist() == alone.error_.tolist()
        assert model.reserve_[i, j].tolist() == alone.reserve_.tolist()


# ---------------------------------------------------------------- properties


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"kernel": "linear", "class_weight": "balanced"},
        {"kernel": "poly", "loss": "squared_hinge"},
        {"fit_intercept": False, "class_weight": {0: 0.5, 1: 4.0}},
    ],
)
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
def test_a_weight_of_two_is_two_copies_and_of_zero_none(settings, classes, make):
    X, y = drawn(n=40, classes=classes)
    weight = np.random.default_rng(5).integers(0, 4, len(y))
    weighted = SVC(**settings).fit(make(X), y, sample_weight=weight)
    copied = SVC(**settings).fit(make(X.repeat(weight, axis=0)), y.repeat(weight))
    assert weighted.gamma_ == pytest.approx(copied.gamma_, rel=1e-13)
    assert weighted.class_weight_ == pytest.approx(copied.class_weight_, rel=1e-13)
    assert_same_values(weighted.decision_function(make(X)), copied.decision_function(make(X)))


def test_gamma_scale_is_scikit_learns_without_weights():
    X, y = drawn()
    expected = 1.0 / (X.shape[1] * X.var())
    assert SVC().fit(X, y).gamma_ == pytest.approx(expected, rel=1e-13)
    assert SVC().fit(sparse.csr_array(X), y).gamma_ == pytest.approx(expected, rel=1e-13)
    assert SVC(gamma="auto").fit(X, y).gamma_ == 1.0 / X.shape[1]
    assert SVC(gamma=0.25).fit(X, y).gamma_ == 0.25


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
def test_gamma_of_equal_entries_is_one(make):
    X = make(np.full((7, 3), 0.1))
    model = SVC().fit(X, [0, 1, 0, 1, 0, 0, 0])
    assert model.gamma_ == 1.0
    assert model.decision_function(X).tolist() == [-1.0] * 7


def test_swapped_labels_swap_the_sign():
    X, y = drawn()
    one, other = SVC().fit(X, y), SVC().fit(X, 1 - y)
    assert_same_values(one.decision_function(X), -other.decision_function(X))
    assert_same_values(one.dual_coef_.sum(), -other.dual_coef_.sum())


def test_labels_may_be_strings():
    X, y = drawn(classes=3)
    names = np.array(["one", "two", "three"], dtype=object)[y]
    model = SVC().fit(X, names)
    assert model.classes_.tolist() == ["one", "three", "two"]
    assert (model.predict(X) == names).mean() > 0.5
    assert list(model.margin_) == [("one", "three"), ("one", "two"), ("three", "two")]


@pytest.mark.parametrize("classes", [2, 3])
def test_the_order_of_the_rows_does_not_matter(classes):
    X, y = drawn(n=60, classes=classes)
    order = np.random.default_rng(2).permutation(len(y))
    one, other = SVC().fit(X, y), SVC().fit(X[order], y[order], ids=order)
    assert_same_values(one.decision_function(X), other.decision_function(X))
    assert sorted(one.ids_[one.support_]) == sorted(other.ids_[other.support_])


def test_rows_far_from_zero_lose_nothing():
    X, y = drawn()
    far, near = SVC().fit(X + 2.0**20, y), SVC().fit(X, y)
    assert_same_values(far.decision_function(X + 2.0**20), near.decision_function(X))


def test_sparse_rows_of_any_kind_are_rows():
    X, y = drawn()
    X[np.abs(X) < 0.5] = 0.0
    dense = SVC().fit(X, y)
    wide = sparse.csr_array(X)
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    for make in (sparse.coo_array, sparse.csc_matrix, sparse.lil_array, lambda _: wide):
        model = SVC().fit(make(X), y)
        assert_same_values(model.decision_function(make(X)), dense.decision_function(X))
        assert_same_values(model.decision_function(X), dense.decision_function(make(X)))


# ---------------------------------------------------------------- one class, no weight


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_a_single_class_is_always_predicted(kernel):
    X, _ = drawn()
    model = SVC(kernel=kernel).fit(X, ["only"] * len(X))
    assert model.classes_.tolist() == ["only"]
    assert (model.predict(X) == "only").all()
    assert model.decision_function(X).tolist() == [1.0] * len(X)
    assert (len(model.support_), len(model.reserve_)) == (0, len(X))
    assert model.dual_coef_.shape == (1, 0)
    assert model.n_support_.tolist() == [0]


def test_a_class_without_weight_is_held_but_no_class():
    X, y = drawn(classes=3)
    model = SVC().fit(X, y, sample_weight=np.where(y == 1, 0.0, 2.0))
    assert model.classes_.tolist() == [0, 2]
    assert set(model.predict(X)) == {0, 2}
    assert len(model.ids_) == len(y)
    assert set(np.flatnonzero(y == 1)) <= set(model.reserve_)
    without = SVC(C=2.0, gamma=model.gamma_).fit(X[y != 1], y[y != 1])
    assert_same_values(model.decision_function(X), without.decision_function(X))


def test_categories_say_where_the_coefficients_are():
    X, y = drawn()
    model = SVC(C=0.5).fit(X, y)
    alpha = np.zeros(len(y))
    alpha[model.support_] = np.abs(model.dual_coef_[0])
    assert model.margin_.tolist() == np.flatnonzero((alpha > 0) & (alpha < 0.5)).tolist()
    assert model.error_.tolist() == np.flatnonzero(alpha == 0.5).tolist()
    assert model.reserve_.tolist() == np.flatnonzero(alpha == 0).tolist()
    assert min(len(model.margin_), len(model.error_), len(model.reserve_)) > 0


def test_work_counts_kernel_values():
    X, y = drawn()
    model = SVC().fit(X, y)
    assert model.work_.kernel_evaluations >= len(y) * len(model.support_)
    assert model.work_.perturbations == 0


def test_max_iter_ends_with_a_warning():
    X, y = drawn(n=200)
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        model = SVC(C=100.0, max_iter=3).fit(X, y)
    assert model.fit_status_ == 1
    assert SVC(C=100.0).fit(X, y).fit_status_ == 0
