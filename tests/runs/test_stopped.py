"""What a run says when something stops it: the error as it is, and what is really on disk."""

import errno
import os
from pathlib import Path

import gymnasium as gym
import pytest
from jax.errors import JaxRuntimeError

from ilfo.agents.callbacks import Callback
from ilfo.cli import main
from ilfo.cli import train as command
from ilfo.rollouts import episodes
from ilfo.runs import machine
from ilfo.runs.csv_tables import append_rows
from ilfo.runs.launch import TrainingError, resume, start
from ilfo.storage.atomic import atomic, atomic_write_text
from tests.helpers.agents import CHANGES, HORIZON, MACHINE, STEP, small_spec


class Stop(Callback):
    """Raises an error after an iteration, before or behind the recorder."""

    def __init__(self, error: BaseException, iteration: int):
        self.error, self.iteration = error, iteration

    def on_iteration(self, agent, log):
        if agent.iteration == self.iteration:
            raise self.error


def lost() -> OSError:
    return ConnectionResetError(errno.ECONNRESET, "the simulator is gone")


def typed(demos: Path, run: Path) -> list[str]:
    """Options of a run of three iterations."""
    options = {
        "--env": "CartPole-v1",
        "--demos": demos,
        "--horizon": HORIZON,
        "--seeds": 3,
        "--total-timesteps": 3 * STEP,
        "--out": run,
    }
    return [str(word) for pair in options.items() for word in pair]


def test_an_os_error_of_the_environment_stays_and_says_what_is_kept(demos_file, tmp_path):
    run = tmp_path / "run"
    with pytest.raises(ConnectionResetError, match="the simulator is gone") as raised:
        start(small_spec(demos_file, 3), run, MACHINE, [Stop(lost(), 2)])
    assert raised.value.__notes__ == [f"kept up to iteration 2; continue with: ilfo resume {run}"]


@pytest.mark.parametrize(
    ("full", "said"),
    [
        (MemoryError(), ""),
        (JaxRuntimeError("RESOURCE_EXHAUSTED: 8 GiB"), " (RESOURCE_EXHAUSTED: 8 GiB)"),
    ],
    ids=["python", "jax"],
)
def test_too_little_memory_is_no_traceback(full, said, demos_file, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(machine, "set_up", lambda _: MACHINE)
    run = tmp_path / "run"
    monkeypatch.setattr(command, "_tensorboard", lambda *_: [Stop(full, 2)])
    with pytest.raises(SystemExit) as end:
        main(["train", *typed(demos_file, run), "--set", *CHANGES])
    assert end.value.code == 2
    kept = f"kept up to iteration 2; continue with: ilfo resume {run}"
    assert capsys.readouterr().err == f"error: there is not enough memory{said}; {kept}\n"


class Unreachable(gym.Wrapper):
    reachable = True

    def step(self, action):
        if not Unreachable.reachable:
            raise lost()
        return super().step(action)


class Disconnect(Callback):
    def on_phase(self, agent, doing):
        Unreachable.reachable = doing != "preparing"  # the recordings were compared before


def test_without_a_checkpoint_nobody_is_sent_to_resume(demos_file, tmp_path, monkeypatch):
    name = "UnreachableCartPole-v0"
    monkeypatch.setattr(Unreachable, "reachable", True)
    make = lambda: Unreachable(gym.make("CartPole-v1").unwrapped)
    gym.register(name, make, max_episode_steps=500)
    try:
        with pytest.raises(ConnectionResetError) as raised:
            start(small_spec(demos_file, 3, env=name), tmp_path / "run", MACHINE, [Disconnect()])
    finally:
        del gym.registry[name]
    (note,) = raised.value.__notes__
    assert note == f"no iteration was finished, so nothing is kept in {tmp_path / 'run'}"


def test_what_is_kept_is_what_is_on_disk(demos_file, tmp_path, monkeypatch):
    """The evaluation after an iteration fails, so its checkpoint is never written."""
    run, played = tmp_path / "run", []
    whole = episodes._round

    def breaking(*args):
        played.append(args)
        if len(played) > 10:  # two evaluations of three seeds and an iteration
            raise AttributeError("a bug of the environment")
        return whole(*args)

    monkeypatch.setattr(episodes, "_round", breaking)
    with pytest.raises(TrainingError, match="failed; kept up to iteration 1; continue") as raised:
        start(small_spec(demos_file, 3), run, MACHINE)
    assert isinstance(raised.value.__cause__, AttributeError)
    monkeypatch.undo()
    assert resume(run, MACHINE)["online_samples"] == 3 * STEP


@pytest.fixture
def interrupting(monkeypatch) -> list[str]:
    """The commands, in which the user presses Ctrl-C after an iteration; what they say."""
    said: list[str] = []
    monkeypatch.setattr(machine, "set_up", lambda _: MACHINE)
    monkeypatch.setattr(command, "say", said.append)
    stop = lambda *args, **more: [Stop(KeyboardInterrupt(), 2)]
    monkeypatch.setattr(command, "_tensorboard", stop)
    return said


def test_both_commands_say_how_to_go_on(interrupting, demos_file, tmp_path):
    run = tmp_path / "run"
    expected = f"stopped; kept up to iteration 2; continue with: ilfo resume {run}"
    with pytest.raises(SystemExit) as end:
        main(["train", *typed(demos_file, run), "--set", *CHANGES])
    assert (end.value.code, interrupting) == (130, [expected])
    command._tensorboard = lambda *_: [Stop(KeyboardInterrupt(), 3)]
    with pytest.raises(SystemExit) as end:
        main(["resume", str(run)])
    assert (end.value.code, interrupting[1:]) == (130, [expected.replace("2", "3", 1)])


def test_a_stop_before_anything_is_written(interrupting, monkeypatch, tmp_path):
    def stop(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(command, "start", stop)
    with pytest.raises(SystemExit):
        main(["train", "--out", str(tmp_path / "run")])
    assert interrupting == [
        f"stopped; no iteration was finished, so nothing is kept in {tmp_path / 'run'}"
    ]


class FullDisk:
    """An open file on a disk without space."""

    def __init__(self, file):
        self._file = file

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._file.close()

    def __getattr__(self, name):
        return getattr(self._file, name)

    def write(self, _):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.fixture
def full_disk(monkeypatch):
    real = open
    for module in ("ilfo.storage.atomic", "ilfo.runs.csv_tables"):
        monkeypatch.setattr(
            f"{module}.open",
            lambda path, mode="r", **more: (
                real(path, mode, **more) if mode in ("r", "rb") else FullDisk(real(path, mode))
            ),
            raising=False,
        )


def test_a_full_disk_names_the_file(full_disk, tmp_path):
    for path, write in (
        (tmp_path / "summary.json", lambda path: atomic_write_text(path, "{}")),
        (tmp_path / "metrics.csv", lambda path: append_rows(path, [{"iteration": 1}])),
    ):
        with pytest.raises(OSError, match=rf"No space left on device: '.*{path.name}'"):
            write(path)


def test_other_errors_of_a_file_name_it_and_not_the_temporary_one(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"No such file or directory: '.*/nowhere/a.npz'$"):
        atomic_write_text(tmp_path / "nowhere" / "a.npz", "")
    with pytest.raises(OSError, match=r"No such file .*'other'"), atomic(tmp_path / "a.npz"):
        Path("other").read_bytes()
