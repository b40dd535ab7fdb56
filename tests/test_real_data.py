"""Every data set there is: the fit ends, is proved, and is what the oracle says."""

from functools import cache

import numpy as np
import pytest
import sklearn.svm

from adiabat import SVC, NotSeparableError
from adiabat.estimators.kernel_choice import kernel_of
from adiabat.kernels import rows_of
from tests import collection, datasets, oracle

EXACT = 1e-8  # of max(1, max|f|): what is promised
NEAR = 1e-5  # libsvm keeps its kernel values in float32
JUDGED = ("breast_cancer", "heart", "pima", "thyroid")  # up to 1000 rows: quick for the oracle
LEAST_MARGIN = 1e-6  # of the longest row in feature space: below it nothing is separable
COSTS = (0.01, 1.0, 100.0, np.inf)
KERNELS = {
    "linear": {"kernel": "linear"},
    "cubic": {"kernel": "poly", "degree": 3, "coef0": 0.0},
    "rbf": {"kernel": "rbf"},
}

every_set = pytest.mark.parametrize("name", datasets.LOADERS)
small_sets = pytest.mark.parametrize("name", JUDGED)
every_kernel = pytest.mark.parametrize("kernel", KERNELS)


@cache
def data(name):
    return datasets.load(name)


def machine(kernel, C, X):
    return SVC(C=C, gamma=1 / X.shape[1], **KERNELS[kernel])


def gram(kernel, A, B):
    return collection.KERNELS[kernel](A, B, 1 / A.shape[1])


def assert_evident(error, kernel, X, y):
    """The two points that the error names lie in the hulls, and all but coincide."""
    assert (error.weights >= 0).all()
    for label in (-1.0, 1.0):
        assert error.weights[y[error.ids] == label].sum() == pytest.approx(1, abs=1e-9)
    K = gram(kernel, X[error.ids], X[error.ids])
    signed = y[error.ids] * error.weights
    rounding = 64 * np.finfo(float).eps * np.abs(K).max()
    longest = max(gram(kernel, row, row)[0, 0] for row in np.split(X, len(X)))
    assert signed @ K @ signed <= (2 * LEAST_MARGIN) ** 2 * longest + rounding
    assert error.distance**2 == pytest.approx(signed @ K @ signed, rel=1e-3, abs=rounding)


@pytest.mark.parametrize("C", COSTS)
@every_kernel
@every_set
def test_a_fit_is_optimal_or_there_is_no_margin(name, kernel, C):
    X, y = data(name)
    model = machine(kernel, C, X)
    try:
        model.fit(X, y)
    except NotSeparableError as error:
        assert np.isinf(C)
        assert_evident(error, kernel, X, y)
        return
    certificate = model.certificate()
    assert certificate.kkt_violation <= certificate.kkt_bar
    assert certificate.equality_residual <= certificate.equality_bar
    assert certificate.convex
    assert certificate.holds(), certificate


@pytest.mark.parametrize("C", COSTS)
@every_kernel
@small_sets
def test_a_fit_is_what_the_oracle_says(name, kernel, C):
    X, y = data(name)
    model = machine(kernel, C, X)
    try:
        truth = oracle.solve(gram(kernel, X, X), y, C)
    except oracle.InseparableError:
        with pytest.raises(NotSeparableError):
            model.fit(X, y)
        return
    apart = np.abs(model.fit(X, y).decision_function(X) - truth.decision).max()
    size = max(1.0, np.abs(truth.decision).max())
    assert apart <= EXACT * size


@pytest.mark.parametrize("C", COSTS)
@every_kernel
@small_sets
def test_the_bound_is_not_below_the_distance_to_the_oracle(name, kernel, C):
    """Both speak of the same float64 kernel values."""
    X, y = data(name)
    model = machine(kernel, C, X)
    K = kernel_of(KERNELS[kernel]["kernel"], 1 / X.shape[1], 3, 0.0)
    everyone = K.prepare(rows_of(X), np.float64)
    try:
        truth = oracle.solve(K.block(everyone, everyone), y, C)
    except oracle.InseparableError:
        return
    apart = np.abs(model.fit(X, y).decision_function(X) - truth.decision).max()
    assert apart <= model.certificate().decision_error_bound + truth.decision_error


@pytest.mark.parametrize("C", [0.01, 1.0])
@small_sets
def test_scikit_learn_is_near(name, C, record_property):
    X, y = data(name)
    gamma = 1 / X.shape[1]
    theirs = sklearn.svm.SVC(C=C, gamma=gamma, tol=1e-10, cache_size=500).fit(X, y)
    ours = machine("rbf", C, X).fit(X, y)
    apart = np.abs(theirs.decision_function(X) - ours.decision_function(X)).max()
    record_property("distance", float(apart))
    print(f"{name}, C={C}: scikit-learn is {apart:.1e} away")
    assert apart <= NEAR * max(1.0, np.abs(ours.decision_function(X)).max())
