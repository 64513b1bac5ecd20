"""Demonstrations from agents, from Stable-Baselines3 and from functions."""

import io
import json
import zipfile

import gymnasium as gym
import numpy as np
import pytest

from ilfo.cli import main
from ilfo.data.demonstrations import Demonstrations
from ilfo.environments.factory import factory
from ilfo.experts.actors import play_actor
from ilfo.experts.sources import find_actor, load_sb3

CARTPOLE = factory("CartPole-v1", 40)


def right(observation):
    return 1


@pytest.fixture(scope="module")
def sb3_files(tmp_path_factory):
    """Untrained models of Stable-Baselines3, with continuous and with discrete actions."""
    sb3 = pytest.importorskip("stable_baselines3")
    folder = tmp_path_factory.mktemp("sb3")
    small = {"net_arch": [8]}
    sb3.PPO("MlpPolicy", "CartPole-v1", policy_kwargs=small, seed=0).save(folder / "ppo.zip")
    sb3.SAC("MlpPolicy", "Pendulum-v1", policy_kwargs=small, seed=0).save(folder / "sac.zip")
    return folder


@pytest.mark.parametrize(("algorithm", "env"), [("ppo", "CartPole-v1"), ("sac", "Pendulum-v1")])
def test_a_model_of_sb3_acts_as_it_would_there(algorithm, env, sb3_files, monkeypatch):
    import stable_baselines3 as sb3

    env_factory, file = factory(env), sb3_files / f"{algorithm}.zip"
    theirs = getattr(sb3, algorithm.upper()).load(file)

    def refuse(*_):
        raise AssertionError("a pickle was opened")

    monkeypatch.setattr("stable_baselines3.common.save_util.cloudpickle.loads", refuse)
    ours = find_actor(f"{algorithm}:{file}", env_factory, greedy=True)
    environment = env_factory.make()
    environment.observation_space.seed(0)
    for seed in range(5):
        observation, _ = environment.reset(seed=seed)
        np.testing.assert_array_equal(
            ours(observation), theirs.predict(observation, deterministic=True)[0]
        )


def test_an_agent_and_a_run_can_be_recorded(finished_run):
    for source in (finished_run, finished_run / "last.npz"):
        (episode,) = play_actor(
            CARTPOLE.make(), find_actor(str(source), CARTPOLE, greedy=True), episodes=1, seed=0
        )
        assert len(episode.states) == len(episode.actions) + 1 == len(episode.rewards) + 1


def test_episodes_are_seeded_and_keep_their_actions():
    play = lambda seed: list(play_actor(CARTPOLE.make(), right, episodes=3, seed=seed))
    first, again, other = play(0), play(0), play(1)
    assert [e.states.tobytes() for e in first] == [e.states.tobytes() for e in again]
    assert first[0].states.tobytes() != other[0].states.tobytes()
    assert all((episode.actions == 1).all() and episode.terminal for episode in first)


def test_the_command_records_a_function(tmp_path, capsys):
    out = tmp_path / "demos.npz"
    command = ["demos", "record", "--policy", "tests.experts.test_sources:right"]
    main([*command, "--env", "CartPole-v1", "--episodes", "4", "--out", str(out)])
    assert "trajectories  4" in capsys.readouterr().out
    demonstrations = Demonstrations.load(out, actions=True)
    assert demonstrations.metadata["policy"] == "tests.experts.test_sources:right"
    assert demonstrations.expert_return == pytest.approx(np.mean(demonstrations.lengths))
    assert all((trajectory.actions == 1).all() for trajectory in demonstrations)
    with pytest.raises(SystemExit):
        main([*command, "--env", "CartPole-v1", "--out", str(out)])
    assert "exists already" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("nothing", "policy is 'nothing', but must be"),
        ("no.module:act", "there is no function no.module:act"),
        ("math:nothing", "there is no function math:nothing"),
        ("math:pi", "math:pi is a float, not a function"),
        ("chess:x.zip", "has no algorithm 'chess'"),
        ("ppo:missing.zip", "there is no file missing.zip"),
    ],
)
def test_sources_that_cannot_act(source, message):
    with pytest.raises(ValueError, match=message):
        find_actor(source, CARTPOLE)


