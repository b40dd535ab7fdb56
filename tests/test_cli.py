"""The command line: everyday calls, what they print, what they refuse, what they leave behind."""

import csv
import hashlib
import io
import json
import os
import re
import shlex
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_iris
from typer.main import get_command
from typer.testing import CliRunner

import adiabat
from adiabat.cli.app import app
from adiabat.cli.exporting import export
from adiabat.cli.model_files import opened, owned

COMMANDS = (
    "train", "check", "predict", "learn", "forget", "relabel", "revise", "adapt", "loo", "search",
    "info", "export", "tour",
)  # fmt: skip
TRAIN = "train iris.csv --target species --id flower --model iris.adiabat"
EXACT = 1e-8


def run(line, **options):
    return CliRunner().invoke(app, shlex.split(line), **options)


def done(line, code=0, **options):
    """What a command prints, which has to end well."""
    result = run(line, **options)
    assert result.exit_code == code, result.output
    return result.stdout


def refused(line, *sentences, **options):
    """The one sentence of a command that ends with code 2."""
    result = run(line, **options)
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    assert result.stderr.count("\n") == 1, result.stderr
    assert result.stderr.startswith("adiabat: ")
    for sentence in sentences:
        assert sentence in result.stderr
    return result.stderr


def digest(path):
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()


def arrays_of(path):
    with np.load(path) as archive:
        return dict(archive)


def table(text):
    return list(csv.DictReader(io.StringIO(text)))


@pytest.fixture(scope="session")
def sample(tmp_path_factory):
    """A directory with the files of the examples and a model."""
    folder = tmp_path_factory.mktemp("sample")
    before = Path.cwd()
    os.chdir(folder)
    try:
        done("tour --files .")
        done(TRAIN)
    finally:
        os.chdir(before)
    return folder


@pytest.fixture
def here(sample, tmp_path, monkeypatch):
    """The same as the working directory, of one's own."""
    for file in sample.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    return tmp_path


# -- help


@pytest.mark.parametrize("command", COMMANDS)
def test_the_example_in_the_help_works_as_it_is_printed(here, command):
    help_text = done(f"{command} --help")
    (example,) = re.findall(r"Example:\s+adiabat (.*)", help_text)
    assert example.split()[0] == command
    done(example.strip())


@pytest.mark.parametrize("width", [80, 120])
@pytest.mark.parametrize("command", COMMANDS)
def test_the_example_is_on_one_line_of_a_terminal(command, width, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(width))
    lines = done(f"{command} --help").splitlines()
    assert max(map(len, lines)) <= width
    source = get_command(app).commands[command].epilog
    assert source.split("\n")[-1] in map(str.strip, lines)


def test_the_help_says_what_the_exit_codes_mean():
    text = " ".join(done("--help").split())
    assert "0 fine; 1 the answer is no (check); 2 wrong input" in text
    assert "130 interrupted" in text
    assert all(f" {command} " in text for command in COMMANDS)


# -- a newcomer's five commands, and the same in Python


def test_five_commands_from_a_file_to_a_model_that_learns_and_forgets(here):
    assert "The certificate holds" in done(TRAIN)
    assert "this is the optimum" in done("check iris.adiabat")
    told = table(done("predict iris.adiabat new.csv"))
    assert [row["flower"] for row in told] == [str(15 * k) for k in range(1, 11)]
    assert {row["prediction"] for row in told} == {"setosa", "versicolor", "virginica"}
    assert "holds 150 rows now" in done("learn iris.adiabat new.csv")
    assert "holds 148 rows now" in done("forget iris.adiabat --ids 17,42")
    assert "The certificate holds" in done("check iris.adiabat")


def test_the_five_commands_of_the_readme_work_as_they_are_printed(here):
    text = (Path(__file__).parent.parent / "README.md").read_text(encoding="utf-8")
    section = text.split("## On the command line")[1].split("\n## ")[0]
    commands = re.findall(r"^adiabat (.*)$", section, re.MULTILINE)
    assert len(commands) == 5
    for command in commands:
        line, _, place = command.partition(" > ")
        told = done(line)
        if place:
            Path(place).write_text(told)
    assert len(table(Path("told.csv").read_text())) == 10


