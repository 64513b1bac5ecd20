"""Recordings against an environment: every finding, and none where nothing is wrong."""

import re
import warnings
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest

from ilfo.agents.method import LearningWarning
from ilfo.data import altered
from ilfo.data.demonstrations import Demonstrations
from ilfo.environments.stock import BUNDLED
from ilfo.environments.tasks import TASKS, find_task
from ilfo.methods.mobile import MobILE
from tests.helpers.agents import STEP, bits, small_agent

HOPPER, CARTPOLE = find_task("hopper"), find_task("cartpole")
PAGE = (Path(__file__).parents[2] / "docs" / "guide" / "troubleshooting.md").read_text()


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


ANGLES = np.r_[np.ones(2), np.full(4, 57.3), np.ones(6)]
VELOCITIES = np.r_[np.ones(6), np.full(6, 57.3)]
WHOLE = {task: np.concatenate([t.states for t in task.load()]) for task in (HOPPER, CARTPOLE)}
REST = lambda s: np.concatenate([s, s[-1:].repeat(500, 0)])
WRONG, DOUBTFUL = True, False


def normalised(task):
    """As a wrapper that normalises observations would leave them."""
    return lambda states: (states - WHOLE[task].mean(0)) / WHOLE[task].std(0)


TRIED = {
    "a thousand times too large": (
        CARTPOLE,
        lambda s: 1000 * s,
        [
            (WRONG, "recorded states leave the environment's observation space in dimensions 0, 2"),
            (WRONG, "no recording begins anywhere near a reset"),
            (DOUBTFUL, "magnitudes differ by more than 30 times in dimensions 0, 1, 2, 3"),
        ],
    ),
    "normalised, CartPole": (
        CARTPOLE,
        normalised(CARTPOLE),
        [(WRONG, "observation space in dimension 2: .* allows -0.4189 to 0.4189")],
    ),
    "normalised, Hopper": (
        HOPPER,
        normalised(HOPPER),
        [(DOUBTFUL, "no recording begins near a reset"), (DOUBTFUL, "magnitudes differ")],
    ),
    "millimetres": (
        HOPPER,
        lambda s: 1000 * s,
        [(WRONG, "dimension 1 begins at 1251 and is 1.25 after a reset")],
    ),
    "angles in degrees": (
        HOPPER,
        lambda s: ANGLES * s,
        [
            (DOUBTFUL, "more than 30 times in dimension 5"),
            (
                DOUBTFUL,
                "dimension 2 changes 5[78] times as much as its velocity, dimension 8",
            ),
        ],
    ),
    "velocities in degrees": (
        HOPPER,
        lambda s: VELOCITIES * s,
        [
            (DOUBTFUL, "more than 30 times in dimensions 6, 7, 8, 9, 10, 11"),
            (DOUBTFUL, "dimension 1 changes 0.017 times as much as its velocity, dimension 7"),
        ],
    ),
    "columns in reverse order": (HOPPER, lambda s: s[:, ::-1], [(WRONG, "columns look permuted")]),
    "velocities before positions": (
        HOPPER,
        lambda s: np.roll(s, 6, 1),
        [(WRONG, "columns look permuted")],
    ),
    "two columns exchanged": (
        HOPPER,
        lambda s: s[:, [0, 1, 3, 2, *range(4, 12)]],
        [(DOUBTFUL, "exchanged: dimension 2 moves with 9, in the environment with 8")],
    ),
    "position and velocity exchanged": (
        CARTPOLE,
        lambda s: s[:, [1, 0, 2, 3]],
        [(DOUBTFUL, "exchanged: dimension 0 should move as 1 says, but 1 moves as 0 says")],
    ),
    "two episodes in one recording": (
        CARTPOLE,
        lambda s: np.concatenate([s, s]),
        [
            (
                DOUBTFUL,
                "in 2 of the recorded steps looked at, the state jumps to where episodes",
            )
        ],
    ),
    "every fourth state, not said": (
        HOPPER,
        lambda s: s[::4],
        [(DOUBTFUL, "recorded states look 4 control steps apart, not 1: .* say --every 4")],
    ),
    "backwards": (
        HOPPER,
        lambda s: s[::-1],
        [(DOUBTFUL, "as if they ran backwards"), (DOUBTFUL, "no recording begins near a reset")],
    ),
    "a dead sensor": (
        HOPPER,
        lambda s: s * (np.arange(12) != 3),
        [(DOUBTFUL, "constant in the recordings, but not in the environment: dimension 3;")],
    ),
    "a column twice": (
        HOPPER,
        lambda s: s[:, [*range(11), 2]],
        [(DOUBTFUL, "equal in the recordings, .*: dimensions 2 and 11; was a column copied")],
    ),
    "nothing moves": (HOPPER, lambda s: s[:1].repeat(5, 0), [(WRONG, "nothing ever moves")]),
    "an expert that rests": (HOPPER, REST, [(DOUBTFUL, "in 56% of the recorded steps nothing")]),
    "single steps": (
        HOPPER,
        lambda s: s[:2],
        [(DOUBTFUL, "10 of 10 recordings have one step or none; is `episode` right")],
    ),
    "beginnings cut off": (
        HOPPER,
        lambda s: s[20:],
        [(DOUBTFUL, "no recording begins near a reset; dimension")],
    ),
    "longer than the horizon": (
        HOPPER,
        lambda s: np.concatenate([s, s]),
        [(DOUBTFUL, r"10 of 10 recordings are longer than the horizon \(801 steps, horizon 400\)")],
    ),
}
"""What was done to recordings that are right, and what is said of it, among other things."""


