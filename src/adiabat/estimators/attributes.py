"""The fitted attributes of a classifier, read from its model.

They are properties, so that a change of the model is a single assignment and costs nothing
for attributes that nobody asks for. Each answers with an array of its own.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import NotFittedError

from adiabat.estimators.kernel_choice import is_pairwise
from adiabat.estimators.model import Model, Work
from adiabat.estimators.predictor import normals
from adiabat.kernels import Linear

Array = NDArray[Any]


class FittedAttributes:
    """What a fitted classifier shows; scikit-learn's names and layouts where it has them."""

    _model: Model

    def __sklearn_is_fitted__(self) -> bool:
        return "_model" in vars(self)

    @property
    def _fitted(self) -> Model:
        """The model, or a NotFittedError, which is an AttributeError as well."""
        model = vars(self).get("_model")  # in one look: another thread may be forgetting all
        if model is None:
            raise NotFittedError(
                f"This {type(self).__name__} instance is not fitted yet. Call 'fit' with "
                "appropriate arguments before using this estimator."
            )
        return model

    @property
    def classes_(self) -> Array:
        """The labels of the rows that count, sorted."""
        return self._fitted.examples.classes.copy()

    @property
    def ids_(self) -> Array:
        """The ids held, in the order in which the rows were learned."""
        return self._fitted.examples.ids.copy()

    @property
    def class_weight_(self) -> Array:
        """The weight of each class."""
        return self._fitted.class_weight.copy()

    @property
    def gamma_(self) -> float:
        """The number that gamma came to; kernels without a name carry their own."""
        gamma = self._fitted.gamma
        if gamma is None:
            raise AttributeError("gamma_ is there only for kernels with a name that are computed")
        return gamma

    @property
    def support_(self) -> Array:
        """Positions in ids_ of the rows with a coefficient, class by class."""
        return self._fitted.support.astype(np.int32)

    @property
    def support_vectors_(self) -> Any:
        """These rows; empty for a kernel matrix that was given."""
        model = self._fitted
        if is_pairwise(model.kernel):
            return np.empty((0, 0))
        return model.examples.rows.take(model.support).values

    @property
    def n_support_(self) -> Array:
        """How many of them each class has."""
        model = self._fitted
        codes = model.examples.codes[model.support]
        return np.bincount(codes, minlength=len(model.examples.classes)).astype(np.int32)

    @property
    def dual_coef_(self) -> Array:
        """Signed coefficients of the support rows, in scikit-learn's layout for many classes."""
        return self._fitted.dual_coef()

    @property
    def intercept_(self) -> Array:
        """The bias of each machine."""
        return self._fitted.bias.copy()

    @property
    def coef_(self) -> Array:
        """Weight vectors, one row for each machine; linear kernels only."""
        model = self._fitted
        if not isinstance(model.kernel, Linear):
            # The type of nothing that was passed is wrong: the attribute is not there.
            message = "coef_ is only available when using a linear kernel"
            raise AttributeError(message)  # noqa: TRY004
        return normals(model.examples.rows.take(model.support), model.weights)

    @property
    def shape_fit_(self) -> tuple[int, ...]:
        """The shape of the rows held."""
        return tuple(self._fitted.examples.rows.values.shape)

    @property
    def fit_status_(self) -> int:
        """0, or 1 where ``max_iter`` ended a fit."""
        return int(not all(machine.finished for machine in self._fitted.machines))

    @property
    def n_iter_(self) -> Array:
        """Steps that the solvers took for each machine."""
        return np.array([machine.steps for machine in self._fitted.machines])

    @property
    def margin_(self) -> Any:
        """The ids of the rows with 0 < alpha < C_i."""
        return self._fitted.ids_where(lambda machine: machine.on_margin)

    @property
    def error_(self) -> Any:
        """The ids of the rows with alpha = C_i > 0."""
        return self._fitted.ids_where(lambda machine: machine.in_error)

    @property
    def reserve_(self) -> Any:
        """The ids of the rows with alpha = 0."""
        return self._fitted.ids_where(lambda machine: machine.in_reserve)

    @property
    def work_(self) -> Work:
        """What the model has cost so far."""
        return self._fitted.work
