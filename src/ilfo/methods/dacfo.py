"""DACfO: discriminator-actor-critic from observations (Kostrikov et al. 2019; Zhu et al. 2020).

    repeat:
        collect       the policy acts in the real environment
        remember      its steps join all earlier ones in a replay
        discriminate  a classifier tells replayed pairs (s, s') from the expert's
        learn         SAC on the classifier's reward, from the same replay

Off-policy: a step is learned from many times. Episodes that end go on in an absorbing state with a
reward of its own, for both sides. Its value has the closed form r/(1 - γ).
"""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from ilfo.agents.agent import Agent
from ilfo.agents.method import Method, Needs
from ilfo.agents.problem import Problem
from ilfo.agents.selection import Choice, real_mmd
from ilfo.agents.settings import Settings
from ilfo.common.buffer import Ring
from ilfo.common.fitting import Adam
from ilfo.common.pytrees import all_finite, where
from ilfo.common.seeding import named_keys
from ilfo.common.types import (
    DemonstratedSteps,
    Expert,
    Log,
    Normaliser,
    Rollout,
    Transition,
    as_transitions,
)
from ilfo.common.validation import require_at_least, require_positive
from ilfo.discriminators.base import AbstractDiscriminator
from ilfo.discriminators.classifier import ClassifierState
from ilfo.discriminators.mmd import MMD
from ilfo.discriminators.occupancy import Occupancy, by_age, sampled_occupancy
from ilfo.discriminators.replayed import LARGEST, ReplayClassifier, Source
from ilfo.planners.replay import Experience, empty_replay, push, steps_at
from ilfo.planners.sac import SAC, SACState
from ilfo.policies.base import AbstractPolicy


class DACfOSettings(Settings):
    """Hyper-parameters of DACfO."""

    classifier: ReplayClassifier = ReplayClassifier()
    """Classifier of the learner's and the expert's steps."""
    learner: SAC = SAC(batch_size=128, optimiser=Adam(1e-3))
    """Learns from the classifier's reward."""
    chooser: AbstractDiscriminator = MMD()
    """Measures the distance to the demonstrations by which the policy to return is selected."""
    streams: int = 1
    """Real rollouts per iteration, each of one horizon: online samples = streams · horizon."""
    updates: float = 1.0
    """Updates of policy and critics per environment step."""
    classifier_updates: float = 1.0
    """Updates of the classifier per environment step."""
    capacity: int = 200_000
    """Steps that the replay holds; checkpoints contain it."""

    def __post_init__(self):
        require_at_least(self, 1, "streams", "capacity")
        require_positive(self, "updates", "classifier_updates")


class DACfOState(eqx.Module):
    learner: SACState
    classifier: ClassifierState
    replay: Ring
    """Of `Experience`, without the true rewards."""
    time: Ring
    """Of `Occupancy`: how much the steps in the same slots of the replay count."""
    states: Normaliser
    """Of demonstrated states, for the classifier's input."""
    changes: Normaliser
    """Of their changes over a step."""
    chooser: Any
    chosen: Choice
    key: Array
    iteration: Int[Array, ""]

    @property
    def policy(self) -> AbstractPolicy:
        return self.learner.policy


def init(
    settings: DACfOSettings, problem: Problem, steps: DemonstratedSteps, *, key: Array
) -> DACfOState:
    keys = named_keys(key, "learner", "classifier", "chooser", "run")
    dim, actions = problem.state_dim, problem.actions
    states = steps.scales()
    networks = states if problem.feature_map is None else Normaliser.identity(dim)
    learner = settings.learner.init(dim, actions, networks, key=keys["learner"])
    zero = jnp.zeros(())
    return DACfOState(
        learner=learner,
        classifier=settings.classifier.init(2 * problem.demonstrated_dim, key=keys["classifier"]),
        replay=empty_replay(dim, actions, settings.capacity),
        time=Ring.empty(Occupancy(zero, zero), settings.capacity),
        states=states,
        changes=steps.scales("change"),
        chooser=settings.chooser.at_rate(problem.every).init(
            steps, problem.feature_map, key=keys["chooser"]
        ),
        chosen=Choice.none_yet(learner.policy),
        key=keys["run"],
        iteration=jnp.zeros((), jnp.int32),
    )


