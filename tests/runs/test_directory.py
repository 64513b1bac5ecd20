"""A run directory loses nothing that was appended, and has one writer."""

import json
import math
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

from ilfo.runs.directory import RunDirectory, RunError, kept_on_disk
from ilfo.runs.integrity import ENTRY
from ilfo.storage import atomic as files
from ilfo.storage.provenance import versions

CONFIG = {"type": "MobILE", "horizon": 500, "λ": 0.1}


@pytest.fixture
def run(tmp_path: Path) -> Any:
    with RunDirectory.create(tmp_path / "runs" / "a", CONFIG) as run:
        yield run


def rows(*iterations: int, **more: Any) -> list[dict[str, Any]]:
    return [
        {"iteration": i, "seed": s, "mmd": i + 0.1 * s, **more} for i in iterations for s in (0, 1)
    ]


@pytest.mark.parametrize(
    ("env", "added"),
    [
        ("CartPole-v1", ""),
        (None, ""),
        ("my_env.py:Own,mass=2", " --trust-env my_env.py"),
        ("package:Own-v0", " --trust-env package"),
    ],
)
def test_what_to_continue_with(env, added, tmp_path, monkeypatch) -> None:
    with RunDirectory.create(tmp_path / "run", {"spec": {"env": env}}) as run:
        monkeypatch.setattr("ilfo.runs.directory.read_meta", lambda _: {ENTRY: {"iteration": 2}})
        assert kept_on_disk(run.path).endswith(f"with: ilfo resume {run.path}{added}")


def test_create_then_open(run: RunDirectory) -> None:
    assert run.config == CONFIG
    assert json.loads((run.path / "config.json").read_text()) == CONFIG
    assert RunDirectory.open(run.path).config == CONFIG
    assert run.checkpoint == run.path / "last.npz"


def test_an_empty_directory_may_be_used(tmp_path: Path) -> None:
    RunDirectory.create(tmp_path, CONFIG).close()
    assert RunDirectory.open(tmp_path).config == CONFIG


def test_a_run_that_died_before_its_config_leaves_a_usable_directory(tmp_path: Path) -> None:
    (tmp_path / ".lock").touch()
    (tmp_path / ".config.json.0.ilfo-tmp").write_text("{")
    RunDirectory.create(tmp_path, CONFIG).close()
    assert {entry.name for entry in tmp_path.iterdir()} == {".lock", "config.json"}


def test_create_refuses_what_is_in_use(run: RunDirectory, tmp_path: Path) -> None:
    run.close()
    with pytest.raises(RunError, match=r"runs/a is in use.*--out.*`ilfo resume`"):
        RunDirectory.create(run.path, CONFIG)
    other = tmp_path / "holiday"
    other.mkdir()
    (other / "photo.jpg").touch()
    with pytest.raises(RunError, match="holiday is in use"):
        RunDirectory.create(other, CONFIG)
    assert [entry.name for entry in other.iterdir()] == ["photo.jpg"]
    with pytest.raises(RunError, match=r"photo\.jpg is a file"):
        RunDirectory.create(other / "photo.jpg", CONFIG)


@pytest.mark.parametrize("config", [{"x": object()}, {"x": math.nan}])
def test_a_config_that_is_not_json_makes_no_directory(tmp_path: Path, config: Any) -> None:
    with pytest.raises(RunError, match="JSON"):
        RunDirectory.create(tmp_path / "a", config)
    assert not (tmp_path / "a").exists()


def test_open_refuses_what_is_no_run(tmp_path: Path) -> None:
    with pytest.raises(RunError, match=r"no run directory .*nowhere"):
        RunDirectory.open(tmp_path / "nowhere")
    with pytest.raises(RunError, match="not a run directory"):
        RunDirectory.open(tmp_path, write=True)
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "config.json").write_text("{")
    with pytest.raises(RunError, match=r"config\.json is not valid JSON"):
        RunDirectory.open(tmp_path)
    (tmp_path / "config.json").write_text("[]")
    with pytest.raises(RunError, match="expected a JSON object"):
        RunDirectory.open(tmp_path)


