"""`ilfo doctor`: do recordings fit an environment, and what held a run back?"""

from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np
import tyro

from ilfo.agents.agent import Agent
from ilfo.agents.sight import bounds
from ilfo.cli.console import say
from ilfo.cli.recordings import LayoutOptions, stated
from ilfo.data.plot import check_picture
from ilfo.environments.observing import dimension_labels
from ilfo.reports.figures import examination_figure, save_figure
from ilfo.runs.directory import RunDirectory
from ilfo.runs.doctor import diagnose
from ilfo.runs.spec import RunSpec


@dataclass(frozen=True)
class Doctor(LayoutOptions):
    """Check recordings against an environment, or ask what held a run back."""

    run_directory: tyro.conf.Positional[Path | None] = None
    """A run directory, finished or still running; or give --env with --demos."""
    env: str | None = None
    """Id of a Gymnasium environment, package:Id, package:Class or file.py:Class."""
    demos: str | None = None
    """Recordings: an .npz, .npy, .csv or .parquet file, a folder of such files, or minari:ID."""
    horizon: int | None = None
    """Maximum episode length; by default the environment's own time limit."""
    every: int | None = None
    """Control steps between two recorded states, e.g. 4; by default what the file says, or 1."""
    rate: str | None = None
    """In place of --every: frames per second of the recordings, e.g. 25Hz."""
    observe: tuple[str, ...] = ()
    """Dimensions of the state that the recordings hold, e.g. 0 1 5, `positions` (MuJoCo) or a
    part of a Dict such as achieved_goal; by default what the file says, or all."""

    picture: Path | None = None
    """Also plot recorded states over those of the environment to this file (.png)."""

    def run(self) -> None:
        if self.picture is not None:
            check_picture(self.picture)
        if self.run_directory is not None:
            self._check_alone()
            found = diagnose(RunDirectory.open(self.run_directory))
            for finding in found or ["this method measures no distance; look at its losses"]:
                say(f"- {finding}")
            return
        if self.env is None or self.demos is None:
            raise ValueError("give a run directory, or both --env and --demos")
        self._check_recordings(self.env, self.demos)

    def _check_alone(self) -> None:
        """A run directory knows itself what it was trained on."""
        if self.env or self.demos or self.picture:
            raise ValueError(
                "give either a run directory, or --env with --demos, not both; the picture of "
                "a run is in its report: ilfo report"
            )
        given = [
            f"--{field.name}"
            for field in fields(self)
            if field.name != "run_directory" and getattr(self, field.name) != field.default
        ]
        if given:
            raise ValueError(
                f"{', '.join(given)}: these are for --env with --demos; a run directory knows what "
                "it was trained on, so leave them out"
            )

    def _check_recordings(self, env: str, demos: str) -> None:
        every, observe = stated(env, self.horizon, self.every, self.rate, self.observe)
        spec = RunSpec(
            task=None,
            env=env,
            demos=demos,
            **self.layout(),
            every=every,
            observe=observe,
            horizon=self.horizon,
            total_timesteps=1,
        )
        agent = spec.agent()
        findings = agent.findings
        if self.picture is not None:
            self._draw(agent, self.picture)
        for finding in findings:
            say(str(finding))
        if not findings:
            say(f"nothing speaks against imitating {demos} in {env}")
        elif self.picture is None:
            say("a picture of both may show more: add --picture FILE.png")
        if any(finding.wrong for finding in findings):
            raise SystemExit(1)

    def _draw(self, agent: Agent, path: Path) -> None:
        recorded = np.asarray(agent.survey.steps.pairs)[:, 1]
        figure = examination_figure(
            recorded,
            agent.sight,
            bounds(agent.factory.observation_space, agent.problem),
            dimension_labels(agent.demonstrations, agent.factory),
        )
        save_figure(figure, path)
        say(f"{path}: recorded states in grey; random actions in blue, resets as ticks")


COMMANDS = {"doctor": Doctor}
