"""What a pipeline remembers and forgets, and what others see while it is changed."""

import logging
import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError
from sklearn.preprocessing import FunctionTransformer, MinMaxScaler, StandardScaler

from adiabat import SVC, NotSeparableError, Pipeline, growing_gram, make_pipeline
from adiabat.errors import BusyError
from tests.test_forgetting import Remains, left_of, near
from tests.test_pipeline import alike, both_ways, columns_by_name, drawn, person_frame, seen
from tests.test_progress import Interruptible
from tests.test_readers import Readers, Visited, frequent_turns  # noqa: F401

# ---------------------------------------------------------------- what it remembers


def test_it_says_which_steps_remember(caplog):
    X, y = drawn()
    model = make_pipeline(StandardScaler(), FunctionTransformer(), PCA(2), SVC()).fit(X, y)
    assert model.remembers_ == {}
    model.partial_fit(X[:5] + 0.1, y[:5]).unlearn([40, 41])  # they were never estimated on
    assert model.remembers_ == {}
    with caplog.at_level(logging.INFO, logger="adiabat"):
        model.unlearn([3, 4, 42]).revise([5, 43], X[:2])
    assert model.remembers_ == {"standardscaler": 3, "pca": 3}
    assert "standardscaler: estimated on 3 rows that were forgotten or revised" in caplog.text
    assert model.unlearn(5).remembers_ == {"standardscaler": 3, "pca": 3}  # it had gone before
    assert pickle.loads(pickle.dumps(model)).remembers_ == model.remembers_
    assert model.copy().remembers_ == model.remembers_
    assert model.fit(X, y).remembers_ == {}
    assert model.set_params(restandardise=True).fit(X, y).unlearn(3).remembers_ == {}


GONE = [2, 3, 17, 31]


@pytest.mark.parametrize("kind", ["array", "pandas", "polars", "sparse"])
def test_no_byte_of_unlearned_rows_is_left(kind):
    X, y = drawn()
    ids = [f"name-{i:03}." for i in range(40)]
    made = {
        "array": np.asarray,
        "sparse": sparse.csr_matrix,
        "pandas": lambda X: pytest.importorskip("pandas").DataFrame(X, columns=list("uvw")),
        "polars": lambda X: pytest.importorskip("polars").DataFrame(X, schema=list("uvw")),
    }[kind]
    scaler = StandardScaler(with_mean=kind != "sparse")
    model = make_pipeline(scaler, SVC(gamma=0.5), restandardise=True)
    model.fit(made(X[:34]), y[:34], ids=ids[:34]).partial_fit(made(X[34:]), y[34:], ids=ids[34:])
    model.reweight(ids[0], 2.0)
    gone = [ids[i] for i in GONE]
    before = model[:-1].transform(made(X))[GONE]
    before = before.toarray() if sparse.issparse(before) else before
    traces = [*X[GONE].ravel(), *gone]
    assert set(left_of(model, traces)) == set(traces)
    assert left_of(model, before.ravel().tolist())
    model.unlearn(gone)
    traces += before.ravel().tolist()
    assert left_of(model, traces) == []
    assert left_of(model.reweight(ids[0], 1.0), traces) == []


@pytest.mark.parametrize("rows", [2, 3])
def test_rows_that_the_others_are_measured_from_are_forgotten(rows):
    X, y = drawn()
    X[:, 1] = np.where(np.arange(40) < rows, 1234.56789, X[:, 1])  # the same for the first ones
    model = make_pipeline(FunctionTransformer(), SVC(gamma=0.5), restandardise=True)
    model.partial_fit(X[:rows], y[:rows]).partial_fit(X[rows:], y[rows:])
    model.unlearn(range(rows))
    assert left_of(model, X[:rows].ravel().tolist()) == []
    assert not near(Remains(model), X[:rows])


