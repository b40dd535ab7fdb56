"""The manners of the verbs that change a model: exact, whole or not at all, and well told."""

import pickle
import warnings
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from adiabat import SVC
from adiabat.errors import ExactnessError, NotSeparableError, UnknownIdError
from adiabat.kernels import Exponential
from tests.test_progress import seen

EXACT = 1e-8  # of max(1, max|f|): what is promised
WORDS = np.array(["ant", "bee", "cat", "dog"])


def gaussian(A, B):
    return np.exp(-0.5 * ((A[:, None, :] - B[None, :, :]) ** 2).sum(axis=2))


def drawn(n=40, classes=2, seed=0, noise=0.6):
    rng = np.random.default_rng(seed)
    codes = np.arange(n) % classes
    X = rng.standard_normal((n, 3)) * noise
    X[np.arange(n), codes % 3] += 1.0 + codes // 3
    return X, WORDS[codes]


# ---------------------------------------------------------------- a model, and its rows in a list

SHOWN = {
    "dense": lambda new, _: new,
    "sparse": lambda new, _: sparse.csr_matrix(new),
    "matrix": gaussian,
}


class Book:
    """A model beside the plain list of the rows that it should hold."""

    def __init__(self, settings, X, y, shown="dense"):
        self.shown = SHOWN[shown]
        self.X, self.y, self.w, self.ids = X, y.astype("U9"), np.ones(len(y)), np.arange(len(y))
        self.model = SVC(**settings).fit(self.shown(X, X), self.y)

    def at(self, ids):
        return np.array([self.ids.tolist().index(name) for name in ids], dtype=int)

    def learn(self, X, y, w):
        self.X, self.w = np.vstack([self.X, X]), np.append(self.w, w)
        self.model.partial_fit(self.shown(X, self.X), y, sample_weight=w)
        self.ids = np.append(self.ids, self.model.ids_[len(self.ids) :])
        self.y = np.append(self.y, y)

    def unlearn(self, ids):
        self.model.unlearn(ids)
        gone = self.at(ids)
        for name in ("X", "y", "w", "ids"):
            setattr(self, name, np.delete(getattr(self, name), gone, axis=0))

    def relabel(self, ids, y):
        self.model.relabel(ids, y)
        self.y[self.at(ids)] = y

    def reweight(self, ids, w):
        self.model.reweight(ids, w)
        self.w[self.at(ids)] = w

    def revise(self, ids, X, y=None):
        self.X[self.at(ids)] = X
        self.model.revise(ids, self.shown(X, self.X), y)
        if y is not None:
            self.y[self.at(ids)] = y

    def agree(self):
        """The model is the one that a fresh fit on the rows gives, and proves it."""
        model = self.model
        fresh = model.fresh().fit(self.shown(self.X, self.X), self.y, self.w)
        assert model.ids_.tolist() == self.ids.tolist()
        assert model.classes_.tolist() == fresh.classes_.tolist()
        assert model.class_weight_ == pytest.approx(fresh.class_weight_, rel=1e-12)
        queries = self.shown(np.vstack([self.X, 0.8 * self.X + 0.1]), self.X)
        alike(model, fresh, queries)
        assert model.certificate().holds()


def alike(model, fresh, queries):
    model, fresh = (clone_of(m).set_params(decision_function_shape="ovo") for m in (model, fresh))
    values, expected = model.decision_function(queries), fresh.decision_function(queries)
    assert np.abs(values - expected).max() <= EXACT * max(1.0, np.abs(expected).max())


def clone_of(model):
    return model.copy()


