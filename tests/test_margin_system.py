"""The margin system and its factors, each against a dense solve of the bordered matrix."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import LinAlgError

from adiabat import margin_system
from adiabat.margin_system import BlockFactor, MarginFactor, RevisedFactor, factor_in_panels

EXACT = 1e-8
ROUGH = 2e-2  # what a float32 factor may be off by on the matrices here
every_precision = pytest.mark.parametrize(
    ("dtype", "tolerance"), [(np.float64, EXACT), (np.float32, ROUGH)]
)
free_or_fixed = pytest.mark.parametrize("shift", [1.0, 0.0])  # 0: the bias is fixed, no border


def gaussian(n, seed=0, features=6):
    """A well-conditioned kernel matrix."""
    X = np.random.default_rng(seed).standard_normal((n, features))
    return np.exp(-0.5 * ((X[:, None, :] - X[None, :, :]) ** 2).sum(axis=2))


def bordered(K, shift):
    """The matrix of 004, eq. 17 in signed coefficients; without border where the bias is fixed."""
    if not shift:
        return K
    ones = np.ones((len(K), 1))
    return np.block([[K, ones], [ones.T, np.zeros((1, 1))]])


def dense_step(K, shift, error, imbalance):
    """d and the change of bias, by numpy."""
    if not shift:
        return np.linalg.solve(K, error), 0.0
    answer = np.linalg.solve(bordered(K, shift), np.append(error, imbalance))
    return answer[:-1], answer[-1]


def drawn_right_side(n, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal(n), rng.standard_normal()


def assert_step(factor, K, shift, tolerance, seed=0):
    error, imbalance = drawn_right_side(len(K), seed)
    step, bias = factor.step(error, imbalance if shift else 0.0)
    wanted, wanted_bias = dense_step(K, shift, error, imbalance)
    size = max(1.0, np.abs(wanted).max())
    assert np.abs(step - wanted).max() <= tolerance * size
    assert abs(bias - wanted_bias) <= tolerance * size


def grown(K, members, shift, capacity=64):
    """The factor of these members, taken in one by one; all have to be independent."""
    factor = MarginFactor(shift, capacity)
    for count, row in enumerate(members):
        assert factor.append(K[row, members[:count]], K[row, row])
    return factor


# ---------------------------------------------------------------- one member at a time


@free_or_fixed
@pytest.mark.parametrize("size", [1, 2, 3, 17, 90])
def test_a_factor_that_grew_solves_the_margin_system(shift, size):
    K = gaussian(size)
    assert_step(grown(K, list(range(size)), shift, capacity=1), K, shift, EXACT)


@settings(max_examples=120, deadline=None, derandomize=True)
@given(
    st.lists(st.integers(-12, 23), min_size=1, max_size=60),
    st.sampled_from((1.0, 0.0, 0.3)),
    st.integers(1, 8),
    st.integers(0, 99),
)
def test_members_may_come_and_go_in_any_order(moves, shift, capacity, seed):
    """A number from 0 on brings this row if it is absent, a negative one takes a member out."""
    K = gaussian(24, seed)
    factor, members = MarginFactor(shift, capacity), []
    for move in moves:
        if move >= 0 and move not in members:
            assert factor.append(K[move, members], K[move, move])
            members.append(move)
        elif move < 0 and members:
            position = -move % len(members)
            factor.remove(position)
            members.pop(position)
        assert factor.size == len(members)
    if members:
        assert_step(factor, K[np.ix_(members, members)], shift, EXACT, seed)


@free_or_fixed
@pytest.mark.parametrize("position", [0, 1, 20, 38, 39])
def test_any_member_can_leave(shift, position):
    K = gaussian(40)
    factor = grown(K, list(range(40)), shift)
    factor.remove(position)
    others = np.delete(np.arange(40), position)
    assert_step(factor, K[np.ix_(others, others)], shift, EXACT)


@free_or_fixed
def test_the_last_member_can_leave_and_another_one_come(shift):
    K = gaussian(3)
    factor = grown(K, [0], shift)
    factor.remove(0)
    assert factor.append(np.empty(0), K[2, 2])
    assert_step(factor, K[2:, 2:], shift, EXACT)


def test_halves_make_a_whole():
    K = gaussian(12)
    factor, x = grown(K, list(range(12)), 0.7), np.linspace(-1.0, 2.0, 12)
    A = K + 0.7
    assert factor.half(x) @ factor.half(x) == pytest.approx(x @ np.linalg.solve(A, x), rel=1e-10)
    assert factor.full(x) == pytest.approx(np.linalg.solve(A, x), rel=1e-9, abs=1e-9)


# ---------------------------------------------------------------- what one more coefficient does


@free_or_fixed
@pytest.mark.parametrize("size", [1, 2, 10, 40])
def test_rates_and_curvature_are_those_of_the_bordered_system(shift, size):
    K = gaussian(size + 1, seed=size)
    factor = grown(K[:size, :size], list(range(size)), shift)
    rates, bias, curvature = factor.entry(K[size, :size], K[size, size])
    edge = np.append(K[size, :size], 1.0) if shift else K[size, :size]
    reply = -np.linalg.solve(bordered(K[:size, :size], shift), edge)
    assert rates == pytest.approx(reply[:size], abs=EXACT)
    assert bias == pytest.approx(reply[size] if shift else 0.0, abs=EXACT)
    assert curvature == pytest.approx(K[size, size] + edge @ reply, rel=1e-9)


@pytest.mark.parametrize("size", [1, 5, 30])
def test_the_curvature_is_the_squared_distance_from_the_affine_hull(size):
    rng = np.random.default_rng(size)
    X = rng.standard_normal((size + 1, 40))
    factor = grown(X @ X.T, list(range(size)), 1.0)
    edges = X[1:size] - X[0]
    away = X[size] - X[0]
    if len(edges):
        away = away - np.linalg.lstsq(edges.T, away, rcond=None)[0] @ edges
    _, _, curvature = factor.entry(X[:size] @ X[size], X[size] @ X[size])
    assert curvature == pytest.approx(away @ away, rel=1e-9)


@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e9])
def test_rates_do_not_depend_on_the_scale_of_the_kernel(scale):
    K = scale * gaussian(8)
    factor = grown(K[:7, :7], list(range(7)), scale)
    rates, bias, curvature = factor.entry(K[7, :7], K[7, 7])
    edge = np.append(K[7, :7] / scale, 1.0)
    reply = -np.linalg.solve(bordered(K[:7, :7] / scale, 1.0), edge)
    assert rates == pytest.approx(reply[:7], abs=1e-9)
    assert bias / scale == pytest.approx(reply[7], abs=1e-9)
    assert curvature / scale == pytest.approx(K[7, 7] / scale + edge @ reply, rel=1e-9)


# ---------------------------------------------------------------- dependent rows


def corners():
    """Three points of a plane, and affine combinations of them."""
    X = np.array([[1.0, 0.0], [0.0, 1.0], [3.0, 3.0]])
    combinations = np.array([[1.0, 0.0, 0.0], [0.5, 0.5, 0.0], [2.0, 1.0, -2.0], [-7.0, 4.0, 4.0]])
    return X, combinations @ X


def assert_refused(factor, column, diagonal, K, shift):
    assert factor.entry(column, diagonal)[2] == 0.0
    size = factor.size
    assert not factor.append(column, diagonal)
    assert factor.size == size
    assert_step(factor, K, shift, EXACT)


@pytest.mark.parametrize("which", range(4))
@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_affinely_dependent_rows_are_refused(which, scale):
    X, others = (scale * points for points in corners())
    K = X @ X.T
    shift = float(np.diag(K).mean())
    factor = grown(K, [0, 1, 2], shift)
    column = X @ others[which]
    reply = np.linalg.solve(bordered(K / scale**2, 1.0), np.append(column / scale**2, 1.0))
    rates, bias, curvature = factor.entry(column, others[which] @ others[which])
    assert curvature == 0.0
    assert rates == pytest.approx(-reply[:3], rel=1e-9, abs=1e-9)
    assert bias / scale**2 == pytest.approx(-reply[3], abs=1e-9)
    size = factor.size
    assert not factor.append(column, others[which] @ others[which])
    assert factor.size == size


@free_or_fixed
@pytest.mark.parametrize("row", [0, 7, 29])
def test_a_copy_is_refused(shift, row):
    K = gaussian(30)
    factor = grown(K, list(range(30)), shift)
    assert_refused(factor, K[row], K[row, row], K, shift)


def test_linear_dependence_counts_only_without_a_border():
    """2 x is another point than x, but no other direction."""
    x = np.array([1.0, 2.0])
    assert not grown(np.array([[x @ x]]), [0], 0.0).append(np.array([2 * x @ x]), 4 * x @ x)
    assert grown(np.array([[x @ x]]), [0], 1.0).append(np.array([2 * x @ x]), 4 * x @ x)


def test_a_row_is_independent_again_when_its_copy_has_left():
    K = gaussian(5)
    factor = grown(K, [0, 1, 2, 3, 4], 1.0)
    assert not factor.append(K[1], K[1, 1])
    factor.remove(1)
    members = [0, 2, 3, 4]
    assert factor.append(K[1, members], K[1, 1])
    order = [*members, 1]
    assert_step(factor, K[np.ix_(order, order)], 1.0, EXACT)


@pytest.mark.parametrize("features", [1, 2, 4])
def test_a_linear_kernel_has_one_member_more_than_dimensions(features):
    inside = np.random.default_rng(0).integers(0, 10 // features, (30, features))
    X = np.vstack([np.zeros((1, features)), 9.0 * np.eye(features), inside])
    K = X @ X.T
    factor, members = MarginFactor(float(np.diag(K).mean())), []
    for row in range(len(X)):
        if factor.append(K[row, members], K[row, row]):
            members.append(row)
    assert members == list(range(features + 1))


# ---------------------------------------------------------------- many members at once


@free_or_fixed
@every_precision
@pytest.mark.parametrize("size", [1, 2, 60])
def test_a_block_factor_solves_the_margin_system(shift, dtype, tolerance, size):
    K = gaussian(80)
    index = np.sort(np.random.default_rng(1).permutation(80)[:size])
    factor = BlockFactor(K, index, shift, dtype)
    assert_step(factor, K[np.ix_(index, index)], shift, tolerance)
    x = np.linspace(-1.0, 1.0, size)
    wanted = np.linalg.solve(K[np.ix_(index, index)] + shift, x)
    assert factor.solve(x).dtype == np.float64
    assert np.abs(factor.solve(x) - wanted).max() <= tolerance * max(1.0, np.abs(wanted).max())


@every_precision
def test_a_block_factor_takes_several_right_sides_at_once(dtype, tolerance):
    K = gaussian(20)
    x = np.random.default_rng(0).standard_normal((20, 5))
    found = BlockFactor(K, np.arange(20), 1.0, dtype).solve(x)
    wanted = np.linalg.solve(K + 1.0, x)
    assert np.abs(found - wanted).max() <= tolerance * max(1.0, np.abs(wanted).max())


@every_precision
def test_pivots_are_those_of_the_cholesky_factor(dtype, tolerance):
    K = gaussian(40)
    factor = BlockFactor(K, np.arange(40), 1.0, dtype)
    pivots = np.linalg.cholesky(K + 1.0).diagonal()
    assert factor.largest == pytest.approx(pivots.max(), rel=1e-5)
    assert factor.least == pytest.approx(pivots.min() / pivots.max(), rel=1e-3)


@every_precision
@free_or_fixed
@pytest.mark.parametrize("rows", [[0, 1, 2, 1], [5, 5], [*range(30), 29]])
def test_copies_make_a_block_singular(dtype, tolerance, shift, rows):
    K = gaussian(30)
    K = K[np.ix_(rows, rows)]
    with pytest.raises(LinAlgError):
        BlockFactor(K, np.arange(len(rows)), shift, dtype)


@every_precision
def test_dependent_rows_make_a_block_singular(dtype, tolerance):
    points, others = corners()
    X = np.vstack([points, others[1:2]])
    BlockFactor(X @ X.T, np.arange(3), 1.0, dtype)
    with pytest.raises(LinAlgError):
        BlockFactor(X @ X.T, np.arange(4), 1.0, dtype)


def test_what_is_singular_in_single_precision_may_be_regular_in_double():
    K = gaussian(10)
    K = np.block([[K, K[:, :1]], [K[:1], K[:1, :1] + 1e-7]])
    index = np.arange(11)
    with pytest.raises(LinAlgError):
        BlockFactor(K, index, 1.0, np.float32)
    assert_step(BlockFactor(K, index, 1.0, np.float64), K, 1.0, 1e-6)


@every_precision
def test_an_indefinite_block_is_refused(dtype, tolerance):
    with pytest.raises(LinAlgError):
        BlockFactor(np.diag([3.0, 2.0, -1.0]), np.arange(3), 0.5, dtype)


@every_precision
def test_a_block_factor_leaves_the_matrix_as_it_was(dtype, tolerance):
    K = gaussian(20)
    before = K.copy()
    BlockFactor(K, np.arange(20), 1.0, dtype)
    assert np.array_equal(K, before)


# ---------------------------------------------------------------- panels


@pytest.fixture
def narrow_panels(monkeypatch):
    """From 20 rows on, panels of 8 columns."""
    monkeypatch.setattr(margin_system, "_ONE_CALL", 20)
    monkeypatch.setattr(margin_system, "_PANEL", 8)


panel_sizes = pytest.mark.parametrize("size", [1, 7, 20, 21, 24, 25, 32, 61])


@panel_sizes
@every_precision
def test_a_factor_in_panels_is_the_cholesky_factor(narrow_panels, size, dtype, tolerance):
    K = gaussian(size) + 1.0
    lower = K.astype(dtype)
    factor_in_panels(lower)
    assert lower.dtype == dtype
    rounding = 1e-12 if dtype is np.float64 else 1e-4
    assert np.abs(np.tril(lower) - np.linalg.cholesky(K)).max() <= rounding


@panel_sizes
@every_precision
def test_a_block_in_panels_solves_the_margin_system(narrow_panels, size, dtype, tolerance):
    K = gaussian(size)
    assert_step(BlockFactor(K, np.arange(size), 1.0, dtype), K, 1.0, tolerance)


@pytest.mark.parametrize("size", [19, 24, 61])
@pytest.mark.parametrize("copy", [1, 7, 8, 15, 18])
def test_a_singular_matrix_is_found_in_any_panel(narrow_panels, size, copy):
    rows = np.arange(size)
    rows[copy] = 0
    K = gaussian(size)[np.ix_(rows, rows)]
    with pytest.raises(LinAlgError):
        BlockFactor(K, np.arange(size), 1.0, np.float64)
    K[copy, copy] -= 0.5
    with pytest.raises(LinAlgError):
        factor_in_panels(K)


def test_two_real_panels_are_the_cholesky_factor(monkeypatch):
    monkeypatch.setattr(margin_system, "_ONE_CALL", 600)
    K = gaussian(700)
    lower = K.copy()
    factor_in_panels(lower)
    assert np.abs(np.tril(lower) - np.linalg.cholesky(K)).max() <= 1e-12


# ---------------------------------------------------------------- a factor used again

MEMBERS = st.sets(st.integers(0, 39), min_size=1, max_size=40).map(sorted)


@pytest.mark.parametrize("shift", [1.0, 0.0])
@every_precision
@settings(max_examples=80, deadline=None, derandomize=True)
@given(before=MEMBERS, after=MEMBERS, seed=st.integers(0, 99))
def test_a_revised_factor_solves_the_system_of_the_new_members(
    shift, dtype, tolerance, before, after, seed
):
    before, after = np.array(before), np.array(after)
    if np.array_equal(before, after):
        return
    K = gaussian(40, seed)
    factor = RevisedFactor(BlockFactor(K, before, shift, dtype), K, after)
    assert_step(factor, K[np.ix_(after, after)], shift, tolerance, seed)


@pytest.mark.parametrize(("came", "left"), [(1, 0), (0, 1), (3, 0), (0, 3), (2, 5), (30, 29)])
@free_or_fixed
@every_precision
def test_members_that_came_or_left(came, left, shift, dtype, tolerance):
    K = gaussian(60)
    order = np.random.default_rng(came + left).permutation(60)
    before = np.sort(order[:30])
    after = np.sort(order[left : 30 + came])
    factor = RevisedFactor(BlockFactor(K, before, shift, dtype), K, after)
    assert_step(factor, K[np.ix_(after, after)], shift, tolerance)


@pytest.mark.parametrize("solved", [1, 3, 7, 100])
def test_a_revision_does_not_depend_on_how_many_columns_are_solved_at_once(monkeypatch, solved):
    monkeypatch.setattr(margin_system, "_SOLVED", solved)
    K = gaussian(40)
    after = np.arange(4, 34)
    factor = RevisedFactor(BlockFactor(K, np.arange(30), 1.0, np.float64), K, after)
    assert_step(factor, K[np.ix_(after, after)], 1.0, EXACT)


@every_precision
def test_a_member_may_give_way_to_its_copy(dtype, tolerance):
    rows = np.append(np.arange(20), 3)
    K = gaussian(20)[np.ix_(rows, rows)]
    after = np.delete(np.arange(21), 3)
    factor = RevisedFactor(BlockFactor(K, np.arange(20), 1.0, dtype), K, after)
    assert_step(factor, K[np.ix_(after, after)], 1.0, tolerance)


@every_precision
@free_or_fixed
@pytest.mark.parametrize("left", [[], [5], [0, 1, 2]])
def test_a_revision_by_a_copy_is_singular(dtype, tolerance, shift, left):
    rows = np.append(np.arange(20), 12)
    K = gaussian(20)[np.ix_(rows, rows)]
    base = BlockFactor(K, np.arange(20), shift, dtype)
    with pytest.raises(LinAlgError):
        RevisedFactor(base, K, np.setdiff1d(np.arange(21), left))


@every_precision
def test_a_revision_by_two_copies_of_each_other_is_singular(dtype, tolerance):
    rows = np.append(np.arange(21), 20)
    K = gaussian(21)[np.ix_(rows, rows)]
    base = BlockFactor(K, np.arange(20), 1.0, dtype)
    with pytest.raises(LinAlgError):
        RevisedFactor(base, K, np.arange(22))


@every_precision
def test_a_revision_by_a_dependent_row_is_singular(dtype, tolerance):
    points, others = corners()
    X = np.vstack([points, others[1:2]])
    base = BlockFactor(X @ X.T, np.arange(3), 1.0, dtype)
    with pytest.raises(LinAlgError):
        RevisedFactor(base, X @ X.T, np.arange(4))
    exchanged = np.array([0, 2, 3])
    factor = RevisedFactor(base, X @ X.T, exchanged)
    K = (X @ X.T)[np.ix_(exchanged, exchanged)]
    assert_step(factor, K, 1.0, tolerance)
