"""``python -m benchmarks``: pin the threads first, then bring numpy in."""

import sys

from benchmarks import threads

threads.pin()

from benchmarks.command_line import main  # noqa: E402  (numpy must see the pinned environment)

sys.exit(main())
