"""`ilfo tasks`. Needs neither JAX nor a simulator."""

from dataclasses import dataclass

from rich.table import Table

from ilfo.cli.console import console
from ilfo.common.text_tables import as_markdown, print_table
from ilfo.data.demonstrations import Demonstrations
from ilfo.environments.tasks import TASKS


@dataclass(frozen=True)
class ListTasks:
    """List the built-in tasks."""

    experts: bool = False
    """Print a table of the experts that recorded the bundled demonstrations instead."""
    markdown: bool = False
    """Print the table of the experts as Markdown."""

    def run(self) -> None:
        if self.experts or self.markdown:
            rows = expert_rows()
            print(as_markdown(rows)) if self.markdown else print_table(console, rows)
            return
        for task in TASKS.values():
            table = Table(show_header=False, box=None, title=task.name, title_justify="left")
            termination = " ".join((task.terminal.__doc__ or "").split())
            for label, text in (
                ("environment", task.environment),
                ("horizon", str(task.horizon)),
                ("observation", task.observation),
                ("reward", task.reward),
                ("termination", termination),
                ("initial states", task.reset),
                ("expert's return", f"about {task.expert_return:g}"),
                ("demonstrations", f"{task.demonstrations} of 50 by default"),
                (
                    "online samples",
                    f"{task.budget} by default; more for gail, gaifo, dacfo, ilpo",
                ),
            ):
                table.add_row(label, text)
            console.print(table, highlight=False)


def expert_rows() -> list[tuple[str, ...]]:
    """A header, then a row per task."""
    rows: list[tuple[str, ...]] = [
        ("task", "expert", "greedy", "random", "samples", "time", "seed")
    ]
    for task in TASKS.values():
        metadata = Demonstrations.load(task.path).metadata
        training = metadata["training"]
        rows.append(
            (
                f"`{task.name}`",
                f"{metadata['expert_return']:.1f} ± {metadata['expert_return_std']:.1f}",
                f"{metadata['expert_return_greedy']:.1f}",
                f"{metadata['random_return']:.1f}",
                f"{training['samples']:,}",
                f"{training['seconds']:.0f} s",
                str(metadata["seed"]),
            )
        )
    return rows


COMMANDS = {"tasks": ListTasks}
