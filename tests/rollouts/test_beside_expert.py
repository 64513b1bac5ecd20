"""Films of the expert's recorded states beside the learner."""

from dataclasses import replace
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.envs.classic_control import CartPoleEnv
from PIL import Image

from ilfo.common.spaces import action_space
from ilfo.data.altered import select, thin
from ilfo.data.demonstrations import Demonstrations
from ilfo.environments.factory import factory
from ilfo.environments.tasks import TASKS
from ilfo.rollouts.beside_expert import (
    Recording,
    film_beside_expert,
    first_recording,
    frames_beside_expert,
)
from ilfo.rollouts.episodes import play
from tests.helpers.rendering import require_rendering, untrained

BAND, FOOT = 22, 16
"""Height of the labels, and of the line below."""


def frames_of(path) -> np.ndarray:
    film, frames = Image.open(path), []
    for index in range(film.n_frames):
        film.seek(index)
        frames.append(np.asarray(film.convert("RGB")))
    return np.stack(frames)


def halves(frames) -> tuple[np.ndarray, np.ndarray]:
    width = (frames.shape[2] - 4) // 2
    return frames[:, BAND:-FOOT, :width], frames[:, BAND:-FOOT, -width:]


def test_cartpole(tmp_path):
    made, path = factory("CartPole-v1", horizon=60), tmp_path / "film.gif"
    demonstrations = TASKS["cartpole"].load(2)
    expert = first_recording(made, demonstrations)
    assert np.array_equal(expert.states, next(iter(demonstrations)).states)
    assert expert.total == demonstrations.returns[0]
    short = Recording(expert.states[:61], expert.total)
    policy = untrained(made)
    total = film_beside_expert(made, policy, short, path, seed=3)
    (episode,) = play([made.make()], policy, action_space(made.action_space), episodes=1, seed=3)
    assert total == pytest.approx(episode.rewards.sum())
    film = Image.open(path)
    assert film.size == (484, 160 + BAND + FOOT)
    assert film.info["loop"] == 0  # for ever
    assert film.info["duration"] == 60  # every third of 50 steps per second
    assert film.n_frames <= 21  # of 61 states; equal frames may have been joined
    left, right = halves(frames_of(path))
    assert not np.array_equal(left[0], left[-1])
    assert not np.array_equal(left, right)
    assert path.stat().st_size < 200_000


def test_the_left_side_shows_the_recorded_states_whatever_the_learner_does(tmp_path):
    made = factory("CartPole-v1", horizon=30)
    still = np.zeros((31, 4), np.float32)
    leaning = still + np.float32([0, 0, 0.2, 0])
    sides = []
    for name, states in (("still", still), ("leaning", leaning)):
        path = tmp_path / f"{name}.gif"
        film_beside_expert(made, untrained(made), Recording(states, None), path, seed=3)
        sides.append(halves(frames_of(path)))
    for left, _ in sides:
        assert all(np.array_equal(left[0], frame) for frame in left)
    assert not np.array_equal(sides[0][0][0], sides[1][0][0])


@pytest.mark.slow
@pytest.mark.parametrize("task", ["hopper", "reacher"])
def test_mujoco(task, tmp_path):
    made, path = factory(TASKS[task].environment, horizon=40), tmp_path / "film.gif"
    require_rendering(made)
    expert = first_recording(made, TASKS[task].load(1))
    film_beside_expert(made, untrained(made), Recording(expert.states[:41], None), path, seed=0)
    left, right = halves(frames_of(path))
    assert left.shape[1:3] == right.shape[1:3] == (240, 240)
    assert not np.array_equal(left[0], left[-1])
    assert not np.array_equal(left[-1], right[-1])
    assert path.stat().st_size < 2e6 * 40 / 400


