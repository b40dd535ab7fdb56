"""Rows as they came, kept for transformers that are estimated anew."""

import numpy as np
import pytest
from scipy import sparse

from adiabat import SVC, make_pipeline
from adiabat.estimators.raw_rows import raw_rows
from tests.test_pipeline import columns_by_name, person_frame


def test_rows_are_kept_in_the_form_in_which_they_came():
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    frame = pandas.DataFrame(
        {
            "when": pandas.to_datetime(["2020-01-01", "2021-05-05", None]),
            "count": pandas.array([1, None, 3], dtype="Int64"),
            "size": pandas.Categorical(["s", "l", "m"], categories=["s", "m", "l"], ordered=True),
            "flag": [True, False, True],
            "text": ["x", None, "z"],
        }
    )
    pandas.testing.assert_frame_equal(raw_rows(frame).table(), frame)
    kept = raw_rows(frame[:2]).joined(raw_rows(frame[2:])).taken(np.array([2, 0])).table()
    expected = frame.iloc[[2, 0]].reset_index(drop=True)
    expected["size"] = expected["size"].cat.remove_unused_categories()
    pandas.testing.assert_frame_equal(kept, expected)
    other = polars.DataFrame(
        {"count": [1, None, 3], "size": [0.5, 1.5, float("nan")], "text": ["x", None, "z"]},
        schema_overrides={"text": polars.Categorical},
    )
    assert raw_rows(other).table().equals(other)
    assert raw_rows(other[:2]).joined(raw_rows(other[2:])).table().equals(other)


@pytest.mark.parametrize(
    ("held", "new", "words"),
    [
        (np.ones((2, 3)), np.ones((1, 2)), "X has 2 features, but Pipeline is expecting 3"),
        (sparse.eye_array(3), sparse.eye_array(2), "X has 2 features, but Pipeline is expecting 3"),
        (sparse.eye_array(3), np.ones((1, 3)), "ArrayRows beside SparseRows"),
    ],
)
def test_rows_of_another_form_are_refused(held, new, words):
    with pytest.raises(ValueError, match=words):
        raw_rows(held).joined(raw_rows(new))


def test_other_columns_are_refused():
    frame, y = person_frame("pandas")
    model = make_pipeline(columns_by_name(), SVC(), restandardise=True).fit(frame, y)
    with pytest.raises(ValueError, match="X: column 'year' where 'age' is held"):
        model.partial_fit(frame.rename(columns={"age": "year"})[:2], y[:2], ids=["x", "y"])
    with pytest.raises(ValueError, match="PolarsFrames beside PandasFrames"):
        model.partial_fit(person_frame("polars")[0][:2], y[:2])
