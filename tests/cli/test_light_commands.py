"""The commands that only print something import only what they print."""

import subprocess
import sys
from importlib.util import find_spec

import pytest

SIMULATORS = ("mujoco", "gymnasium.envs.mujoco", "gymnasium.envs.classic_control.cartpole")
PLOTS = ("matplotlib", "imageio", "PIL", "rich.live")
STATISTICS = ("scipy.stats", "scipy.optimize")
JAX = ("jax", "equinox", "optax", "scipy", "torch")
NUMERICS = ("numpy", "gymnasium", "rich", "ilfo.data", "ilfo.environments", "ilfo.methods")

LISTS = (*SIMULATORS, *PLOTS, *STATISTICS, *JAX, *NUMERICS)
COMMANDS = {
    "--help": LISTS,
    "demos --help": LISTS,
    "bench --help": LISTS,
    "expert --help": LISTS,
    "theory --help": LISTS,
    "--version": LISTS,
    "tasks": (*SIMULATORS, *PLOTS, *STATISTICS, *JAX, "ilfo.methods"),
    "tasks --experts": (*SIMULATORS, *PLOTS, *STATISTICS, *JAX, "ilfo.methods"),
    "settings": (*SIMULATORS, *PLOTS, *STATISTICS, "torch", "ilfo.runs"),
}

RUN = """
import sys
from ilfo.cli import main
try:
    main(sys.argv[1:])
finally:
    print(*sorted(sys.modules), file=sys.stderr)
"""


def imported(*arguments: str) -> set[str]:
    command = [sys.executable, "-c", RUN, *arguments]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return set(done.stderr.split())


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_that_prints_imports_nothing_else(command):
    assert imported(*command.split()).isdisjoint(COMMANDS[command])


EXTRAS = ("matplotlib", "torch")


@pytest.mark.parametrize("name", sorted(set(LISTS) - set(EXTRAS)))
def test_a_module_that_is_kept_out_exists(name):
    """Else the test above could not fail."""
    assert find_spec(name) is not None
