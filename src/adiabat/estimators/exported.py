"""A classifier that only predicts: support rows and coefficients, nothing of the training."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from adiabat.estimators.predictor import Predictor, arranged, decided

Array = NDArray[Any]


@dataclass(frozen=True, eq=False)
class ExportedClassifier:
    """What ``SVC.export`` hands out; it needs neither numba nor scikit-learn.

    Parameters
    ----------
    predictor : Predictor
        Support rows and coefficients.
    classes_ : ndarray
        The labels.
    n_features_in_ : int
        Number of features of a row.
    decision_function_shape : {"ovr", "ovo"}
        As in the classifier it comes from.
    break_ties : bool
        As in the classifier it comes from.

    Examples
    --------
    >>> from adiabat import SVC
    >>> model = SVC(kernel="linear").fit([[0.0], [1.0], [2.0]], ["no", "yes", "yes"]).export()
    >>> model.predict([[-1.0], [3.0]])
    array(['no', 'yes'], dtype='<U3')
    """

    predictor: Predictor
    classes_: Array
    n_features_in_: int
    decision_function_shape: str
    break_ties: bool

    def decision_function(self, X: Any) -> Array:
        """Decision values, as those of the classifier it comes from.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows to decide on.

        Returns
        -------
        ndarray of shape (n_samples,), (n_samples, n_classes) or (n_samples, n_pairs)
            In float64.
        """
        values = self.predictor.values(self._checked(X))
        return arranged(values, len(self.classes_), self.decision_function_shape)

    def predict(self, X: Any) -> Array:
        """Labels, as those of the classifier it comes from.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows to decide on.

        Returns
        -------
        ndarray of shape (n_samples,)
            A label of ``classes_`` for each row.
        """
        values = self.predictor.values(self._checked(X))
        shape, classes = self.decision_function_shape, len(self.classes_)
        return self.classes_[decided(values, classes, shape, break_ties=self.break_ties)]

    def _checked(self, X: Any) -> Any:
        values = X.tocsr() if sparse.issparse(X) else np.asarray(X, dtype=np.float64)
        if values.ndim != 2 or values.shape[1] != self.n_features_in_:
            raise ValueError(
                f"X: shape {values.shape}; wanted rows of {self.n_features_in_} features"
            )
        if not np.isfinite(values.data if sparse.issparse(values) else values).all():
            raise ValueError("X: NaN or infinity is among the entries; wanted finite numbers")
        return values
