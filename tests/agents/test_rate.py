"""Recordings whose states are several control steps apart."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from ilfo.cli import main
from ilfo.data.altered import thin
from ilfo.data.demonstrations import Demonstrations
from ilfo.data.describe import describe
from ilfo.discriminators.expert_mean import mean_features
from ilfo.methods.mobile import MobILE, MobILESettings
from ilfo.runs import machine
from ilfo.runs.spec import apply_changes
from tests.helpers.agents import HORIZON, MACHINE, SMALL, STEP, as_steps, demonstrations, plain_mmd
from tests.helpers.methods import small_baseline

EVERY = 4
SETTINGS: MobILESettings = apply_changes(MobILESettings(), SMALL)


def moving(length: int, count: int = 3) -> Demonstrations:
    """Episodes that move on at a constant speed and terminate after `length` steps."""
    states = [np.linspace([0.0, i], [1.0, i], length + 1) for i in range(count)]
    return Demonstrations.from_arrays(states, terminal=True)


def test_recordings_are_at_the_control_rate_unless_they_say_otherwise():
    assert moving(8).every == 1
    assert thin(moving(8), 4).every == 4
    assert moving(8).recorded_every(2).every == 2
    assert moving(8).recorded_every(np.int64(2)).metadata["states_every"] == 2
    assert thin(moving(8), 4).recorded_every(4).states_only().take(2).every == 4
    with pytest.raises(ValueError, match="say themselves that their states are 4"):
        thin(moving(8), 4).recorded_every(2)


def test_inspecting_says_the_rate():
    assert "nothing in the file says otherwise" in describe(moving(8))
    assert "rate          one state every 4 control steps" in describe(thin(moving(8), 4))


@pytest.mark.parametrize("wrong", [0, -1, 2.0, "4", True])
def test_a_rate_is_a_whole_number_of_steps(wrong):
    with pytest.raises(ValueError, match=r"states_every is .* whole number"):
        Demonstrations.from_arrays(
            [np.zeros((3, 1))], terminal=False, metadata={"states_every": wrong}
        )


def test_files_of_a_folder_have_one_rate(tmp_path):
    moving(8).save(tmp_path / "a.npz")
    thin(moving(8), 2).save(tmp_path / "b.npz")
    with pytest.raises(ValueError, match=r"\[1, 2\] control steps apart"):
        Demonstrations.load(tmp_path)


def test_time_counts_in_control_steps():
    """Episodes that end at half of the horizon spend half of it in the absorbing state, whatever
    the rate; and their states weigh as before."""
    horizon, whole = 400, moving(200)
    pairs = np.concatenate([np.stack([x.states[:-1], x.states[1:]], 1) for x in whole])
    spec = plain_mmd(64)
    fitted = spec.init(as_steps(pairs), None, key=jax.random.key(0))
    seeds = jax.tree.map(lambda x: x[None] if isinstance(x, jax.Array) else x, fitted)
    at = lambda recordings, frames: mean_features(recordings, spec, seeds, frames)[0]
    full, sparse = at(whole, horizon), at(thin(whole, EVERY), horizon // EVERY)
    assert jnp.abs(full - sparse).max() < 0.01
    unaware = at(thin(whole, EVERY), horizon)
    assert jnp.abs(full - unaware).max() > 0.2


@pytest.fixture(scope="module")
def sparse() -> MobILE:
    recordings = thin(demonstrations(), EVERY)
    return MobILE("CartPole-v1", recordings, SETTINGS, horizon=HORIZON).learn(2 * STEP)


def test_mobile_compares_states_alone(sparse, tmp_path):
    assert sparse.problem.every == EVERY
    assert sparse.problem.frames == HORIZON // EVERY
    assert sparse.state.inference is not None
    assert sparse.state.discriminator.psi.input == "state"
    assert not sparse.remarks()
    sparse.save(tmp_path / "agent.npz")
    again = MobILE.load(tmp_path / "agent.npz", "CartPole-v1", thin(demonstrations(), EVERY))
    again.learn(3 * STEP)
    with pytest.raises(ValueError, match="another problem"):
        MobILE.load(tmp_path / "agent.npz", "CartPole-v1", demonstrations())


def test_a_method_that_reads_pairs_as_steps_says_so():
    agent = small_baseline("bco", seeds=1)
    assert not any("control steps apart" in remark for remark in agent.remarks())
    agent = small_baseline("bco", seeds=1, expert=thin(demonstrations(), EVERY))
    assert any("4 control steps apart, but bco" in remark for remark in agent.remarks())


def test_states_further_apart_than_an_episode_is_long():
    with pytest.raises(ValueError, match=r"8 control steps apart, but an episode .* has at most 5"):
        MobILE("CartPole-v1", thin(demonstrations(), 8), SETTINGS, horizon=5)


def test_the_rate_from_the_command_line(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(machine, "set_up", lambda *_: MACHINE)
    with pytest.raises(SystemExit):
        main(["train", "--task", "cartpole", "--every", "4", "--out", str(tmp_path / "run")])
    assert "use --every, --rate and --observe with --demos" in capsys.readouterr().err
    thin(demonstrations(), EVERY).save(tmp_path / "sparse.npz")
    command = ["train", "--env", "CartPole-v1", "--demos", str(tmp_path / "sparse.npz")]
    command += ["--total-timesteps", "1000"]
    with pytest.raises(SystemExit):
        main([*command, "--every", "2", "--out", str(tmp_path / "run")])
    assert "say themselves that their states are 4" in capsys.readouterr().err
    assert not (tmp_path / "run").exists()
