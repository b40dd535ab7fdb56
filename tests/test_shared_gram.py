"""Shared kernel values: right whatever was asked before, computed once, within their budget."""

from collections import Counter
from dataclasses import dataclass

import numpy as np
import pytest
from scipy import sparse

from adiabat import SVC, growing_gram
from adiabat.growing_gram import GrowingGram, OwnColumns
from adiabat.kernels import RBF, Linear, Precomputed, Rows, made_ready
from adiabat.shared_gram import SharedColumns, SharedGram
from tests.test_forgetting import Remains

PLENTY = 1 << 30
COMPUTED = Counter()


@dataclass(frozen=True)
class Counted(RBF):
    """A kernel that counts the values that were asked of it."""

    def block(self, a, b):
        COMPUTED["values"] += len(a) * len(b)
        return super().block(a, b)


def computed_by(action):
    before = COMPUTED["values"]
    action()
    return COMPUTED["values"] - before


class Held:
    """Shared rows beside a plain list of them, by their names."""

    def __init__(self, X, kernel=None, budget=PLENTY, form=np.asarray):
        self.kernel, self.form = Counted(0.5) if kernel is None else kernel, form
        everyone = np.arange(len(X))
        self.gram = SharedGram(self.kernel, *self.ready(X), budget)
        self.X = dict(zip(everyone.tolist(), X, strict=True))

    def ready(self, X):
        every = np.arange(len(X))
        return made_ready(self.kernel, Rows(self.form(X)), every, every)

    def append(self, X):
        names = self.gram.append(*self.ready(X)).tolist()
        assert not set(names) & set(self.X)
        self.X |= dict(zip(names, X, strict=True))

    def remove(self, names):
        self.gram.remove(names)
        for name in names:
            del self.X[name]

    def right(self, owners, others):
        """Values are those of the data; as many were computed as are said to have been."""
        before = COMPUTED["values"]
        values, computed = self.gram.values(owners, others)
        assert COMPUTED["values"] - before in (computed, 0)
        A, B = (np.array([self.X[name] for name in names]) for names in (owners, others))
        differences = A[:, None, :] - B[None, :, :]
        expected = np.exp(-0.5 * (differences**2).sum(axis=2))
        assert values == pytest.approx(expected, abs=1e-14)
        return computed

    def within_budget(self):
        gram = self.gram
        assert len(gram.table) <= gram.capacity
        assert not gram.table[~gram.known].any()
        assert not gram.known[:, len(gram) :].any()


def some(rng, names, most):
    return rng.choice(names, min(int(rng.integers(1, most + 1)), len(names)), replace=False)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix], ids=["dense", "sparse"])
@pytest.mark.parametrize("columns", [1, 3, 10, 1000])
def test_values_are_right_whatever_was_asked_before(columns, form):
    rng = np.random.default_rng(columns)
    held = Held(rng.standard_normal((20, 3)), budget=columns * 9 * 38, form=form)
    for _ in range(150):
        names = np.array(list(held.X))
        turn = rng.random()
        if turn < 0.15:
            held.append(rng.standard_normal((int(rng.integers(1, 9)), 3)))
        elif turn < 0.3 and len(names) > 5:
            held.remove(some(rng, names, 4))
        else:
            held.right(some(rng, names, min(held.gram.capacity, 12)), some(rng, names, 40))
        held.within_budget()


def test_nothing_is_computed_twice_while_there_is_room():
    rng = np.random.default_rng(0)
    held = Held(rng.standard_normal((30, 3)))
    a, b, c = np.arange(10), np.arange(10, 20), np.arange(20, 30)
    assert held.right(a[:5], np.concatenate([a, b])) == 100
    assert held.right(a[:5], np.concatenate([a, c])) == 50  # its own class is known
    assert held.right(b[:5], np.concatenate([a, b])) == 75  # and so are the columns of a
    assert held.right(a[:6], np.concatenate([a, b])) == 10  # but for what nobody had asked
    held.append(rng.standard_normal((1, 3)))
    assert held.right(np.array([30]), np.append(a, 30)) == 31  # a new row is for everybody
    assert held.right(np.array([30]), np.concatenate([b, c])) == 0
    assert held.right(a[:5], np.array([30])) == 0


def test_what_is_used_stays_and_what_is_not_goes():
    held = Held(np.random.default_rng(1).standard_normal((30, 3)), budget=4 * 9 * 49)
    everyone = np.arange(30)
    for owner in (0, 1, 2, 3, 0, 4):
        held.right(np.array([owner]), everyone)
    assert held.right(np.array([0, 2, 3, 4]), everyone) == 0
    assert held.right(np.array([1]), everyone) == 30 - 3
    held.within_budget()


def test_a_row_that_is_removed_leaves_nothing():
    rng = np.random.default_rng(2)
    X = rng.standard_normal((20, 3))
    held = Held(X, kernel=Linear())
    everyone = np.arange(20)
    held.gram.values(everyone[:12], everyone)
    gone = np.array([3, 11, 15, 19])
    assert Remains(held.gram).found((X[:12] @ X[gone].T).ravel().tolist())
    held.remove(gone)
    assert Remains(held.gram).found([*(X @ X[gone].T).ravel(), *X[gone].ravel()]) == []
    kept = held.gram.values(everyone[:2], np.array([0, 4, 18]))
    assert kept[1] == 0
    assert kept[0] == pytest.approx(X[:2] @ X[[0, 4, 18]].T, abs=1e-14)


