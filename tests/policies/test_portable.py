"""Policies for elsewhere: the same actions as `predict`, from every kind of file."""

import ast
import runpy
import subprocess
import sys
from pathlib import Path

import equinox as eqx
import gymnasium as gym
import jax
import jax.numpy as jnp
import numpy as np
import onnxruntime
import pytest
import torch

from ilfo.agents.acting import Predictor
from ilfo.agents.problem import Problem
from ilfo.cli import main
from ilfo.common.spaces import action_space
from ilfo.common.types import Normaliser
from ilfo.policies import LatentPolicy, MLPPolicy, SquashedMLP, portable, reader
from ilfo.policies.torch_reader import Policy as TorchPolicy

SHAPE = (2, 3)
SPACES = {
    "box": gym.spaces.Box(np.array([-2, 0], np.float32), np.array([2, 5], np.float32)),
    "square": gym.spaces.Box(-1, 3, (2, 2), np.float64),
    "tenths": gym.spaces.Box(-0.1, 0.1, (2,), np.float64),  # no float32 numbers
    "whole": gym.spaces.Box(-3, 4, (2,), np.int32),
    "discrete": gym.spaces.Discrete(5),
    "from three": gym.spaces.Discrete(4, start=3),
    "several": gym.spaces.MultiDiscrete([3, 2, 4], start=[0, -1, 5]),
    "table": gym.spaces.MultiDiscrete([[3, 2], [2, 5]], dtype=np.int32),
    "switches": gym.spaces.MultiBinary((2, 3)),
    "two stages": gym.spaces.Discrete(3),
    "squashed": gym.spaces.Box(-1, 3, (2, 2), np.float64),
    "noisy": gym.spaces.Box(-1, 3, (2, 2), np.float64),
}


def random_policy(name):
    actions, dim = action_space(SPACES[name]), 6
    draw = np.random.default_rng(0)
    scales = lambda size: Normaliser(
        jnp.asarray(draw.normal(size=size), jnp.float32),
        jnp.asarray(draw.uniform(0.5, 2, size), jnp.float32),
    )

    def network(size, actions, key):
        spec = MLPPolicy(width=16, state_noise=name == "noisy")
        policy = spec.init(size, actions, scales(size), key=jax.random.key(key))
        # the last layer begins near zero: make the actions differ, and leave [-1, 1]
        last = lambda p: p.network.layers[-1].weight
        return eqx.tree_at(last, policy, 300 * last(policy))

    if name == "squashed":
        key = jax.random.key(3)
        return SquashedMLP.random(dim, actions.encoded_dim, 16, 2, scales(dim), key=key), actions
    if name != "two stages":
        return network(dim, actions, 0), actions
    latent = network(dim, action_space(gym.spaces.Discrete(4)), 1)
    return LatentPolicy(latent, network(dim + 4, actions, 2)), actions


def act(path: Path, observations: np.ndarray) -> np.ndarray:
    if path.suffix == ".npz":
        return reader.Policy(path)(observations)
    if path.suffix == ".onnx":
        session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
        return session.run(["action"], {"observation": observations})[0]
    policy = TorchPolicy(torch.load(path, weights_only=True))
    with torch.no_grad():
        return policy(torch.from_numpy(observations)).numpy()


@pytest.mark.parametrize("suffix", portable.WRITERS)
@pytest.mark.parametrize("name", SPACES)
def test_the_same_actions(name, suffix, tmp_path):
    policy, actions = random_policy(name)
    observations = np.random.default_rng(1).normal(size=(200, *SHAPE)).astype(np.float32)
    problem = Problem(6, actions, 10, 6, unflattened=SHAPE)
    known = Predictor(policy, problem)(observations, np.random.default_rng(0), True)
    assert len(np.unique(known.reshape(200, -1), axis=0)) > 1
    path = tmp_path / f"policy{suffix}"
    portable.write(portable.to_arrays(policy, actions, SHAPE), path)
    found = act(path, observations)
    assert found.shape == known.shape
    np.testing.assert_allclose(found, known, atol=1e-5)
    single = act(path, observations[:1])[0]
    np.testing.assert_allclose(single, known[0], atol=1e-5)
    assert found.dtype == known.dtype
    if not isinstance(SPACES[name], gym.spaces.Discrete):
        assert all(SPACES[name].contains(action) for action in found)


