"""What predicts, as plain arrays that any program can read."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from adiabat.cli.asking import output
from adiabat.cli.faults import InputError
from adiabat.cli.model_files import Opened, size_of
from adiabat.cli.speech import Answer

#: Kernels that are said by their name and these settings.
_PLAIN = ("linear", "poly", "rbf", "sigmoid")


def export(held: Opened, path: str) -> Answer:
    """Write a model that only predicts, without rows that carry nothing, to an .npz archive."""
    output(path, held.path)
    if Path(path).suffix != ".npz":
        raise InputError(f"{path}: wanted a name that ends in .npz")
    classifier = held.classifier
    if classifier.kernel not in _PLAIN:
        raise InputError(
            f"{held.path}: its kernel is {classifier.kernel!r}; wanted one of {', '.join(_PLAIN)}"
        )
    support = classifier.support_vectors_
    arrays = {
        "kernel": np.array(classifier.kernel),
        "gamma": np.array(np.nan if classifier.gamma_ is None else classifier.gamma_),
        "degree": np.array(classifier.degree),
        "coef0": np.array(classifier.coef0),
        "support_vectors": support.toarray() if sparse.issparse(support) else support,
        "dual_coef": classifier.dual_coef_,
        "n_support": classifier.n_support_,
        "intercept": classifier.intercept_,
        "classes": classifier.classes_,
        **dict(_steps(held)),
    }
    with Path(path).open("wb") as file:
        np.savez(file, **arrays)
    rows = len(classifier.support_)
    answer = Answer({"model": held.path, "export": path, "support_rows": rows})
    answer.say(
        f"Wrote {rows:,} support rows of {len(classifier.ids_):,} and their coefficients to {path} "
        f"({size_of(path)}): {', '.join(arrays)}."
    )
    return answer


def _steps(held: Opened) -> Iterator[tuple[str, Any]]:
    """The arrays of what comes before the classifier, in the order of its features."""
    if held.roles.features is not None:
        yield "features", np.array([*held.roles.measured, *held.roles.categories])
    if not hasattr(held.model, "steps"):
        return
    first = held.model.steps[0][1]
    parts: dict[str, Any] = getattr(first, "named_transformers_", {"numbers": first})
    scaler: Any = parts.get("numbers")
    encoder: Any = parts.get("words")
    if hasattr(scaler, "scale_"):
        if scaler.with_mean:
            yield "mean", scaler.mean_
        yield "scale", scaler.scale_
    if encoder is not None:
        for name, values in zip(held.roles.categories, encoder.categories_, strict=True):
            yield f"values of {name}", np.array([str(value) for value in values])
