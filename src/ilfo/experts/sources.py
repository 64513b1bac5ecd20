"""Policies to record demonstrations of: ilfo agents, Stable-Baselines3 models and functions."""

import json
import zipfile
from collections.abc import Collection, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from ilfo.agents.acting import Predictor
from ilfo.common.importing import import_named
from ilfo.common.optional import needed_from
from ilfo.common.printable import brief
from ilfo.common.seeding import Purpose
from ilfo.data.unpacking import check_unpacked
from ilfo.environments.factory import Factory
from ilfo.experts import directory
from ilfo.experts.actors import Actor
from ilfo.runs.loading import load_agent, load_policies

FLOAT = 4
"""Bytes of a weight."""
UNUSED = {"n_envs": 1, "n_steps": 1, "buffer_size": 1}
"""Sizes of what training needs and acting does not."""


def find_actor(source: str, env_factory: Factory, *, seed: int = 0, greedy: bool = False) -> Actor:
    """Load something that acts, for the environments of `env_factory`.

    `source` is the directory of a run or of a trained expert, an agent's .npz file,
    ALGORITHM:FILE.zip of Stable-Baselines3, package.module:function, or file.py:function.
    """
    path = Path(source)
    if path.is_dir() and directory.is_expert(path):
        expert = directory.load(path, env_factory)
        predict = Predictor(expert.policy, expert.problem)
        generator = np.random.default_rng([seed, Purpose.PREDICT])
        return lambda observation: predict(observation, generator, greedy)
    if path.is_dir():
        return _predicting(load_policies(path), env_factory, greedy)
    if path.suffix == ".npz":
        return _predicting(load_agent(path), env_factory, greedy)
    first, colon, rest = source.partition(":")
    if colon and rest.endswith(".zip"):
        model = load_sb3(first, Path(rest), env_factory)
        model.set_random_seed(seed)
        return _predicting(model, env_factory, greedy)
    if colon:
        return _function(source, first, rest)
    raise ValueError(
        f"policy is {source!r}, but must be the directory of a run or of an expert, an agent's "
        ".npz, ALGORITHM:FILE.zip of Stable-Baselines3 (ppo:expert.zip), package.module:function "
        "or file.py:function"
    )


def _function(source: str, module: str, name: str) -> Actor:
    """A function of a module or of a file; the current folder is searched too."""
    try:
        function = getattr(import_named(module), name)
    except (ImportError, AttributeError, TypeError, ValueError) as error:
        raise ValueError(f"there is no function {source}: {error}") from error
    if not callable(function):
        raise ValueError(f"{source} is a {type(function).__name__}, not a function")
    return function


def _predicting(agent: Any, env_factory: Factory, greedy: bool) -> Actor:
    flat = env_factory.flat
    return lambda observation: agent.predict(flat(observation), deterministic=greedy)[0]


def load_sb3(algorithm: str, path: Path, env_factory: Factory) -> Any:
    """Load a Stable-Baselines3 model with an MlpPolicy without unpickling anything.

    Such a file holds pickles beside its weights. They are not opened: their contents are taken
    from the environment, or are not needed for acting. Neither are the buffers of its training.
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
    replacements = {name: known.get(name) for name in pickled} | UNUSED
    try:
        return kind.load(path, custom_objects=replacements, device="cpu")
    except MemoryError:
        raise
    # Damaged or foreign models surface as unrelated exceptions of zipfile, torch and SB3.
    except Exception as error:
        raise ValueError(
            f"{path} cannot be read as {algorithm} with an MlpPolicy for {env_factory.name}: "
            f"{_reason(error)}"
        ) from error


def _reason(error: Exception) -> str:
    """Why a model cannot be loaded. What torch says of a pickle advises to open it."""
    if type(error).__name__ == "UnpicklingError":
        return (
            "its weights hold something other than tensors, which is not opened, because that "
            "could run code"
        )
    if isinstance(error, (RuntimeError, ValueError)):  # written for users
        return brief(error)
    return f"it is damaged, or was changed ({type(error).__name__}: {brief(error)})"


def _pickled_entries(path: Path) -> list[str]:
    try:
        with zipfile.ZipFile(path) as archive:
            check_unpacked(path, archive.infolist())
            _check_has(("data", "policy.pth"), archive.namelist())
            saved = json.loads(archive.read("data"))
            size = archive.getinfo("policy.pth").file_size
        if not isinstance(saved, dict):
            raise ValueError(f"its data are a {type(saved).__name__}, expected an object of JSON")
        _check_has(("policy_class", "observation_space", "action_space"), saved)
        _check_networks(saved.get("policy_kwargs", {}), size)
        return [name for name, value in saved.items() if _is_pickled(value)]
    except MemoryError:
        raise
    # Damaged bytes surface as unrelated exceptions of zipfile and zlib.
    except Exception as error:
        raise ValueError(f"{path} is not a model of Stable-Baselines3: {brief(error)}") from error


def _check_has(needed: Sequence[str], held: Collection[str]) -> None:
    missing = [name for name in needed if name not in held]
    if missing:
        raise ValueError(f"it has no {', '.join(missing)}")


def _is_pickled(value: Any) -> bool:
    return isinstance(value, dict) and ":serialized:" in value


def _check_networks(described: Any, size: int) -> None:
    """Raise ValueError if networks are described whose weights are more than the file holds, or in
    a way that is not read."""
    if _is_pickled(described):
        raise ValueError(
            "its policy_kwargs are a pickle, because they name a class such as activation_fn, and "
            "pickles are not opened; let a function of your own load it and act (file.py:function)"
        )
    if not isinstance(described, dict):
        raise ValueError(f"its policy_kwargs are {brief(described)}, expected an object of JSON")
    layers, critics = described.get("net_arch"), described.get("n_critics", 1)
    if isinstance(layers, list) and layers and isinstance(layers[0], dict):
        layers = layers[0]  # as old versions wrote it
    networks = layers if isinstance(layers, dict) else {"": layers or []}
    for name, widths in networks.items():
        counts = [*widths, critics] if isinstance(widths, list) else [None]
        if not all(type(count) is int and count > 0 for count in counts):
            raise ValueError(f"its networks are {brief(described)}, expected numbers of units")
        weights = sum((before + 1) * after for before, after in pairwise([0, *widths]))
        asked = FLOAT * max(weights, 1) * (1 if name == "pi" else critics)
        if asked > size:
            raise ValueError(
                f"it describes networks of {asked / 2**20:,.3g} MiB, but holds {size / 2**20:.3g}"
            )


def _zero(_: float) -> float:
    return 0.0
