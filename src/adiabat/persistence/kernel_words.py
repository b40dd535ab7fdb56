"""Kernels in words: which it is, and its fields."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields as fields_of
from typing import Any

from adiabat import kernels
from adiabat.errors import ModelFileError
from adiabat.persistence.codecs import KIND
from adiabat.persistence.draft import Draft
from adiabat.persistence.fields import Fields

#: Beyond this no degree makes sense.
_HIGHEST_DEGREE = 1 << 31

#: The kernels that a file can hold, and what each field of them has to be.
KERNELS: dict[type, dict[str, Callable[[Fields, str], Any]]] = {
    kernels.Linear: {},
    kernels.Precomputed: {},
    kernels.Polynomial: {
        "degree": lambda fields, name: fields.count(name, _HIGHEST_DEGREE),
        "gamma": Fields.number,
        "coef0": Fields.number,
    },
    kernels.RBF: {"gamma": Fields.number},
    kernels.Sigmoid: {"gamma": Fields.number, "coef0": Fields.number},
    kernels.ExponentialProduct: {"gamma": Fields.number},
    kernels.Exponential: {"gamma": Fields.number},
    kernels.Augmented: {
        "kernel": lambda fields, name: read_kernel(fields.inner(name)),
        "constant": Fields.number,
    },
}
_BY_NAME = {kernel.__name__: kernel for kernel in KERNELS}


def is_kernel(thing: Any) -> bool:
    """Whether a file can hold it as a kernel."""
    return type(thing) in KERNELS


def packed_kernel(kernel: Any, draft: Draft) -> dict[str, Any]:
    """A kernel in words."""
    if not is_kernel(kernel):
        function = getattr(kernel, "function", kernel)
        raise ModelFileError(
            f"{draft.where}: kernel {function!r:.80} is code, and a file holds none; wanted the "
            "name of a kernel or an object of adiabat.kernels"
        )
    inner = {field.name: getattr(kernel, field.name) for field in fields_of(kernel)}
    words = {
        name: packed_kernel(value, draft) if hasattr(value, "block") else _plain(value)
        for name, value in inner.items()
    }
    return {KIND: type(kernel).__name__, **words}


def _plain(value: Any) -> Any:
    """A number as Python's own."""
    return value.item() if hasattr(value, "item") else value


def read_kernel(fields: Fields) -> Any:
    """The kernel that the words are of."""
    name = fields.text(KIND)
    if name not in _BY_NAME:
        fields.refuse(KIND, name, f"one of {', '.join(_BY_NAME)}")
    kernel = _BY_NAME[name]
    return kernel(**{field: read(fields, field) for field, read in KERNELS[kernel].items()})
