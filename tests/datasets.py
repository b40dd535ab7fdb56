"""Real data for the tests, read from a folder that is not part of the project.

The folder is ``../shared/data`` beside the repository, or what the environment variable
ADIABAT_DATA names.  A test that asks for a set that is not there is skipped.
"""

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from scipy import sparse

Floats = npt.NDArray[np.float64]
Labelled = tuple[Floats, Floats]
Archive = dict[str, npt.NDArray[np.generic]]

ROOT = Path(__file__).resolve().parent.parent
SAMPLE = 2000  # rows of the large sets

IDA = (
    "banana",
    "breast_cancer",
    "flare_solar",
    "heart",
    "ringnorm",
    "thyroid",
    "titanic",
    "twonorm",
)


def load(name: str) -> Labelled:
    """Standardised features (a constant column becomes 0) and labels -1 and 1."""
    X, y = LOADERS[name]()
    return standardised(X), y


def standardised(X: Floats) -> Floats:
    centred = X - X.mean(axis=0)
    centred[:, np.ptp(X, axis=0) == 0] = 0.0  # the mean of equal numbers is rounded
    spread = centred.std(axis=0)
    return np.asarray(centred / np.where(spread > 0, spread, 1.0))


def folder() -> Path:
    return Path(os.environ.get("ADIABAT_DATA") or ROOT.parent / "shared" / "data")


def _archive(name: str) -> Archive:
    path = folder() / f"{name}.npz"
    if not path.is_file():
        pytest.skip(f"the data file {name}.npz is not here: ADIABAT_DATA can name its folder")
    with np.load(path) as stored:
        return dict(stored)


def _sample(count: int) -> npt.NDArray[np.intp]:
    """Random rows, the same in every run."""
    return np.sort(np.random.default_rng(2000).permutation(count)[:SAMPLE])


def _signs(positive: npt.NDArray[np.bool_]) -> Floats:
    return np.where(positive, 1.0, -1.0)


def _whole(name: str) -> Callable[[], Labelled]:
    def read() -> Labelled:
        stored = _archive(name)
        return stored["X"].astype(np.float64), _signs(stored["y"].astype(int) > 0)

    return read


def _rows(name: str, part: str) -> Callable[[], Labelled]:
    def read() -> Labelled:
        stored = _archive(name)
        y = stored[f"y{part}"]
        chosen = _sample(len(y))
        return stored[f"X{part}"][chosen].astype(np.float64), _signs(y[chosen].astype(int) > 0)

    return read


def _a9a() -> Labelled:
    stored = _archive("a9a")
    parts = tuple(stored[f"X_train_{part}"] for part in ("data", "indices", "indptr"))
    X = sparse.csr_matrix(parts, shape=tuple(stored["X_train_shape"]))
    chosen = _sample(X.shape[0])
    y = _signs(stored["y_train"][chosen].astype(int) > 0)
    return X[chosen].toarray().astype(np.float64), y


def _digits(name: str, positive: int, negative: int) -> Callable[[], Labelled]:
    def read() -> Labelled:
        stored = _archive(name)
        digit = stored["y_train"].astype(int)
        either = np.flatnonzero((digit == positive) | (digit == negative))
        chosen = either[_sample(len(either))]
        return stored["X_train"][chosen].astype(np.float64), _signs(digit[chosen] == positive)

    return read


LOADERS: dict[str, Callable[[], Labelled]] = {
    **{name: _whole(f"ida/{name}") for name in IDA},
    "pima": _whole("pima"),
    "a9a": _a9a,
    "ijcnn1": _rows("ijcnn1", "_train"),
    "cod_rna": _rows("cod_rna", ""),
    "usps_3_8": _digits("usps", 3, 8),
    "mnist_4_9": _digits("mnist", 4, 9),
}