def test_a_file_that_is_no_model_is_named(tmp_path):
    (tmp_path / "bad.zip").write_bytes(b"no zip")
    with pytest.raises(ValueError, match=r"bad\.zip is not a model of Stable-Baselines3"):
        find_actor(f"ppo:{tmp_path / 'bad.zip'}", CARTPOLE)


def test_a_model_of_another_environment_is_refused(sb3_files):
    other = factory("MountainCar-v0")
    assert isinstance(other.make(), gym.Env)
    with pytest.raises(ValueError, match="cannot be read as ppo with an MlpPolicy for Mountain"):
        find_actor(f"ppo:{sb3_files / 'ppo.zip'}", other)


@pytest.mark.parametrize(
    ("env", "action"),
    [
        ("CartPole-v1", None),
        ("CartPole-v1", 7),
        ("CartPole-v1", 0.5),
        ("Pendulum-v1", 1.0),
        ("Pendulum-v1", [1.0, 1.0]),
        ("Pendulum-v1", [np.nan]),
        ("Pendulum-v1", "left"),
    ],
)
def test_actions_that_cannot_be_executed_are_refused(env, action):
    with pytest.raises(ValueError, match=r"the policy returned .* takes actions in (Discrete|Box)"):
        list(play_actor(factory(env).make(), lambda _: action, episodes=1, seed=0))


def test_what_is_recorded_is_what_was_executed():
    (episode,) = play_actor(factory("Pendulum-v1").make(), lambda _: [50.0], episodes=1, seed=0)
    assert (episode.actions == 2.0).all()
    assert episode.actions.dtype == np.float32


def test_a_stochastic_model_of_sb3_follows_the_seed(sb3_files):
    def play(seed):
        actor = find_actor(f"ppo:{sb3_files / 'ppo.zip'}", CARTPOLE, seed=seed)
        return [e.actions.tolist() for e in play_actor(CARTPOLE.make(), actor, episodes=3, seed=0)]

    assert play(0) == play(0)
    assert play(0) != play(1)


def test_a_function_in_the_current_folder_is_found(tmp_path, monkeypatch):
    (tmp_path / "mine_alone.py").write_text("def act(observation):\n    return 0\n")
    monkeypatch.chdir(tmp_path)
    assert find_actor("mine_alone:act", CARTPOLE)(None) == 0


def test_the_command_checks_everything_before_it_plays(tmp_path, capsys):
    command = ["demos", "record", "--policy", "no.module:act", "--env", "CartPole-v1"]
    for out, more, message in (
        ("new.csv", [], "new.csv must end in .npz"),
        ("nowhere/new.npz", [], "there is no folder"),
        ("new.npz", ["--episodes", "0"], "episodes is 0"),
    ):
        with pytest.raises(SystemExit):
            main([*command, "--out", str(tmp_path / out), *more])
        assert message in capsys.readouterr().err


def test_a_recording_says_how_to_make_it_again(tmp_path):
    out = tmp_path / "demos.npz"
    command = ["demos", "record", "--policy", "tests.experts.test_sources:right"]
    main([*command, "--env", "CartPole-v1", "--episodes", "2", "--horizon", "9", "--out", str(out)])
    rebuild = Demonstrations.load(out).metadata["rebuild"].split()
    again = tmp_path / "again.npz"
    main([str(again) if word == "FILE" else word for word in rebuild[1:]])
    states = lambda path: [trajectory.states.tobytes() for trajectory in Demonstrations.load(path)]
    assert states(again) == states(out)


def rezipped(source, target, **members):
    """A copy of a zip archive with some members replaced."""
    with zipfile.ZipFile(source) as archive:
        held = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in (held | members).items():
            archive.writestr(name, content)
    return target


@pytest.mark.parametrize(
    "members",
    [
        {"data": "[]"},
        {"data": "[" * 100_000},
        {"data": "5"},
        {"data": "\xff"},
        {"data": '{"policy_class": 5, "verbose": {}}'},
        {"data": '{"a": "' + "a" * 70_000_000 + '"}'},
        {"policy.pth": b""},
        {"policy.pth": b"\x80\x02cposix\nsystem\nX\x04\x00\x00\x00true\x85R."},
        {"pytorch_variables.pth": b"no zip"},
    ],
    ids=["list", "deep", "number", "text", "kinds", "large", "empty", "code", "damaged"],
)
def test_hostile_models_cost_one_line(members, sb3_files, tmp_path):
    file = rezipped(sb3_files / "ppo.zip", tmp_path / "hostile.zip", **members)
    with pytest.raises(ValueError, match=r"hostile\.zip (is not|cannot be read)"):
        find_actor(f"ppo:{file}", CARTPOLE)


