"""The file itself: arrays with checksums, and one header that speaks of all of them.

A safetensors file whose only metadata is one JSON text:
``{"sha256": <of the header's text>, "header": {...}}``. One entry, because safetensors writes
several in any order, and the same model is to give the same bytes.
"""

from __future__ import annotations

import hashlib
import json
import stat
from collections.abc import Iterator, Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from adiabat.errors import ModelFileError

Array = NDArray[Any]

#: The format that is written, and all that are read.
VERSION, READ = 1, (1,)
_NAME, _KEY = "adiabat model", "adiabat"
_BEFORE, _BETWEEN, _AFTER = '{"sha256":"', '","header":', "}"
#: Bytes of a header, and how deep anything in it may lie: more would be for the memory's harm.
MOST_HEADER, DEEPEST = 1 << 25, 60
#: Numbers that an array cut out of a wider one may have around it.
MOST_ROOM = 1 << 24
#: The arrays' types by safetensors' names.
TYPES = {
    "BOOL": "bool",
    "F16": "float16",
    "F32": "float32",
    "F64": "float64",
    **{f"{kind}{bits}": f"{name}{bits}" for kind, name in (("I", "int"), ("U", "uint"))
       for bits in (8, 16, 32, 64)},
}  # fmt: skip


def require_safetensors() -> Any:
    """The package that reads and writes; without it, say how to get it."""
    try:
        import safetensors.numpy  # noqa: PLC0415
    except ImportError as error:
        raise ImportError(
            "models are saved by the package safetensors, which is not installed; "
            "python -m pip install 'adiabat[save]' brings it"
        ) from error
    return safetensors


def digest(content: Any) -> str:
    """SHA-256 of bytes or of an array's."""
    return hashlib.sha256(content).hexdigest()


def packed(
    model: Mapping[str, Any], tensors: Mapping[str, Array], notes: Mapping[str, str] | None = None
) -> bytes:
    """The bytes of a file that holds arrays, a record that names them, and somebody's notes."""
    layouts = {name: layout_of(array) for name, array in tensors.items()}
    arrays = {name: stored(array, layouts[name]) for name, array in tensors.items()}
    header = {
        "format": _NAME,
        "version": VERSION,
        "library": library_version(),
        "tensors": {name: declared(array, layouts[name]) for name, array in arrays.items()},
        "model": model,
        **({"notes": dict(notes)} if notes else {}),
    }
    text = json.dumps(header, allow_nan=False, sort_keys=True, separators=(",", ":"))
    if len(text) > MOST_HEADER:
        raise ModelFileError(
            f"a header of {len(text)} bytes; wanted {MOST_HEADER} at the most: "
            "fewer or shorter ids, groups or names"
        )
    whole = f"{_BEFORE}{digest(text.encode())}{_BETWEEN}{text}{_AFTER}"
    content: bytes = require_safetensors().numpy.save(arrays, metadata={_KEY: whole})
    return content


class Layout(NamedTuple):
    """How an array stands in memory: the last bit of a product of matrices depends on it.

    Whether it is turned, so that its columns and not its lines stand together; and how many
    numbers it is from one of them to the next, 0 where there is nothing between them.
    """

    turned: bool
    lead: int


def layout_of(array: Array) -> Layout:
    """The layout of an array in memory."""
    if array.ndim != 2 or not array.size:
        return Layout(turned=False, lead=0)
    turned = array.strides[0] < array.strides[1]
    lines = array.T if turned else array
    lead, rest = divmod(lines.strides[0], array.itemsize)
    beside = lines.strides[1] == array.itemsize and not rest and lead > lines.shape[1]
    return Layout(turned, lead if beside and lead * len(lines) <= MOST_ROOM else 0)


def stored(array: Array, layout: Layout) -> Array:
    """An array as it stands in the file."""
    array = array.T if layout.turned else array
    return np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("="))


def restored(array: Array, layout: Layout) -> Array:
    """The array of which this stands in the file."""
    if layout.lead:
        wide = np.zeros((len(array), layout.lead), dtype=array.dtype)
        wide[:, : array.shape[1]] = array
        array = wide[:, : array.shape[1]]
    return array.T if layout.turned else array


def declared(array: Array, layout: Layout) -> dict[str, Any]:
    """What the header says of an array that stands in the file."""
    return {
        "turned": layout.turned,
        "lead": layout.lead,
        "dtype": array.dtype.name,
        "shape": list(array.shape),
        "sha256": digest(array.reshape(-1).view(np.uint8)),
    }


def library_version() -> str:
    """The version of this library."""
    try:
        return version("adiabat")
    except PackageNotFoundError:  # a source tree that nobody installed
        return "unknown"


def unpacked(path: Path) -> tuple[Any, dict[str, Array]]:
    """The record of a model and its arrays, which are what was written down to the last bit."""
    safetensors = require_safetensors()
    _require_plausible(path)
    try:
        with safetensors.safe_open(path, framework="numpy") as file:
            header = _header_of(file.metadata() or {})
            return header["model"], _tensors(file, header["tensors"])
    except safetensors.SafetensorError as error:
        raise ModelFileError(f"no whole safetensors file ({error})") from error


