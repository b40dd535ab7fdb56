"""The commands, their options and their examples; what they do stands in the files beside."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable
from contextlib import nullcontext
from enum import StrEnum
from typing import Annotated, Any

import typer

from adiabat.cli.faults import InputError
from adiabat.cli.reading import READERS
from adiabat.cli.speech import Answer, Manner, complain
from adiabat.errors import AdiabatError

_EXAMPLES = "Files for the examples: adiabat tour --files .  writes them."
_CODES = (
    "Exit codes: 0 fine; 1 the answer is no (check); 2 wrong input, and nothing was changed; "
    "130 interrupted: a model is then as it was, or changed as a whole."
)


def _example(words: str) -> str:
    """A command on a line of its own, so that it can be copied from a narrow terminal."""
    return f"Example:\n\nadiabat {words}"


app = typer.Typer(
    name="adiabat",
    help="Support vector classifiers that learn, unlearn and adapt, exactly.",
    epilog=f"{_CODES}\n\n{_EXAMPLES}",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)

Kind = StrEnum("Kind", {name: name for name in READERS})  # type: ignore[misc]


class KernelName(StrEnum):
    """Kernels by their names."""

    rbf = "rbf"
    linear = "linear"
    poly = "poly"
    sigmoid = "sigmoid"


Model = Annotated[str, typer.Argument(metavar="MODEL", help="A model file.")]
Data = Annotated[
    str, typer.Argument(metavar="DATA", help="CSV, TSV, Parquet, .npz or svmlight; - is stdin.")
]
Format = Annotated[Kind | None, typer.Option("--format", help="What DATA is, if not by its name.")]
Target = Annotated[str | None, typer.Option(metavar="COLUMN", help="The column of the labels.")]
Id = Annotated[str | None, typer.Option("--id", metavar="COLUMN", help="The column of the ids.")]
Json = Annotated[bool, typer.Option("--json", help="Answer in one JSON object.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing but errors.")]
Cost = Annotated[float | None, typer.Option("--C", help="What a slack costs; inf: hard margin.")]
Kernel = Annotated[KernelName | None, typer.Option(help="The similarity of rows.")]
Gamma = Annotated[
    str | None, typer.Option(metavar="NUMBER", help="Of rbf, poly, sigmoid; or scale, or auto.")
]
Degree = Annotated[int | None, typer.Option(help="Of poly.")]
Coef0 = Annotated[float | None, typer.Option(help="Of poly and sigmoid.")]
Balanced = Annotated[
    bool | None, typer.Option("--balanced/--unbalanced", help="Weigh all classes alike.")
]
Ids = Annotated[
    str, typer.Option(metavar="IDS", help="17,42 or a file with one in each line; - is stdin.")
]


def _answered(manner: Manner, work: Callable[[], Answer]) -> None:
    """Do the work, give its answer, and end with the code that says how it went."""
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        warnings.showwarning = lambda message, *_, **__: manner.remark(str(message))
        try:
            answer = work()
            manner.give(answer)
            sys.stdout.flush()
        except BrokenPipeError as error:  # whoever reads has read enough
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit(0) from error
        except KeyboardInterrupt as error:
            complain("interrupted")
            raise typer.Exit(130) from error
        except (AdiabatError, ValueError, OSError, MemoryError) as error:
            complain(_sentence(error))
            raise typer.Exit(2) from error
    if not answer.good:
        raise typer.Exit(1)


def _sentence(error: BaseException) -> str:
    """What went wrong, in one line."""
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename or 'a file'}: {error.strerror}"
    return " ".join(str(error).split()) or type(error).__name__


def _settings(**given: Any) -> dict[str, Any]:
    """The settings that were named, as the classifier calls and takes them."""
    named = {name: value for name, value in given.items() if value is not None}
    if "kernel" in named:
        named["kernel"] = str(named["kernel"])
    if "gamma" in named:
        named["gamma"] = _gamma(named["gamma"])
    if "balanced" in named:
        named["class_weight"] = "balanced" if named.pop("balanced") else None
    return named


def _gamma(word: str) -> float | str:
    return word if word in ("scale", "auto") else _number("--gamma", word)


def _number(option: str, word: str) -> float:
    try:
        return float(word)
    except ValueError as error:
        raise InputError(f"{option}: {word!r}; wanted a number") from error


def _numbers(option: str, words: str) -> list[float]:
    return [_number(option, word.strip()) for word in words.split(",")]


@app.command(epilog=_example("train iris.csv --target species --id flower --model iris.adiabat"))
def train(
    data: Data,
    model: Annotated[str, typer.Option("--model", "-m", metavar="FILE", help="Where to save.")],
    target: Target = None,
    id: Id = None,  # noqa: A002
    drop: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN", help="Leave a column out; may be repeated."),
    ] = None,
    encode: Annotated[
        bool, typer.Option("--encode", help="Make columns of 0 and 1 of columns of words.")
    ] = False,
    category: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN", help="Numbers that are words; may be repeated."),
    ] = None,
    standardise: Annotated[
        bool, typer.Option(help="Bring numbers to mean 0 and spread 1, and keep the scaler.")
    ] = True,
    restandardise: Annotated[
        bool,
        typer.Option(
            "--restandardise",
            help="Measure the scaler and the values of words anew after each change of rows.",
        ),
    ] = False,
    C: Cost = None,
    kernel: Kernel = None,
    gamma: Gamma = None,
    degree: Degree = None,
    coef0: Coef0 = None,
    balanced: Balanced = None,
    format: Format = None,  # noqa: A002
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Learn the rows of a file, prove the optimum and save the model."""
    manner = Manner(as_json=json, quiet=quiet)

    def work() -> Answer:
        from adiabat.cli.training import Wish
        from adiabat.cli.training import train as trained

        settings = _settings(
            C=C, kernel=kernel, gamma=gamma, degree=degree, coef0=coef0, balanced=balanced
        )
        wish = Wish(
            data, format, target, id, tuple(drop or ()), encode, tuple(category or ()),
            standardise, restandardise, settings, model,
        )  # fmt: skip
        return trained(wish, manner)

    _answered(manner, work)


