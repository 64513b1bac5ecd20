"""Recordings against an environment: every finding, and none where nothing is wrong."""

import re
import warnings

import numpy as np
import pytest

from ilfo.agents.method import LearningWarning
from ilfo.data import altered
from ilfo.data.demonstrations import Demonstrations
from ilfo.environments.tasks import TASKS, find_task
from ilfo.methods.mobile import MobILE
from tests.helpers.agents import STEP, bits, small_agent

HOPPER, CARTPOLE = find_task("hopper"), find_task("cartpole")


def findings(task, demonstrations, horizon=None):
    return MobILE(task.environment, demonstrations, horizon=horizon).findings


def changed(task, change):
    whole = list(task.load())
    return Demonstrations.from_arrays(
        [change(each.states) for each in whole], terminal=[each.terminal for each in whole]
    )


@pytest.mark.parametrize("name", list(TASKS))
def test_nothing_is_found_where_nothing_is_wrong(name):
    assert findings(TASKS[name], TASKS[name].load()) == []


@pytest.mark.parametrize(
    "alter",
    [
        lambda whole: altered.thin(whole, 4),
        lambda whole: altered.select(whole, [1, 2, 5]),
        lambda whole: altered.clips(whole, 20, 20),
    ],
)
def test_recordings_that_say_what_they_are_are_no_reason_to_doubt(alter):
    assert findings(HOPPER, alter(HOPPER.load())) == []


DEGREES = np.r_[np.ones(2), np.full(4, 57.3), np.ones(6)].astype(np.float32)


@pytest.mark.parametrize(
    ("task", "change", "wrong", "text"),
    [
        (CARTPOLE, lambda s: 1000 * s, True, "leave the environment's observation space in dim"),
        (CARTPOLE, lambda s: 1000 * s, True, "no recording begins anywhere near a reset"),
        (HOPPER, lambda s: s[:, ::-1], True, "the columns look permuted"),
        (HOPPER, lambda s: s[:1].repeat(5, 0), True, "nothing ever moves"),
        (HOPPER, lambda s: s[20:], False, "no recording begins near a reset; dimension"),
        (HOPPER, lambda s: DEGREES * s, False, "more than 30 times in dimension 5"),
        (HOPPER, lambda s: s * (np.arange(12) != 3), False, "constant in the recordings.* 3;"),
        (HOPPER, lambda s: s[:, [*range(11), 2]], False, "dimensions 2 and 11"),
        (HOPPER, lambda s: s[:2], False, "10 of 10 recordings have one step or none"),
        (HOPPER, lambda s: np.concatenate([s, s[-1:].repeat(500, 0)]), False, "nothing moves"),
        (HOPPER, lambda s: np.concatenate([s, s]), False, "longer than the horizon .801 steps"),
    ],
)
def test_what_is_wrong_is_found(task, change, wrong, text):
    found = findings(task, changed(task, lambda states: change(states).astype(np.float32)))
    matching = [finding for finding in found if re.search(text, finding.text)]
    assert matching, [finding.text for finding in found]
    assert matching[0].wrong is wrong


def test_a_short_horizon_and_a_single_recording_are_remarked():
    texts = [finding.text for finding in findings(HOPPER, HOPPER.load(1), horizon=100)]
    assert any("longer than the horizon (400 steps, horizon 100)" in text for text in texts)
    assert any("there is one recording" in text for text in texts)


def test_training_refuses_what_is_wrong_unless_it_is_accepted():
    shown = changed(CARTPOLE, lambda states: 1000 * states)
    with pytest.raises(ValueError, match=r"observation space.*accept_anyway=True"):
        small_agent(expert=shown).learn(STEP)
    agent = small_agent(expert=shown, accept_anyway=True)
    with pytest.warns(LearningWarning, match="observation space"):
        agent.learn(STEP)
    with warnings.catch_warnings():
        warnings.simplefilter("error", LearningWarning)
        agent.learn(2 * STEP)  # it was said once


def test_looking_does_not_change_what_is_learned():
    looking, blind = small_agent(), small_agent()
    blind.__dict__["findings"] = []
    assert bits(looking.learn(STEP).state) == bits(blind.learn(STEP).state)
