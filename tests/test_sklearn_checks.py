"""scikit-learn's own checks."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from adiabat import SVC
from adiabat.kernels import Exponential


def expected_failures(estimator):
    """None, but where a check hands over as a kernel matrix what is not symmetric."""
    if estimator.kernel == "precomputed":
        return {"check_classifiers_one_label_sample_weights": "its matrix is not symmetric"}
    return {}


ESTIMATORS = [
    SVC(),
    SVC(kernel="linear", loss="squared_hinge", class_weight="balanced"),
    SVC(kernel=Exponential(gamma=0.1), fit_intercept=False),
    SVC(kernel="precomputed"),
]


@pytest.mark.filterwarnings("ignore:gamma. 'scale' is frozen:UserWarning")
@parametrize_with_checks(ESTIMATORS, expected_failed_checks=expected_failures)
def test_scikit_learns_checks(estimator, check):
    check(estimator)
