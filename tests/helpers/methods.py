"""Every method at a size where compiling, not computing, takes the time."""

from pathlib import Path

import gymnasium as gym
import numpy as np

from ilfo.data.demonstrations import Demonstrations
from ilfo.environments.tasks import find_task
from ilfo.methods import METHODS
from ilfo.methods.presets import find_settings
from ilfo.runs.spec import RunSpec, apply_changes
from tests.helpers.agents import CHANGES as MOBILE
from tests.helpers.agents import HORIZON

SMALL = ("policy.width=8", "policy.depth=1")
ONLINE = (*SMALL, "chooser.features=16", "streams=2")
ADVERSARIAL = (
    *ONLINE,
    "classifier.width=8",
    "classifier.depth=1",
    "planner.cg_iterations=3",
    "planner.fisher_samples=32",
    "planner.critic.width=8",
)
CHANGES: dict[str, tuple[str, ...]] = {
    "mobile": MOBILE,
    "bc": (*SMALL, "passes=8", "every=2", "episodes=2"),
    "bco": (
        *ONLINE,
        "inverse.width=8",
        "inverse.depth=1",
        "inverse.plan.passes=1",
        "cloning.plan.passes=1",
        "buffer_horizons=8",
        "explore=2",
    ),
    "gail": ADVERSARIAL,
    "gaifo": ADVERSARIAL,
    "dacfo": (
        "chooser.features=16",
        "streams=2",
        "classifier.width=8",
        "classifier.depth=1",
        "classifier.batch_size=16",
        "learner.width=8",
        "learner.depth=1",
        "learner.batch_size=16",
        "updates=0.2",
        "classifier_updates=0.2",
        "capacity=100",
    ),
    "ilpo": (
        *ONLINE,
        "latent.width=8",
        "latent.depth=1",
        "latent.plan.passes=1",
        "cloning.plan.passes=1",
        "buffer_horizons=8",
    ),
}
STEP = 2 * HORIZON
"""Online samples of one iteration, of the methods that take any."""
BASELINES = tuple(name for name in METHODS if name != "mobile")
STATE_ONLY = tuple(name for name in METHODS if not METHODS[name].method.needs.actions)


def demonstrations(count: int = 2):
    return find_task("cartpole").load(count, actions=True)


def swings(count: int = 2) -> Demonstrations:
    """Pendulum-v1 under random torques, with the actions."""
    environment, generator = gym.make("Pendulum-v1"), np.random.default_rng(0)
    torques = generator.uniform(-2, 2, (count, HORIZON, 1)).astype(np.float32)
    played = [
        [environment.reset(seed=number)[0], *(environment.step(torque)[0] for torque in each)]
        for number, each in enumerate(torques)
    ]
    return Demonstrations.from_arrays(np.array(played), terminal=False, actions=torques)


def environment_of(method: str) -> str:
    """One that the method can learn in."""
    return "Pendulum-v1" if METHODS[method].method.needs.continuous else "CartPole-v1"


def demonstrations_of(method: str) -> Demonstrations:
    """Recordings of that environment, with actions."""
    return swings() if METHODS[method].method.needs.continuous else demonstrations()


def small_baseline(method: str, expert=None, environment=None, seeds=2, changes=(), **more):
    """An agent of the method, with small settings and what is changed of them."""
    preset = find_settings("default", method)
    settings = apply_changes(preset, (*CHANGES[method], *changes))
    expert = demonstrations_of(method) if expert is None else expert
    if environment is None and "action_space" not in more:
        environment = environment_of(method)
    return METHODS[method](environment, expert, settings, seeds=seeds, horizon=HORIZON, **more)


def budget(method: str, iterations: int) -> int | None:
    return iterations * STEP if METHODS[method].method.needs.environment else None


def method_spec(method: str, demos: Path, iterations: int, **more) -> RunSpec:
    """What `small_baseline` does, as the command line would ask for it."""
    given = {"task": None, "env": environment_of(method), "demos": str(demos), "horizon": HORIZON}
    given |= {"seeds": 2, "total_timesteps": budget(method, iterations)}
    return RunSpec(**given | {"method": method, "changes": CHANGES[method]} | more)