def test_the_model_is_the_one_that_a_fit_with_the_same_scaler_gives(here):
    done("learn iris.adiabat new.csv")
    done("forget iris.adiabat --ids 17,42")
    done("relabel iris.adiabat --ids 51,53 --to virginica")
    done("adapt iris.adiabat --C 3")
    flowers = load_iris()
    X, y = flowers.data, flowers.target_names[flowers.target].astype(object)
    y[[50, 52]] = "virginica"
    model = adiabat.load("iris.adiabat")
    first = np.arange(1, 151) % 15 != 0
    scaled = (X - X[first].mean(axis=0)) / X[first].std(axis=0)
    kept = ~np.isin(np.arange(1, 151), [17, 42])
    fresh = adiabat.SVC(C=3.0, gamma=model[-1].gamma_).fit(scaled[kept], y[kept].astype(str))
    frame = _frame(X)
    assert np.abs(fresh.decision_function(scaled) - model.decision_function(frame)).max() < EXACT


def _frame(X):
    import pandas as pd

    names = ["sepal length", "sepal width", "petal length", "petal width"]
    return pd.DataFrame(X, columns=names)


# -- each command


def test_train_says_what_it_did_and_keeps_the_scaler(here):
    told = done(TRAIN)
    assert "140 rows of 4 features" in told
    assert "setosa (47), versicolor (47), virginica (46)" in told
    assert "mean 0 and spread 1" in told
    assert type(adiabat.load("iris.adiabat").steps[0][1]).__name__ == "StandardScaler"
    assert "Features: as they are" in done(f"{TRAIN} --no-standardise")
    assert type(adiabat.load("iris.adiabat")) is adiabat.SVC


def test_restandardise_leaves_nothing_that_remembers(here):
    told = done(f"{TRAIN} --restandardise")
    assert "measured anew after each change of rows" in told
    assert "measured anew" not in done(TRAIN.replace("iris.adiabat", "other.adiabat"))
    done("learn iris.adiabat new.csv")
    told = done("forget iris.adiabat --ids 17,42 --receipt receipt.json")
    assert "No step remembers them" in told
    assert "remembers them; train anew" not in told
    assert json.loads(Path("receipt.json").read_text())["remembers"] == {}
    model = adiabat.load("iris.adiabat")
    flowers = load_iris()
    left = [number - 1 for number in model.ids_.tolist()]
    assert len(left) == 148
    assert np.allclose(model[0].mean_, flowers.data[left].mean(axis=0), rtol=0, atol=EXACT)
    refused(f"{TRAIN} --restandardise --no-standardise", "--restandardise: the features are taken")


def test_values_of_words_are_forgotten_with_restandardise(here):
    lines = [f"{k % 5},{'red' if k % 3 else 'blue'},{k % 2}" for k in range(20)]
    Path("rows.csv").write_text("\n".join(["a,b,y", *lines, "3,conspicuous,1"]))
    done("train rows.csv --target y --encode --restandardise --model rows.adiabat")
    assert b"conspicuous" in Path("rows.adiabat").read_bytes()
    done("forget rows.adiabat --ids 20")
    assert b"conspicuous" not in Path("rows.adiabat").read_bytes()


def test_settings_reach_the_classifier(here):
    line = f"{TRAIN} --C 2 --kernel poly --degree 2 --gamma 0.5 --coef0 1 --balanced"
    settings = json.loads(done(f"{line} --json") and done("info iris.adiabat --json"))["settings"]
    expected = {"C": 2.0, "kernel": "poly", "degree": 2, "gamma": 0.5, "coef0": 1.0}
    assert settings == {**expected, "class_weight": "balanced", "loss": "hinge"}


def test_a_column_can_be_left_out(here):
    done(f"{TRAIN} --drop 'sepal width'")
    assert json.loads(done("info iris.adiabat --json"))["features"] == 3
    result = run("predict iris.adiabat new.csv")
    assert result.exit_code == 0
    assert "note: new.csv: 'sepal width' is nothing to this model" in result.stderr


def test_words_are_refused_or_encoded(here):
    rows = ["colour,size,y", "red,1,0", "blue,2,1", "red,1.5,0", "green,3,1"]
    Path("rows.csv").write_text("\n".join(rows))
    line = "train rows.csv --target y --model rows.adiabat"
    refused(line, "rows.csv, line 2, column 'colour': 'red' is text; wanted numbers, or --encode")
    assert "colour: a column of 0 and 1 for each value" in done(f"{line} --encode")
    assert done("check rows.adiabat --quiet") == ""
    Path("more.csv").write_text("y,size,colour\n1,2.5,violet\n0,1,red\n")
    told = table(done("predict rows.adiabat more.csv"))
    assert [row["row"] for row in told] == ["0", "1"]
    assert [row["prediction"] for row in told] == ["1", "0"]
    assert "holds 6 rows now" in done("learn rows.adiabat more.csv")
    assert "holds 5 rows now" in done("forget rows.adiabat --ids 5")


