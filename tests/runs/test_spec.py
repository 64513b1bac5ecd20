"""What a run is made from."""

import pytest

from ilfo.runs.directory import RunDirectory
from ilfo.runs.spec import RunSpec, command_of, spec_of, to_json


@pytest.mark.parametrize(
    "changes", [("streams=1", "inference=none"), ("inference=none", "streams=1")]
)
def test_changes_that_are_only_right_together_may_come_in_any_order(changes):
    settings = RunSpec(task="cartpole", changes=changes).settings()
    assert settings.streams == 1
    assert settings.inference is None


def test_of_several_wrong_changes_the_first_is_reported():
    with pytest.raises(ValueError, match="streams=2"):
        RunSpec(task="cartpole", changes=("streams=1", "weight=0.2", "weight=7")).settings()


def test_a_component_that_is_there_already_keeps_its_settings():
    assert RunSpec(task="cartpole", changes=("planner=TRPO",)).settings() == (
        RunSpec(task="cartpole").settings()
    )


def test_what_is_said_of_recordings_is_kept_in_the_run(tmp_path):
    spec = RunSpec(
        task=None,
        env="CartPole-v1",
        demos="log.csv",
        states=("x", "y"),
        terminal=False,
        episode="run",
        observe=(0, 1),
        expert_return=-12.5,
        total_timesteps=10,
    )
    with RunDirectory.create(tmp_path / "run", {"spec": to_json(spec)}):
        pass
    assert spec_of(RunDirectory.open(tmp_path / "run")) == spec


def test_the_command_that_trains_it_can_be_typed_in():
    """A setting that is true or false has a value; a flag has none."""
    spec = RunSpec(task=None, env="CartPole-v1", demos="a.csv", total_timesteps=9, terminal=False)
    assert "--terminal false" in command_of(spec)
    clips = RunSpec(task=None, env="CartPole-v1", demos="a.csv", total_timesteps=9, clips=True)
    assert "--clips --" in command_of(clips)


def test_only_recordings_without_it_are_told_the_experts_return():
    with pytest.raises(ValueError, match="use --expert-return with --demos"):
        RunSpec(expert_return=3.0)
    with pytest.raises(ValueError, match="must be a finite number"):
        RunSpec(task=None, env="E", demos="a.csv", total_timesteps=9, expert_return=float("inf"))