SETTINGS = {
    "rbf": ({"gamma": 0.5}, "dense"),
    "linear": ({"kernel": "linear", "C": 0.5}, "dense"),
    "cubic": ({"kernel": "poly", "gamma": 0.5, "coef0": 1.0}, "dense"),
    "scale": ({"C": 10.0}, "dense"),
    "squared hinge": ({"gamma": 0.5, "loss": "squared_hinge"}, "dense"),
    "fixed bias": ({"gamma": 0.5, "fit_intercept": False}, "dense"),
    "balanced": ({"gamma": 0.5, "class_weight": "balanced"}, "dense"),
    "weighted": ({"gamma": 0.5, "class_weight": {"ant": 3.0}}, "dense"),
    "hard margin": ({"gamma": 8.0, "C": np.inf}, "dense"),
    "sparse": ({"gamma": 0.5}, "sparse"),
    "sparse linear": ({"kernel": "linear"}, "sparse"),
    "callable": ({"kernel": gaussian}, "dense"),
    "object": ({"kernel": Exponential(0.5)}, "dense"),
    "precomputed": ({"kernel": "precomputed"}, "matrix"),
}


@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("name", SETTINGS)
def test_every_verb_leads_where_a_fresh_fit_leads(name, classes):
    settings, shown = SETTINGS[name]
    X, y = drawn(28 if classes == 2 else 36, classes)
    new, labels = drawn(6, classes, seed=1)
    book = Book(settings, X, y, shown)
    book.learn(new[:1], labels[:1], [1.0])
    book.agree()
    book.learn(new[1:], labels[1:], [1.0, 0.0, 2.0, 1.0, 0.5])
    book.agree()
    book.relabel([3, 7], [y[4], y[6]])
    book.agree()
    book.reweight([3, 8, 9, 10], [0.0, 3.0, 0.5, 0.0])
    book.agree()
    book.revise([3, 11], X[[3, 11]] + 0.25)
    book.revise([12], X[[12]] - 0.25, [y[13]])
    book.agree()
    book.unlearn([0, 8, 12, len(X) + 1])
    book.agree()
    book.reweight([3, 10], 1.0)
    book.agree()


def test_a_fixed_bias_leans_where_it_did():
    book = Book({"gamma": 0.5, "fit_intercept": False, "intercept": 0.3}, *drawn())
    book.unlearn([1, 2])
    book.learn(*(part[3:5] for part in drawn(seed=3)), [1.0, 2.0])
    book.agree()
    assert book.model.intercept_.tolist() == [0.3]
    before = seen(book.model, book.X)
    with pytest.raises(ValueError, match="intercept"):  # it has two classes to lean between
        book.model.relabel(3, "cat")
    assert seen(book.model, book.X) == before


@pytest.mark.parametrize(
    "change",
    [{"C": 3.0}, {"C": 0.1}, {"gamma": 2.0}, {"kernel": "linear"}, {"loss": "squared_hinge"},
     {"fit_intercept": False}, {"class_weight": "balanced"}, {"kernel": gaussian}],
    ids=lambda change: str(next(iter(change))),
)  # fmt: skip
@pytest.mark.parametrize("classes", [2, 3])
def test_settings_may_change_between_edits(change, classes):
    X, y = drawn(30, classes)
    book = Book({"gamma": 0.5}, X, y)
    book.unlearn([2])
    book.model.set_params(**change)
    book.reweight([4, 5], [2.0, 0.0])
    book.agree()
    book.model.set_params(C=0.7)
    book.relabel([7], [y[8]])
    book.agree()


def test_gamma_is_what_its_word_means_now():
    X, y = drawn(30)
    model = SVC().fit(X, y).set_params(gamma=2.0).unlearn(29)
    assert model.gamma_ == 2.0
    model.set_params(gamma="auto").unlearn(28)
    assert model.gamma_ == 1.0 / 3.0
    model.set_params(gamma="scale").unlearn(27)  # frozen here
    scale = SVC().fit(X[:27], y[:27]).gamma_
    assert model.gamma_ == scale
    assert model.unlearn(range(10)).gamma_ == scale
    alike(model, model.fresh().fit(X[10:27], y[10:27]), X)
    model.set_params(kernel=gaussian).unlearn(10)
    model.set_params(kernel="rbf").unlearn(11)
    assert model.gamma_ == SVC().fit(X[12:27], y[12:27]).gamma_
    alike(model, model.fresh().fit(X[12:27], y[12:27]), X)


