"""Films of an episode, made without a display."""

import sys

import gymnasium as gym
import imageio.v3 as imageio
import numpy as np
import pytest

from ilfo.common.optional import MissingExtraError
from ilfo.common.spaces import action_space
from ilfo.environments.factory import factory
from ilfo.rollouts.episodes import play
from ilfo.rollouts.video import NoPictureError, check_rendering, film, open_for_rendering
from tests.helpers.rendering import require_rendering, untrained


class Blind(gym.Env):
    observation_space = gym.spaces.Box(-1, 1, (2,))
    action_space = gym.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        return np.zeros(2, np.float32), {}

    def render(self):
        return None


def check_film(made, path, expert_return=None):
    """The film is of the episode that `play` would play."""
    policy = untrained(made)
    total = film(made, policy, path, seed=3, expert_return=expert_return)
    actions = action_space(made.action_space)
    (episode,) = play([made.make()], policy, actions, episodes=1, seed=3)
    assert total == pytest.approx(episode.rewards.sum())
    frames = imageio.imread(path)
    assert frames.shape[1] == 240
    assert len(frames) > 1
    assert frames[0].std() > 0
    assert not np.array_equal(frames[0], frames[-1])
    return frames


def test_classic_control(tmp_path):
    made = factory("CartPole-v1")
    plain = check_film(made, tmp_path / "plain.gif")
    labelled = check_film(made, tmp_path / "labelled.gif", expert_return=450.0)
    assert len(plain) == len(labelled)
    assert not np.array_equal(plain[0], labelled[0])  # the expert's return stands in the picture


def test_mp4_is_the_same_film(tmp_path):
    made = factory("CartPole-v1")
    frames = check_film(made, tmp_path / "film.mp4")
    shown = check_film(made, tmp_path / "film.gif")
    assert frames.shape == shown[: len(frames)].shape  # a GIF may join equal frames
    assert np.abs(frames.astype(int) - shown[..., :3]).mean() < 10


def test_mp4_needs_an_encoder(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "imageio_ffmpeg", None)
    made = factory("CartPole-v1")
    with pytest.raises(MissingExtraError, match=r"MP4 film needs imageio_ffmpeg.*ilfo\[video\]"):
        film(made, untrained(made), tmp_path / "film.mp4", seed=0)


def test_mujoco(tmp_path):
    made = factory("ilfo/Hopper-v0", horizon=40)
    require_rendering(made)
    check_film(made, tmp_path / "hopper.gif")


def test_the_camera_follows_a_runner():
    made = factory("ilfo/Hopper-v0")
    require_rendering(made)
    environment = open_for_rendering(made)
    environment.reset(seed=0)
    simulator = environment.unwrapped
    position, velocity = simulator.init_qpos.copy(), simulator.init_qvel
    frames = []
    for place in (0.0, 4.0):  # a whole number of the floor's tiles further on
        position[0] = place
        simulator.set_state(position, velocity)
        frames.append(environment.render().astype(float))
    environment.close()
    brown = [np.abs(frame - frame[..., ::-1]).max(axis=-1) > 40 for frame in frames]
    assert brown[0].sum() > 500
    assert (brown[0] == brown[1]).mean() > 0.99


def test_an_environment_that_cannot_be_rendered_is_found_out_at_once(monkeypatch):
    made = factory("CartPole-v1")
    monkeypatch.setitem(sys.modules, "pygame", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'ilfo\[video\]'"):
        check_rendering(made)
    with pytest.raises(NoPictureError, match=r"Blind has no render_mode=.rgb_array"):
        check_rendering(factory(lambda **_: Blind(), horizon=5))
    monkeypatch.delattr(Blind, "render")
    with pytest.raises(NoPictureError, match=r"Blind has no method `render`"):
        check_rendering(factory(lambda **_: Blind(), horizon=5))
    with pytest.raises(NoPictureError, match=r"Blind cannot be filmed: .*render_mode"):
        check_rendering(factory(Blind, horizon=5))


def test_nothing_is_overwritten_and_the_kind_of_file_is_checked(tmp_path):
    made = factory("CartPole-v1")
    (tmp_path / "old.gif").write_bytes(b"precious")
    with pytest.raises(FileExistsError, match=r"old\.gif exists already"):
        film(made, untrained(made), tmp_path / "old.gif", seed=0)
    assert (tmp_path / "old.gif").read_bytes() == b"precious"
    with pytest.raises(ValueError, match=r"new\.jpg must end in \.gif"):
        film(made, untrained(made), tmp_path / "new.jpg", seed=0)
