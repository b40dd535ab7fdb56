"""What can happen to a model file: writers that die, full disks, damage, forgery."""

import errno
import hashlib
import os
import stat
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import adiabat
from adiabat import SVC, ModelFileError
from adiabat.errors import BusyError
from adiabat.persistence import atomic
from adiabat.persistence.saving import edited
from tests.mutations import ACCIDENTS, enveloped, file_of, forged, survey
from tests.test_editing import drawn, gaussian

FIXTURES = Path(__file__).parent / "model_files"


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.adiabat"


def fitted(n=40, classes=2, **settings):
    X, y = drawn(n, classes)
    return SVC(**{"gamma": 0.5, **settings}).fit(X, y, ids=[f"row {k}" for k in range(n)])


def names_in(folder):
    return sorted(entry.name for entry in folder.iterdir())


def only(path):
    """Whether nothing else is left in the folder."""
    return names_in(path.parent) == [path.name]


# ---------------------------------------------------------------- writing


def test_permissions_are_kept_and_links_followed(tmp_path, path):
    (tmp_path / "far").mkdir()
    target = tmp_path / "far" / "target"
    adiabat.save(fitted(), target)
    target.chmod(0o640)
    path.symlink_to(target)
    adiabat.save(fitted(30), path)
    assert path.is_symlink()
    assert stat.S_IMODE(target.stat().st_mode) == 0o640
    assert len(adiabat.load(target).ids_) == 30
    assert only(target)


def test_a_new_file_is_as_private_as_others(path, tmp_path):
    plain = tmp_path / "plain"
    plain.touch()
    adiabat.save(fitted(), path)
    assert path.stat().st_mode == plain.stat().st_mode


class FullDisk:
    """Writes as much as there is room for."""

    def __init__(self, room):
        self.room = room

    def __call__(self, file, content):
        file.write(content[: self.room])
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.parametrize("room", [0, 1000])
def test_a_full_disk_leaves_the_old_file_and_the_model(path, monkeypatch, room):
    model = fitted()
    adiabat.save(model, path)
    old = path.read_bytes()
    model.unlearn("row 3")
    alive = vars(model)["_upkeep"]
    with monkeypatch.context() as patched:
        patched.setattr(atomic, "_write_all", FullDisk(room))
        with pytest.raises(OSError, match="No space"):
            adiabat.save(model, path)
    assert path.read_bytes() == old
    assert only(path)
    assert vars(model)["_upkeep"] is alive
    adiabat.save(model, path)
    assert "row 3" not in adiabat.load(path).ids_


@pytest.mark.parametrize("moment", ["fsync", "replace"])
def test_a_failure_at_the_last_moment_leaves_the_old_file(path, monkeypatch, moment):
    adiabat.save(fitted(), path)
    old = path.read_bytes()

    def fail(*_):
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    with monkeypatch.context() as patched:
        patched.setattr(os if moment == "fsync" else Path, moment, fail)
        with pytest.raises(OSError, match="error"):
            adiabat.save(fitted(30), path)
    assert path.read_bytes() == old
    assert only(path)


def test_what_a_killed_writer_left_is_removed_and_what_a_living_one_writes_is_not(path):
    left = path.with_name(f".{path.name}.0123{atomic.UNFINISHED}")
    left.write_bytes(b"rows that are to be forgotten")
    other = path.with_name(f".other.0123{atomic.UNFINISHED}")
    other.touch()
    with atomic.unfinished(path) as (_, living):
        adiabat.save(fitted(), path)
        assert living.exists()
    assert names_in(path.parent) == sorted([path.name, other.name])


WRITER = """
import sys
from contextlib import suppress
from pathlib import Path
import adiabat
path, twin = map(Path, sys.argv[1:])
models = [adiabat.load(path), adiabat.load(twin)]
print("ready", flush=True)
while True:
    for model in models:
        adiabat.save(model, path)
"""