def test_features_do_not_become_lines_of_a_kernel_matrix():
    X, y = drawn(20)
    model = SVC(gamma=0.5).fit(X, y).set_params(kernel="precomputed")
    with pytest.raises(ValueError, match="kernel: 'precomputed' now"):
        model.unlearn(3)
    matrix = SVC(kernel="precomputed").fit(gaussian(X, X), y).set_params(kernel="rbf")
    with pytest.raises(ValueError, match="kernel: 'rbf' now"):
        matrix.unlearn(3)
    model.set_params(kernel="rbf").unlearn(3)
    alike(model, model.fresh().fit(np.delete(X, 3, axis=0), np.delete(y, 3)), X)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("seed", range(6))
def test_rows_of_a_kernel_matrix_never_meet_what_they_were(seed, loss):
    rng = np.random.default_rng(seed)
    X, y = drawn(20, 2 + seed % 2, seed)
    book = Book({"kernel": "precomputed", "C": 3.0, "loss": loss}, X, y, "matrix")
    for count in (3, 1, 20):
        ids = rng.choice(20, count, replace=False)
        book.relabel(ids, rng.permutation(y[ids]))
        book.agree()
        book.revise(ids, book.X[ids] + rng.standard_normal((count, 3)))
        book.agree()
        book.reweight(ids, rng.choice([0.5, 2.0], count))
        book.agree()


# ---------------------------------------------------------------- what the verbs say


def edits(X, y):
    return {
        "partial_fit": lambda m: m.partial_fit(X[:3] + 0.3, y[:3]),
        "unlearn": lambda m: m.unlearn([1, 2, 3]),
        "relabel": lambda m: m.relabel([1, 2, 3], y[[0, 3, 2]]),
        "reweight": lambda m: m.reweight([1, 2, 3], [0.0, 2.0, 0.5]),
        "revise": lambda m: m.revise([1, 2, 3], X[1:4] + 0.2),
    }


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("verb", edits(*drawn()))
def test_a_verb_returns_the_model_and_tells_what_it_did(verb, classes):
    X, y = drawn(40, classes)
    model = SVC(gamma=0.5).fit(X, y)
    work = model.work_
    assert edits(X, y)[verb](model) is model
    change = model.last_change_
    assert (change.verb, change.rows, change.solved) == (verb, 3, 0)
    assert change.seconds > 0
    assert change.kernel_evaluations > 0
    assert model.work_.kernel_evaluations == work.kernel_evaluations + change.kernel_evaluations
    assert model.work_.perturbations == work.perturbations + change.perturbations
    assert change.certificate.holds()
    came = sum(n for (before, _), n in change.flow.items() if before == "new")
    went = sum(n for (_, after), n in change.flow.items() if after == "gone")
    machines = classes - 1  # of each row
    assert came == (3 * machines if verb == "partial_fit" else went if verb == "relabel" else 0)
    assert went == (3 * machines if verb == "unlearn" else came if verb == "relabel" else 0)
    assert sum(change.flow.values()) == (len(model.ids_) + 3 * (verb == "unlearn")) * machines + (
        went if verb == "relabel" else 0
    )


def test_naming_nobody_changes_nothing():
    X, y = drawn()
    model = SVC(gamma=0.5).fit(X, y)
    values = model.decision_function(X).tolist()
    verbs = (model.unlearn, *(lambda i, y=y: model.relabel(i, y) for y in ([], "bee")))
    for verb in (*verbs, *(lambda i, w=w: model.reweight(i, w) for w in ([], 0.0))):
        verb([])
        assert model.last_change_.rows == 0
        assert model.decision_function(X).tolist() == values
    assert model.revise([], np.empty((0, 3))).decision_function(X).tolist() == values


class Similarity:
    def __call__(self, A, B):
        return gaussian(A, B)


@pytest.mark.parametrize("kernel", [gaussian, Similarity(), Exponential(0.5)])
def test_twins_of_a_model_follow_the_path_too(kernel):
    X, y = drawn()
    model = SVC(kernel=kernel).fit(X, y)
    for twin in (model.copy(), pickle.loads(pickle.dumps(model))):
        assert twin.unlearn(3).last_change_.solved == 0
    assert model.what_if(unlearn=3).change.solved == 0