def test_check_says_no_where_there_is_no_unique_optimum(here):
    done(f"{TRAIN} --kernel sigmoid --coef0 -1")
    assert "The certificate does not hold" in done("check iris.adiabat", code=1)
    assert json.loads(done("check iris.adiabat --json", code=1))["holds"] is False


def test_predict_gives_decision_values_too(here):
    told = table(done("predict iris.adiabat new.csv --values"))
    model = adiabat.load("iris.adiabat")
    values = np.array(
        [[float(row[f"decision {label}"]) for label in model.classes_] for row in told]
    )
    X = load_iris().data[14::15]
    assert np.array_equal(values, model.decision_function(_frame(X)))


def test_predict_reads_standard_input(here):
    content = Path("new.csv").read_bytes()
    assert done("predict iris.adiabat -", input=content) == done("predict iris.adiabat new.csv")


def test_matrices_without_names_go_through_every_verb(here):
    rng = np.random.default_rng(0)
    lines = [f"{k % 2} " + " ".join(f"{j}:{v:.3f}" for j, v in enumerate(row, 1))
             for k, row in enumerate(rng.standard_normal((30, 4)))]  # fmt: skip
    Path("rows.svm").write_text("\n".join(lines[:25]))
    Path("more.svm").write_text("\n".join([*lines[25:], "1 2:3"]))
    done("train rows.svm --model rows.adiabat")
    assert len(table(done("predict rows.adiabat more.svm"))) == 6
    assert "holds 31 rows now" in done("learn rows.adiabat more.svm")
    assert "holds 29 rows now" in done("forget rows.adiabat --ids 30,0")
    Path("wide.svm").write_text("1 9:3\n")
    refused("predict rows.adiabat wide.svm", "rows of 9 features; wanted 4")
    refused("predict rows.adiabat new.csv", "wanted .npz or svmlight")
    refused("predict iris.adiabat more.svm", "its features have no names")


def test_forget_leaves_a_receipt_without_ids(here):
    before = digest("iris.adiabat")
    done("forget iris.adiabat --ids 17,42 --receipt receipt.json")
    receipt = json.loads(Path("receipt.json").read_text())
    assert receipt.keys() == {
        "verb", "time", "count", "digest_before", "digest_after", "remembers", "certificate",
    }  # fmt: skip
    assert receipt["count"] == 2
    assert receipt["remembers"] == {"standardscaler": 2}
    assert receipt["digest_before"] == before
    assert receipt["digest_after"] == digest("iris.adiabat")
    assert receipt["certificate"]["holds"] is True


@pytest.mark.parametrize(
    "content", ["17\n42\n", "17, 42", "flower\n17\n42", '"17"\r\n"42"\r\n\r\n']
)
@pytest.mark.parametrize("source", ["file", "standard input"])
def test_ids_come_from_a_file_or_standard_input(here, content, source):
    Path("gone.txt").write_text(content, newline="")
    if source == "file":
        done("forget iris.adiabat --ids gone.txt")
    else:
        done("forget iris.adiabat --ids -", input=content)
    assert not {17, 42} & set(adiabat.load("iris.adiabat").ids_.tolist())


def test_no_byte_of_forgotten_rows_stays_in_the_file(here):
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((20, 3))
    lines = [
        f"person-{k:04},{','.join(map(repr, row.tolist()))},{k % 2}" for k, row in enumerate(rows)
    ]
    Path("rows.csv").write_text("\n".join(["who,a,b,c,y", *lines]))
    done("train rows.csv --target y --id who --model rows.adiabat --no-standardise")
    content = Path("rows.adiabat").read_bytes()
    assert b"person-0007" in content
    assert rows[7, 0].tobytes() in content
    done("forget rows.adiabat --ids person-0007")
    content = Path("rows.adiabat").read_bytes()
    assert b"person-0007" not in content
    assert not any(value.tobytes() in content for value in rows[7])
    assert [file.name for file in here.iterdir() if "rows.adiabat" in file.name] == ["rows.adiabat"]


