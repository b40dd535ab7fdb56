"""What another kernel width costs on the Pima set (004, section IV, table IV).

C is 1. The machine of sigma^2 = 4 is led to the neighbouring widths, from there to theirs, and so
on outwards: the new kernel is put in, and the rows whose errors do not agree with their
coefficients go where they want them (section III.B). Full retraining moves all coefficients
together from nothing, as in table III. Widths are printed rounded: sigma^2 is 2^(k/2).
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from adiabat import SVC
from adiabat.adiabatic.keeper import Demand, Keeper
from adiabat.kernels import RBF, Factors
from benchmarks.papers.pima_counts import Case, Counts, from_nothing, show

Array = NDArray[Any]

#: Where the others begin.
CENTRE = 4
#: Bytes for kernel columns: all there are of this set.
BUDGET = 1 << 26


@dataclass(frozen=True)
class Printed:
    """A row of the paper's table; the row of the centre has no incremental side."""

    sigma2: str
    margin: int
    error: int
    reserve: int
    full_evaluations: float
    full_perturbations: int
    unlearned: int | None = None
    evaluations: float | None = None
    perturbations: int | None = None


HEAD = (
    f"{'sigma^2':>7}{'S':>10}{'E':>10}{'R':>10}{'initial U':>12}{'perturbations':>15}"
    f"{'kernel values':>15}{'as the paper counts':>21}{'adapt':>7}"
    f"{'full: perturbations':>21}{'kernel values':>15}"
)

#: Table IV by k.
PRINTED = {
    1: Printed("1.41", 347, 260, 161, 1.004, 730, 500, 1.000, 721),
    2: Printed("2.0", 269, 286, 213, 0.991, 774, 483, 0.975, 740),
    3: Printed("2.83", 204, 299, 265, 0.981, 813, 442, 0.944, 760),
    4: Printed("4.0", 150, 328, 290, 0.965, 825),
    5: Printed("5.66", 109, 341, 318, 0.952, 832, 205, 0.533, 286),
    6: Printed("8.0", 81, 356, 331, 0.943, 836, 154, 0.479, 224),
    7: Printed("11.3", 51, 370, 347, 0.924, 818, 120, 0.446, 197),
}


@dataclass(frozen=True)
class Width:
    """A row of the table, measured.

    Attributes
    ----------
    full : Counts
        Of full retraining.
    led : Counts or None
        Of the way from the neighbour.
    unlearned : int
        Rows that had to move when the kernel was put in.
    by_the_paper : int
        Kernel values by what seems to be the paper's bookkeeping, that of table III: a column for
        each row with a coefficient before, for each that is unlearned, and for each that becomes
        a member and was none before. Ours are computed once.
    adapted : int
        Kernel values that ``SVC.adapt`` computes, whichever way it takes.
    """

    full: Counts
    led: Counts | None = None
    unlearned: int = 0
    by_the_paper: int = 0
    adapted: int = 0


def of_width(case: Case, k: int) -> Case:
    """The same rows with sigma^2 = 2^(k/2)."""
    return replace(case, gamma=2.0 ** (-k / 2))


def retrained(case: Case) -> Keeper:
    """A machine that has learned all rows at once."""
    keeper = from_nothing(case.first(len(case.signs)))
    keeper.journey.settle(keeper.row_of)
    keeper.journey.travel()
    return keeper


def unlearned(demand: Demand, theta: Array, bias: float) -> Array:
    """Who has to move under another kernel (004, table II)."""
    rows = demand.kernel.prepare(demand.rows, np.float64)
    g = demand.target * (demand.kernel.block(rows, rows) @ theta + bias) - 1.0
    inside = (theta > demand.low) & (theta < demand.high)
    return inside | np.where(theta == 0.0, g < 0.0, g > 0.0)


class Noting(RBF):
    """The same kernel, which notes of whom single columns are computed."""

    def __init__(self, gamma: float) -> None:
        super().__init__(gamma)
        self.__dict__["asked"] = set()

    def block(self, a: Factors, b: Factors) -> Array:
        if len(a) == 1 and len(b) > 1:
            self.asked.add(a.right.tobytes())
        return super().block(a, b)


