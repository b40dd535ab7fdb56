"""Models to files and back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from os import PathLike
from pathlib import Path
from typing import Any

from sklearn.pipeline import Pipeline

from adiabat.errors import ModelFileError
from adiabat.estimators.svc import SVC
from adiabat.persistence.atomic import only_writer, overwrite
from adiabat.persistence.classifier import ClassifierCodec
from adiabat.persistence.codecs import Codecs
from adiabat.persistence.container import noted, packed, require_safetensors, unpacked
from adiabat.persistence.draft import Draft
from adiabat.persistence.fields import Fields
from adiabat.persistence.living import LIVING_PIPELINE
from adiabat.persistence.transformers import ESTIMATORS

#: All that a file can hold. A new class is one line here, or in the table of transformers.
CODECS = Codecs([ClassifierCodec(), LIVING_PIPELINE, *ESTIMATORS])


def save(model: Any, path: str | PathLike[str], *, notes: Mapping[str, str] | None = None) -> None:
    """Write a model to a file, whole or not at all.

    The file is one safetensors file, with all that the model is and nothing of what it was: rows
    that were unlearned are not in it. Until the new file is whole, the old one stays; its
    permissions are kept and a link is followed.

    From then on the model and one that is loaded go the same way to the last bit, whatever they
    learn and unlearn: the model gives up its living machines, which know how they came where they
    are, and makes them anew with the next change as the loaded one does.

    Parameters
    ----------
    model : SVC, adiabat.Pipeline or sklearn.pipeline.Pipeline
        An ``SVC``, fitted or not, or a pipeline with one as its last step. Its transformers have
        to be scikit-learn's scalers, encoders, ``SimpleImputer``, ``PCA``, ``ColumnTransformer``
        or pipelines of these; its kernel must not be a callable. ``last_change_`` is not kept. A
        living pipeline keeps what ``remembers_`` says, and its rows as they came if it was
        fitted with ``restandardise=True``: arrays, CSR matrices, and frames of numbers, bools
        and strings.
    path : str or path-like
        The file.
    notes : dict of str, default=None
        Words of your own to go with the model, by names; ``notes_of`` reads them.

    Raises
    ------
    ModelFileError
        Where the model holds something that a file cannot.
    BusyError
        Where another thread is changing the model.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import adiabat
    >>> model = adiabat.SVC(kernel="linear").fit([[0.0], [1.0], [2.0]], ["no", "yes", "yes"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     adiabat.save(model, Path(folder) / "model.adiabat")
    ...     twin = adiabat.load(Path(folder) / "model.adiabat")
    >>> twin.unlearn(2).predict([[0.0], [1.0]])
    array(['no', 'yes'], dtype='<U3')
    """
    _require_classifier(model)
    require_safetensors()
    with ExitStack() as held:
        draft = Draft(CODECS, held)
        record = CODECS.packed(model, draft)
        overwrite(Path(path), packed(record, draft.tensors, notes), check=_read)


def load(path: str | PathLike[str]) -> Any:
    """Read a model from a file that ``save`` has written.

    Everything is looked at before anything is made of it, and nothing in the file is executed.
    What the file says of the optimum is not taken on trust: ask the model's ``certificate()``.

    Parameters
    ----------
    path : str or path-like
        The file.

    Returns
    -------
    SVC, adiabat.Pipeline or sklearn.pipeline.Pipeline
        The model.

    Raises
    ------
    ModelFileError
        Where the file is damaged, or no file of ours.

    Examples
    --------
    >>> import adiabat
    >>> adiabat.load(adiabat.__file__)
    Traceback (most recent call last):
        ...
    adiabat.errors.ModelFileError: ...: no safetensors file; ...
    """
    try:
        return _read(Path(path))
    except ModelFileError as error:
        raise ModelFileError(f"{path}: {error}") from error


@contextmanager
def edited(path: str | PathLike[str]) -> Iterator[Any]:
    """Change a model in its file: load it, and save it at the end unless something went wrong.

    Another process that wants to do so at the same time gets an error: the rows that one of them
    forgets would come back with the other's file.

    Parameters
    ----------
    path : str or path-like
        The file.

    Yields
    ------
    SVC, adiabat.Pipeline or sklearn.pipeline.Pipeline
        The model.

    Raises
    ------
    BusyError
        Where another process is changing the file.
    """
    with only_writer(Path(path)):
        model = load(path)
        yield model
        save(model, path, notes=notes_of(path))


def notes_of(path: str | PathLike[str]) -> dict[str, str]:
    """Read the notes in a file that ``save`` has written; nothing is made of the model.

    Parameters
    ----------
    path : str or path-like
        The file.

    Returns
    -------
    dict of str
        What ``save`` was given as ``notes``.
    """
    try:
        return noted(Path(path))
    except ModelFileError as error:
        raise ModelFileError(f"{path}: {error}") from error


def _read(path: Path) -> Any:
    record, tensors = unpacked(path)
    fields = Fields("model", record, tensors, CODECS)
    try:
        model = CODECS.read(fields)
    except ModelFileError:
        raise
    except (ValueError, TypeError, OverflowError) as error:
        # what scikit-learn and numpy say of values that are no good
        raise ModelFileError(f"the model cannot be made: {error}") from error
    fields.end()
    if tensors:
        raise ModelFileError(f"{min(tensors)}: an array that belongs to nothing")
    _require_classifier(model)
    return model


def _require_classifier(model: Any) -> None:
    last = model
    while isinstance(last, Pipeline) and len(last.steps):
        last = last.steps[-1][1]
    if not isinstance(last, SVC):
        raise ModelFileError(
            f"model: {type(model).__name__} is no SVC and does not end in one; wanted an SVC, or "
            "a pipeline with one as its last step"
        )
