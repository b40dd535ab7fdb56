"""The names of the rows: integers or strings, each of them once."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

_INT64 = np.iinfo(np.int64)


def named(ids: Any, X: Any, count: int, next_id: int) -> tuple[Array, int]:
    """The ids of ``count`` rows: those given, those a frame brings, or counting numbers.

    With them the least counting number that no row ever had.
    """
    if ids is not None:
        array = _checked(_array_of(ids), count)
    else:
        index = _frame_index(X)
        array = _counting(next_id, next_id + count) if index is None else index
    return array, max(next_id, _beyond(array))


def listed_ids(ids: Any) -> Array:
    """Ids that somebody names, each of them once."""
    array = _array_of(ids)
    return _checked(array, len(array))


def _beyond(ids: Array) -> int:
    """One more than the largest integer among ids that is not negative."""
    if ids.dtype.kind == "i":
        return int(ids.max(initial=-1)) + 1
    return max([name for name in ids.tolist() if isinstance(name, int)], default=-1) + 1


def _frame_index(X: Any) -> Array | None:
    """The index of a frame, where it can serve as ids."""
    index = getattr(X, "index", None)
    if not getattr(index, "is_unique", False):
        return None
    try:
        return _array_of(index)
    except TypeError:
        return None


def _array_of(ids: Any) -> Array:
    """Ids as an array of int64, or of objects where there are strings among them."""
    if getattr(getattr(ids, "dtype", None), "kind", "") == "i":
        return np.atleast_1d(np.array(ids, dtype=np.int64))
    plain = [_plain(name) for name in _listed(ids)]
    if all(isinstance(name, int) and _INT64.min <= name <= _INT64.max for name in plain):
        return np.array(plain, dtype=np.int64)
    array = np.empty(len(plain), dtype=object)
    array[:] = plain
    return array


def _listed(ids: Any) -> list[Any]:
    """One string, or one number, is one id."""
    if isinstance(ids, str) or not hasattr(ids, "__iter__") or np.ndim(ids) == 0:
        return [ids]
    return list(ids)


def _plain(name: Any) -> int | str:
    """An id as Python's own int or str."""
    value = name.item() if isinstance(name, np.generic | np.ndarray) else name
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise TypeError(f"ids: {name!r} is a {type(name).__name__}; wanted integers or strings")
    return value


def _counting(first: int, end: int) -> Array:
    if end <= _INT64.max:
        return np.arange(first, end, dtype=np.int64)
    return _array_of(range(first, end))


def _checked(ids: Array, count: int) -> Array:
    if ids.shape != (count,):
        raise ValueError(
            f"ids: shape {ids.shape} for {count} rows of X; wanted one id for each row"
        )
    if len(ids) == 1:
        return ids
    seen: set[int | str] = set()
    for name in ids.tolist():
        if name in seen:
            raise ValueError(f"ids: {name!r} stands there twice; wanted each id once")
        seen.add(name)
    return ids