def test_a_question_is_answered_and_changes_nothing():
    X, y = drawn(40, 3)
    model = SVC(gamma=0.5).fit(X, y).reweight(3, 2.0)
    before, change = seen(model, X), model.last_change_
    asked = {"unlearn": [1, 2], "relabel": ([1, 2], "ant"), "reweight": ([1, 2], 0.0)}
    for verb, words in asked.items():
        prospect = model.what_if(**{verb: words})
        assert seen(model, X) == before
        assert model.last_change_ is change
        twin = getattr(model.copy(), verb)(*(words if verb != "unlearn" else [words]))
        assert np.array_equal(prospect.decision_function(X), twin.decision_function(X))
        assert prospect.flow == twin.last_change_.flow
        assert prospect.certificate.holds()
    with pytest.raises(ValueError, match="what_if"):
        model.what_if()
    with pytest.raises(UnknownIdError):
        model.what_if(unlearn=99)
    with pytest.raises(TypeError, match="what_if: adapt=3; wanted settings by name"):
        model.what_if(adapt=3)


@pytest.mark.parametrize("classes", [2, 3])
def test_an_explanation_adds_up_to_the_decision_value(classes):
    X, y = drawn(30, classes)
    model = SVC(gamma=0.5, decision_function_shape="ovo").fit(X, y)
    position = int(model.support_[0])
    answer = model.explain(position, most=100)
    answers = answer if classes > 2 else {("bee", "ant"): answer}
    assert len(answers) == classes - 1
    values = model.decision_function(X[[position]]).ravel()
    pairs = [("bee", "ant")] if classes == 2 else [("ant", "bee"), ("ant", "cat"), ("bee", "cat")]
    kept = np.delete(np.arange(30), position)
    without = model.fresh().fit(X[kept], y[kept]).decision_function(X[[position]]).ravel()
    for pair, said in answers.items():
        k = pairs.index(pair)
        terms = [term for _, term in said.for_it + said.against_it]
        assert said.decision_value == pytest.approx(values[k], abs=EXACT)
        assert sum(terms) + said.bias == pytest.approx(values[k], abs=EXACT)
        assert said.leave_one_out_value == pytest.approx(without[k], abs=EXACT)
        assert (said.id, said.label) == (position, y[position])


def test_rows_that_nobody_can_do_without_are_explained_too():
    model = SVC(gamma=0.5).fit([[0.0], [1.0]], ["a", "b"], sample_weight=[1.0, 0.0])
    assert model.explain(0).leave_one_out_value is None
    assert model.explain(1).leave_one_out_value == 1.0
    assert SVC().fit([[0.0], [1.0]], ["a", "b"]).explain(0).leave_one_out_value is None
    with pytest.raises(ValueError, match="id: 2 ids; wanted one"):
        model.explain([0, 1])


def test_warnings_point_to_the_line_that_asked():
    X, y = drawn()
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        model = SVC(max_iter=1).partial_fit(X, y)
        model.unlearn(3)
    assert [str(warning.message).split(":")[0] for warning in told] == ["gamma", *["max_iter"] * 2]
    assert {Path(warning.filename) for warning in told} == {Path(__file__)}


# ---------------------------------------------------------------- ids and groups


@pytest.mark.parametrize(
    ("given", "held"),
    [
        (np.arange(4, dtype=np.uint8), [0, 1, 2, 3]),
        (np.array(["p", "q", "r", "s"]), ["p", "q", "r", "s"]),
        ([np.str_("p"), 7, np.int32(8), -1], ["p", 7, 8, -1]),
        ([2**70, 2**63 - 1, 0, "x"], [2**70, 2**63 - 1, 0, "x"]),
    ],
)
def test_ids_are_plain_integers_and_strings(given, held):
    X, y = drawn(4)
    model = SVC(gamma=0.5).fit(X, y, ids=given)
    assert model.ids_.tolist() == held
    assert {type(name) for name in model.ids_.tolist()} <= {int, str}
    model.partial_fit(X[:1] + 1.0, y[:1])  # counted beyond all of them
    largest = max((name for name in held if isinstance(name, int)), default=-1)
    assert model.ids_.tolist() == [*held, largest + 1]
    model.unlearn(given[0]).unlearn(np.array(given[1]))
    assert model.ids_.tolist() == [*held[2:], largest + 1]