def by_the_paper(demand: Demand, theta: Array, bias: float) -> int:
    """Columns that are computed where only those of members are kept, times the rows."""
    demand = replace(demand, kernel=Noting(demand.kernel.gamma))
    Keeper.perturbed(demand, theta, bias, budget=0)
    rows = demand.kernel.prepare(demand.rows, np.float64)
    were = np.flatnonzero((theta > demand.low) & (theta < demand.high))
    others = np.delete(np.arange(len(theta)), were)
    joined = sum(rows.right[i].tobytes() in demand.kernel.asked for i in others)
    moving = np.count_nonzero(unlearned(demand, theta, bias))
    return len(theta) * int(np.count_nonzero(theta) + moving + joined)


def led(case: Case, k: int, neighbour: Keeper) -> tuple[Width, Keeper]:
    """Measure a row: from the neighbour, and from nothing."""
    case = of_width(case, k)
    demand, (theta, bias) = case.first(len(case.signs)), neighbour.answer
    keeper = Keeper.perturbed(demand, theta, bias, BUDGET)
    return Width(
        full=case.counts(retrained(case)),
        led=case.counts(keeper),
        unlearned=int(np.count_nonzero(unlearned(demand, theta, bias))),
        by_the_paper=by_the_paper(demand, theta, bias),
    ), keeper


def adapted(case: Case, k: int, neighbour: int) -> int:
    """Kernel values that a classifier of the neighbour's width computes to get to this one."""
    model = SVC(C=case.C, gamma=2.0 ** (-neighbour / 2)).fit(case.rows.values, case.signs)
    before = model.work_.kernel_evaluations
    return model.adapt(gamma=2.0 ** (-k / 2)).work_.kernel_evaluations - before


def measured(case: Case) -> dict[int, Width]:
    """All rows of the table by k."""
    centre = retrained(of_width(case, CENTRE))
    found = {CENTRE: Width(full=case.counts(centre))}
    for outwards in (range(CENTRE - 1, 0, -1), range(CENTRE + 1, 8)):
        keeper, neighbour = centre, CENTRE
        for k in outwards:
            width, keeper = led(case, k, keeper)
            found[k] = replace(width, adapted=adapted(case, k, neighbour))
            neighbour = k
    return dict(sorted(found.items()))


def table(found: dict[int, Width]) -> Sequence[str]:
    """Write the paper's figures beside the measured ones, kernel values in thousands."""
    lines = [
        "Pima, C = 1 (004, table IV): paper | measured; kernel values in thousands",
        HEAD,
    ]
    return lines + [_line(PRINTED[k], width) for k, width in found.items()]


def _line(paper: Printed, width: Width) -> str:
    full = width.full
    line = f"{paper.sigma2:>7}" + "".join(
        f"{f'{getattr(paper, name)} | {getattr(full, name)}':>10}"
        for name in ("margin", "error", "reserve")
    )
    if width.led is None or paper.evaluations is None:
        line += f"{'-':>12}{'-':>15}{'-':>15}{'-':>21}{'-':>7}"
    else:
        counted = f"{1e3 * paper.evaluations:.0f} | {width.led.kernel_evaluations / 1e3:.0f}"
        line += f"{f'{paper.unlearned} | {width.unlearned}':>12}"
        line += f"{f'{paper.perturbations} | {width.led.perturbations}':>15}{counted:>15}"
        line += f"{width.by_the_paper / 1e3:>21.0f}{width.adapted / 1e3:>7.0f}"
    evaluations = f"{1e3 * paper.full_evaluations:.0f} | {full.kernel_evaluations / 1e3:.0f}"
    return line + f"{f'{paper.full_perturbations} | {full.perturbations}':>21}{evaluations:>15}"


def main() -> int:
    """Print the table."""
    return show(lambda case: table(measured(case)))


if __name__ == "__main__":
    sys.exit(main())
