"""Pima Indians diabetes, standardised per column, with the settings of the 2003 experiments."""

from __future__ import annotations

import numpy as np

from benchmarks import data_folder
from benchmarks.declarations import Data, Problem


def standardised() -> Data:
    """Read the rows and standardise each column."""
    archive = data_folder.read("pima.npz")
    X = np.asarray(archive["X"], dtype=np.float64)
    return (X - X.mean(axis=0)) / X.std(axis=0), archive["y"]


PIMA = Problem(name="pima-C1", load=standardised, settings={"C": 1.0, "gamma": 0.25})
