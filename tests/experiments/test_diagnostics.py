"""What the parts did late in the runs: means over known rows."""

from ilfo.agents.registry import FUNCTIONS
from ilfo.experiments.cell import Cell
from ilfo.experiments.diagnostics import COLUMNS, part_rows
from ilfo.experiments.runner import result_files
from ilfo.runs.spec import RunSpec
from ilfo.storage.config import to_dict
from tests.helpers.results import as_result


def written(folder, cell, rows_of_seeds):
    for path, rows in zip(result_files(folder, "sweep", cell), rows_of_seeds, strict=True):
        settings = to_dict(cell.spec.settings(), FUNCTIONS)
        summary = {"online_samples": 80, "demonstrations": {"trajectories": 10}}
        path.parent.mkdir(exist_ok=True)
        path.write_text(as_result({"settings": settings, "summary": summary, "curve": rows}))


def test_the_last_quarter_of_every_seed_counts(tmp_path):
    cell = Cell("some", RunSpec(task="cartpole", seeds=2, total_timesteps=80))
    seed = lambda late: [{"mmd": 9.0, "kl": None}] * 6 + [{"mmd": late, "kl": late / 10}] * 2
    written(tmp_path, cell, [seed(0.1), seed(0.3)])
    header, row = part_rows("sweep", (cell, Cell("none", cell.spec)), tmp_path)
    shown = dict(zip(header, row, strict=True))
    assert (shown["cell"], shown["seeds"]) == ("some", "2")
    assert (shown["MMD"], shown["KL"]) == ("0.2", "0.02")
    assert {shown[name] for name in COLUMNS if name not in ("MMD", "KL")} == {"-"}


def test_a_run_of_fewer_than_four_iterations_has_its_last_one(tmp_path):
    cell = Cell("some", RunSpec(task="cartpole", seeds=1, total_timesteps=80))
    written(tmp_path, cell, [[{"mmd": 9.0}, {"mmd": 0.5}]])
    assert part_rows("sweep", (cell,), tmp_path)[1][2] == "0.5"
