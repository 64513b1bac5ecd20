"""Noise and episodes, on recordings of which they are known."""

import numpy as np
import pytest

from ilfo.data import altered
from ilfo.data.demonstrations import Demonstrations, Trajectory
from ilfo.data.signal import effective_episodes, noise_share
from ilfo.environments.tasks import find_task


@pytest.mark.parametrize("task", ["hopper", "walker2d", "swimmer", "reacher", "cartpole"])
@pytest.mark.parametrize("share", [0.05, 0.2])
def test_the_noise_that_was_added_is_found(task, share):
    clean = find_task(task).load(10)
    assert noise_share(clean) < 0.04
    found = noise_share(altered.noisy(clean, share))
    assert found == pytest.approx(share, rel=0.25, abs=0.015)


def test_noise_of_a_smooth_signal():
    time = np.linspace(0, 30, 2_000)
    smooth = np.stack([np.sin(time), np.cos(2 * time), np.ones_like(time)], 1)
    noise = np.random.default_rng(0).standard_normal(smooth.shape) * [1, 1, 0]
    of = lambda states: noise_share([Trajectory(states.astype(np.float32), False)])
    assert of(smooth) < 1e-3
    assert of(smooth + 0.3 * np.sqrt(0.5) * noise) == pytest.approx(0.3, rel=0.15)
    assert of(smooth[:5]) is None
    assert of(np.ones((50, 2))) is None


def test_effective_episodes():
    at = lambda start, states: np.arange(start, start + states, dtype=float)[:, None]
    recordings = Demonstrations.from_arrays(
        [at(0, 11), at(0, 11), at(50, 6), at(70, 6)], terminal=[False, False, True, False]
    )
    # a whole one, the same again, one that ended by itself, half of one
    assert effective_episodes(recordings, 1, 10, clips=False) == 2.5
    assert effective_episodes(recordings, 2, 10, clips=False) == 3
    assert effective_episodes(recordings, 1, 10, clips=True) == 2
