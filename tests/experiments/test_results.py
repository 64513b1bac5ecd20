"""Result files that are not what the runner writes."""

import json
from pathlib import Path

import pytest

from ilfo.cli import main
from ilfo.experiments.results import read_results
from ilfo.experiments.runner import find_sweep, result_files

CELL = find_sweep("tasks")[0]
KEPT = Path(__file__).parents[2] / "results"


def write(folder: Path, text: str) -> Path:
    path = result_files(folder, "tasks", CELL)[0]
    path.parent.mkdir(parents=True)
    path.write_text(text)
    return path


def example() -> dict:
    path = next(path for path in result_files(KEPT, "tasks", CELL) if path.exists())
    return json.loads(path.read_text())


def test_what_the_runner_writes_is_read(tmp_path):
    write(tmp_path, json.dumps(example()))
    assert read_results(tmp_path, "tasks", CELL) == [example()]


@pytest.mark.parametrize("text", ["", "{}", "[]", "5", "[" * 100_000, "{", '{"settings": {}}'])
def test_a_damaged_file_is_named(text, tmp_path, capsys):
    path = write(tmp_path, text)
    with pytest.raises(SystemExit) as end:
        main(["bench", "table", "tasks", "--results", str(tmp_path)])
    assert end.value.code == 2
    assert f"{path} is not" in capsys.readouterr().err


SECONDS = {"collect": 1.0, "improve": 1.0, "save": 1.0, "total": {}}


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ({"curve": [5]}, "iteration in row 0 of curve"),
        ({"curve": [{"iteration": 1}]}, "online_samples in row 0 of curve"),
        ({"curve": {}}, "curve"),
        ({"summary": 5}, "summary.env"),
        ({"result": {"greedy_return": 10**400}}, "result"),
        ({"peak_memory": {}}, "peak_memory"),
        ({"summary": example()["summary"] | {"seconds": SECONDS}}, "summary.seconds.total"),
    ],
)
def test_a_part_that_is_missing_is_named(change, name, tmp_path):
    path = write(tmp_path, json.dumps(example() | change))
    with pytest.raises(ValueError, match=f"{path.name} is not the result of a seed: {name} is"):
        read_results(tmp_path, "tasks", CELL)
