"""Starting and resuming training runs."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from jax.errors import JaxRuntimeError

from ilfo.agents.agent import Agent
from ilfo.agents.callbacks import Callback, Callbacks
from ilfo.agents.method import LearningWarning
from ilfo.common.printable import brief
from ilfo.rollouts.stepping import EnvironmentFault
from ilfo.runs.checks import (
    check_agent,
    check_env,
    check_here,
    check_progress,
    conditions,
    evaluate_every,
    moved,
    remarks,
)
from ilfo.runs.directory import RunDirectory, RunError, check_unused, kept_on_disk
from ilfo.runs.integrity import ELSEWHERE
from ilfo.runs.recorder import Recorder, WithReturns
from ilfo.runs.spec import RunSpec, spec_of, to_json

FULL = "RESOURCE_EXHAUSTED"
"""How the errors of JAX about memory begin; they have no class of their own."""


class TrainingError(Exception):
    """Training failed; the original exception is the cause of this one."""


def start(
    spec: RunSpec,
    out: Path,
    machine: Mapping[str, int],
    callbacks: Sequence[Callback] = (),
    every: int = 1,
) -> dict[str, Any]:
    """Train into a new run directory and return the summary.

    **Arguments**

    - `spec`: what to train.
    - `out`: the run directory; must not exist or be empty.
    - `machine`: threads and devices, as returned by `ilfo.runs.machine.set_up`.
    - `callbacks`: called after every iteration, beside the recorder of the run.
    - `every`: evaluate the policy every so many iterations.
    """
    if every < 1:
        raise ValueError(f"every is {every}, but must be at least 1; it is a number of iterations")
    check_unused(out)  # before any work
    agent = spec.agent()
    agent.check_budget(spec.budget)
    check_recordings(agent, callbacks)
    description = {
        "spec": to_json(spec),
        "evaluate_every": every,
        "demonstrations": agent.survey.fingerprint,
        "expert_return": agent.demonstrations.expert_return,
    }
    with RunDirectory.create(out, description | agent.describe() | conditions(machine)) as run:
        return _train(agent, spec, run, machine, callbacks)


def resume(
    path: Path,
    machine: Mapping[str, int],
    callbacks: Sequence[Callback] = (),
    total_timesteps: int | None = None,
    trust_env: str | None = None,
    *,
    expert_return: float | None = None,
    anyway: bool = False,
) -> dict[str, Any]:
    """Continue a run from its last checkpoint, with the same result as if it had never stopped.

    `total_timesteps` replaces the budget of the run, in environment steps per seed. `trust_env` is
    the module that the run's environment may import. `expert_return` is the expert's mean return,
    for scores, where the demonstrations do not say it. With `anyway` the machine, versions and code
    may be others; config and summary then say so, because the result has other bits.
    """
    with RunDirectory.open(path, write=True) as run:
        spec = spec_of(run)
        check_env(run.path, spec.environment(), trust_env)
        if not anyway:
            check_here(run, machine)
        evaluate_every(run)  # before any work
        if total_timesteps is not None:
            spec = replace(spec, total_timesteps=total_timesteps)
        if expert_return is not None:
            spec = replace(spec, expert_return=expert_return)
        if run.checkpoint.exists():
            run.check_files()  # first, so that an edited file is not taken for another preset
        agent = spec.agent()
        agent.check_budget(spec.budget)
        check_agent(run, agent)
        if run.checkpoint.exists():
            agent.restore(run.checkpoint)
            agent.history.take(r for r in run.rows("metrics") if r["iteration"] <= agent.iteration)
        done = check_progress(run, agent.iteration)
        if (spec.budget or 0) < (done - 1) * agent.samples_per_iteration:
            raise RunError(
                f"{path} has already taken {done * agent.samples_per_iteration} samples per seed, "
                f"more than the {spec.budget} of --total-timesteps"
            )
        # written at once, so that the new budget is known if this process is killed too
        run.update_config({"spec": to_json(spec)} | moved(run, machine, agent.iteration))
        run.remove_rows_after(agent.iteration)
        return _train(agent, spec, run, machine, callbacks)


def check_recordings(agent: Agent, callbacks: Sequence[Callback] = ()) -> None:
    """Raise ValueError if the demonstrations are wrong for the environment."""
    watching = Callbacks(callbacks)
    try:
        _compare(agent, watching)
    except BaseException:
        watching.on_end(agent)
        raise


def _compare(agent: Agent, watching: Callback) -> None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", LearningWarning)  # progress and summary have them
            agent.check_recordings(watching)
    except (ValueError, OSError, MemoryError):
        raise
    except Exception as error:  # most likely raised by the environment
        raise TrainingError(
            f"{agent.factory.name} failed while it was compared with the recordings, before "
            "training began"
        ) from error


def _train(agent, spec, run, machine, callbacks) -> dict[str, Any]:
    facts = {"task": spec.task, "preset": spec.preset, "changes": list(spec.changes)}
    if ELSEWHERE in run.config:
        facts[ELSEWHERE] = run.config[ELSEWHERE]
    recorder = Recorder(run, facts | dict(machine), evaluate_every(run), remarks(run))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", LearningWarning)  # they are in the summary
            agent.learn(spec.budget, callback=[recorder, WithReturns(recorder, callbacks)])
        watching = Callbacks(callbacks)
        watching.on_phase(agent, "evaluating the selected policies")
        try:
            return recorder.finish(agent)
        finally:
            watching.on_end(agent)
    except (FloatingPointError, OSError, MemoryError, EnvironmentFault) as error:
        error.add_note(kept_on_disk(run.path))
        raise
    except Exception as error:  # most likely raised by the environment
        kept = kept_on_disk(run.path)
        if isinstance(error, JaxRuntimeError) and str(error).startswith(FULL):
            raise MemoryError(f"there is not enough memory ({brief(error)}); {kept}") from error
        raise TrainingError(f"training failed; {kept}") from error
