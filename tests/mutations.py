"""Model files that something has happened to, by accident or on purpose."""

import json
import resource
import struct
import tempfile
import warnings
from contextlib import contextmanager
from copy import deepcopy
from pathlib import Path

import numpy as np
from safetensors.numpy import load as arrays_of
from safetensors.numpy import save as file_of

import adiabat
from adiabat import ModelFileError
from adiabat.persistence.container import Layout as Laid
from adiabat.persistence.container import (
    declared,
    digest,
    layout_of,
    restored,
    stored,
)

MOST_MEMORY = 1 << 30


@contextmanager
def little_memory():
    """No more than a gigabyte beyond what the process has."""
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    limits = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (used + MOST_MEMORY, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, limits)


# ---------------------------------------------------------------- accidents


def flipped(rng, content, _):
    content = bytearray(content)
    for at in rng.integers(len(content), size=rng.integers(1, 9)):
        content[at] ^= 1 << int(rng.integers(8))
    return bytes(content)


def flipped_in_front(rng, content, _):
    content = bytearray(content)
    content[int(rng.integers(200))] = int(rng.integers(256))
    return bytes(content)


def cut(rng, content, _):
    return content[: int(rng.integers(len(content)))]


def longer(rng, content, _):
    return content + rng.bytes(int(rng.integers(1, 100)))


def without_a_part(rng, content, _):
    first, last = sorted(rng.integers(len(content), size=2))
    return content[:first] + content[last:]


def of_another_length(rng, content, _):
    lengths = [0, 1, 7, len(content), 2**31, 2**40, 2**63, 2**64 - 1, int(rng.integers(2**40))]
    return struct.pack("<Q", lengths[int(rng.integers(len(lengths)))]) + content[8:]


def header_length(content):
    return 8 + struct.unpack("<Q", content[:8])[0]


def with_the_header_of_another(rng, content, other):
    return other[: header_length(other)] + content[header_length(content) :]