def test_labels_are_corrected_from_a_file(here):
    Path("labels.csv").write_text("species,flower\nvirginica,51\nsetosa,53\n")
    done("relabel iris.adiabat labels.csv")
    told = done("loo iris.adiabat --out out.csv") and table(Path("out.csv").read_text())
    labels = {row["flower"]: row["label"] for row in told}
    assert (labels["51"], labels["53"]) == ("virginica", "setosa")


def test_rows_that_are_counted_are_corrected_by_their_numbers(here):
    Path("rows.csv").write_text("a,y\n" + "\n".join(f"{k},{int(k > 4)}" for k in range(10)))
    done("train rows.csv --target y --model rows.adiabat")
    Path("fixed.csv").write_text("row,a,y\n3,3.5,0\n8,7.5,1\n")
    refused("revise rows.adiabat fixed.csv", "wanted --id with the column of fixed.csv")
    assert "Corrected 2 rows" in done("revise rows.adiabat fixed.csv --id row")
    assert json.loads(done("info rows.adiabat --json"))["id"] is None


def test_leave_one_out_names_the_rows_that_are_told_wrong(here):
    told = json.loads(done("loo iris.adiabat --json"))
    answer = adiabat.load("iris.adiabat").leave_one_out()
    assert told["wrong"] == answer.ids[answer.errors].tolist()
    assert told["errors"] == len(told["wrong"]) > 0


def test_search_takes_the_best(here):
    told = json.loads(done("search iris.adiabat --C 0.1,10 --gamma 0.1,0.5 --take --json"))
    assert len(told["tried"]) == 4
    assert told["best"]["errors"] == min(each["errors"] for each in told["tried"])
    settings = json.loads(done("info iris.adiabat --json"))["settings"]
    assert (settings["C"], settings["gamma"]) == (told["best"]["C"], told["best"]["gamma"])
    assert told["digest"] == digest("iris.adiabat")
    again = json.loads(done("loo iris.adiabat --json"))
    assert again["errors"] == told["best"]["errors"]


def test_search_alone_changes_nothing(here):
    before = digest("iris.adiabat")
    assert "Best by exact leave-one-out" in done("search iris.adiabat --C 1,inf")
    assert digest("iris.adiabat") == before


def test_what_is_exported_predicts_with_numpy_alone(here):
    done("train iris.csv --target species --id flower --model iris.adiabat --gamma 0.3")
    done("export iris.adiabat iris.npz")
    arrays = arrays_of("iris.npz")
    X = (load_iris().data - arrays["mean"]) / arrays["scale"]
    distances = ((X[:, None] - arrays["support_vectors"]) ** 2).sum(axis=2)
    values = np.exp(-arrays["gamma"] * distances)
    first, last = arrays["n_support"][:2], arrays["n_support"][2]
    ends = np.cumsum(arrays["n_support"])
    setosa, versicolor = slice(0, ends[0]), slice(ends[0], ends[1])
    coef = arrays["dual_coef"]
    pair = values[:, setosa] @ coef[0, setosa] + values[:, versicolor] @ coef[0, versicolor]
    model = adiabat.load("iris.adiabat")
    model[-1].decision_function_shape = "ovo"
    ours = model.decision_function(_frame(load_iris().data))[:, 0]
    assert first.sum() + last == len(arrays["support_vectors"])
    assert np.abs(pair + arrays["intercept"][0] - ours).max() < EXACT


# -- ways to be answered


@pytest.mark.parametrize(
    "line",
    [
        TRAIN, "check iris.adiabat", "predict iris.adiabat new.csv", "learn iris.adiabat new.csv",
        "forget iris.adiabat --ids 17", "relabel iris.adiabat --ids 17 --to virginica",
        "revise iris.adiabat corrected.csv", "adapt iris.adiabat --gamma scale", "loo iris.adiabat",
        "search iris.adiabat --C 1,2", "info iris.adiabat", "export iris.adiabat iris.npz",
    ],
)  # fmt: skip
def test_machines_get_one_json_object_and_the_quiet_get_nothing(here, line):
    result = run(f"{line} --json")
    assert result.exit_code == 0
    assert result.stderr == ""
    assert isinstance(json.loads(result.stdout), dict)
    done(TRAIN)
    result = run(f"{line} --quiet")
    assert result.exit_code == 0
    assert result.stderr == ""
    assert (result.stdout == "") is not line.startswith("predict")


def test_colour_is_for_terminals_only(here):
    for line in ("check iris.adiabat", "loo iris.adiabat", "info iris.adiabat"):
        assert "\x1b" not in done(line)


# -- what is refused: one sentence, exit code 2, and everything as it was

