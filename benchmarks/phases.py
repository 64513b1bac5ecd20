"""Time of each phase of a MobILE iteration, with a task's own preset.

    python -m benchmarks.phases [--task hopper] [--preset default] [--iterations 20] [--turns 3]

Trains for some iterations, so that the replay buffer and the networks are as in a run. Then times
each phase of the next iteration, compiled by itself, on one core. The table shows minima over the
turns, since other processes can only slow a phase down. In a run the phases are compiled together
and share some work, so that their sum is a little more than the time of an iteration.
"""

import argparse
import time
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax

from ilfo.agents.seeds import one_seed
from ilfo.common.types import as_transitions
from ilfo.experiments.engines.cores import cores, stay_on
from ilfo.methods.inference import explained
from ilfo.methods.mobile import MobILE, adapt_scales
from ilfo.methods.policy_step import judge
from ilfo.rollouts.imagine import World, draw_starts, trusted_radius
from ilfo.runs import machine
from ilfo.runs.spec import RunSpec


class PhaseTimer:
    """Times phases; `phases` has their number per iteration and their seconds in an iteration."""

    def __init__(self, turns: int):
        self.turns = turns
        self.phases: dict[str, tuple[int, float]] = {}

    def run(self, name: str, times: int, function: Callable[[], Any]) -> Any:
        """Time a function and return its last result."""
        seconds = []
        for _ in range(self.turns):
            start = time.perf_counter()
            result = jax.block_until_ready(function())
            seconds.append(time.perf_counter() - start)
        self.phases[name] = (times, times * min(seconds))
        return result

    def compiled(self, name: str, times: int, function: Callable[..., Any], *args: Any) -> Any:
        """Compile a function, then time it."""
        run = eqx.filter_jit(function)
        jax.block_until_ready(run(*args))
        return self.run(name, times, lambda: run(*args))


def measure(agent: MobILE, turns: int) -> dict[str, tuple[int, float]]:
    """By phase: how often it runs in an iteration, and its seconds in an iteration."""
    timer = PhaseTimer(turns)
    problem, key = agent.problem, jax.random.key(0)
    settings = agent.settings.for_problem(problem)
    state, expert = one_seed(agent.state, 0), one_seed(agent._expert, 0)
    rollout = one_seed(timer.run("collect", 1, agent.interact), 0)
    new = as_transitions(problem.actions, rollout)
    buffer = state.buffer.push(new, (rollout.elapsed == 0).ravel())

    def fit_dynamics(state, new, buffer):
        return settings.dynamics.fit(state, new, buffer, key=key)

    def fit_termination(state, buffer):
        return settings.termination.fit(state, buffer, key=key)

    dynamics, _ = timer.compiled("dynamics", 1, fit_dynamics, state.dynamics, new, buffer)
    termination, _ = timer.compiled("termination", 1, fit_termination, state.termination, buffer)
    bonus = timer.compiled(
        "bonus scale", 1, lambda d, b: settings.bonus.fit(d.model, b), dynamics, buffer
    )
    if settings.inference is not None:

        def infer(state, buffer):
            fitted, actions, _ = settings.inference.fit(state, buffer, expert.steps, key=key)
            return fitted, explained(dynamics.model, buffer, expert.steps, actions)

        timer.compiled("inferred actions", 1, infer, state.inference, buffer)
    _measure_policy_step(timer, agent, buffer, (dynamics.model, termination.rule, bonus))
    return timer.phases


def _measure_policy_step(timer: PhaseTimer, agent: MobILE, buffer: Any, fitted: tuple) -> None:
    """The phases that run `policy_steps` times; `fitted` is model, termination rule and bonus."""
    problem, key = agent.problem, jax.random.key(0)
    settings = agent.settings.for_problem(problem)
    state, expert = one_seed(agent.state, 0), one_seed(agent._expert, 0)
    often = settings.policy_steps
    planner = adapt_scales(problem, state, buffer)
    scales = planner.critic.critic.normaliser
    world = World(*fitted, scales, trusted_radius(scales, buffer, expert, settings.runaway))
    starts, from_reset = draw_starts(
        buffer,
        expert,
        settings.imagined_streams,
        settings.expert_starts,
        settings.paired,
        key=key,
    )

    def imagine(world, planner):
        return world.imagine(planner.policy, problem.actions, starts, problem.horizon, key=key)

    def price(world, discriminator, rollout):
        bonuses = world.bonuses(problem.actions, rollout)
        return judge(settings, expert, discriminator, rollout, bonuses, from_reset, True)

    def update(planner, batch):
        return settings.planner.update(planner, batch, key=key)

    imagined = timer.compiled("rollouts", often, imagine, world, planner)
    _, batch, _ = timer.compiled(
        "discriminator and bonus", often, price, world, state.discriminator, imagined
    )
    timer.compiled("critic and planner", often, update, planner, batch)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--task", default="hopper")
    parser.add_argument("--preset", default="default")
    parser.add_argument("--iterations", type=int, default=20, help="of training beforehand")
    parser.add_argument("--turns", type=int, default=3)
    options = parser.parse_args()
    stay_on(cores()[-1])
    machine.set_up(1)
    agent = RunSpec(task=options.task, preset=options.preset).agent()
    agent.learn(options.iterations * agent.samples_per_iteration)
    phases = measure(agent, options.turns)
    total = sum(seconds for _, seconds in phases.values())
    print(f"| {options.task}, {options.preset} | times | milliseconds | share |\n|---|---|---|---|")
    for name, (times, seconds) in phases.items():
        print(f"| {name} | {times} | {1000 * seconds:.0f} | {seconds / total:.0%} |")
    print(f"| together | | {1000 * total:.0f} | |")


if __name__ == "__main__":
    main()
