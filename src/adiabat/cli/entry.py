"""Where the program ``adiabat`` begins: without its extra it says how to get it."""

from __future__ import annotations

import sys
from importlib.util import find_spec

#: What the extra brings.
_EXTRA = ("typer", "rich", "pandas", "safetensors")


def main() -> int:
    """Run the command line."""
    missing = [name for name in _EXTRA if find_spec(name) is None]
    if missing:
        sys.stderr.write(
            f"adiabat: the command line needs {', '.join(missing)}, which a plain install does "
            "without; python -m pip install 'adiabat[cli]' (in a clone, '.[cli]') brings it\n"
        )
        return 2
    from adiabat.cli.app import app  # noqa: PLC0415

    app()
    return 0
