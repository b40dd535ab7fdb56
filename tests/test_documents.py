"""Every Python block in README.md and docs/ runs, and prints what the document says it prints.

The blocks of one document share their names, in reading order. Where the next fenced block
after a Python block is a ``text`` block, it has to hold exactly what the Python block printed.
"""

import contextlib
import io
import re
import textwrap
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parent.parent
FENCED = re.compile(
    r"^ *```(?P<language>\S*)[^\n]*\n(?P<body>.*?)^ *```$", re.MULTILINE | re.DOTALL
)


class Block(NamedTuple):
    language: str
    body: str
    line: int


def blocks(text):
    return [
        Block(
            language=found["language"],
            body=textwrap.dedent(found["body"]),
            line=text.count("\n", 0, found.start("body")),
        )
        for found in FENCED.finditer(text)
    ]


def has_python(path):
    return any(block.language == "python" for block in blocks(path.read_text(encoding="utf-8")))


PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
WITH_EXAMPLES = [str(page.relative_to(ROOT)) for page in PAGES if has_python(page)]


def printed_by(block, name, namespace):
    # Empty lines in front make a traceback point at the line of the document.
    code = compile("\n" * block.line + block.body, name, "exec")
    with contextlib.redirect_stdout(io.StringIO()) as output:
        exec(code, namespace)
    return output.getvalue()


def check(text, name="document"):
    """Run the blocks of one document and compare what they print."""
    namespace = {"__name__": "__main__"}
    all_blocks = blocks(text)
    for block, following in zip(all_blocks, [*all_blocks[1:], None], strict=True):
        if block.language != "python":
            continue
        output = printed_by(block, name, namespace)
        if following is not None and following.language == "text":
            assert output.rstrip() == following.body.rstrip(), f"{name}, line {block.line + 1}"


@pytest.mark.parametrize("page", WITH_EXAMPLES)
def test_the_examples_run_and_print_what_is_shown(page):
    check((ROOT / page).read_text(encoding="utf-8"), page)


TWO_BLOCKS = "Words.\n\n```python\nx = 2\n```\n\n```python\nprint(x + 1)\n```\n\nprints\n\n"


def test_blocks_share_their_names_and_the_right_output_passes():
    check(TWO_BLOCKS + "```text\n3\n```\n")


def test_output_that_differs_is_noticed():
    with pytest.raises(AssertionError, match="document, line 8"):
        check(TWO_BLOCKS + "```text\n4\n```\n")


def test_an_example_that_fails_is_noticed():
    with pytest.raises(ZeroDivisionError):
        check("1. A list:\n\n   ```python\n   1 / 0\n   ```\n")


def test_other_languages_are_left_alone():
    check("```bash\nexit 1\n```\n\n```text\nnot an output\n```\n")