@pytest.mark.parametrize("library", ["pandas", "polars"])
@pytest.mark.parametrize("kind", ["text", "category"])
def test_no_category_of_unlearned_rows_is_left(library, kind):
    frame, y = person_frame(library)
    towns = ["a far-off town" if i in GONE else town for i, town in enumerate(frame["town"])]
    if library == "pandas":
        frame["town"] = towns
        frame = frame.astype({"town": "category"}) if kind == "category" else frame
    else:
        import polars as pl

        dtype = pl.Categorical if kind == "category" else pl.String
        frame = frame.with_columns(pl.Series("town", towns, dtype=dtype))
    model = make_pipeline(columns_by_name(), SVC(), restandardise=True).fit(frame, y)
    assert left_of(model, ["a far-off town"])
    ages = np.asarray(frame["age"])[GONE]
    traces = ["a far-off town", *ages[~np.isnan(ages)]]
    model.unlearn(GONE)
    assert left_of(model, traces) == []


@both_ways
def test_revised_features_are_forgotten(anew):
    X, y = drawn()
    model = make_pipeline(StandardScaler(), SVC(gamma=0.5), restandardise=anew).fit(X, y)
    values = model[:-1].transform(X)[GONE].ravel().tolist()
    model.revise(GONE, 0.7 * X[GONE])
    assert left_of(model, [*X[GONE].ravel(), *values]) == []


@both_ways
def test_after_the_last_row_nothing_is_left(anew):
    X, y = drawn()
    model = make_pipeline(StandardScaler(), SVC(gamma=0.5), restandardise=anew).fit(X, y)
    mean = model[0].mean_
    model.unlearn(range(40))
    assert left_of(model, [*X.ravel(), *mean]) == []
    assert not hasattr(model, "ids_")
    assert model.last_change_.verb == "unlearn"
    with pytest.raises(NotFittedError):
        model.unlearn(3)


# ---------------------------------------------------------------- transactions and readers


@both_ways
def test_a_verb_that_fails_leaves_everything_as_it_was(anew):
    X, y = drawn()
    model = make_pipeline(StandardScaler(), SVC(gamma=0.5), restandardise=anew).fit(X, y)
    model.unlearn(39)
    before, bad = seen(model, X), X[:2].copy()
    bad[0, 0] = np.inf
    failing = {
        "infinity": lambda: model.partial_fit(bad, y[:2]),
        "held already": lambda: model.partial_fit(X[:2], y[:2], ids=[99, 3]),
        "one kind": lambda: model.partial_fit(X[:2], [1, 2]),
        "77": lambda: model.unlearn([1, 77]),
        "either ids or groups": model.unlearn,
        "one label for each": lambda: model.relabel([1, 2], ["a"] * 3),
        "none of the 39 rows": lambda: model.reweight(model.ids_, 0.0),
        "a row for each id": lambda: model.revise([1, 2, 3], X[:2]),
        "is expecting 3 features": lambda: model.revise([1, 2], X[:2, :2]),
        "nothing named": model.adapt,
        "name a setting twice": lambda: model.adapt(C=1.0, svc__C=2.0),
        "restandardise": lambda: model.set_params(restandardise=3).fit(X, y),
    }
    for words, verb in failing.items():
        with pytest.raises((ValueError, KeyError, TypeError), match=words):
            verb()
        model.set_params(restandardise=anew)
        assert seen(model, X) == before
    assert isinstance(model.unlearn(1), Pipeline)
    assert model.certificate().holds()


def test_a_hard_margin_that_is_lost_loses_nothing_else():
    X, y = drawn()
    y = np.where(X[:, 0] > 0.5, "a", "b")
    model = make_pipeline(StandardScaler(), SVC(kernel="linear", C=np.inf), restandardise=True)
    before = seen(model.fit(X, y), X)
    with pytest.raises(NotSeparableError, match=r"classes 'b' and 'a'|classes 'a' and 'b'"):
        model.relabel(range(4), np.where(y[:4] == "a", "b", "a"))
    assert seen(model, X) == before


