"""The hyper-parameter table (table 2) beside our presets. It needs no results."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ilfo.common.fitting import Adam
from ilfo.environments.tasks import find_task
from ilfo.experiments.reproduction.exhibit import Measured, Rows
from ilfo.experiments.reproduction.style import table_figure
from ilfo.methods.presets import find_settings

TASKS = ("cartpole", "reacher", "swimmer", "cartpole-stochastic", "hopper", "walker2d")
"""In the order of the paper's columns."""
OPEN = "follows from the task"
"""What our default leaves to the horizon or to the demonstrations."""


LEFT_OUT = (
    "Left out is what belongs to a task (horizon, expert performance) or is no setting here "
    "(non-linearities, which are the paper's; the range of the bonus)."
)


class Parameter(NamedTuple):
    name: str
    paper: tuple[str, ...]
    """The paper's values, one per task, or one for all."""
    of: Callable[[Any], Any]
    """The same of our settings."""

    def value(self, settings: Any) -> str:
        value = self.of(settings)
        return OPEN if value is None else value if isinstance(value, str) else f"{value:g}"


def _optimiser(part: Any) -> str:
    """As the paper writes it: with its batch size last."""
    batch = part.plan.batch_size
    chosen = part.optimiser
    if isinstance(chosen, Adam):
        return f"Adam({chosen.learning_rate:g}, {batch})"
    return f"SGD({chosen.learning_rate:g}, {chosen.momentum:g}, {batch})"


def _kept(settings: Any) -> str:
    """Weight of the old w: the paper's text has a step of 0.67, its table 0.33."""
    step = settings.discriminator.step
    return "exact" if step == 1 else f"{1 - step:g}"


def _critic_rest(settings: Any) -> str:
    adam = settings.planner.critic.optimiser
    return f"{adam.epsilon:g}, {adam.regularisation:g}"


_SAMPLES = ("2", "2", "2", "2", "8", "3")
TABLE_2 = (
    Parameter("online samples per iteration / H", _SAMPLES, lambda s: s.streams),
    Parameter(
        "width of the dynamics model",
        ("64", "64", "512", "64", "512", "512"),
        lambda s: s.dynamics.width,
    ),
    Parameter(
        "optimiser of the dynamics model (rate, momentum, batch)",
        ("SGD(0.005, 0.99, 256)",),
        lambda s: _optimiser(s.dynamics),
    ),
    Parameter(
        "passes over the data per iteration",
        ("20", "100", "100", "20", "50", "200"),
        lambda s: s.dynamics.plan.passes,
    ),
    Parameter(
        "gradient clipping of the dynamics model",
        ("2", "2", "1", "2", "4", "1"),
        lambda s: s.dynamics.clip,
    ),
    Parameter(
        "replay buffer / H", ("10", "10", "10", "10", "16", "15"), lambda s: s.buffer_horizons
    ),
    Parameter("models", ("2",), lambda s: s.dynamics.members),
    Parameter("weight of the old w", ("exact", "exact", "0.33", "exact", "exact", "exact"), _kept),
    Parameter("random features", ("128",), lambda s: s.discriminator.features),
    Parameter("bandwidth quantile", ("0.1",), lambda s: s.discriminator.bandwidth_quantile),
    Parameter(
        "width of the policy", ("64", "64", "64", "32", "32", "32"), lambda s: s.policy.width
    ),
    Parameter(
        "least log standard deviation",
        ("none", "none", "none", "none", "-1", "-2"),
        lambda s: s.policy.log_std_min,
    ),
    Parameter(
        "model samples per TRPO step / H",
        ("2", "10", "4", "4", "8", "20"),
        lambda s: s.imagined_streams,
    ),
    Parameter(
        "TRPO steps per iteration", ("3", "10", "20", "5", "10", "15"), lambda s: s.policy_steps
    ),
    Parameter(
        "CG iterations",
        ("50", "100", "100", "100", "10", "10"),
        lambda s: s.planner.cg_iterations,
    ),
    Parameter(
        "damping",
        ("0.001", "0.001", "0.001", "0.001", "0.0001", "0.0001"),
        lambda s: s.planner.damping,
    ),
    Parameter(
        "KL bound", ("0.01", "0.01", "0.01", "0.01", "0.025", "0.025"), lambda s: s.planner.kl
    ),
    Parameter("GAE λ", ("0.97",), lambda s: s.planner.critic.trace),
    Parameter("discount", ("0.995",), lambda s: s.planner.critic.discount),
    Parameter(
        "width of the critic",
        ("128", "128", "128", "32", "128", "128"),
        lambda s: s.planner.critic.width,
    ),
    Parameter(
        "optimiser of the critic (rate, batch)",
        ("Adam(0.001, 64)",),
        lambda s: _optimiser(s.planner.critic),
    ),
    Parameter(
        "ε and regularisation of the critic",
        ("1e-05, 0", "1e-05, 0", "1e-05, 0", "1e-05, 0", "1e-08, 0.001", "1e-08, 0.001"),
        _critic_rest,
    ),
    Parameter(
        "passes of the critic per TRPO step",
        ("1", "1", "1", "1", "2", "2"),
        lambda s: s.planner.critic.plan.passes,
    ),
)
"""The paper's table 2, without what `LEFT_OUT` names; networks have two hidden layers."""


def hyper_parameter_rows(measured: Sequence[Measured]) -> Rows:
    """The paper's value per task; where the preset `paper` has another, it is in brackets. Then
    our default."""
    rows: Rows = [("parameter", *TASKS, "our default")]
    for row in TABLE_2:
        entries = []
        for said, task in zip(_per_task(row), TASKS, strict=True):
            preset = row.value(_settings("paper", task))
            entries.append(said if said == preset else f"{said} [{preset}]")
        rows.append((row.name, *entries, row.value(_settings("default", TASKS[0]))))
    return rows


def draw_hyper_parameters(measured: Sequence[Measured]) -> Any:
    """The table as a figure."""
    return table_figure(hyper_parameter_rows(measured), size=7)


def hyper_parameters_agree(measured: Sequence[Measured]) -> str:
    """How many values of the table the preset `paper` has, and how many rows the default shares."""
    pairs = [
        (row, task, said)
        for row in TABLE_2
        for said, task in zip(_per_task(row), TASKS, strict=True)
    ]
    other = [row.name for row, task, said in pairs if row.value(_settings("paper", task)) != said]
    shared = [
        row.name
        for row in TABLE_2
        if set(_per_task(row)) == {row.value(_settings("default", TASKS[0]))}
    ]
    differs = f"; it differs in {', '.join(dict.fromkeys(other))}" if other else ""
    return (
        f"The preset `paper` has {len(pairs) - len(other)} of these {len(pairs)} values of the "
        f"paper{differs}. Our default has one value or rule for all tasks; it equals the paper's "
        f"on all of them in {len(shared)} of {len(TABLE_2)} rows: {', '.join(shared)}. {LEFT_OUT}"
    )


def _per_task(row: Parameter) -> tuple[str, ...]:
    return row.paper if len(row.paper) > 1 else row.paper * len(TASKS)


def _settings(preset: str, task: str) -> Any:
    return find_settings(preset, "mobile", find_task(task))
