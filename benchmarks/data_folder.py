"""Where the public data sets are: ``ADIABAT_DATA``, or the folder beside the repository."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.declarations import UnavailableError

BESIDE = Path(__file__).resolve().parent.parent.parent / "shared" / "data"


def read(name: str) -> Mapping[str, NDArray[Any]]:
    """Read one NumPy archive of the data folder."""
    path = Path(os.environ.get("ADIABAT_DATA", BESIDE)) / name
    if not path.is_file():
        raise UnavailableError(f"no {name} in the data folder; ADIABAT_DATA says where it is")
    with np.load(path) as archive:
        return dict(archive)
