"""One MobILE outer iteration, phase by phase: eager PyTorch against compiled JAX (`ilfo`).

    python -m benchmarks.iteration [--threads 2] [--repeats 5] [--seconds 2]
                                   [--size both] [--json FILE]

There are two versions in PyTorch: plain, as most people would write it
(`benchmarks/torch_plain.py`), and tuned for eager mode (`benchmarks/torch_reference.py`). Before
anything is timed, a check makes sure that they compute the same. In phases that they share, their
times differ by noise only.

All sides do the work of `benchmarks/sizes.py` on the same synthetic transitions; only `collect`
steps a real environment, Gymnasium's CartPole. `benchmarks/compiled.py` lists the small differences
in work. Everything is compiled beforehand. The sides take turns in one process, with the same
number of threads: plain, tuned, jax, plain, tuned, jax, ...

The tables show the **minimum** of each phase over the turns, because other processes can only slow
a phase down, and the ratios plain / jax and tuned / jax of the minima. The JSON file also has the
minima of CPU time. With one thread, their ratio is more reliable on a busy machine. With several,
CPU time includes threads that wait by spinning, as PyTorch's threads do; they also slow down a lot
if another process takes one of their cores. Trust ratios of two threads only from an idle machine.
"""

import argparse
import itertools
import json
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from types import ModuleType

import gymnasium as gym
import numpy as np

from benchmarks.sizes import CARTPOLE, HOPPER, Sizes, dynamics_flops

SIZES = {"cartpole": CARTPOLE, "hopper": HOPPER}
ENVIRONMENTS = {"cartpole": "CartPole-v1"}
"""Environments for `collect`, by size."""
LONGEST = 60.0
"""Seconds after which a phase is no longer repeated, whatever `--repeats` says."""
PRODUCTS = 20
"""Number of matrix products in a row, to time a single one."""

SIDES = {"plain": "plain torch", "tuned": "tuned torch", "jax": "jax"}
"""Names of the sides, in the order of their turns."""

Run = Callable[[], object]


@dataclass(frozen=True)
class Seconds:
    """Minima over the turns."""

    wall: float
    cpu: float


@dataclass(frozen=True)
class PhaseTimes:
    """Times of a phase."""

    phase: str
    times: int
    """How often the phase runs in one outer iteration."""
    seconds: dict[str, Seconds]
    """Of one run, by side."""

    def ratio(self, side: str) -> float:
        return self.seconds[side].wall / self.seconds["jax"].wall


@dataclass(frozen=True)
class Report:
    size: str
    rows: list[PhaseTimes]
    gflops: dict[str, dict[str, float]]
    """GFLOP/s of dynamics training and of a single matrix product, by side."""
    notes: list[str]


def take_turns(runs: dict[str, Run], repeats: int, least: float) -> dict[str, Seconds]:
    for run in runs.values():
        run()
    times: dict[str, list[tuple[float, float]]] = {side: [] for side in runs}
    began = time.perf_counter()
    for turn in itertools.count(1):
        for side, run in runs.items():
            wall, cpu = time.perf_counter(), time.process_time()
            run()
            times[side].append((time.perf_counter() - wall, time.process_time() - cpu))
        spent = time.perf_counter() - began
        if spent > max(LONGEST, least) or (turn >= repeats and spent > least):
            break
    return {side: Seconds(*map(min, zip(*t, strict=True))) for side, t in times.items()}


def torch_phases(
    version: ModuleType, sizes: Sizes, environments: list[gym.Env]
) -> tuple[dict[str, Run], int, tuple[np.ndarray, ...]]:
    """The phases, the number of tries of the line search, and the transitions.

    `version` is the module of one of the two versions in PyTorch.
    """
    import torch
    from torch.nn.utils import parameters_to_vector, vector_to_parameters

    from benchmarks import torch_reference as shared

    state = version.make_state(sizes, seed=0)
    transitions = (state.states.numpy(), state.actions.numpy(), state.next_states.numpy())
    version.iteration(state)
    scale = shared.bonus_scale(state)
    batch = version.critic(
        state, shared.discriminator_and_bonus(state, version.imagine(state), scale)
    )
    start = parameters_to_vector(state.policy.parameters()).detach()

    def plan() -> int:
        # always from the same policy: repeated steps on one batch would leave its support
        vector_to_parameters(start, state.policy.parameters())
        return shared.planner(state, batch)

    def act(observations: np.ndarray) -> list:
        return shared.act(state, torch.from_numpy(observations)).tolist()

    runs: dict[str, Run] = {
        "collect": lambda: act_in(environments, act, sizes.horizon),
        "dynamics": lambda: version.fit_dynamics(state),
        "bonus scale": lambda: shared.bonus_scale(state),
        "rollouts": lambda: version.imagine(state),
        "discriminator and bonus": lambda: shared.discriminator_and_bonus(state, batch, scale),
        "critic": lambda: version.critic(state, batch),
        "planner": plan,
        "all but collect": lambda: version.iteration(state),
    }
    return runs, plan(), transitions


