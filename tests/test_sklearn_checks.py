"""scikit-learn's own checks: none is expected to fail."""

import numpy as np
import pytest
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.utils.estimator_checks import estimator_checks_generator, parametrize_with_checks

from adiabat import SVC, make_pipeline
from adiabat.kernels import Exponential
from adiabat.model_selection import LeaveOneOutSearch

ESTIMATORS = [
    SVC(),
    SVC(kernel="linear", loss="squared_hinge", class_weight="balanced"),
    SVC(kernel=Exponential(gamma=0.1), fit_intercept=False),
    SVC(C=100.0, kernel="poly", degree=2, coef0=1.0, break_ties=True),
    LeaveOneOutSearch(SVC(), {"C": [0.5, 2.0]}),
    LeaveOneOutSearch(SVC(kernel="linear"), [{"kernel": ["rbf"], "gamma": [0.1]}]),
]

PIPELINES = [
    make_pipeline(StandardScaler(), SVC()),
    make_pipeline(StandardScaler(), SVC(), restandardise=True),
    make_pipeline(MinMaxScaler(), "passthrough", SVC(kernel="linear"), restandardise=True),
]
#: What scikit-learn's own pipeline does as well: its fitted steps take the place of the others.
PIPELINES_REPLACE_STEPS = dict.fromkeys(
    ("check_dont_overwrite_parameters", "check_estimators_overwrite_params"),
    "a pipeline changes `steps`",
)

#: It hands over ten rows of random numbers as a kernel matrix. We refuse what is not symmetric
#: and run the same check with a matrix that is, below.
#: Or it has rows of a square matrix learned on top of the same rows, which need longer lines.
NOT_KERNELS = ("check_classifiers_one_label_sample_weights", "check_fit_score_takes_y")


def name_of(check):
    return check.func.__name__


MATRIX_CHECKS = list(estimator_checks_generator(SVC(kernel="precomputed")))
SYMMETRIC = [case for case in MATRIX_CHECKS if name_of(case[1]) not in NOT_KERNELS]


@pytest.mark.filterwarnings("ignore:gamma. 'scale' is frozen:UserWarning")
@parametrize_with_checks(ESTIMATORS)
def test_scikit_learns_checks(estimator, check):
    check(estimator)


@pytest.mark.filterwarnings("ignore:gamma. 'scale' is frozen:UserWarning")
@pytest.mark.filterwarnings("ignore:.*frozen at the rows of this first partial_fit:UserWarning")
@parametrize_with_checks(PIPELINES, expected_failed_checks=lambda _: PIPELINES_REPLACE_STEPS)
def test_scikit_learns_checks_of_a_pipeline(estimator, check):
    check(estimator)


@pytest.mark.parametrize(
    ("estimator", "check"), SYMMETRIC, ids=[name_of(check) for _, check in SYMMETRIC]
)
def test_scikit_learns_checks_of_a_matrix(estimator, check):
    check(estimator)


def test_weights_may_leave_one_class_of_a_matrix():
    assert len(SYMMETRIC) == len(MATRIX_CHECKS) - len(NOT_KERNELS)
    matrix = np.random.default_rng(0).uniform(size=(10, 10))
    y = np.arange(10) % 2
    model = SVC(kernel="precomputed")
    with pytest.raises(ValueError, match="wanted a symmetric matrix"):
        model.fit(matrix, y, sample_weight=y)
    model.fit(matrix @ matrix.T, y, sample_weight=y)
    assert model.predict(matrix).tolist() == [1] * 10
