"""Hyper-parameters out of range are refused when they are set, by the name of the field."""

import pytest

from ilfo.methods.mobile import MobILESettings
from ilfo.runs.spec import apply_changes


@pytest.mark.parametrize(
    "change",
    [
        "weight=1.5",
        "runaway=-1.0",
        "policy_steps=0",
        "policy_steps=1" + "0" * 400,
        "planner.kl=-1.0",
        "planner.kl=inf",
        "planner.backtracks=0",
        "planner.critic.trace=7.0",
        "planner.critic.discount=1.0",
        "dynamics.members=0",
        "dynamics.clip=nan",
        "dynamics.plan.passes=0",
        "dynamics.plan.batch_size=0",
        "dynamics.optimiser.learning_rate=-1.0",
        "discriminator.features=0",
        "discriminator.bandwidth_quantile=5.0",
        "discriminator.zeta=-1.0",
        "discriminator.clip_min=2.0",
        "termination.odds=-1.0",
        "policy.log_std_min=3.0",
    ],
)
def test_out_of_range(change):
    name = change.split("=")[0].split(".")[-1]
    with pytest.raises(ValueError, match=name):
        apply_changes(MobILESettings(), [change])
