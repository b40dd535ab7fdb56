"""The support vector classifier."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from copy import copy
from functools import wraps
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ClassVar

from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions

from adiabat.estimators.along_c import AlongC
from adiabat.estimators.editing import PASSING, PAST, Editing
from adiabat.estimators.exported import ExportedClassifier
from adiabat.estimators.kernel_choice import (
    METHODS,
    NAMED,
    gamma_of,
    is_pairwise,
    is_scaled,
    kernel_of,
)
from adiabat.estimators.machines import LOSSES, Effort, Task, costs, tasks
from adiabat.estimators.members import MemberCertificates, certified
from adiabat.estimators.model import Model, spent_on, trained
from adiabat.estimators.predictor import arranged, decided
from adiabat.estimators.validating import Validating
from adiabat.estimators.validation import (
    Examples,
    Names,
    checked_examples,
    checked_queries,
    class_weights,
    is_balanced,
    require_weighed,
)
from adiabat.estimators.writing import become, writing

if TYPE_CHECKING:
    from adiabat.certificate import Certificate

Array = NDArray[Any]

_MEGABYTE = 1 << 20


def _names_the_way_to_probabilities(init: Callable[..., None]) -> Callable[..., None]:
    """An ``__init__`` that does not only refuse ``probability`` but says what to do."""

    @wraps(init)
    def checked(self: Any, *args: Any, **settings: Any) -> None:
        if "probability" in settings:
            raise TypeError(
                "probability: SVC has no such parameter; for probabilities wrap it, as in "
                "sklearn.calibration.CalibratedClassifierCV(SVC(...), ensemble=False)"
            )
        init(self, *args, **settings)

    return checked


class SVC(Editing, Validating, AlongC, ClassifierMixin, BaseEstimator):
    """Support vector classifier, solved to the end and certified.

    It takes the place of ``sklearn.svm.SVC``, with the same parameters and the same fitted
    attributes, and minimises ½‖w‖² + C Σ sᵢ ξᵢ, with sᵢ the weight of a row times the weight
    of its class and ξᵢ the amount by which its decision value falls short of 1. More than two
    classes are one against one.

    Parameters
    ----------
    C : float, default=1.0
        What a slack costs. ``np.inf`` asks for a hard margin, and fit raises
        ``NotSeparableError`` where there is none.
    kernel : {"linear", "poly", "rbf", "sigmoid", "precomputed"}, kernel or callable, \
            default="rbf"
        The similarity. An object of ``adiabat.kernels`` and a callable, which gets two sets of
        rows and returns the matrix of their similarities, carry their own parameters.
    degree : int, default=3
        Degree of "poly".
    gamma : {"scale", "auto"} or float, default="scale"
        Parameter of "poly", "rbf" and "sigmoid". "scale" is 1 / (n_features * variance of X),
        where the variance counts a row of weight 2 as two rows; "auto" is 1 / n_features.
    coef0 : float, default=0.0
        Parameter of "poly" and "sigmoid".
    loss : {"hinge", "squared_hinge"}, default="hinge"
        Whether slacks enter as they are or squared.
    fit_intercept : bool, default=True
        Whether the bias is trained. If False it is ``intercept``.
    intercept : float, default=0.0
        The fixed bias, positive towards ``classes_[1]``. Any other than 0 needs two classes.
        Without effect if the bias is trained.
    shrinking : bool, default=True
        Without effect, here for scikit-learn's sake.
    tol : float, default=1e-9
        How far an optimality condition may be violated, in units of the decision function,
        beyond what rounding makes of it.
    cache_size : float, default=1000
        Megabytes for kernel values that are kept during a fit.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes; "balanced" makes the sums of weights of all classes equal.
    verbose : bool, default=False
        Whether to print progress on standard error.
    max_iter : int, default=-1
        Steps after which a solver ends with a ``ConvergenceWarning``; -1 for no limit.
    decision_function_shape : {"ovr", "ovo"}, default="ovr"
        For more than two classes, one decision value for each class or one for each pair.
    break_ties : bool, default=False
        For more than two classes and "ovr", whether equal numbers of votes are decided by the
        decision values instead of the order of the classes.
    random_state : int, RandomState instance or None, default=None
        Without effect, here for scikit-learn's sake: nothing is random.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels of the rows that count, sorted. A class whose rows all have weight 0 is not
        among them. With a single class, that is what will be predicted.
    ids_ : ndarray of shape (n_samples,)
        The ids of the rows held, in the order in which they were learned.
    margin_, error_, reserve_ : ndarray, or dict for more than two classes
        The ids of the rows with a coefficient between its bounds, at its upper bound, and
        zero; for more than two classes by pair of labels.
    support_ : ndarray of shape (n_SV,)
        Positions in ``ids_`` of the rows with a coefficient, class by class.
    support_vectors_ : {ndarray, CSR matrix} of shape (n_SV, n_features)
        These rows; empty for a precomputed kernel.
    n_support_ : ndarray of shape (n_classes,)
        How many of them each class has.
    dual_coef_ : ndarray of shape (n_classes - 1, n_SV)
        Signed coefficients in scikit-learn's layout; dense also for sparse rows.
    intercept_ : ndarray of shape (n_machines,)
        The bias of each machine.
    coef_ : ndarray of shape (n_machines, n_features)
        Weight vectors; linear kernel only.
    gamma_ : float
        The number that ``gamma`` came to.
    class_weight_ : ndarray of shape (n_classes,)
        The weight of each class.
    shape_fit_ : tuple of int
        The shape of X in fit.
    fit_status_ : int
        0, or 1 where ``max_iter`` ended the fit.
    n_iter_ : ndarray of shape (n_machines,)
        Steps of the solvers.
    work_ : Work
        What the model has cost, in kernel evaluations and perturbations.
    last_change_ : Change
        What the last ``partial_fit``, ``unlearn``, ``relabel``, ``reweight``, ``revise`` or
        ``adapt`` did.
    n_features_in_ : int
        Number of features in fit.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features in fit, where X had names that are all strings.

    Notes
    -----
    The rows that were learned stay with the model; ``export`` gives one without them.

    Examples
    --------
    >>> from adiabat import SVC
    >>> X = [[0.0, 0.0], [1.0, 0.0], [3.0, 1.0], [4.0, 1.0]]
    >>> classifier = SVC(kernel="linear", C=10.0).fit(X, ["left", "left", "right", "right"])
    >>> classifier.predict([[0.5, 1.0], [3.5, 0.0]])
    array(['left', 'right'], dtype='<U5')
    >>> classifier.decision_function([[1.0, 0.0], [3.0, 1.0]])
    array([-1., 1.])
    >>> classifier.margin_
    array([1, 2])
    >>> classifier.certificate().holds()
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "C": [Interval(Real, 0.0, None, closed="right")],
        "kernel": [StrOptions({*NAMED, "precomputed"}), HasMethods(METHODS), callable],
        "degree": [Interval(Integral, 0, None, closed="left")],
        "gamma": [StrOptions({"scale", "auto"}), Interval(Real, 0.0, None, closed="left")],
        "coef0": [Interval(Real, None, None, closed="neither")],
        "loss": [StrOptions(set(LOSSES))],
        "fit_intercept": ["boolean"],
        "intercept": [Interval(Real, None, None, closed="neither")],
        "shrinking": ["boolean"],
        "tol": [Interval(Real, 0.0, None, closed="neither")],
        "cache_size": [Interval(Real, 0.0, None, closed="neither")],
        "class_weight": [StrOptions({"balanced"}), dict, None],
        "verbose": ["verbose"],
        "max_iter": [Interval(Integral, -1, None, closed="left")],
        "decision_function_shape": [StrOptions({"ovr", "ovo"})],
        "break_ties": ["boolean"],
        "random_state": ["random_state"],
    }

    @_names_the_way_to_probabilities
    def __init__(
        self,
        C: float = 1.0,
        *,
        kernel: Any = "rbf",
        degree: int = 3,
        gamma: float | str = "scale",
        coef0: float = 0.0,
        loss: str = "hinge",
        fit_intercept: bool = True,
        intercept: float = 0.0,
        shrinking: bool = True,
        tol: float = 1e-9,
        cache_size: float = 1000,
        class_weight: dict[Any, float] | str | None = None,
        verbose: bool = False,
        max_iter: int = -1,
        decision_function_shape: str = "ovr",
        break_ties: bool = False,
        random_state: Any = None,
    ) -> None:
        self.C = C
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.loss = loss
        self.fit_intercept = fit_intercept
        self.intercept = intercept
        self.shrinking = shrinking
        self.tol = tol
        self.cache_size = cache_size
        self.class_weight = class_weight
        self.verbose = verbose
        self.max_iter = max_iter
        self.decision_function_shape = decision_function_shape
        self.break_ties = break_ties
        self.random_state = random_state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = is_pairwise(self.kernel)
        tags.input_tags.sparse = not tags.input_tags.pairwise
        return tags

    # -- learning

    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, ids: Any = None, groups: Any = None
    ) -> SVC:
        """Learn rows and labels, and nothing else that was learned before.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows; for a precomputed kernel, the matrix of their kernel values.
        y : array-like of shape (n_samples,)
            Their labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows; C is multiplied by them. A row of weight 2 is two rows, a row
            of weight 0 is held and does not count.
        ids : array-like of shape (n_samples,), default=None
            Names of the rows, integers or strings. A frame whose index can serve brings it;
            otherwise rows are counted from 0.
        groups : array-like of shape (n_samples,), default=None
            What the rows belong to, so that all of a group can be named at once.

        Returns
        -------
        SVC
            The classifier itself.
        """
        self._validate_params()
        with writing(self):
            draft = copy(self)  # others may be predicting with what is there
            pairwise, names = is_pairwise(self.kernel), Names(ids, groups)
            examples = checked_examples(draft, X, y, sample_weight, names, pairwise=pairwise)
            require_weighed(self.class_weight, examples.classes)
            state = {name: value for name, value in vars(draft).items() if name not in PAST}
            become(self, {**state, "_model": self._trained(examples)})
        self._warn_if_unfinished()
        return self

    def _trained(self, examples: Examples, *, decided: bool = True) -> Model:
        gamma = gamma_of(self.kernel, self.gamma, examples.rows.values, examples.weight)
        kernel = kernel_of(self.kernel, gamma, self.degree, self.coef0)
        weights = class_weights(self.class_weight, examples)
        machines = tuple(
            trained(task, kernel, examples, self._effort())
            for task in self._tasks(examples, weights)
        )
        work, scaled = spent_on(machines), is_scaled(self.gamma)
        balanced = is_balanced(self.class_weight)
        return Model(kernel, gamma, examples, weights, machines, work, decided, scaled, balanced)

    def _tasks(self, examples: Examples, class_weight: Array) -> list[Task]:
        cost = costs(self.C, examples.weight, examples.codes, class_weight)
        bounds, ridge = LOSSES[self.loss](cost)
        classes = len(examples.classes)
        return tasks(examples.codes, classes, bounds, ridge, self._fixed_bias(classes))

    def _fixed_bias(self, classes: int) -> float | None:
        if self.fit_intercept:
            return None
        if self.intercept != 0 and classes != 2:
            raise ValueError(
                f"intercept: {self.intercept} with {classes} classes in y; wanted 0, or two "
                "classes to lean from one to the other"
            )
        return float(self.intercept)

    def _effort(self) -> Effort:
        return Effort(
            tol=float(self.tol),
            budget=int(self.cache_size * _MEGABYTE),
            max_steps=None if self.max_iter == -1 else int(self.max_iter),
            verbose=bool(self.verbose),
        )

    def _warn_if_unfinished(self, depth: int = 3) -> None:
        """Say so to whoever called, who stands so many calls above the warning."""
        if self.__sklearn_is_fitted__() and self.fit_status_:
            warnings.warn(
                f"max_iter: the solver ended after {self.max_iter} steps, before the optimum; "
                "scaled features need fewer steps",
                ConvergenceWarning,
                stacklevel=depth,
            )

    # -- predicting

    def decision_function(self, X: Any) -> Array:
        """Decision values of rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows to decide on; for a precomputed kernel, their kernel values with the rows held,
            in the order of ``ids_``.

        Returns
        -------
        ndarray of shape (n_samples,), (n_samples, n_classes) or (n_samples, n_pairs)
            For two classes, positive where ``classes_[1]`` is predicted. For more,
            ``decision_function_shape`` says which of the others; with "ovo", positive values
            speak for the first class of the pair.
        """
        model, values = self._values(X)
        return arranged(values, len(model.examples.classes), self.decision_function_shape)

    def predict(self, X: Any) -> Array:
        """Labels of rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows to decide on; for a precomputed kernel, their kernel values with the rows held,
            in the order of ``ids_``.

        Returns
        -------
        ndarray of shape (n_samples,)
            A label of ``classes_`` for each row.
        """
        model, values = self._values(X)
        classes, shape = model.examples.classes, self.decision_function_shape
        return classes[decided(values, len(classes), shape, break_ties=self.break_ties)]

    def _values(self, X: Any) -> tuple[Model, Array]:
        """The model as it is now, and its machines' values."""
        model = self._fitted
        if not model.decided:
            raise NotFittedError(
                f"{type(self).__name__}: only class {model.examples.classes[0]!r} was learned so "
                "far; wanted rows of a second class before there is anything to decide"
            )
        pairwise = is_pairwise(model.kernel)
        values = checked_queries(self, X, pairwise=pairwise)
        if pairwise and values.shape[1] != len(model.examples):  # it has changed in between
            raise ValueError(
                f"X has {values.shape[1]} features, but {type(self).__name__} is expecting "
                f"{len(model.examples)} features as input, for the rows held"
            )
        return model, model.predictor.values(values)

    # -- proving

    def certificate(self) -> Certificate | MemberCertificates:
        """Measure how far the model is from the optimum, from the data alone.

        Returns
        -------
        Certificate or MemberCertificates
            The latter for more than two classes: the worst of the certificates of all
            machines, which are its ``members``.
        """
        return certified(self._fitted)

    # -- passing on

    def __getstate__(self) -> dict[str, Any]:
        state = dict(super().__getstate__())  # at one stroke: others may be changing it
        return {name: value for name, value in state.items() if name not in PASSING}

    def copy(self) -> SVC:
        """Make an independent twin, with all that was learned.

        Returns
        -------
        SVC
            A classifier that nothing done to this one will change.
        """
        state = vars(self).copy()  # at one stroke: others may be changing it
        twin = clone(self)
        learned = state.keys() - self.get_params(deep=False).keys() - set(PASSING)
        # a copy of a callable would pass for another kernel than that of the model
        vars(twin).update({name: state[name] for name in learned | {"kernel"}})
        return twin

    def fresh(self) -> SVC:
        """Make an unfitted classifier with the same settings, gamma as the number it came to.

        Returns
        -------
        SVC
            What an honest comparison after a change of the rows should be fitted with.
        """
        gamma = self._fitted.gamma
        return clone(self) if gamma is None else clone(self).set_params(gamma=gamma)

    def export(self) -> ExportedClassifier:
        """Make a model that only predicts: support rows and coefficients.

        Returns
        -------
        ExportedClassifier
            It holds none of the other rows, and needs neither numba nor scikit-learn.
        """
        model = self._fitted
        return ExportedClassifier(
            model.predictor,
            self.classes_,
            self.n_features_in_,
            self.decision_function_shape,
            self.break_ties,
        )

    def to_sklearn(self) -> Any:
        """Make a fitted ``sklearn.svm.SVC`` that decides in the same way.

        Returns
        -------
        sklearn.svm.SVC
            With this model's support rows, coefficients and bias.
        """
        # scikit-learn's own machines are of no use to anybody else.
        from adiabat.estimators.conversion import as_scikit_learn  # noqa: PLC0415

        return as_scikit_learn(self, self._fitted)
