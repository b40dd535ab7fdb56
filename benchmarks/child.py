"""Runs one function in a process of its own and brings its answer back.

What depends on the state of a process (its peak memory, what is imported and compiled already,
its answer to a signal) has to be measured in a fresh one. The function takes the names of a
contestant and of a problem and returns numbers by name.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path

from benchmarks.declarations import Contestant, Problem

Answer = dict[str, float]
Experiment = Callable[[str, str], Answer]
ROOT = Path(__file__).resolve().parent.parent


def start(
    experiment: Experiment,
    contestant: Contestant,
    problem: Problem,
    environment: Mapping[str, str] | None = None,
) -> subprocess.Popen[str]:
    """Start the process; its standard output can be read."""
    place = f"{experiment.__module__}:{experiment.__name__}"
    return subprocess.Popen(
        [sys.executable, "-m", "benchmarks.child", place, contestant.name, problem.name],
        cwd=ROOT,
        env={**os.environ, **(environment or {})},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def answer(process: subprocess.Popen[str]) -> Answer:
    """Wait for the process to end and read the last line it printed."""
    output, errors = process.communicate()
    if process.returncode != 0:
        last = (errors.strip().splitlines() or ["no message"])[-1]
        raise RuntimeError(f"the process ended with {process.returncode}: {last}")
    numbers: Answer = json.loads(output.strip().splitlines()[-1])
    return numbers


def run(
    experiment: Experiment,
    contestant: Contestant,
    problem: Problem,
    environment: Mapping[str, str] | None = None,
) -> Answer:
    """Start the process and wait for its answer."""
    return answer(start(experiment, contestant, problem, environment))


def main() -> None:
    """Answer for the experiment named on the command line."""
    place, contestant, problem = sys.argv[1:]
    module, name = place.split(":")
    print(json.dumps(getattr(import_module(module), name)(contestant, problem)))


if __name__ == "__main__":
    main()