class Command:
    """What runs a command where it is unpickled."""

    def __reduce__(self):
        return print, ("it was run",)


def saved_by_torch(held) -> bytes:
    torch = pytest.importorskip("torch")
    file = io.BytesIO()
    torch.save(held, file)
    return file.getvalue()


@pytest.mark.parametrize("name", ["policy.pth", "pytorch_variables.pth", "policy.optimizer.pth"])
def test_weights_that_would_run_code_are_not_advised_to_be_opened(
    name, sb3_files, tmp_path, capsys
):
    hostile = {name: saved_by_torch({"a": Command()})}
    file = rezipped(sb3_files / "ppo.zip", tmp_path / "hostile.zip", **hostile)
    with pytest.raises(ValueError, match="weights hold something other than tensors") as raised:
        find_actor(f"ppo:{file}", CARTPOLE)
    assert "weights_only" not in str(raised.value)
    assert "was run" not in capsys.readouterr().out


PICKLED = {":type:": "<class 'dict'>", ":serialized:": "gASVAA=="}


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ([], "its data are a list, expected an object"),
        (None, "its data are a NoneType, expected an object"),
        ({}, "it has no policy_class, observation_space, action_space"),
        (
            {"policy_kwargs": PICKLED},
            r"policy_kwargs are a pickle.*activation_fn.*file\.py:function",
        ),
        ({"policy_kwargs": None}, "policy_kwargs are None, expected an object"),
        ({"policy_kwargs": {"net_arch": {"pi": None}}}, "its networks are .*, expected numbers"),
        ({"policy_class": None}, "it is damaged, or was changed .TypeError"),
    ],
)
def test_what_is_wrong_with_a_description_is_said(data, message, sb3_files, tmp_path):
    source, target = sb3_files / "ppo.zip", tmp_path / "hostile.zip"
    if data:
        described(source, target, **data)
    else:
        rezipped(source, target, data=json.dumps(data))
    with pytest.raises(ValueError, match=rf"hostile\.zip (is not|cannot be read).*{message}"):
        find_actor(f"ppo:{target}", CARTPOLE)


def test_an_archive_without_weights_is_named(tmp_path):
    with zipfile.ZipFile(tmp_path / "other.zip", "w") as archive:
        archive.writestr("data", "{}")
    with pytest.raises(ValueError, match=r"other\.zip is not a model .*: it has no policy\.pth"):
        find_actor(f"ppo:{tmp_path / 'other.zip'}", CARTPOLE)


def described(source, target, **changes):
    """A copy of a model whose description is changed."""
    with zipfile.ZipFile(source) as archive:
        data = json.loads(archive.read("data"))
    return rezipped(source, target, data=json.dumps(data | changes))


@pytest.mark.parametrize(
    "networks",
    [
        {"net_arch": [30_000, 30_000]},
        {"net_arch": {"pi": [64], "vf": [10**9]}},
        {"net_arch": [{"pi": [30_000, 30_000], "vf": [4]}]},
        {"net_arch": {"pi": 5}},
        {"net_arch": 5},
        {"net_arch": ["x"]},
        {"net_arch": [10**9, -(10**9)]},
        {"n_critics": 10**9},
    ],
)
def test_networks_larger_than_the_weights_are_not_made(networks, sb3_files, tmp_path, monkeypatch):
    file = described(sb3_files / "ppo.zip", tmp_path / "hostile.zip", policy_kwargs=networks)
    import stable_baselines3

    monkeypatch.setattr(stable_baselines3.PPO, "load", lambda *_, **__: pytest.fail("was made"))
    with pytest.raises(ValueError, match=r"hostile\.zip is not a model"):
        find_actor(f"ppo:{file}", CARTPOLE)


def test_buffers_of_training_are_not_made(sb3_files, tmp_path):
    large = {"n_envs": 10**6, "n_steps": 10**9, "buffer_size": 10**12}
    file = described(sb3_files / "ppo.zip", tmp_path / "large.zip", **large)
    model = load_sb3("ppo", file, CARTPOLE)
    assert len(model.rollout_buffer.observations) == 1