def with_other_numbers(rng, content, _):
    """Absurd sizes, offsets, shapes and types in the outer header."""
    header = content[8 : header_length(content)].decode()
    words = ['"shape":[', '"data_offsets":[', '"dtype":"', '"version\\":']
    word = words[int(rng.integers(len(words)))]
    places = [at for at in range(len(header)) if header.startswith(word, at)]
    at = places[int(rng.integers(len(places)))] + len(word)
    new = ["99999999999", "-1,", "1e400", "18446744073709551616", "[[", "F16", "1,1,1,"]
    header = header[:at] + new[int(rng.integers(len(new)))] + header[at:]
    if rng.random() < 0.7:
        header = header.ljust(-(-len(header) // 8) * 8)
    data = header.encode()
    return struct.pack("<Q", len(data)) + data + content[header_length(content) :]


def foreign(rng, content, _):
    kinds = [
        b"", b"{}", b"PK\x03\x04", b"\x80\x04.", rng.bytes(500), b"[" * 100_000,
        struct.pack("<Q", 2) + b"{}", struct.pack("<Q", 100_000) + b'{"a":' * 20_000,
        file_of({"a": np.zeros(3)}), file_of({"a": np.zeros(3)}, metadata={"adiabat": "{}"}),
        file_of({}, metadata={"adiabat": enveloped("[" * 100_000)}),
        file_of({}, metadata={"adiabat": enveloped('{"format":1' + "0" * 50_000 + "}")}),
        file_of({}, metadata={"adiabat": enveloped("{}")}), content[8:],
    ]  # fmt: skip
    return kinds[int(rng.integers(len(kinds)))]


ACCIDENTS = [
    flipped, flipped_in_front, cut, longer, without_a_part, of_another_length,
    with_the_header_of_another, with_other_numbers, foreign,
]  # fmt: skip

# ---------------------------------------------------------------- forgeries: all checksums right


def enveloped(text):
    return f'{{"sha256":"{digest(text.encode(errors="replace"))}","header":{text}}}'


def taken_apart(content):
    outer = json.loads(content[8 : header_length(content)])
    header = json.loads(outer["__metadata__"]["adiabat"])["header"]
    layouts = {n: Laid(d["turned"], d["lead"]) for n, d in header["tensors"].items()}
    return header, {n: restored(a, layouts[n]) for n, a in arrays_of(content).items()}


def put_together(header, tensors):
    layouts = {name: layout_of(array) for name, array in tensors.items()}
    arrays = {name: stored(array, layouts[name]) for name, array in tensors.items()}
    header["tensors"] = {name: declared(array, layouts[name]) for name, array in arrays.items()}
    return file_of(arrays, metadata={"adiabat": enveloped(json.dumps(header))})


def places(thing, found):
    for key in thing if isinstance(thing, dict) else range(len(thing)):
        found.append((thing, key))
        if isinstance(thing[key], dict | list):
            places(thing[key], found)
    return found


def nested(depth):
    return [nested(depth - 1)] if depth else []


ODD = [
    None, True, False, 0, 1, 2, -1, 3.5, -0.0, 1e308, 5e-324, 2**31, 2**63, 10**4000, "", "x",
    "linear", "U99999999", "object", "float64", "SVC", "Pipeline", [], {}, [1, 2], nested(70),
    {"float": "nan"}, {"float": "inf"}, {"tuple": []}, {"dict": [[1, 2]]}, {"slice": [0, 1, 2]},
    {"type": "numpy.float64"}, {"type": "os.system"}, {"estimator": {"kind": "SVC"}},
    {"kernel": {"kind": "RBF", "gamma": 1e300}}, {"values": {"dtype": "object", "values": []}},
]  # fmt: skip
NUMBERS = [np.nan, np.inf, -np.inf, -1, 0, 1, 2, 1e300, -1e300, 1e-300, 2**31, 2**62]


def of_another_word(rng, header, tensors):
    thing, key = (found := places(header["model"], []))[int(rng.integers(len(found)))]
    thing[key] = deepcopy(ODD[int(rng.integers(len(ODD)))])


def with_a_word_for_another(rng, header, tensors):
    found = places(header["model"], [])
    (one, key), (other, name) = (found[int(at)] for at in rng.integers(len(found), size=2))
    one[key] = json.loads(json.dumps(other[name])) if isinstance(other, dict | list) else None


def without_a_word(rng, header, tensors):
    thing, key = (found := places(header["model"], []))[int(rng.integers(len(found)))]
    del thing[key]


def of_another_number(rng, header, tensors):
    name = sorted(tensors)[int(rng.integers(len(tensors)))]
    array = tensors[name] = tensors[name].copy()
    if array.size:
        with np.errstate(invalid="ignore"):
            number = np.array(NUMBERS[int(rng.integers(len(NUMBERS)))]).astype(array.dtype)
        array.flat[int(rng.integers(array.size))] = number


def of_another_shape(rng, header, tensors):
    name = sorted(tensors)[int(rng.integers(len(tensors)))]
    array = tensors[name]
    others = [array[:-1], array[:0], array.ravel(), array[None],
              array.repeat(2 if array.size else 1, 0),
              array.astype(np.float32), array.astype(np.int64 if array.dtype == bool else bool),
              np.empty((2**40, 0)), np.empty((0, 2**50))]  # fmt: skip
    tensors[name] = others[int(rng.integers(len(others)))]


def with_arrays_exchanged(rng, header, tensors):
    one, other = (sorted(tensors)[int(at)] for at in rng.integers(len(tensors), size=2))
    tensors[one], tensors[other] = tensors[other], tensors[one]


FORGERIES = [
    of_another_word, with_a_word_for_another, without_a_word, of_another_number,
    of_another_shape, with_arrays_exchanged,
]  # fmt: skip


def forged(rng, content, _):
    header, tensors = taken_apart(content)
    for _ in range(int(rng.integers(1, 3))):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            FORGERIES[int(rng.integers(len(FORGERIES)))](rng, header, tensors)
    return put_together(header, tensors)


# ---------------------------------------------------------------- what comes of them


def outcome(path, content, *, on_purpose):
    """Refused, or a model that certifies; what was forged need not be the optimum of anything."""
    path.write_bytes(content)
    try:
        model = adiabat.load(path)
    except ModelFileError as error:
        return "refused" if "\n" not in str(error) else "refused in many lines"
    last = model[-1] if hasattr(model, "steps") else model
    if not hasattr(last, "ids_"):
        assert on_purpose
        return "empty"
    if on_purpose:
        try:
            last.certificate()
        except ValueError:
            return "loaded, and too large to certify"
        return "loaded"
    assert last.certificate().holds()
    return "loaded"


def survey(contents, count, seed, makers, *, on_purpose):
    """What comes of so many mutations of some files, with little memory."""
    rng, tally = np.random.default_rng(seed), {}
    with tempfile.TemporaryDirectory() as folder, little_memory(), warnings.catch_warnings():
        if on_purpose:
            warnings.simplefilter("ignore")
        for k in range(count):
            maker = makers[k % len(makers)]
            one, other = (contents[int(at)] for at in rng.permutation(len(contents))[:2])
            content = maker(rng, one, other)
            path = Path(folder) / "model.adiabat"
            try:
                result = outcome(path, content, on_purpose=on_purpose)
            except BaseException as error:
                Path(tempfile.gettempdir(), "mutated.adiabat").write_bytes(content)
                error.add_note(f"mutation {k}, {maker.__name__}, seed {seed}")
                raise
            tally[maker.__name__, result] = tally.get((maker.__name__, result), 0) + 1
    return tally
