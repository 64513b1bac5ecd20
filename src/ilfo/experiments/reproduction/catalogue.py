"""The figures and tables of the paper, and which cells each of them shows.

The paper's images are not part of its text: where the text does not say which tasks or settings a
figure compares, ours has all six tasks (figure 3) or one, two, four and eight models (figure 7).
ILPO is for discrete actions, so it is not on Swimmer. Figure 2's Swimmer has 40 demonstrations.
"""

from collections.abc import Mapping
from dataclasses import replace

from ilfo.experiments.reproduction.bars import bar_rows, draw_bars
from ilfo.experiments.reproduction.claims import (
    against_baselines,
    optimism_matters,
    sooner_than_adversaries,
    sooner_than_baselines,
    two_models_suffice,
)
from ilfo.experiments.reproduction.curves import (
    curve_rows,
    draw_curves,
    draw_running,
    running_rows,
)
from ilfo.experiments.reproduction.demonstrations import (
    demonstration_rows,
    draw_demonstrations,
    more_demonstrations_help,
)
from ilfo.experiments.reproduction.exhibit import Exhibit, Panel, Series
from ilfo.experiments.reproduction.hyper_parameters import (
    draw_hyper_parameters,
    hyper_parameter_rows,
    hyper_parameters_agree,
)
from ilfo.experiments.reproduction.style import MOBILE, PAPERS
from ilfo.experiments.runner import find_cells
from ilfo.experiments.sweeps.methods import DISCRETE
from ilfo.experiments.sweeps.paper import DEMONSTRATIONS, MODELS
from ilfo.experiments.sweeps.tasks import CHEAP

TITLES = {
    "cartpole": "CartPole",
    "reacher": "Reacher",
    "swimmer": "Swimmer",
    "hopper": "Hopper",
    "walker2d": "Walker2d",
    "cartpole-stochastic": "CartPole, stochastic",
}
BASELINES = {"bc": "BC", "bco": "BC-O", "gail": "GAIL", "gaifo": "GAIfO", "ilpo": "ILPO"}
OBSERVING = ("bco", "gaifo", "ilpo")
"""Baselines that see no actions: figure 1 has these alone."""


def _series(
    label: str, sweep: str, cell: str, *, earlier: bool = False, if_there: bool = False
) -> Series:
    return Series(label, sweep, find_cells(sweep, [cell])[0], earlier, if_there)


def _against(task: str, baselines=tuple(BASELINES)) -> Panel:
    """MobILE, with the paper's settings too, and the baselines on a task. Where the paper's
    settings are costly, no more than what exists is shown."""
    series = [
        _series(MOBILE, "tasks", task),
        _series(PAPERS, "tasks", f"{task}-paper", earlier=True, if_there=task not in CHEAP),
    ]
    for method in baselines:
        if method != "ilpo" or task in DISCRETE:
            label = BASELINES[method]
            series.append(_series(label, "methods", f"{task}-{method}", earlier=True))
    return Panel(TITLES[task], tuple(series))


def _swimmer_40() -> Panel:
    """The paper's settings have earlier results with 40 demonstrations."""
    papers = _series(PAPERS, "tasks", "swimmer-paper", earlier=True, if_there=True)
    spec = replace(papers.cell.spec, trajectories=40)
    baselines = [name for name in BASELINES if name != "ilpo"]
    return Panel(
        "Swimmer, 40 demonstrations",
        (
            _series(MOBILE, "paper", "swimmer-40"),
            replace(papers, cell=replace(papers.cell, spec=spec)),
            *(_series(BASELINES[name], "paper", f"swimmer-40-{name}") for name in baselines),
        ),
    )


def _five() -> tuple[Panel, ...]:
    return (
        _against("cartpole"),
        _against("reacher"),
        _swimmer_40(),
        _against("hopper"),
        _against("walker2d"),
    )


def _with_and_without(task: str) -> Panel:
    series = [
        _series(MOBILE, "tasks", task),
        _series("without optimism", "tasks", f"{task}-no-bonus"),
    ]
    if task in CHEAP:
        without = "paper's settings, without optimism"
        series += [
            _series(PAPERS, "tasks", f"{task}-paper"),
            _series(without, "paper", f"{task}-paper-no-bonus"),
        ]
    return Panel(TITLES[task], tuple(series))


def _numbers_of_demonstrations(task: str, other: int) -> Panel:
    series = [_series(MOBILE, "tasks", task), _series(MOBILE, "paper", f"{task}-{other}")]
    if task in CHEAP:
        series += [
            _series(PAPERS, "tasks", f"{task}-paper"),
            _series(PAPERS, "paper", f"{task}-paper-{other}"),
        ]
    return Panel(TITLES[task], tuple(series))


def _numbers_of_models(title: str, cell: str) -> Panel:
    label = lambda count: f"{count} model{'s' if count > 1 else ''}"
    others = {count: _series(label(count), "paper", f"{cell}-models-{count}") for count in MODELS}
    by_count = others | {2: _series(label(2), "tasks", cell)}
    return Panel(title, tuple(by_count[count] for count in sorted(by_count)))


def _exhibits() -> tuple[Exhibit, ...]:
    curves = (curve_rows, draw_curves)
    return (
        Exhibit(
            "figure-1",
            "Best policies of the methods that see no actions",
            tuple(_against(task, OBSERVING) for task in ("reacher", "hopper", "walker2d")),
            bar_rows,
            draw_bars,
            against_baselines,
        ),
        Exhibit("figure-2", "Learning curves", _five(), *curves, sooner_than_baselines),
        Exhibit(
            "figure-2-bars",
            "Best policies of all methods (the bar plot in figure 2)",
            _five(),
            bar_rows,
            draw_bars,
            against_baselines,
        ),
        Exhibit(
            "figure-3",
            "With and without optimism",
            tuple(map(_with_and_without, TITLES)),
            *curves,
            optimism_matters,
        ),
        Exhibit(
            "figure-4",
            "Stochastic CartPole, 20 demonstrations",
            (_against("cartpole-stochastic"),),
            *curves,
            against_baselines,
        ),
        Exhibit(
            "figure-5",
            "Swimmer with 40 and with 10 demonstrations",
            (_swimmer_40(), replace(_against("swimmer"), title="Swimmer, 10 demonstrations")),
            *curves,
            against_baselines,
        ),
        Exhibit(
            "figure-6",
            "Running maxima",
            _five(),
            running_rows,
            draw_running,
            sooner_than_adversaries,
        ),
        Exhibit(
            "figure-7",
            "Number of models in the ensemble, CartPole",
            (
                _numbers_of_models("Our default", "cartpole"),
                _numbers_of_models("The paper's settings", "cartpole-paper"),
            ),
            *curves,
            two_models_suffice,
        ),
        Exhibit(
            "table-1",
            "Number of demonstrations",
            tuple(_numbers_of_demonstrations(*pair) for pair in DEMONSTRATIONS.items()),
            demonstration_rows,
            draw_demonstrations,
            more_demonstrations_help,
        ),
        Exhibit(
            "table-2",
            "Hyper-parameters",
            (),
            hyper_parameter_rows,
            draw_hyper_parameters,
            hyper_parameters_agree,
        ),
    )


EXHIBITS: Mapping[str, Exhibit] = {exhibit.name: exhibit for exhibit in _exhibits()}
"""By name."""


def find_exhibit(name: str) -> Exhibit:
    """The figure or table of that name."""
    if name not in EXHIBITS:
        raise ValueError(f"unknown figure {name!r}; choose one of {', '.join(EXHIBITS)}")
    return EXHIBITS[name]