def kill_writers(tmp_path, count, seed=0):
    """Kill a process that writes two models in turns; the file is one of them."""
    rng, path, twin = np.random.default_rng(seed), tmp_path / "a", tmp_path / "b"
    adiabat.save(fitted(400), path)
    adiabat.save(fitted(200), twin)
    whole = {file.read_bytes() for file in (path, twin)}
    for _ in range(count):
        writer = subprocess.Popen(
            [sys.executable, "-c", WRITER, path, twin], stdout=subprocess.PIPE
        )
        writer.stdout.readline()
        with suppress(subprocess.TimeoutExpired):
            writer.wait(timeout=float(rng.uniform(0.0, 0.05)))
        writer.kill()
        writer.wait()
        writer.stdout.close()
        assert path.read_bytes() in whole
        assert len(adiabat.load(path).ids_) in (200, 400)
    adiabat.save(adiabat.load(twin), path)
    assert names_in(tmp_path) == ["a", "b"]


def test_a_killed_writer_leaves_a_whole_file(tmp_path):
    kill_writers(tmp_path, 12)


# ---------------------------------------------------------------- forgetting


@pytest.mark.parametrize("settings", [{}, {"kernel": "linear"}, {"loss": "squared_hinge"}])
@pytest.mark.parametrize("as_sparse", [False, True])
def test_nothing_of_forgotten_rows_is_left_in_the_file(path, settings, as_sparse):
    X, y = drawn(40)
    names = [f"person-{k:03d}" for k in range(40)]
    values = sparse.csr_matrix(X) if as_sparse else X
    model = SVC(**{"gamma": 0.5, **settings}).fit(values, y, ids=names, groups=names)
    adiabat.save(model, path)
    gone = [2, 3, 17, 31]
    words = [names[k].encode() for k in gone] + [X[k, j].tobytes() for k in gone for j in range(3)]
    assert all(word in path.read_bytes() for word in words)
    with edited(path) as model:
        model.unlearn([names[k] for k in gone])
    content = path.read_bytes()
    assert not [word for word in words if word in content]
    assert only(path)
    assert adiabat.load(path).certificate().holds()


def test_lines_of_a_kernel_matrix_are_forgotten_with_their_columns(path):
    X, y = drawn(30)
    matrix = gaussian(X, X)
    adiabat.save(SVC(kernel="precomputed").fit(matrix, y), path)
    with edited(path) as model:
        model.unlearn([4])
    content = path.read_bytes()
    assert not [k for k in range(30) if k != 4 and matrix[4, k].tobytes() in content]


def test_a_change_that_fails_leaves_the_file(path):
    adiabat.save(fitted(), path)
    old = path.read_bytes()
    with pytest.raises(KeyError, match="not held"), edited(path) as model:
        model.unlearn("row 3").unlearn("row 99")
    assert path.read_bytes() == old


def test_two_do_not_change_a_file_at_once(path):
    adiabat.save(fitted(), path)
    with edited(path) as model:
        with pytest.raises(BusyError, match="another process"), edited(path):
            pass
        model.unlearn("row 3")
        adiabat.load(path)  # readers may go on
    with edited(path) as model:
        assert "row 3" not in model.ids_


# ---------------------------------------------------------------- damage and forgery


@pytest.fixture(scope="module")
def contents(tmp_path_factory):
    """Files of models of different kinds."""
    folder = tmp_path_factory.mktemp("contents")
    X, y = drawn(24, 3)
    words = np.array(["u", "v", "w"], dtype=object)[np.arange(24) % 3]
    frame = np.hstack([X.astype(object), words[:, None]])
    encode = ColumnTransformer(
        [("numbers", make_pipeline(SimpleImputer(), StandardScaler()), [0, 1, 2]),
         ("words", OneHotEncoder(), [3])]
    )  # fmt: skip
    models = [
        SVC(gamma=0.5).fit(*drawn(24), ids=[2**70, "x", *range(22)], groups=["g"] * 24),
        SVC(kernel="linear", class_weight={"ant": 2.0}).fit(sparse.csr_matrix(X), y),
        SVC(kernel="precomputed", loss="squared_hinge").fit(gaussian(X, X), y),
        SVC(kernel=adiabat.kernels.Exponential(0.5), fit_intercept=False).fit(X, y),
        make_pipeline(encode, SVC(gamma=0.5)).fit(frame, y),
    ]
    for k, model in enumerate(models):
        adiabat.save(model, folder / str(k))
    return [(folder / str(k)).read_bytes() for k in range(len(models))]


