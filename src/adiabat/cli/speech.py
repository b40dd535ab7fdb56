"""What a command says: words for people, one JSON object for machines, or nothing."""

from __future__ import annotations

import json
import logging
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from rich.console import Console
from rich.status import Status

#: What a line of progress has beside its words.
_BESIDE = 6
#: Seconds below which tenths of milliseconds are told.
_BRIEF = 0.01


@dataclass
class Answer:
    """What came of a command.

    Attributes
    ----------
    facts : dict
        For machines.
    words : list
        For people: lines, tables.
    good : bool
        False where the answer to a question is no.
    """

    facts: dict[str, Any] = field(default_factory=dict)
    words: list[Any] = field(default_factory=list)
    good: bool = True

    def say(self, *words: Any) -> None:
        self.words.extend(words)


@dataclass(frozen=True)
class Manner:
    """How somebody wants to be spoken to."""

    as_json: bool = False
    quiet: bool = False

    def give(self, answer: Answer) -> None:
        """Print an answer."""
        if self.as_json:
            sys.stdout.write(json.dumps(answer.facts, default=_plain, ensure_ascii=False) + "\n")
        elif not self.quiet:
            show(answer.words)

    def remark(self, sentence: str) -> None:
        """Say something beside the answer, on standard error."""
        if not self.quiet and not self.as_json:
            console(stderr=True).print(f"[dim]note:[/dim] {_escaped(sentence)}")

    @contextmanager
    def waiting(self, doing: str) -> Iterator[None]:
        """Show on a terminal that work goes on, and how far it is."""
        err = console(stderr=True)
        if self.quiet or self.as_json or not err.is_terminal:
            yield
            return
        with err.status(doing) as status, _heard(status, doing):
            yield


def show(parts: list[Any]) -> None:
    """Print on standard output: for a terminal in its width, otherwise line by line as it is."""
    out = console()
    with out.capture() as captured:
        for part in parts:
            out.print(part, soft_wrap=isinstance(part, str) and not out.is_terminal)
    sys.stdout.writelines(f"{line.rstrip()}\n" for line in captured.get().splitlines())


def console(*, stderr: bool = False) -> Console:
    """Standard output or standard error: colour and width of a terminal, if it is one."""
    stream = sys.stderr if stderr else sys.stdout
    wide = None if stream.isatty() or "COLUMNS" in os.environ else 100
    return Console(file=stream, highlight=False, soft_wrap=False, width=wide, emoji=False)


def duration(seconds: float) -> str:
    """A time for people."""
    if seconds >= 1:
        return f"{seconds:.1f} s"
    return f"{1000 * seconds:.0f} ms" if seconds >= _BRIEF else f"{1000 * seconds:.2g} ms"


def written(value: Any) -> str:
    """A setting for people."""
    return f"{value:g}" if isinstance(value, float) else str(value)


def complain(sentence: str) -> None:
    """Say on standard error why nothing was done."""
    sys.stderr.write(f"adiabat: {sentence}\n")


class _Listener(logging.Handler):
    """Shows what long work reports of itself."""

    def __init__(self, status: Status, doing: str) -> None:
        super().__init__(logging.DEBUG)
        self.status, self.doing = status, doing

    def emit(self, record: logging.LogRecord) -> None:
        room = self.status.console.width - len(self.doing) - _BESIDE  # one line, or it flickers
        told = " ".join(record.getMessage().split())[: max(room, 0)]
        self.status.update(f"{self.doing}   [dim]{_escaped(told)}[/dim]")


@contextmanager
def _heard(status: Status, doing: str) -> Iterator[None]:
    logger, listener = logging.getLogger("adiabat"), _Listener(status, doing)
    before = logger.level
    logger.addHandler(listener)
    logger.setLevel(logging.DEBUG)
    try:
        yield
    finally:
        logger.setLevel(before)
        logger.removeHandler(listener)


def _escaped(text: str) -> str:
    return text.replace("[", r"\[")


def _plain(value: Any) -> Any:
    """What NumPy holds, as JSON has it."""
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    raise TypeError(f"{type(value).__name__} has no place in an answer")
