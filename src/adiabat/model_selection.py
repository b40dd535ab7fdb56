"""Settings chosen by exact leave-one-out: no folds, no noise of theirs, and no refits."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from time import perf_counter
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.exceptions import FitFailedWarning
from sklearn.metrics import check_scoring
from sklearn.model_selection import ParameterGrid
from sklearn.utils._param_validation import HasMethods
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from adiabat.errors import NotSeparableError
from adiabat.estimators.editing import ADAPTABLE
from adiabat.estimators.held_out import HeldOut, ValuesWantedError
from adiabat.solvers.monitor import Monitor

Array = NDArray[Any]
Settings = dict[str, Any]


def _refitted(search: Any) -> bool:
    """Whether there is a best estimator to ask; an error says why not."""
    if not search.refit:
        raise AttributeError(
            "refit: False, so that there is no best_estimator_ to ask; wanted refit=True"
        )
    return True


class LeaveOneOutSearch(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):
    """The best settings of a classifier by exact leave-one-out, in the manner of GridSearchCV.

    One model is fitted; from it the path of C leads to every other C, and a change of kernel to
    every other gamma. Each of them answers leave-one-out without refitting. The estimate of a
    single candidate is free of the noise of folds; the best of many is as optimistic as any
    minimum that was chosen, and says nothing of rows that were never there.

    Parameters
    ----------
    estimator : SVC or Pipeline
        The classifier; its other settings stay as they are. Or a pipeline that ends with it.
    param_grid : dict or list of dict
        What to try, as for GridSearchCV: any of what ``adapt`` takes (C, gamma, degree, coef0,
        kernel, class_weight). In a pipeline the names have the last step's before them, as in
        ``svc__C``.
    scoring : str, callable or None, default=None
        A scorer of scikit-learn's; None for accuracy. Rows count by their weights where these
        differ.
    refit : bool, default=True
        Whether to fit the best candidate on all rows.
    verbose : int, default=0
        Whether to print progress on standard error.

    Attributes
    ----------
    cv_results_ : dict of ndarray
        The table, an entry for each candidate in the order of the grid: "params" and one
        "param_..." for each setting, "mean_test_score", "rank_test_score", "errors" and
        "error_rate" of leave-one-out, "n_margin", "n_error" and "n_reserve" of the model,
        "kkt_violation" behind the answers, and "seconds".
    best_index_, best_params_, best_score_ : int, dict, float
        The candidate with the highest score; among equals the first.
    best_estimator_ : estimator
        That candidate, fitted on all rows.
    scorer_ : callable
        What judged.
    classes_ : ndarray
        The labels.
    n_features_in_ : int
        Number of features.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from adiabat import SVC
    >>> from adiabat.model_selection import LeaveOneOutSearch
    >>> X, y = load_iris(return_X_y=True)
    >>> search = LeaveOneOutSearch(SVC(), {"C": [0.1, 1.0, 10.0], "gamma": [0.05, 0.5]})
    >>> search.fit(X, y).best_params_
    {'C': 1.0, 'gamma': 0.5}
    >>> search.cv_results_["errors"]
    array([12,  6,  6,  5,  5,  6])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "estimator": [HasMethods(["fit", "adapt", "leave_one_out"])],
        "param_grid": [dict, list],
        "scoring": [str, callable, None],
        "refit": ["boolean"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        estimator: Any,
        param_grid: Mapping[str, Sequence[Any]] | Sequence[Mapping[str, Sequence[Any]]],
        *,
        scoring: str | Callable[..., float] | None = None,
        refit: bool = True,
        verbose: int = 0,
    ) -> None:
        self.estimator = estimator
        self.param_grid = param_grid
        self.scoring = scoring
        self.refit = refit
        self.verbose = verbose

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        own = self.estimator.__sklearn_tags__()
        tags.input_tags, tags.classifier_tags = own.input_tags, own.classifier_tags
        return tags

    # -- searching

    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, ids: Any = None, groups: Any = None
    ) -> LeaveOneOutSearch:
        """Try every candidate on the rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.
        y : array-like of shape (n_samples,)
            Their labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.
        ids : array-like of shape (n_samples,), default=None
            Names of the rows.
        groups : array-like of shape (n_samples,), default=None
            What the rows belong to.

        Returns
        -------
        LeaveOneOutSearch
            The search itself.
        """
        self._validate_params()
        prefix = _prefix(self.estimator)
        candidates = _candidates(self.param_grid, prefix)
        rows = X, y, sample_weight, ids, groups
        trials = _Trials(self.estimator, rows, self.scoring)
        monitor, total = Monitor(verbose=bool(self.verbose)), len(candidates)
        results: list[Settings] = [{}] * len(candidates)
        for done, at in enumerate(_itinerary(candidates, prefix), 1):
            results[at] = trials.judged(candidates[at])
            words = _line(done, total, candidates[at], results[at]["mean_test_score"])
            monitor.say(words, last=done == total)
        table = _table(candidates, results)
        if np.isnan(table["mean_test_score"]).all():
            raise ValueError(
                f"param_grid: none of its {len(candidates)} candidates could be fitted; wanted one "
                "at least"
            )
        best = int(np.argmin(table["rank_test_score"]))
        found = {
            "cv_results_": table,
            "best_index_": best,
            "best_params_": candidates[best],
            "best_score_": float(table["mean_test_score"][best]),
            "scorer_": check_scoring(self.estimator, self.scoring),
        }
        if self.refit:
            chosen = clone(self.estimator).set_params(**clone(candidates[best], safe=False))
            found["best_estimator_"] = chosen.fit(*rows)
        self.__dict__.update(found)
        return self

    # -- what the best candidate answers

    @available_if(_refitted)
    def predict(self, X: Any) -> Array:
        """Labels by the best candidate.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows to decide on.

        Returns
        -------
        ndarray of shape (n_samples,)
            A label for each row.
        """
        check_is_fitted(self)
        return self.best_estimator_.predict(X)

    @available_if(_refitted)
    def decision_function(self, X: Any) -> Array:
        """Decision values by the best candidate.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows to decide on.

        Returns
        -------
        ndarray
            As the classifier's own.
        """
        check_is_fitted(self)
        return self.best_estimator_.decision_function(X)

    @available_if(_refitted)
    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Score of the best candidate on other rows, by the same scorer.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows to decide on.
        y : array-like of shape (n_samples,)
            Their labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Their weights.

        Returns
        -------
        float
            The score.
        """
        check_is_fitted(self)
        weight = {} if sample_weight is None else {"sample_weight": sample_weight}
        return float(self.scorer_(self.best_estimator_, X, y, **weight))

    @property
    def classes_(self) -> Array:
        """The labels that the best candidate knows."""
        check_is_fitted(self, "best_estimator_")
        return self.best_estimator_.classes_

    @property
    def n_features_in_(self) -> int:
        """Number of features in fit."""
        if not hasattr(self, "best_estimator_"):
            raise AttributeError(f"{type(self).__name__} has no n_features_in_ before fit")
        return int(self.best_estimator_.n_features_in_)

    @property
    def feature_names_in_(self) -> Array:
        """Names of the features in fit, where they had any."""
        if not hasattr(self, "best_estimator_"):
            raise AttributeError(f"{type(self).__name__} has no feature_names_in_ before fit")
        return self.best_estimator_.feature_names_in_


class _Trials:
    """One model that goes from candidate to candidate."""

    def __init__(
        self, estimator: Any, rows: tuple[Any, ...], scoring: str | Callable[..., float] | None
    ) -> None:
        self.estimator, self.rows, self.scoring = estimator, rows, scoring
        self.adaptable = [_prefix(estimator) + name for name in ADAPTABLE]
        self.settings = estimator.get_params()
        self.model: Any = None
        self.values = False

    def judged(self, candidate: Settings) -> Settings:
        """What leave-one-out says of a candidate."""
        started = perf_counter()
        try:
            self._go_to(clone(candidate, safe=False))
        except NotSeparableError as error:
            warnings.warn(f"{candidate}: {error}", FitFailedWarning, stacklevel=3)
            return {"mean_test_score": np.nan, "seconds": perf_counter() - started}
        answer, score = self._score()
        model = self.model
        sizes = {
            f"n_{name}": _count(getattr(model, f"{name}_"))
            for name in ("margin", "error", "reserve")
        }
        return {
            "mean_test_score": score,
            "errors": int(answer.errors.sum()),
            "error_rate": answer.error_rate,
            **sizes,
            "kkt_violation": answer.kkt_violation,
            "seconds": perf_counter() - started,
        }

    def _go_to(self, candidate: Settings) -> None:
        if self.model is None:
            self.model = clone(self.estimator).set_params(**candidate)
            try:
                self.model.fit(*self.rows)
            except NotSeparableError:
                self.model = None
                raise
            return
        now = self.model.get_params()
        asked = {**{name: self.settings[name] for name in self.adaptable}, **candidate}
        changed = {name: value for name, value in asked.items() if now[name] is not value}
        if changed:
            self.model.adapt(**changed)

    def _score(self) -> tuple[HeldOut, float]:
        """Predictions are enough for most scorers; decision values where one asks for them."""
        answer = self.model.leave_one_out(values=self.values)
        try:
            return answer, answer.score(self.scoring)
        except ValuesWantedError:
            self.values = True
            return self._score()


def _line(done: int, total: int, candidate: Settings, score: float) -> str:
    """What is said of a candidate on the way."""
    settings = ", ".join(f"{name}={value}" for name, value in candidate.items())
    return f"{done}/{total}   {settings}: {score:.4f}"


def _prefix(estimator: Any) -> str:
    """What stands before the names of a classifier's settings: nothing, or its step's name."""
    return f"{estimator.steps[-1][0]}__" if hasattr(estimator, "steps") else ""


def _candidates(grid: Any, prefix: str) -> list[Settings]:
    """Every combination, in the order of GridSearchCV."""
    candidates = [dict(candidate) for candidate in ParameterGrid(grid)]
    adaptable = [prefix + name for name in ADAPTABLE]
    strange = sorted({name for candidate in candidates for name in candidate} - set(adaptable))
    if strange:
        raise ValueError(
            f"param_grid: {', '.join(strange)}; wanted settings that can be adapted: "
            f"{', '.join(adaptable)}"
        )
    return candidates


def _itinerary(candidates: list[Settings], prefix: str) -> list[int]:
    """The order in which they are visited: along C for each of the others, to and fro."""
    stages: dict[str, list[int]] = {}
    for at, candidate in enumerate(candidates):
        others = {name: value for name, value in candidate.items() if name != f"{prefix}C"}
        stages.setdefault(repr(others), []).append(at)
    order: list[int] = []

    def lowest(at: int) -> float:
        return float(candidates[at].get(f"{prefix}C", 0.0))

    for stage, visits in enumerate(stages.values()):
        along = sorted(visits, key=lowest, reverse=stage % 2 == 1)
        order.extend(along)
    return order


def _count(ids: Any) -> int:
    """How many ids there are; for many classes, in all machines together."""
    return sum(map(len, ids.values())) if isinstance(ids, dict) else len(ids)


def _table(candidates: list[Settings], results: list[Settings]) -> dict[str, Any]:
    """The results column by column; what a candidate has not is masked or NaN."""
    table: dict[str, Any] = {"params": candidates}
    for name in dict.fromkeys(name for candidate in candidates for name in candidate):
        column = np.ma.array(np.empty(len(candidates), dtype=object), mask=True)
        for at, candidate in enumerate(candidates):
            if name in candidate:
                column[at] = candidate[name]
        table[f"param_{name}"] = column
    for name in dict.fromkeys(name for result in results for name in result):
        values = [result.get(name, np.nan) for result in results]
        table[name] = np.array(values)
    scores = np.nan_to_num(table["mean_test_score"], nan=-np.inf)
    table["rank_test_score"] = rankdata(-scores, method="min").astype(np.int32)
    return table
