"""One MobILE outer iteration in `ilfo`'s own compiled functions, phase by phase.

The counterpart of `benchmarks/torch_reference.py`: the same work (`benchmarks/sizes.py`) on the
same transitions. Differences:

- Conjugate gradients stop when the residual has shrunk to a millionth; the reference runs all
  iterations. The notes that `phases` returns say whether that happened.
- `improve` also chooses between policies and checks for NaN, which the reference does not.

Import it only after the number of threads is set: JAX counts the cores once.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import equinox as eqx
import gymnasium as gym
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from benchmarks.sizes import Sizes
from ilfo.agents.problem import Problem
from ilfo.common.buffer import Buffer
from ilfo.common.fitting import SGD, Passes
from ilfo.common.spaces import ActionSpace, BoxActions, DiscreteActions
from ilfo.common.types import DemonstratedSteps, Expert, Rollout, Transition
from ilfo.discriminators.mmd import MMD
from ilfo.dynamics.ensemble import EnsembleDynamics
from ilfo.dynamics.termination import NoTermination
from ilfo.methods.mobile import MobILESettings, TrainState, improve, init
from ilfo.methods.policy_step import judge
from ilfo.planners.critic import GAECritic
from ilfo.planners.trpo import TRPO
from ilfo.policies.host import HostPolicy
from ilfo.policies.mlp import MLPPolicy
from ilfo.rollouts.collect import collect
from ilfo.rollouts.imagine import World, draw_starts, trusted_radius

REAL_STREAMS = 2
EXPERT_STATES = 4000
NOWHERE = 1e6
"""Radius, as a multiple of the largest norm, that no imagined state leaves: rollouts never end."""


def settings_for(sizes: Sizes) -> MobILESettings:
    return MobILESettings(
        dynamics=EnsembleDynamics(
            members=sizes.members,
            width=sizes.dynamics_width,
            depth=sizes.dynamics_depth,
            optimiser=SGD(0.005, 0.99),
            clip=sizes.clip,
            plan=Passes(sizes.passes, sizes.batch),
        ),
        termination=NoTermination(),
        discriminator=MMD(features=sizes.features),
        planner=TRPO(
            kl=sizes.kl,
            cg_iterations=sizes.cg_iterations,
            damping=sizes.damping,
            fisher_samples=sizes.samples,
            critic=GAECritic(
                discount=sizes.gamma,
                trace=sizes.gae_lambda,
                width=sizes.critic_width,
                plan=Passes(sizes.critic_passes, sizes.critic_batch),
            ),
        ),
        policy=MLPPolicy(width=sizes.policy_width),
        policy_steps=sizes.policy_steps,
        streams=REAL_STREAMS,
        imagined_streams=sizes.streams,
        buffer_horizons=sizes.buffer // sizes.horizon,
        runaway=NOWHERE,
    )


def problem_for(sizes: Sizes) -> Problem:
    count = sizes.action_dim
    actions: ActionSpace = BoxActions((-1.0,) * count, (1.0,) * count, (count,))
    if sizes.discrete:
        actions = DiscreteActions(count)
    return Problem(sizes.state_dim, actions, sizes.horizon, sizes.state_dim)


@dataclass(frozen=True)
class Iteration:
    """Inputs of one iteration."""

    sizes: Sizes
    settings: MobILESettings
    problem: Problem
    expert: Expert
    state: TrainState
    rollout: Rollout
    """In place of what `collect` returns."""


def make_iteration(
    sizes: Sizes, states: np.ndarray, actions: np.ndarray, next_states: np.ndarray
) -> Iteration:
    """From transitions that fill the replay buffer, actions encoded for the model (one-hot, or
    continuous)."""
    settings, problem = settings_for(sizes), problem_for(sizes)
    start_key, expert_key = jax.random.split(jax.random.key(0))
    shape = (EXPERT_STATES, 2, sizes.state_dim)
    steps = DemonstratedSteps.from_pairs(0.5 + 0.5 * jax.random.normal(expert_key, shape))
    state = eqx.filter_jit(init)(settings, problem, steps, key=start_key)
    features = jax.vmap(state.discriminator.features)(steps.before, steps.after)
    drawn = actions.argmax(-1).astype(np.int32) if sizes.discrete else actions
    transitions = Transition(states, drawn, next_states, np.zeros(sizes.buffer, bool))
    age = np.arange(sizes.buffer, dtype=np.int32) % sizes.horizon
    buffer: Buffer = eqx.filter_jit(Buffer.push)(state.buffer, transitions, age == 0)
    return Iteration(
        sizes=sizes,
        settings=settings,
        problem=problem,
        expert=Expert(features.mean(0), steps),
        state=eqx.tree_at(lambda s: s.buffer, state, buffer),
        rollout=_as_rollout(transitions, age, REAL_STREAMS, sizes.horizon),
    )


def _as_rollout(transitions: Transition, age: np.ndarray, streams: int, horizon: int) -> Rollout:
    part = lambda x: x[: streams * horizon].reshape(streams, horizon, *x.shape[1:])
    state, action, next_state, never = map(part, transitions)
    cut = part(age) == horizon - 1
    return Rollout(state, action, next_state, never, never, cut, ~never, part(age))


def phases(iteration: Iteration) -> tuple[dict[str, Callable[[], object]], list[str]]:
    """The compiled phases by name, which compute the same in every call, and notes about them."""
    settings, problem, expert = iteration.settings, iteration.problem, iteration.expert
    whole = _compiled(improve, settings, problem, iteration.state, iteration.rollout, expert)
    state, _ = whole()
    buffer, planner = state.buffer, state.planner
    bonus = settings.bonus.fit(state.dynamics.model, buffer)
    scales = planner.critic.critic.normaliser
    radius = trusted_radius(scales, buffer, expert, settings.runaway)
    world = World(state.dynamics.model, state.termination.rule, bonus, scales, radius)
    keys = dict(zip(("fit", "roll", "critic", "plan"), jax.random.split(state.key, 4), strict=True))

    dynamics = _compiled(
        lambda fitted, new, buffer, key: settings.dynamics.fit(fitted, new, buffer, key=key),
        *(state.dynamics, buffer.recent.items, buffer, keys["fit"]),
    )
    bonus_scale = _compiled(settings.bonus.fit, world.model, buffer)
    rollouts = _compiled(
        lambda policy, world, buffer, expert, key: _roll_out(
            iteration, policy, world, buffer, expert, key
        ),
        *(planner.policy, world, buffer, expert, keys["roll"]),
    )
    rollout, from_reset = rollouts()
    assert rollout.valid.all(), "rollouts must have full length, or less work would be done"
    judged = _compiled(
        lambda world, expert, discriminator, rollout, from_reset: judge(
            settings,
            expert,
            discriminator,
            rollout,
            world.bonuses(problem.actions, rollout),
            from_reset,
            jnp.array(True),
        ),
        *(world, expert, state.discriminator, rollout, from_reset),
    )
    _, batch, _ = judged()
    critic = _compiled(
        _estimate_and_fit, settings.planner.critic, planner.critic, batch, keys["critic"]
    )
    advantage, _ = critic()
    step = _compiled(_step, settings.planner, planner.policy, batch, advantage, keys["plan"])
    names = {
        "dynamics": dynamics,
        "bonus scale": bonus_scale,
        "rollouts": rollouts,
        "discriminator and bonus": judged,
        "critic": critic,
        "planner": step,
        "all but collect": whole,
    }
    policy, log = step()
    shorter = replace(settings.planner, cg_iterations=iteration.sizes.cg_iterations - 1)
    other, _ = _compiled(_step, shorter, planner.policy, batch, advantage, keys["plan"])()
    early = "stopped early" if eqx.tree_equal(policy, other) else "ran to the last iteration"
    tries = int(log["line_search_tries"])
    return names, [f"jax: conjugate gradients {early}, line search tried {tries}"]


def _compiled(function: Callable, *arguments: object) -> Callable[[], object]:
    """The function compiled for these arguments; a call waits for the result."""
    run = eqx.filter_jit(function).lower(*arguments).compile()
    return lambda: jax.block_until_ready(run(*arguments))


def _roll_out(iteration: Iteration, policy, world: World, buffer: Buffer, expert: Expert, key):
    start_key, imagine_key = jax.random.split(key)
    settings, problem = iteration.settings, iteration.problem
    starts, from_reset = draw_starts(
        buffer, expert, settings.imagined_streams, settings.expert_starts, key=start_key
    )
    rollout = world.imagine(policy, problem.actions, starts, problem.horizon, key=imagine_key)
    return rollout, from_reset


def _estimate_and_fit(spec: GAECritic, state, batch, key: Array):
    advantage, returns = spec.estimate(state.critic, batch)
    return advantage, spec.fit(state, batch, returns, key=key)


def _step(spec: TRPO, policy, batch, advantage: Array, key: Array):
    return spec.step(policy, batch, advantage, key=key)


def collect_phase(iteration: Iteration, environments: list[gym.Env]) -> Callable[[], object]:
    policy = jax.tree.map(lambda x: x[None] if eqx.is_array(x) else x, iteration.state.policy)

    def run() -> object:
        # the conversion of the policy to NumPy, once per collection, is part of the cost
        return collect(
            environments,
            HostPolicy(policy),
            iteration.problem.actions,
            seeds=[0],
            iteration=0,
            steps=iteration.sizes.horizon,
        )

    return run