def test_ids_never_shift_and_are_never_used_twice():
    X, y = drawn()
    model = SVC(gamma=0.5).fit(X, y).unlearn([0, 39, 38]).partial_fit(X[:2], y[:2])
    assert model.ids_.tolist() == [*range(1, 38), 40, 41]
    model.unlearn(model.ids_)
    assert not hasattr(model, "ids_")
    model.partial_fit(X[:4], y[:4])
    assert model.ids_.tolist() == [42, 43, 44, 45]
    twin = pickle.loads(pickle.dumps(model.unlearn(model.ids_)))
    assert twin.partial_fit(X[:2], y[:2]).ids_.tolist() == [46, 47]
    assert clone(twin).partial_fit(X[:2], y[:2]).ids_.tolist() == [0, 1]


@pytest.mark.parametrize("verb", sorted(edits(*drawn()).keys() - {"partial_fit"}))
def test_an_unknown_id_is_named_and_nothing_changes(verb):
    X, y = drawn()
    model = SVC(gamma=0.5).fit(X, y).unlearn(2)
    before = seen(model, X)
    with pytest.raises(KeyError, match=r"ids: 2 not held"):
        edits(X, y)[verb](model)
    assert seen(model, X) == before


def test_rows_go_by_their_groups():
    X, y = drawn()
    people = np.array(["Ann", "Bob", "Eve", "Kim"])[np.arange(40) % 4]
    model = SVC(gamma=0.5).fit(X[:30], y[:30], groups=people[:30])
    model.partial_fit(X[30:], y[30:], groups=people[30:]).partial_fit(X[:2] + 1, y[:2])
    before = seen(model, X)
    with pytest.raises(KeyError, match="groups: 'Tom' not held"):
        model.unlearn(groups=["Ann", "Tom"])
    with pytest.raises(KeyError, match="groups: None not held"):
        model.unlearn(groups=[None])
    assert seen(model, X) == before
    assert model.unlearn(groups="Bob").last_change_.rows == 10
    model.unlearn(groups=np.array(["Ann", "Kim"]))
    assert model.ids_.tolist() == [*range(2, 40, 4), 40, 41]
    numbers = SVC(gamma=0.5).fit(X, y, groups=np.where(np.arange(40) < 3, np.nan, np.arange(40)))
    assert numbers.unlearn(groups=np.int64(7)).last_change_.rows == 1
    with pytest.raises(KeyError, match="groups"):  # nobody said what they belong to
        numbers.unlearn(groups=np.nan)
    with pytest.raises(TypeError, match=r"groups: .* is a list; wanted numbers or strings"):
        numbers.partial_fit(X[:1], y[:1], groups=[[1]])


@pytest.mark.parametrize("named", [False, True])
def test_a_frame_brings_its_index_and_its_names(named):
    pandas = pytest.importorskip("pandas")
    X, y = drawn()
    frame = pandas.DataFrame(X, columns=["u", "v", "w"], index=[f"row {i}" for i in range(40)])
    frame = frame if named else frame.reset_index(drop=True)
    model = SVC(gamma=0.5).fit(frame[:30], y[:30]).partial_fit(frame[30:], y[30:])
    assert model.ids_.tolist() == frame.index.tolist()
    model.revise(frame.index[:2], frame[:2] + 0.1).unlearn(frame.index[5:7])
    held = frame.drop(frame.index[5:7]) + np.where(np.arange(38) < 2, 0.1, 0.0)[:, None]
    alike(model, model.fresh().fit(held, np.delete(y, [5, 6])), held)
    with pytest.raises(ValueError, match="feature names"):
        model.partial_fit(frame[["w", "v", "u"]][:1], y[:1], ids=["another"])
    with pytest.raises(ValueError, match="is held already"):
        model.partial_fit(frame[:1], y[:1])
    twice = frame.iloc[[0, 0]]
    assert model.partial_fit(twice, y[:2]).ids_[-2:].tolist() == ([0, 1] if named else [40, 41])


