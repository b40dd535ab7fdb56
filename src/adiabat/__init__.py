"""Support vector machines that learn, unlearn and adapt, exactly.

What is public is loaded when it is asked for (PEP 562), so that ``import adiabat`` costs
next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from adiabat import errors, kernels, model_selection
    from adiabat.errors import (
        AdiabatError,
        ExactnessError,
        ModelFileError,
        NotSeparableError,
        SolverError,
    )
    from adiabat.estimators.svc import SVC
    from adiabat.persistence.saving import load, save
    from adiabat.pipeline import Pipeline, make_pipeline

_HOME = {
    "SVC": "adiabat.estimators.svc",
    "Pipeline": "adiabat.pipeline",
    "make_pipeline": "adiabat.pipeline",
    "AdiabatError": "adiabat.errors",
    "ExactnessError": "adiabat.errors",
    "NotSeparableError": "adiabat.errors",
    "ModelFileError": "adiabat.errors",
    "SolverError": "adiabat.errors",
    "load": "adiabat.persistence.saving",
    "save": "adiabat.persistence.saving",
}
_MODULES = {"errors", "kernels", "model_selection"}

__all__ = [
    "SVC",
    "AdiabatError",
    "ExactnessError",
    "ModelFileError",
    "NotSeparableError",
    "Pipeline",
    "SolverError",
    "errors",
    "kernels",
    "load",
    "make_pipeline",
    "model_selection",
    "save",
]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"adiabat.{name}")
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    raise AttributeError(f"module 'adiabat' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