def improve(
    settings: DACfOSettings,
    problem: Problem,
    state: DACfOState,
    rollout: Rollout,
    expert: Expert,
) -> tuple[DACfOState, Log]:
    keys = named_keys(state.key, "classifier", "learner", "next")
    mmd = real_mmd(settings.chooser, state.chooser, rollout, expert.mean_features)
    chosen = state.chosen.or_better(state.policy, mmd, state.iteration)

    new = as_transitions(problem.actions, rollout)
    count = new.terminal.shape[0]
    # the environment's reward is not kept: the classifier's takes its place
    replay = push(state.replay, Experience(new, jnp.zeros(count)))
    time = _with_time(state.time, rollout)

    inputs = lambda steps: _inputs(state, _pairs(problem, steps))
    classifier, classifier_log = settings.classifier.updates(
        state.classifier,
        _own(replay, time, inputs),
        _experts(problem, state, expert.steps),
        max(round(settings.classifier_updates * count), 1),
        key=keys["classifier"],
    )

    ending = settings.classifier.ending_reward(classifier)
    # in all the time after a step that ended its episode
    after = settings.learner.discount / (1 - settings.learner.discount) * ending
    now = lambda steps: settings.classifier.reward(classifier, inputs(steps))
    learner, learner_log = settings.learner.updates(
        adapt_scales(problem, state, new),
        replay,
        max(round(settings.updates * count), 1),
        lambda steps: now(steps) + jnp.where(steps.terminal, after, 0.0),
        key=keys["learner"],
    )
    log = {
        "mmd": mmd,
        "reward": now(new).mean(),
        "ending_reward": ending,
        "finite_discriminator": all_finite(classifier),
        "finite_planner": all_finite(learner),
    }
    return DACfOState(
        learner,
        classifier,
        replay,
        time,
        state.states,
        state.changes,
        state.chooser,
        chosen,
        keys["next"],
        state.iteration + 1,
    ), log | classifier_log | learner_log


def adapt_scales(problem: Problem, state: DACfOState, new: Transition) -> SACState:
    """If the demonstrations hold features, the first rollout sets the scales of the networks."""
    if problem.feature_map is None:
        return state.learner
    scale = Normaliser.fit(new.state, jnp.ones(new.terminal.shape[0]))
    scaled = eqx.tree_at(lambda learner: learner.policy.normaliser, state.learner, scale)
    return where(state.iteration == 0, scaled, state.learner)


def _with_time(time: Ring, rollout: Rollout) -> Ring:
    """With the weights of a rollout's steps, in the order in which the replay takes them."""
    counted = by_age(rollout)
    after = jnp.where(rollout.terminal, counted.after_termination, 0.0)
    new = Occupancy(counted.step.ravel(), after.ravel())
    return time.push(new, jnp.ones(new.step.shape, bool))


def _own(replay: Ring, time: Ring, inputs: Any) -> Source:
    """The learner's steps in the replay; empty slots have no weight."""
    step, after = time.items.step, time.items.after_termination.sum()
    steps = lambda slots: inputs(steps_at(replay, slots).transition)
    return Source(steps, step, after / (after + step.sum()))


def _experts(problem: Problem, state: DACfOState, steps: DemonstratedSteps) -> Source:
    """The demonstrated steps."""
    inputs = _inputs(state, steps.pairs)
    return Source(lambda slots: inputs[slots], *sampled_occupancy(steps, problem.frames))


def _pairs(problem: Problem, steps: Transition) -> Float[Array, "n 2 F"]:
    """What demonstrations would hold of these steps."""
    seen = jax.vmap(problem.demonstrated)
    return jnp.stack([seen(steps.state), seen(steps.next_state)], axis=1)


def _inputs(state: DACfOState, pairs: Float[Array, "n 2 F"]) -> Float[Array, "n I"]:
    """The classifier's view of steps: state and change of state, in the expert's units."""
    change = state.changes(pairs[:, 1] - pairs[:, 0])
    return jnp.clip(jnp.concatenate([state.states(pairs[:, 0]), change], -1), -LARGEST, LARGEST)


class DACfO(Agent):
    """Match the expert's changes of state off-policy:
    `DACfO(environment, demonstrations).learn(100_000)`.
    """

    method = Method(
        name="dacfo",
        settings=DACfOSettings,
        init=init,
        improve=improve,
        budgets=10,
        parts=(ReplayClassifier, SAC),
        needs=Needs(continuous=True, steps=True),
        metrics=(
            "mmd",
            "mmd_floor",
            "reward",
            "ending_reward",
            "classifier_loss",
            "classifier_accuracy",
            "critic_loss",
            "value",
            "entropy",
            "temperature",
        ),
        shown={
            "mmd": "MMD to expert",
            "mmd_floor": "floor",
            "classifier_accuracy": "classifier accuracy",
            "entropy": "entropy",
        },
    )