@pytest.mark.parametrize("case", list(TRIED))
def test_what_is_wrong_is_found(case):
    task, change, expected = TRIED[case]
    found = findings(task, changed(task, lambda states: change(states).astype(np.float32)))
    for wrong, text in expected:
        matching = [finding for finding in found if re.search(text, finding.text)]
        assert matching, [finding.text for finding in found]
        assert matching[0].wrong is wrong


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (lambda s: s[::4], "look 4 control steps apart, not 1"),
        (lambda s: s[::-1], "as if they ran backwards: dimension 0 changes -1 times"),
        (lambda s: s[:, [0, 3, 2, 1]], "dimension 0 moves with 3, in the environment with 1"),
    ],
)
def test_positions_that_move_with_the_velocity_before_the_step(change, text):
    """CartPole steps so; Hopper moves with the mean of both velocities."""
    assert any(text in finding.text for finding in findings(CARTPOLE, changed(CARTPOLE, change)))


@pytest.mark.parametrize("name", ["Hopper-v5", "Hopper-v5-greedy"])
def test_nothing_is_found_in_recordings_of_a_stock_environment(name):
    recorded = Demonstrations.load(BUNDLED / f"{name}.npz")
    assert MobILE("Hopper-v5", recorded).findings == []


def test_order_is_not_blamed_for_what_it_does_not_explain():
    found = findings(CARTPOLE, changed(CARTPOLE, normalised(CARTPOLE)))
    assert not any("permuted" in finding.text for finding in found)


def test_the_page_on_trouble_lists_every_recording_that_was_tried():
    for case in TRIED:
        assert f"| {case} |" in PAGE


class WithGoal(gym.ObservationWrapper):
    """A number that never changes beside CartPole's."""

    def __init__(self):
        super().__init__(gym.make("CartPole-v1"))
        low, high = self.env.observation_space.low, self.env.observation_space.high
        self.observation_space = gym.spaces.Box(np.append(low, -9), np.append(high, 9))

    def observation(self, observation):
        return np.append(observation, 0.8).astype(np.float32)


@pytest.mark.parametrize(("goal", "wrong"), [(0.8, False), (-0.8, True)])
def test_a_number_that_never_changes_and_is_another_in_the_recordings_is_wrong(goal, wrong):
    shown = changed(CARTPOLE, lambda s: np.c_[s, np.full(len(s), goal, np.float32)])
    found = MobILE(WithGoal, shown).findings
    assert [finding.wrong for finding in found] == [True] * wrong
    assert not wrong or "dimension 4 begins at -0.8 and is 0.8 after a reset" in found[0].text


