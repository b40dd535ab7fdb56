"""Shows the results as a table and writes them down as Markdown and JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from benchmarks.runner import Entry, Result

HEADINGS = ("contestant", "value", "spread", "ratio", "its spread", "remark")
SHOWN = ("contestant", "value", "spread", "ratio", "remark")
BARS = ("row", "wanted", "verdict")
COLOURS = {"met": "green", "met, aim too": "bold green", "MISSED": "bold red"}


@dataclass(frozen=True)
class Report:
    """Everything one run found out."""

    made: datetime
    repeats: int
    machine: dict[str, str]
    versions: dict[str, str]
    results: list[Result]


def line(entry: Entry, unit: str) -> list[str]:
    """Write one contestant's cells."""
    if entry.value is None:
        return [entry.contestant, *["-"] * 4, entry.remark]
    value = f"{entry.value:.3g} {unit}"
    spread = f"{min(entry.samples):.3g} to {max(entry.samples):.3g}"
    return [entry.contestant, value, spread, *ratios(entry), entry.remark]


def ratios(entry: Entry) -> list[str]:
    """Write the ratio and its spread, where there is one."""
    if entry.ratio is None or entry.ratio_spread is None:
        return ["", ""]
    low, high = entry.ratio_spread
    return [f"{entry.ratio:.3g}", f"{low:.3g} to {high:.3g}"]


def show(console: Console, result: Result) -> None:
    """Print one row as soon as it is known."""
    colour = COLOURS.get(result.verdict, "default")
    wanted = f"  {result.wanted}  [{colour}]{result.verdict}[/]" if result.wanted else ""
    table = Table(box=box.SIMPLE, title=f"[bold]{result.name}[/]{wanted}", title_justify="left")
    for heading in SHOWN:
        table.add_column(heading, no_wrap=heading != "remark")
    for entry in result.entries:
        cells = dict(zip(HEADINGS, line(entry, result.unit), strict=True))
        table.add_row(*(escape(cells[heading]) for heading in SHOWN))
    console.print(table, highlight=False)


def row_of_cells(cells: Iterable[str]) -> str:
    """Write one line of a Markdown table."""
    return "| " + " | ".join(cell.replace("|", "/") for cell in cells) + " |"


def lines(results: list[Result]) -> Iterator[str]:
    """Write the Markdown table; row, bar and verdict stand in a row's first line only."""
    yield row_of_cells([*BARS, *HEADINGS])
    yield row_of_cells(["---"] * (len(BARS) + len(HEADINGS)))
    for result in results:
        first = [result.name, result.wanted, result.verdict]
        for entry in result.entries:
            yield row_of_cells([*first, *line(entry, result.unit)])
            first = ["", "", ""]


def markdown(report: Report) -> str:
    """Write the report as one Markdown page."""
    facts = [f"- {key}: {value}" for key, value in report.machine.items()]
    facts.append("- versions: " + ", ".join(f"{k} {v}" for k, v in report.versions.items()))
    return "\n".join(
        [
            f"# Benchmark of {report.made:%Y-%m-%d %H:%M}",
            "",
            f"Medians of up to {report.repeats} repeats, least and largest as spread.",
            "Ratio = rival / ours, so more is better for us.",
            "",
            *facts,
            "",
            *lines(report.results),
            "",
        ]
    )


def write(report: Report, folder: Path) -> list[Path]:
    """Write both files, named by date and time."""
    folder.mkdir(parents=True, exist_ok=True)
    stem = folder / f"{report.made:%Y-%m-%d-%H%M}"
    pages = {".md": markdown(report), ".json": json.dumps(asdict(report), default=str, indent=1)}
    written = []
    for suffix, text in pages.items():
        path = stem.with_suffix(suffix)
        path.write_text(text.rstrip() + "\n", encoding="utf-8")
        written.append(path)
    return written
