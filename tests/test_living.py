"""A model that is edited equals, after every edit, a fresh fit on what it holds."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from adiabat import SVC, NotSeparableError
from tests import collection, oracle

EXACT = 1e-8  # of max(1, max|f|): what is promised
MOST_ROWS = 60
CROWD = 100  # so much more rows and weight may come than the largest C was drawn for
WORDS = {"linear": "linear", "cubic": "poly", "rbf": "rbf"}


class Edited(RuleBasedStateMachine):
    """Random edits of a model, beside a plain list of the rows that it should hold."""

    labels = (-1.0, 1.0)

    def __init__(self):
        super().__init__()
        self.rng = np.random.default_rng(0)

    # -- what should be held

    @initialize(problem=collection.nasty(max_rows=25), seed=st.integers(0, 2**16))
    def begin(self, problem, seed):
        self.rng = np.random.default_rng(seed)
        self.problem, self.degree, self.class_weight = problem, 3, None
        unit = 1.0 if problem.kernel == "linear" else problem.gamma**-0.5
        self.scale = float(np.abs(problem.X).max()) or unit
        self.ids = np.arange(len(problem.y))
        self.X, self.y, self.w = problem.X, self.first_labels(), problem.sample_weight
        largest = float(problem.gram.diagonal().max()) or 1.0
        self.C = problem.C
        if np.isfinite(problem.C):
            self.C = min(problem.C, collection.LARGEST_PRODUCT / CROWD / largest)
        try:
            self.model = self.new().fit(self.X, self.y, self.w, ids=self.ids)
        except NotSeparableError:
            self.C = 1.0 / largest
            self.model = self.new().fit(self.X, self.y, self.w, ids=self.ids)
        self.next_id = len(self.ids)
        self.agree()

    def first_labels(self):
        return self.problem.y

    def new(self):
        word = WORDS[self.problem.kernel]
        return SVC(C=self.C, kernel=word, gamma=self.problem.gamma, degree=3)

    def bounds(self, w):
        weights = self.class_weight or {}
        if weights == "balanced":
            sums = {label: w[self.y == label].sum() for label in self.labels}
            there = [label for label in self.labels if sums[label] > 0]
            weights = {label: w.sum() / (len(there) * sums[label]) for label in there}
        own = np.array([weights.get(label, 1.0) for label in self.y.tolist()])
        return np.where(w > 0, self.C * own * np.where(w > 0, w, 1.0), 0.0)

    def drawn_rows(self, count):
        """Rows like those at the beginning: on their grid, some of them copies."""
        new = self.X[self.rng.integers(0, len(self.X), count)].copy()
        other = self.rng.random(count) < 0.6
        steps = self.rng.integers(-2, 3, new.shape) * self.scale / 8
        new[other] += steps[other]
        return new

    def drawn_labels(self, count):
        return self.rng.choice(self.labels, count)

    def other_labels(self, y):
        """Another label for most rows."""
        places = np.searchsorted(self.labels, y)
        places += self.rng.integers(1, len(self.labels), len(y))
        others = np.array(self.labels)[places % len(self.labels)]
        return np.where(self.rng.random(len(y)) < 2 / 3, others, y)

    def some(self, most=4):
        count = min(int(self.rng.integers(1, most + 1)), len(self.ids))
        return self.rng.choice(len(self.ids), count, replace=False)

    # -- edits

    @precondition(lambda self: len(self.ids) < MOST_ROWS)
    @rule(count=st.sampled_from((1, 1, 1, 2, 5)), weighty=st.booleans())
    def learn(self, count, weighty):
        new, ids = self.drawn_rows(count), np.arange(self.next_id, self.next_id + count)
        y = self.drawn_labels(count)
        w = np.ones(count) if weighty else self.rng.choice([0.0, 0.5, 1.0, 3.0], count)
        self.next_id += count
        self.edit(
            lambda model: model.partial_fit(new, y, sample_weight=w, ids=ids),
            np.append(self.ids, ids),
            np.vstack([self.X, new]),
            np.append(self.y, y),
            np.append(self.w, w),
        )

    @precondition(lambda self: len(self.ids) > 1)
    @rule()
    def unlearn(self):
        gone = self.some()[: len(self.ids) - 1]
        ids = self.ids[gone]
        self.edit(
            lambda model: model.unlearn(ids),
            *(np.delete(a, gone, axis=0) for a in (self.ids, self.X, self.y, self.w)),
        )

    @rule()
    def relabel(self):
        rows = self.some()
        y = self.y.copy()
        y[rows] = self.other_labels(y[rows])
        self.edit(lambda m: m.relabel(self.ids[rows], y[rows]), self.ids, self.X, y, self.w)

    @rule()
    def reweight(self):
        rows = self.some()
        w = self.w.copy()
        w[rows] = self.rng.choice([0.0, 0.5, 1.0, 3.0], len(rows))
        self.edit(lambda m: m.reweight(self.ids[rows], w[rows]), self.ids, self.X, self.y, w)

    @rule(labels=st.booleans())
    def revise(self, labels):
        rows = self.some()
        X, y = self.X.copy(), self.y.copy()
        X[rows] = self.drawn_rows(len(rows))
        if labels:
            y[rows] = self.drawn_labels(len(rows))
        self.edit(
            lambda m: m.revise(self.ids[rows], X[rows], y[rows] if labels else None),
            *(self.ids, X, y, self.w),
        )

    def edit(self, change, ids, X, y, w):
        """Make a change; one that leads nowhere has to be refused and to change nothing."""
        try:
            self.model.fresh().fit(X, y, w)
        except (NotSeparableError, ValueError) as error:  # no margin, or no row that counts
            with pytest.raises(type(error)):
                change(self.model)
        else:
            change(self.model)
            self.ids, self.X, self.y, self.w = ids, X, y, w
        self.agree()

    # -- other settings

    @rule(factor=st.sampled_from((0.05, 0.7, 1.0, 1.001, 1.5, 20.0)))
    def change_cost(self, factor):
        cost = self.C if np.isfinite(self.C) else self.tolerable(self.problem, self.degree)
        self.adapt(C=min(cost * factor, self.tolerable(self.problem, self.degree)))

    @rule()
    def ask_for_a_hard_margin(self):
        self.adapt(C=np.inf)

    @rule(weights=st.sampled_from((None, "balanced", (2.0, 1.0, 1.0), (0.25, 1.0, 3.0))))
    def weigh_classes(self, weights):
        named = isinstance(weights, tuple)
        self.adapt(
            class_weight=dict(zip((1.0, 0.0, -1.0), weights, strict=True)) if named else weights
        )

    @rule(factor=st.sampled_from((0.25, 0.99, 1.0, 2.0, 4.0)))
    def change_gamma(self, factor):
        self.reshape(gamma=self.problem.gamma * factor)

    @rule(degree=st.sampled_from((1, 2, 3)))
    def change_degree(self, degree):
        self.reshape(degree=degree)

    @rule(kernel=st.sampled_from(sorted(WORDS)))
    def change_kernel(self, kernel):
        self.reshape(kernel=kernel)

    def tolerable(self, problem, degree):
        """The largest C for a kernel on these rows, and on others like them."""
        rows = np.vstack([self.X, np.full(self.X.shape[1], self.scale)])
        largest = float(np.diagonal(self.gram_of(problem, degree, rows, rows)).max())
        return collection.LARGEST_PRODUCT / CROWD / largest

    def reshape(self, degree=None, **other):
        """Another kernel; C comes down with it where kernel values are too large for it."""
        problem, degree = replace(self.problem, **other), degree or self.degree
        most = self.tolerable(problem, degree)
        named = {"C": most} if most < self.C < np.inf else {}
        named |= {"kernel": WORDS[problem.kernel], "gamma": problem.gamma, "degree": degree}
        if self.adapt(**named):
            self.problem, self.degree = problem, degree
            self.agree()

    def adapt(self, **named):
        """Make a change of settings; one that leads nowhere has to be refused."""
        params = self.model.get_params()
        try:
            self.model.fresh().set_params(**named).fit(self.X, self.y, self.w)
        except NotSeparableError:
            with pytest.raises(NotSeparableError):
                self.model.adapt(**named)
            assert self.model.get_params() == params
            self.agree()
            return False
        assert self.model.adapt(**named).get_params() == params | named
        self.C, self.class_weight = self.model.C, self.model.class_weight
        if "kernel" not in named:
            self.agree()
        return True

    def gram_of(self, problem, degree, A, B):
        if problem.kernel == "cubic":
            return (problem.gamma * (A @ B.T)) ** degree
        return collection.KERNELS[problem.kernel](A, B, problem.gamma)

    def gram(self, A, B):
        return self.gram_of(self.problem, self.degree, A, B)

    # -- the judgement

    def agree(self):
        assert self.model.ids_.tolist() == self.ids.tolist()
        fresh = self.model.fresh().fit(self.X, self.y, self.w)
        proofs, known = members_of(self.model), members_of(fresh)
        assert self.model.classes_.tolist() == fresh.classes_.tolist()
        assert len(proofs) == len(known)
        for certificate, other in zip(proofs, known, strict=True):
            assert certificate.kkt_violation <= certificate.kkt_bar, certificate
            assert certificate.equality_residual <= certificate.equality_bar, certificate
            if other.holds():  # else rounding alone is more than is promised
                assert certificate.holds(), certificate
        values, expected = (m.decision_function(self.X).T for m in (self.model, fresh))
        for rows, y, own, others in zip(
            *self.tasks(), np.atleast_2d(values), np.atleast_2d(expected), strict=True
        ):
            size = EXACT * max(1.0, np.abs(own).max())
            assert np.abs(own - others).max() <= size
            self.judge(rows, y, own, size)

    def tasks(self):
        """Rows of each binary machine, and which of them stand for y = 1 there."""
        classes = self.model.classes_
        if len(classes) <= 2:
            return [np.arange(len(self.y))], [np.where(self.y == classes[-1], 1.0, -1.0)]
        pairs = [(i, j) for i in classes for j in classes if i < j]
        rows = [np.flatnonzero((self.y == i) | (self.y == j)) for i, j in pairs]
        return rows, [
            np.where(self.y[some] == i, 1.0, -1.0) for some, (i, _) in zip(rows, pairs, strict=True)
        ]

    def judge(self, rows, y, values, size):
        """Hold the decision values of one machine against the truth, where that can be told."""
        if len(self.model.classes_) == 1:
            assert (values == 1.0).all()
            return
        X = self.X[rows]
        try:
            truth = oracle.solve(self.gram(X, X), y, self.bounds(self.w)[rows])
        except oracle.OracleError:
            return
        assert np.abs(values - truth.decide(self.gram(self.X, X))).max() <= size


def members_of(model):
    """The certificates of all binary machines."""
    certificate = model.certificate()
    return list(getattr(certificate, "members", {"the only one": certificate}).values())


class ManyEdited(Edited):
    """The same with up to three classes, which come and go; at times hardly a column is kept."""

    labels = (-1.0, 0.0, 1.0)

    def first_labels(self):
        y = self.problem.y.copy()
        y[self.rng.random(len(y)) < self.rng.choice([0.0, 0.3, 0.6])] = 0.0
        return y

    def new(self):
        columns = float(self.rng.choice([1e-3, 1000.0]))
        return super().new().set_params(decision_function_shape="ovo", cache_size=columns)

    @rule()
    def let_a_class_vanish(self):
        gone = self.y == self.rng.choice(self.labels)
        w = np.where(gone, 0.0, self.w)
        self.edit(lambda m: m.reweight(self.ids[gone], 0.0), self.ids, self.X, self.y, w)

    @rule()
    def let_a_class_come_back(self):
        back = self.y == self.rng.choice(self.labels)
        w = np.where(back, 1.0, self.w)
        self.edit(lambda m: m.reweight(self.ids[back], 1.0), self.ids, self.X, self.y, w)


Edited.TestCase.settings = settings(
    max_examples=60,
    stateful_step_count=12,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
ManyEdited.TestCase.settings = Edited.TestCase.settings
TestAnyEditsInAnyOrder = Edited.TestCase
TestAnyEditsOfManyClasses = ManyEdited.TestCase