def test_one_writer_many_readers(run: RunDirectory) -> None:
    with pytest.raises(RunError, match="in use by another process"):
        RunDirectory.open(run.path, write=True)
    reader = RunDirectory.open(run.path)
    with pytest.raises(RunError, match="write=True"):
        reader.append("metrics", rows(0))
    with pytest.raises(RunError, match="write=True"):
        reader.write_summary({})
    with pytest.raises(RunError, match="write=True"):
        reader.remove_rows_after(0)
    run.close()
    with pytest.raises(RunError, match="write=True"):
        run.append("metrics", rows(0))
    RunDirectory.open(run.path, write=True).close()


HOLD = """
import sys, time
from ilfo.runs.directory import RunDirectory
run = RunDirectory.open(sys.argv[1], write=True)
print("locked", flush=True)
time.sleep(60)
"""


def test_a_killed_process_frees_the_lock(run: RunDirectory) -> None:
    run.close()
    source = str(Path(files.__file__).parents[2])
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(run.path)],
        stdout=subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": source},
    )
    try:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"locked\n"
        with pytest.raises(RunError, match="in use by another process"):
            RunDirectory.open(run.path, write=True)
    finally:
        holder.kill()
        holder.communicate()
    RunDirectory.open(run.path, write=True).close()


def test_opening_for_writing_clears_leftovers(run: RunDirectory) -> None:
    run.close()
    leftover = run.path / ".last.npz.0.ilfo-tmp"
    leftover.touch()
    RunDirectory.open(run.path)
    assert leftover.exists()
    RunDirectory.open(run.path, write=True).close()
    assert not leftover.exists()


def test_numbers_come_back_exactly(run: RunDirectory) -> None:
    row = {
        "iteration": np.int64(0),
        "sum": 0.1 + 0.2,
        "tiny": 5e-324,
        "single": np.float32(0.1),
        "jax": jnp.float32(1 / 3),
        "whole": 2.0,
        "large": 1e22,
        "count": 2**63,
        "flag": True,
        "minus": -0.0,
        "infinite": -math.inf,
        "empty": None,
    }
    run.append("metrics", row)
    run.append("metrics", row | {"sum": math.nan})
    first, second = run.rows("metrics")
    expected = row | {"single": float(np.float32(0.1)), "jax": float(np.float32(1 / 3)), "flag": 1}
    assert first == expected
    assert {k: type(v) for k, v in first.items()} == {
        k: type(v.item() if isinstance(v, np.generic) else v) for k, v in expected.items()
    }
    assert math.copysign(1, first["minus"]) == -1
    assert math.isnan(second["sum"])


def test_rows_of_both_tables_in_order(run: RunDirectory) -> None:
    run.append("metrics", rows(0))
    run.append("metrics", [])
    run.append("metrics", [dict(reversed(row.items())) for row in rows(1)])
    run.append("timings", {"iteration": 0, "improve": 0.5})
    assert run.rows("metrics") == rows(0, 1)
    assert run.rows("timings") == [{"iteration": 0, "improve": 0.5}]
    text = (run.path / "metrics.csv").read_text()
    assert text.startswith("iteration,seed,mmd\n0,0,0.0\n0,1,0.1\n")


def test_no_rows_yet(run: RunDirectory) -> None:
    assert run.rows("metrics") == []
    run.remove_rows_after(3)
    assert run.rows("timings") == []


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"iteration": 1, "seed": 0}, r"missing \['mmd'\]"),
        ({"iteration": 1, "seed": 0, "mmd": 0.0, "kl": 0.0}, r"not in the header \['kl'\]"),
        ({"iteration": 1.0, "seed": 0, "mmd": 0.0}, "integer 'iteration', got 1.0"),
        ({"iteration": None, "seed": 0, "mmd": 0.0}, "integer 'iteration', got None"),
        ({"iteration": 1, "seed": 0, "mmd": "low"}, "number or None as 'mmd', got 'low'"),
        ({"iteration": 1, "seed": 0, "mmd": np.zeros(2)}, "number or None as 'mmd'"),
    ],
)
def test_rows_that_are_refused_change_nothing(
    run: RunDirectory, row: dict[str, Any], message: str
) -> None:
    run.append("metrics", rows(0))
    with pytest.raises(RunError, match=message):
        run.append("metrics", [*rows(1), row])
    assert run.rows("metrics") == rows(0)


