"""What a run is made from."""

import pytest

from ilfo.runs.spec import RunSpec


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
