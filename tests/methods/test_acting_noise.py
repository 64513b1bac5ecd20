"""How much of its noise acts: the rule by hand, and what MobILE does with it."""

import jax.numpy as jnp
import numpy as np
import pytest

from ilfo.agents.callbacks import Callback
from ilfo.methods.acting_noise import ActingNoise
from ilfo.methods.inference import Inference
from ilfo.methods.mobile import MobILE
from ilfo.runs.spec import apply_changes
from ilfo.storage.renamed import up_to_date
from tests.helpers.agents import HORIZON, STEP, small_agent
from tests.helpers.environments import Slide, slides_to_the_middle
from tests.methods.test_inference import SETTINGS

ALIKE = jnp.ones(2)
"""Squared distances in the model that tell nothing."""


def heard(*squared: float) -> ActingNoise:
    """The first factor in use, after it had these squared distances."""
    noise = ActingNoise.untried(2)
    for each in squared:
        noise = noise.after(jnp.array(each))
    return noise


def test_squared_distances_are_averaged():
    assert heard(0.4).squared[0] == pytest.approx(0.4)
    assert heard(0.4, 0.2).squared[0] == pytest.approx(0.3)


def test_what_is_gained_counts_for_the_others_too_and_fades():
    noise = heard(0.4).next(ALIKE, jnp.zeros(()))
    assert int(noise.index) == 1  # it has not acted yet
    noise = noise.after(jnp.array(0.2))
    np.testing.assert_allclose(noise.squared, [0.8 * 0.4, 0.2], rtol=1e-6)
    noise = noise.after(jnp.array(0.1))  # 0.15: three quarters
    np.testing.assert_allclose(noise.squared, [0.8**2 * 0.4 * 0.75, 0.15], rtol=1e-6)
    noise = noise.after(jnp.array(0.45))  # 0.3: what is lost is not taken to be lost by others
    np.testing.assert_allclose(noise.squared, [0.8**3 * 0.4 * 0.75, 0.3], rtol=1e-6)


def test_the_nearer_one_acts_until_the_other_has_not_for_long():
    noise, used = heard(0.4).next(ALIKE, jnp.zeros(())), []
    for _ in range(8):
        noise = noise.after(jnp.array(0.1)).next(ALIKE, jnp.zeros(()))
        used.append(int(noise.index))
    assert used == [1, 1, 1, 1, 1, 1, 0, 1]  # 0.4 · 0.8⁷ < 0.1, and with 0.1 it is no nearer


def test_the_one_in_use_is_kept_near_the_floor():
    floor = jnp.array(0.3)
    assert int(heard(0.17).next(ALIKE, floor).index) == 0  # 0.17 < 2 · 0.09
    assert int(heard(0.19).next(ALIKE, floor).index) == 1


def test_the_model_has_a_veto():
    assert int(heard(0.4).next(jnp.array([1.0, 2.1]), jnp.zeros(())).index) == 0
    assert int(heard(0.4).next(jnp.array([1.0, 1.9]), jnp.zeros(())).index) == 1


class Watch(Callback):
    def __init__(self):
        self.factors, self.states = [], []

    def on_iteration(self, agent, log):
        self.factors.append(log.get("acting_noise"))
        self.states.append(agent.state)


def sliding(*changes: str, iterations: int) -> tuple[MobILE, Watch]:
    watch, settings = Watch(), apply_changes(SETTINGS, changes)
    agent = small_agent(Slide, slides_to_the_middle(HORIZON), settings)
    return agent.learn(iterations * STEP, watch), watch


def test_policy_and_clone_act_with_the_factor_that_was_chosen(cache_home):
    agent, watch = sliding(iterations=4)
    factors = agent.settings.inference.factors
    for factor, state in zip(watch.factors, watch.states, strict=True):
        index = np.asarray(state.inference.noise.index)
        np.testing.assert_allclose(factor, np.asarray(factors)[index], rtol=1e-6)
        for policy in (state.policy, state.inference.clone):
            np.testing.assert_allclose(np.exp(policy.log_factor), factor, rtol=1e-6)
        fitted = np.asarray(state.inference.fitted.log_factor)
        np.testing.assert_array_equal(fitted, 0 * fitted)  # it is fitted to all that scatters
    assert len({float(each) for factor in watch.factors for each in np.ravel(factor)}) > 1
    tried = np.asarray(watch.states[-1].inference.noise.squared) > 0
    assert tried[:, 0].all()  # what acts first is the whole noise


def test_the_whole_noise_acts_where_nothing_else_is_to_be_tried(cache_home):
    for changes in (("inference.quieter=1",), ("policy.state_noise=false",)):
        agent, watch = sliding(*changes, iterations=2)
        assert agent.state.inference.noise is None
        assert watch.factors == [None, None]


def test_the_factor_is_applied_as_often_as_may_be():
    assert Inference().factors == (1, 0.5)
    assert Inference(quieter=0.3, quieter_times=2).factors == pytest.approx((1, 0.3, 0.09))
    with pytest.raises(ValueError, match="quieter_times"):
        Inference(quieter_times=0)


def test_agents_of_before_that_was_a_setting_had_two():
    old = {"type": "Inference", "quieter": 0.5}
    assert up_to_date(old)["quieter_times"] == 2


@pytest.mark.parametrize("quieter", [0.0, -0.5, 1.5])
def test_a_factor_that_is_none_is_refused(quieter):
    with pytest.raises(ValueError, match=r"must be above 0 and at most 1"):
        Inference(quieter=quieter)