@app.command(epilog=_example("check iris.adiabat"))
def check(model: Model, json: Json = False, quiet: Quiet = False) -> None:
    """Prove a model anew from its rows: 0 if it is the optimum, 1 if that is not proved."""
    manner = Manner(as_json=json, quiet=quiet)

    def work() -> Answer:
        from adiabat.cli import asking
        from adiabat.cli.model_files import opened

        return asking.check(opened(model), manner)

    _answered(manner, work)


@app.command(epilog=_example("predict iris.adiabat new.csv"))
def predict(
    model: Model,
    data: Data,
    values: Annotated[bool, typer.Option("--values", help="Decision values too.")] = False,
    id: Id = None,  # noqa: A002
    format: Format = None,  # noqa: A002
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Write a label for each row, as CSV to standard output, beside the row's id."""
    manner = Manner(as_json=json, quiet=quiet)

    def work() -> Answer:
        from adiabat.cli import asking
        from adiabat.cli.model_files import opened

        held = opened(model).with_columns(id=id)
        return asking.predict(held, data, format, manner, values=values)

    _answered(manner, work)


@app.command(epilog=_example("learn iris.adiabat new.csv"))
def learn(
    model: Model,
    data: Data,
    target: Target = None,
    id: Id = None,  # noqa: A002
    format: Format = None,  # noqa: A002
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Learn further rows, as if they had been there from the beginning."""
    manner = Manner(as_json=json, quiet=quiet)

    def work() -> Answer:
        from adiabat.cli import changing
        from adiabat.cli.model_files import owned

        with owned(model) as held:
            told = held.with_columns(id=id, target=target)
            return changing.learn(told, data, format, manner)

    _answered(manner, work)


@app.command(epilog=_example("forget iris.adiabat --ids 17,42 --receipt receipt.json"))
def forget(
    model: Model,
    ids: Ids,
    receipt: Annotated[
        str | None, typer.Option(metavar="FILE", help="Time, count, digests and proof; no ids.")
    ] = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Forget rows, as if never seen: no byte of theirs stays, and what a scaler keeps is said."""
    manner = Manner(as_json=json, quiet=quiet)

    def work() -> Answer:
        from adiabat.cli import changing
        from adiabat.cli.model_files import owned

        with owned(model) as held:
            return changing.forget(held, ids, receipt, manner)

    _answered(manner, work)


@app.command(epilog=_example("relabel iris.adiabat --ids 51,53 --to virginica"))
def relabel(
    model: Model,
    data: Annotated[
        str | None, typer.Argument(metavar="[DATA]", help="A file of ids and labels.")
    ] = None,
    ids: Annotated[str | None, typer.Option(metavar="IDS", help="As for forget.")] = None,
    to: Annotated[
        str | None, typer.Option(metavar="LABEL", help="Their label from now on.")
    ] = None,
    target: Target = None,
    id: Id = None,  # noqa: A002
    format: Format = None,  # noqa: A002
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Correct labels: of some ids to one, or of all ids in a file."""
    manner = Manner(as_json=json, quiet=quiet)

    def work() -> Answer:
        from adiabat.cli import changing
        from adiabat.cli.model_files import owned

        with owned(model) as held:
            told = held.with_columns(id=id, target=target)
            if data is not None and ids is None and to is None:
                return changing.relabel_from(told, data, format, manner)
            if data is None and ids is not None and to is not None:
                return changing.relabel(told, ids, to, manner)
        raise InputError("relabel: wanted either --ids and --to, or a file of ids and labels")

    _answered(manner, work)


@app.command(epilog=_example("revise iris.adiabat corrected.csv"))
def revise(
    model: Model,
    data: Data,
    id: Id = None,  # noqa: A002
    format: Format = None,  # noqa: A002
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Correct the features of the rows in a file, and their labels if it has them."""
    manner = Manner(as_json=json, quiet=quiet)

    def work() -> Answer:
        from adiabat.cli import changing
        from adiabat.cli.model_files import owned

        with owned(model) as held:
            return changing.revise(held.with_columns(id=id), data, format, manner)

    _answered(manner, work)


@app.command(epilog=_example("adapt iris.adiabat --C 10 --gamma 0.2"))
def adapt(
    model: Model,
    C: Cost = None,
    kernel: Kernel = None,
    gamma: Gamma = None,
    degree: Degree = None,
    coef0: Coef0 = None,
    balanced: Balanced = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Move a model to other settings, as if its rows had been learned with these."""
    manner = Manner(as_json=json, quiet=quiet)

    def work() -> Answer:
        from adiabat.cli import changing
        from adiabat.cli.model_files import owned

        settings = _settings(
            C=C, kernel=kernel, gamma=gamma, degree=degree, coef0=coef0, balanced=balanced
        )
        with owned(model) as held:
            return changing.adapt(held, settings, manner)

    _answered(manner, work)


@app.command(epilog=_example("loo iris.adiabat --out left_out.csv"))
def loo(
    model: Model,
    out: Annotated[
        str | None, typer.Option(metavar="FILE", help="Label and prediction of every row, as CSV.")
    ] = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Leave one out, exactly: what each row would be told had it not been seen."""
    manner = Manner(as_json=json, quiet=quiet)

    def work() -> Answer:
        from adiabat.cli import asking
        from adiabat.cli.model_files import opened

        place = None if out is None else asking.output(out, model)
        return asking.leave_one_out(opened(model), place, manner)

    _answered(manner, work)


@app.command(epilog=_example("search iris.adiabat --C 0.1,1,10 --gamma 0.1,0.3 --take"))
def search(
    model: Model,
    C: Annotated[
        str | None, typer.Option("--C", metavar="NUMBERS", help="Values, with commas.")
    ] = None,
    gamma: Annotated[
        str | None, typer.Option(metavar="NUMBERS", help="Values, with commas.")
    ] = None,
    take: Annotated[bool, typer.Option("--take", help="Move the model to the best.")] = False,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Try settings by exact leave-one-out, without a refit."""
    manner = Manner(as_json=json, quiet=quiet)

    def work() -> Answer:
        from adiabat.cli import asking
        from adiabat.cli.model_files import opened, owned

        named = {"C": C, "gamma": gamma}
        grid = {name: _numbers(f"--{name}", words) for name, words in named.items() if words}
        with owned(model) if take else nullcontext(opened(model)) as held:
            return asking.search(held, grid, manner, take=take)

    _answered(manner, work)


@app.command(epilog=_example("info iris.adiabat"))
def info(model: Model, json: Json = False, quiet: Quiet = False) -> None:
    """Say what is in a model file."""
    manner = Manner(as_json=json, quiet=quiet)

    def work() -> Answer:
        from adiabat.cli import asking
        from adiabat.cli.model_files import opened

        return asking.info(opened(model))

    _answered(manner, work)


@app.command(epilog=_example("export iris.adiabat iris.npz"))
def export(
    model: Model,
    file: Annotated[str, typer.Argument(metavar="FILE", help="A name that ends in .npz.")],
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Write what predicts, and no other row, as plain arrays (.npz)."""
    manner = Manner(as_json=json, quiet=quiet)

    def work() -> Answer:
        from adiabat.cli.exporting import export as exported
        from adiabat.cli.model_files import opened

        return exported(opened(model), file)

    _answered(manner, work)


@app.command(epilog=_example("tour --picture tour.png"))
def tour(
    picture: Annotated[
        str, typer.Option(metavar="FILE", help="Where the picture goes.")
    ] = "adiabat-tour.png",
    files: Annotated[
        str | None,
        typer.Option(metavar="DIRECTORY", help="Only write the files for the other examples."),
    ] = None,
    quiet: Quiet = False,
) -> None:
    """Show the main job on data that ship with scikit-learn, in under a minute."""
    manner = Manner(quiet=quiet)

    def work() -> Answer:
        from adiabat.cli import sample_files
        from adiabat.cli import tour as show

        if files is not None:
            return sample_files.write(files)
        return show.tour(picture, manner)

    _answered(manner, work)