# ---------------------------------------------------------------- beginnings and ends


def test_one_class_can_be_learned_first():
    X, y = drawn(20)
    model = SVC(gamma=0.5).partial_fit(X[y == "bee"], y[y == "bee"])
    for question in (model.predict, model.decision_function):
        with pytest.raises(NotFittedError, match=r"only class .*bee.* was learned so far"):
            question(X)
    assert model.certificate().holds()
    model.partial_fit(X[y == "ant"], y[y == "ant"])
    order = np.argsort(y == "ant", kind="stable")
    alike(model, model.fresh().fit(X[order], y[order]), X)


def test_a_first_partial_fit_that_freezes_gamma_warns():
    X, y = drawn()
    with pytest.warns(UserWarning, match="gamma: 'scale' is frozen .*20 of them"):
        model = SVC().partial_fit(X[:20], y[:20])
    gamma = model.gamma_
    assert gamma == SVC().fit(X[:20], y[:20]).gamma_
    assert model.partial_fit(5.0 * X[20:], y[20:]).unlearn([3]).gamma_ == gamma
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        SVC(gamma=0.5).partial_fit(X, y)
        SVC(kernel="linear").partial_fit(X, y)


def test_the_last_row_leaves_an_unfitted_model():
    X, y = drawn(6)
    model = SVC(gamma=0.5).fit(X, y).unlearn(range(5))
    assert model.predict(X).tolist() == [y[5]] * 6
    model.unlearn(5)
    with pytest.raises(NotFittedError):
        model.predict(X)
    with pytest.raises(NotFittedError):
        model.unlearn(5)
    assert model.last_change_.rows == 1
    assert model.last_change_.certificate is None
    model.partial_fit(X[:, :2], y)  # other rows, of other features
    alike(model, model.fresh().fit(X[:, :2], y), X[:, :2])


def test_rows_that_do_not_count_cannot_be_all():
    X, y = drawn(8)
    model = SVC(gamma=0.5).fit(X, y)
    before = seen(model, X)
    with pytest.raises(ValueError, match="none of the 8 rows left would count"):
        model.reweight(range(8), 0.0)
    model.reweight([0, 1], 0.0)
    with pytest.raises(ValueError, match="none of the 2 rows left would count"):
        model.unlearn(range(2, 8))
    assert seen(model.copy().reweight([0, 1], 1.0), X)["labels"] == before["labels"]


def test_weights_of_classes_that_are_gone_do_not_matter():
    X, y = drawn()
    book = Book({"gamma": 0.5, "class_weight": {"bee": 2.0}}, X, y)
    book.model.unlearn(np.flatnonzero(y == "bee"))
    assert book.model.class_weight_.tolist() == [1.0]
    book.model.partial_fit(X[y == "bee"], y[y == "bee"])
    assert book.model.class_weight_.tolist() == [1.0, 2.0]
    order = np.argsort(y == "bee", kind="stable")
    alike(book.model, book.model.fresh().fit(X[order], y[order]), X)
    with pytest.raises(ValueError, match="class_weight: 'wasp' is no class of y"):
        SVC(class_weight={"wasp": 2.0}).fit(X, y)


# ---------------------------------------------------------------- refusals