WRONG = {
    "no file": ("check none.adiabat", "none.adiabat"),
    "no model": ("check iris.csv", "iris.csv", "no safetensors file"),
    "a directory": ("check .", "directory"),
    "no data": ("train none.csv --target y --model m", "none.csv: there is no such file"),
    "a directory of data": ("train . --target y --model m", ".: that is a directory"),
    "no target": ("train iris.csv --model m", "--target: not given; wanted the column of iris.csv"),
    "another target": ("train iris.csv --target kind --model m", "no column 'kind' for --target"),
    "another id": ("train iris.csv --target species --id no --model m", "no column 'no' for --id"),
    "the target as id": (f"{TRAIN} --id species", "--id: 'species' is the target"),
    "another column to drop": (f"{TRAIN} --drop no", "no column 'no' for --drop"),
    "a model without a place": (
        "train iris.csv --target species --id flower --model no/m", "no/m",
    ),
    "a wrong C": (f"{TRAIN} --C -1", "'C' parameter"),
    "a wrong gamma": (f"{TRAIN} --gamma much", "--gamma: 'much'; wanted a number"),
    "no margin": (f"{TRAIN} --kernel linear --C inf", "separ"),
    "unknown id": ("forget iris.adiabat --ids 17,999", "--ids: 999 not held in iris.adiabat"),
    "no file of ids": ("forget iris.adiabat --ids gone.txt", "there is no such file either"),
    "an id twice": ("forget iris.adiabat --ids 17,17", "'17' stands there twice"),
    "no id": ("forget iris.adiabat --ids ,", "no id there"),
    "a receipt without a place": (
        "forget iris.adiabat --ids 17 --receipt no/r", "no/r: cannot be written",
    ),
    "a receipt on the model": (
        "forget iris.adiabat --ids 17 --receipt ./iris.adiabat", "that is what is read",
    ),
    "rows that are held": ("learn iris.adiabat iris.csv", "held already"),
    "no labels to learn": ("learn iris.adiabat new.csv --target no", "no column 'no'"),
    "neither ids nor file": ("relabel iris.adiabat --ids 17", "wanted either --ids and --to"),
    "unknown rows": ("revise iris.adiabat new.csv", "new.csv, line 2, column 'flower': id 15"),
    "nothing to adapt": ("adapt iris.adiabat", "no setting given"),
    "a wrong degree": ("adapt iris.adiabat --C 0", "'C' parameter"),
    "nothing to try": ("search iris.adiabat", "nothing to try"),
    "words to try": ("search iris.adiabat --C 1,many", "--C: 'many'; wanted a number"),
    "another ending": ("export iris.adiabat iris.onnx", "wanted a name that ends in .npz"),
    "a model on its data": (f"{TRAIN} --model ./iris.csv", "iris.csv: that is what is read"),
    "an answer on the model": ("loo iris.adiabat --out iris.adiabat", "that is what is read"),
    "no directory": ("tour --files none", "there is no such directory"),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_what_cannot_be_done_is_said_in_a_sentence_and_changes_nothing(here, case):
    line, *sentences = WRONG[case]
    before = {file.name: digest(file) for file in here.iterdir()}
    refused(line, *sentences)
    assert {file.name: digest(file) for file in here.iterdir()} == before


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("", "the file is empty"),
        ("flower,species\n1,setosa\n2,virginica\n", "no column is left for features"),
        (
            "flower,a,species\n1,2,setosa\n2,x,virginica\n",
            "line 3, column 'a': 'x' is not a number",
        ),
        ("flower,a,species\n1,2,setosa\n2,,virginica\n", "line 3, column 'a': no value there"),
        ("flower,a,species\n1,2,setosa\n2,3,setosa\n", "one class only, 'setosa'"),
        ("flower,a,species\n1,2,setosa\n1,3,virginica\n", "id 1 stands in line 2 too"),
        ("flower,a,species\n1,2\n", "line 2: 2 cells; wanted 3"),
        ("\0\1\2", "is no text"),
    ],
)
def test_a_file_that_cannot_be_learned_leaves_no_model(here, content, sentence):
    Path("rows.csv").write_text(content)
    refused("train rows.csv --target species --id flower --model m.adiabat", sentence)
    assert not Path("m.adiabat").exists()


def test_two_processes_do_not_change_one_model(here):
    with owned("iris.adiabat"):
        refused("forget iris.adiabat --ids 17", "iris.adiabat")
        assert "The certificate holds" in done("check iris.adiabat")
    done("forget iris.adiabat --ids 17")


