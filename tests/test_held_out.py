"""Leave-one-out and its kin: each answer is that of a fit that never saw the row."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn import svm
from sklearn.exceptions import NotFittedError
from sklearn.metrics import balanced_accuracy_score, roc_auc_score
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    LeaveOneOut,
    StratifiedGroupKFold,
    StratifiedKFold,
    cross_val_predict,
)

from adiabat import SVC, ExactnessError, NotSeparableError
from adiabat.adiabatic import tableau
from adiabat.adiabatic.leaving import Leaving, Ways
from adiabat.adiabatic.tableau import Optimum, tableau_of
from adiabat.gram import Gram
from adiabat.kernels import RBF, rows_of
from adiabat.problem import classification
from adiabat.solvers.solve import solve
from tests import collection, datasets, oracle
from tests.test_editing import WORDS, drawn, gaussian
from tests.test_progress import seen

EXACT = 1e-8  # of max(1, max|f|): what is promised
NAMES = {"linear": "linear", "cubic": "poly", "rbf": "rbf"}


def without(model, X, y, w, position):
    """A fit with the same settings on all other rows."""
    kept = np.arange(len(y)) != position
    return model.fresh().fit(X[kept], y[kept], w[kept])


def assert_same(model, answer, hasty, X, y, w):
    """Both answers are those of refits; who is on the boundary may be told either way."""
    for k, position in enumerate(answer.ids):
        other = without(model, X, y, w, position)
        row = X[[position]]
        value = other.decision_function(row).ravel()
        if len(other.classes_) == len(model.classes_):
            said = np.ravel(answer.decision_function[k])
            size = max(1.0, np.abs(other.decision_function(X)).max())
            assert np.abs(said - value).max() <= EXACT * size
        if np.abs(value).min() > EXACT:
            label = other.predict(row)[0]
            assert answer.predictions[k] == hasty.predictions[k] == label


EXTRAS = {
    "plain": {},
    "balanced": {"class_weight": "balanced"},
    "squared hinge": {"loss": "squared_hinge"},
    "both": {"loss": "squared_hinge", "class_weight": "balanced"},
    "fixed bias": {"fit_intercept": False},
    "little memory": {"cache_size": 1e-3},
}


@pytest.mark.parametrize("extra", EXTRAS.values(), ids=EXTRAS)
@pytest.mark.parametrize("classes", [2, 3])
@settings(max_examples=10, deadline=None, suppress_health_check=list(HealthCheck))
@given(problem=collection.nasty(max_rows=16), seed=st.integers(0, 99))
def test_every_answer_is_that_of_a_refit(extra, classes, problem, seed):
    y, w = problem.y.copy(), problem.sample_weight
    if classes == 3:
        y[np.random.default_rng(seed).random(len(y)) < 0.3] = 2.0
    largest = float(problem.gram.diagonal().max()) or 1.0
    C = min(problem.C, 1e4 / largest) if np.isfinite(problem.C) else np.inf
    word = NAMES[problem.kernel]
    model = SVC(C=C, kernel=word, gamma=problem.gamma, decision_function_shape="ovo", **extra)
    try:
        model.fit(problem.X, y, w)
    except NotSeparableError:
        model.set_params(C=1.0 / largest).fit(problem.X, y, w)
    if (w > 0).sum() < 2:
        with pytest.raises(ValueError, match="leave_one_out"):
            model.leave_one_out()
        return
    assert_same(model, model.leave_one_out(True), model.leave_one_out(), problem.X, y, w)


# ---------------------------------------------------------------- published figures


@pytest.fixture(scope="module")
def pima():
    return datasets.load("pima")


ERRORS_ON_PIMA = 188  # standardised columns, sigma^2 = 4, C = 1


def test_pima_has_188_errors_and_every_prediction_is_that_of_a_refit(pima):
    X, y = pima
    model = SVC(C=1.0, gamma=0.25).fit(X, y)
    answer, exact = model.leave_one_out(), model.leave_one_out(values=True)
    assert answer.errors.sum() == exact.errors.sum() == ERRORS_ON_PIMA
    assert answer.solved == exact.solved == 0
    assert answer.perturbations < exact.perturbations
    refits = cross_val_predict(svm.SVC(C=1.0, gamma=0.25, tol=1e-10), X, y, cv=LeaveOneOut())
    assert (answer.predictions == refits).all()
    assert (exact.predictions == refits).all()
    assert exact.kkt_violation <= 1e-9


def test_values_on_pima_are_those_of_the_oracle(pima):
    X, y = pima
    model = SVC(C=1.0, gamma=0.25).fit(X, y)
    values = model.leave_one_out(values=True).decision_function
    kernel = np.exp(-0.25 * ((X[:, None] - X[None]) ** 2).sum(axis=2))
    for position in (0, 3, int(model.margin_[0]), int(model.error_[0])):
        kept = np.arange(len(y)) != position
        truth = oracle.solve(kernel[np.ix_(kept, kept)], y[kept], 1.0)
        value = truth.decide(kernel[[position]][:, kept])[0]
        assert values[position] == pytest.approx(value, abs=EXACT)


@pytest.mark.parametrize("stretch", [0.0, 0.02])
@pytest.mark.parametrize("bias", [None, 0.3])
def test_no_way_of_ordinary_rows_is_lost(bias, stretch):
    """An error in the matrix would cost answers, which are then found one by one, and be slow."""
    X, y = drawn(80)
    signs = np.where(y == y[0], 1.0, -1.0)
    kernel, rows = RBF(0.5), rows_of(X)
    problem = classification(Gram(kernel, rows), signs, np.ones(80), bias)
    answer = solve(problem)
    bounds = problem.low, problem.high
    prepared, loose = kernel.prepare(rows, np.float64), bias is None
    optimum = Optimum(
        kernel, prepared, signs, *bounds, np.zeros(80), answer.theta, answer.bias, loose
    )
    ways = Ways.of([np.array([row]) for row in range(80)])
    ways = replace(ways, stretches=np.full((80, 2), stretch))
    answers = Leaving(tableau_of(optimum)).answers(ways, hasty=False, heed=[].append)
    assert answers.proved.all()


# ---------------------------------------------------------------- folds and groups


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("cv", [None, 3, 20, StratifiedKFold(4, shuffle=True, random_state=0)])
def test_folds_are_those_of_scikit_learn(cv, classes):
    X, y = drawn(90, classes)
    model = SVC(gamma=0.5).fit(X, y)
    refits = cross_val_predict(model.fresh(), X, y, cv=cv)
    values = cross_val_predict(model.fresh(), X, y, cv=cv, method="decision_function")
    answer = model.k_fold(cv, values=True)
    assert (answer.predictions == refits).all()
    assert np.abs(answer.decision_function - values).max() <= EXACT
    assert (model.k_fold(cv).predictions == refits).all()
    assert model.k_fold(cv).decision_function is None


def test_small_folds_of_many_rows_go_all_at_once():
    X, y = drawn(300)
    model = SVC(gamma=0.5).fit(X, y)
    answer = model.k_fold(60, values=True)
    assert answer.solved == 0
    values = cross_val_predict(model.fresh(), X, y, cv=60, method="decision_function")
    assert np.abs(answer.decision_function - values).max() <= EXACT


@pytest.mark.parametrize("classes", [2, 3])
def test_whole_groups_leave(classes):
    X, y = drawn(60, classes)
    groups = np.arange(60) // 5
    model = SVC(gamma=0.5).fit(X, y, groups=groups)
    refits = cross_val_predict(model.fresh(), X, y, cv=GroupKFold(12), groups=groups)
    assert (model.leave_one_group_out().predictions == refits).all()
    assert (model.leave_one_group_out(values=True).predictions == refits).all()
    mixed = SVC(gamma=0.5).fit(X, y, groups=["a", *groups[1:-1].tolist(), None])
    with pytest.raises(ValueError, match="groups: 1 of 60 rows belong to none"):
        mixed.leave_one_group_out()
    with pytest.raises(ValueError, match="groups: 60 of 60"):
        SVC(gamma=0.5).fit(X, y).leave_one_group_out()


def test_folds_that_take_a_class_away_leave_the_others():
    X, y = drawn(40, 4)
    model = SVC(gamma=0.5, decision_function_shape="ovo").fit(X, y)
    folds = [np.flatnonzero(y == word) for word in WORDS]
    two = [np.concatenate(folds[:2]), np.concatenate(folds[2:])]
    for parts in (folds, two):
        cv = [(np.setdiff1d(np.arange(40), part), part) for part in parts]
        answer = model.k_fold(cv, values=True)
        assert answer.errors.all()
        for train, test in cv:
            fresh = model.fresh().fit(X[train], y[train])
            assert (answer.predictions[test] == fresh.predict(X[test])).all()


def test_folds_that_are_none_are_refused():
    X, y = drawn(20)
    model = SVC(gamma=0.5).fit(X, y)
    everyone = np.arange(20)
    with pytest.raises(ValueError, match="cv: fold 0 trains on 5 rows beside 10"):
        model.k_fold([(everyone[:5], everyone[10:])])
    with pytest.raises(ValueError, match="cv: 10 rows held out, of 20"):
        model.k_fold([(everyone[:10], everyone[10:])])
    with pytest.raises(ValueError, match="cv: fold 0 names row 20; wanted positions from 0 to 19"):
        model.k_fold([(everyone[:10], everyone[10:] + 1), (everyone[10:], everyone[:10])])
    with pytest.raises(ValueError, match=r"cv: fold 1 names rows by .*_; wanted positions"):
        model.k_fold([(everyone[:10], everyone[10:]), (everyone >= 10, everyone < 10)])
    for values in (None, "yes", 1, []):
        with pytest.raises(TypeError, match=r"values: .*; wanted True or False"):
            model.leave_one_out(values)


def test_groups_are_for_folds_that_ask_for_them():
    X, y = drawn(60)
    groups = np.arange(60) % 12
    model = SVC(gamma=0.5).fit(X, y, groups=groups)
    for cv in (None, 4, KFold(3), LeaveOneOut()):
        refits = cross_val_predict(model.fresh(), X, y, cv=cv)
        assert (model.k_fold(cv).predictions == refits).all()
    for cv in (GroupKFold(3), StratifiedGroupKFold(4)):
        refits = cross_val_predict(model.fresh(), X, y, cv=cv, groups=groups)
        assert (model.k_fold(cv).predictions == refits).all()
        with pytest.raises(ValueError, match="groups: 60 of 60 rows belong to none"):
            SVC(gamma=0.5).fit(X, y).k_fold(cv)
    word = SVC(gamma=0.5).fit(X, y, groups=["1", *groups[1:].tolist()])  # no number 1
    parts = [np.array([0]), *(np.flatnonzero(groups == g)[g == 0 :] for g in range(12))]
    cv = [(np.setdiff1d(np.arange(60), part), part) for part in parts]
    told = word.leave_one_group_out(values=True).decision_function
    assert np.abs(told - word.k_fold(cv, values=True).decision_function).max() <= EXACT


def test_answers_are_those_of_the_settings_that_the_model_was_made_with():
    X, y = drawn(40)
    y[:25] = y[0]
    for before, after in (("balanced", None), (None, "balanced")):
        model = SVC(gamma=0.5, class_weight=before).fit(X, y)
        expected = model.leave_one_out(values=True).decision_function
        model.set_params(class_weight=after, C=3.0, gamma=2.0)
        found = model.leave_one_out(values=True).decision_function
        assert np.array_equal(found, expected)
        model.adapt(C=3.0)
        fresh = model.fresh().fit(X, y).leave_one_out(values=True).decision_function
        assert np.abs(model.leave_one_out(values=True).decision_function - fresh).max() <= EXACT


# ---------------------------------------------------------------- rows of all kinds


def test_weights_leave_whole_and_count_in_the_rate():
    X, y = drawn(30)
    w = np.where(np.arange(30) % 5 == 0, 3.0, 1.0)
    w[7] = 0.0
    model = SVC(gamma=0.5).fit(X, y, w)
    answer = model.leave_one_out(values=True)
    assert 7 not in answer.ids
    assert answer.weight.tolist() == np.delete(w, 7).tolist()
    assert_same(model, answer, model.leave_one_out(), X, y, w)
    rate = np.average(answer.predictions != np.delete(y, 7), weights=np.delete(w, 7))
    assert answer.error_rate == pytest.approx(rate)
    assert answer.score() == pytest.approx(1.0 - rate)


def test_the_last_row_of_a_class_is_an_error():
    X = np.array([[0.0], [0.5], [1.0], [5.0]])
    answer = SVC(kernel="linear").fit(X, ["a", "a", "a", "b"]).leave_one_out(values=True)
    assert answer.predictions.tolist() == ["a"] * 4
    assert answer.errors.tolist() == [False, False, False, True]
    assert answer.decision_function[3] == -1.0
    table = answer.per_class
    assert (table["b"].rows, table["b"].errors, table["b"].error_rate) == (1, 1, 1.0)
    assert str(answer).splitlines()[-1].split() == ["all", "4", "1", "25.00%"]


def test_duplicates_stand_in_for_each_other():
    X, y = drawn(15)
    model = SVC(gamma=0.5, C=5.0).fit(np.vstack([X, X]), np.append(y, y))
    answer = model.leave_one_out(values=True)
    twice = np.vstack([X, X]), np.append(y, y)
    assert_same(model, answer, model.leave_one_out(), *twice, np.ones(30))
    assert answer.decision_function[:15] == pytest.approx(answer.decision_function[15:], abs=EXACT)


SHOWN = {
    "sparse": ({"gamma": 0.5}, sparse.csr_matrix),
    "matrix": ({"kernel": "precomputed"}, lambda X: gaussian(X, X)),
    "callable": ({"kernel": gaussian}, lambda X: X),
}


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("shown", SHOWN)
def test_rows_may_be_shown_in_other_ways(shown, classes):
    chosen, show = SHOWN[shown]
    X, y = drawn(30, classes)
    expected = SVC(gamma=0.5).fit(X, y).leave_one_out(values=True)
    answer = SVC(**chosen).fit(show(X), y).leave_one_out(values=True)
    assert (answer.predictions == expected.predictions).all()
    assert answer.decision_function == pytest.approx(expected.decision_function, abs=EXACT)


def test_no_margin_vector_and_an_interval_of_biases():
    """With C this small all rows are errors, and the bias depends on each of them."""
    X, y = drawn(24)
    model = SVC(gamma=0.5, C=1e-4).fit(X, y)
    assert not len(model.margin_)
    answer = model.leave_one_out(values=True)
    assert_same(model, answer, model.leave_one_out(), X, y, np.ones(24))


def test_one_class_and_one_row():
    X, _ = drawn(5)
    model = SVC(gamma=0.5).fit(X, ["a"] * 5)
    assert model.leave_one_out().error_rate == 0.0
    with pytest.raises(ValueError, match="with 1 sample that count, all would leave"):
        SVC(gamma=0.5).fit(X[:1], ["a"]).leave_one_out()
    with pytest.raises(NotFittedError):
        SVC().leave_one_out()


def test_what_has_no_exact_answer_is_refused():
    X, y = drawn(40)
    with pytest.raises(ExactnessError, match="kernel"):
        SVC(kernel="sigmoid", gamma=2.0, coef0=-1.0).fit(X, y).leave_one_out()
    with pytest.warns(match="max_iter"):
        model = SVC(gamma=0.5, max_iter=1).fit(X, y)
    with pytest.raises(ExactnessError, match="max_iter"):
        model.leave_one_out()


# ---------------------------------------------------------------- manners


@pytest.mark.parametrize("classes", [2, 3])
def test_asking_changes_nothing(classes):
    X, y = drawn(40, classes)
    model = SVC(gamma=0.5, C=1e-3 if classes == 2 else 1.0).fit(X, y).unlearn(3)
    before, change = seen(model, X), model.last_change_
    model.leave_one_out(values=True)
    model.k_fold(4)
    assert seen(model, X) == before
    assert model.last_change_ is change


def test_scores_are_those_of_the_answers():
    X, y = drawn(60, noise=1.2)
    model = SVC(gamma=0.5).fit(X, y)
    answer = model.leave_one_out(values=True)
    assert answer.score() == answer.score("accuracy") == pytest.approx(1.0 - answer.error_rate)
    assert answer.score("roc_auc") == roc_auc_score(y, answer.decision_function)
    assert answer.score("balanced_accuracy") == balanced_accuracy_score(y, answer.predictions)
    assert answer.score(lambda model, X, y: float((model.predict(X) == y).sum())) == (
        len(y) - answer.errors.sum()
    )
    assert repr(answer) == f"HeldOut(60 rows, {answer.errors.sum()} errors)"
    with pytest.raises(ValueError, match="values=True"):
        model.leave_one_out().score("roc_auc")


def test_ties_of_votes_may_go_by_clearness():
    X, y = drawn(60, 4, noise=1.5)
    model = SVC(gamma=2.0, break_ties=True).fit(X, y)
    refits = cross_val_predict(model.fresh(), X, y, cv=LeaveOneOut())
    assert (model.leave_one_out().predictions == refits).all()


def test_the_machines_of_many_classes_look_at_each_pair_of_rows_once():
    X, y = drawn(600, 4)
    answer = SVC(gamma=0.5).fit(X, y).leave_one_out(values=True)
    assert answer.kernel_evaluations <= 600 * (600 + 256) / 2


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("values", [False, True])
def test_the_path_of_c_is_asked_anywhere_on_it(classes, values):
    X, y = drawn(50, classes, noise=1.0)
    path = SVC(gamma=0.5).fit(X, y).c_path(0.05, 20.0)
    places = [0.05, 0.3, float(path.C[len(path.C) // 2]), 20.0]
    for C, answer in zip(places, path.leave_one_out(places, values), strict=True):
        fitted = SVC(C=C, gamma=0.5).fit(X, y).leave_one_out(values=True)
        assert (answer.predictions == fitted.predictions).all()
        if values:
            assert np.abs(answer.decision_function - fitted.decision_function).max() <= EXACT
    alone = path.leave_one_out(0.3)
    assert alone.errors.sum() == path.leave_one_out([0.3])[0].errors.sum()


def test_errors_that_are_not_those_of_the_coefficients_are_not_believed(monkeypatch):
    """Rows that need no way are answered from them."""
    X, y = drawn(60)
    model = SVC(gamma=0.5).fit(X, y)
    expected = model.leave_one_out(values=True)

    def shifted(optimum):
        made = tableau_of(optimum)
        made.error[made.members :] += 1e-6
        return made

    monkeypatch.setattr(tableau, "tableau_of", shifted)
    answer = model.leave_one_out(values=True)
    assert np.abs(answer.decision_function - expected.decision_function).max() <= EXACT
