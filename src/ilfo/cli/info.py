"""Commands that tell what can be asked for: tasks and settings."""

from dataclasses import dataclass

import tyro
from rich.table import Table

from ilfo.cli.console import console
from ilfo.cli.settings_table import differences, settings_table
from ilfo.cli.train import MethodName
from ilfo.common.text_tables import as_markdown, print_table
from ilfo.data.demonstrations import Demonstrations
from ilfo.environments.tasks import TASKS, Task, find_task
from ilfo.methods import METHODS
from ilfo.methods.presets import find_settings


@dataclass(frozen=True)
class ListTasks:
    """Tell what the tasks are that ship with demonstrations."""

    experts: bool = False
    """Only what the cards of their demonstrations say of the experts."""
    markdown: bool = False
    """That table for a page of documentation instead of a terminal."""

    def run(self) -> None:
        if self.experts or self.markdown:
            rows = expert_rows()
            print(as_markdown(rows)) if self.markdown else print_table(console, rows)
            return
        for task in TASKS.values():
            table = Table(show_header=False, box=None, title=task.name, title_justify="left")
            ends = " ".join((task.terminal.__doc__ or "").split())
            for label, text in (
                ("environment", task.environment),
                ("horizon", str(task.horizon)),
                ("observation", task.observation),
                ("reward", task.reward),
                ("ends", ends),
                ("first states", task.reset),
                ("expert's return", f"about {task.expert_return:g}"),
                ("demonstrations", f"{task.demonstrations} of 50 by default"),
                ("online samples", f"{task.budget} by default"),
                ("preset", f"general with {_preset(task)}"),
            ):
                table.add_row(label, text)
            console.print(table, highlight=False)


@dataclass(frozen=True)
class ListSettings:
    """List the hyper-parameters that `ilfo train --set` can change."""

    method: tyro.conf.Positional[MethodName] = "mobile"
    """Which method."""
    task: str | None = None
    """Of this task; otherwise of the preset for unknown environments."""
    preset: str = "default"
    """Named hyper-parameters."""

    def run(self) -> None:
        if self.method not in METHODS:
            raise ValueError(f"unknown method {self.method!r}; there are: {', '.join(METHODS)}")
        task = find_task(self.task) if self.task else None
        chosen = find_settings(self.preset, self.method, task)
        console.print(settings_table(chosen))


def expert_rows() -> list[tuple[str, ...]]:
    """A header, then a row per task."""
    rows: list[tuple[str, ...]] = [
        ("task", "expert", "greedy", "random", "samples", "time", "seed")
    ]
    for task in TASKS.values():
        card = Demonstrations.load(task.path).metadata
        training = card["training"]
        rows.append(
            (
                f"`{task.name}`",
                f"{card['expert_return']:.1f} ± {card['expert_return_std']:.1f}",
                f"{card['expert_return_greedy']:.1f}",
                f"{card['random_return']:.1f}",
                f"{training['samples']:,}",
                f"{training['seconds']:.0f} s",
                str(card["seed"]),
            )
        )
    return rows


def _preset(task: Task) -> str:
    """How a task's own settings differ from those for unknown environments."""
    changed = differences(find_settings("default", task=task), find_settings("general"))
    return ", ".join(f"{name}={value}" for name, value in changed.items())
