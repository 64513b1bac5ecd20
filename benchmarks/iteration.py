"""One MobILE outer iteration, phase by phase: compiled JAX (`ilfo`) against eager PyTorch.

    python -m benchmarks.iteration [--threads 2] [--repeats 5] [--seconds 2]
                                   [--size both] [--json FILE]

Both sides do the work of `benchmarks/sizes.py` on the same synthetic transitions; only `collect`
steps a real environment, Gymnasium's CartPole. See `benchmarks/compiled.py` for where the work
differs a little. Everything is compiled beforehand and the sides take turns, torch jax torch jax.

Reported is each phase's **minimum** over the turns, because neighbours on the machine can only
slow a phase down, and the ratio torch / jax of the minima. The second ratio is of CPU time, again
of minima: with one thread it is the better guide on a busy machine, with several it also counts
threads that wait by spinning. PyTorch's threads do so, and suffer badly where a core is taken away
from one of them: trust a ratio of two threads only from a machine that was idle.
"""

import argparse
import json
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import gymnasium as gym
import numpy as np

from benchmarks.sizes import CARTPOLE, HOPPER, Sizes, dynamics_flops

SIZES = {"cartpole": CARTPOLE, "hopper": HOPPER}
ENVIRONMENTS = {"cartpole": "CartPole-v1"}
"""Real ones, for `collect`."""
LONGEST = 60.0
"""Seconds after which a phase is not repeated any more, `--repeats` or not."""
PRODUCTS = 20
"""Matrix products in a row, when a bare one is timed."""

Run = Callable[[], object]


@dataclass(frozen=True)
class Seconds:
    """Minima over the turns."""

    wall: float
    cpu: float


@dataclass(frozen=True)
class Row:
    phase: str
    times: int
    """How often the phase runs in one outer iteration."""
    torch: Seconds
    jax: Seconds

    @property
    def ratio(self) -> float:
        return self.torch.wall / self.jax.wall

    @property
    def cpu_ratio(self) -> float:
        return self.torch.cpu / self.jax.cpu


@dataclass(frozen=True)
class Report:
    size: str
    rows: list[Row]
    gflops: dict[str, dict[str, float]]
    """Of dynamics training and of a bare matrix product, by side."""
    notes: list[str]


def take_turns(torch_run: Run, jax_run: Run, repeats: int, least: float) -> tuple[Seconds, Seconds]:
    runs = (torch_run, jax_run)
    for run in runs:
        run()
    times: tuple[list, list] = ([], [])
    began = time.perf_counter()
    while True:
        for run, measured in zip(runs, times, strict=True):
            wall, cpu = time.perf_counter(), time.process_time()
            run()
            measured.append((time.perf_counter() - wall, time.process_time() - cpu))
        spent = time.perf_counter() - began
        if spent > max(LONGEST, least) or (len(times[0]) >= repeats and spent > least):
            break
    torch_seconds, jax_seconds = (Seconds(*map(min, zip(*t, strict=True))) for t in times)
    return torch_seconds, jax_seconds


def torch_phases(
    sizes: Sizes, environments: list[gym.Env]
) -> tuple[dict[str, Run], list[str], tuple[np.ndarray, ...]]:
    """The phases, what to know of them, and the transitions that they learn from."""
    import torch
    from torch.nn.utils import parameters_to_vector, vector_to_parameters

    from benchmarks import torch_reference as reference

    state = reference.make_state(sizes, seed=0)
    transitions = (state.states.numpy(), state.actions.numpy(), state.next_states.numpy())
    reference.iteration(state)
    scale = reference.bonus_scale(state)
    batch = reference.critic(
        state, reference.discriminator_and_bonus(state, reference.imagine(state), scale)
    )
    start = parameters_to_vector(state.policy.parameters()).detach()

    def plan() -> int:
        # from the same policy every time: steps repeated on one batch would leave its support
        vector_to_parameters(start, state.policy.parameters())
        return reference.planner(state, batch)

    def act(observations: np.ndarray) -> list:
        return reference.act(state, torch.from_numpy(observations)).tolist()

    runs: dict[str, Run] = {
        "collect": lambda: act_in(environments, act, sizes.horizon),
        "dynamics": lambda: reference.fit_dynamics(state),
        "bonus scale": lambda: reference.bonus_scale(state),
        "rollouts": lambda: reference.imagine(state),
        "discriminator and bonus": lambda: reference.discriminator_and_bonus(state, batch, scale),
        "critic": lambda: reference.critic(state, batch),
        "planner": plan,
        "all but collect": lambda: reference.iteration(state),
    }
    return runs, [f"torch: line search tried {plan()}"], transitions


def act_in(environments: list[gym.Env], act: Callable[[np.ndarray], list], steps: int) -> list:
    """What `ilfo.rollout.collect` does, with another policy: streams that reset themselves."""
    current = np.stack([env.reset(seed=seed)[0] for seed, env in enumerate(environments)])
    record = []
    for _ in range(steps):
        actions = act(current)
        record.append((current.copy(), actions))
        for i, env in enumerate(environments):
            current[i], _, terminal, truncated, _ = env.step(actions[i])
            if terminal or truncated:
                current[i], _ = env.reset()
    return record


