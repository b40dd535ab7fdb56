"""One writer at a time, and what it leaves behind when it fails: nothing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from adiabat.errors import BusyError


class Pen:
    """What a writer holds while it changes a model; every copy of a model has one of its own."""

    def __init__(self) -> None:
        self._hands: list[object] = []

    def __reduce__(self) -> tuple[type[Pen], tuple[()]]:
        return Pen, ()

    @contextmanager
    def held(self) -> Iterator[None]:
        """Hold the pen; a second hand on it is an error.

        An interrupt right after the hand was laid on it must not leave it there for ever: a lock
        that was just acquired would not be known to be.
        """
        hand = object()
        try:
            self._hands.append(hand)
            if self._hands[0] is not hand:
                raise BusyError(
                    "another thread is changing this model; wanted one writer at a time"
                )
            yield
        finally:
            if hand in self._hands:
                self._hands.remove(hand)


@contextmanager
def writing(estimator: Any) -> Iterator[None]:
    """Change an estimator as its only writer; whatever goes wrong leaves it as it was.

    Nothing that was there is missing at any moment: other threads may be predicting.
    """
    pen: Pen = vars(estimator).setdefault("_pen", Pen())
    with pen.held():
        before = vars(estimator).copy()
        try:
            yield
        except BaseException:
            vars(estimator).update(before)
            for name in vars(estimator).keys() - before.keys():
                delattr(estimator, name)
            raise


def become(estimator: Any, state: dict[str, Any]) -> None:
    """Give an estimator all its attributes anew, in one step that no other thread sees half of."""
    learned = vars(estimator).keys() - state.keys() - {"_pen"}
    vars(estimator).update(state)
    for name in learned:  # feature names, where there are none any more
        delattr(estimator, name)
