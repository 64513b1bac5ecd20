"""What films are made of."""

import jax
import pytest

from ilfo.common.spaces import action_space, state_dim
from ilfo.common.types import Normaliser
from ilfo.environments.factory import Factory
from ilfo.policies.host import HostPolicy
from ilfo.policies.mlp import MLPPolicy
from ilfo.rollouts.video import check_rendering


def untrained(made: Factory) -> HostPolicy:
    dim = state_dim(made.observation_space)
    policy = MLPPolicy(width=8, depth=1).init(
        dim, action_space(made.action_space), Normaliser.identity(dim), key=jax.random.key(0)
    )
    return HostPolicy.single(policy)


def require_rendering(made: Factory) -> None:
    try:
        check_rendering(made)
    except ValueError as error:
        pytest.skip(f"no way to draw MuJoCo without a display here: {error}")