def act_in(environments: list[gym.Env], act: Callable[[np.ndarray], list], steps: int) -> list:
    """Like `ilfo.rollouts.collect.collect`, with another policy: streams that reset themselves."""
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


def matrix_products(sizes: Sizes) -> tuple[dict[str, Run], float]:
    """Matrix products of a hidden layer for all members, PRODUCTS times in a row, by side, and the
    number of floating-point operations.

    Plain PyTorch multiplies for one member after the other.
    """
    import jax
    import jax.numpy as jnp
    import torch

    width, members, rows = sizes.dynamics_width, sizes.members, sizes.batch
    rng = np.random.default_rng(0)
    # orthogonal matrices, so that the numbers neither grow nor vanish
    weights = np.linalg.qr(rng.normal(size=(members, width, width)))[0].astype(np.float32)
    x = rng.normal(size=(members, rows, width)).astype(np.float32)

    torch_weights, torch_x = torch.from_numpy(weights), torch.from_numpy(x)

    def plain() -> None:
        for y, weight in zip(torch_x, torch_weights, strict=True):
            for _ in range(PRODUCTS):
                y = torch.mm(y, weight)

    def tuned() -> None:
        y = torch_x
        for _ in range(PRODUCTS):
            y = torch.bmm(y, torch_weights)

    @jax.jit
    def chain(x, weights):
        return jax.lax.fori_loop(0, PRODUCTS, lambda _, y: jnp.matmul(y, weights), x)

    jax_x, jax_weights = jnp.asarray(x), jnp.asarray(weights)
    runs: dict[str, Run] = {
        "plain": plain,
        "tuned": tuned,
        "jax": lambda: jax.block_until_ready(chain(jax_x, jax_weights)),
    }
    return runs, 2.0 * members * rows * width * width * PRODUCTS


def measure(name: str, sizes: Sizes, repeats: int, least: float) -> Report:
    from benchmarks import compiled, torch_plain, torch_reference
    from ilfo.environments.factory import factory

    torch_plain.check_same(sizes)
    environments = []
    if name in ENVIRONMENTS:
        environments = factory(ENVIRONMENTS[name]).make_many(compiled.REAL_STREAMS)
    plain, plain_tries, transitions = torch_phases(torch_plain, sizes, environments)
    tuned, tuned_tries, _ = torch_phases(torch_reference, sizes, environments)
    iteration = compiled.make_iteration(sizes, *transitions)
    jax, notes = compiled.phases(iteration)
    jax["collect"] = compiled.collect_phase(iteration, environments)
    notes.insert(0, f"torch: line search tried {plain_tries} (plain), {tuned_tries} (tuned)")
    sides: dict[str, dict[str, Run]] = {"plain": plain, "tuned": tuned, "jax": jax}
    for runs in sides.values():
        runs["whole iteration"] = in_turn(runs["collect"], runs["all but collect"])

    once = ("collect", "dynamics", "bonus scale")
    often = ("rollouts", "discriminator and bonus", "critic", "planner")
    rows = []
    for phase in (*once, *often, "all but collect", "whole iteration"):
        if not environments and phase in ("collect", "whole iteration"):
            continue
        times = sizes.policy_steps if phase in often else 1
        by_side = {side: runs[phase] for side, runs in sides.items()}
        rows.append(PhaseTimes(phase, times, take_turns(by_side, repeats, least)))
        print(f"{name}: {phase} measured", flush=True)

    training = next(row.seconds for row in rows if row.phase == "dynamics")
    products, product_flops = matrix_products(sizes)
    gflops = {
        "dynamics training": rates(dynamics_flops(sizes), training),
        "bare matrix product": rates(product_flops, take_turns(products, repeats, least)),
    }
    return Report(name, rows, gflops, notes)


def in_turn(*runs: Run) -> Run:
    return lambda: [run() for run in runs]


def rates(flops: float, seconds: dict[str, Seconds]) -> dict[str, float]:
    return {side: flops / s.wall / 1e9 for side, s in seconds.items()}


def tables(report: Report) -> Iterator[object]:
    from rich.table import Table

    table = Table(title=f"{report.size}, milliseconds", show_edge=False)
    table.add_column("phase")
    # headers in two lines: the table has to fit into 80 columns
    names = [name.replace(" ", "\n") for name in SIDES.values()]
    for column in ("times", *names, "plain\n/ jax", "tuned\n/ jax"):
        table.add_column(column, justify="right")
    for row in report.rows:
        table.add_row(
            row.phase,
            str(row.times),
            *(f"{1e3 * row.seconds[side].wall:.1f}" for side in SIDES),
            *(f"{row.ratio(side):.1f}" for side in ("plain", "tuned")),
        )
    yield table
    rates = Table(title=f"{report.size}, GFLOP/s", show_edge=False)
    rates.add_column("")
    for name in names:
        rates.add_column(name, justify="right")
    for what, by_side in report.gflops.items():
        rates.add_row(what, *(f"{by_side[side]:.0f}" for side in SIDES))
    yield rates
    yield from report.notes


def use_threads(count: int) -> None:
    """Set the number of threads of all sides. XLA takes as many threads as this process has cores,
    so call this before importing JAX."""
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
