"""A pipeline that lives: the verbs of its last step, carried through the steps before it."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, ClassVar

from sklearn.pipeline import Pipeline as _Pipeline
from sklearn.pipeline import _name_estimators
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import _num_samples

from adiabat.estimators.c_path import CPath
from adiabat.estimators.living_steps import LivingSteps, twin_of
from adiabat.estimators.prospect import Explanation, Prospect, tried
from adiabat.estimators.transformers import Step, is_estimated
from adiabat.estimators.validation import Names
from adiabat.estimators.writing import writing


def _last_has(name: str) -> Callable[[Any], bool]:
    """Whether the last step has a method; the error of asking for it says so in its words."""

    def check(pipeline: Any) -> bool:
        getattr(pipeline.steps[-1][1], name)
        return True

    return check


def _of_the_last(name: str, what: str) -> Any:
    """An attribute that is the last step's own."""
    return property(lambda self: getattr(self.steps[-1][1], name), doc=what)


class Pipeline(LivingSteps):
    """scikit-learn's pipeline, with the verbs of a living last step.

    Rows are named, learned, forgotten and corrected as they came; the steps before the last one
    transform them on their way. What these have learned of rows, such as means and categories,
    is either frozen at the first fit, so that everything is exact *given the scaler*; or, with
    ``restandardise=True``, estimated anew on the rows held after each change of rows, and the
    last step moved exactly to where a fresh fit of the whole pipeline leads.

    ``fit`` leaves the objects that it was made of unfitted; ``steps`` has fitted copies of them.

    Parameters
    ----------
    steps : list of tuple of (str, estimator)
        Names and steps, the last of them an ``SVC`` or another classifier.
    restandardise : bool, default=False
        Whether to estimate the steps anew after each change of rows. The rows are kept as they
        came for it, beside those that the last step holds.
    memory : str, object with the joblib.Memory interface or None, default=None
        Where to cache fitted steps. What is written there is forgotten by nobody.
    verbose : bool, default=False
        Whether to print the time that the steps took.

    Attributes
    ----------
    ids_, margin_, error_, reserve_, classes_, gamma_, work_, last_change_ : objects
        As those of the last step.
    remembers_ : dict
        Names of the steps that were estimated on rows since forgotten, or revised, and on how
        many.
    n_features_in_ : int
        Number of features before the first step.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, where they had any.

    Notes
    -----
    ``sample_weight`` reaches the last step and every step whose ``fit`` takes it. Rows of
    weight 0 are transformed, and nothing is estimated on them.

    Examples
    --------
    >>> from sklearn.preprocessing import StandardScaler
    >>> from adiabat import SVC, make_pipeline
    >>> X = [[1.0, 200.0], [2.0, 100.0], [3.0, 800.0], [4.0, 900.0], [9.0, 100.0]]
    >>> pipeline = make_pipeline(StandardScaler(), SVC(), restandardise=True)
    >>> pipeline.fit(X, [0, 0, 1, 1, 1]).unlearn(4).ids_
    array([0, 1, 2, 3])
    >>> pipeline[0].mean_
    array([  2.5, 500. ])
    >>> pipeline.certificate().holds()
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **_Pipeline._parameter_constraints,  # noqa: SLF001
        "restandardise": ["boolean"],
    }
    #: Nobody's metadata are transformed; scikit-learn's own methods ask.
    transform_input = None

    def __init__(
        self,
        steps: list[Step],
        *,
        restandardise: bool = False,
        memory: Any = None,
        verbose: bool = False,
    ) -> None:
        self.steps = steps
        self.restandardise = restandardise
        self.memory = memory
        self.verbose = verbose

    # -- learning

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        ids: Any = None,
        groups: Any = None,
        **params: Any,
    ) -> Pipeline:
        """Fit all steps on rows and labels, and keep nothing that was learned before.

        Parameters
        ----------
        X : {array-like, sparse matrix, frame} of shape (n_samples, n_features)
            The rows, as the first step takes them.
        y : array-like of shape (n_samples,)
            Their labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.
        ids : array-like of shape (n_samples,), default=None
            Names of the rows. A frame whose index can serve brings it; otherwise rows are
            counted from 0.
        groups : array-like of shape (n_samples,), default=None
            What the rows belong to.
        **params
            What else a step's ``fit`` gets, as ``step__name=value``; not with
            ``restandardise``, where it could not be repeated.

        Returns
        -------
        Pipeline
            The pipeline itself.
        """
        self._validate_params()
        with writing(self):
            words = {"sample_weight": sample_weight, "ids": ids, "groups": groups}
            self.__dict__.update(self._begun("fit", X, y, words, params))
        return self

    @available_if(_last_has("partial_fit"))
    def partial_fit(
        self,
        X: Any,
        y: Any,
        classes: Any = None,
        sample_weight: Any = None,
        ids: Any = None,
        groups: Any = None,
    ) -> Pipeline:
        """Learn further rows exactly: as if they had been there from the beginning.

        The first rows of all are what the steps before the last one are estimated on. Without
        ``restandardise`` they are frozen there, and a warning says so.

        Parameters
        ----------
        X : {array-like, sparse matrix, frame} of shape (n_samples, n_features)
            The rows, in the form in which the first ones came.
        y : array-like of shape (n_samples,)
            Their labels.
        classes : array-like, default=None
            All labels that may ever come; others are refused. Not needed.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.
        ids : array-like of shape (n_samples,), default=None
            Names of the rows, other than those held.
        groups : array-like of shape (n_samples,), default=None
            What the rows belong to.

        Returns
        -------
        Pipeline
            The pipeline itself.
        """
        if self._is_alive:
            names = Names(ids, groups)
            return self._change(lambda way: way.partial_fit(X, y, classes, sample_weight, names))
        self._validate_params()
        words = {"sample_weight": sample_weight, "ids": ids, "groups": groups, "classes": classes}
        with writing(self):
            begun = self._begun("partial_fit", X, y, words, {})
            self._warn_of_frozen(_num_samples(X))
            self.__dict__.update(begun)
        return self

    def _warn_of_frozen(self, count: int) -> None:
        learned = [name for name, step in self.steps[:-1] if is_estimated(step)]
        if learned and not self.restandardise:
            warnings.warn(
                f"{', '.join(learned)}: frozen at the rows of this first partial_fit ({count} of "
                "them); restandardise=True estimates anew after each change, and fit on all rows "
                "does once",
                UserWarning,
                stacklevel=3,
            )

    # -- changing

    @available_if(_last_has("unlearn"))
    def unlearn(self, ids: Any = None, *, groups: Any = None) -> Pipeline:
        """Forget rows exactly: as if they had never been seen, with the same settings.

        Without ``restandardise`` that is given what the steps before the last one have learned;
        ``remembers_`` says which of them were estimated on forgotten rows.

        Parameters
        ----------
        ids : int, str or array-like of them, default=None
            The rows' ids.
        groups : object or array-like of them, default=None
            Groups, all of whose rows go.

        Returns
        -------
        Pipeline
            The pipeline itself; unfitted, with all its steps, if no row is left.
        """
        return self._change(lambda way: way.unlearn(ids, groups))

    @available_if(_last_has("relabel"))
    def relabel(self, ids: Any, y: Any) -> Pipeline:
        """Correct the labels of rows.

        Parameters
        ----------
        ids : int, str or array-like of them
            The rows' ids.
        y : label or array-like of shape (n_ids,)
            Their labels from now on.

        Returns
        -------
        Pipeline
            The pipeline itself.
        """
        return self._change(lambda way: way.relabel(ids, y))

    @available_if(_last_has("reweight"))
    def reweight(self, ids: Any, sample_weight: Any) -> Pipeline:
        """Change the weights of rows.

        Parameters
        ----------
        ids : int, str or array-like of them
            The rows' ids.
        sample_weight : float or array-like of shape (n_ids,)
            Their weights from now on; a row of weight 0 is held and does not count.

        Returns
        -------
        Pipeline
            The pipeline itself.
        """
        return self._change(lambda way: way.reweight(ids, sample_weight))

    @available_if(_last_has("revise"))
    def revise(self, ids: Any, X: Any, y: Any = None) -> Pipeline:
        """Correct the features of rows, and their labels if need be.

        Parameters
        ----------
        ids : int, str or array-like of them
            The rows' ids.
        X : {array-like, sparse matrix, frame} of shape (n_ids, n_features)
            Their features from now on.
        y : label or array-like of shape (n_ids,), default=None
            Their labels from now on; None leaves them.

        Returns
        -------
        Pipeline
            The pipeline itself.
        """
        return self._change(lambda way: way.revise(ids, X, y))

    @available_if(_last_has("adapt"))
    def adapt(self, **settings: Any) -> Pipeline:
        """Change settings of the last step: as if the rows had been learned with these.

        Parameters
        ----------
        **settings
            As for ``SVC.adapt``: C, gamma, degree, coef0, kernel, class_weight. The step's name
            may stand before them, as in ``svc__C``.

        Returns
        -------
        Pipeline
            The pipeline itself.
        """
        own = f"{self.steps[-1][0]}__"
        plain = {name.removeprefix(own): value for name, value in settings.items()}
        if len(plain) < len(settings):
            raise TypeError(f"adapt: {', '.join(settings)} name a setting twice; wanted it once")
        with writing(self):
            past = self._known_past()
            machine = twin_of(self.steps[-1][1])
            machine.adapt(**plain)
            self._commit(self.steps[:-1], machine, past)
        return self

    # -- asking

    @available_if(_last_has("what_if"))
    def what_if(
        self,
        *,
        unlearn: Any = None,
        relabel: Any = None,
        reweight: Any = None,
        adapt: Any = None,
    ) -> Prospect:
        """Look at the pipeline that a change would give, without making it.

        Parameters
        ----------
        unlearn : int, str or array-like of them, default=None
            Ids of rows to forget.
        relabel : tuple of ids and labels, default=None
            What ``relabel`` would be called with.
        reweight : tuple of ids and weights, default=None
            What ``reweight`` would be called with.
        adapt : dict, default=None
            The settings that ``adapt`` would be called with.

        Returns
        -------
        Prospect
            Certificate, decision values of rows as they come, and flow between the categories.
        """
        asked = {"unlearn": unlearn, "relabel": relabel, "reweight": reweight, "adapt": adapt}
        twin = tried(self.copy(), asked)
        return Prospect(twin, twin.last_change_)

    @available_if(_last_has("explain"))
    def explain(self, id: Any, *, most: int = 5) -> Explanation:  # noqa: A002
        """Say what a row is to the last step, given the steps before it.

        Parameters
        ----------
        id : int or str
            The row's id.
        most : int, default=5
            How many of the terms that weigh most to show on each side.

        Returns
        -------
        Explanation
            As the last step's own.
        """
        return self.steps[-1][1].explain(id, most=most)

    @available_if(_last_has("certificate"))
    def certificate(self) -> Any:
        """Measure how far the last step is from the optimum, from the data alone.

        Returns
        -------
        Certificate or MemberCertificates
            As the last step's own.
        """
        return self.steps[-1][1].certificate()

    @available_if(_last_has("leave_one_out"))
    def leave_one_out(self, values: bool = False) -> Any:  # noqa: FBT001, FBT002
        """Say of each row what the pipeline would have said had it not seen it.

        Without ``restandardise`` that is given what the steps before the last one have learned,
        of the row itself too. With it they are estimated without the row, which takes a change
        of the whole for each.

        Parameters
        ----------
        values : bool, default=False
            Whether to give the decision values too.

        Returns
        -------
        HeldOut
            As the last step's own.
        """
        return self._answering().leave_one_out(values)

    @available_if(_last_has("leave_one_group_out"))
    def leave_one_group_out(self, values: bool = False) -> Any:  # noqa: FBT001, FBT002
        """Say of each row what the pipeline would have said had it not seen its group.

        Parameters
        ----------
        values : bool, default=False
            Whether to give the decision values too.

        Returns
        -------
        HeldOut
            As ``leave_one_out``.
        """
        return self._answering().leave_one_group_out(values)

    @available_if(_last_has("k_fold"))
    def k_fold(self, cv: Any = None, values: bool = False) -> Any:  # noqa: FBT001, FBT002
        """Say of each row what the pipeline would have said had it not seen its fold.

        Parameters
        ----------
        cv : int, splitter, iterable of pairs of arrays or None, default=None
            As for the last step's own.
        values : bool, default=False
            Whether to give the decision values too.

        Returns
        -------
        HeldOut
            As ``leave_one_out``.
        """
        return self._answering().k_fold(cv, values)

    @available_if(_last_has("c_path"))
    def c_path(self, C_min: float, C_max: float) -> CPath:
        """Find the optimum for every C between two values, without changing the pipeline.

        Parameters
        ----------
        C_min : float
            Where the path begins, above 0.
        C_max : float
            Where it ends, not below.

        Returns
        -------
        CPath
            As the last step's own; it takes rows as they come.
        """
        return self._c_path(C_min, C_max)

    # -- predicting: with one look at all steps, which others may be changing

    @available_if(_last_has("predict"))
    def predict(self, X: Any, **params: Any) -> Any:
        """Labels of rows.

        Parameters
        ----------
        X : {array-like, sparse matrix, frame} of shape (n_samples, n_features)
            Rows to decide on, as the first step takes them.
        **params
            As for scikit-learn's pipeline.

        Returns
        -------
        ndarray of shape (n_samples,)
            A label for each row.
        """
        return super(Pipeline, twin_of(self)).predict(X, **params)

    @available_if(_last_has("decision_function"))
    def decision_function(self, X: Any, **params: Any) -> Any:
        """Decision values of rows.

        Parameters
        ----------
        X : {array-like, sparse matrix, frame} of shape (n_samples, n_features)
            Rows to decide on, as the first step takes them.
        **params
            As for scikit-learn's pipeline.

        Returns
        -------
        ndarray
            As the last step's own.
        """
        return super(Pipeline, twin_of(self)).decision_function(X, **params)

    @available_if(_last_has("score"))
    def score(self, X: Any, y: Any = None, sample_weight: Any = None, **params: Any) -> Any:
        """Score of the pipeline on rows.

        Parameters
        ----------
        X : {array-like, sparse matrix, frame} of shape (n_samples, n_features)
            Rows to decide on, as the first step takes them.
        y : array-like of shape (n_samples,)
            Their labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Their weights.
        **params
            As for scikit-learn's pipeline.

        Returns
        -------
        float
            As the last step's own.
        """
        return super(Pipeline, twin_of(self)).score(X, y, sample_weight, **params)

    ids_ = _of_the_last("ids_", "The ids held, in the order in which the rows were learned.")
    margin_ = _of_the_last("margin_", "The ids of the rows with 0 < alpha < C_i.")
    error_ = _of_the_last("error_", "The ids of the rows with alpha = C_i > 0.")
    reserve_ = _of_the_last("reserve_", "The ids of the rows with alpha = 0.")
    gamma_ = _of_the_last("gamma_", "The number that gamma came to.")
    work_ = _of_the_last("work_", "What the last step has cost so far.")
    last_change_ = _of_the_last("last_change_", "What the last change did.")


def make_pipeline(
    *steps: Any, restandardise: bool = False, memory: Any = None, verbose: bool = False
) -> Pipeline:
    """Make a living pipeline of steps, which get their types' names in lower case.

    Parameters
    ----------
    *steps : estimators
        Transformers, and at last an ``SVC`` or another classifier.
    restandardise : bool, default=False
        Whether to estimate the transformers anew after each change of rows, and move the
        classifier with them, exactly. Else they stay what the first fit made of them.
    memory : str, object with the joblib.Memory interface or None, default=None
        Where to cache fitted steps. What is written there is forgotten by nobody.
    verbose : bool, default=False
        Whether to print the time that the steps took.

    Returns
    -------
    Pipeline
        The pipeline, unfitted.

    Examples
    --------
    >>> from sklearn.preprocessing import StandardScaler
    >>> from adiabat import SVC, make_pipeline
    >>> pipeline = make_pipeline(StandardScaler(), SVC(kernel="linear"))
    >>> pipeline.fit([[0.0], [10.0], [30.0], [40.0]], [0, 0, 1, 1], ids=["a", "b", "c", "d"])
    Pipeline(steps=[('standardscaler', StandardScaler()),
                    ('svc', SVC(kernel='linear'))])
    >>> pipeline.unlearn("d").predict([[12.0], [35.0]])
    array([0, 1])
    >>> pipeline.remembers_
    {'standardscaler': 1}
    """
    return Pipeline(
        _name_estimators(steps), restandardise=restandardise, memory=memory, verbose=verbose
    )
