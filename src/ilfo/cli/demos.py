"""`ilfo demos`: inspect, record, convert and alter demonstrations."""

import abc
import shlex
from dataclasses import dataclass, field
from pathlib import Path

import tyro

from ilfo.cli.console import say
from ilfo.cli.recordings import LayoutOptions, stated
from ilfo.common.parsing import separate
from ilfo.common.validation import require_at_least
from ilfo.data import altered
from ilfo.data.demonstrations import Demonstrations
from ilfo.data.describe import describe
from ilfo.data.files import check_place
from ilfo.data.npz import PICKLES, check_new
from ilfo.data.plot import check_picture, draw_demonstrations
from ilfo.environments.factory import factory
from ilfo.environments.observing import columns
from ilfo.environments.tasks import TASKS, find_task
from ilfo.experts.actors import play_actor
from ilfo.experts.record import with_metadata
from ilfo.experts.sources import find_actor
from ilfo.storage.provenance import commit


@dataclass(frozen=True)
class Inspect(LayoutOptions):
    """Show what a demonstration file contains."""

    file: tyro.conf.Positional[str]
    """An .npz, .npy, .csv or .parquet file, a folder of such files, or minari:ID."""

    picture: Path | None = None
    """Also plot state distributions and the first trajectories to this file (.png)."""
    env: str | None = None
    """Also say what kind of recordings these are for this environment, and what to expect of which
    method: an id, package:Id, package:Class or file.py:Class."""
    horizon: int | None = None
    """With --env: maximum episode length; by default the environment's own time limit."""
    every: int | None = None
    """With --env: control steps between two recorded states, if the file does not say it."""
    rate: str | None = None
    """With --env, in place of --every: frames per second, e.g. 25Hz."""
    observe: tuple[str, ...] = ()
    """With --env: dimensions of the state that the recordings hold, if the file does not say it."""
    results: Path = Path("results")
    """With --env: folder of measured results, as in a clone of the repository."""

    def run(self) -> None:
        if self.picture is not None:
            check_picture(self.picture)
        told = self.every is not None or self.rate is not None or self.observe
        if self.env is None and told:
            raise ValueError("--every, --rate and --observe go with --env")
        demonstrations = self.load(self.file)
        advice = [] if self.env is None else ["", *self._advice(self.env)]
        say("\n".join([describe(demonstrations), *advice]))
        if self.picture is not None:
            draw_demonstrations(demonstrations, self.picture)

    def _advice(self, env: str) -> list[str]:
        from ilfo.experiments.advice import advice  # takes a while to import
        from ilfo.runs.spec import RunSpec

        every, observe = stated(env, self.horizon, self.every, self.rate, self.observe)
        spec = RunSpec(
            task=None,
            env=env,
            demos=self.file,
            **self.layout(),
            every=every,
            observe=observe,
            horizon=self.horizon,
            total_timesteps=1,
        )
        return advice(spec.agent(), self.results)


@dataclass(frozen=True)
class Convert(LayoutOptions):
    """Convert demonstrations to another format."""

    source: tyro.conf.Positional[str]
    """What `ilfo train --demos` takes, or a list of episodes (.pt, .pkl)."""
    out: str
    """Output: .npz, .parquet, .csv or .npy, a folder of .npy files if it has no such ending, or
    minari:ID; must not exist."""
    horizon: int | None = None
    """For a list of episodes: maximum episode length; an episode of that length is truncated."""
    actions: bool = False
    """Keep the actions too; by default only the states are kept."""
    expert_return: float | None = None
    """The expert's mean return, from which scores are computed, where the recordings do not say
    it."""
    large: bool = False
    """Read a compressed file even if it unpacks to far more than its size."""

    def run(self) -> None:
        check_place(self.out)
        demonstrations = self._read()
        if self.expert_return is not None:
            demonstrations = demonstrations.with_expert_return(self.expert_return)
        demonstrations.save(self.out)
        say(describe(demonstrations))
        lost = demonstrations.left_out_of(self.out)
        if lost:
            say(f"{self.out} has no place for: {', '.join(lost)}")

    def _read(self) -> Demonstrations:
        episodes = Path(self.source).suffix.lower() in PICKLES
        if not episodes and self.horizon is not None:
            raise ValueError("--horizon is for lists of episodes (.pt, .pkl); leave it out")
        if episodes:
            return self._read_episodes()
        return self.load(self.source, actions=self.actions, large=self.large)

    def _read_episodes(self) -> Demonstrations:
        """From a pickle: there `terminal` is about the episodes without done flags."""
        if self.horizon is None:
            raise ValueError(
                f"{self.source} is a list of episodes; give their maximum length by --horizon, to "
                "tell terminated episodes from truncated ones"
            )
        terminal = self.layout()["terminal"]
        if self.states or self.episode or isinstance(terminal, str):
            raise ValueError(
                f"{self.source} is a list of episodes, not a table with columns; leave --states "
                "and --episode out, and give --terminal as true or false"
            )
        return Demonstrations.from_episodes(
            self.source,
            horizon=self.horizon,
            terminal=terminal,
            actions=self.actions,
            clips=self.clips,
            large=self.large,
        )


