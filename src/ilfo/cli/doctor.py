"""`ilfo doctor`: do recordings fit an environment, and what held a run back?"""

from dataclasses import dataclass
from pathlib import Path

import tyro

from ilfo.cli.console import say
from ilfo.cli.recordings import LayoutOptions, stated
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

    def run(self) -> None:
        if self.run_directory is not None:
            if self.env or self.demos:
                raise ValueError("give either a run directory, or --env with --demos, not both")
            for finding in diagnose(RunDirectory.open(self.run_directory)):
                say(f"- {finding}")
            return
        if self.env is None or self.demos is None:
            raise ValueError("give a run directory, or both --env and --demos")
        self._check_recordings(self.env, self.demos)

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
        findings = spec.agent().findings
        for finding in findings:
            say(str(finding))
        if not findings:
            say(f"nothing speaks against imitating {demos} in {env}")
        if any(finding.wrong for finding in findings):
            raise SystemExit(1)


COMMANDS = {"doctor": Doctor}
