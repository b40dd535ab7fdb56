"""The command line: choose rows, run them, show and write the table."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from datetime import datetime
from fnmatch import fnmatchcase
from pathlib import Path

from rich.console import Console

from benchmarks import discovery, machine, report, runner

RESULTS = Path(__file__).resolve().parent / "results"
FOUNDATIONS = ("numpy", "scipy", "numba")


def arguments(given: Sequence[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "--only",
        nargs="+",
        metavar="NAME",
        default=["*"],
        help="measures, problems or rows; * is any text",
    )
    parser.add_argument("--repeats", type=positive, default=5, help="repeats that count (5)")
    parser.add_argument("--list", action="store_true", help="name the rows and stop")
    parser.add_argument("--out", type=Path, default=RESULTS, metavar="DIR", help="where to write")
    return parser.parse_args(given)


def positive(text: str) -> int:
    """Read a whole number above zero."""
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{number} given, at least 1 wanted")
    return number


def plan(names: Iterable[str]) -> list[runner.Contest]:
    """Choose the rows where a name fits the measure, the problem or both."""
    problems, contestants = discovery.problems(), tuple(discovery.contestants().values())
    contests = (
        runner.Contest(measure, row, problems[row.problem], contestants)
        for measure in discovery.measures().values()
        for row in measure.rows
    )
    patterns = tuple(names)
    return [contest for contest in contests if any(fits(contest, p) for p in patterns)]


def fits(contest: runner.Contest, pattern: str) -> bool:
    """Tell whether a pattern names the measure, the problem or the row."""
    names = (contest.name, contest.measure.name, contest.problem.name)
    return any(fnmatchcase(name, pattern) for name in names)


def run_all(contests: list[runner.Contest], repeats: int, console: Console) -> list[runner.Result]:
    """Run the rows one after the other, saying what is going on."""
    results = []
    for contest in contests:
        with console.status(contest.name) as status:

            def progress(text: str, name: str = contest.name) -> None:
                status.update(f"{name}: {text}")

            results.append(runner.run(contest, repeats, progress))
        report.show(console, results[-1])
    return results


def main(given: Sequence[str] | None = None) -> int:
    """Run the benchmark."""
    options, console = arguments(given), Console()
    contests = plan(options.only)
    if not contests:
        console.print("no row has such a name; --list shows them all")
        return 2
    if options.list:
        for contest in contests:
            console.print(contest.name, contest.wanted(), highlight=False)
        return 0
    started, load = datetime.now(), machine.load()
    results = run_all(contests, options.repeats, console)
    distributions = [contestant.distribution for contestant in contests[0].contestants]
    versions = machine.versions([*FOUNDATIONS, *distributions])
    whole = report.Report(started, options.repeats, machine.describe(load), versions, results)
    for path in report.write(whole, options.out):
        console.print("written:", path)
    return 0
