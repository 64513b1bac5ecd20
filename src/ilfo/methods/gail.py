"""Adversarial imitation on real rollouts: GAIL (Ho and Ermon, 2016), GAIfO (Torabi et al., 2018).

    repeat:
        collect       the policy acts in the real environment
        discriminate  a classifier tells its steps from the expert's:
                      (s, a) for GAIL, (s, s') for GAIfO
        plan          one step of TRPO on the classifier's cost, on the same rollout

Episodes that end go on in an absorbing state up to the horizon, for both sides, as in MobILE.
"""

import functools
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
from ilfo.common.pytrees import all_finite, where
from ilfo.common.seeding import named_keys
from ilfo.common.types import DemonstratedSteps, Expert, Log, Normaliser, Rollout
from ilfo.common.validation import require_at_least
from ilfo.discriminators.base import AbstractDiscriminator
from ilfo.discriminators.classifier import Classifier, ClassifierState, Occupied
from ilfo.discriminators.mmd import MMD
from ilfo.discriminators.occupancy import by_age, sampled_occupancy
from ilfo.planners.base import AbstractPlanner, PlannerState
from ilfo.planners.critic import Batch
from ilfo.planners.trpo import TRPO
from ilfo.policies.base import AbstractPolicy
from ilfo.policies.mlp import MLPPolicy

LARGEST = 10.0
"""Bound of the classifier's inputs, in the expert's standard deviations."""


class AdversarialSettings(Settings):
    """Hyper-parameters of GAIL and GAIfO."""

    classifier: Classifier = Classifier()
    """Classifier of the learner's and the expert's steps."""
    planner: AbstractPlanner = TRPO(kl=0.02)
    """How the policy is improved, by one update per iteration."""
    policy: MLPPolicy = MLPPolicy()
    """The policy's network."""
    chooser: AbstractDiscriminator = MMD()
    """Measures the distance to the demonstrations by which the policy to return is selected."""
    streams: int = 2
    """Real rollouts per iteration, each of one horizon: online samples = streams · horizon."""

    def __post_init__(self):
        require_at_least(self, 1, "streams")


class AdversarialState(eqx.Module):
    planner: PlannerState
    classifier: ClassifierState
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
        return self.planner.policy


def init(
    settings: AdversarialSettings,
    problem: Problem,
    steps: DemonstratedSteps,
    *,
    key: Array,
    sees_actions: bool,
) -> AdversarialState:
    keys = named_keys(key, "policy", "planner", "classifier", "chooser", "run")
    dim = problem.state_dim
    states = steps.scales()
    dim_after = problem.actions.encoded_dim if sees_actions else problem.demonstrated_dim
    inputs = problem.demonstrated_dim + dim_after
    networks = states if problem.feature_map is None else Normaliser.identity(dim)
    policy = settings.policy.init(dim, problem.actions, networks, key=keys["policy"])
    return AdversarialState(
        planner=settings.planner.init(policy, dim, networks, key=keys["planner"]),
        classifier=settings.classifier.init(inputs, key=keys["classifier"]),
        states=states,
        changes=steps.scales("change"),
        chooser=settings.chooser.at_rate(problem.every).init(
            steps, problem.feature_map, key=keys["chooser"]
        ),
        chosen=Choice.none_yet(policy),
        key=keys["run"],
        iteration=jnp.zeros((), jnp.int32),
    )


def improve(
    settings: AdversarialSettings,
    problem: Problem,
    state: AdversarialState,
    rollout: Rollout,
    expert: Expert,
) -> tuple[AdversarialState, Log]:
    keys = named_keys(state.key, "classifier", "planner", "next")
    mmd = real_mmd(settings.chooser, state.chooser, rollout, expert.mean_features)
    chosen = state.chosen.or_better(state.policy, mmd, state.iteration)

    seen = jax.vmap(jax.vmap(problem.demonstrated))
    pairs = jnp.stack([seen(rollout.state), seen(rollout.next_state)], axis=2)
    steps = expert.steps
    flat = lambda x: x.reshape(-1, *x.shape[2:])
    acted = problem.actions.execute(flat(rollout.action)) if steps.actions is not None else None
    own = _inputs(problem, state, flat(pairs), acted)
    theirs = _inputs(problem, state, steps.pairs, steps.actions)
    time = by_age(rollout)
    absorbed = (rollout.terminal * time.after_termination).sum()
    learner = Occupied(own, time.step.ravel(), absorbed / (absorbed + time.step.sum()))

    classifier, classifier_log = settings.classifier.fit(
        state.classifier,
        learner,
        Occupied(theirs, *sampled_occupancy(steps, problem.frames)),
        key=keys["classifier"],
    )
    cost = settings.classifier.cost(classifier, own).reshape(rollout.valid.shape)
    ending = settings.classifier.ending_cost(classifier)
    batch = Batch(rollout, cost, ending, jnp.zeros(()))
    planner = state.planner
    if problem.feature_map is not None:  # no demonstration shows states: the first rollout does
        scale = Normaliser.fit(flat(rollout.state), jnp.ones(own.shape[0]))
        planner = where(state.iteration == 0, planner.rescaled(scale), planner)
    planner, planner_log = settings.planner.update(planner, batch, key=keys["planner"])
    log = {
        "mmd": mmd,
        "cost": cost.mean(),
        "ending_cost": ending,
        "finite_discriminator": all_finite(classifier),
        "finite_planner": all_finite(planner),
    }
    return AdversarialState(
        planner,
        classifier,
        state.states,
        state.changes,
        state.chooser,
        chosen,
        keys["next"],
        state.iteration + 1,
    ), log | classifier_log | planner_log


def _inputs(
    problem: Problem, state: AdversarialState, pairs: Float[Array, "n 2 F"], actions: Array | None
) -> Float[Array, "n I"]:
    """The classifier's view of steps: state and action, or state and change of state.

    The change says the same as the next state, but in units in which a smooth classifier can see
    it: states of neighbouring steps hardly differ.
    """
    before = state.states(pairs[:, 0])
    if actions is None:
        second = state.changes(pairs[:, 1] - pairs[:, 0])
    else:
        second = jax.vmap(problem.actions.encode)(actions)
    return jnp.clip(jnp.concatenate([before, second], -1), -LARGEST, LARGEST)


BUDGETS = 10
"""They learn from every environment step once, and no model practises for them."""
METRICS = (
    "mmd",
    "mmd_floor",
    "cost",
    "ending_cost",
    "classifier_loss",
    "classifier_accuracy",
    "kl",
    "accepted",
    "entropy",
    "critic_loss",
)
SHOWN = {
    "mmd": "MMD to expert",
    "mmd_floor": "floor",
    "classifier_accuracy": "classifier accuracy",
    "kl": "KL",
}


class GAIL(Agent):
    """Match the expert's states and actions: `GAIL(environment, demonstrations).learn(100_000)`."""

    method = Method(
        name="gail",
        settings=AdversarialSettings,
        init=functools.partial(init, sees_actions=True),
        improve=improve,
        budgets=BUDGETS,
        needs=Needs(actions=True),
        metrics=METRICS,
        shown=SHOWN,
    )


class GAIfO(Agent):
    """Match the expert's changes of state: `GAIfO(environment, demonstrations).learn(100_000)`."""

    method = Method(
        name="gaifo",
        settings=AdversarialSettings,
        init=functools.partial(init, sees_actions=False),
        improve=improve,
        budgets=BUDGETS,
        needs=Needs(steps=True),
        metrics=METRICS,
        shown=SHOWN,
    )
