"""Somebody's words in a model's file, beside the model."""

import pytest

import adiabat
from adiabat import SVC, ModelFileError
from adiabat.persistence.saving import edited, notes_of

NOTES = {"columns": '{"target": "größe"}', "": "two\nlines"}


def model():
    return SVC(kernel="linear").fit([[0.0], [1.0], [2.0]], ["no", "yes", "yes"])


@pytest.mark.parametrize("notes", [None, {}, NOTES])
def test_notes_come_back_and_say_nothing_of_the_model(tmp_path, notes):
    path = tmp_path / "model.adiabat"
    adiabat.save(model(), path, notes=notes)
    assert notes_of(path) == (notes or {})
    assert adiabat.load(path).predict([[0.0], [2.0]]).tolist() == ["no", "yes"]


def test_notes_stay_where_a_model_is_edited_in_its_file(tmp_path):
    path = tmp_path / "model.adiabat"
    adiabat.save(model(), path, notes=NOTES)
    with edited(path) as held:
        held.unlearn(2)
    assert notes_of(path) == NOTES
    assert adiabat.load(path).ids_.tolist() == [0, 1]


def test_notes_are_texts(tmp_path):
    with pytest.raises(ModelFileError, match="notes: wanted texts"):
        adiabat.save(model(), tmp_path / "model.adiabat", notes={"a": 1})
    assert list(tmp_path.iterdir()) == []


def test_what_is_no_model_has_no_notes(tmp_path):
    path = tmp_path / "model.adiabat"
    path.write_bytes(b"PK\x03\x04 and so on, for longer than a header")
    with pytest.raises(ModelFileError, match=r"model\.adiabat: no safetensors file"):
        notes_of(path)
