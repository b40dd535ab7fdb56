"""Settings chosen by leave-one-out: the table is that of refits, whichever way leads to it."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import FitFailedWarning, NotFittedError
from sklearn.metrics import get_scorer
from sklearn.model_selection import GridSearchCV, LeaveOneOut, cross_val_predict

from adiabat import SVC
from adiabat.model_selection import LeaveOneOutSearch
from tests import datasets
from tests.test_editing import drawn, gaussian

EXACT = 1e-8
GRIDS = {
    "C and gamma": {"C": [0.1, 1.0, 30.0], "gamma": [0.1, 1.0]},
    "C alone": {"C": [10.0, 0.1, 1.0, 0.1]},
    "scale": {"gamma": ["scale", 0.3, "auto"], "C": [1.0, 5.0]},
    "kernels": [
        {"kernel": ["linear"], "C": [0.5, 2.0]},
        {"kernel": ["poly"], "degree": [2, 3], "coef0": [0.0, 1.0], "gamma": [0.5]},
        {"kernel": [gaussian], "class_weight": [None, "balanced"]},
    ],
}


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("grid", GRIDS.values(), ids=GRIDS)
def test_the_table_is_that_of_refits(grid, classes):
    X, y = drawn(45, classes, noise=1.0)
    search = LeaveOneOutSearch(SVC(gamma=0.5), grid).fit(X, y)
    table = search.cv_results_
    reference = GridSearchCV(SVC(gamma=0.5), grid, cv=2).fit(X, y)
    assert table["params"] == reference.cv_results_["params"]
    for k, candidate in enumerate(table["params"]):
        whole = clone(SVC(gamma=0.5)).set_params(**candidate).fit(X, y)
        told = cross_val_predict(whole.fresh(), X, y, cv=LeaveOneOut())
        assert table["errors"][k] == (told != y).sum()
        assert table["mean_test_score"][k] == pytest.approx((told == y).mean())
        assert table["error_rate"][k] == pytest.approx((told != y).mean())
        proof = whole.certificate()
        assert table["n_margin"][k] == proof.n_margin
        assert table["n_error"][k] == proof.n_error
        assert table["n_reserve"][k] == proof.n_reserve
        for name, column in table.items():
            if name.startswith("param_"):
                setting = name.removeprefix("param_")
                assert column.mask[k] == (setting not in candidate)
                assert column.mask[k] or column[k] == candidate[setting]
    assert search.best_score_ == table["mean_test_score"].max()
    assert search.best_index_ == int(np.argmax(table["mean_test_score"]))
    assert search.best_params_ == table["params"][search.best_index_]
    best = clone(SVC(gamma=0.5)).set_params(**search.best_params_).fit(X, y)
    size = max(1.0, np.abs(best.decision_function(X)).max())
    assert np.abs(search.decision_function(X) - best.decision_function(X)).max() <= EXACT * size
    assert search.score(X, y) == best.score(X, y)
    assert search.predict(X).tolist() == best.predict(X).tolist()
    assert search.classes_.tolist() == best.classes_.tolist()


@pytest.mark.parametrize("scoring", ["roc_auc", "f1_macro", "balanced_accuracy"])
def test_any_scorer_may_judge(scoring):
    X, y = drawn(40, noise=1.0)
    grid = {"C": [0.2, 5.0], "gamma": [0.5]}
    search = LeaveOneOutSearch(SVC(), grid, scoring=scoring).fit(X, y)
    for C, score in zip(grid["C"], search.cv_results_["mean_test_score"], strict=True):
        answer = SVC(C=C, gamma=0.5).fit(X, y).leave_one_out(values=True)
        assert score == pytest.approx(answer.score(scoring))
    assert search.score(X, y) == get_scorer(scoring)(search.best_estimator_, X, y)


def test_weights_count():
    X, y = drawn(40, noise=1.0)
    w = np.where(np.arange(40) % 3 == 0, 2.0, 1.0)
    search = LeaveOneOutSearch(SVC(gamma=0.5), {"C": [0.2, 5.0]}).fit(X, y, w)
    answer = SVC(gamma=0.5, C=0.2).fit(X, y, w).leave_one_out()
    assert search.cv_results_["mean_test_score"][0] == pytest.approx(1.0 - answer.error_rate)


def test_a_margin_that_is_none_is_no_candidate():
    X, y = drawn(30, noise=2.0)
    for grid in ({"C": [1.0, np.inf]}, {"C": [np.inf, 1.0]}):
        search = LeaveOneOutSearch(SVC(kernel="linear"), grid)
        with pytest.warns(FitFailedWarning, match="not separable"):
            search.fit(X, y)
        assert np.isnan(search.cv_results_["mean_test_score"]).tolist() == [
            np.inf == C for C in grid["C"]
        ]
        assert search.best_params_ == {"C": 1.0}
    with (
        pytest.warns(FitFailedWarning, match="not separable"),
        pytest.raises(ValueError, match="param_grid: none of its 1 candidates"),
    ):
        LeaveOneOutSearch(SVC(kernel="linear"), {"C": [np.inf]}).fit(X, y)


def test_what_cannot_be_searched_is_refused():
    X, y = drawn(10)
    with pytest.raises(ValueError, match="param_grid: loss, tol; wanted"):
        LeaveOneOutSearch(SVC(), {"tol": [1.0], "loss": ["hinge"]}).fit(X, y)
    with pytest.raises(ValueError, match="'C' parameter of SVC"):
        LeaveOneOutSearch(SVC(), {"C": [1.0, -1.0]}).fit(X, y)
    search = LeaveOneOutSearch(SVC(), {"C": [1.0]}, refit=False).fit(X, y)
    assert not hasattr(search, "predict")
    with pytest.raises(AttributeError, match="has no attribute 'predict'") as error:
        search.predict(X)
    assert "refit" in str(error.value.__cause__)
    with pytest.raises(NotFittedError):
        LeaveOneOutSearch(SVC(), {"C": [1.0]}).predict(X)


def test_progress_is_shown_when_asked_for(capsys):
    X, y = drawn(20)
    LeaveOneOutSearch(SVC(), {"C": [1.0, 2.0]}).fit(X, y)
    assert capsys.readouterr() == ("", "")
    LeaveOneOutSearch(SVC(), {"C": [1.0, 2.0]}, verbose=1).fit(X, y)
    out, err = capsys.readouterr()
    assert out == ""
    assert err.splitlines()[-1].startswith("adiabat: 2/2   C=2.0: 0.")


def test_the_errors_of_pima_are_those_of_refits_all_over_the_grid():
    X, y = datasets.load("pima")
    grid = {"C": np.logspace(-1, 2, 4).tolist(), "gamma": [0.02, 0.25]}
    table = LeaveOneOutSearch(SVC(), grid).fit(X, y).cv_results_
    assert table["errors"][table["params"].index({"C": 1.0, "gamma": 0.25})] == 188
    assert table["kkt_violation"].max() <= 1e-9
    again = SVC(C=100.0, gamma=0.02).fit(X, y).leave_one_out()
    assert table["errors"][table["params"].index({"C": 100.0, "gamma": 0.02})] == again.errors.sum()
