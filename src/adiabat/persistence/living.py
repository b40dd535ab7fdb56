"""Living pipelines: what scikit-learn's have, and which rows the steps were estimated on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from adiabat.estimators.carrying import Past
from adiabat.estimators.writing import writing
from adiabat.persistence.draft import Draft
from adiabat.persistence.estimators import EstimatorCodec
from adiabat.persistence.fields import Fields
from adiabat.persistence.kinds import Kind, Sizes, sometimes
from adiabat.persistence.raw_rows import packed_raw, read_raw
from adiabat.persistence.transformers import check_steps
from adiabat.pipeline import Pipeline


def _pack_past(past: Past, draft: Draft, name: str) -> dict[str, Any]:
    part = draft.within(name)
    record = {"founders": part.array("founders", past.founders), "forgotten": past.forgotten}
    if past.rows is not None:
        record["rows"] = packed_raw(past.rows, part.within("rows"))
    return record


def _read_past(fields: Fields, name: str, sizes: Sizes) -> Past:
    part = fields.inner(name)
    founders, forgotten = part.array("founders", (None,), "bool"), part.count("forgotten")
    rows = None
    if "rows" in part.left:
        rows = read_raw(part.inner("rows"), len(founders), sizes)
    return Past(founders, forgotten, rows)


#: What is known of the rows; a pipeline that was made of fitted steps knows nothing.
PAST = sometimes(Kind(_pack_past, _read_past))


def check_living(pipeline: Pipeline, fields: Fields) -> None:
    """What is known of rows is known of those that the last step holds."""
    check_steps(pipeline, fields)
    past, model = vars(pipeline).get("_past"), vars(pipeline.steps[-1][1]).get("_model")
    if past is not None:
        met = model is not None and len(past.founders) == len(model.examples)
        fields.require("fitted", "a founder or none for each row held", met=met)


@dataclass(frozen=True)
class LivingPipelineCodec(EstimatorCodec):
    """How a living pipeline is written and read; nobody changes it until the file is there."""

    @property
    def name(self) -> str:
        """scikit-learn's is called Pipeline already."""
        return "LivingPipeline"

    def packed(self, thing: Any, draft: Draft) -> dict[str, Any]:
        """What the header says of a pipeline."""
        draft.held.enter_context(writing(thing))
        bare, aside = object.__new__(Pipeline), {"_pen"}
        if vars(thing).get("_past") is None:
            aside.add("_past")
        bare.__dict__.update({name: it for name, it in vars(thing).items() if name not in aside})
        return super().packed(bare, draft)


LIVING_PIPELINE = LivingPipelineCodec(Pipeline, {"_past": PAST}, check_living)