def test_the_film_of_the_front_page():
    path = Path(__file__).parents[2] / "docs" / "assets" / "hopper.gif"
    film = Image.open(path)
    assert path.stat().st_size <= 2_000_000
    assert film.info["loop"] == 0
    assert film.n_frames * film.info["duration"] == pytest.approx(8_000, rel=0.05)


def red(frames) -> np.ndarray:
    """Where the learner's red line is."""
    return frames[..., 0].astype(int) - frames[..., 1] > 100


def test_what_cannot_be_replayed_is_plotted(tmp_path):
    """Every second state, of two of the dimensions: the recorded line is there from the beginning,
    the learner's grows."""
    made, path = factory("CartPole-v1", horizon=40), tmp_path / "film.gif"
    demonstrations = select(thin(TASKS["cartpole"].load(1), 2), [0, 2])
    expert = first_recording(made, demonstrations)
    assert (expert.every, expert.observed, expert.replayed) == (2, (0, 2), False)
    short = replace(expert, states=expert.states[:21])
    film_beside_expert(made, untrained(made), short, path, seed=3)
    left, _ = halves(frames_of(path))
    learner = red(left).sum((1, 2))
    assert learner[0] < learner[1] < learner[-1]
    assert (left[0] < 230).any(-1).sum() > 100  # the rest of the recording, in light grey


def test_without_pictures_the_states_of_both_sides_are_plotted(tmp_path):
    made, path = factory(CartPoleEnv, horizon=40), tmp_path / "film.gif"
    expert = first_recording(factory("CartPole-v1"), TASKS["cartpole"].load(1)).plotted()
    short = replace(expert, states=expert.states[:41])
    film_beside_expert(made, untrained(made), short, path, seed=3)
    left, right = halves(frames_of(path))
    assert not red(left).any()
    assert red(right)[0].sum() < red(right)[-1].sum()
    assert (left[0] < 230).any(-1).sum() > 100


def test_different_beginnings_are_said_below_the_film():
    made = factory("CartPole-v1", horizon=5)
    (own,) = play(
        [made.make()], untrained(made), action_space(made.action_space), episodes=1, seed=3
    )
    recording = Recording(own.states, None)
    heights = []
    for expert in (recording, replace(recording, states=own.states + 0.1)):
        frames, *_ = frames_beside_expert(made, untrained(made), expert, seed=3)
        heights.append(frames[0].height)
    assert heights == [160 + BAND, 160 + BAND + FOOT]


def test_plotted_dimensions_have_their_names():
    arrays = [np.zeros((3, 4), np.float32)]
    names = ["x", "v", "angle", "spin"]
    named = Demonstrations.from_arrays(arrays, terminal=False, metadata={"names": names})
    assert first_recording(factory("CartPole-v1"), named).names == tuple(names)


def test_an_environment_without_replay_is_plotted():
    wrapped = factory(
        lambda **more: gym.wrappers.TransformObservation(gym.make("CartPole-v1", **more), abs, None)
    )
    assert not first_recording(wrapped, TASKS["cartpole"].load(1)).replayed


def test_other_dimensions_are_an_error():
    other = Demonstrations.from_arrays([np.zeros((3, 2))], terminal=False)
    with pytest.raises(ValueError, match=r"states of dimension 2, but observations .* \(4,\)"):
        first_recording(factory("CartPole-v1"), other)


def test_nothing_is_overwritten_and_the_kind_of_file_is_checked(tmp_path):
    made, expert = factory("CartPole-v1"), Recording(np.zeros((2, 4), np.float32), None)
    (tmp_path / "old.gif").write_bytes(b"precious")
    with pytest.raises(FileExistsError, match=r"old\.gif exists already"):
        film_beside_expert(made, untrained(made), expert, tmp_path / "old.gif", seed=0)
    assert (tmp_path / "old.gif").read_bytes() == b"precious"
    with pytest.raises(ValueError, match=r"new\.avi must end in \.gif or \.mp4"):
        film_beside_expert(made, untrained(made), expert, tmp_path / "new.avi", seed=0)
