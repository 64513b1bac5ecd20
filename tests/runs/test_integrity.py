"""Files of a run that do not belong together are noticed, and the error names the file."""

import json
import shutil
from pathlib import Path

import pytest

from ilfo.data.demonstrations import Demonstrations
from ilfo.reports.records import read_run
from ilfo.runs import recorder
from ilfo.runs.directory import RunDirectory, RunError
from ilfo.runs.integrity import Tally
from ilfo.runs.launch import resume, start
from ilfo.runs.loading import load_best, load_policies
from tests.helpers.agents import MACHINE, STEP, small_spec


@pytest.fixture(scope="module")
def other_run(cache_home, demos_file, tmp_path_factory) -> Path:
    """Another run of the same sizes."""
    out = tmp_path_factory.mktemp("other") / "run"
    start(small_spec(demos_file, 1, first_seed=7), out, MACHINE)
    return out


@pytest.fixture
def copy(finished_run, tmp_path) -> Path:
    return Path(shutil.copytree(finished_run, tmp_path / "copy"))


def edit_seed(run: Path) -> None:
    config = json.loads((run / "config.json").read_text())
    config["spec"]["first_seed"] += 1
    config["seeds"] = [seed + 1 for seed in config["seeds"]]
    (run / "config.json").write_text(json.dumps(config))


def edit_value(run: Path) -> None:
    text = (run / "metrics.csv").read_text()
    (run / "metrics.csv").write_text(text.replace("\n2,0,", "\n2,1,"))


def shorten(name: str, lines: int):
    def damage(run: Path) -> None:
        kept = (run / name).read_text().splitlines(keepends=True)[:-lines]
        (run / name).write_text("".join(kept))

    return damage


def edit_settings(run: Path) -> None:
    config = json.loads((run / "config.json").read_text())
    config["settings"]["weight"] += 1
    (run / "config.json").write_text(json.dumps(config))


DAMAGE = {
    "metrics gone": (lambda run: (run / "metrics.csv").unlink(), r"metrics\.csv is missing"),
    "timings gone": (lambda run: (run / "timings.csv").unlink(), r"timings\.csv is missing"),
    "metrics short": (shorten("metrics.csv", 1), r"metrics\.csv has \d+ bytes, but \d+ were"),
    "timings short": (shorten("timings.csv", 2), r"timings\.csv has \d+ bytes, but \d+ were"),
    "metrics edited": (edit_value, r"metrics\.csv was changed"),
    "seeds edited": (edit_seed, r"config\.json was changed after the run was started"),
    "settings edited": (edit_settings, r"config\.json was changed after the run was started"),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_damage_is_named_and_nothing_is_changed(damage, copy):
    harm, message = DAMAGE[damage]
    harm(copy)
    before = {entry.name: entry.read_bytes() for entry in copy.iterdir()}
    for use in (load_best, load_policies, lambda path: resume(path, MACHINE)):
        with pytest.raises(RunError, match=message):
            use(copy)
    assert {entry.name: entry.read_bytes() for entry in copy.iterdir()} == before


@pytest.mark.parametrize("name", ["config.json", "last.npz"])
def test_a_file_of_another_run_is_noticed(name, copy, other_run):
    shutil.copy(other_run / name, copy / name)
    for use in (load_best, lambda path: resume(path, MACHINE)):
        with pytest.raises(RunError, match=r"config\.json was changed .*checkpoint .* another run"):
            use(copy)


def test_a_checkpoint_that_is_gone_is_noticed(copy):
    (copy / "last.npz").unlink()
    with pytest.raises(RunError, match=r"last\.npz is missing, but 5 iterations are recorded"):
        load_best(copy)
    with pytest.raises(RunError, match=r"last\.npz is missing, but 5 iterations are recorded"):
        resume(copy, MACHINE)
    for name in ("metrics.csv", "timings.csv"):
        (copy / name).unlink()
    ended = r"last\.npz is missing, but summary\.json says that the run has ended; restore it"
    for use in (load_best, lambda path: resume(path, MACHINE)):
        with pytest.raises(RunError, match=ended):
            use(copy)


def test_an_older_checkpoint_does_not_cost_rows(demos_file, tmp_path):
    run = tmp_path / "run"
    start(small_spec(demos_file, 1), run, MACHINE)
    shutil.copy(run / "last.npz", tmp_path)
    resume(run, MACHINE, total_timesteps=3 * STEP)
    shutil.copy(tmp_path / "last.npz", run)
    with pytest.raises(RunError, match=r"last\.npz is of iteration 1, but 3 iterations are"):
        resume(run, MACHINE)


def test_a_new_budget_and_rows_to_come_are_no_damage(copy):
    """As if the process had been killed between the rows of an iteration and its checkpoint, after
    a resume with a larger budget."""
    config = json.loads((copy / "config.json").read_text())
    config["spec"]["total_timesteps"] = 6 * STEP
    (copy / "config.json").write_text(json.dumps(config))
    text = (copy / "metrics.csv").read_text()
    row = text.splitlines()[-1].split(",")
    (copy / "metrics.csv").write_text(text + ",".join(["6", *row[1:]]) + "\n6,1,")
    load_best(copy)
    assert resume(copy, MACHINE)["online_samples"] == 6 * STEP
    with RunDirectory.open(copy) as run:
        run.check_files()
        assert [row["iteration"] for row in run.rows("timings")] == [1, 2, 3, 4, 5, 6]


def test_the_experts_return_can_be_added_to_a_finished_run(copy, tmp_path, monkeypatch):
    monkeypatch.setattr(recorder, "FINAL_EPISODES", 2)
    monkeypatch.setattr(recorder, "draw_curves", lambda *_: False)
    config = json.loads((copy / "config.json").read_text())
    known = Demonstrations.load(config["spec"]["demos"])
    silent = Demonstrations.from_arrays(
        [trajectory.states for trajectory in known],
        terminal=[trajectory.terminal for trajectory in known],
    )
    silent.save(tmp_path / "silent.npz")
    config["spec"]["demos"] = str(tmp_path / "silent.npz")
    (copy / "config.json").write_text(json.dumps(config))
    metrics = (copy / "metrics.csv").read_bytes()
    after = resume(copy, MACHINE, expert_return=50.0)
    assert after["expert_return"] == read_run(copy).expert_return == 50.0
    for seed in after["seeds"]:
        assert seed["greedy_score"] == seed["greedy_return"] / 50
    assert (copy / "metrics.csv").read_bytes() == metrics
    load_best(copy)  # its files still belong together


def test_the_recordings_own_return_is_not_overruled(copy):
    before = (copy / "config.json").read_bytes()
    with pytest.raises(ValueError, match="say themselves that the expert's mean return"):
        resume(copy, MACHINE, expert_return=50.0)
    assert (copy / "config.json").read_bytes() == before


def test_demonstrations_may_be_moved(copy, tmp_path):
    config = json.loads((copy / "config.json").read_text())
    moved = shutil.copy(config["spec"]["demos"], tmp_path / "moved.npz")
    config["spec"]["demos"] = str(moved)
    (copy / "config.json").write_text(json.dumps(config))
    load_best(copy)
    assert resume(copy, MACHINE)["online_samples"] == 5 * STEP


def test_a_tally_is_that_of_the_whole_file(tmp_path):
    path = tmp_path / "table.csv"
    path.write_bytes(b"a,b\n")
    tally = Tally(path)
    tally.add(b"1,2\n")
    path.write_bytes(b"a,b\n1,2\n")
    assert tally.as_dict() == Tally(path).as_dict()
    assert tally.as_dict()["bytes"] == 8
