"""What users hold in their hands: learn, predict, save, load, and errors that say what to do."""

from dataclasses import replace

import gymnasium as gym
import numpy as np
import pytest

from ilfo import MobILE
from ilfo.agents.callbacks import Callback
from ilfo.agents.divergence import DivergenceError
from ilfo.agents.findings import Finding
from ilfo.data.demonstrations import Demonstrations
from ilfo.policies.host import HostPolicy
from ilfo.storage import checkpoint
from ilfo.storage.checkpoint import CheckpointError
from ilfo.storage.config import ConfigError
from tests.conftest import ITERATIONS
from tests.helpers.agents import (
    HORIZON,
    SEEDS,
    SETTINGS,
    STEP,
    Exploding,
    Spaces,
    bits,
    demonstrations,
    small_agent,
)

STATES = np.random.default_rng(0).normal(size=(5, 4)).astype(np.float32)


def reload(trained, environment="CartPole-v1") -> MobILE:
    """A copy of the trained agent as it was halfway, which may be trained further."""
    return MobILE.load(trained.halfway, environment, demonstrations())


# Learning --------------------------------------------------------------------------------------


def test_learning_goes_on_in_whole_iterations(trained):
    agent = trained.agent
    assert agent.samples_per_iteration == STEP
    assert agent.iteration == ITERATIONS == len(trained.logs)
    assert agent.online_samples == ITERATIONS * STEP
    assert [log["iteration"] for log in trained.logs] == list(range(1, ITERATIONS + 1))
    assert [log["online_samples"] for log in trained.logs] == [
        STEP * i for i in range(1, ITERATIONS + 1)
    ]
    assert all(log["mmd"].shape == (SEEDS,) for log in trained.logs)
    assert not [name for name in trained.logs[0] if name.startswith("finite_")]


def test_learning_returns_the_agent_and_takes_no_step_beyond_the_budget(trained):
    agent = reload(trained)
    assert agent.learn(agent.online_samples + STEP - 1) is agent
    assert agent.iteration == ITERATIONS // 2