def noted(path: Path) -> dict[str, str]:
    """The notes that somebody has put into a file beside the model."""
    safetensors = require_safetensors()
    _require_plausible(path)
    try:
        with safetensors.safe_open(path, framework="numpy") as file:
            notes: dict[str, str] = _header_of(file.metadata() or {}).get("notes", {})
            return notes
    except safetensors.SafetensorError as error:
        raise ModelFileError(f"no whole safetensors file ({error})") from error


def _require_plausible(path: Path) -> None:
    """Look at the sizes before anything is read."""
    status = path.stat()
    if not stat.S_ISREG(status.st_mode):
        raise ModelFileError("a folder or a device; wanted a file")
    with path.open("rb") as file:
        start = file.read(9)
    length = int.from_bytes(start[:8], "little")
    if status.st_size < len(_BEFORE) or start[8:] != b"{":
        raise ModelFileError("no safetensors file; wanted one that adiabat.save has written")
    # JSON in JSON: each quotation mark has another character before it
    if length > min(status.st_size - 8, 2 * MOST_HEADER):
        raise ModelFileError(
            f"a header of {length} bytes is announced in a file of {status.st_size}; "
            f"wanted no more than there is, and than {2 * MOST_HEADER}"
        )


def _header_of(metadata: dict[str, str]) -> dict[str, Any]:
    """The header, if it is whole and of a version that is known."""
    whole = metadata.get(_KEY, "")
    start = len(_BEFORE) + 64
    text = whole[start + len(_BETWEEN) : -len(_AFTER)]
    if len(text) > MOST_HEADER:
        raise ModelFileError(f"a header of {len(text)} bytes; wanted {MOST_HEADER} at the most")
    expected = f"{_BEFORE}{digest(text.encode(errors='replace'))}{_BETWEEN}{text}{_AFTER}"
    if not whole.startswith(_BEFORE) or metadata.keys() != {_KEY}:
        raise ModelFileError("a safetensors file without a model in it")
    if whole != expected:
        raise ModelFileError("the header is damaged: its checksum is another")
    header = _parsed(text)
    if not isinstance(header, dict) or header.get("format") != _NAME:
        raise ModelFileError("a safetensors file without a model in it")
    if header.get("version") not in READ:
        raise ModelFileError(
            f"format version {header.get('version')!r:.20}; wanted {READ[-1]} or less, "
            "or a newer library"
        )
    if header.keys() - {"notes"} != {"format", "version", "library", "tensors", "model"}:
        raise ModelFileError("the header has not the parts that it should have")
    _require_notes(header.get("notes", {}))
    return header


def _require_notes(notes: Any) -> None:
    if not isinstance(notes, dict) or not all(isinstance(note, str) for note in notes.values()):
        raise ModelFileError("notes: wanted texts by name")


def _parsed(text: str) -> Any:
    try:
        header = json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise ModelFileError(f"the header is no JSON of ours ({error})") from error
    require_shallow(header)
    return header


def _refuse(word: str) -> None:
    raise ModelFileError(f"the header is no JSON of ours ({word})")


def require_shallow(header: Any) -> None:
    """Refuse what lies deeper than anything of ours."""
    level, depth = [header], 0
    while level:
        if depth > DEEPEST:
            raise ModelFileError(f"the header is more than {DEEPEST} levels deep")
        level, depth = [part for whole in level for part in _parts(whole)], depth + 1


def _parts(whole: Any) -> Iterator[Any]:
    parts = whole.values() if isinstance(whole, dict) else whole
    return (part for part in parts if isinstance(part, dict | list))


def _tensors(file: Any, announced: Any) -> dict[str, Array]:
    """The arrays, each of the type, the shape and the checksum that the header announces."""
    names = set(file.keys())
    if not isinstance(announced, dict) or announced.keys() != names:
        raise ModelFileError("the arrays are not those that the header speaks of")
    return {name: _tensor(file, name, announced[name]) for name in sorted(names)}


def _tensor(file: Any, name: str, announced: Any) -> Array:
    view = file.get_slice(name)
    if view.get_dtype() not in TYPES:
        raise ModelFileError(f"{name}: an array of type {view.get_dtype()}, which no model has")
    array = np.array(file.get_tensor(name), order="C")  # memory of its own, aligned
    layout = _layout(announced, array)
    if layout.lead < 0 or announced != declared(array, layout):
        raise ModelFileError(f"{name}: damaged, its checksum, type or shape is another")
    return restored(array, layout)


def _layout(announced: Any, array: Array) -> Layout:
    """The layout that the header announces, if it is one that this array can have."""
    said = announced if isinstance(announced, dict) else {}
    turned, lead = said.get("turned"), said.get("lead")
    if not isinstance(turned, bool) or type(lead) is not int:
        return Layout(turned=False, lead=-1)
    flat = array.ndim == 2 and array.size > 0
    wide = flat and array.shape[1] < lead <= MOST_ROOM // len(array)
    fits = (flat or not turned) and (wide or lead == 0)
    return Layout(turned, lead) if fits else Layout(turned=False, lead=-1)
