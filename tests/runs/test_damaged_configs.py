"""Configurations that lack an entry, or have one of another kind, end in a clear error."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from ilfo.cli import main
from ilfo.runs import checks, launch
from ilfo.runs.directory import RunDirectory, RunError
from ilfo.runs.doctor import diagnose
from ilfo.runs.loading import load_agent
from ilfo.storage.checkpoint import CheckpointError, read_meta, save
from ilfo.storage.config import ConfigError, from_dict
from tests.helpers.agents import MACHINE

DEEP = "[" * 100_000
WRONG = (None, True, -5, 10**400, "x", [], ["x"], {}, {"type": "TRPO"})


@pytest.fixture
def begun(finished_run, tmp_path) -> Path:
    """A run that was killed before its first checkpoint, so that there are no checksums yet."""
    (tmp_path / "run").mkdir()
    shutil.copy(finished_run / "config.json", tmp_path / "run")
    return tmp_path / "run"


def test_every_entry_may_be_wrong(begun, monkeypatch):
    monkeypatch.setattr(launch, "_train", lambda *_: {})
    good = json.loads((begun / "config.json").read_text())
    assert launch.resume(begun, MACHINE) == {}
    variants = [good | {name: wrong} for name in good for wrong in WRONG]
    variants += [
        good | {"spec": good["spec"] | {name: wrong}} for name in good["spec"] for wrong in WRONG
    ]
    variants += [{n: v for n, v in good.items() if n != name} for name in good]
    refused = 0
    for config in variants:
        (begun / "config.json").write_text(json.dumps(config))
        try:
            launch.resume(begun, MACHINE)
        except (ValueError, OSError):
            refused += 1
    assert refused > len(variants) / 2


def test_deep_json_is_no_traceback(begun, capsys):
    (begun / "config.json").write_text(f'{{"spec": {DEEP}')
    with pytest.raises(SystemExit) as end:
        main(["evaluate", str(begun)])
    assert end.value.code == 2
    assert "config.json is not valid JSON" in capsys.readouterr().err
    nested: dict = {}
    for _ in range(500):
        nested = {"type": "A", "inner": nested}
    with pytest.raises(ConfigError):
        from_dict(nested, {})


def test_a_checkpoint_with_deep_json_is_damaged(tmp_path):
    np.savez(tmp_path / "a.npz", format=np.array(1), meta=np.array(DEEP), dtypes=np.array("{}"))
    with pytest.raises(CheckpointError, match=r"a\.npz is damaged"):
        read_meta(tmp_path / "a.npz")


@pytest.mark.parametrize("name", ["settings", "problem", "seeds", "environment"])
def test_an_agent_that_does_not_describe_itself(name, finished_run, tmp_path):
    meta = read_meta(finished_run / "last.npz")
    for wrong in ([], 5, {}, ["x"]):
        save(tmp_path / "agent.npz", {}, meta | {name: wrong})
        with pytest.raises(ValueError, match=r"."):
            load_agent(tmp_path / "agent.npz")
    del meta[name]
    save(tmp_path / "agent.npz", {}, meta)
    with pytest.raises(ValueError, match=r"."):
        load_agent(tmp_path / "agent.npz")


@pytest.mark.parametrize("text", ["{}", '{"seeds": 5}', '{"seeds": [1]}', DEEP, "[]", "\x00"])
def test_a_damaged_summary_is_named(text, finished_run, tmp_path):
    copy = Path(shutil.copytree(finished_run, tmp_path / "copy"))
    (copy / "summary.json").write_text(text)
    with pytest.raises(RunError, match=r"summary\.json"):
        diagnose(RunDirectory.open(copy))


@pytest.mark.parametrize(
    "entries",
    [5, {}, [5], [{}], [{"iteration": 1}], [{"iteration": 1, "changes": {"threads": [1]}}]],
)
def test_a_damaged_list_of_resumptions_is_named(entries, begun):
    config = json.loads((begun / "config.json").read_text())
    (begun / "config.json").write_text(json.dumps(config | {"elsewhere": entries}))
    run = RunDirectory.open(begun)
    for use in (checks.remarks, lambda run: checks.moved(run, {"threads": 77}, 1)):
        with pytest.raises(RunError, match=r"config\.json has .*'elsewhere'"):
            use(run)


def test_resuming_elsewhere_needs_the_conditions_before(begun):
    config = json.loads((begun / "config.json").read_text())
    (begun / "config.json").write_text(json.dumps(config | {"machine": 5}))
    with pytest.raises(RunError, match=r"config\.json has 5 as 'machine'"):
        checks.changes(RunDirectory.open(begun), MACHINE)


@pytest.mark.parametrize("rows", [b"\xff\xfe\n1\n", b"iteration\n" + b"9" * 5000 + b"\n"])
def test_a_damaged_table_is_named(rows, begun):
    (begun / "metrics.csv").write_bytes(rows)
    with pytest.raises(RunError, match=r"metrics\.csv") as raised:
        launch.resume(begun, MACHINE)
    assert len(str(raised.value)) < 500
