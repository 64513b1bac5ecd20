"""The commands of `ilfo`, with what the help pages that list them print.

Nothing is imported for such a page. The module of a command is imported when it is called.
"""

from collections.abc import Mapping
from importlib import import_module
from typing import Any, NamedTuple


class Command(NamedTuple):
    module: str
    """Module in `ilfo.cli`; its table COMMANDS maps the command's name to its class."""
    summary: str
    """First line of the class's docstring."""

    def load(self, name: str) -> Any:
        return import_module(f"ilfo.cli.{self.module}").COMMANDS[name]


class Group(NamedTuple):
    summary: str
    commands: Mapping[str, "Command | Group"]
    beginning: str = ""
    """Commands to try first."""


BEGINNING = """\
Begin with a built-in task:
  ilfo train --out runs/demo           CartPole, from bundled recordings
  ilfo report runs/demo                result, curves and film as a page

With recordings and an environment of your own:
  ilfo demos inspect FILE              what is in the recordings?
  ilfo doctor --env ID --demos FILE    do they fit the environment?
  ilfo train --env ID --demos FILE --total-timesteps 30000 --out runs/mine
  ilfo doctor runs/mine                did it work? if not, what to try?
  ilfo export runs/mine policy.onnx    the policy, for other programs"""


ROOT = Group(
    "Imitation learning from observations alone.",
    {
        "train": Command("train", "Train a policy on a built-in task or on your own environment."),
        "resume": Command("train", "Resume a run that was stopped."),
        "evaluate": Command("train", "Evaluate the selected policies of a run."),
        "sweep": Command("sweep", "Train all runs of a sweep that a TOML file describes."),
        "report": Command("report", "Write a report of a run, or of several, as one HTML file."),
        "compare": Command(
            "report", "Compare runs: a table and learning curves, grouped by what differs."
        ),
        "export": Command(
            "export", "Write the policy of a run to a file that other programs can act with."
        ),
        "doctor": Command(
            "doctor", "Check recordings against an environment, or ask what held a run back."
        ),
        "settings": Command(
            "settings", "List the hyper-parameters that `ilfo train --set` can change."
        ),
        "tasks": Command("tasks", "List the built-in tasks."),
        "demos": Group(
            "Inspect, record, convert or alter demonstrations.",
            {
                "inspect": Command("demos", "Show what a demonstration file contains."),
                "record": Command("demos", "Record demonstrations of a policy."),
                "convert": Command("demos", "Convert demonstrations to another format."),
                "thin": Command(
                    "demos", "Keep every n-th state, as a camera with a lower frame rate would."
                ),
                "select": Command(
                    "demos",
                    "Keep some dimensions of the states, as sensors that miss the others would.",
                ),
                "noise": Command("demos", "Add noise, as sensors do."),
                "clip": Command("demos", "Cut short clips that begin anywhere."),
                "velocities": Command(
                    "demos", "Add the velocities of recorded positions, by finite differences."
                ),
            },
        ),
        "expert": Group(
            "Train an expert on the true reward, record it.",
            {
                "train": Command(
                    "expert",
                    "Train an expert on the true reward: TRPO for a built-in task, SAC for any Box "
                    "of actions.",
                ),
                "record": Command(
                    "expert",
                    "Record an expert that `ilfo expert train` trained in an environment.",
                ),
            },
        ),
        "bench": Group(
            "Run a sweep of experiments, print its tables, plot it.",
            {
                "run": Command("bench", "Run the cells of a sweep that have no results yet."),
                "table": Command("bench", "Print a table of a sweep's results."),
                "plot": Command("bench", "Plot the learning curves and scores of a sweep."),
            },
        ),
        "reproduce": Command(
            "reproduce", "Make the figures and tables of the MobILE paper, or list them."
        ),
        "theory": Group(
            "Run numerical studies of the theory.",
            {
                "explore": Command(
                    "theory",
                    "Why exploration is needed: regret in the bandit to which imitation reduces.",
                ),
                "actions": Command(
                    "theory",
                    "Imitation with actions needs one demonstration; without, regret grows like "
                    "√A.",
                ),
                "tabular": Command(
                    "theory",
                    "Tabular MobILE: the gap falls to a floor set by demonstrations; without bonus "
                    "it stalls.",
                ),
                "calibration": Command(
                    "theory",
                    "How often each uncertainty covers the model error, compared with 1 - delta.",
                ),
                "knr": Command(
                    "theory",
                    "MobILE with a KNR on a pendulum: regret and information gain, compared with "
                    "their bounds.",
                ),
            },
        ),
    },
    BEGINNING,
)