def test_save_load_and_learn_more_equals_uninterrupted(trained):
    agent = reload(trained)
    assert bits(agent.state) == bits(trained.states[ITERATIONS // 2])
    agent.learn(ITERATIONS * STEP)
    assert bits(agent.state) == bits(trained.agent.state)


# Acting ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("deterministic", [True, False])
def test_predict_one_or_many(trained, deterministic):
    act = lambda x, **more: trained.agent.predict(x, deterministic=deterministic, **more)
    one, passed = act(STATES[0], state="anything")
    assert passed == "anything"
    assert np.shape(one) == ()
    assert np.issubdtype(np.asarray(one).dtype, np.integer)
    assert act(STATES[0])[1] is None
    assert act(STATES[:1])[0].shape == (1,)
    assert act(STATES)[0].shape == (5,)
    assert act(STATES.tolist())[0].shape == (5,)


def test_the_greedy_action_is_the_chosen_policys_mode(trained):
    many, _ = trained.agent.predict(STATES, deterministic=True)
    expected = HostPolicy.single(trained.agent.policy()).mode(STATES[None])[0]
    np.testing.assert_array_equal(many, expected)
    singles = [trained.agent.predict(state, deterministic=True)[0] for state in STATES]
    np.testing.assert_array_equal(many, singles)


def test_actions_are_drawn_from_the_chosen_policy(trained):
    drawn, _ = trained.agent.predict(np.repeat(STATES[:1], 4000, axis=0))
    logits = trained.agent.policy().distribution(STATES[0]).logits
    chance = np.exp(logits[1]) / np.exp(logits).sum()
    assert drawn.mean() == pytest.approx(chance, abs=0.04)
    again, _ = trained.agent.predict(np.repeat(STATES[:1], 4000, axis=0))
    assert (drawn != again).any()


def test_box_actions_are_in_the_environments_units(pendulum):
    states = np.random.default_rng(0).normal(size=(200, 3))
    one, _ = pendulum.predict(states[0], deterministic=True)
    many, _ = pendulum.predict(states)
    assert one.shape == (1,)
    assert many.shape == (200, 1)
    assert many.dtype == np.float32
    assert np.abs(many).max() <= 2.0
    assert np.abs(many).max() > 1.0  # of [-2, 2], not of [-1, 1]


@pytest.mark.parametrize("shape", [(3,), (5, 3), (2, 2), (1, 1, 4), ()])
def test_observations_of_another_shape_are_refused(trained, shape):
    with pytest.raises(ValueError, match=r"shape \(.*\), but must have \(4,\)"):
        trained.agent.predict(np.zeros(shape))


def test_observations_that_are_not_flat(trained):
    """The same CartPole, shown as a matrix; a batch of one is not taken for a single one."""
    square = lambda: gym.wrappers.ReshapeObservation(gym.make("CartPole-v1"), (2, 2))
    agent = small_agent(square).learn(STEP)
    assert bits(agent.state.policy) == bits(trained.states[1].policy)
    assert np.shape(agent.predict(STATES[0].reshape(2, 2))[0]) == ()
    assert agent.predict(STATES[:1].reshape(1, 2, 2))[0].shape == (1,)
    with pytest.raises(ValueError, match=r"must have \(2, 2\)"):
        agent.predict(STATES)


def test_an_agent_that_has_not_learned_says_so():
    agent = small_agent()
    assert agent.iteration == agent.online_samples == 0
    for act in (lambda: agent.predict(STATES[0]), agent.policy):
        with pytest.raises(ValueError, match="not learned anything yet"):
            act()
    with pytest.raises(ValueError, match="nothing to save"):
        agent.save("nowhere.npz")


@pytest.mark.parametrize("streams", [1, 2])
def test_stable_baselines_evaluates_it(trained, streams):
    evaluation = pytest.importorskip("stable_baselines3.common.evaluation")
    from stable_baselines3.common.env_util import make_vec_env

    environments = make_vec_env("CartPole-v1", n_envs=streams, seed=0)
    returns, lengths = evaluation.evaluate_policy(
        trained.agent, environments, n_eval_episodes=4, return_episode_rewards=True
    )
    assert len(returns) == 4
    assert returns == lengths  # CartPole pays one per step
    assert min(returns) >= 8


def test_stable_baselines_evaluates_box_actions(pendulum):
    evaluation = pytest.importorskip("stable_baselines3.common.evaluation")
    monitor = pytest.importorskip("stable_baselines3.common.monitor")
    environment = monitor.Monitor(gym.make("Pendulum-v1", max_episode_steps=HORIZON))
    mean, _ = evaluation.evaluate_policy(pendulum, environment, n_eval_episodes=2)
    assert mean < 0


# Keeping ---------------------------------------------------------------------------------------


def test_a_loaded_agent_predicts_without_environment(trained, tmp_path):
    trained.agent.save(tmp_path / "agent.npz")
    agent = MobILE.load(tmp_path / "agent.npz")
    assert agent.seeds == trained.agent.seeds
    assert agent.describe()["settings"] == trained.agent.describe()["settings"]
    assert agent.iteration == trained.agent.iteration
    np.testing.assert_array_equal(
        agent.predict(STATES, deterministic=True)[0],
        trained.agent.predict(STATES, deterministic=True)[0],
    )
    with pytest.raises(ValueError, match="loaded without an environment"):
        agent.learn(10 * STEP)


def test_a_file_is_not_overwritten_by_accident(trained, tmp_path):
    path = tmp_path / "agent.npz"
    path.write_text("precious")
    with pytest.raises(FileExistsError, match=r"agent\.npz exists already"):
        trained.agent.save(path)
    assert path.read_text() == "precious"
    trained.agent.save(path, overwrite=True)
    assert MobILE.load(path).iteration == ITERATIONS


def test_seeds_may_come_from_numpy(cache_home, tmp_path):
    agent = small_agent(seeds=np.array([7, 1, 3]))
    agent._prepare()
    agent.save(tmp_path / "agent.npz")
    assert MobILE.load(tmp_path / "agent.npz").seeds == (7, 1, 3)


class Other(MobILE):
    method = replace(MobILE.method, name="other")


def test_a_file_of_another_method_is_refused(trained):
    with pytest.raises(CheckpointError, match=r"halfway\.npz holds .*'mobile', not 'other'"):
        Other.load(trained.halfway)


def test_a_damaged_file_is_refused(trained, tmp_path):
    whole = trained.halfway.read_bytes()
    for number, text in enumerate((whole[: len(whole) // 2], b"", b"no checkpoint")):
        path = tmp_path / f"{number}.npz"
        path.write_bytes(text)
        with pytest.raises(CheckpointError, match=rf"{number}\.npz is damaged"):
            MobILE.load(path)
    with pytest.raises(CheckpointError, match="there is no checkpoint file"):
        MobILE.load(tmp_path / "missing.npz")


def test_a_file_of_another_format_is_refused(trained, tmp_path, monkeypatch):
    monkeypatch.setattr(checkpoint, "FORMAT_VERSION", 2)
    with pytest.raises(CheckpointError, match=r"has checkpoint format 1, but this .* reads 2"):
        MobILE.load(trained.halfway)


def test_an_agent_loaded_with_its_environment_can_play_but_not_learn(trained):
    agent = MobILE.load(trained.halfway, "CartPole-v1")
    policy = agent.policy(0)
    played = list(agent.play(policy, episodes=3, seed=7))
    again = list(trained.agent.play(policy, episodes=3, seed=7))
    assert [episode.states.tobytes() for episode in played] == [
        episode.states.tobytes() for episode in again
    ]
    with pytest.raises(ValueError, match="loaded without demonstrations"):
        agent.learn(1_000_000)


def test_loading_checks_the_environment(trained):
    with pytest.raises(ValueError, match="have 4 numbers, but observations of Pendulum-v1 have 3"):
        MobILE.load(trained.halfway, "Pendulum-v1", demonstrations())
    three_ways = lambda: gym.wrappers.TransformAction(
        gym.make("CartPole-v1"), lambda action: action % 2, gym.spaces.Discrete(3)
    )
    with pytest.raises(ValueError, match="was trained on another problem"):
        MobILE.load(trained.halfway, three_ways, demonstrations())


def first_two(state):
    return state[:2]


def test_functions_are_passed_again(cache_home, tmp_path):
    seen = Demonstrations.from_arrays(
        [each.states[:, :2] for each in demonstrations()], terminal=False
    )
    agent = small_agent(expert=seen, feature_map=first_two)
    agent._prepare()
    agent.save(tmp_path / "agent.npz")
    with pytest.raises(ConfigError, match=r"feature_map.*first_two.*pass it"):
        MobILE.load(tmp_path / "agent.npz")
    loaded = MobILE.load(tmp_path / "agent.npz", functions={"feature_map": first_two})
    assert loaded.problem.feature_map is first_two
    assert bits(loaded.state) == bits(agent.state)


# Watching --------------------------------------------------------------------------------------


class Diary(Callback):
    def __init__(self, name, pages, answer=None, fail_at=None):
        self.name, self.pages, self.answer, self.fail_at = name, pages, answer, fail_at

    def on_start(self, agent):
        self.pages.append(f"{self.name} start {agent.iteration}")

    def on_iteration(self, agent, log):
        self.pages.append(f"{self.name} {log['iteration']}")
        if log["iteration"] == self.fail_at:
            raise OSError("disk full")
        return self.answer

    def on_end(self, agent):
        self.pages.append(f"{self.name} end {agent.iteration}")


@pytest.fixture(scope="module")
def movable(trained):
    """An agent that tests in this module take further, each by an iteration or two."""
    return reload(trained)


def test_callbacks_are_called_in_order(movable):
    pages, begun = [], movable.iteration
    movable.learn((begun + 2) * STEP, [Diary("a", pages), Diary("b", pages, answer=True)])
    now, then = begun + 1, begun + 2
    assert pages == [
        f"a start {begun}",
        f"b start {begun}",
        *(f"a {now}", f"b {now}", f"a {then}", f"b {then}"),
        *(f"a end {then}", f"b end {then}"),
    ]


def test_a_function_is_a_callback(movable):
    seen = []
    watch = lambda agent, log: seen.append((agent.iteration, log["mmd"].shape)) or False
    movable.learn((movable.iteration + 2) * STEP, watch)
    assert seen == [(movable.iteration, (len(movable.seeds),))]  # False has stopped it
    with pytest.raises(ValueError, match="'often' is not a callback; pass an instance of"):
        movable.learn((movable.iteration + 1) * STEP, ["often"])


def test_what_takes_long_is_announced():
    phases = []

    class Phases(Callback):
        def on_phase(self, agent, doing):
            phases.append(doing)

    small_agent().learn(STEP, Phases())
    comparing, *others = phases
    assert comparing == "comparing the recordings with the environment"
    assert others == ["preparing", "compiling", "first iteration"]


def test_every_callback_that_heard_of_it_hears_the_end(movable):
    pages = []

    class Fails(Callback):
        def on_end(self, agent):
            raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        movable.learn((movable.iteration + 1) * STEP, [Fails(), Diary("a", pages)])
    assert pages[-1].startswith("a end")
    agent, pages = small_agent(), []
    agent.__dict__["findings"] = [Finding(True, "no overlap")]
    with pytest.raises(ValueError, match="no overlap"):
        agent.learn(STEP, Diary("a", pages))
    assert pages == []  # it never started


def test_the_history_has_a_column_per_metric(trained):
    agent = reload(trained)
    assert len(agent.history) == 0
    begun = agent.iteration
    agent.learn((begun + 2) * STEP)
    assert agent.history["mmd"].shape == (2, len(agent.seeds))
    assert agent.history["iteration"].tolist() == [begun + 1, begun + 2]
    assert agent.history["online_samples"].tolist() == [(begun + 1) * STEP, (begun + 2) * STEP]
    assert repr(agent.history).startswith("History(2 iterations; ")
    with pytest.raises(KeyError):
        agent.history["speed"]
    frame = agent.history.frame()
    assert frame.seed.tolist() == list(agent.seeds) * 2
    np.testing.assert_array_equal(frame.mmd, agent.history["mmd"].ravel())


def test_a_folder_of_a_run_is_its_last_checkpoint(finished_run, tmp_path):
    loaded = MobILE.load(finished_run)
    assert bits(loaded.state) == bits(MobILE.load(finished_run / "last.npz").state)
    assert loaded.history["iteration"].tolist() == list(range(1, loaded.iteration + 1))
    assert np.isfinite(loaded.history["mmd"]).all()
    assert repr(loaded).startswith(f"MobILE({loaded.learned_in}, seeds 0, 1")
    assert f"{loaded.iteration} iterations, MobILESettings(" in repr(loaded)
    assert "policy_steps=2" in repr(loaded)
    with pytest.raises(CheckpointError, match=r"is a folder without last.npz"):
        MobILE.load(tmp_path)


def test_a_progress_bar_on_request(movable, capsys):
    movable.learn((movable.iteration + 1) * STEP, progress_bar=True)
    assert f"iteration {movable.iteration}  samples" in capsys.readouterr().out


def test_a_single_callback_needs_no_list(movable):
    pages = []
    movable.learn((movable.iteration + 1) * STEP, Diary("a", pages))
    assert len(pages) == 3


def test_false_stops_and_the_others_still_hear_of_it(movable):
    pages, begun = [], movable.iteration
    movable.learn((begun + 5) * STEP, [Diary("a", pages, answer=False), Diary("b", pages)])
    assert movable.iteration == begun + 1
    assert pages[2:] == [
        f"a {begun + 1}",
        f"b {begun + 1}",
        f"a end {begun + 1}",
        f"b end {begun + 1}",
    ]


def test_the_end_is_called_after_an_error(movable):
    pages, begun = [], movable.iteration
    with pytest.raises(OSError, match="disk full"):
        movable.learn((begun + 5) * STEP, [Diary("a", pages, fail_at=begun + 1), Diary("b", pages)])
    assert pages[-2:] == [f"a end {begun + 1}", f"b end {begun + 1}"]
    assert f"b {begun + 1}" not in pages


# Divergence ------------------------------------------------------------------------------------


def test_divergence_names_the_phase_and_keeps_the_last_good_state(trained, monkeypatch):
    agent = reload(trained, lambda: Exploding(gym.make("CartPole-v1")))
    agent.learn(5 * STEP)
    assert bits(agent.state) == bits(trained.states[5])
    pages = []
    for factor, phase in ((1e30, "dynamics"), (np.nan, "collect")):
        monkeypatch.setattr(Exploding, "factor", factor)
        message = rf"in phase .*{phase}.* of iteration 6, seed 0.*; .*after iteration 5 is kept"
        with pytest.raises(DivergenceError, match=message):
            agent.learn(10 * STEP, Diary("a", pages))
        assert bits(agent.state) == bits(trained.states[5])
    assert pages == ["a start 5", "a end 5"] * 2
    monkeypatch.setattr(Exploding, "factor", 1.0)
    agent.learn(6 * STEP)
    assert bits(agent.state) == bits(trained.agent.state)


# Errors before training ------------------------------------------------------------------------

FLAT, DISCRETE = gym.spaces.Box(-1.0, 1.0, (4,)), gym.spaces.Discrete(2)
ENDLESS = lambda: Spaces(FLAT, DISCRETE)


@pytest.mark.parametrize(
    ("environment", "message"),
    [
        ("Pendulum-v1", "demonstrated states have 4 .* Pendulum-v1 have 3.*pass .* as feature_map"),
        (lambda: Spaces(DISCRETE, DISCRETE), r"observation space is Discrete\(2\), but only Box"),
        (lambda: Spaces(FLAT, gym.spaces.Box(-np.inf, np.inf, (1,))), "unbounded.*TransformAction"),
        (
            lambda: Spaces(FLAT, gym.spaces.Text(2)),
            r"action space is Text\(1, 2.*, but only Box, Disc",
        ),
        ("NoSuchGame-v0", "unknown environment 'NoSuchGame-v0'"),
        ("no_such_package:Game-v0", "unknown environment 'no_such_package:Game-v0'.*no_such_pack"),
        (3, "environment is 3, but must be an id"),
    ],
)
def test_environments_that_cannot_be_learned(environment, message):
    with pytest.raises(ValueError, match=message):
        small_agent(environment)


def test_an_environment_of_a_package_that_is_not_imported_yet(tmp_path, monkeypatch):
    (tmp_path / "arcade.py").write_text(
        "from gymnasium import register\n"
        "from gymnasium.envs.classic_control import CartPoleEnv\n"
        "register('Arcade-v0', CartPoleEnv, max_episode_steps=7)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    agent = MobILE("arcade:Arcade-v0", demonstrations(), SETTINGS)
    assert agent.factory.name == "Arcade-v0"
    assert agent.factory.horizon == 7
    del gym.registry["Arcade-v0"]


def test_an_environment_without_a_horizon():
    with pytest.raises(ValueError, match=r"no time limit and no horizon.*horizon=\.\.\."):
        MobILE(ENDLESS, demonstrations())


@pytest.mark.parametrize("horizon", [0, -3])
def test_a_horizon_that_is_none(horizon):
    with pytest.raises(ValueError, match=f"horizon is {horizon}, but must be a positive"):
        MobILE("CartPole-v1", demonstrations(), horizon=horizon)


@pytest.mark.parametrize("budget", [STEP - 1, 0, -1])
def test_a_budget_below_one_iteration(budget):
    agent = small_agent()
    with pytest.raises(ValueError, match=rf"is {budget}, but one iteration takes {STEP} \(2 str"):
        agent.learn(budget)
    assert agent.state is None


@pytest.mark.parametrize("seeds", [0, -1, [], [1, 1], [-1, 2], [2**32], [0.5]])
def test_seeds_that_are_none(seeds):
    with pytest.raises(ValueError, match=r"seeds is .* but must be"):
        small_agent(seeds=seeds)


@pytest.mark.parametrize("feature_map", [lambda s: s[:3], lambda s: s.sum(), lambda s: s[None]])
def test_a_feature_map_of_the_wrong_shape(feature_map):
    with pytest.raises(ValueError, match=r"feature_map gives shape \(.*rows of 4 numbers"):
        small_agent(feature_map=feature_map)


def test_settings_are_those_for_an_unknown_environment_by_default():
    agent = MobILE("CartPole-v1", demonstrations())
    assert type(agent.settings) is type(SETTINGS)
    assert agent.samples_per_iteration == agent.settings.streams * 500
