"""A model from a file of rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from adiabat.cli.asking import output
from adiabat.cli.faults import InputError
from adiabat.cli.model_files import size_of, write
from adiabat.cli.preparing import classifier_of, told_of, untrained
from adiabat.cli.proofs import figures, sizes, verdict
from adiabat.cli.reading import read
from adiabat.cli.roles import assigned, features_of, ids_of, labels_of
from adiabat.cli.speech import Answer, Manner

_ANEW = "This is measured anew after each change of rows, so that nothing remembers forgotten ones."


@dataclass(frozen=True)
class Wish:
    """What somebody asks of ``train``."""

    data: str
    kind: str | None
    target: str | None
    id: str | None
    dropped: tuple[str, ...]
    encode: bool
    categories: tuple[str, ...]
    standardise: bool
    restandardise: bool
    settings: dict[str, Any]
    path: str


def train(wish: Wish, manner: Manner) -> Answer:
    """Read rows, learn them, prove it and save the model."""
    output(wish.path, wish.data)
    table = read(wish.data, wish.kind)
    roles = assigned(
        table,
        target=wish.target,
        id=wish.id,
        dropped=wish.dropped,
        encode=wish.encode,
        categories=wish.categories,
    )
    X, y, ids = features_of(table, roles, 0), labels_of(table, roles), ids_of(table, roles)
    model = untrained(
        roles, wish.settings, standardise=wish.standardise, is_sparse=sparse.issparse(X)
    )
    if wish.restandardise:
        _have_estimated_anew(model)
    with manner.waiting(f"learning {len(table):,} rows"):
        model.fit(X, y, ids=ids)
        proof = model.certificate()
    digest = write(model, roles, wish.path)
    classifier = classifier_of(model)
    classes, counts = np.unique(y, return_counts=True)
    answer = Answer(
        {
            "model": wish.path,
            "digest": digest,
            "rows": len(table),
            "features": X.shape[1],
            "classes": dict(zip(map(str, classes.tolist()), counts.tolist(), strict=True)),
            "standardised": wish.standardise,
            "restandardised": wish.restandardise,
            "encoded": list(roles.categories),
            "gamma": classifier.gamma_,
            "certificate": figures(proof),
        }
    )
    told = ", ".join(f"{label} ({count})" for label, count in zip(classes, counts, strict=True))
    answer.say(
        f"Learned {len(table):,} rows of {X.shape[1]} features from {table.source}; {roles.target} "
        f"is {told}.",
        f"Rows are called by {'the column ' + roles.id if roles.id else 'number, from 0'}.",
        f"Features: {told_of(roles, standardise=wish.standardise)}.",
        *(["Indices count from 0, for one of them is 0."] if table.counts_from == 0 else []),
        *([_ANEW] if wish.restandardise else []),
        f"{sizes(proof).capitalize()}.",
        verdict(proof),
        f"Saved in {wish.path} ({size_of(wish.path)}).",
    )
    return answer


def _have_estimated_anew(model: Any) -> None:
    """Have the steps of a model estimated anew after each change of rows, if it has any."""
    if not hasattr(model, "steps"):
        raise InputError(
            "--restandardise: the features are taken as they are, and nothing is measured on rows; "
            "wanted it without --no-standardise"
        )
    model.set_params(restandardise=True)
