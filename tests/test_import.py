"""What ``import adiabat`` offers, and what it leaves for later."""

import subprocess
import sys

import pytest

import adiabat


@pytest.mark.parametrize("heavy", ["numba", "matplotlib", "sklearn.svm"])
def test_a_classifier_can_be_made_without(heavy):
    program = f"import sys; from adiabat import SVC; SVC(C=2.0); print({heavy!r} in sys.modules)"
    answer = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True
    )
    assert answer.stdout.strip() == "False"


@pytest.mark.parametrize("name", adiabat.__all__)
def test_every_public_name_is_there(name):
    assert name in dir(adiabat)
    assert getattr(adiabat, name).__name__.removeprefix("adiabat.") == name


def test_a_name_that_is_not_public_is_missing_in_the_usual_words():
    with pytest.raises(AttributeError, match="module 'adiabat' has no attribute 'NoSuchThing'"):
        adiabat.NoSuchThing  # noqa: B018
