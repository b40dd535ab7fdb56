"""Small files for the examples in the help: Fisher's flowers, which ship with scikit-learn."""

from __future__ import annotations

from pathlib import Path

from sklearn.datasets import load_iris

from adiabat.cli.asking import write_csv
from adiabat.cli.faults import InputError
from adiabat.cli.speech import Answer

#: Each so manieth flower is kept back.
_KEPT_BACK = 15
#: Flowers that are measured again, and by how much their petals were taken too long.
_MEASURED_AGAIN, _TOO_LONG = (24, 71), 0.3


def write(directory: str) -> Answer:
    """Write iris.csv, new.csv and corrected.csv into a directory."""
    if not Path(directory).is_dir():
        raise InputError(f"{directory}: there is no such directory")
    flowers = load_iris()
    names = [name.removesuffix(" (cm)") for name in flowers.feature_names]
    rows = [
        [number, *measures, str(flowers.target_names[label])]
        for number, (measures, label) in enumerate(
            zip(flowers.data.tolist(), flowers.target.tolist(), strict=True), start=1
        )
    ]
    again = [[*row[:3], round(row[3] - _TOO_LONG, 1), *row[4:]] for row in rows]
    contents = {
        "iris.csv": [row for row in rows if row[0] % _KEPT_BACK],
        "new.csv": [row for row in rows if row[0] % _KEPT_BACK == 0],
        "corrected.csv": [row for row in again if row[0] in _MEASURED_AGAIN],
    }
    answer = Answer({"files": list(contents)})
    for name, lines in contents.items():
        place = Path(directory) / name
        columns = dict(zip(["flower", *names, "species"], zip(*lines, strict=True), strict=True))
        with place.open("w", encoding="utf-8", newline="") as file:
            write_csv(file, columns)
        answer.say(f"{place}: {len(lines)} flowers")
    return answer