def test_damaged_files_are_refused(contents):
    tally = survey(contents, 300, 0, ACCIDENTS, on_purpose=False)
    refused = sum(count for (_, result), count in tally.items() if result == "refused")
    assert refused >= 290


def test_forged_files_are_refused_or_harmless(contents):
    tally = survey(contents, 300, 0, [forged], on_purpose=True)
    assert tally["forged", "refused"] >= 200


FOREIGN = {
    "nothing": (b"", "no safetensors file"),
    "text": (b"id,target\n1,yes\n" * 100, "no safetensors file"),
    "pickle": (b"\x80\x04\x95" + b"\0" * 100, "no safetensors file"),
    "others": (file_of({"a": np.zeros(3)}), "without a model"),
    "cut": (file_of({"a": np.zeros(30)})[:-8], "no whole safetensors file"),
    "longer than it is": (b"\xff" * 7 + b"\0{" + b" " * 100, "is announced in a file of"),
    "deep": (file_of({}, metadata={"adiabat": enveloped("[" * 9000 + "]" * 9000)}), "deep|JSON"),
    "newer": (
        file_of({}, metadata={"adiabat": enveloped('{"format":"adiabat model","version":99}')}),
        "format version 99; wanted 1 or less, or a newer library",
    ),
}


@pytest.mark.parametrize("name", FOREIGN)
def test_foreign_files_are_refused_with_a_sentence(name, path):
    content, sentence = FOREIGN[name]
    path.write_bytes(content)
    with pytest.raises(ModelFileError, match=sentence) as told:
        adiabat.load(path)
    assert str(told.value).startswith(f"{path}: ")


def test_folders_and_files_that_are_not_there_are_refused(path, tmp_path):
    with pytest.raises(FileNotFoundError):
        adiabat.load(path)
    with pytest.raises(ModelFileError, match="a folder"):
        adiabat.load(tmp_path)
    os.mkfifo(path)
    with pytest.raises(ModelFileError, match="a device"):
        adiabat.load(path)


def test_a_file_of_absurd_size_is_refused_unread(path):
    with path.open("wb") as file:
        file.write((2**39).to_bytes(8, "little") + b"{")
        file.truncate(2**40)
    with pytest.raises(ModelFileError, match=f"a header of {2**39} bytes"):
        adiabat.load(path)


# ---------------------------------------------------------------- files of earlier versions


def test_a_file_of_version_1_is_read():
    model = adiabat.load(FIXTURES / "version_1.adiabat")
    digest = hashlib.sha256((FIXTURES / "version_1.adiabat").read_bytes()).hexdigest()
    assert digest == "97d06e754ebf11fee91e9441f0b6536ba133359fdfaa7ed5f20ee8c587975d42"
    svc = model[-1]
    assert svc.classes_.tolist() == ["ant", "bee", "cat"]
    assert svc.ids_.tolist() == ["a", 7, 2**70, *range(2**70 + 1, 2**70 + 22)]
    assert svc.certificate().holds()
    X, y = drawn(24, 3)
    fresh = svc.fresh().fit(model[:-1].transform(X[1:]), y[1:])
    svc.unlearn("a")
    values = svc.decision_function(model[:-1].transform(X))
    assert np.abs(values - fresh.decision_function(model[:-1].transform(X))).max() <= 1e-8
