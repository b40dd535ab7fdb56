"""Tables III and IV of 004, all rows, beside what is measured here (004, section IV)."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from benchmarks.papers import pima_kernel_width, pima_regularisation
from benchmarks.papers.pima_counts import Case, show


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
    return show(tables)


if __name__ == "__main__":
    sys.exit(main())
