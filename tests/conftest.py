"""How tests are compiled, and trained agents that many of them look at.

Nobody may train a shared agent further: load a copy instead.
"""

import os

# The tests spend their time compiling. With these flags that takes less than half as long, and
# computing somewhat longer; what agents compile has options of its own, of which only the last one
# is added here; `XLA_FLAGS= pytest` tests what users run. Read by JAX at its first
# computation, hence before anything else.
os.environ.setdefault(
    "XLA_FLAGS",
    "--xla_cpu_use_fusion_emitters=false --xla_backend_optimization_level=0"
    " --xla_cpu_parallel_codegen_split_count=1",
)

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import gymnasium as gym
import jax
import numpy as np
import pytest

from ilfo import MobILE
from ilfo.agents.callbacks import Callback
from ilfo.data.demonstrations import Demonstrations
from ilfo.dynamics.termination import NoTermination
from ilfo.runs import launch
from tests.helpers.agents import (
    HORIZON,
    MACHINE,
    SETTINGS,
    STEP,
    demonstrations,
    small_agent,
    small_spec,
)
from tests.helpers.sharing import SharedCode

MAPS = 20_000
"""Memory maps at which compiled code is forgotten; Linux allows a process 65,530."""


@pytest.fixture(scope="session", autouse=True)
def shared_code() -> Iterator[SharedCode]:
    code = SharedCode()
    with code.in_use():
        yield code


@pytest.fixture(scope="module", autouse=True)
def forget_compiled_code(shared_code: SharedCode) -> Iterator[None]:
    """Every compiled function takes memory maps, of which a process may have only so many: a worker
    that kept all of them crashed in XLA towards the end of the suite."""
    yield
    maps = Path("/proc/self/maps")
    if not maps.exists() or maps.read_bytes().count(b"\n") > MAPS:
        shared_code.forget()
        jax.clear_caches()


@pytest.fixture(scope="session", autouse=True)
def cache_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Compiled code, shared by all modules, with parallel workers and with processes that tests
    start."""
    base = tmp_path_factory.getbasetemp()
    home = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "cache"
    jax.config.update("jax_compilation_cache_dir", str(home / "ilfo" / "compiled"))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.3)
    return home


class Watch(Callback):
    """Keeps the state before every iteration, the last one, and the logs."""

    def __init__(self):
        self.states, self.logs = [], []

    def on_start(self, agent):
        self.states.append(agent.state)

    def on_iteration(self, agent, log):
        self.states.append(agent.state)
        self.logs.append(dict(log))


class Trained(NamedTuple):
    agent: MobILE
    states: list
    logs: list
    halfway: Path
    """A checkpoint, saved after half of the iterations."""


ITERATIONS = 6


class SaveHalfway(Callback):
    def __init__(self, path: Path):
        self.path = path

    def on_iteration(self, agent, log):
        if agent.iteration == ITERATIONS // 2:
            agent.save(self.path)


@pytest.fixture(scope="session")
def trained(cache_home, tmp_path_factory) -> Trained:
    """Three seeds on CartPole, six iterations."""
    agent, watch = small_agent(), Watch()
    halfway = tmp_path_factory.mktemp("trained") / "halfway.npz"
    agent.learn(ITERATIONS * STEP, [watch, SaveHalfway(halfway)])
    return Trained(agent, watch.states, watch.logs, halfway)


@pytest.fixture(scope="session")
def pendulum(cache_home) -> MobILE:
    """An agent with Box actions where nothing ends an episode, after two iterations."""
    environment = gym.make("Pendulum-v1", max_episode_steps=HORIZON)
    states = [environment.reset(seed=0)[0]]
    for _ in range(HORIZON):
        states.append(environment.step(np.zeros(1, np.float32))[0])
    expert = Demonstrations.from_arrays([np.stack(states)], terminal=False)
    settings = replace(SETTINGS, termination=NoTermination())
    return MobILE("Pendulum-v1", expert, settings, horizon=HORIZON).learn(2 * STEP)


@pytest.fixture(scope="session")
def demos_file(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("demonstrations") / "cartpole.npz"
    demonstrations().save(path)
    return path


@pytest.fixture(scope="session")
def finished_run(cache_home, demos_file, tmp_path_factory) -> Path:
    """The directory of a run that nothing disturbed; five iterations, three seeds."""
    out = tmp_path_factory.mktemp("runs") / "finished"
    launch.start(small_spec(demos_file, 5), out, MACHINE)
    return out


@pytest.fixture
def drawn_figures(monkeypatch) -> list:
    """Every matplotlib figure that was written to a file, in order."""
    figures: list = []
    kind = pytest.importorskip("matplotlib.figure").Figure
    save = kind.savefig

    def savefig(figure, *args, **kwargs):
        figures.append(figure)
        return save(figure, *args, **kwargs)

    monkeypatch.setattr(kind, "savefig", savefig)
    return figures
