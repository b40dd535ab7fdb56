"""Classes that come and go: one machine for each pair of them, each of them exact."""

import itertools

import numpy as np
import pytest

from adiabat import SVC, NotSeparableError
from tests.test_editing import SETTINGS, WORDS, Book, alike, drawn

every_setting = pytest.mark.parametrize("name", sorted(SETTINGS.keys() - {"weighted"}))


@pytest.mark.parametrize("name", sorted(SETTINGS.keys() - {"weighted", "hard margin"}))
def test_classes_come_and_go(name):
    settings, shown = SETTINGS[name]
    X, y = drawn(24)
    book = Book(settings, X, y, shown)
    new, labels = drawn(4, 4, seed=2)
    book.learn(new, labels, np.ones(4))  # the third and the fourth class
    assert book.model.classes_.tolist() == WORDS.tolist()
    book.agree()
    book.unlearn(book.ids[book.y == "cat"])
    book.agree()
    book.reweight(book.ids[book.y == "dog"], 0.0)
    assert book.model.classes_.tolist() == ["ant", "bee"]
    book.agree()
    book.relabel(book.ids[book.y == "bee"], np.full((book.y == "bee").sum(), "ant"))
    assert book.model.classes_.tolist() == ["ant"]
    assert set(book.model.predict(book.shown(book.X, book.X))) == {"ant"}
    book.agree()
    book.learn(new[1:2], labels[1:2], [1.0])
    book.reweight(book.ids[book.y == "dog"], 1.0)
    assert book.model.classes_.tolist() == ["ant", "bee", "dog"]
    book.agree()


@every_setting
def test_from_one_class_to_two_to_three_and_back(name):
    settings, shown = SETTINGS[name]
    X, y = drawn(24, 3)
    one, two, three = (np.flatnonzero(y == word) for word in WORDS[:3])
    book = Book({**settings, "gamma": 0.5}, X[two], y[two], shown)
    book.agree()
    for rows in (three, one):
        book.learn(X[rows], y[rows], np.ones(len(rows)))
        book.agree()
    for word in (WORDS[0], WORDS[2]):
        book.unlearn(book.ids[book.y == word])
        book.agree()
    assert book.model.classes_.tolist() == [WORDS[1]]


@every_setting
def test_a_class_without_weight_is_held_and_comes_back(name):
    settings, shown = SETTINGS[name]
    book = Book(settings, *drawn(27, 3), shown)
    for word in WORDS[:3]:
        rows = book.ids[book.y == word]
        book.reweight(rows, 0.0)
        assert word not in book.model.classes_
        book.agree()
        book.relabel(rows[:2], [other for other in WORDS[:3] if other != word])
        book.reweight(rows[:3], [1.0, 0.5, 2.0])
        book.agree()
        book.reweight(rows, 1.0)
        book.agree()


@every_setting
def test_rows_change_their_class_among_many(name):
    settings, shown = SETTINGS[name]
    X, y = drawn(32, 4)
    book = Book(settings, X, y, shown)
    for turn in (1, 2, 1):
        ids = book.ids[turn::7]
        labels = WORDS[(np.searchsorted(WORDS, book.y[turn::7]) + turn) % 4]
        if settings.get("C") == np.inf:  # there a row in the midst of others is none of theirs
            book.revise(
                ids, X[[int(np.flatnonzero(y == word)[1]) for word in labels]] + 0.01, labels
            )
        else:
            book.relabel(ids, labels)
        book.agree()


# ---------------------------------------------------------------- two become three


@pytest.mark.parametrize("warm", [False, True], ids=["first change", "living machine"])
@pytest.mark.parametrize("name", ["rbf", "linear", "squared hinge", "fixed bias", "precomputed"])
@pytest.mark.parametrize("word", ["ace", "asp", "cat"])
def test_the_machine_of_two_classes_turns_round_for_a_third(word, name, warm):
    settings, shown = SETTINGS[name]
    X, y = drawn(30)
    book = Book(settings, X, y, shown)
    if warm:
        book.reweight([3], 2.0)
    before, bias = book.model.decision_function(book.shown(X, X)), book.model.intercept_[0]
    new = drawn(1, seed=5)[0]
    book.learn(new, [word], [1.0])
    change = book.model.last_change_
    model = book.model
    kinds = {"reserve": model.reserve_, "margin": model.margin_, "error": model.error_}
    assert {pair: n for pair, n in change.flow.items() if "new" not in pair} == {
        (kind, kind): len(ids["ant", "bee"])
        for kind, ids in kinds.items()
        if len(ids["ant", "bee"])
    }
    assert change.perturbations == 0
    pairs = list(itertools.combinations(book.model.classes_, 2))
    model = book.model.copy().set_params(decision_function_shape="ovo")
    place = pairs.index(("ant", "bee"))
    assert model.intercept_[place] == -bias
    values = model.decision_function(book.shown(X, book.X))[:, place]
    assert values == pytest.approx(-before, abs=1e-13)  # there are more columns to add up
    book.agree()
    book.unlearn([book.ids[-1]])
    assert book.model.last_change_.perturbations == 0
    assert book.model.decision_function(book.shown(X, X)) == pytest.approx(before, abs=1e-13)
    book.agree()


def test_the_machine_that_turns_round_moves_on():
    X, y = drawn(30)
    new, labels = drawn(9, 3, seed=6)
    book = Book({"gamma": 0.5}, X, y)
    book.learn(new, labels, np.ones(9))  # a third class, and rows of the other two
    assert book.model.last_change_.solved == 0
    book.agree()
    gone = np.append(book.ids[book.y == "cat"], [0, 1, 2])
    book.unlearn(gone)
    assert book.model.last_change_.solved == 0
    book.agree()


# ---------------------------------------------------------------- what fails


def test_a_refused_change_does_not_leave_half_of_it_behind():
    X, y = drawn(30, 3, noise=0.1)
    book = Book({"kernel": "linear", "C": np.inf}, X, y)
    book.reweight(book.ids, 2.0)
    intruder = X[y == "cat"][:2].mean(axis=0, keepdims=True)
    for _ in range(2):
        with pytest.raises(NotSeparableError):  # the pair of ant and bee has moved by then
            book.model.partial_fit(np.vstack([0.9 * X[:2], intruder]), [*y[:2], "bee"])
        book.agree()
        book.reweight(book.ids[:3], 1.0)
        book.agree()


def test_naming_nobody_of_many_classes_changes_nothing():
    X, y = drawn(30, 3)
    model = SVC(gamma=0.5).fit(X, y).reweight(3, 2.0)
    model.unlearn([]).relabel([], "bee").reweight([], 0.0)
    assert model.last_change_.kernel_evaluations == 0
    alike(model, model.fresh().fit(X, y, np.where(np.arange(30) == 3, 2.0, 1.0)), X)
