"""What training knows of the demonstrations, gathered in two streaming passes.

The first pass (`Survey`) checks every trajectory, counts them, keeps a fixed-size sample of steps
and computes the fingerprint of the set. The second sums the discriminator's features. Neither
holds more than one trajectory and the sample, so the set may be larger than memory.
"""

import hashlib
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ilfo.agents.examination import Recordings
from ilfo.agents.method import Needs
from ilfo.common.compiling import compiled
from ilfo.common.spaces import ActionSpace
from ilfo.common.types import DemonstratedSteps, Expert
from ilfo.data.demonstrations import Demonstrations, Trajectory
from ilfo.data.sampling import SAMPLE, sample
from ilfo.discriminators.expert_mean import mean_features

if TYPE_CHECKING:
    from ilfo.agents.agent import Agent


class Survey(NamedTuple):
    """The first pass over the demonstrations."""

    steps: DemonstratedSteps
    fingerprint: str
    """Tells sets of demonstrations apart."""
    trajectories: int
    states: int
    recordings: Recordings
    """What tells whether they fit the environment."""


def survey(needs: Needs, demonstrations: Demonstrations, actions: ActionSpace) -> Survey:
    """Read the demonstrations once, or raise the error of the first trajectory that is wrong."""
    digest, seen = hashlib.sha256(), Recordings(demonstrations.every)
    trajectories = _recording(needs.checked(demonstrations, actions), digest, seen)
    steps = sample(trajectories, SAMPLE, np.random.default_rng(0))
    recorded = None
    if steps.actions is not None:
        recorded = jnp.asarray(actions.from_environment(np.asarray(steps.actions)))
    kept = steps._replace(
        pairs=jnp.asarray(steps.pairs),
        actions=recorded,
        terminal=jnp.asarray(steps.terminal),
        elapsed=jnp.asarray(steps.elapsed),
        trajectory=jnp.asarray(steps.trajectory),
    )
    return Survey(kept, digest.hexdigest(), len(seen.states), sum(seen.states), seen)


def _recording(
    trajectories: Iterable[Trajectory], digest: Any, seen: Recordings
) -> Iterator[Trajectory]:
    """The trajectories as they pass, added to the digest and to what is seen of them."""
    for trajectory in trajectories:
        seen.add(trajectory)
        digest.update(trajectory.states.tobytes() + bytes([trajectory.terminal]))
        if trajectory.actions is not None:
            digest.update(trajectory.actions.tobytes())
        yield trajectory


def prepare_expert(agent: "Agent") -> Expert:
    """What `improve` is told of the demonstrations; arrays have the axis of seeds."""
    name, problem = agent.method.discriminator, agent.problem
    # in NumPy: every operation on JAX arrays outside compiled functions is compiled by itself
    for_each_seed = lambda x: jax.device_put(
        np.broadcast_to(np.asarray(x), (len(agent.seeds), *x.shape))
    )
    steps = jax.tree.map(for_each_seed, agent.survey.steps)
    means, floor = for_each_seed(np.zeros(0, np.float32)), None
    if name is not None:
        spec, states = getattr(agent.settings, name), getattr(agent.state, name)
        means = mean_features(agent.demonstrations, spec, states, problem.frames)
        # the sample is an argument: as a constant of compiled code it would be in memory many times
        own_distance = lambda states, sample: eqx.filter_vmap(
            lambda fitted: spec.floor(fitted, sample, problem.frames)
        )(states)
        args = (states, agent.survey.steps)
        floor = compiled(own_distance, *args)(*args)
    shows_states, from_resets = problem.feature_map is None, not agent.demonstrations.clips
    return Expert(means, steps, shows_states, from_resets, floor)
