"""Where an iteration of MobILE spends its time, with a task's own preset.

    python -m benchmarks.phases [--task hopper] [--preset default] [--iterations 20] [--turns 3]

Trains for a while, so that the buffer and the networks are as they are in a run, then times each
phase of the next iteration, compiled by itself, on one core. Reported are minima over the turns:
neighbours on the machine can only slow a phase down. Phases that are compiled together, as in a
run, share a little work, so that the sum is a bit more than an iteration takes.
"""

import argparse
import time
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax

from ilfo.agents.seeds import one_seed
from ilfo.common.types import as_transitions
from ilfo.experiments.workers import cores, stay_on
from ilfo.methods.mobile import MobILE, adapt_scales, judge
from ilfo.rollouts.imagine import World, draw_starts, trusted_radius
from ilfo.runs import machine
from ilfo.runs.launch import RunSpec


def measure(agent: MobILE, turns: int) -> dict[str, tuple[int, float]]:
    """By phase: how often an iteration has it, and its seconds."""
    settings, problem = agent.settings, agent.problem
    state, expert = one_seed(agent.state, 0), one_seed(agent._expert, 0)
    key, often = jax.random.key(0), settings.policy_steps
    found: dict[str, tuple[int, float]] = {}

    def timed(name: str, times: int, function: Callable[..., Any], *args: Any) -> Any:
        compiled = eqx.filter_jit(function)
        result = jax.block_until_ready(compiled(*args))
        seconds = []
        for _ in range(turns):
            start = time.perf_counter()
            jax.block_until_ready(compiled(*args))
            seconds.append(time.perf_counter() - start)
        found[name] = (times, times * min(seconds))
        return result

    seconds = []
    for _ in range(turns):
        start = time.perf_counter()
        rollouts = agent.interact()
        seconds.append(time.perf_counter() - start)
    found["collect"] = (1, min(seconds))
    rollout = one_seed(rollouts, 0)
    transitions = as_transitions(problem.actions, rollout)
    buffer = state.buffer.push(transitions, (rollout.elapsed == 0).ravel())

    dynamics, _ = timed(
        "dynamics",
        1,
        lambda s, new, b: settings.dynamics.fit(s.dynamics, new, b, key=key),
        state,
        transitions,
        buffer,
    )
    termination, _ = timed(
        "termination",
        1,
        lambda s, b: settings.termination.fit(s.termination, b, key=key),
        state,
        buffer,
    )
    bonus = timed("bonus scale", 1, lambda d, b: settings.bonus.fit(d.model, b), dynamics, buffer)
    planner = adapt_scales(problem, state, buffer)
    scales = planner.critic.critic.normaliser
    radius = trusted_radius(scales, buffer, expert, settings.runaway)
    world = World(dynamics.model, termination.rule, bonus, scales, radius)
    starts, from_reset = draw_starts(
        buffer, expert, settings.imagined_streams, settings.expert_starts, key=key
    )
    imagined = timed(
        "rollouts",
        often,
        lambda w, p: w.imagine(p.policy, problem.actions, starts, problem.horizon, key=key),
        world,
        planner,
    )

    def priced(world, discriminator, rollout):
        bonuses = world.bonuses(problem.actions, rollout)
        return judge(settings, expert, discriminator, rollout, bonuses, from_reset, True)

    _, batch, _ = timed(
        "discriminator and bonus", often, priced, world, state.discriminator, imagined
    )
    timed(
        "critic and planner",
        often,
        lambda p, b: settings.planner.update(p, b, key=key),
        planner,
        batch,
    )
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--task", default="hopper")
    parser.add_argument("--preset", default="default")
    parser.add_argument("--iterations", type=int, default=20, help="of training beforehand")
    parser.add_argument("--turns", type=int, default=3)
    options = parser.parse_args()
    stay_on(cores()[-1])
    machine.set_up(1)
    order = RunSpec(task=options.task, preset=options.preset)
    agent = order.agent()
    agent.learn(options.iterations * agent.samples_per_iteration)
    found = measure(agent, options.turns)
    total = sum(seconds for _, seconds in found.values())
    print(f"| {options.task}, {options.preset} | times | milliseconds | share |\n|---|---|---|---|")
    for name, (times, seconds) in found.items():
        print(f"| {name} | {times} | {1000 * seconds:.0f} | {seconds / total:.0%} |")
    print(f"| together | | {1000 * total:.0f} | |")


if __name__ == "__main__":
    main()
