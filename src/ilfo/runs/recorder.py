"""The callback that writes a run directory: metrics, timings, checkpoint, summary and figure.

The rows of an iteration are written before its checkpoint. If the process dies, `resume` removes
the rows after the last checkpoint, so that at most one iteration is lost.
"""

import math
import time
from collections.abc import Mapping, Sequence
from typing import Any

from ilfo.agents import saving
from ilfo.agents.agent import Agent
from ilfo.agents.callbacks import Callback, Callbacks
from ilfo.agents.method import Selection
from ilfo.agents.seeds import one_seed
from ilfo.rollouts.episodes import mean_return
from ilfo.rollouts.scores import mean_known, random_return, score
from ilfo.runs.curves import draw_curves
from ilfo.runs.directory import RunDirectory
from ilfo.runs.doctor import findings
from ilfo.runs.integrity import ENTRY

CURVE_EPISODES = 10
"""Evaluation episodes per iteration."""
FINAL_EPISODES = 50
"""Evaluation episodes of the selected policies."""

RETURNS = ("greedy_return", "stochastic_return")


class Recorder(Callback):
    """Writes the files of a run while an agent learns."""

    def __init__(
        self,
        run: RunDirectory,
        facts: Mapping[str, Any],
        every: int = 1,
        remarks: Sequence[str] = (),
    ):
        """`facts` and `remarks` are copied to the summary. Policies are evaluated every `every`
        iterations, on environment steps that do not count as online samples."""
        self.run, self.facts, self.every, self.remarks = run, dict(facts), every, list(remarks)
        self._spent = {"evaluate": 0.0, "save": 0.0}
        self._before: dict[str, float] = {}
        self.measured: dict[str, list[float]] = {}
        """Returns of the last iteration, by seed; empty if it was not evaluated."""

    def on_iteration(self, agent: Agent, log: Mapping[str, Any]) -> None:
        began = time.perf_counter()
        rows = [self._row(agent, log, index) for index in range(len(agent.seeds))]
        self.measured = {
            name: [row[name] for row in rows] for name in RETURNS if rows[0][name] is not None
        }
        evaluated = time.perf_counter()
        self.run.append("metrics", rows)
        self.run.append("timings", self._timing(agent, evaluated - began))
        # last: a run that is killed before this repeats the iteration
        notes = {ENTRY: self.run.checksums(agent.iteration)}
        saving.save(agent, self.run.checkpoint, overwrite=True, notes=notes)
        self._spent["save"] = time.perf_counter() - evaluated

    def _row(self, agent: Agent, log: Mapping[str, Any], index: int) -> dict[str, Any]:
        row: dict[str, Any] = {
            "iteration": agent.iteration,
            "seed": agent.seeds[index],
            "online_samples": agent.online_samples,
        } | dict.fromkeys(RETURNS)
        if agent.iteration % self.every == 0:
            policy = one_seed(agent.state.policy, index)
            for name, greedy in zip(RETURNS, (True, False), strict=True):
                row[name] = _measure(agent, policy, index, greedy, CURVE_EPISODES)
        logged = {name: log.get(name) for name in agent.method.metrics}
        return row | {
            name: None if value is None else float(value[index]) for name, value in logged.items()
        }

    def _timing(self, agent: Agent, evaluate: float) -> dict[str, Any]:
        """Seconds of this iteration; the first one includes everything before it. The time of
        saving is in the row of the next iteration."""
        spent = {name: agent.seconds[name] - self._before.get(name, 0.0) for name in agent.seconds}
        self._before = dict(agent.seconds)
        return (
            {"iteration": agent.iteration}
            | spent
            | {
                "evaluate": evaluate,
                "save": self._spent["save"],
            }
        )

    def finish(self, agent: Agent) -> dict[str, Any]:
        """Evaluate the selected policies, write summary and figure, and return the summary."""
        began = time.perf_counter()
        demonstrations = agent.demonstrations
        chance = demonstrations.random_return
        if chance is None:
            chance = random_return(agent.factory.make(), episodes=FINAL_EPISODES, seed=0)
        expert = demonstrations.expert_return
        seeds = [self._final(agent, index, expert, chance) for index in range(len(agent.seeds))]
        spent = self._total(time.perf_counter() - began)
        summary = self.facts | {
            "env": agent.factory.name,
            "method": agent.method.name,
            "demonstrations": {
                "trajectories": agent.survey.trajectories,
                "states": agent.survey.states,
            },
            "online_samples": agent.online_samples,
            "expert_return": expert,
            "random_return": chance,
            "chosen_by": agent.method.selections[0].rule,
            "seeds": seeds,
            "mean": {
                name: mean_known([seed[name] for seed in seeds])
                for name in ("greedy_score", "stochastic_score")
            },
            "seconds": spent,
            "remarks": [
                *self.remarks,
                *(finding.text for finding in agent.findings),
                *agent.remarks(),
                *_remarks_on_returns(agent, seeds),
            ],
            "diagnosis": findings(self.run.rows("metrics"), seeds, self.run.config),
            "versions": agent.describe()["versions"],
        }
        self.run.write_summary(summary)
        draw_curves(self.run.rows("metrics"), expert, self.run.path / "curves.png", chance)
        return summary

    def _final(self, agent: Agent, index: int, expert, chance) -> dict[str, Any]:
        first, *others = (
            {"rule": selection.rule} | self._chosen_by(agent, selection, index, expert, chance)
            for selection in agent.method.selections
        )
        del first["rule"]
        floor = {"mmd_floor": self._last(agent.seeds[index]).get("mmd_floor")}
        result = {"seed": agent.seeds[index]} | first | (floor if "chosen_mmd" in first else {})
        return result | {"alternatives": others} if others else result

    def _last(self, seed: int) -> Mapping[str, Any]:
        """The last row of that seed in metrics.csv."""
        rows = [row for row in self.run.rows("metrics") if row["seed"] == seed]
        return rows[-1] if rows else {}

    def _chosen_by(
        self, agent: Agent, selection: Selection, index: int, expert, chance
    ) -> dict[str, Any]:
        """Scores of the policy that this rule selected."""
        choice = agent.choice(selection.rule)
        policy = one_seed(choice.policy, index)
        greedy = _measure(agent, policy, index, True, FINAL_EPISODES)
        stochastic = _measure(agent, policy, index, False, FINAL_EPISODES)
        iteration = int(choice.iteration[index])
        return {
            "greedy_return": greedy,
            "stochastic_return": stochastic,
            "greedy_score": score(greedy, expert, chance),
            "stochastic_score": score(stochastic, expert, chance),
            "chosen_at": iteration * agent.samples_per_iteration,
            "chosen_iteration": iteration,
            f"chosen_{selection.measure}": _known(float(choice.value[index])),
        }

    def _total(self, final: float) -> dict[str, float]:
        rows = self.run.rows("timings")
        names = ("compile", "collect", "improve", "evaluate", "save")
        total = {name: sum(row[name] for row in rows) for name in names}
        total["evaluate"] += final
        total["save"] += self._spent["save"]  # of the last iteration
        return total | {"total": sum(total.values())}


class WithReturns(Callbacks):
    """Other callbacks, whose log also has the returns that a recorder has just measured."""

    def __init__(self, recorder: Recorder, callbacks: Sequence[Callback]):
        super().__init__(callbacks)
        self.recorder = recorder

    def on_iteration(self, agent: Agent, log: Mapping[str, Any]) -> bool:
        return super().on_iteration(agent, {**log, **self.recorder.measured})


def _measure(agent: Agent, policy, index: int, greedy: bool, episodes: int) -> float:
    return mean_return(
        agent.play(policy, episodes=episodes, seed=agent.seeds[index], greedy=greedy)
    )


def _remarks_on_returns(agent: Agent, seeds: Sequence[Mapping[str, Any]]) -> list[str]:
    returns = [seed[name] for seed in seeds for name in RETURNS]
    if all(map(math.isfinite, returns)):
        return []
    return [
        f"rewards of {agent.factory.name} are not finite numbers, so returns and scores are "
        "unknown; training does not use them"
    ]


def _known(value: float) -> float | None:
    return value if math.isfinite(value) else None
