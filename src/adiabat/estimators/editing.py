"""The verbs that change a fitted classifier, each of them one transaction."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from copy import copy
from operator import is_
from time import perf_counter
from typing import Any, ClassVar

from numpy.typing import NDArray

from adiabat.estimators.attributes import FittedAttributes
from adiabat.estimators.changes import Change, told
from adiabat.estimators.edits import (
    Edit,
    bare,
    clad,
    column_names,
    founded,
    joined,
    positions_of,
    positions_of_groups,
    relabelled,
    require_new,
    revised,
    reweighted,
    unedited,
    without,
)
from adiabat.estimators.ids import listed_ids
from adiabat.estimators.kernel_choice import (
    gamma_of,
    is_pairwise,
    is_scaled,
    kernel_of,
    reads_gamma,
)
from adiabat.estimators.machines import Effort, Task
from adiabat.estimators.model import Model, spent_on
from adiabat.estimators.moving import Move, Upkeep
from adiabat.estimators.prospect import Explanation, Prospect, explained, tried
from adiabat.estimators.validation import (
    Examples,
    Names,
    checked_examples,
    checked_features,
    checked_labels,
    checked_values,
    checked_weight,
    class_weights,
    is_balanced,
    require_among,
    require_weighed,
)
from adiabat.estimators.writing import writing

Array = NDArray[Any]

#: Attributes that a copy or a pickle does without: they can be made anew, or belong to one object.
PASSING = ("_upkeep", "_pen", "_settings")
#: What ``adapt`` can change.
ADAPTABLE = ("C", "gamma", "degree", "coef0", "kernel", "class_weight")
#: What a fit, which begins anew, does not keep.
PAST = ("_model", "_next_id", "last_change_")


class Editing(FittedAttributes):
    """Learn, unlearn, relabel, reweight, revise and adapt; ask what if, and why.

    After each change the model is the one that a fit with the same settings gives on the rows
    it now holds; ``adapt`` changes the settings. A change that fails leaves everything as it was.
    """

    # What the classifier that mixes this in has.
    kernel: Any
    gamma: Any
    degree: int
    coef0: float
    class_weight: Any
    _tasks: Callable[[Examples, Array], list[Task]]
    _effort: Callable[[], Effort]
    _trained: Callable[..., Model]
    _warn_if_unfinished: Callable[..., None]
    _validate_params: Callable[[], None]
    _parameter_constraints: ClassVar[dict[str, list[Any]]]
    copy: Callable[[], Any]

    last_change_: Change
    _next_id: int = 0

    # -- learning

    def partial_fit(
        self,
        X: Any,
        y: Any,
        classes: Any = None,
        sample_weight: Any = None,
        ids: Any = None,
        groups: Any = None,
    ) -> Any:
        """Learn further rows exactly: as if they had been there from the beginning.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows. For a precomputed kernel, their kernel values with the rows held, in the
            order of ``ids_``, and with each other: n_samples rows, as many columns as there will
            be rows.
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
        object
            The classifier itself.
        """
        self._require_settings()
        names = Names(ids, groups)
        require_among(y, classes)
        with writing(self):
            if "_model" not in vars(self):
                self._begin(X, y, sample_weight, names)
            else:
                self._learn(X, y, sample_weight, names)
        self._warn_if_unfinished()
        return self

    def _begin(self, X: Any, y: Any, sample_weight: Any, names: Names) -> None:
        started = perf_counter()
        pairwise = is_pairwise(self.kernel)
        examples = checked_examples(
            self, X, y, sample_weight, names, pairwise=pairwise, next_id=self._next_id
        )
        if reads_gamma(self.kernel) and is_scaled(self.gamma):
            warnings.warn(
                "gamma: 'scale' is frozen at the variance of the rows of this first partial_fit "
                f"({len(examples)} of them); a number says what you mean",
                UserWarning,
                stacklevel=3,
            )
        model = self._trained(examples, decided=len(examples.classes) > 1)
        solved = len(model.machines)
        change = told("partial_fit", founded(examples), None, model, solved, started)
        vars(self).update(last_change_=change, _model=model)

    def _learn(self, X: Any, y: Any, sample_weight: Any, names: Names) -> None:
        held = self._model.examples
        pairwise = is_pairwise(self._model.kernel)

        def edit() -> Edit:
            new = checked_examples(self, X, y, sample_weight, names, pairwise=pairwise, held=held)
            require_new(held, new.ids)
            return joined(held, new, pairwise=pairwise)

        self._change("partial_fit", edit)

    # -- changing

    def unlearn(self, ids: Any = None, *, groups: Any = None) -> Any:
        """Forget rows exactly: as if they had never been seen, with the same settings.

        Parameters
        ----------
        ids : int, str or array-like of them, default=None
            The rows' ids.
        groups : object or array-like of them, default=None
            Groups, all of whose rows go.

        Returns
        -------
        object
            The classifier itself; unfitted if no row is left.
        """

        def edit() -> Edit:
            model = self._fitted
            positions = self._named(model.examples, ids, groups)
            return without(model.examples, positions, pairwise=is_pairwise(model.kernel))

        return self._edit("unlearn", edit)

    def relabel(self, ids: Any, y: Any) -> Any:
        """Correct the labels of rows.

        Parameters
        ----------
        ids : int, str or array-like of them
            The rows' ids.
        y : label or array-like of shape (n_ids,)
            Their labels from now on.

        Returns
        -------
        object
            The classifier itself.
        """

        def edit() -> Edit:
            held = self._fitted.examples
            positions = positions_of(held, listed_ids(ids))
            return relabelled(held, positions, checked_labels(y, len(positions), held))

        return self._edit("relabel", edit)

    def reweight(self, ids: Any, sample_weight: Any) -> Any:
        """Change the weights of rows.

        Parameters
        ----------
        ids : int, str or array-like of them
            The rows' ids.
        sample_weight : float or array-like of shape (n_ids,)
            Their weights from now on; a row of weight 0 is held and does not count.

        Returns
        -------
        object
            The classifier itself.
        """

        def edit() -> Edit:
            held = self._fitted.examples
            positions = positions_of(held, listed_ids(ids))
            weight = checked_weight(sample_weight, len(positions), alone=False)
            return reweighted(held, positions, weight)

        return self._edit("reweight", edit)

    def revise(self, ids: Any, X: Any, y: Any = None) -> Any:
        """Correct the features of rows, and their labels if need be.

        Parameters
        ----------
        ids : int, str or array-like of them
            The rows' ids.
        X : {array-like, sparse matrix} of shape (n_ids, n_features)
            Their features from now on; for a precomputed kernel, their kernel values with all
            rows held, in the order of ``ids_``.
        y : label or array-like of shape (n_ids,), default=None
            Their labels from now on; None leaves them.

        Returns
        -------
        object
            The classifier itself.
        """

        def edit() -> Edit:
            model = self._fitted
            held, pairwise = model.examples, is_pairwise(model.kernel)
            positions = positions_of(held, listed_ids(ids))
            values = checked_values(self, X, len(positions), held, pairwise=pairwise)
            labels = None if y is None else checked_labels(y, len(positions), held)
            return revised(held, positions, values, labels, pairwise=pairwise)

        return self._edit("revise", edit)

    def adapt(
        self,
        *,
        C: Any = ...,
        gamma: Any = ...,
        degree: Any = ...,
        coef0: Any = ...,
        kernel: Any = ...,
        class_weight: Any = ...,
    ) -> Any:
        """Change settings: as if the rows had been learned with these from the beginning.

        What is not named stays as it is. Afterwards ``get_params`` shows the new values.

        Parameters
        ----------
        C : float
            Regularisation; ``np.inf`` for a hard margin.
        gamma : float, "scale" or "auto"
            "scale" is measured anew on the rows now held.
        degree : int
            Degree of polynomial kernels.
        coef0 : float
            Constant of polynomial and sigmoid kernels.
        kernel : str, kernel object or callable
            Rows stay what they are: not to "precomputed", nor from there.
        class_weight : dict, "balanced" or None
            Weights of the classes.

        Returns
        -------
        object
            The classifier itself.
        """
        given = zip(ADAPTABLE, (C, gamma, degree, coef0, kernel, class_weight), strict=True)
        named = {name: value for name, value in given if value is not ...}
        if not named:
            raise ValueError(f"adapt: nothing named; wanted any of {', '.join(ADAPTABLE)}")
        with writing(self):
            held = self._fitted.examples
            if "class_weight" in named:
                require_weighed(class_weight, held.classes)
            self._change("adapt", lambda: unedited(held), named)
        self._warn_if_unfinished()
        return self

    # -- asking

    def what_if(
        self,
        *,
        unlearn: Any = None,
        relabel: Any = None,
        reweight: Any = None,
        adapt: Any = None,
    ) -> Prospect:
        """Look at the model that a change would give, without making it.

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
            Certificate, decision values and flow between the categories after the change.
        """
        asked = {"unlearn": unlearn, "relabel": relabel, "reweight": reweight, "adapt": adapt}
        twin = tried(self.copy(), asked)
        return Prospect(twin, twin.last_change_)

    def explain(self, id: Any, *, most: int = 5) -> Explanation:  # noqa: A002
        """Say what a row is to the model, and what the model makes of it.

        Parameters
        ----------
        id : int or str
            The row's id.
        most : int, default=5
            How many of the terms that weigh most to show on each side.

        Returns
        -------
        Explanation
            Category, slack, leave-one-out value, and the terms for and against.
        """
        return explained(self, id, most)

    # -- how a change is made

    def _require_settings(self) -> None:
        """Look at the constructor's parameters, unless they are those that were seen last."""
        settings = tuple(map(vars(self).get, self._parameter_constraints))
        seen = vars(self).get("_settings", ())
        if len(seen) == len(settings) and all(map(is_, seen, settings)):
            return
        self._validate_params()
        self._settings = settings

    def _named(self, held: Examples, ids: Any, groups: Any) -> Array:
        if (ids is None) == (groups is None):
            raise ValueError("unlearn: wanted either ids or groups")
        if groups is not None:
            return positions_of_groups(held, groups)
        return positions_of(held, listed_ids(ids))

    def _edit(self, verb: str, edit: Callable[[], Edit]) -> Any:
        self._require_settings()
        with writing(self):
            self._change(verb, edit)
        self._warn_if_unfinished(4)
        return self

    def _retransform(
        self, verb: str, edited: Callable[[Examples], Edit], seen: Callable[[Edit], Any]
    ) -> Any:
        """Make an edit that names the rows held, and have them all seen with other features.

        That is a change of kernel for those that stay, unless nothing is another for them.
        """

        def edit() -> Edit:
            model = self._fitted
            if is_pairwise(model.kernel):
                raise ValueError(
                    "kernel: 'precomputed' has lines of a kernel matrix for rows, which nothing "
                    "can be made of anew; wanted a kernel of features"
                )
            made = edited(bare(model.examples))
            if not (made.examples.weight > 0).any():  # there is nothing to see, or to count
                return made
            return clad(made, model.examples.rows, checked_features(self, seen(made)))

        return self._edit(verb, edit)

    def _change(
        self, verb: str, edited: Callable[[], Edit], settings: dict[str, Any] | None = None
    ) -> None:
        """Bring the model to where an edit, or other settings, lead, in one assignment."""
        started = perf_counter()
        before = self._fitted
        edit = edited()
        upkeep = vars(self).get("_upkeep")
        if upkeep is None or upkeep.model is not before:
            upkeep = Upkeep(before)
        asked = self if settings is None else self._asked(settings)
        anew = settings is not None and "gamma" in settings
        move, after = asked._led(upkeep, edit, anew=anew)  # noqa: SLF001
        change = told(verb, edit, before, after, move.solved, started)
        if after is None:
            self._empty(change, before)
        else:
            self._commit(change, after, move, settings or {})

    def _asked(self, settings: dict[str, Any]) -> Any:
        """The same with other settings; others may be reading those that there are."""
        asked = copy(self)
        vars(asked).update(settings)
        asked._validate_params()  # noqa: SLF001
        return asked

    def _led(self, upkeep: Upkeep, edit: Edit, *, anew: bool) -> tuple[Move, Model | None]:
        """The way of a model to where an edit leads with these settings; gamma may be new."""
        gamma = self._gamma_now(upkeep.model, edit.examples, anew=anew)
        kernel = kernel_of(self.kernel, gamma, self.degree, self.coef0)
        move = Move(upkeep, edit, kernel, self._effort())
        return move, self._moved(move, gamma)

    def _moved(self, move: Move, gamma: float | None) -> Model | None:
        """The model after a move; None where no row is left."""
        examples, before = move.edit.examples, move.before
        if not len(examples):
            return None
        if not len(examples.classes):
            raise ValueError(
                f"sample_weight: none of the {len(examples)} rows left would count; wanted a "
                "positive weight at least"
            )
        weights = class_weights(self.class_weight, examples)
        machines = tuple(move.machine(task) for task in self._tasks(examples, weights))
        decided = before.decided or len(examples.classes) > 1
        work = before.work + spent_on(machines)
        scaled, balanced = is_scaled(self.gamma), is_balanced(self.class_weight)
        kernel = move.kernel
        return Model(kernel, gamma, examples, weights, machines, work, decided, scaled, balanced)

    def _empty(self, change: Change, before: Model) -> None:
        """Be as if nothing had been learned, but for the numbers that were ids."""
        vars(self).update(last_change_=change, _next_id=before.examples.next_id)
        for name in ("_model", "_upkeep", "feature_names_in_"):
            vars(self).pop(name, None)

    def _commit(self, change: Change, after: Model, move: Move, settings: dict[str, Any]) -> None:
        """Show the model after a change, in one step that no other thread sees half of."""
        state = {"last_change_": change, "_upkeep": move.upkeep(after), "_model": after}
        state |= settings
        if not is_pairwise(after.kernel):
            vars(self).update(state)
            return
        names = column_names(vars(self).get("feature_names_in_"), move.before.examples, move.edit)
        state |= {"n_features_in_": len(after.examples), "feature_names_in_": names}
        vars(self).update(state)
        if names is None:
            del vars(self)["feature_names_in_"]

    def _gamma_now(self, model: Model, held: Examples, *, anew: bool) -> float | None:
        """gamma by the present settings.

        As it was frozen where it depends on the rows, unless it is to be measured anew.
        """
        if is_pairwise(self.kernel) != is_pairwise(model.kernel):
            raise ValueError(
                f"kernel: {self.kernel!r} now, and {model.kernel} when the rows were learned; "
                "wanted rows to stay what they are, features or lines of a kernel matrix"
            )
        frozen = model.scaled and is_scaled(self.gamma) and isinstance(self.kernel, str)
        frozen &= not anew
        if (frozen and model.gamma is not None) or not (held.weight > 0).any():
            return model.gamma
        return gamma_of(self.kernel, self.gamma, held.rows.values, held.weight)