def test_one_observation_has_one_action(tmp_path):
    policy, actions = random_policy("box")
    portable.write(portable.to_arrays(policy, actions, SHAPE), tmp_path / "policy.npz")
    policy = reader.Policy(tmp_path / "policy.npz")
    assert policy(np.zeros(SHAPE)).shape == (2,)
    with pytest.raises(ValueError, match=r"shape \(6,\), not \(2, 3\) or a batch of it"):
        policy(np.zeros(6))


def test_pytorch_takes_any_precision_and_no_other_shape():
    policy, actions = random_policy("box")
    arrays = portable.to_arrays(policy, actions, SHAPE)
    torch_policy = TorchPolicy({k: torch.from_numpy(v.copy()) for k, v in arrays.items()})
    assert torch_policy(torch.zeros((3, *SHAPE), dtype=torch.float64)).shape == (3, 2)
    assert torch_policy(torch.zeros(SHAPE)).shape == (2,)
    with pytest.raises(ValueError, match="or a batch of it"):
        torch_policy(torch.zeros(3, 6))


@pytest.mark.parametrize(("module", "library"), [("reader", "numpy"), ("torch_reader", "torch")])
def test_a_reader_can_be_copied(module, library, tmp_path):
    """It imports one library and nothing of ilfo."""
    source = Path(reader.__file__).parent / f"{module}.py"
    (tmp_path / "copied.py").write_text(source.read_text())
    code = "import sys, copied; sys.exit('ilfo' in sys.modules or 'jax' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=tmp_path).returncode == 0
    assert "Policy" in runpy.run_path(str(tmp_path / "copied.py"))
    assert f"import {library}" in source.read_text()


def test_the_reader_of_numpy_files_is_short():
    """30 lines of code: without docstrings and empty lines."""
    tree = ast.parse(Path(reader.__file__).read_text())
    words = {
        line
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        for line in range(node.lineno, node.end_lineno + 1)
    }
    lines = Path(reader.__file__).read_text().splitlines()
    code = [line for number, line in enumerate(lines, 1) if line.strip() and number not in words]
    assert len(code) <= 30


def test_an_empty_batch_has_no_actions(tmp_path):
    for name in ("box", "several", "two stages"):
        policy, actions = random_policy(name)
        arrays = portable.to_arrays(policy, actions, SHAPE)
        portable.write(arrays, tmp_path / f"{name}.npz")
        empty = np.zeros((0, *SHAPE), np.float32)
        assert len(act(tmp_path / f"{name}.npz", empty)) == 0
        torch_policy = TorchPolicy({k: torch.from_numpy(v.copy()) for k, v in arrays.items()})
        assert len(torch_policy(torch.from_numpy(empty))) == 0


def test_the_command(finished_run, tmp_path, capsys):
    main(["export", str(finished_run), str(tmp_path / "policy.npz"), "--seed", "1"])
    said = capsys.readouterr().out
    assert "the policy of seed 1" in said
    assert f"copy {reader.__file__}" in said
    assert reader.Policy(tmp_path / "policy.npz")(np.zeros(4)) in (0, 1)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["policy.txt"], "must end in one of: .npz, .onnx, .pt"),
        (["there.npz"], "there.npz exists already"),
        (["policy.npz", "--seed", "9"], "has no seed 9; it has 0, 1"),
    ],
)
def test_what_cannot_be_written(arguments, message, finished_run, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("there.npz").touch()
    with pytest.raises(SystemExit):
        main(["export", str(finished_run), *arguments])
    assert message in capsys.readouterr().err
    assert not Path("policy.npz").exists()
