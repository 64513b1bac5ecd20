"""Films of an episode, made without a display."""

import os

import imageio.v3 as imageio
import jax
import numpy as np
import pytest

from ilfo.common.spaces import action_space, state_dim
from ilfo.common.types import Normaliser
from ilfo.environments.factory import factory
from ilfo.policies.host import HostPolicy
from ilfo.policies.mlp import MLPPolicy
from ilfo.rollouts.episodes import play
from ilfo.rollouts.video import film


def untrained(made) -> HostPolicy:
    dim = state_dim(made.observation_space)
    policy = MLPPolicy(width=8, depth=1).init(
        dim, action_space(made.action_space), Normaliser.identity(dim), key=jax.random.key(0)
    )
    return HostPolicy.single(policy)


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


def test_mujoco(tmp_path):
    made = factory("ilfo/Hopper-v0", horizon=40)
    os.environ.setdefault("MUJOCO_GL", "egl")
    try:
        probe = made.make(render_mode="rgb_array")
        probe.reset()
        probe.render()
    except (AttributeError, ImportError, RuntimeError) as error:
        pytest.skip(f"no way to draw MuJoCo without a display here: {error}")
    check_film(made, tmp_path / "hopper.gif")


def test_nothing_is_overwritten_and_the_kind_of_file_is_checked(tmp_path):
    made = factory("CartPole-v1")
    (tmp_path / "old.gif").write_bytes(b"precious")
    with pytest.raises(FileExistsError, match=r"old\.gif exists already"):
        film(made, untrained(made), tmp_path / "old.gif", seed=0)
    assert (tmp_path / "old.gif").read_bytes() == b"precious"
    with pytest.raises(ValueError, match=r"new\.jpg must end in \.gif"):
        film(made, untrained(made), tmp_path / "new.jpg", seed=0)
