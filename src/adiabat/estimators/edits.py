"""What an edit does to the rows held: who stays, who goes, who comes, who is replaced."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from adiabat.errors import UnknownIdError
from adiabat.estimators.validation import (
    Examples,
    alike,
    checked_groups,
    codes_of,
    counted_classes,
    symmetric,
)
from adiabat.kernels import ORIGIN_GRID, Rows, rows_of

Array = NDArray[Any]

#: So many integer ids are looked up one by one.
_FEW = 8
#: What stands in the place of an old position where a row is new.
NEW = -1


@dataclass(frozen=True, eq=False)
class Edit:
    """An edit of the rows held.

    Attributes
    ----------
    examples : Examples
        The rows held afterwards.
    origin : ndarray
        For each of them its position before, or NEW where the row or its label is another.
    stayed : ndarray
        The same, but only NEW where the id is new.
    named : int
        How many rows were spoken of.
    transformed : bool
        Whether the features of all rows may be others, so that it is as if the kernel were.
    """

    examples: Examples
    origin: Array
    stayed: Array
    named: int
    transformed: bool = False


def positions_of(examples: Examples, ids: Array) -> Array:
    """Where rows with these ids stand; a KeyError-like error names those that are not held."""
    if len(ids) <= _FEW and examples.ids.dtype.kind == ids.dtype.kind == "i":
        found = [_position(examples.ids, name) for name in ids]
    else:
        place = {name: at for at, name in enumerate(examples.ids.tolist())}
        found = [place.get(name, NEW) for name in ids.tolist()]
    unknown = [name for name, at in zip(ids.tolist(), found, strict=True) if at == NEW]
    if unknown:
        shown = ", ".join(map(repr, unknown[:5])) + (", ..." if len(unknown) > 5 else "")
        raise UnknownIdError(f"ids: {shown} not held; wanted ids among those of ids_")
    return np.array(found, dtype=np.int64)


def _position(held: Array, name: Any) -> int:
    at = int(np.argmax(held == name))
    return at if held[at] == name else NEW


def positions_of_groups(examples: Examples, groups: Any) -> Array:
    """Where the rows of some groups stand; a KeyError-like error names a group without rows."""
    named = [groups] if np.ndim(groups) == 0 else groups
    wanted = dict.fromkeys(checked_groups(named, len(named)).tolist())
    held = [] if examples.groups is None else examples.groups.tolist()
    known = set(held) - {None}
    unknown = [group for group in wanted if group not in known]
    if unknown:
        raise UnknownIdError(f"groups: {unknown[0]!r} not held; wanted groups of rows held")
    return np.array([at for at, group in enumerate(held) if group in wanted], dtype=np.int64)


def founded(examples: Examples) -> Edit:
    """The first rows of all."""
    origin = np.full(len(examples), NEW)
    return Edit(examples, origin, origin, len(examples))


def unedited(examples: Examples) -> Edit:
    """All rows as they are; none of them is spoken of."""
    everyone = np.arange(len(examples))
    return Edit(examples, everyone, everyone, 0)


def require_new(examples: Examples, ids: Array) -> None:
    """Raise where a row of the same id is held already."""
    if ids.dtype.kind == "i" and len(ids) and ids.min() >= examples.next_id:
        return
    held = set(examples.ids.tolist())
    twice = [name for name in ids.tolist() if name in held]
    if twice:
        raise ValueError(f"ids: {twice[0]!r} is held already; wanted new ids (or revise)")


def joined(examples: Examples, new: Examples, *, pairwise: bool) -> Edit:
    """New rows behind those that are held."""
    count = len(examples)
    join = _bordered if pairwise else _stacked
    codes = codes_of(alike(examples.labels, new.labels), examples.classes)
    together = replace(
        examples,
        rows=Rows(join(examples.rows.values, new.rows.values), examples.rows.origin),
        weight=np.concatenate([examples.weight, new.weight]),
        ids=_joined_ids(examples.ids, new.ids),
        groups=_joined_groups(examples, new),
        next_id=max(examples.next_id, new.next_id),
        labels=np.concatenate([examples.labels, new.labels]),
        codes=np.concatenate([examples.codes, codes]),
    )
    if codes.min() < 0:  # rows of the classes that there are take none of them away
        together = _counted(together)
    origin = np.arange(len(together))
    origin[count:] = NEW
    return Edit(together, origin, origin, len(new))


def without(examples: Examples, positions: Array, *, pairwise: bool) -> Edit:
    """The rows held but those at some positions."""
    keep = np.ones(len(examples), dtype=bool)
    keep[positions] = False

    def kept(array: Any) -> Any:
        if len(positions) != 1 or sparse.issparse(array):
            return array[keep]
        at = int(positions[0])  # two pieces are sooner copied than many rows
        return np.concatenate([array[:at], array[at + 1 :]])

    values = kept(examples.rows.values)
    if pairwise:
        values = np.ascontiguousarray(kept(values.T).T)
    left = _counted(
        replace(
            examples,
            rows=Rows(values, _origin_without(examples.rows, positions, values)),
            weight=kept(examples.weight),
            ids=kept(examples.ids),
            groups=None if examples.groups is None else kept(examples.groups),
            labels=kept(examples.labels),
            codes=kept(examples.codes),
        )
    )
    stayed = np.flatnonzero(keep)
    return Edit(left, stayed, stayed, len(positions))


def column_names(names: Array | None, before: Examples, edit: Edit) -> Array | None:
    """Names of a kernel matrix's columns after an edit; None where those of new ones are unknown.

    They go with the rows, and where they were the rows' ids they still are.
    """
    if names is None:
        return None
    if (edit.stayed != NEW).all():
        return names[edit.stayed]
    ids = edit.examples.ids
    own = np.array_equal(names, before.ids) and all(isinstance(name, str) for name in ids)
    return ids.copy() if own else None


def relabelled(examples: Examples, positions: Array, labels: Array) -> Edit:
    """Other labels for some of the rows."""
    changed = np.concatenate([examples.labels, labels])[: len(examples)]
    changed[positions] = labels
    origin = np.arange(len(examples))
    moved = positions[changed[positions] != examples.labels[positions]]
    origin[moved] = NEW
    codes = codes_of(changed, examples.classes)
    known = _counted(replace(examples, labels=changed, codes=codes))
    return Edit(known, origin, np.arange(len(examples)), len(positions))


def reweighted(examples: Examples, positions: Array, weight: Array) -> Edit:
    """Other weights for some of the rows."""
    changed = examples.weight.copy()
    changed[positions] = weight
    everyone = np.arange(len(examples))
    known = _counted(replace(examples, weight=changed))
    return Edit(known, everyone, everyone, len(positions))


def revised(
    examples: Examples, positions: Array, values: Any, labels: Array | None, *, pairwise: bool
) -> Edit:
    """Other features, and other labels where there are any, for some of the rows."""
    everyone = np.arange(len(examples))
    if pairwise:
        stacked = _redrawn(examples.rows.values, positions, values)
    else:
        order = everyone.copy()
        order[positions] = len(examples) + np.arange(len(positions))
        stacked = _stacked(examples.rows.values, values)[order]
    origin = _origin_without(examples.rows, positions, stacked)
    known = replace(examples, rows=Rows(stacked, origin))
    edit = relabelled(known, positions, examples.labels[positions] if labels is None else labels)
    everyone[positions] = NEW
    return replace(edit, origin=everyone)


def bare(examples: Examples) -> Examples:
    """The same rows without their features, which are to be made anew."""
    return replace(examples, rows=Rows(np.empty((len(examples), 0))))


def clad(edit: Edit, held: Rows, values: Any) -> Edit:
    """An edit of bare rows with the features that they have afterwards.

    Where no more of the rows that stay have other features than were spoken of, it is an edit
    like any other; else all of them have been transformed.
    """
    kept = np.flatnonzero(edit.stayed != NEW)
    before = edit.stayed[kept]
    other = _differ(values[kept], held.values[before])
    if np.count_nonzero(other) > edit.named:
        rows = rows_of(values)
        return replace(edit, examples=replace(edit.examples, rows=rows), transformed=True)
    origin, gone = edit.origin.copy(), np.ones(len(held), dtype=bool)
    origin[kept[other]] = NEW
    gone[before[~other]] = False
    rows = Rows(values, _origin_without(held, np.flatnonzero(gone), values))
    return replace(edit, examples=replace(edit.examples, rows=rows), origin=origin)


def _differ(values: Any, others: Any) -> Array:
    """Which rows of two sets are not the same."""
    count, widths = values.shape[0], {values.shape[1], others.shape[1]}
    if len(widths) > 1 or sparse.issparse(values) != sparse.issparse(others):
        return np.ones(count, dtype=bool)
    return np.asarray((values != others).sum(axis=1)).reshape(count) > 0


def _origin_without(rows: Rows, positions: Array, values: Any) -> Array | None:
    """The origin of rows, measured anew where it shows a feature that none of them has any more.

    Where the first rows did not differ it is near their features; else it is too coarse.
    """
    origin = rows.origin
    if origin is None or not len(values) or not origin.any():
        return origin
    reach = ORIGIN_GRID * np.abs(origin).max(initial=0.0)
    shown = origin != 0.0
    shown &= (np.abs(rows.values[positions] - origin) <= reach).any(axis=0)
    shown[shown] = (np.abs(values[:, shown] - origin[shown]) > reach).all(axis=0)
    return rows_of(values).origin if shown.any() else origin


def _counted(examples: Examples) -> Examples:
    """The same rows with the classes that have weight, and codes that are positions in these."""
    codes, classes = examples.codes, examples.classes
    if not len(codes):
        return examples
    if codes.min() >= 0 and (np.bincount(codes, examples.weight, len(classes)) > 0).all():
        return examples
    classes, codes = counted_classes(examples.labels, examples.weight)
    return replace(examples, classes=classes, codes=codes)


def _stacked(values: Any, new: Any) -> Any:
    if sparse.issparse(values):
        return sparse.csr_matrix(sparse.vstack([values, sparse.csr_matrix(new)], format="csr"))
    return np.concatenate([values, new.toarray() if sparse.issparse(new) else new])


def _bordered(matrix: Array, lines: Array) -> Array:
    """A kernel matrix with further lines, and the columns that go with them."""
    old, count = len(matrix), len(matrix) + len(lines)
    if lines.shape[1] != count:
        raise ValueError(
            f"X has {lines.shape[1]} features, but SVC is expecting {old} features as input, for "
            f"the rows held in the order of ids_, and {len(lines)} more, for the new rows"
        )
    whole = np.empty((count, count))
    whole[:old, :old] = matrix
    whole[old:] = lines
    whole[:old, old:] = lines[:, :old].T
    return symmetric(whole)


def _redrawn(matrix: Array, positions: Array, lines: Array) -> Array:
    """A kernel matrix in which some rows have other values with all rows."""
    whole = matrix.copy()
    whole[positions] = lines
    whole[:, positions] = lines.T
    return symmetric(whole)


def _joined_groups(examples: Examples, new: Examples) -> Array | None:
    if examples.groups is None and new.groups is None:
        return None
    known = [part.groups for part in (examples, new)]
    sizes = len(examples), len(new)
    return np.concatenate(
        [np.full(size, None) if g is None else g for g, size in zip(known, sizes, strict=True)]
    )


def _joined_ids(ids: Array, new: Array) -> Array:
    return np.concatenate([ids, new]) if ids.dtype == new.dtype else _objects([*ids, *new])


def _objects(names: list[Any]) -> Array:
    array = np.empty(len(names), dtype=object)
    array[:] = [name.item() if isinstance(name, np.generic) else name for name in names]
    return array
