"""Policies to record demonstrations of: ilfo agents, Stable-Baselines3 models and functions."""

import importlib
import json
import os
import sys
import zipfile
from pathlib import Path
from typing import Any

from ilfo.common.optional import needed_from
from ilfo.common.printable import brief
from ilfo.data.unpacking import check_unpacked
from ilfo.environments.factory import Factory
from ilfo.experts.actors import Actor
from ilfo.runs.loading import load_agent, load_policies


def find_actor(source: str, env_factory: Factory, *, seed: int = 0, greedy: bool = False) -> Actor:
    """Load something that acts, for the environments of `env_factory`.

    `source` is a run directory, an agent's .npz file, ALGORITHM:FILE.zip of Stable-Baselines3, or
    package.module:function.
    """
    path = Path(source)
    if path.is_dir():
        return _predicting(load_policies(path), greedy)
    if path.suffix == ".npz":
        return _predicting(load_agent(path), greedy)
    first, colon, rest = source.partition(":")
    if colon and rest.endswith(".zip"):
        model = load_sb3(first, Path(rest), env_factory)
        model.set_random_seed(seed)
        return _predicting(model, greedy)
    if colon:
        return _function(source, first, rest)
    raise ValueError(
        f"policy is {source!r}, but must be a run directory, an agent's .npz, ALGORITHM:FILE.zip "
        "of Stable-Baselines3 (ppo:expert.zip), or package.module:function"
    )


def _function(source: str, module: str, name: str) -> Actor:
    """A function of an importable module; the current folder is searched too."""
    sys.path.insert(0, os.getcwd())
    try:
        function = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError, TypeError, ValueError) as error:
        raise ValueError(f"there is no function {source}: {error}") from error
    finally:
        sys.path.remove(os.getcwd())
    if not callable(function):
        raise ValueError(f"{source} is a {type(function).__name__}, not a function")
    return function


def _predicting(agent: Any, greedy: bool) -> Actor:
    return lambda observation: agent.predict(observation, deterministic=greedy)[0]


def load_sb3(algorithm: str, path: Path, env_factory: Factory) -> Any:
    """Load a Stable-Baselines3 model with an MlpPolicy without unpickling anything.

    Such a file holds pickles beside its weights. They are not opened: their contents are taken
    from the environment, or are not needed for acting.
    """
    with needed_from("sb3", f"reading {path}"):
        import stable_baselines3 as sb3
    kind = getattr(sb3, algorithm.upper(), None)
    if kind is None or not hasattr(kind, "policy_aliases"):
        raise ValueError(f"Stable-Baselines3 has no algorithm {algorithm!r}")
    if not path.is_file():
        raise ValueError(f"there is no file {path}")
    pickled = _pickled_entries(path)
    known = {
        "policy_class": kind.policy_aliases["MlpPolicy"],
        "observation_space": env_factory.observation_space,
        "action_space": env_factory.action_space,
        "lr_schedule": _zero,
        "learning_rate": 0.0,
        "clip_range": _zero,
        "train_freq": 1,
    }
    replacements = {name: known.get(name) for name in pickled}
    try:
        return kind.load(path, custom_objects=replacements, device="cpu")
    # Damaged or foreign models surface as unrelated exceptions of zipfile, torch and SB3.
    except Exception as error:
        raise ValueError(
            f"{path} cannot be read as {algorithm} with an MlpPolicy for {env_factory.name}: "
            f"{brief(error)}"
        ) from error


def _pickled_entries(path: Path) -> list[str]:
    try:
        with zipfile.ZipFile(path) as archive:
            check_unpacked(path, archive.infolist())
            saved = json.loads(archive.read("data"))
        return [
            name
            for name, value in saved.items()
            if isinstance(value, dict) and ":serialized:" in value
        ]
    # Damaged bytes surface as unrelated exceptions of zipfile and zlib.
    except Exception as error:
        raise ValueError(f"{path} is not a model of Stable-Baselines3: {brief(error)}") from error


def _zero(_: float) -> float:
    return 0.0
