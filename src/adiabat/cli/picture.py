"""The tour's picture: which rows carry the boundary, before and after."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from numpy.typing import NDArray

Array = NDArray[Any]

#: Colours that stay apart for all eyes, one for each class, and shades of them for its side.
_COLOURS, _SHADES = ("#0072b2", "#c8500a"), ("#e3eef6", "#fbeae0")
#: Marker, size and strength of a row by what it is to the boundary.
_MARKS = {
    "reserve": {"marker": ".", "s": 20, "alpha": 0.5, "linewidths": 0},
    "error": {"marker": "x", "s": 26, "alpha": 0.9, "linewidths": 1.1},
    "margin": {"marker": "o", "s": 46, "alpha": 1.0, "linewidths": 1.0, "edgecolors": "black"},
}
_RING = {"marker": "o", "s": 190, "facecolors": "none", "edgecolors": "black", "linewidths": 1.8}
_SQUARE = {"marker": "s", "s": 90, "facecolors": "none", "edgecolors": "#555555", "linewidths": 1.2}
#: Points of the grid on which decision values are drawn, along each axis.
_FINE = 220


@dataclass(frozen=True, eq=False)
class Panel:
    """One half of the picture.

    Attributes
    ----------
    title : str
        What it shows.
    model : Pipeline
        The model at that time.
    rows : frame
        Its rows, in the order of its ids: two features.
    labels : ndarray
        Their labels.
    ringed, squared : list
        Ids of rows that the story is about.
    """

    title: str
    model: Any
    rows: pd.DataFrame
    labels: Array
    ringed: list[Any]
    squared: list[Any]


def draw(before: Panel, after: Panel, path: str) -> None:
    """Both panels and one legend, to a PNG file."""
    figure = Figure(figsize=(12, 6.6), dpi=120)
    FigureCanvasAgg(figure)
    axes = figure.subplots(1, 2, sharex=True, sharey=True)
    box = [_stretched(before.rows[name]) for name in before.rows]
    for panel, place in zip((before, after), axes, strict=True):
        _draw_panel(panel, place, box)
    axes[0].set_ylabel(before.rows.columns[1])
    figure.legend(
        handles=list(_legend(before)), ncols=5, loc="lower center", frameon=False, fontsize=10
    )
    figure.subplots_adjust(left=0.055, right=0.99, top=0.91, bottom=0.19, wspace=0.04)
    figure.savefig(path)


def _stretched(column: pd.Series) -> tuple[float, float]:
    low, high = float(column.min()), float(column.max())
    return low - 0.05 * (high - low), high + 0.05 * (high - low)


def _draw_panel(panel: Panel, place: Any, box: list[tuple[float, float]]) -> None:
    _draw_decisions(panel, place, box)
    ids, values = panel.model.ids_, panel.rows.to_numpy()
    for category, mark in _MARKS.items():
        there = np.isin(ids, getattr(panel.model, f"{category}_"))
        for label, colour in zip(panel.model.classes_, _COLOURS, strict=True):
            some = values[there & (panel.labels == label)]
            place.scatter(some[:, 0], some[:, 1], color=None, c=colour, **mark)
    for chosen, mark in ((panel.squared, _SQUARE), (panel.ringed, _RING)):
        some = values[np.isin(ids, chosen)]
        place.scatter(some[:, 0], some[:, 1], **mark)
    sizes = [
        f"{len(getattr(panel.model, f'{name}_'))} {name}" for name in ("margin", "error", "reserve")
    ]
    place.set_title(f"{panel.title}\n{', '.join(sizes)}", fontsize=11)
    place.set_xlabel(panel.rows.columns[0])
    place.set_xlim(*box[0])
    place.set_ylim(*box[1])


def _draw_decisions(panel: Panel, place: Any, box: list[tuple[float, float]]) -> None:
    """The two sides, the boundary between them and the margin on both sides of it."""
    first, second = np.meshgrid(*(np.linspace(low, high, _FINE) for low, high in box))
    grid = pd.DataFrame(
        np.column_stack([first.ravel(), second.ravel()]), columns=panel.rows.columns
    )
    values = panel.model.decision_function(grid).reshape(first.shape)
    place.contourf(first, second, values, levels=[-np.inf, 0, np.inf], colors=_SHADES)
    lines = {"colors": "black", "levels": [-1, 0, 1], "linewidths": [0.8, 1.6, 0.8]}
    place.contour(first, second, values, linestyles=["dashed", "solid", "dashed"], **lines)


def _legend(panel: Panel) -> Iterator[Line2D]:
    """Colours are classes, shapes are categories, lines are where f is 0 and where it is 1."""
    for label, colour in zip(panel.model.classes_, _COLOURS, strict=True):
        yield _entry(str(label), color=colour, marker="s", markersize=8)
    yield _entry("boundary", color="black", linestyle="solid")
    yield _entry("margin", color="black", linestyle="dashed", linewidth=0.8)
    yield _entry("reserve row", color="#777777", marker=".", markersize=6)
    yield _entry("margin row: on its margin", color="#777777", marker="o", markeredgecolor="black")
    yield _entry("error row: inside or beyond", color="#777777", marker="x")
    hollow = {"color": "none", "markerfacecolor": "none"}
    yield _entry("label corrected", marker="o", markersize=12, markeredgecolor="black", **hollow)
    yield _entry("forgotten", marker="s", markersize=8, markeredgecolor="#555555", **hollow)


def _entry(label: str, **mark: Any) -> Line2D:
    return Line2D([], [], label=label, **{"linestyle": "none", **mark})
