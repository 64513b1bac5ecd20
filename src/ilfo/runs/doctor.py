"""What held a run back, read from its metrics; finished or still running.

Every finding names what was measured and a setting to try. Distances are compared with the noise
floor: whether a policy does what the recordings show can be seen without a reward.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ilfo.runs import remedies
from ilfo.runs.directory import RunDirectory, RunError
from ilfo.runs.remedies import MORE_STEPS

Row = Mapping[str, Any]
Column = Callable[[str], np.ndarray]
"""Mean over seeds of a metric, for every iteration; NaN where it is missing."""
MATCHED = 2.0
"""Squared distances up to this multiple of the squared floor count as the expert's own."""
REACHED = 4.0
"""Those up to this multiple are near it: no cause is looked for."""
NEAR_UNTRAINED = 0.8
"""A distance above this share of the untrained policy's is hardly progress."""
BEHIND = 2.0
"""A seed whose distance is this multiple of the others' has stayed behind."""
SHORT = 0.2
"""Policy steps whose KL is below this share of its bound hardly move the policy."""
FEW = 0.3
"""Below this share of accepted policy steps, most were in vain."""
ALIKE = 1.02
"""Up to this multiple of the smallest distance, another one is no progress."""
COLLAPSED = 0.05
"""A policy that varies less than this share of what it did at first hardly explores."""


class Case(NamedTuple):
    """What is known of a run."""

    rows: Sequence[Row]
    """Those of metrics.csv."""
    seeds: Sequence[Row]
    """What the summary says of each; empty before the run has ended."""
    settings: Row
    actions: Row
    """The action space, as config.json has it; empty if it is unknown."""
    untrained: int
    """Iterations in which the untrained policy acted."""

    def column(self, name: str) -> np.ndarray:
        return _column(self.rows, name)

    def of_seed(self, seed: int, name: str) -> np.ndarray:
        return _column([row for row in self.rows if row["seed"] == seed], name)

    def advice(self, known: Mapping[str, str], most: int = 2) -> str:
        return remedies.remedies(self.settings, known, most)

    @property
    def floor(self) -> float:
        """The noise floor at the end; 0 if it is unknown."""
        return float(np.nan_to_num(_late(self.column("mmd_floor"))))

    @property
    def distance(self) -> float:
        """That of the policies that are returned; before the run has ended, the smallest so far."""
        returned = [seed.get("chosen_mmd") for seed in self.seeds]
        measured = [distance for distance in returned if distance is not None]
        if measured:
            return float(np.mean(measured))
        learned = [*self.column("mmd")[self.untrained :], *self.column("clone_mmd")]
        return float(np.nanmin(learned))


def diagnose(run: RunDirectory) -> list[str]:
    """Findings about a run: the outcome, what was remarked while it was trained, such as doubts
    about the recordings, and what may have held it back, the most important first. A method that
    measures no distance to the demonstrations has remarks only."""
    if run.config.get("kind") == "expert":
        raise RunError(
            f"{run.path} holds an expert, which imitates nobody; the doctor looks at runs of "
            "`ilfo train`. What the expert reached is in its metrics.csv"
        )
    if run.checkpoint.exists():
        run.check_files()
    rows = run.rows("metrics")
    if not rows:
        raise RunError(f"{run.path} has no finished iteration yet; there is nothing to examine")
    summary = run.read_summary()
    if summary is None:
        return findings(rows, [], run.config)
    try:
        found = findings(rows, summary["seeds"], run.config)
        # what is known of the recordings before what is guessed from the metrics
        return [*found[:1], *map(str, summary["remarks"]), *found[1:]]
    except (KeyError, TypeError, AttributeError) as error:
        raise RunError(
            f"{run.path / 'summary.json'} is not the summary of a run; `ilfo resume` writes "
            "it again"
        ) from error


def findings(rows: Sequence[Row], seeds: Sequence[Row], config: Row) -> list[str]:
    """The same, from the rows of metrics.csv, what the summary says of each seed, and the content
    of config.json."""
    if not np.isfinite(_column(rows, "mmd")).any():
        return []
    settings, problem = config.get("settings", {}), config.get("problem", {})
    if problem.get("feature_map") is not None:
        settings = {**settings, "inference": None}  # no actions are inferred from features
    case = Case(rows, seeds, settings, problem.get("actions", {}), _untrained(settings, rows))
    learned = case.column("mmd")[case.untrained :]
    if not np.isfinite(learned).any():
        return [*_only_untrained(case), *_causes(case, above=False)]
    above = _late(learned) ** 2 > REACHED * case.floor**2
    stalled = list(_stalled(case))
    return [
        *_outcome(case, stalled=bool(stalled)),
        *stalled,
        *_choice(case),
        *_behind(case),
        *_causes(case, above=above),
    ]


