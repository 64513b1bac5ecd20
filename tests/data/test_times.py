"""Recordings that say how many seconds lie between their states."""

import numpy as np
import pytest

from ilfo.data.altered import thin
from ilfo.data.demonstrations import Demonstrations
from ilfo.data.describe import describe
from tests.helpers.agents import demonstrations, small_agent


def stating(seconds, **more) -> Demonstrations:
    states = [trajectory.states for trajectory in demonstrations()]
    metadata = {"states_seconds": seconds} | more
    return Demonstrations.from_arrays(states, terminal=False, metadata=metadata)


def test_the_environment_makes_control_steps_of_seconds():
    """A control step of CartPole takes 0.02 s."""
    assert small_agent(expert=stating(0.02)).problem.every == 1
    assert small_agent(expert=stating(0.06)).problem.every == 3
    assert small_agent(expert=thin(stating(0.02), 4)).problem.every == 4
    assert "rate          one state every 0.06 s" in describe(stating(0.06))


def test_rates_that_are_no_multiple_or_contradict_are_refused():
    with pytest.raises(ValueError, match=r"at 33\.33 Hz, 1\.5 control steps of 0\.02 s"):
        small_agent(expert=stating(0.03))
    with pytest.raises(ValueError, match=r"2 control steps apart .* 0\.06 s .* is 3 control steps"):
        small_agent(expert=stating(0.06, states_every=2))
    with pytest.raises(ValueError, match="does not say how long a control step takes"):
        small_agent("MountainCar-v0", expert=stating(0.06))
    for wrong in (0, -1.0, "fast", True):
        with pytest.raises(ValueError, match="states_seconds is"):
            stating(wrong)


def table(times) -> Demonstrations:
    columns = {"x": np.arange(6.0), "time": times, "episode": [0, 0, 0, 1, 1, 1]}
    return Demonstrations.from_table(columns, terminal=False)


def test_a_column_of_times():
    read = table([0.0, 0.04, 0.08, 7.0, 7.04, 7.08])
    assert read.seconds == pytest.approx(0.04)
    assert read.names == ("x",)
    with pytest.raises(ValueError, match=r"trajectory 1: time goes from 7 to 6\.96, expected"):
        table([0.0, 0.04, 0.08, 7.0, 6.96, 7.0])
    with pytest.raises(ValueError, match=r"trajectory 0: time is not even.* after step 1 \(0\.08"):
        table([0.0, 0.04, 0.12, 7.0, 7.04, 7.08])
    with pytest.raises(ValueError, match="call the column 'timestamp' and say the rate"):
        table([0.0, 0.04, 0.12, 7.0, 7.04, 7.08])
    with pytest.raises(ValueError, match="trajectory 0: column 'time' is empty or NaN at step 1"):
        table([0.0, np.nan, 0.12, 7.0, 7.04, 7.08])
    columns = {"x": np.arange(3.0), "time": [0.0, 5.0, 1.0]}
    chosen = Demonstrations.from_table(columns, states=["x", "time"], terminal=False)
    assert chosen.seconds is None


def test_files_of_a_folder_agree(tmp_path):
    stating(0.02).save(tmp_path / "a.npz")
    stating(0.04).save(tmp_path / "b.npz")
    with pytest.raises(ValueError, match="different times between two states"):
        Demonstrations.load(tmp_path)