def test_lines_of_a_kernel_matrix_are_shared_too():
    X = np.random.default_rng(3).standard_normal((14, 3))
    matrix, first, new = X @ X.T, np.arange(10), np.arange(10, 14)
    gram = SharedGram(Precomputed(), *made_ready(Precomputed(), Rows(matrix), first, first), PLENTY)
    gram.remove(np.array([2, 9]))
    columns = np.concatenate([gram.names, new])
    names = gram.append(*made_ready(Precomputed(), Rows(matrix), new, columns))
    assert sorted(names) == [2, 9, 10, 11]
    real = np.array([0, 1, 10, 3, 4, 5, 6, 7, 8, 11, 12, 13])  # 2 and 9 are other rows now
    everyone = np.arange(12)
    values, _ = gram.values(everyone, everyone)
    assert values == pytest.approx(matrix[np.ix_(real, real)], abs=1e-14)
    assert gram.diagonal(everyone) == pytest.approx(matrix.diagonal()[real])


def test_a_machine_reads_the_same_from_what_is_shared_and_from_its_own():
    rng = np.random.default_rng(4)
    X, ridge = rng.standard_normal((40, 3)), rng.random(40)
    kernel, part = RBF(0.5), np.array([3, 5, 7, 8, 20, 31, 32, 39])
    every = np.arange(40)
    shared = SharedGram(kernel, *made_ready(kernel, Rows(X), every, every), 5 * 9 * 80)
    own = OwnColumns(kernel, kernel.prepare(Rows(X[part]), np.float64))
    one, other = (
        GrowingGram(source, ridge[part], 4) for source in (SharedColumns(shared, part), own)
    )
    for gram in (one, other):
        gram.keep_all(np.array([1, 2]))
        gram.remove(1)
    more = np.array([11, 12])
    one.append(more, ridge[more])
    other.append(kernel.prepare(Rows(X[more]), np.float64), ridge[more])
    rows, weights = np.array([0, 1, 2, 8]), rng.standard_normal(4)
    assert one.times(rows, weights) == pytest.approx(other.times(rows, weights), abs=1e-14)
    assert one.expanded(rows, weights) == pytest.approx(other.expanded(rows, weights), abs=1e-14)
    for row in range(len(one)):
        assert one.column(row) == pytest.approx(other.column(row), abs=1e-14)


def test_room_for_columns_is_asked_for(monkeypatch):
    held = Held(np.random.default_rng(5).standard_normal((50, 3)))
    monkeypatch.setattr(growing_gram, "NOTABLE", 0)
    monkeypatch.setattr(growing_gram, "available_memory", lambda: 1000)
    with pytest.raises(MemoryError, match="50 rows"):
        held.gram.values(np.arange(20), np.arange(50))


# ---------------------------------------------------------------- a model of many classes


def drawn(classes, n, seed=0):
    rng = np.random.default_rng(seed)
    codes = np.arange(n) % classes
    centres = 1.2 * np.random.default_rng(99).standard_normal((classes, 5))
    return centres[codes] + 0.6 * rng.standard_normal((n, 5)), codes


@pytest.mark.parametrize("cache_size", [1000, 0.01])
@pytest.mark.parametrize(("classes", "n"), [(3, 90), (5, 150)])
def test_a_change_says_how_many_kernel_values_it_took(classes, n, cache_size):
    X, y = drawn(classes, n)
    new, labels = drawn(classes, 25, seed=1)
    model = SVC(kernel=Counted(0.5), cache_size=cache_size).fit(X, y)
    verbs = [
        lambda: model.reweight(range(0, n, 7), 2.0),
        lambda: model.partial_fit(new[:1], labels[:1]),
        lambda: model.unlearn(model.support_[:1]),
        lambda: model.relabel([3, 4], [0, 1]),
        lambda: model.partial_fit(new[1:21], labels[1:21]),
        lambda: model.unlearn(model.ids_[10:20]),
    ]
    for verb in verbs:
        before = model.work_.kernel_evaluations
        computed = computed_by(verb)
        assert model.last_change_.solved == 0
        assert model.last_change_.kernel_evaluations == computed
        assert model.work_.kernel_evaluations == before + computed


@pytest.mark.parametrize(("classes", "n"), [(3, 90), (5, 150)])
def test_a_new_row_costs_one_column(classes, n):
    X, y = drawn(classes, n)
    model = SVC(gamma=0.5).fit(X, y).reweight(range(n), 1.5)
    far = X[y == 1].mean(axis=0, keepdims=True)  # in the midst of its class: nothing moves
    model.partial_fit(far, [1])
    assert model.last_change_.perturbations == 0
    assert model.last_change_.kernel_evaluations == n + 1


def test_a_label_that_is_another_leaves_the_row_as_it_is():
    X, y = drawn(4, 120)
    model = SVC(gamma=0.5).fit(X, y).reweight(range(120), 1.5)
    row = int(model.support_[0])
    model.relabel(row, int(y[row] + 1) % 4).relabel(row, int(y[row]))
    model.relabel(row, int(y[row] + 1) % 4)
    assert model.last_change_.kernel_evaluations == 0
