"""What a pipeline hands out: its last step's answers, which take rows as they come."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from adiabat.estimators.c_path import CPath
from adiabat.estimators.exported import ExportedClassifier
from adiabat.estimators.transformers import Step, transformed

Array = NDArray[Any]


@dataclass(frozen=True, eq=False)
class TransformedCPath(CPath):
    """A path of C behind the steps of a pipeline.

    Examples
    --------
    >>> from sklearn.preprocessing import StandardScaler
    >>> from adiabat import SVC, make_pipeline
    >>> pipeline = make_pipeline(StandardScaler(), SVC(kernel="linear"))
    >>> path = pipeline.fit([[0.0], [1.0], [2.0], [4.0]], [0, 0, 1, 1]).c_path(0.1, 4.0)
    >>> path.predict([[0.5], [3.0]], 1.0)
    array([0, 1])
    """

    _steps: Sequence[Step] = ()

    def _values(self, X: Any, C: Any) -> Array:
        return super()._values(transformed(self._steps, X), C)


@dataclass(frozen=True, eq=False)
class ExportedPipeline:
    """What ``Pipeline.export`` hands out: fitted steps, and a classifier that only predicts.

    Parameters
    ----------
    steps : sequence of tuple of (str, transformer)
        The fitted steps before the last one, with their names.
    classifier : ExportedClassifier
        Support rows and coefficients.

    Examples
    --------
    >>> from sklearn.preprocessing import StandardScaler
    >>> from adiabat import SVC, make_pipeline
    >>> pipeline = make_pipeline(StandardScaler(), SVC(kernel="linear"))
    >>> pipeline.fit([[0.0], [10.0], [20.0]], ["no", "yes", "yes"]).export().predict([[2.0]])
    array(['no'], dtype='<U3')
    """

    steps: Sequence[Step]
    classifier: ExportedClassifier

    @property
    def classes_(self) -> Array:
        """The labels."""
        return self.classifier.classes_

    def decision_function(self, X: Any) -> Array:
        """Decision values, as those of the pipeline it comes from.

        Parameters
        ----------
        X : {array-like, sparse matrix, frame} of shape (n_samples, n_features)
            Rows to decide on, as the first step takes them.

        Returns
        -------
        ndarray
            In float64.
        """
        return self.classifier.decision_function(transformed(self.steps, X))

    def predict(self, X: Any) -> Array:
        """Labels, as those of the pipeline it comes from.

        Parameters
        ----------
        X : {array-like, sparse matrix, frame} of shape (n_samples, n_features)
            Rows to decide on, as the first step takes them.

        Returns
        -------
        ndarray of shape (n_samples,)
            A label of ``classes_`` for each row.
        """
        return self.classifier.predict(transformed(self.steps, X))