BAD = {
    "width": lambda m, _: m.partial_fit([[1.0, 2.0]], ["ant"]),
    "nan": lambda m, _: m.partial_fit([[np.nan, 0.0, 0.0]], ["ant"]),
    "label of another kind": lambda m, X: m.partial_fit(X[:1], [1]),
    "label not expected": lambda m, X: m.partial_fit(X[:1], ["cow"], classes=["ant", "bee"]),
    "id held": lambda m, X: m.partial_fit(X[:2], ["ant", "bee"], ids=["a", 3]),
    "id twice": lambda m, _: m.unlearn([3, 3]),
    "id of no kind": lambda m, _: m.unlearn([1.5]),
    "ids and groups": lambda m, _: m.unlearn(3, groups="g"),
    "nothing named": lambda m, _: m.unlearn(),
    "labels too few": lambda m, _: m.relabel([1, 2, 3], ["ant", "bee"]),
    "label missing": lambda m, _: m.relabel([1], [None]),
    "negative weight": lambda m, _: m.reweight([1, 2], [1.0, -1.0]),
    "infinite weight": lambda m, _: m.reweight(1, np.inf),
    "weights too many": lambda m, _: m.reweight(1, [1.0, 2.0]),
    "rows too few": lambda m, X: m.revise([1, 2], X[:1]),
    "row of another width": lambda m, X: m.revise(1, X[:1, :2]),
    "setting": lambda m, _: m.set_params(C=-1.0).unlearn(1),
}


@pytest.mark.parametrize("bad", BAD.values(), ids=BAD.keys())
def test_bad_input_changes_nothing(bad):
    X, y = drawn(30, 3)
    model = SVC(gamma=0.5).fit(X, y).reweight(5, 2.0)
    before, change = seen(model, X), model.last_change_
    with pytest.raises((ValueError, TypeError)):
        bad(model, X)
    assert seen(model, X) == before
    assert model.last_change_ is change
    model.set_params(C=1.0).unlearn([0, 1])
    alike(model, model.fresh().fit(X[2:], y[2:], np.where(np.arange(2, 30) == 5, 2.0, 1.0)), X)


def test_a_row_that_breaks_separability_is_refused_with_its_ids():
    X, y = drawn(20, noise=0.1)
    model = SVC(kernel="linear", C=np.inf).fit(X, y, ids=[f"n{i}" for i in range(20)])
    before = seen(model, X)
    new = X[y == "ant"][:2].mean(axis=0, keepdims=True)
    for _ in range(2):
        with pytest.raises(NotSeparableError) as told:
            model.partial_fit(new, ["bee"], ids=["intruder"])
        assert "intruder" in told.value.ids
        assert told.value.distance == pytest.approx(0.0, abs=1e-6)
        assert seen(model, X) == before
    model.partial_fit(new, ["ant"])
    alike(model, model.fresh().fit(np.vstack([X, new]), [*y, "ant"]), X)


@pytest.mark.parametrize(
    "settings", [{"kernel": "sigmoid", "gamma": 1.0}, {"kernel": lambda A, B: -gaussian(A, B)}]
)
def test_an_indefinite_kernel_is_not_followed(settings):
    X, y = drawn()
    model = SVC(**settings).fit(X, y)
    before = seen(model, X)
    with pytest.raises(ExactnessError, match="not positive semidefinite"):
        model.partial_fit(X[:1], y[:1])
    with pytest.raises(ExactnessError, match="not positive semidefinite"):
        model.unlearn(3)
    assert seen(model, X) == before


def test_a_row_that_makes_a_matrix_indefinite_is_refused():
    X, y = drawn(20)
    model = SVC(kernel="precomputed").fit(gaussian(X, X), y).reweight(3, 2.0)
    before = seen(model, gaussian(X, X))
    with pytest.raises(ExactnessError):
        model.partial_fit(np.append(np.full(20, 3.0), 1.0)[None, :], ["ant"])
    assert seen(model, gaussian(X, X)) == before
    model.partial_fit(gaussian(X[:1] + 0.1, np.vstack([X, X[:1] + 0.1])), ["ant"])
    every = np.vstack([X, X[:1] + 0.1])
    fresh = model.fresh().fit(
        gaussian(every, every), [*y, "ant"], np.where(np.arange(21) == 3, 2, 1)
    )
    alike(model, fresh, gaussian(X, every))