def _column(rows: Sequence[Row], name: str) -> np.ndarray:
    groups: dict[int, list[Row]] = {}
    for row in rows:
        groups.setdefault(row["iteration"], []).append(row)
    known = ([row[name] for row in group if row.get(name) is not None] for group in groups.values())
    return np.array([np.mean(values) if values else np.nan for values in known], float)


def _late(values: np.ndarray) -> float:
    """The mean over the last third; NaN if nothing is known."""
    last = values[-max(len(values) // 3, 1) :]
    return float(np.nanmean(last)) if np.isfinite(last).any() else np.nan


def _untrained(settings: Row, rows: Sequence[Row]) -> int:
    """Iterations in which the untrained policy acts: the first, and those that only explore."""
    if remedies.has(settings, "inference.explore"):
        return max(-(-settings["inference"]["explore"] // max(rows[0]["online_samples"], 1)), 1)
    return max(settings.get("explore", 1), 1)


def _only_untrained(case: Case) -> Iterator[str]:
    yield (
        f"only the untrained policy has acted so far ({case.rows[-1]['online_samples']} "
        f"environment steps), so nothing is known of the learned one; {_sooner(case)}"
    )


def _sooner(case: Case) -> str:
    """How the learned policy gets to act."""
    known = [w for path, w in remedies.ACT_SOONER.items() if remedies.has(case.settings, path)]
    return ", or ".join([f"give it {MORE_STEPS}", *known])


def _outcome(case: Case, *, stalled: bool) -> Iterator[str]:
    mmd, start, distance = case.column("mmd"), case.untrained, case.distance
    first, own = float(np.nanmean(mmd[:start])), case.floor
    noise = f"noise floor {own:.3g}" if own > 0 else "noise unknown"
    whose = "distance of the selected policy" if case.seeds else "smallest distance so far"
    against = f"{whose} {distance:.3g}, {noise}, untrained policy {first:.3g}"
    if REACHED * own**2 >= first**2:
        yield (
            f"the distance cannot tell the expert from the untrained policy ({against}): there are "
            "too few recordings or streams, or they are too short; record more episodes, or try "
            "more streams"
        )
    elif distance > NEAR_UNTRAINED * first:
        yield (
            f"hardly nearer to the recordings than the untrained policy ({against}); check the "
            "recordings with `ilfo doctor --env ID --demos FILE`"
            f"{'' if stalled else f', then give it {MORE_STEPS}'}"
        )
    elif distance**2 <= MATCHED * own**2:
        yield (
            f"the recordings are matched: the distance is within the noise of the recordings "
            f"({against})"
        )
    else:
        near = distance**2 <= REACHED * own**2
        said = (
            "near the recordings, but beyond their noise"
            if near
            else ("nearer than at the beginning, but not there")
        )
        yield f"{said} ({against}){'' if stalled else '; more steps may help'}"
    if (case.column("mmd_floor")[start:] == 0).any():
        yield (
            "with one recording the noise of the distance is unknown, so whether the recordings "
            "are matched cannot be said; a second recording shows it"
        )


def _stalled(case: Case) -> Iterator[str]:
    mmd, floor = case.column("mmd"), np.nan_to_num(case.column("mmd_floor"))
    learned = mmd[case.untrained :]
    if len(mmd) < 10 or not np.isfinite(learned).any():
        return
    good = learned <= ALIKE * np.nanmin(learned)
    best = case.untrained + int(good.argmax())
    stalls = len(mmd) - 1 - best
    if stalls > len(mmd) // 2 and mmd[best] ** 2 > REACHED * floor[best] ** 2:
        samples = sorted({row["online_samples"] for row in case.rows})[best]
        yield (
            f"no progress since iteration {best + 1} of {len(mmd)} ({samples} environment steps); "
            f"try {case.advice(remedies.LEARN_FASTER)}"
        )


def _choice(case: Case) -> Iterator[str]:
    unmeasured = [s["seed"] for s in case.seeds if "chosen_mmd" in s and s["chosen_mmd"] is None]
    if unmeasured:
        yield (
            f"the policy returned for {_listed(unmeasured)} has never acted, so its distance is "
            f"unknown; {_sooner(case)}"
        )
    early = [
        seed["seed"]
        for seed in case.seeds
        if seed["seed"] not in unmeasured and seed.get("chosen_iteration", 1) < 1
    ]
    if early:
        yield (
            f"the untrained policy was chosen for {_listed(early)}: nothing later came nearer to "
            f"the recordings; try {case.advice(remedies.LEARN_FASTER)}"
        )


def _behind(case: Case) -> Iterator[str]:
    """Seeds that a mean over seeds would hide."""
    seeds = sorted({row["seed"] for row in case.rows})
    last = {seed: _late(case.of_seed(seed, "mmd")) for seed in seeds}
    for seed in seeds:
        others = [last[other] for other in seeds if other != seed]
        usual = float(np.median(others)) if others else np.nan
        if last[seed] > BEHIND * usual and last[seed] ** 2 > REACHED * case.floor**2:
            yield (
                f"seed {seed} stayed behind: distance {last[seed]:.3g} at last, the others "
                f"{usual:.3g}; use the policy of another seed, or give it {MORE_STEPS}"
            )


def _causes(case: Case, *, above: bool) -> Iterator[str]:
    """What may have held the run back; `above` says that the distance is above the noise."""
    mmd, imagined = _late(case.column("mmd")), _late(case.column("imagined_mmd"))
    if above and imagined < 0.5 * mmd:
        yield (
            f"the model is too rosy: imagined distance {imagined:.3g}, real {mmd:.3g}; try "
            f"{case.advice(remedies.BETTER_MODEL, 4)}"
        )
    # asked for, noise is all that the model leaves unexplained; by itself it adds what it knows
    told = case.settings.get("dynamics", {}).get("stochastic") is None
    noise = np.nan_to_num(_late(case.column("model_noise"))) if told else 0.0
    if (loss := _late(case.column("model_loss")) - noise) > 0.3:
        yield (
            f"the model predicts little: it leaves {min(loss, 1):.0%} of the changes of state "
            f"unexplained{', noise aside' if noise else ''}; try "
            f"{case.advice(remedies.PREDICT_MORE)}"
        )
    if (share := _late(case.column("runaway_share"))) > 0.2:
        yield (
            f"{share:.0%} of the imagined trajectories run away; the model is unstable: try "
            f"{case.advice(remedies.STEADY_MODEL)}"
        )
    if above and (trust := _late(case.column("trust"))) < 0.2:
        yield (
            f"inferred actions explain little of the demonstrated steps (trust {trust:.2f}): the "
            f"agent has not been where the expert was (try {case.advice(remedies.SEE_MORE)}), or "
            "the recordings are at another rate (--every, --rate)"
        )
    if above and (confidence := _late(case.column("confidence"))) < 0.5:
        yield (
            f"the actions inferred for the demonstrated steps are uncertain (confidence "
            f"{confidence:.2f}); try {case.advice(remedies.SEE_MORE)}"
        )
    if (accepted := _late(case.column("accepted"))) < FEW:
        yield (
            f"only {accepted:.0%} of the policy steps were accepted; try "
            f"{case.advice(remedies.SURER_STEPS)}"
        )
    elif above:
        yield from _short_steps(case)
    if above:
        yield from _collapse(case)


def _short_steps(case: Case) -> Iterator[str]:
    """TRPO shortens steps in proportion to `reach`; where that is not small, longer steps would not
    have improved its objective, of which the pull is a part."""
    bound = case.settings["planner"]["kl"] if remedies.has(case.settings, "planner.kl") else 0.0
    kl, reach = _late(case.column("kl")), _late(case.column("reach"))
    if not kl < SHORT * bound:
        return
    said = f"policy steps are far shorter than allowed (KL {kl:.2g}, planner.kl {bound:g})"
    if reach < SHORT:
        imagined, mmd = _late(case.column("imagined_mmd")), _late(case.column("mmd"))
        yield (
            f"{said}, because little of the imagined distance counts as more than noise (reach "
            f"{reach:.2g}, imagined distance {imagined:.3g}, real {mmd:.3g}); try "
            f"{case.advice(remedies.BEYOND_NOISE)}"
        )
    else:
        yield (
            f"{said}, because longer ones gain nothing in the model; try "
            f"{case.advice(remedies.FREER_STEPS)}"
        )


def _collapse(case: Case) -> Iterator[str]:
    """Entropies of discrete actions are compared as they are; those of continuous ones may be
    negative, so standard deviations are compared, whose logarithms differ as entropies do."""
    entropy = case.column("entropy")
    entropy = entropy[np.isfinite(entropy)]
    if not len(entropy):
        return
    first, last = float(entropy[0]), float(entropy[-1])
    kind, dimensions = case.actions.get("type", ""), len(case.actions.get("low", ()))
    discrete = kind.endswith("DiscreteActions") and last < COLLAPSED * first
    continuous = kind == "BoxActions" and first - last > -np.log(COLLAPSED) * dimensions
    if discrete or continuous:
        yield (
            f"the policy hardly varies its actions any more (entropy {first:.2g} at first, "
            f"{last:.2g} at last), so it explores little; try "
            f"{case.advice(remedies.EXPLORE_LONGER)}"
        )


def _listed(seeds: Sequence[int]) -> str:
    return f"seed{'s' if len(seeds) > 1 else ''} {', '.join(map(str, seeds))}"
