"""`ilfo sweep` as it is typed, on tiny runs: run, continued, compared; and its mistakes."""

import json
import zipfile

import pytest

from ilfo.cli import main

TINY = """
method = "bc"
task = "cartpole"
trajectories = 1
seeds = 2

[settings]
passes = 4
every = 2
episodes = 1
policy.width = 8
policy.depth = 1
"""


@pytest.fixture
def file(tmp_path, cache_home, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache_home))
    path = tmp_path / "tiny.toml"
    path.write_text(TINY)
    return path


def test_a_sweep_is_run_continued_and_compared(file, tmp_path, capsys):
    out = tmp_path / "out"
    store = ["--store", f"file://{tmp_path}/store"]
    command = ["sweep", str(file), "--out", str(out), "--jobs", "1", *store]
    main(command)
    copies = sorted(path.name for path in (tmp_path / "store").iterdir())
    assert copies == ["bc-0.zip", "bc-1.zip"]
    with zipfile.ZipFile(tmp_path / "store" / "bc-1.zip") as copy:
        assert copy.read("summary.json") == (out / "bc-1" / "summary.json").read_bytes()
    said = capsys.readouterr().out
    assert "bc-0 starts on " in said
    assert "2 of 2 runs" in said
    assert f"ilfo compare {out}/*/" in said
    first = (out / "bc-0" / "metrics.csv").read_bytes()
    summary = json.loads((out / "bc-1" / "summary.json").read_text())
    assert summary["seeds"][0]["seed"] == 1
    assert summary["threads"] == 1

    (out / "bc-1" / "summary.json").unlink()  # as if it had been stopped before its end
    main(command)
    said = capsys.readouterr().out
    assert "bc-1 starts" in said
    assert "bc-0" not in said
    again = json.loads((out / "bc-1" / "summary.json").read_text())
    assert again["seeds"] == summary["seeds"]
    assert (out / "bc-0" / "metrics.csv").read_bytes() == first

    main(command)
    assert "all runs are done" in capsys.readouterr().out
    main(["compare", *map(str, sorted(out.glob("*/")))])
    assert "CartPole" in capsys.readouterr().out.replace("cartpole", "CartPole")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--out", "s3://bucket/runs"], "--out is s3:/bucket/runs, a URL"),
        (["--store", "bucket"], "--store is bucket, which cannot be opened: expected a URL"),
        (["--cpus-per-run", "0"], "--cpus-per-run is 0, but must be at least 1"),
        (["--cpus-per-run", "9999"], "--cpus-per-run is 9999, but this machine has"),
        (["--retries", "-1"], "--retries is -1"),
        (["--gpus-per-run", "1"], "--gpus-per-run is for --on ray or slurm"),
        (["--slurm", "time=5"], "--slurm is for --on slurm, not for --on local"),
        (["--address", "here:1"], "--address is for --on ray"),
        (["--on", "ray", "--jobs", "2"], "--jobs is for --on local"),
        (["--on", "slurm", "--gpus-per-run", "0.5"], "slurm has only whole GPUs"),
    ],
)
def test_a_mistake_costs_one_line(options, message, file, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as end:
        main(["sweep", str(file), *options])
    assert end.value.code == 2
    said = capsys.readouterr().err
    assert message in said
    assert said.count("\n") == 1
    assert list(tmp_path.iterdir()) == [file]


@pytest.mark.parametrize(("engine", "library"), [("ray", "ray"), ("slurm", "submitit")])
def test_a_missing_extra_costs_one_line(engine, library, file, tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(__import__("sys").modules, library, None)
    with pytest.raises(SystemExit):
        main(["sweep", str(file), "--out", str(tmp_path / "out"), "--on", engine])
    assert f"pip install 'ilfo[{engine}]'" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
