"""The two passes over the demonstrations."""

import dataclasses

import numpy as np
import pytest

from ilfo.agents.expert import survey
from ilfo.agents.method import Needs
from ilfo.common.spaces import DiscreteActions
from ilfo.data.demonstrations import Demonstrations
from ilfo.runs.launch import start
from tests.helpers.agents import MACHINE, STEP, demonstrations, small_agent, small_spec

TWO = DiscreteActions(2)


def fingerprint(demonstrations: Demonstrations, **needs) -> str:
    return survey(Needs(**needs), demonstrations, TWO).fingerprint


def changed(**changes) -> Demonstrations:
    kept = [dataclasses.replace(trajectory, **changes) for trajectory in demonstrations(1)]
    return Demonstrations.stream(lambda: iter(kept))


def test_a_fingerprint_tells_states_endings_and_actions_apart():
    (only,) = demonstrations(1)
    same = fingerprint(changed())
    assert same == fingerprint(demonstrations(1)) != fingerprint(demonstrations())
    push = np.zeros(len(only.states) - 1, int)
    assert fingerprint(changed(actions=push), actions=True) != same
    assert fingerprint(changed(terminal=not only.terminal)) != same
    assert fingerprint(changed(states=only.states + np.float32(1e-3))) != same


def test_a_survey_checks_actions_only_for_methods_that_need_them():
    (only,) = demonstrations(1)
    wrong = changed(actions=np.full(len(only.states) - 1, 7))
    fingerprint(wrong.states_only())
    with pytest.raises(ValueError, match="trajectory 0"):
        fingerprint(wrong, actions=True)


@pytest.fixture
def counted():
    """Demonstrations as a stream, and the trajectories that were read from it."""
    read: list[int] = []
    kept = list(demonstrations())

    def stream():
        for index, trajectory in enumerate(kept):
            read.append(index)
            yield trajectory

    return Demonstrations.stream(stream), read


def test_a_survey_counts():
    counts = survey(Needs(), demonstrations(), TWO)
    assert (counts.trajectories, counts.states) == (2, demonstrations().states_count)


def test_training_reads_the_demonstrations_twice(counted):
    stream, read = counted
    agent = small_agent(expert=stream)
    read.clear()  # the constructor looks at the first trajectory
    agent.learn(STEP)
    agent.learn(2 * STEP)
    assert read == [0, 1, 0, 1]


def test_a_run_reads_them_twice_too(counted, tmp_path, monkeypatch):
    stream, read = counted
    monkeypatch.setattr(Demonstrations, "load", lambda path, **_: stream)
    spec = small_spec(tmp_path / "unused.npz", 1)
    start(spec, tmp_path / "run", MACHINE)
    assert read.count(1) == 2  # more often, only the first trajectory is looked at