def test_all_rows_are_not_forgotten_by_mistake(here):
    ids = ",".join(map(str, adiabat.load("iris.adiabat").ids_))
    refused(f"forget iris.adiabat --ids {ids}", "wanted one to be left")


# -- real processes


def program(*words, **options):
    call = [sys.executable, "-c", "from adiabat.cli.entry import main; raise SystemExit(main())"]
    return subprocess.run(
        [*call, *words], capture_output=True, text=True, timeout=300, check=False, **options
    )


def test_a_plain_install_is_told_how_to_get_the_command_line():
    start = (
        "import sys; sys.modules[{!r}] = None; from adiabat.cli.entry import main; sys.exit(main())"
    )
    for missing in ("typer", "rich", "pandas"):
        result = subprocess.run(
            [sys.executable, "-c", start.format(missing)],
            capture_output=True, text=True, timeout=300, check=False,
        )  # fmt: skip
        assert result.stderr.count("\n") == 1, result.stderr
        assert "python -m pip install 'adiabat[cli]'" in result.stderr
        assert (result.returncode, result.stdout) == (2, "")


def test_a_process_ends_with_its_code(here):
    assert program("check", "iris.adiabat").returncode == 0
    assert program("check", "none.adiabat").returncode == 2
    assert program("no-such-command").returncode == 2
    assert program("train", "iris.csv").returncode == 2


def test_prediction_does_not_load_numba(here):
    start = (
        "import sys; from adiabat.cli.app import app\n"
        "app(['predict', 'iris.adiabat', 'new.csv'], standalone_mode=False)\n"
        "print('numba' in sys.modules, 'matplotlib' in sys.modules)"
    )
    result = subprocess.run(
        [sys.executable, "-c", start], capture_output=True, text=True, timeout=300, check=True
    )
    assert result.stdout.splitlines()[-1] == "False False"
    assert len(result.stdout.splitlines()) == 12


def test_help_is_quick_to_load(here):
    start = (
        "import sys; from adiabat.cli.app import app\n"
        "app(['--help'], standalone_mode=False)\n"
        "print('sklearn' in sys.modules)"
    )
    result = subprocess.run(
        [sys.executable, "-c", start], capture_output=True, text=True, timeout=300, check=True
    )
    assert result.stdout.splitlines()[-1] == "False"


@pytest.mark.parametrize("verb", ["learn", "forget"])
def test_a_killed_change_leaves_the_old_model_or_the_new_one(here, verb):
    """A dozen in all; the moments are spread over the time that a change takes."""
    words = {"learn": ["new.csv"], "forget": ["--ids", "17,42"]}[verb]
    before = Path("iris.adiabat").read_bytes()
    started = time.perf_counter()
    assert program(verb, "iris.adiabat", *words).returncode == 0
    whole = time.perf_counter() - started
    after = Path("iris.adiabat").read_bytes()
    moments = np.random.default_rng(0).uniform(0.5, 1.0, 6) * whole
    call = [sys.executable, "-c", "from adiabat.cli.entry import main; main()", verb]
    for moment in moments:
        Path("iris.adiabat").write_bytes(before)
        process = subprocess.Popen([*call, "iris.adiabat", *words], stdout=subprocess.DEVNULL)
        try:
            process.wait(moment)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        assert Path("iris.adiabat").read_bytes() in (before, after)
        assert adiabat.load("iris.adiabat").certificate().holds()


@pytest.mark.skipif(os.name != "posix", reason="signals of another kind")
def test_an_interrupt_ends_with_130_and_leaves_the_model(here):
    before = digest("iris.adiabat")
    start = (
        "import os, signal, sys; import adiabat.cli.model_files as files\n"
        "from adiabat.cli.app import app\n"
        "files.adiabat.save = lambda *_, **__: os.kill(os.getpid(), signal.SIGINT)\n"
        "app(['forget', 'iris.adiabat', '--ids', '17'])"
    )
    result = subprocess.run(
        [sys.executable, "-c", start], capture_output=True, text=True, timeout=300, check=False
    )
    assert (result.returncode, result.stderr) == (130, "adiabat: interrupted\n")
    assert digest("iris.adiabat") == before


def test_the_export_is_of_the_model_in_the_file(here):
    answer = export(opened("iris.adiabat"), "iris.npz")
    assert answer.facts["support_rows"] == len(arrays_of("iris.npz")["support_vectors"])
