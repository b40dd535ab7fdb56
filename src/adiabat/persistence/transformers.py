"""The table of scikit-learn's classes that a file can hold."""

from __future__ import annotations

from typing import Any

from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    RobustScaler,
    StandardScaler,
)

from adiabat.persistence.estimators import EstimatorCodec
from adiabat.persistence.fields import Fields
from adiabat.persistence.kinds import (
    AMOUNT,
    CATEGORIES,
    COUNT,
    COUNTS,
    DTYPE,
    FEATURES,
    FLAG,
    INDICES,
    INNER,
    NUMBER,
    PLACES,
    WORD,
    Sizes,
    floats,
    is_count,
    optional,
    plain,
    sometimes,
    values,
)

#: What stands in the place of a transformer that is none.
NO_TRANSFORMER = ("passthrough", "drop")
_COMPONENTS = "components"

PER_FEATURE = floats(FEATURES)
PER_COMPONENT = floats(_COMPONENTS)


def _check_encoder(encoder: Any, fields: Fields) -> None:
    """Categories that are dropped are there."""
    categories = vars(encoder).get("categories_", [])
    met = all(array.ndim == 1 for array in categories)
    for name in ("drop_idx_", "_drop_idx_after_grouping"):
        dropped = vars(encoder).get(name)
        pairs = [] if dropped is None else zip(dropped, categories, strict=True)
        met &= all(at is None or (is_count(at) and at < len(array)) for at, array in pairs)
    fields.require("fitted", "categories that there are", met=met)


def check_steps(pipeline: Pipeline, fields: Fields) -> None:
    """Steps are pairs of a name and an estimator, or a word for none."""
    met = len(pipeline.steps) > 0 and all(
        isinstance(step, tuple) and len(step) == 2 and _is_step(*step) for step in pipeline.steps
    )
    fields.require("settings", "steps of a name and an estimator", met=met)


def _is_step(name: Any, step: Any) -> bool:
    return isinstance(name, str) and (step in (None, "passthrough") or hasattr(step, "fit"))


def _are_columns(value: Any, sizes: Sizes) -> bool:  # noqa: ARG001
    return isinstance(value, list) and all(_is_part(part) for part in value)


def _is_part(part: Any) -> bool:
    """Whether it is a transformer's name, the transformer, and its columns."""
    if not isinstance(part, tuple) or len(part) != 3 or not isinstance(part[0], str):
        return False
    return part[1] in NO_TRANSFORMER if isinstance(part[1], str) else hasattr(part[1], "fit")


def _are_slices(value: Any, sizes: Sizes) -> bool:  # noqa: ARG001
    return isinstance(value, dict) and all(isinstance(part, slice) for part in value.values())


def _are_inputs(value: Any, sizes: Sizes) -> bool:
    return isinstance(value, dict) and all(
        isinstance(part, list) and all(is_count(at) and at < sizes[FEATURES] for at in part)
        for part in value.values()
    )


def _check_columns(transformer: ColumnTransformer, fields: Fields) -> None:
    """The parts that were fitted are those that were asked for, and the rest."""
    asked = transformer.transformers
    met = _are_columns(list(asked), Sizes(None))
    if "transformers_" in vars(transformer):
        fitted = [part[0] for part in transformer.transformers_]
        met = met and fitted in ([a[0] for a in asked], [*(a[0] for a in asked), "remainder"])
        met = met and len(vars(transformer).get("_columns", asked)) == len(asked)
    fields.require("settings", "parts of a name, a transformer and its columns", met=met)


def _check_function(transformer: FunctionTransformer, fields: Fields) -> None:
    met = transformer.func is None and transformer.inverse_func is None
    fields.require("settings", "no function", met=met)


ESTIMATORS = (
    EstimatorCodec(
        StandardScaler,
        {
            "scale_": optional(PER_FEATURE),
            "mean_": optional(PER_FEATURE),
            "var_": optional(PER_FEATURE),
            "n_samples_seen_": AMOUNT,
        },
    ),
    EstimatorCodec(
        MinMaxScaler,
        {
            **dict.fromkeys(
                ("scale_", "min_", "data_min_", "data_max_", "data_range_"), PER_FEATURE
            ),
            "n_samples_seen_": AMOUNT,
        },
    ),
    EstimatorCodec(
        MaxAbsScaler,
        {"scale_": PER_FEATURE, "max_abs_": PER_FEATURE, "n_samples_seen_": AMOUNT},
    ),
    EstimatorCodec(
        RobustScaler, {"center_": optional(PER_FEATURE), "scale_": optional(PER_FEATURE)}
    ),
    EstimatorCodec(
        PCA,
        {
            "components_": floats(_COMPONENTS, FEATURES),
            "mean_": PER_FEATURE,
            **dict.fromkeys(
                ("explained_variance_", "explained_variance_ratio_", "singular_values_"),
                PER_COMPONENT,
            ),
            "n_components_": COUNT,
            "n_samples_": COUNT,
            "noise_variance_": NUMBER,
            "_fit_svd_solver": sometimes(WORD),
        },
    ),
    EstimatorCodec(
        SimpleImputer,
        {
            "statistics_": values(FEATURES),
            "indicator_": optional(INNER),
            "_fit_dtype": sometimes(DTYPE),
            "_fill_dtype": sometimes(DTYPE),
        },
    ),
    EstimatorCodec(
        MissingIndicator,
        {
            "features_": values("some"),
            "_n_features": COUNT,
            "_precomputed": FLAG,
        },
    ),
    EstimatorCodec(
        OneHotEncoder,
        {
            "categories_": CATEGORIES,
            "drop_idx_": optional(values(FEATURES)),
            "_drop_idx_after_grouping": sometimes(optional(values(FEATURES))),
            "_infrequent_enabled": FLAG,
            "_infrequent_indices": sometimes(INDICES),
            "_default_to_infrequent_mappings": sometimes(INDICES),
            "_n_features_outs": COUNTS,
        },
        _check_encoder,
    ),
    EstimatorCodec(
        OrdinalEncoder,
        {
            "categories_": CATEGORIES,
            "_infrequent_enabled": FLAG,
            "_infrequent_indices": sometimes(INDICES),
            "_default_to_infrequent_mappings": sometimes(INDICES),
            "_missing_indices": PLACES,
        },
        _check_encoder,
    ),
    EstimatorCodec(FunctionTransformer, {}, _check_function),  # what "passthrough" is, fitted
    EstimatorCodec(
        ColumnTransformer,
        {
            "transformers_": plain("names, transformers and columns", _are_columns),
            "_columns": plain("the columns of each", lambda value, sizes: isinstance(value, list)),  # noqa: ARG005
            "_remainder": plain("the rest", lambda value, sizes: _is_part(value)),  # noqa: ARG005
            "_transformer_to_input_indices": plain("columns of each", _are_inputs),
            "sparse_output_": FLAG,
            "output_indices_": plain("slices of the output", _are_slices),
            "_n_features": sometimes(COUNT),
            "_transformers_feature_names_out": sometimes(values("outputs")),
        },
        _check_columns,
    ),
    EstimatorCodec(Pipeline, {}, check_steps),
)