def test_the_first_row_is_checked_too(run: RunDirectory) -> None:
    with pytest.raises(RunError, match="integer 'iteration', got None"):
        run.append("metrics", {"mmd": 1.0})
    with pytest.raises(RunError, match="'a,b' cannot name a column"):
        run.append("metrics", {"iteration": 0, "a,b": 1.0})
    assert not (run.path / "metrics.csv").exists()


def test_unknown_names_are_refused(run: RunDirectory) -> None:
    with pytest.raises(RunError, match="unknown table 'losses'; choose from metrics, timings"):
        run.append("losses", rows(0))


def test_remove_rows_after_after_a_kill(run: RunDirectory) -> None:
    run.append("metrics", rows(0, 1, 2))
    run.append("timings", rows(0, 1, 2))
    with (run.path / "metrics.csv").open("a") as file:
        file.write("3,0,0.")
    assert run.rows("metrics") == rows(0, 1, 2)
    with pytest.raises(RunError, match="incomplete line; call remove_rows_after"):
        run.append("metrics", rows(3))
    run.remove_rows_after(1)
    assert run.rows("metrics") == run.rows("timings") == rows(0, 1)
    run.append("metrics", rows(2))
    assert run.rows("metrics") == rows(0, 1, 2)


def test_resumed_tables_equal_those_of_an_unbroken_run(run: RunDirectory, tmp_path: Path) -> None:
    with RunDirectory.create(tmp_path / "unbroken", CONFIG) as unbroken:
        unbroken.append("metrics", rows(0, 1, 2, 3))
    whole = (unbroken.path / "metrics.csv").read_bytes()
    for size in range(0, len(whole), 3):
        (run.path / "metrics.csv").write_bytes(whole[:size])
        done = max((row["iteration"] for row in run.rows("metrics")[1::2]), default=-1)
        run.remove_rows_after(done)
        run.append("metrics", rows(*range(done + 1, 4)))
        assert (run.path / "metrics.csv").read_bytes() == whole


def test_a_crash_while_cutting_back_keeps_the_table(
    run: RunDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    def crash(*_: Any) -> None:
        raise OSError("disk on fire")

    run.append("metrics", rows(0, 1))
    monkeypatch.setattr(os, "replace", crash)
    with pytest.raises(OSError, match="disk on fire"):
        run.remove_rows_after(0)
    assert run.rows("metrics") == rows(0, 1)


@pytest.mark.parametrize("line", ["1,0", "1,0,x", "1.0,0,0.5", "1,0,0.5,2"])
def test_a_damaged_line_is_named(run: RunDirectory, line: str) -> None:
    run.append("metrics", rows(0))
    with (run.path / "metrics.csv").open("a") as file:
        file.write(line + "\n")
    with pytest.raises(RunError, match=r"metrics\.csv, line 4"):
        run.rows("metrics")


def test_summary(run: RunDirectory) -> None:
    run.write_summary(
        {"task": "cartpole", "mean": np.float32(0.5), "seeds": ({"r": jnp.arange(2)}, math.nan)}
    )
    text = (run.path / "summary.json").read_text()
    assert json.loads(text) == {"task": "cartpole", "mean": 0.5, "seeds": [{"r": [0, 1]}, None]}
    assert text.startswith('{\n "task": "cartpole",\n "mean"')


def test_versions() -> None:
    installed = versions()
    assert list(installed)[:2] == ["ilfo", "python"]
    assert {"jax", "jaxlib", "equinox", "optax", "gymnasium", "numpy"} <= set(installed)
    assert installed["numpy"] == np.__version__
    assert all(isinstance(version, str) and version for version in installed.values())
