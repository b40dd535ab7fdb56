"""The untrained model for some columns: what is done to features, and the classifier."""

from __future__ import annotations

from typing import Any

from sklearn.compose import ColumnTransformer
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import adiabat
from adiabat.cli.roles import Roles


def untrained(roles: Roles, settings: dict[str, Any], *, standardise: bool, is_sparse: bool) -> Any:
    """A classifier behind what its features need: numbers to one scale, words to 0 and 1."""
    classifier = adiabat.SVC(**settings)
    scaler = StandardScaler(with_mean=not is_sparse) if standardise else "passthrough"
    if not roles.categories:
        return adiabat.make_pipeline(scaler, classifier) if standardise else classifier
    encoder = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    columns = [("words", encoder, list(roles.categories))]
    if roles.measured:
        columns.insert(0, ("numbers", scaler, list(roles.measured)))
    return adiabat.make_pipeline(ColumnTransformer(columns), classifier)


def classifier_of(model: Any) -> Any:
    """The classifier of a model, which may stand behind other steps."""
    steps = getattr(model, "steps", None)
    return model if steps is None else steps[-1][1]


def told_of(roles: Roles, *, standardise: bool) -> str:
    """What is done to the features, in a sentence."""
    done = []
    if standardise and (roles.features is None or roles.measured):
        done.append("each number is brought to mean 0 and spread 1, as the rows have it now")
    if roles.categories:
        done.append(f"{', '.join(roles.categories)}: a column of 0 and 1 for each value")
    return "; ".join(done) or "as they are"
