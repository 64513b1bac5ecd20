"""Agents in files: one .npz with the train state's arrays and a JSON description, no pickle."""

import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import equinox as eqx
import jax.numpy as jnp

from ilfo.agents.problem import feature_of, state_problem
from ilfo.agents.registry import COMPONENTS, FUNCTIONS
from ilfo.common.seeding import seed_numbers
from ilfo.common.types import DemonstratedSteps
from ilfo.data.demonstrations import Demonstrations
from ilfo.environments.factory import Factory
from ilfo.storage import checkpoint, config
from ilfo.storage.provenance import versions
from ilfo.storage.renamed import ADDED_STATE, GONE_STATE, up_to_date

if TYPE_CHECKING:
    from ilfo.agents.agent import Agent

PathLike = str | os.PathLike[str]

_DESCRIBED = {"settings": dict, "problem": dict, "seeds": list, "environment": str | None}


def describe(agent: "Agent") -> dict[str, Any]:
    """Everything but the arrays: what a checkpoint or a run directory says of an agent."""
    return {
        "method": agent.method.name,
        "settings": config.to_dict(agent.settings, FUNCTIONS),
        "problem": config.to_dict(agent.problem, FUNCTIONS),
        "seeds": list(agent.seeds),
        "environment": agent.learned_in,
        "versions": versions(),
    }


def save(
    agent: "Agent", path: PathLike, overwrite: bool, notes: Mapping[str, Any] | None = None
) -> None:
    """Write an agent; `notes` stand beside its description."""
    if not overwrite and os.path.exists(path):
        raise FileExistsError(f"{path} exists already; choose another file or overwrite=True")
    if agent.state is None:
        raise ValueError("this agent has not learned anything yet; there is nothing to save")
    checkpoint.save(path, agent.state, describe(agent) | dict(notes or {}))


def file_in(path: PathLike) -> PathLike:
    """The file of a saved agent; of a run directory, its last checkpoint."""
    if not os.path.isdir(path):
        return path
    last = os.path.join(path, "last.npz")
    if not os.path.exists(last):
        raise checkpoint.CheckpointError(
            f"{path} is a folder without last.npz: not a run directory, or its first iteration has "
            "not finished"
        )
    return last


def read_description(
    kind: type["Agent"],
    path: PathLike,
    functions: Mapping[str, Callable],
    classes: Sequence[type],
) -> dict[str, Any]:
    """The description in a file, settings and problem as the objects they were."""
    meta = _meta(kind, path)
    parts = (*classes, kind.method.settings, *kind.method.parts)
    known = COMPONENTS | {part.__name__: part for part in parts}
    revive = lambda part: config.from_dict(meta[part], known, FUNCTIONS | dict(functions))
    return dict(meta) | {part: revive(part) for part in ("settings", "problem")}


def read_state(agent: "Agent", path: PathLike) -> Any:
    """The train state in a file that an agent of the same settings has saved."""
    meta = _meta(type(agent), path)
    if up_to_date(meta["problem"]) != describe(agent)["problem"]:
        raise checkpoint.CheckpointError(
            f"{path} was trained on another problem: {meta['problem']}, but this agent's is "
            f"{describe(agent)['problem']}"
        )
    steps = DemonstratedSteps.from_pairs(jnp.zeros((1, 2, agent.problem.demonstrated_dim)))
    like = eqx.filter_eval_shape(agent.initial_state, steps)
    return checkpoint.load(path, like, ignored=GONE_STATE, stand_ins=ADDED_STATE)[0]


def check_same_problem(
    agent: "Agent", factory: Factory, demonstrations: Demonstrations | None, path: PathLike
) -> None:
    """That environment and demonstrations pose the problem that was saved."""
    saved = agent.problem
    dim, every, feature_map = saved.demonstrated_dim, saved.every, saved.feature_map
    if demonstrations is not None:
        dim, every = demonstrations.dim, demonstrations.every
        feature_map = feature_of(demonstrations, feature_map)
    problem = state_problem(factory, dim, feature_map, every)
    if problem != agent.problem:
        raise ValueError(
            f"{path} was trained on another problem: {agent.problem}, but {factory.name} and these "
            f"demonstrations make {problem}"
        )


def _meta(kind: type["Agent"], path: PathLike) -> Mapping[str, Any]:
    meta = checkpoint.read_meta(path)
    if meta.get("method") != kind.method.name:
        raise checkpoint.CheckpointError(
            f"{path} holds an agent of method {meta.get('method')!r}, not {kind.method.name!r}"
        )
    for name, expected in _DESCRIBED.items():
        if name not in meta or not isinstance(meta[name], expected):
            raise checkpoint.CheckpointError(f"{path} does not describe its agent: no {name}")
    seed_numbers(meta["seeds"])
    return meta
