"""Runs that were made before modules moved into rooms still load, and act as they did.

`recorded/` holds two run directories, of MobILE and of BC-O, as commit 9ba596b left them. What
their policies did was written down with that commit.
"""

import shutil
from pathlib import Path

import jax
import numpy as np
import pytest

from ilfo import BCO, MobILE
from ilfo.methods import BCOSettings, MobILESettings
from ilfo.runs.csv_tables import RunError
from ilfo.runs.directory import RunDirectory
from ilfo.runs.launch import resume
from ilfo.runs.loading import load_agent, load_best
from ilfo.runs.spec import spec_of

RECORDED = Path(__file__).parent / "recorded"
STATES = np.random.default_rng(0).normal(size=(6, 4)).astype(np.float32)
KINDS = {"mobile": (MobILE, MobILESettings), "bco": (BCO, BCOSettings)}
GREEDY = {"mobile": [1, 1, 0, 0, 1, 0], "bco": [1, 1, 1, 0, 1, 1]}
LOG_PROBABILITIES = {  # of action 1, the first seed's policy
    "mobile": [-0.704196, -0.704511, -0.688069, -0.689512, -0.703049, -0.687521],
    "bco": [-0.678555, -0.684729, -0.678064, -0.704040, -0.658450, -0.674590],
}


@pytest.mark.parametrize("method", KINDS)
def test_a_saved_agent_loads_and_acts_as_before(method):
    kind, settings = KINDS[method]
    agent = kind.load(RECORDED / method / "best.npz")
    assert type(agent.settings) is settings
    assert agent.predict(STATES, deterministic=True)[0].tolist() == GREEDY[method]
    policy = agent.policy(0)
    likely = jax.vmap(lambda state: policy.distribution(state).log_prob(1))(STATES)
    np.testing.assert_allclose(likely, LOG_PROBABILITIES[method], atol=1e-5)
    assert type(load_agent(RECORDED / method / "best.npz")) is kind


@pytest.mark.parametrize("method", KINDS)
def test_its_run_directory_can_be_read_and_played(method):
    agent = load_best(RECORDED / method)
    (episode,) = agent.play(agent.policy(), episodes=1, seed=0)
    assert 1 <= len(episode.rewards) <= 20
    run = RunDirectory.open(RECORDED / method)
    spec = spec_of(run)
    assert (spec.method, spec.task, spec.trajectories) == (method, "cartpole", 3)
    assert agent.online_samples in [row["online_samples"] for row in run.rows("metrics")]


def test_it_is_not_resumed_by_other_code(tmp_path):
    copy = shutil.copytree(RECORDED / "mobile", tmp_path / "run")
    with pytest.raises(RunError, match=r"was made (by|with)"):
        resume(copy, RunDirectory.open(copy).config["machine"])
