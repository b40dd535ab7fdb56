"""The house rules that a machine can check."""

import ast
import itertools
import statistics
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src" / "adiabat"
FILES = sorted(
    file
    for folder in (PACKAGE, ROOT / "tests", ROOT / "benchmarks")
    for file in folder.rglob("*.py")
)

LONGEST_FUNCTION = 60
LONGEST_FILE = 600
MEDIAN_FUNCTION = 10


def docstring_lines(function):
    if ast.get_docstring(function, clean=False) is None:
        return 0
    text = function.body[0]
    return text.end_lineno - text.lineno + 1


def function_lengths(source):
    """Lines of every function by name, from ``def`` to its end, without its docstring."""
    functions = (
        node
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    )
    return [(f.name, f.end_lineno - f.lineno + 1 - docstring_lines(f)) for f in functions]


def package_functions():
    return [
        (f"{file.relative_to(PACKAGE)}: {name}", length)
        for file in sorted(PACKAGE.rglob("*.py"))
        for name, length in function_lengths(file.read_text(encoding="utf-8"))
    ]


def test_length_counts_a_function_without_its_docstring_and_decorators():
    source = '@wraps\ndef f(x):\n    """One.\n\n    Two.\n    """\n    y = x\n    return y\n'
    assert function_lengths(source) == [("f", 3)]


def test_no_function_of_the_package_is_longer_than_a_page():
    too_long = [(name, n) for name, n in package_functions() if n > LONGEST_FUNCTION]
    assert too_long == []


def test_half_of_the_functions_are_shorter_than_ten_lines():
    assert statistics.median(length for _, length in package_functions()) < MEDIAN_FUNCTION


def test_no_file_is_too_long_to_read():
    lengths = {str(f.relative_to(ROOT)): f.read_bytes().count(b"\n") for f in FILES}
    assert {name: n for name, n in lengths.items() if n > LONGEST_FILE} == {}


def test_no_module_is_a_drawer_for_everything():
    drawers = {"utils", "util", "common", "helpers", "misc"}
    names = itertools.chain.from_iterable(f.relative_to(ROOT).with_suffix("").parts for f in FILES)
    assert drawers.isdisjoint(names)


@pytest.mark.parametrize("heavy", ["numba", "matplotlib"])
def test_importing_adiabat_does_not_load(heavy):
    program = f"import sys, adiabat; print({heavy!r} in sys.modules)"
    answer = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True
    )
    assert answer.stdout.strip() == "False"
