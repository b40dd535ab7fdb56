"""The path of C: at every place the model that a fresh fit gives, with a proof for each."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy import sparse

from adiabat import SVC, ExactnessError, NotSeparableError, SolverError
from adiabat.adiabatic.c_path import path_of
from adiabat.adiabatic.keeper import Demand
from adiabat.adiabatic.trail import Trail
from adiabat.adiabatic.trail_proof import proved
from adiabat.kernels import RBF, rows_of
from adiabat.solvers.monitor import Monitor
from tests import collection, datasets, oracle

EXACT = 1e-8  # of max(1, max|f|): what is promised
WORDS = {"linear": "linear", "cubic": "poly", "rbf": "rbf"}


def drawn(n=60, seed=0, classes=2, noise=0.8):
    rng = np.random.default_rng(seed)
    codes = np.arange(n) % classes
    X = noise * rng.standard_normal((n, 3))
    X[np.arange(n), codes] += 1.0
    return X, np.array(["ant", "bee", "cat"])[codes]


def places(path, most=40):
    """At some breakpoints, between them, and just beside them."""
    C = path.C
    if len(C) > most:
        C = C[np.linspace(0, len(C) - 1, most).astype(int)]
    inner = [share * (b - a) + a for a, b in pairwise(C) for share in (0.5, 1e-3)]
    return [*C, *inner]


def agree(path, model, X, y, weight=None, most=40):
    """At each place the path is what a fresh fit gives, and proves it."""
    for C in places(path, most):
        fresh = model.fresh().set_params(C=C).fit(X, y, weight)
        values, expected = path.decision_function(X, C), fresh.decision_function(X)
        assert np.abs(values - expected).max() <= EXACT * max(1.0, np.abs(expected).max()), C
        if np.abs(expected).min() > EXACT:
            assert np.array_equal(path.predict(X, C), fresh.predict(X))
        if fresh.certificate().holds():
            assert path.certificate(C).holds(), (C, path.certificate(C))


def judged(path, gram, y, weight, X):
    """The independent judge says the same."""
    for C in places(path, 12):
        truth = oracle.solve(gram, y, C * weight)
        values = path.decision_function(X, C)
        assert np.abs(values - truth.decision).max() <= EXACT * max(1.0, np.abs(values).max())


SETTINGS = {
    "rbf": {"gamma": 0.5},
    "linear": {"kernel": "linear"},
    "cubic": {"kernel": "poly", "gamma": 0.5, "coef0": 1.0},
    "balanced": {"gamma": 0.5, "class_weight": "balanced"},
    "weighted": {"gamma": 0.5, "class_weight": {"ant": 3.0}},
    "fixed bias": {"gamma": 0.5, "fit_intercept": False},
}


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("name", SETTINGS)
def test_the_path_is_a_fresh_fit_for_every_c(name, classes):
    X, y = drawn(classes=classes)
    weight = np.tile([1.0, 2.0, 0.0, 0.5, 1.0], len(y) // 5)
    model = SVC(C=0.7, **SETTINGS[name]).fit(X, y, weight)
    agree(model.c_path(0.02, 30.0), model, X, y, weight, most=15)


@pytest.mark.parametrize("name", ["balanced", "weighted"])
def test_bounds_are_met_to_the_last_bit_whatever_the_weights(name):
    X, y = drawn()
    weight = np.random.default_rng(4).uniform(0.1, 2.0, len(y))
    model = SVC(C=0.7, **SETTINGS[name]).fit(X, y, weight)
    agree(model.c_path(0.02, 30.0), model, X, y, weight, most=15)


@pytest.mark.parametrize("name", ["rbf", "linear", "cubic"])
def test_the_path_is_what_the_oracle_says(name):
    X, y = drawn(40)
    signs = np.where(y == "bee", 1.0, -1.0)
    weight = np.tile([1.0, 2.0, 0.5, 1.0], 10)
    model = SVC(kernel=WORDS[name], gamma=0.5).fit(X, y, weight)
    gram = collection.KERNELS[name](X, X, 0.5)
    judged(model.c_path(0.05, 50.0), gram, signs, weight, X)


@settings(max_examples=120, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    collection.nasty(max_rows=25),
    st.sampled_from((1e-3, 1e-2, 0.1, 1.0, 10.0)),
    st.sampled_from((1.0, 3.0, 100.0, 1e4)),
)
def test_the_path_of_anything_nasty(problem, lowest, ratio):
    largest = float(problem.gram.diagonal().max()) or 1.0
    highest = (
        min(lowest * ratio, collection.LARGEST_PRODUCT / problem.sample_weight.max()) / largest
    )
    lowest = min(lowest / largest, highest)
    model = SVC(C=1.0 / largest, kernel=WORDS[problem.kernel], gamma=problem.gamma, degree=3)
    model.fit(problem.X, problem.y, problem.sample_weight)
    path = model.c_path(lowest, highest)
    agree(path, model, problem.X, problem.y, problem.sample_weight, most=12)


def test_grids_and_copies_with_equal_and_opposite_labels():
    rng = np.random.default_rng(3)
    X = rng.integers(-2, 3, (40, 2)).astype(float)
    y = np.where(X[:, 0] + rng.integers(-1, 2, 40) > 0, 1, 0)
    X, y = np.vstack([X, X[:10], X[:10]]), np.concatenate([y, y[:10], 1 - y[:10]])
    for kernel in ("linear", "poly", "rbf"):
        model = SVC(kernel=kernel, gamma=0.5).fit(X, y)
        agree(model.c_path(0.01, 100.0), model, X, y, most=15)


@pytest.mark.parametrize("classes", [2, 3])
def test_a_path_may_begin_at_any_c(classes):
    X, y = drawn(classes=classes)
    model = SVC(gamma=0.5).fit(X, y)
    near = model.c_path(1e-3, 10.0)
    for lowest in (1e-10, 1e-20, 1e-300):
        far = model.c_path(lowest, 10.0)
        assert far.kkt_violation.max() <= 1e-12
        shared = far.C[far.C > 2e-3]
        assert near.C[near.C > 2e-3] == pytest.approx(shared, rel=1e-9)
        values, expected = (path.decision_function(X, shared[:-1]) for path in (far, near))
        assert np.abs(values - expected).max() <= 1e-9


# ---------------------------------------------------------------- who is where


def counted(certificate):
    return certificate.n_margin, certificate.n_error, certificate.n_reserve


@pytest.mark.parametrize("classes", [2, 3])
def test_counts_between_breakpoints_are_those_of_a_fresh_fit(classes):
    X, y = drawn(classes=classes)
    model = SVC(gamma=0.5).fit(X, y)
    path = model.c_path(0.05, 20.0)
    for k in range(len(path.C) - 1):
        middle = 0.5 * (path.C[k] + path.C[k + 1])
        fresh = model.fresh().set_params(C=middle).fit(X, y)
        assert counted(fresh.certificate()) == counted(path.certificate(middle))
        assert counted(fresh.certificate()) == (
            path.n_margin[k],
            path.n_error[k],
            path.n_reserve[k],
        )


def test_events_lead_from_the_categories_at_one_end_to_those_at_the_other():
    X, y = drawn()
    model = SVC(gamma=0.5, C=0.05).fit(X, y)
    path = model.c_path(0.05, 20.0)

    def where(fitted):
        kinds = {"margin": fitted.margin_, "error": fitted.error_, "reserve": fitted.reserve_}
        return {name: kind for kind, ids in kinds.items() for name in ids.tolist()}

    at = where(model)
    for event in path.events:
        assert event.pair == ("bee", "ant")
        assert at[event.id] == event.before != event.after
        assert event.C in path.C
        at[event.id] = event.after
    assert at == where(SVC(gamma=0.5, C=20.0).fit(X, y))


def test_decision_values_are_linear_between_breakpoints():
    X, y = drawn()
    path = SVC(gamma=0.5).fit(X, y).c_path(0.05, 20.0)
    at = path.decision_function(X, path.C)
    middles = 0.5 * (path.C[1:] + path.C[:-1])
    between = path.decision_function(X, middles)
    assert np.abs(between - 0.5 * (at[:, 1:] + at[:, :-1])).max() <= 1e-12


@pytest.mark.parametrize("end", ["at_start", "at_end", "bias"])
@pytest.mark.parametrize("place", [1, 7, -2])
def test_the_proof_sees_both_ends_of_every_piece(end, place):
    X, y = drawn()
    trail = SVC(gamma=0.5).fit(X, y).c_path(0.05, 10.0)._trails[0]  # noqa: SLF001
    demand = Demand(RBF(0.5), rows_of(X), *_asked(y))
    assert proved(trail, demand).max() <= 1e-9
    wrong = list(trail.pieces)
    piece = wrong[place]
    other = (piece.bias[0], piece.bias[1] + 1e-6)
    if end != "bias":
        other = getattr(piece, end).copy()
        other[0] += 1e-6
    wrong[place] = replace(piece, **{end: other})
    with pytest.raises(SolverError, match="the path violates"):
        proved(Trail(trail.signed, wrong, 0, 0), demand)


def _asked(y):
    signs = np.where(y == np.unique(y)[1], 1.0, -1.0)
    return signs, np.minimum(signs, 0.0), np.maximum(signs, 0.0), np.zeros(len(y))


def test_the_path_does_not_depend_on_where_the_model_stands():
    X, y = drawn()
    paths = [SVC(C=C, gamma=0.5).fit(X, y).c_path(0.1, 10.0) for C in (0.01, 0.1, 3.0, np.inf)]
    for path in paths[1:]:
        assert np.abs(path.C / paths[0].C - 1.0).max() <= 1e-9
        values = path.decision_function(X, [0.1, 1.0, 10.0])
        assert np.abs(values - paths[0].decision_function(X, [0.1, 1.0, 10.0])).max() <= 1e-10


def test_a_longer_path_passes_through_a_shorter_one():
    X, y = drawn()
    model = SVC(gamma=0.5).fit(X, y)
    long, short = model.c_path(0.01, 100.0), model.c_path(0.5, 5.0)
    inside = long.C[(long.C > 0.5) & (long.C < 5.0)]
    assert short.C[1:-1] == pytest.approx(inside, rel=1e-9)


# ---------------------------------------------------------------- without margin vectors


def test_without_margin_vectors_b_is_the_middle_for_every_c():
    rng = np.random.default_rng(5)
    X, y = rng.standard_normal((24, 2)), np.repeat([0, 1], 12)
    model = SVC(gamma=1.0).fit(X, y)
    path = model.c_path(1e-4, 2.0)
    first = int(np.flatnonzero(path.n_margin)[0])
    assert first >= 1
    assert path.n_error[:first].tolist() == [24] * first
    gram = collection.KERNELS["rbf"](X, X, 1.0)
    for C in np.geomspace(1e-4, path.C[first], 15):
        truth = oracle.solve(gram, np.where(y == 1, 1.0, -1.0), C)
        assert path.model_at(C).bias[0] == pytest.approx(truth.bias, abs=1e-9)


def test_the_ends_of_the_interval_bend_where_another_row_is_the_nearest():
    # the least of 1 - C (K y) over the positive rows changes hands where lines cross
    X = np.array([[0.0], [0.1], [2.0], [2.3], [5.0], [-5.0]])
    y = np.array([0, 1, 1, 0, 1, 0])
    model = SVC(gamma=1.0).fit(X, y, [1.0, 1.0, 2.0, 2.0, 1.0, 1.0])
    path = model.c_path(1e-3, 50.0)
    agree(path, model, X, y, [1.0, 1.0, 2.0, 2.0, 1.0, 1.0])


def test_one_class_stays_what_it_is():
    X, _ = drawn(10)
    path = SVC().fit(X, ["ant"] * 10).c_path(0.1, 10.0)
    assert path.C.tolist() == [0.1, 10.0]
    assert path.n_reserve.tolist() == [10, 10]
    assert path.predict(X, [0.1, 3.0]).tolist() == [["ant"] * 2] * 10


# ---------------------------------------------------------------- what rows can be


def test_sparse_rows_and_kernel_matrices_have_the_same_path():
    X, y = drawn()
    K = collection.KERNELS["rbf"](X, X, 0.5)
    paths = [
        (SVC(gamma=0.5).fit(X, y).c_path(0.1, 10.0), X),
        (SVC(gamma=0.5).fit(sparse.csr_matrix(X), y).c_path(0.1, 10.0), sparse.csr_matrix(X)),
        (SVC(kernel="precomputed").fit(K, y).c_path(0.1, 10.0), K),
        (
            SVC(kernel=lambda A, B: collection.KERNELS["rbf"](A, B, 0.5)).fit(X, y).c_path(0.1, 10),
            X,
        ),
    ]
    places = [0.1, 0.77, 10.0]
    expected = paths[0][0].decision_function(X, places)
    for path, queries in paths:
        assert np.abs(path.C / paths[0][0].C - 1.0).max() <= 1e-8
        assert np.abs(path.decision_function(queries, places) - expected).max() <= EXACT


def test_shapes_for_one_c_and_for_many():
    for classes, shape in ((2, (60,)), (3, (60, 3))):
        X, y = drawn(classes=classes)
        model = SVC(gamma=0.5).fit(X, y)
        path = model.c_path(0.1, 10.0)
        assert path.decision_function(X, 1.0).shape == shape
        assert path.decision_function(X, [1.0]).shape == (*shape, 1)
        assert path.decision_function(X, [3.0, 1.0, 2.0]).shape == (*shape, 3)
        assert path.predict(X, 1.0).shape == (60,)
        assert path.predict(X, [3.0, 1.0]).shape == (60, 2)
        many = path.decision_function(X, [3.0, 1.0])
        assert np.abs(many[..., 1] - path.decision_function(X, 1.0)).max() <= 1e-14
        assert np.abs(many[..., 1] - model.decision_function(X)).max() <= 1e-10


# ---------------------------------------------------------------- its ends


def test_a_path_to_infinity_ends_where_nothing_changes_any_more():
    X, y = drawn()
    model = SVC(gamma=2.0).fit(X, y)
    path = model.c_path(0.1, np.inf)
    last = path.C[-1]
    assert path.n_error[-1] == 0 < path.n_error[-2]
    hard = SVC(C=np.inf, gamma=2.0).fit(X, y)
    for C in (last, 1.5 * last, np.inf):
        expected = hard.decision_function(X)
        size = EXACT * np.abs(expected).max()
        assert np.abs(path.decision_function(X, C) - expected).max() <= size
        assert path.certificate(C).holds()
    before = path.decision_function(X, 0.99 * last)
    assert np.abs(before - hard.decision_function(X)).max() > 1e-6
    assert path.model_at(np.inf).machines[0].on_margin.sum() == path.n_margin[-1]


def test_a_path_that_begins_beyond_its_last_turn_is_a_point():
    X, y = drawn()
    model = SVC(gamma=2.0).fit(X, y)
    last = model.c_path(0.1, np.inf).C[-1]
    path = model.c_path(2.0 * last, np.inf)
    assert path.C.tolist() == [2.0 * last]
    assert path.certificate(5.0 * last).holds()


def test_no_path_to_infinity_where_there_is_no_margin():
    X, y = drawn()
    with pytest.raises(NotSeparableError, match="not separable"):
        SVC(kernel="linear").fit(X, y).c_path(0.1, np.inf)


def test_a_path_of_no_length_is_a_point():
    X, y = drawn()
    model = SVC(gamma=0.5).fit(X, y)
    path = model.c_path(1.0, 1.0)
    assert path.C.tolist() == [1.0]
    assert path.n_margin.tolist() == [len(model.margin_)]
    assert np.abs(path.decision_function(X, 1.0) - model.decision_function(X)).max() <= 1e-12


@pytest.mark.parametrize(
    ("ends", "named"),
    [
        ((0.0, 1.0), "C_min: 0.0; wanted a positive"),
        ((-1.0, 1.0), "C_min: -1.0; wanted a positive"),
        ((np.nan, 1.0), "C_min: nan; wanted a positive"),
        ((np.inf, np.inf), "C_min: inf; wanted a positive"),
        ((1.0, np.nan), "C_max: nan; wanted a number not below"),
        ((2.0, 1.0), "C_max: 1.0; wanted a number not below C_min, which is 2.0"),
        (("one", 1.0), "C_min: 'one'; wanted a positive"),
        ((1.0, None), "C_max: None; wanted a number"),
    ],
)
def test_ends_that_are_none(ends, named):
    X, y = drawn()
    with pytest.raises(ValueError, match=named):
        SVC(gamma=0.5).fit(X, y).c_path(*ends)


@pytest.mark.parametrize("C", [0.01, 20.0, np.nan, [1.0, 20.0], [[1.0]], [], "one", None])
def test_a_c_that_is_not_on_the_path(C):
    X, y = drawn()
    path = SVC(gamma=0.5).fit(X, y).c_path(0.1, 10.0)
    with pytest.raises(ValueError, match=r"wanted a number, or a list of them, from 0\.1 to 10"):
        path.decision_function(X, C)
    with pytest.raises(ValueError, match="wanted a number"):
        path.certificate(C)


def test_a_model_is_that_of_a_single_c():
    X, y = drawn()
    path = SVC(gamma=0.5).fit(X, y).c_path(0.1, 10.0)
    for several in ([1.0], [1.0, 2.0], np.array([1.0, 2.0])):
        with pytest.raises(ValueError, match=r"C: .*; wanted a number"):
            path.model_at(several)


def test_squared_slacks_and_indefinite_kernels_have_no_such_path():
    X, y = drawn()
    with pytest.raises(ExactnessError, match="squared_hinge"):
        SVC(loss="squared_hinge").fit(X, y).c_path(0.1, 1.0)
    with pytest.raises(ExactnessError, match="positive semidefinite"):
        SVC(kernel="sigmoid").fit(X, y).c_path(0.1, 1.0)


# ---------------------------------------------------------------- its manners


def test_the_model_stays_what_it_was_also_after_an_interrupt():
    X, y = drawn()
    left = [10**9]

    def kernel(A, B):
        left[0] -= 1
        if left[0] < 0:
            raise KeyboardInterrupt
        return collection.KERNELS["rbf"](A, B, 0.5)

    model = SVC(kernel=kernel).fit(X, y)
    before = dict(vars(model))
    model.c_path(0.1, 10.0)
    calls = 10**9 - left[0]
    for allowed in (1, calls // 3, 2 * calls // 3):
        left[0] = allowed
        with pytest.raises(KeyboardInterrupt):
            model.c_path(0.1, 10.0)
        assert vars(model) == before
    left[0] = 10**9
    assert model.certificate().holds()


def test_a_path_keeps_to_the_model_that_it_was_made_of():
    X, y = drawn()
    model = SVC(gamma=0.5).fit(X, y)
    path = model.c_path(0.1, 10.0)
    values = path.decision_function(X, [0.1, 5.0])
    model.unlearn(model.ids_[:20])
    assert np.array_equal(path.decision_function(X, [0.1, 5.0]), values)


def test_progress_is_told(capsys):
    X, y = drawn()
    signs = np.where(y == "bee", 1.0, -1.0)
    start = SVC(gamma=0.5).fit(X, y).c_path(0.1, 0.1).model_at(0.1).machines[0]
    low, high = np.minimum(0.1 * signs, 0.0), np.maximum(0.1 * signs, 0.0)
    demand = Demand(RBF(0.5), rows_of(X), signs, low, high, np.zeros(len(y)))
    monitor, told = Monitor(verbose=True, every=0.0), []

    def tell(C, changes):
        told.append(C)
        monitor.arrived("path of C", changes, f"C {C:g}")

    trail = path_of(demand, start.theta, start.bias, signs, (0.1, 100.0), tell)
    assert told == sorted(told)
    assert told[-1] == trail.C[-1] == 100.0
    assert f"{trail.perturbations:,} steps   C 100" in capsys.readouterr().err


def test_pima_from_a_tenth_to_a_hundred():
    X, y = datasets.load("pima")
    model = SVC(gamma=0.25).fit(X, y)
    path = model.c_path(0.1, 100.0)
    assert len(path.events) > 900
    assert path.kkt_violation.shape == path.C.shape
    assert path.kkt_violation.max() <= 1e-9
    agree(path, model, X, y, most=6)
    below = path.decision_function(X, np.nextafter(path.C[1:], 0.0))
    assert np.abs(below - path.decision_function(X, path.C[1:])).max() <= EXACT


def test_a_path_that_is_noted_without_all_kernel_values_at_hand_is_the_same(monkeypatch):
    X, y = drawn(90)
    model = SVC(gamma=0.5).fit(X, y)
    foreseen = model.c_path(0.05, 20.0)
    monkeypatch.setattr("adiabat.adiabatic.c_path._FEW_ROWS", 0)
    monkeypatch.setattr("adiabat.adiabatic.survey._NUMBERS", 0)  # two lines of the log at a time
    monkeypatch.setattr("adiabat.adiabatic.survey._PIECES", 4)
    monkeypatch.setattr("adiabat.adiabatic.survey._ROOM", 2)
    plain = model.c_path(0.05, 20.0)
    assert plain.kernel_evaluations != foreseen.kernel_evaluations
    assert np.abs(plain.C / foreseen.C - 1.0).max() <= 1e-12
    assert [event[1:] for event in plain.events] == [event[1:] for event in foreseen.events]
    places = np.geomspace(0.05, 20.0, 50)
    values = plain.decision_function(X, places)
    assert np.abs(values - foreseen.decision_function(X, places)).max() <= 1e-12