def test_another_environment():
    with pytest.raises(ValueError, match=r"demonstrated states have 4 numbers, but .* have 12"):
        findings(HOPPER, CARTPOLE.load())
    walks = changed(find_task("walker2d"), lambda states: states[:, :12])
    texts = [finding.text for finding in findings(HOPPER, walks)]
    assert any("dimension 1 moves with 10, in the environment with 7" in text for text in texts)


@pytest.mark.parametrize(
    ("lengths", "terminal", "asked"),
    [
        ((120, 150, 180), False, "all recordings end before the horizon (400), after 120 to 180"),
        ((120, 150, 180), True, None),
        ((150, 150, 150), False, None),  # cut at one length
        ((120, 150, 400), False, "2 of 3 recordings end before the horizon (400), and none is"),
    ],
)
def test_whether_ends_were_forgotten_is_asked(lengths, terminal, asked):
    whole = [trajectory.states for trajectory in HOPPER.load(3)]
    cut = [states[: length + 1] for states, length in zip(whole, lengths, strict=True)]
    found = findings(HOPPER, Demonstrations.from_arrays(cut, terminal=terminal))
    texts = [finding.text for finding in found if "none is terminal" in finding.text]
    assert [asked in text for text in texts] == ([] if asked is None else [True])


def test_copies_of_a_recording_are_counted():
    states = [trajectory.states for trajectory in HOPPER.load(3)]
    copied = Demonstrations.from_arrays([*states, states[0], states[0]], terminal=False)
    texts = [finding.text for finding in findings(HOPPER, copied)]
    assert any("2 of 5 recordings are copies of others" in text for text in texts)


def test_findings_use_the_names_of_a_tables_columns():
    names = ["x", "v", "angle", "spin"]
    named = Demonstrations.from_arrays(
        [1000 * trajectory.states for trajectory in CARTPOLE.load(2)],
        terminal=False,
        metadata={"names": names},
    )
    assert "dimensions 0 (x), 2 (angle): dimension 0 (x)" in findings(CARTPOLE, named)[0].text


def test_what_says_how_far_apart_its_states_are_is_compared_at_that_rate():
    """A wrong statement is found, too."""
    thin = altered.thin(HOPPER.load(), 2)
    assert findings(HOPPER, thin) == []
    wrong = Demonstrations.from_arrays(
        [trajectory.states for trajectory in thin], terminal=False, metadata={"states_every": 4}
    )
    texts = [finding.text for finding in findings(HOPPER, wrong)]
    assert any("look 2 control steps apart, not 4" in text for text in texts)


def test_a_short_horizon_and_a_single_recording_are_remarked():
    texts = [finding.text for finding in findings(HOPPER, HOPPER.load(1), horizon=100)]
    assert any("longer than the horizon (400 steps, horizon 100)" in text for text in texts)
    assert any("there is one recording" in text for text in texts)


def test_training_refuses_what_is_wrong_unless_it_is_accepted(cache_home):
    shown = Demonstrations.from_arrays(  # as many states as `small_agent` has, to share its code
        [1000 * trajectory.states for trajectory in CARTPOLE.load(2)], terminal=False
    )
    with pytest.raises(ValueError, match=r"observation space.*accept_anyway=True"):
        small_agent(expert=shown).learn(STEP)
    agent = small_agent(expert=shown, accept_anyway=True)
    with pytest.warns(LearningWarning, match="observation space"):
        agent.learn(STEP)
    with warnings.catch_warnings():
        warnings.simplefilter("error", LearningWarning)
        agent.learn(2 * STEP)  # it was said once


def test_findings_do_not_change_what_is_learned(cache_home):
    told, untold = small_agent(), small_agent()
    untold.__dict__["findings"] = []
    assert bits(told.learn(STEP).state) == bits(untold.learn(STEP).state)