def matrix_products(sizes: Sizes) -> tuple[Run, Run, float]:
    """A hidden layer's product for all members, PRODUCTS times in a row, on both sides."""
    import jax
    import jax.numpy as jnp
    import torch

    width, members, rows = sizes.dynamics_width, sizes.members, sizes.batch
    rng = np.random.default_rng(0)
    # orthogonal matrices, so that the numbers stay of one size
    weights = np.linalg.qr(rng.normal(size=(members, width, width)))[0].astype(np.float32)
    x = rng.normal(size=(members, rows, width)).astype(np.float32)

    torch_weights, torch_x = torch.from_numpy(weights), torch.from_numpy(x)

    def torch_run():
        y = torch_x
        for _ in range(PRODUCTS):
            y = torch.bmm(y, torch_weights)
        return y

    @jax.jit
    def chain(x, weights):
        return jax.lax.fori_loop(0, PRODUCTS, lambda _, y: jnp.matmul(y, weights), x)

    jax_x, jax_weights = jnp.asarray(x), jnp.asarray(weights)
    jax_run = lambda: jax.block_until_ready(chain(jax_x, jax_weights))
    return torch_run, jax_run, 2.0 * members * rows * width * width * PRODUCTS


def measure(name: str, sizes: Sizes, repeats: int, least: float) -> Report:
    from benchmarks import compiled
    from ilfo.environments.factory import factory

    environments = []
    if name in ENVIRONMENTS:
        environments = factory(ENVIRONMENTS[name]).several(compiled.REAL_STREAMS)
    torch_runs, torch_notes, transitions = torch_phases(sizes, environments)
    iteration = compiled.make_iteration(sizes, *transitions)
    jax_runs, jax_notes = compiled.phases(iteration)
    jax_runs["collect"] = compiled.collect_phase(iteration, environments)
    for runs in (torch_runs, jax_runs):
        runs["whole iteration"] = lambda runs=runs: (runs["collect"](), runs["all but collect"]())

    once = ("collect", "dynamics", "bonus scale")
    often = ("rollouts", "discriminator and bonus", "critic", "planner")
    rows = []
    for phase in (*once, *often, "all but collect", "whole iteration"):
        if not environments and phase in ("collect", "whole iteration"):
            continue
        times = sizes.policy_steps if phase in often else 1
        seconds = take_turns(torch_runs[phase], jax_runs[phase], repeats, least)
        rows.append(Row(phase, times, *seconds))
        print(f"{name}: {phase} measured", flush=True)

    training = next(row for row in rows if row.phase == "dynamics")
    *products, product_flops = matrix_products(sizes)
    bare = take_turns(*products, repeats, least)
    rates = lambda flops, seconds: dict(
        zip(("torch", "jax"), (flops / s.wall / 1e9 for s in seconds), strict=True)
    )
    gflops = {
        "dynamics training": rates(dynamics_flops(sizes), (training.torch, training.jax)),
        "bare matrix product": rates(product_flops, bare),
    }
    return Report(name, rows, gflops, torch_notes + jax_notes)


def tables(report: Report) -> Iterator[object]:
    from rich.table import Table

    table = Table(title=f"{report.size}, milliseconds")
    table.add_column("phase")
    for column in ("times", "torch", "jax", "torch / jax", "in CPU time"):
        table.add_column(column, justify="right")
    for row in report.rows:
        table.add_row(
            row.phase,
            str(row.times),
            f"{1e3 * row.torch.wall:.1f}",
            f"{1e3 * row.jax.wall:.1f}",
            f"{row.ratio:.1f}",
            f"{row.cpu_ratio:.1f}",
        )
    yield table
    rates = Table(title=f"{report.size}, GFLOP/s")
    for column in ("", "torch", "jax"):
        rates.add_column(column)
    for what, by_side in report.gflops.items():
        rates.add_row(what, *(f"{by_side[side]:.0f}" for side in ("torch", "jax")))
    yield rates
    yield from report.notes


def use_threads(count: int) -> None:
    """For both sides. XLA takes as many threads as there are cores to run on, so it has to be
    imported behind this."""
    available = sorted(os.sched_getaffinity(0))
    if not 1 <= count <= len(available):
        raise SystemExit(f"--threads is {count}, but there are {len(available)} cores")
    os.sched_setaffinity(0, available[:count])
    import torch

    torch.set_num_threads(count)


def load() -> str:
    return " ".join(f"{average:.1f}" for average in os.getloadavg())


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--threads", type=int, default=2, help="of each side")
    parser.add_argument("--repeats", type=int, default=5, help="turns of each phase, at least")
    parser.add_argument("--seconds", type=float, default=2.0, help="on each phase, at least")
    parser.add_argument("--size", choices=(*SIZES, "both"), default="both")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the numbers there as well")
    args = parser.parse_args()
    use_threads(args.threads)
    from rich.console import Console

    console = Console()
    before = load()
    reports = [
        measure(name, sizes, args.repeats, args.seconds)
        for name, sizes in SIZES.items()
        if args.size in (name, "both")
    ]
    for report in reports:
        console.print(*tables(report), sep="\n")
    after = load()
    console.print(f"{args.threads} threads; load average before {before}, after {after}")
    if args.json:
        facts: dict[str, object] = {
            "threads": args.threads,
            "load_before": before,
            "load_after": after,
        }
        args.json.write_text(
            json.dumps(facts | {"reports": [asdict(r) for r in reports]}, indent=2)
        )


if __name__ == "__main__":
    main()