@dataclass(frozen=True)
class Record:
    """Record demonstrations of a policy.

    A policy that is given as module:function maps an observation to an action.
    """

    policy: str
    """Directory of a run or an expert, agent .npz, ALGORITHM:FILE.zip (Stable-Baselines3),
    module:function or file.py:function."""
    env: str
    """Id of a Gymnasium environment, package:Id, package:Class or file.py:Class."""
    out: Path
    """Output file (.npz); must not exist."""
    episodes: int = 50
    """Number of trajectories to record."""
    seed: int = 0
    """Seed of the episodes."""
    horizon: int | None = None
    """Maximum episode length; by default the environment's own time limit."""
    greedy: bool = False
    """Act greedily if the policy is stochastic."""

    def run(self) -> None:
        check_new(self.out)
        require_at_least(self, 1, "episodes")
        environments = factory(self.env, self.horizon)
        actor = find_actor(self.policy, environments, seed=self.seed, greedy=self.greedy)
        environment = environments.make()
        episodes = list(play_actor(environment, actor, episodes=self.episodes, seed=self.seed))
        metadata = {
            "policy": self.policy,
            "greedy": self.greedy,
            "commit": commit(),
            "rebuild": shlex.join(self._command()),
        }
        demonstrations = with_metadata(environments, episodes, self.seed, metadata)
        demonstrations.save(self.out)
        say(describe(demonstrations))

    def _command(self) -> list[str]:
        command = ["ilfo", "demos", "record", "--policy", self.policy, "--env", self.env]
        command += ["--episodes", str(self.episodes), "--seed", str(self.seed), "--out", "FILE"]
        if self.horizon is not None:
            command += ["--horizon", str(self.horizon)]
        return command + (["--greedy"] if self.greedy else [])


@dataclass(frozen=True)
class Altered(abc.ABC):
    """What the commands that make other recordings have in common."""

    source: tyro.conf.Positional[str]
    """What `ilfo train --demos` takes, or a built-in task, for the recordings that belong to it;
    `ilfo demos convert` reads other files."""
    out: tyro.conf.Positional[Path]
    """Output file (.npz); must not exist."""
    terminal: str | None = field(default=None, kw_only=True)
    """How the recordings of a table or of .npy files ended: true, false, or the column that says
    it."""

    def run(self) -> None:
        check_new(self.out)
        demonstrations = self.alter(self._given())
        demonstrations.save(self.out)
        say(describe(demonstrations))

    def _given(self) -> Demonstrations:
        if self.source in TASKS and not Path(self.source).exists():
            return find_task(self.source).load()
        return LayoutOptions(terminal=self.terminal).load(self.source)

    @abc.abstractmethod
    def alter(self, demonstrations: Demonstrations) -> Demonstrations:
        """The other recordings."""


@dataclass(frozen=True)
class Thin(Altered):
    """Keep every n-th state, as a camera with a lower frame rate would."""

    every: int
    """Control steps between two states that are kept."""

    def alter(self, demonstrations: Demonstrations) -> Demonstrations:
        return altered.thin(demonstrations, self.every)


@dataclass(frozen=True)
class Select(Altered):
    """Keep some dimensions of the states, as sensors that miss the others would."""

    dimensions: tuple[str, ...]
    """Numbers of the dimensions, from 0 on, or names where the recordings have them, e.g. 0 1 or
    achieved_goal."""
    env: str | None = None
    """An environment whose names of dimensions may be given, too, e.g. `positions` (MuJoCo): an id,
    package:Id, package:Class or file.py:Class."""

    def alter(self, demonstrations: Demonstrations) -> Demonstrations:
        return altered.select(demonstrations, self._places(demonstrations))

    def _places(self, demonstrations: Demonstrations) -> list[int | str]:
        """What is known by the environment alone, as numbers."""
        known = demonstrations.names or ()
        names = list(separate(self.dimensions, known))
        if self.env is None:
            return list(names)
        environment = factory(self.env, horizon=1).make()  # no episode is played
        places: list[int | str] = []
        for name in names:
            own = name in known or name.isdecimal()
            places += [name] if own else columns(name, demonstrations, environment)
        return places


@dataclass(frozen=True)
class Noise(Altered):
    """Add noise, as sensors do."""

    share: float
    """Its standard deviation, as a share of that of each dimension."""
    seed: int = 0
    """Seed of the noise."""

    def alter(self, demonstrations: Demonstrations) -> Demonstrations:
        return altered.noisy(demonstrations, self.share, self.seed)


@dataclass(frozen=True)
class Clip(Altered):
    """Cut short clips that begin anywhere."""

    states: int
    """States per clip."""
    shortest: int | None = None
    """Cut clips of unequal length: from so many states, 1 or more, to --states."""
    count: int = 20
    """Number of clips."""
    seed: int = 0
    """Seed of the draw."""

    def alter(self, demonstrations: Demonstrations) -> Demonstrations:
        return altered.clips(demonstrations, self.states, self.count, self.seed, self.shortest)


@dataclass(frozen=True)
class Velocities(Altered):
    """Add the velocities of recorded positions, by finite differences."""

    env: str
    """The environment whose state they are a part of: an id, package:Id, package:Class or
    file.py:Class."""
    horizon: int | None = None
    """Maximum episode length; by default the environment's own time limit."""
    every: int | None = None
    """Control steps between two recorded states, if the file does not say it."""
    rate: str | None = None
    """In place of --every: frames per second, e.g. 25Hz."""
    observe: tuple[str, ...] = ()
    """Dimensions of the state that the recordings hold, if the file does not say it."""

    def alter(self, demonstrations: Demonstrations) -> Demonstrations:
        from ilfo.agents.velocities import with_velocities  # takes a while to import

        every, observe = stated(self.env, self.horizon, self.every, self.rate, self.observe)
        if every is not None:
            demonstrations = demonstrations.recorded_every(every)
        if observe:
            demonstrations = demonstrations.holding(observe)
        return with_velocities(demonstrations, factory(self.env, self.horizon))


COMMANDS = {
    "inspect": Inspect,
    "record": Record,
    "convert": Convert,
    "thin": Thin,
    "select": Select,
    "noise": Noise,
    "clip": Clip,
    "velocities": Velocities,
}
