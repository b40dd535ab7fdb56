"""Tables III and IV of 004, all rows, beside what is measured here (004, section IV)."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from benchmarks.declarations import UnavailableError
from benchmarks.papers import pima_kernel_width, pima_regularisation
from benchmarks.papers.pima_counts import Case, pima


def tables(case: Case) -> Sequence[str]:
    """Both tables, one under the other."""
    changes = pima_regularisation.incremental(case), pima_regularisation.retraining(case)
    return [
        "004, table III: another C",
        *pima_regularisation.table(*changes),
        "",
        "004, table IV: another width of the kernel",
        *pima_kernel_width.table(pima_kernel_width.measured(case)),
    ]


def main() -> int:
    """Print both tables."""
    try:
        case = pima()
    except UnavailableError as error:
        print(error)
        return 1
    print(*tables(case), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
