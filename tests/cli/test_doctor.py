"""`ilfo doctor`, as it is called."""

import numpy as np
import pytest

from ilfo.cli import main
from ilfo.data.demonstrations import Demonstrations
from ilfo.environments.tasks import find_task
from ilfo.runs.directory import RunDirectory
from ilfo.runs.launch import start
from ilfo.runs.spec import RunSpec
from tests.runs.test_recorded import RECORDED

CARTPOLE = find_task("cartpole")


def test_recordings_that_fit(capsys):
    main(["doctor", "--env", CARTPOLE.environment, "--demos", str(CARTPOLE.path)])
    assert "nothing speaks against imitating" in capsys.readouterr().out


def test_a_picture_of_both(tmp_path, capsys):
    path = tmp_path / "picture.png"
    command = ["doctor", "--env", CARTPOLE.environment, "--demos", str(CARTPOLE.path)]
    main([*command, "--picture", str(path)])
    assert path.read_bytes().startswith(b"\x89PNG")
    assert f"{path}: recorded states in grey" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        main([*command, "--picture", str(path)])
    assert "exists already" in capsys.readouterr().err


def test_wrong_recordings_end_with_a_failure_and_are_not_trained_on(tmp_path, capsys):
    file = tmp_path / "metres.npz"
    Demonstrations.from_arrays(
        [np.float32(1000) * next(iter(CARTPOLE.load(1))).states], terminal=[False]
    ).save(file)
    arguments = ["--env", CARTPOLE.environment, "--demos", str(file)]
    with pytest.raises(SystemExit) as ended:
        main(["doctor", *arguments])
    assert ended.value.code == 1
    said = capsys.readouterr().out
    assert "wrong: recorded states leave" in said
    assert "add --picture FILE.png" in said
    spec = RunSpec(task=None, env=CARTPOLE.environment, demos=str(file), total_timesteps=1_000)
    with pytest.raises(ValueError, match="--accept-anyway"):
        start(spec, tmp_path / "run", {})
    assert not (tmp_path / "run").exists()


def test_an_experts_folder(tmp_path, capsys):
    RunDirectory.create(tmp_path / "expert", {"kind": "expert"}).close()
    with pytest.raises(SystemExit):
        main(["doctor", str(tmp_path / "expert")])
    assert "holds an expert, which imitates nobody" in capsys.readouterr().err


def test_a_run(capsys):
    main(["doctor", str(RECORDED / "mobile")])
    assert "- hardly nearer" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ([], "give a run directory, or both --env and --demos"),
        (["runs/a", "--env", "CartPole-v1"], "not both"),
        (["runs/a", "--every", "4", "--clips"], "--clips, --every: these are for --env with"),
    ],
)
def test_what_is_missing_is_said(arguments, text, capsys):
    with pytest.raises(SystemExit):
        main(["doctor", *arguments])
    assert text in capsys.readouterr().err
