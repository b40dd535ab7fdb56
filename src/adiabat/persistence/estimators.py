"""scikit-learn's fitted transformers, and what is made of them: classes and their attributes.

A transformer is its parameters, which scikit-learn validates, and the attributes that the table
names, each of a kind that is looked at. Nothing else is ever set.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from inspect import signature
from typing import Any

from adiabat.errors import ModelFileError
from adiabat.persistence.draft import Draft
from adiabat.persistence.fields import Fields
from adiabat.persistence.kinds import Kind, Sizes
from adiabat.persistence.settings import packed_settings, read_settings
from adiabat.persistence.values import packed_names, read_names


@dataclass(frozen=True)
class EstimatorCodec:
    """How the objects of a class of scikit-learn's are written and read.

    Attributes
    ----------
    type : type
        The class.
    fitted : dict
        The attributes that a fit gives them, and the kind of each; in an order in which sizes
        are known before they are needed.
    check : callable
        Raises where the parts do not fit each other.
    """

    type: type
    fitted: Mapping[str, Kind]
    check: Callable[[Any, Fields], None] = lambda estimator, fields: None  # noqa: ARG005

    @property
    def name(self) -> str:
        """What they are called in a file."""
        return self.type.__name__

    def packed(self, thing: Any, draft: Draft) -> dict[str, Any]:
        """What the header says of an estimator."""
        held, settings = vars(thing), thing.get_params(deep=False)
        noted = {"n_features_in_", "feature_names_in_", "_sklearn_output_config"}
        strange = held.keys() - settings.keys() - self.fitted.keys() - noted
        if strange:
            raise ModelFileError(
                f"{draft.where}: {self.type.__name__} has the attribute {min(strange)!r}, which "
                "a file cannot hold"
            )
        return {
            "settings": packed_settings(settings, draft),
            "output": held.get("_sklearn_output_config", {}).get("transform"),
            "features": held.get("n_features_in_"),
            "feature_names": packed_names(held.get("feature_names_in_"), draft),
            "fitted": {
                name: kind.pack(held[name], draft, name)
                for name, kind in self.fitted.items()
                if name in held
            },
        }

    def read(self, fields: Fields) -> Any:
        """The estimator."""
        settings = read_settings(fields.inner("settings"))
        known = signature(self.type).parameters.keys()
        fields.require(
            "settings", f"parameters of {self.type.__name__}", met=settings.keys() <= known
        )
        estimator = self.type(**settings)
        estimator._validate_params()  # noqa: SLF001
        if not fields.is_absent("output"):
            estimator.set_output(transform=fields.text("output"))
        features = None if fields.is_absent("features") else fields.count("features")
        learned = {"n_features_in_": features, "feature_names_in_": read_names(fields, features)}
        learned = {name: value for name, value in learned.items() if value is not None}
        learned |= self._read_fitted(fields.inner("fitted"), Sizes(features))
        vars(estimator).update(learned)
        self.check(estimator, fields)
        return estimator

    def _read_fitted(self, fields: Fields, sizes: Sizes) -> dict[str, Any]:
        """The attributes that are there: all that every fit gives, or none."""
        there = fields.left
        missing = {name for name, kind in self.fitted.items() if kind.always} - there
        met = not there or not missing
        fields.require(min(missing, default=""), "all that a fit gives", met=met)
        return {
            name: kind.read(fields, name, sizes)
            for name, kind in self.fitted.items()
            if name in there
        }
