"""The noise of the stochastic CartPole."""

import gymnasium as gym
import numpy as np

import ilfo.environments  # noqa: F401  (registers them)


def test_noise_of_the_stochastic_cartpole_is_drawn_by_itself():
    """Against the noiseless step from the same state: N(0, 0.03²) in every dimension."""
    noisy = gym.make("ilfo/StochasticCartPole-v0").unwrapped
    plain = gym.make("CartPole-v1").unwrapped
    noisy.reset(seed=0)
    plain.reset(seed=0)
    differences = []
    for step in range(2000):
        noisy.state = plain.state = (0.0, 0.0, 0.0, 0.0)
        noisy.steps_beyond_terminated = plain.steps_beyond_terminated = None
        np.random.seed(0)  # a global generator would repeat itself
        differences.append(noisy.step(step % 2)[0] - plain.step(step % 2)[0])
    differences = np.stack(differences)
    np.testing.assert_allclose(differences.mean(0), 0, atol=4 * 0.03 / 2000**0.5)
    np.testing.assert_allclose(differences.std(0), 0.03, rtol=4 / 4000**0.5)


def test_endings_are_judged_after_the_noise():
    environment = gym.make("ilfo/StochasticCartPole-v0", noise=0.5).unwrapped
    environment.reset(seed=0)
    verdicts = []
    for _ in range(200):
        environment.state, environment.steps_beyond_terminated = (0.0, 0.0, 0.0, 0.0), None
        observation, reward, ended, *_ = environment.step(0)
        assert ended == (abs(observation[0]) > 2.4 or abs(observation[2]) > 12 * np.pi / 180)
        assert reward == 1.0
        verdicts.append(ended)
    assert 20 < sum(verdicts) < 180
