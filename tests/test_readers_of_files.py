"""Files of rows: each format is read as it is meant, and what is wrong is said in one sentence."""

import io

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

from adiabat.cli.faults import InputError
from adiabat.cli.model_files import opened
from adiabat.cli.reading import READERS, read
from adiabat.cli.roles import Roles, assigned, features_of, ids_of, labels_of
from adiabat.cli.speech import Manner
from adiabat.cli.table import id_of
from adiabat.cli.training import Wish, train

ASKED = {"target": "y", "id": None, "dropped": (), "encode": False, "categories": ()}
GOOD_CSV = "id,a,b,y\n7,1.5,2,yes\n8,-1,3e2,no\n9,0,.5,yes\n"
GOOD_SVMLIGHT = "+1 1:0.5 3:2 # first\n-1 2:1e2\n\n+1 3:-4\n"


def write(folder, name, content):
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return str(path)


def taken(path, kind=None, **asked):
    """Features, labels and ids of a file, as ``train`` takes them."""
    table = read(path, kind)
    roles = assigned(table, **{**ASKED, **asked})
    return features_of(table, roles, 0), labels_of(table, roles), ids_of(table, roles)


# -- what is right


@pytest.mark.parametrize("separator", [",", ";", "\t"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_csv_file_is_read(tmp_path, separator, mark, end):
    text = mark + GOOD_CSV.replace(",", separator).replace("\n", end)
    X, y, ids = taken(write(tmp_path, "rows.csv", text), id="id")
    assert X.columns.tolist() == ["a", "b"]
    assert X.to_numpy().tolist() == [[1.5, 2.0], [-1.0, 300.0], [0.0, 0.5]]
    assert y.tolist() == ["yes", "no", "yes"]
    assert ids == [7, 8, 9]


def test_quotes_hold_separators_and_lines(tmp_path):
    text = 'a,"the, y"\n1,"left\nside"\n2,right\n'
    _, y, _ = taken(write(tmp_path, "rows.csv", text), target="the, y")
    assert y.tolist() == ["left\nside", "right"]


def test_a_tsv_file_may_hold_commas(tmp_path):
    X, y, _ = taken(write(tmp_path, "rows.tsv", "a\ty\n1\tx,1\n2\tx,2\n"))
    assert X["a"].tolist() == [1.0, 2.0]
    assert y.tolist() == ["x,1", "x,2"]


def test_an_svmlight_file_is_read(tmp_path):
    X, y, ids = taken(write(tmp_path, "rows.svm", GOOD_SVMLIGHT), target=None)
    assert X.toarray().tolist() == [[0.5, 0, 2], [0, 100, 0], [0, 0, -4]]
    assert y.tolist() == [1, -1, 1]
    assert ids is None


def test_an_svmlight_file_with_an_index_0_counts_from_0(tmp_path):
    rng = np.random.default_rng(0)
    X, y = rng.integers(-2, 3, (6, 4)) / 4, np.arange(6) % 2
    X[3, 0], X[0, 0], X[:, 3] = 1.0, 0.0, 2.0
    for zero_based in (True, False):
        path = str(tmp_path / "rows.svm")
        dump_svmlight_file(X, y, path, zero_based=zero_based)
        oracle = load_svmlight_file(path, zero_based="auto")[0]
        rows, labels, _ = taken(path, target=None)
        assert np.array_equal(rows.toarray(), oracle.toarray())
        assert np.array_equal(rows.toarray(), X)
        assert labels.tolist() == y.tolist()
        roles = assigned(read(path), **{**ASKED, "target": None})
        assert Roles.of_text(roles.as_text()) == roles
        assert roles.counts_from == (0 if zero_based else 1)


def test_later_files_are_counted_as_the_model_counts(tmp_path):
    from_0, from_1 = Roles("y", None, None, counts_from=0), Roles("y", None, None)
    without_0 = read(write(tmp_path, "rows.svm", "1 1:2 2:3\n-1 2:5\n"))
    assert features_of(without_0, from_0, 4).toarray().tolist() == [[0, 2, 3, 0], [0, 0, 5, 0]]
    assert features_of(without_0, from_1, 4).toarray().tolist() == [[2, 3, 0, 0], [0, 5, 0, 0]]
    with_0 = read(write(tmp_path, "rows.svm", "# a remark\n1 1:2\n-1\n1 0:7 3:1\n-1 0:1\n"))
    assert features_of(with_0, from_0, 4).toarray()[2].tolist() == [7, 0, 0, 1]
    with pytest.raises(InputError) as caught:
        features_of(with_0, from_1, 4)
    sentence = "line 4: index 0; wanted indices that count from 1, as the model's do"
    assert str(caught.value).endswith(sentence)
    too_wide = read(write(tmp_path, "rows.svm", "1 1:2 4:3\n"))
    assert features_of(too_wide, from_1, 4).shape == (1, 4)
    with pytest.raises(InputError, match="rows of 5 features; wanted 4"):
        features_of(too_wide, from_0, 4)


def test_a_model_that_is_told_nothing_of_counting_counts_from_1():
    words = '{"target": "y", "id": null, "features": null, "categories": []}'
    assert Roles.of_text(words).counts_from == 1
    with pytest.raises(ValueError, match="wanted 0 or 1"):
        Roles.of_text(words.replace("}", ', "counts_from": 2}'))


def test_the_counting_stays_with_the_model(tmp_path):
    rows, model = write(tmp_path, "rows.svm", "1 0:1\n-1 2:1\n1 0:2\n"), str(tmp_path / "m")
    wish = Wish(rows, None, None, None, (), False, (), False, False, {}, model)
    told = train(wish, Manner(as_json=False, quiet=True))
    assert told.facts["features"] == 3
    held = opened(model)
    later = read(write(tmp_path, "later.svm", "1 1:1\n"))
    assert held.roles.counts_from == 0
    assert features_of(later, held.roles, held.width).toarray().tolist() == [[0, 1, 0]]


def test_an_npz_archive_is_read(tmp_path):
    path = tmp_path / "rows.npz"
    np.savez(path, X=[[1, 2], [3, 4]], y=["a", "b"], ids=[5, 6])
    X, y, ids = taken(str(path), target=None)
    assert X.tolist() == [[1.0, 2.0], [3.0, 4.0]]
    assert y.tolist() == ["a", "b"]
    assert ids == [5, 6]


def test_a_parquet_file_is_read_as_a_frame_was_written(tmp_path):
    pytest.importorskip("pyarrow", reason="reading Parquet needs pyarrow")
    frame = pd.DataFrame({"a": [1, 2], "b": [0.5, 1.5], "y": ["no", "yes"]}, index=[17, 42])
    frame.index.name = "row"
    frame.to_parquet(tmp_path / "rows.parquet")
    X, y, ids = taken(str(tmp_path / "rows.parquet"), id="row")
    assert X.to_numpy().tolist() == [[1.0, 0.5], [2.0, 1.5]]
    assert y.tolist() == ["no", "yes"]
    assert ids == [17, 42]


@pytest.mark.parametrize(
    ("content", "kind"), [(GOOD_CSV, "csv"), (GOOD_SVMLIGHT, "svmlight"), ("a\ty\n1\t2\n", "csv")]
)
def test_standard_input_shows_its_format_itself(monkeypatch, tmp_path, content, kind):
    stream = io.TextIOWrapper(io.BytesIO(content.encode()))
    monkeypatch.setattr("sys.stdin", stream)
    seen = read("-")
    told = read(write(tmp_path, "rows", content), kind)
    assert seen.source == "standard input"
    assert seen.columns.keys() == told.columns.keys()
    assert len(seen) == len(told)


@pytest.mark.parametrize("end", [b"PAR1", b"PK\x03\x04"])
def test_binary_formats_show_themselves(tmp_path, end):
    with pytest.raises(InputError, match=r"no whole (Parquet file|\.npz archive)"):
        read(write(tmp_path, "rows", end + b"nothing more"))


def test_ids_are_whole_numbers_or_text_and_come_back_as_they_were():
    for text in ("0", "17", "-3", "007", "+1", "1.0", "a b", "1_000", "9" * 30, "²"):
        assert str(id_of(text)) == text
    assert [id_of("17"), id_of(17), id_of("007")] == [17, 17, "007"]


def test_numbers_in_every_row_are_whole_labels(tmp_path):
    _, y, _ = taken(write(tmp_path, "rows.csv", "a,y\n1,1.0\n2,0\n"))
    assert y.dtype.kind == "i"


def test_words_are_encoded_where_somebody_asks(tmp_path):
    path = write(tmp_path, "rows.csv", "a,size,y\n1,small,0\n2,large,1\n")
    table = read(path)
    roles = assigned(table, **{**ASKED, "encode": True})
    assert (roles.measured, roles.categories) == (("a",), ("size",))
    assert features_of(table, roles, 0)["size"].tolist() == ["small", "large"]


def test_numbers_are_words_where_somebody_says_so(tmp_path):
    path = write(tmp_path, "rows.csv", "a,zip,y\n1,1010,0\n2,1020,1\n")
    roles = assigned(read(path), **{**ASKED, "categories": ("zip",)})
    assert roles.categories == ("zip",)


# -- what is wrong: the file, the line, the column, and what was wanted

WRONG = {
    "empty": ("", "the file is empty"),
    "blank": (" \n\n", "the file is empty"),
    "only names": ("a,y\n", "no row"),
    "no names": ("1,2\n3,4\n", "line 1: '1' is a number; wanted the names"),
    "a name twice": ("a,a,y\n1,2,3\n", "line 1: column 'a' stands there twice"),
    "no name": (",a,y\n1,2,3\n", "line 1: column 1 has no name"),
    "a short row": ("a,b,y\n1,2,3\n\n4,5\n", "line 4: 2 cells; wanted 3"),
    "a long row": ("a,b,y\n1,2,3\n4,5,6,7\n", "line 3: 4 cells; wanted 3"),
    "no closing quote": ('a,y\n1,"2\n3,4\n', "line 3: unexpected end"),
    "text in numbers": ("a,y\n1,0\nabc,1\n3,0\n", "line 3, column 'a': 'abc' is not a number"),
    "a number with a gap": ("a,y\n1_0,0\n2,1\n", "line 2, column 'a': '1_0' is not a number"),
    "nothing there": ("a,y\n1,0\n,1\n", "line 3, column 'a': no value there"),
    "NaN": ("a,y\n1,0\nnan,1\n", "line 3, column 'a': no value there"),
    "infinity": ("a,y\n1,0\n1e999,1\n", "line 3, column 'a': 1e999; wanted a finite"),
    "no label": ("a,y\n1,0\n2,NA\n", "line 3, column 'y': no value there"),
    "half a label": ("a,y\n1,0\n2,0.5\n", "line 3, column 'y': 0.5 is a label with a fraction"),
    "a label too long": (f"a,y\n1,0\n2,{10**18}\n", "line 3, column 'y': 1000000000000000000 is"),
    "one class": ("a,y\n1,0\n2,0\n", "column 'y': one class only, 0"),
    "no target": ("a,b\n1,2\n", "no column 'y' for --target; wanted one of 'a', 'b'"),
    "no feature": ("y\n1\n2\n", "no column is left for features"),
    "words": ("a,size,y\n1,big,0\n2,small,1\n", "line 2, column 'size': 'big' is text; wanted"),
    "garbage": (bytes(range(256)) * 4, "byte 0 is 0, so that this is no text"),
    "another alphabet": ("a,y\n1,0\nü,1\n".encode("latin-1"), "line 3: byte 8 is no UTF-8"),
    "a huge cell": (f"a,y\n1,0\n{'9' * 120_000},1\n", "line 3: a cell of 120,000 characters"),
    "a huger cell": (f"a,y\n1,0\n{'9' * 140_000},1\n", "line 3: field larger than field limit"),
    "too many classes": (
        "a,y\n" + "".join(f"{k},n{k}\n" for k in range(120)),
        "120 different labels in 120 rows",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_with_a_csv_file_is_said(tmp_path, case):
    content, sentence = WRONG[case]
    path = write(tmp_path, "rows.csv", content)
    with pytest.raises(InputError) as caught:
        taken(path)
    told = str(caught.value)
    assert told.startswith(path)
    assert sentence in told
    assert "\n" not in told


WRONG_SVMLIGHT = {
    "a word for a label": ("yes 1:2\n", "line 1: 'yes' is no label"),
    "a label that is no number": ("nan 1:2\n", "line 1: 'nan' is no label"),
    "no pair": ("1 2\n", "line 1: '2' is no feature"),
    "a word for a value": ("1 1:x\n", "line 1: '1:x' is no feature"),
    "a query": ("1 qid:3 1:2\n", "line 1: 'qid:3' is no feature"),
    "0 twice": ("1 0:2 0:3\n", "line 1: index 0 behind 0"),
    "a negative index": ("1 -1:2\n", "'-1:2' is no feature"),
    "order": ("1 1:2\n-1 3:2 2:5\n", "line 2: index 2 behind 3"),
    "twice": ("1 3:2 3:5\n", "line 1: index 3 behind 3"),
    "an absurd index": (f"1 {10**15}:2\n", "wanted 10,000,000 at most"),
    "a more absurd index": (f"1 {'9' * 5000}:2\n", "wanted 10,000,000 at most"),
    "infinity": ("1 1:inf\n", "'1:inf' is not finite"),
    "nothing": ("# only a remark\n", "no row in it"),
    "no feature": ("1\n-1\n", "no feature in any row"),
}


@pytest.mark.parametrize("case", WRONG_SVMLIGHT)
def test_what_is_wrong_with_an_svmlight_file_is_said(tmp_path, case):
    content, sentence = WRONG_SVMLIGHT[case]
    with pytest.raises(InputError) as caught:
        taken(write(tmp_path, "rows.svm", content), target=None)
    assert sentence in str(caught.value)


def archive(**arrays):
    stream = io.BytesIO()
    np.savez(stream, **arrays)
    return stream.getvalue()


WRONG_ARCHIVES = {
    "no X": (archive(Z=[1.0]), "holds 'Z'; wanted arrays 'X' and 'y'"),
    "flat": (archive(X=[1.0, 2.0], y=[0, 1]), "'X' has shape (2,)"),
    "words": (archive(X=[["a"], ["b"]], y=[0, 1]), "wanted rows by columns of numbers"),
    "NaN": (archive(X=[[1.0], [np.nan]], y=[0, 1]), "X[1, 0] is nan"),
    "too few labels": (archive(X=[[1.0], [2.0]], y=[0]), "no column 'y'"),
    "one array": (b"\x93NUMPY\x01\x00", "no whole .npz archive"),
    "cut": (archive(X=[[1.0], [2.0]], y=[0, 1])[:200], "no whole .npz archive"),
}


@pytest.mark.parametrize("case", WRONG_ARCHIVES)
def test_what_is_wrong_with_an_archive_is_said(tmp_path, case):
    content, sentence = WRONG_ARCHIVES[case]
    with pytest.raises(InputError) as caught:
        taken(write(tmp_path, "rows.npz", content), target=None)
    assert sentence in str(caught.value)


def test_an_archive_with_pickles_is_refused(tmp_path):
    path = tmp_path / "rows.npz"
    np.savez(path, X=np.array([[1.0], [2.0]]), y=np.array([{}, {}], dtype=object))
    with pytest.raises(InputError, match="plain arrays"):
        read(str(path))


@pytest.mark.parametrize(("name", "sentence"), [("none.csv", "no such file"), ("", "a directory")])
def test_a_file_that_is_none_is_said(tmp_path, name, sentence):
    with pytest.raises(InputError, match=sentence):
        read(str(tmp_path / name) if name else str(tmp_path))


def test_an_unknown_format_is_said(tmp_path):
    with pytest.raises(InputError, match="wanted one of csv, tsv"):
        read(write(tmp_path, "rows.csv", GOOD_CSV), "xlsx")


def test_ids_stand_there_once(tmp_path):
    path = write(tmp_path, "rows.csv", GOOD_CSV.replace("9,0", "7,0"))
    with pytest.raises(InputError, match="line 4, column 'id': id 7 stands in line 2 too"):
        taken(path, id="id")
    path = write(tmp_path, "rows.csv", GOOD_CSV.replace("9,0", ",0"))
    with pytest.raises(InputError, match="line 4, column 'id': no id there"):
        taken(path, id="id")


def test_numbers_and_words_in_one_column_are_no_words(tmp_path):
    path = write(tmp_path, "rows.csv", "a,y\n1,0\nabc,1\n3,0\n")
    with pytest.raises(InputError, match="line 3, column 'a': 'abc' is not a number"):
        taken(path, encode=True)
    X, _, _ = taken(path, categories=("a",))
    assert X["a"].tolist() == ["1", "abc", "3"]


# -- whatever comes, it is read or refused


def mutated(content, rng):
    """A file that something has happened to."""
    data = bytearray(content)
    for _ in range(rng.integers(1, 6)):
        at = int(rng.integers(0, len(data) + 1))
        kind = rng.integers(0, 5)
        if kind == 0 and at < len(data):
            data[at] = rng.integers(0, 256)
        elif kind == 1:
            del data[at : at + int(rng.integers(1, 9))]
        elif kind == 2:
            data[at:at] = rng.integers(0, 256, int(rng.integers(1, 9)), dtype=np.uint8).tobytes()
        elif kind == 3:
            data[at:at] = rng.choice([b",", b'"', b"\n", b"\t", b":", b"nan", b"-", b"9" * 25])
        else:
            del data[at:]
    return bytes(data)


def read_or_refused(path, **asked):
    try:
        X, y, _ = taken(path, **asked)
    except InputError as error:
        return "\n" not in str(error) and path in str(error)
    values = X.to_numpy() if hasattr(X, "to_numpy") else X
    values = values.data if not isinstance(values, np.ndarray) else values
    return bool(np.isfinite(values.astype(float)).all()) and len(y) == X.shape[0]


def contents(rng):
    """A good file of each kind, large enough to be hurt in many places."""
    X, y = rng.standard_normal((12, 3)).round(3), np.arange(12) % 2
    lines = [f"{k},{a},{b},{c},{'no' if label else 'yes'}" for k, ((a, b, c), label)
             in enumerate(zip(X.tolist(), y, strict=True))]  # fmt: skip
    pairs = [
        f"{2 * label - 1} 1:{a} 2:{b} 3:{c}" for (a, b, c), label in zip(X.tolist(), y, strict=True)
    ]
    yield "rows.csv", "\n".join(["id,a,b,c,y", *lines]).encode(), {"id": "id"}
    yield "rows.svm", "\n".join(pairs).encode(), {"target": None}
    yield "rows.npz", archive(X=X, y=y), {"target": None}


@pytest.mark.parametrize("part", range(3))
def test_mutated_files_are_read_or_refused(tmp_path, part):
    rng = np.random.default_rng(part)
    for name, content, asked in contents(rng):
        for _ in range(100):
            data = mutated(content, rng)
            path = write(tmp_path, name, data)
            assert read_or_refused(path, **asked), data


def test_mutated_parquet_files_are_read_or_refused(tmp_path):
    pytest.importorskip("pyarrow", reason="reading Parquet needs pyarrow")
    rng = np.random.default_rng(3)
    X = rng.standard_normal((12, 3))
    frame = pd.DataFrame(X, columns=list("abc")).assign(y=["no", "yes"] * 6)
    frame.to_parquet(tmp_path / "good.parquet")
    content = (tmp_path / "good.parquet").read_bytes()
    for _ in range(100):
        path = write(tmp_path, "rows.parquet", mutated(content, rng))
        assert read_or_refused(path)


def test_every_format_has_a_reader():
    assert set(READERS) == {"csv", "tsv", "parquet", "npz", "svmlight"}