@both_ways
@pytest.mark.parametrize("after", range(0, 12, 3))
def test_an_interrupt_leaves_everything_as_it_was(after, anew):
    X, y = drawn()
    kernel = Interruptible()
    model = make_pipeline(StandardScaler(), SVC(kernel=kernel), restandardise=anew).fit(X, y)
    before = seen(model, X)
    kernel.left = after
    try:
        model.unlearn([1, 2]).partial_fit(X[:4] + 0.1, y[:4])
    except KeyboardInterrupt:
        kernel.left = None
        if len(model.ids_) == 40:
            assert seen(model, X) == before
    kernel.left = None
    held = model.ids_
    assert held.tolist() in ([*range(40)], [0, *range(3, 40)], [0, *range(3, 44)])
    assert model.certificate().holds()


@both_ways
def test_a_second_writer_is_told(anew):
    X, y = drawn()
    kernel, told = Visited(), []
    model = make_pipeline(StandardScaler(), SVC(kernel=kernel), restandardise=anew).fit(X, y)

    def visit():
        for edit in (lambda: model.unlearn(1), lambda: model.fit(X, y), lambda: model.adapt(C=2)):
            with pytest.raises(BusyError):
                edit()
            told.append(edit)

    kernel.visit = visit
    model.partial_fit(X[:2] + 0.1, y[:2])
    assert len(told) == 3
    assert len(model.ids_) == 42


@both_ways
def test_readers_see_one_state_or_the_next(anew, frequent_turns):  # noqa: F811
    X, y = drawn(24)
    model = make_pipeline(StandardScaler(), SVC(gamma=0.5), restandardise=anew).fit(X, y)
    rng = np.random.default_rng(0)

    def ask():
        return model.decision_function(X[:5]).tobytes()

    committed = {ask()}
    with Readers(ask) as readers:
        for count in range(60):
            match count % 4:
                case 0:
                    model.partial_fit(X[:1] * rng.uniform(0.5, 2.0), y[:1], ids=[1000 + count])
                case 1:
                    model.revise(3, X[3:4] * rng.uniform(0.5, 2.0))
                case 2:
                    model.unlearn(998 + count)
                case _:
                    model.fit(X * rng.uniform(0.5, 2.0, 3), y)
            committed.add(ask())
    assert readers.answers <= committed
    assert len(readers.answers) > 1


def test_the_size_of_a_change_is_looked_at_before_memory_is_taken(monkeypatch):
    X, y = drawn()
    model = make_pipeline(StandardScaler(), SVC(gamma=0.5), restandardise=True).fit(X, y)
    before = seen(model, X)
    with monkeypatch.context() as patch:
        patch.setattr(growing_gram, "NOTABLE", 0)
        patch.setattr(growing_gram, "available_memory", lambda: 1000)
        with pytest.raises(MemoryError, match="takes 2016 bytes for rows as they came"):
            model.partial_fit(X[:2], y[:2])
    assert seen(model, X) == before
    assert len(model.partial_fit(X[:2], y[:2]).ids_) == 42


@both_ways
def test_other_steps_may_be_put_in(anew):
    X, y = drawn()
    model = make_pipeline(StandardScaler(), SVC(gamma=0.5), restandardise=anew).fit(X, y)
    model.unlearn(3).set_params(svc=SVC(gamma=2.0))
    assert model.remembers_ == {}
    with pytest.raises(NotFittedError):
        model.unlearn(4)
    model.fit(X, y)
    if anew:  # the next change is made with the steps that there are
        model.set_params(standardscaler=MinMaxScaler()).unlearn(3)
        alike(model, model.fresh().fit(np.delete(X, 3, axis=0), np.delete(y, 3)), X)


def test_changes_behind_its_back_are_noticed():
    X, y = drawn()
    model = make_pipeline(StandardScaler(), SVC(), restandardise=True).fit(X, y)
    model[-1].unlearn(3)
    with pytest.raises(ValueError, match="svc: it holds 39 rows, and 40 came through"):
        model.unlearn(4)
