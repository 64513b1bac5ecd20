"""What held a run back: metrics with a known fault, and what is said of them."""

import re
from pathlib import Path

import numpy as np
import pytest

from ilfo.agents.settings import walk
from ilfo.methods import METHODS
from ilfo.runs import remedies
from ilfo.runs.directory import RunDirectory, RunError
from ilfo.runs.doctor import diagnose, findings

GOOD = {
    "mmd": 0.06,
    "mmd_floor": 0.05,
    "imagined_mmd": 0.06,
    "model_loss": 0.02,
    "runaway_share": 0.0,
    "trust": 0.9,
    "confidence": 0.9,
    "accepted": 1.0,
    "entropy": 0.5,
}
FIRST = GOOD | {"mmd": 1.0, "imagined_mmd": 1.0}


DISCRETE = {"type": "DiscreteActions", "count": 2}
BOX = {"type": "BoxActions", "low": [-1, -1, -1], "high": [1, 1, 1]}
MOBILE = {
    "dynamics": {"width": 200, "plan": {"passes": 4}, "stochastic": None},
    "planner": {"kl": 0.02},
    "inference": {"explore": 80, "pull": 1.0},
    "floor": True,
    "streams": 2,
    "imagined_streams": None,
    "weight": 0.1,
}
GAIFO = {"planner": {"kl": 0.02}, "streams": 2}
BCO = {"cloning": {"plan": {"passes": 20}}, "streams": 2, "explore": 2}
DACFO = {"learner": {"target_entropy": None}, "streams": 1, "updates": 1.0}


def config(settings=MOBILE, actions=DISCRETE):
    return {"settings": settings, "problem": {"feature_map": None, "actions": actions}}


def rows(later, first=FIRST, iterations=12, seed=0):
    for number in range(1, iterations + 1):
        values = first if number == 1 else later(number) if callable(later) else later
        yield {"iteration": number, "seed": seed, "online_samples": 100 * number} | values


def diagnosed(tmp_path, later, first=FIRST, iterations=12, **described):
    with RunDirectory.create(tmp_path / "run", config(**described)) as run:
        for row in rows(later, first, iterations):
            run.append("metrics", [row])
        return diagnose(run)


def found(later, seeds=(), iterations=12, first=FIRST, **described):
    return "\n".join(findings(list(rows(later, first, iterations)), seeds, config(**described)))


def test_a_good_run_is_called_good_and_nothing_else(tmp_path):
    (only,) = diagnosed(tmp_path, GOOD)
    assert "the recordings are matched: the distance is within the noise of the recordings" in only
    assert "untrained policy 1)" in only


@pytest.mark.parametrize(
    ("chosen", "text"),
    [
        ((0.05, 0.06), "the recordings are matched"),
        ((0.05, 0.13), "near the recordings, but beyond their noise"),
        ((0.2, 0.2), "nearer than at the beginning, but not there"),
    ],
)
def test_the_policies_that_are_returned_are_judged_not_the_nearest_that_acted(chosen, text):
    """The floor is 0.05 and the nearest policy on the way had 0.03."""
    on_the_way = lambda number: GOOD | {"mmd": 0.03 if number == 5 else 0.06, "mmd_floor": 0.05}
    seeds = [{"seed": seed, "chosen_mmd": mmd} for seed, mmd in enumerate(chosen)]
    first, *_ = findings(list(rows(on_the_way)), seeds, config())
    assert first.startswith(text)
    assert f"distance of the selected policy {np.mean(chosen):.3g}" in first
    running, *_ = findings(list(rows(on_the_way)), [], config())
    assert "smallest distance so far 0.03" in running


def test_what_was_remarked_of_the_recordings_is_said_again(tmp_path):
    with RunDirectory.create(tmp_path / "run", config()) as run:
        for row in rows(GOOD):
            run.append("metrics", [row])
        run.write_summary({"seeds": [], "remarks": ["columns look exchanged"]})
        assert diagnose(run)[-1] == "columns look exchanged"


def test_a_distance_that_cannot_tell_the_untrained_policy_is_no_match():
    text = found(GOOD | {"mmd": 0.738, "mmd_floor": 0.525}, first=FIRST | {"mmd": 0.741})
    assert "cannot tell the expert from the untrained policy" in text
    assert "record more episodes, or try more streams" in text
    assert "matched" not in text


def test_what_is_as_far_as_the_untrained_policy_is_no_match():
    text = found(GOOD | {"mmd": 0.09}, first=FIRST | {"mmd": 0.105})
    assert "hardly nearer" in text
    assert "are matched" not in text


@pytest.mark.parametrize(
    ("fault", "text"),
    [
        ({"mmd": 0.9}, "hardly nearer to the recordings than the untrained policy"),
        ({"mmd": 0.3}, "nearer than at the beginning, but not there"),
        ({"mmd": 0.5, "imagined_mmd": 0.1}, "the model is too rosy"),
        ({"model_loss": 0.6}, "leaves 60% of the changes of state unexplained"),
        ({"runaway_share": 0.5}, "50% of the imagined trajectories run away"),
        ({"mmd": 0.5, "trust": 0.05}, "inferred actions explain little"),
        ({"mmd": 0.5, "trust": 0.05}, "try a longer exploration (inference.explore)"),
        ({"mmd": 0.5, "confidence": 0.3}, "inferred for the demonstrated steps are uncertain"),
        ({"accepted": 0.1}, "only 10% of the policy steps were accepted"),
        ({"mmd": 0.5, "entropy": 0.001}, "the policy hardly varies its actions"),
    ],
)
def test_each_fault_is_named(tmp_path, fault, text):
    assert any(text in finding for finding in diagnosed(tmp_path, GOOD | fault))


FAR = GOOD | {"mmd": 0.5, "imagined_mmd": 0.4, "kl": 1e-4, "reach": 0.9}


def test_noise_of_the_environment_is_no_fault_of_the_model():
    assert "the model predicts little" not in found(GOOD | {"model_loss": 0.6, "model_noise": 0.5})
    text = found(GOOD | {"model_loss": 0.9, "model_noise": 0.5})
    assert "leaves 40% of the changes of state unexplained, noise aside" in text
    asked = MOBILE | {"dynamics": {"stochastic": True}}
    text = found(GOOD | {"model_loss": 0.6, "model_noise": 0.59}, settings=asked)
    assert "leaves 60% of the changes of state unexplained; try" in text


@pytest.mark.parametrize(
    ("later", "settings", "words", "advice"),
    [
        (FAR, MOBILE, "longer ones gain nothing", "inference.pull"),
        (FAR, MOBILE | {"inference": None}, "longer ones gain nothing", "(imagined_streams)"),
        (FAR | {"reach": None}, GAIFO, "longer ones gain nothing", "more streams"),
        (FAR | {"reach": 0.005}, MOBILE, "(reach 0.005, imagined distance 0.4,", "floor=false"),
    ],
)
def test_steps_far_below_their_bound_are_noticed(later, settings, words, advice):
    text = found(later, settings=settings)
    (line,) = (line for line in text.splitlines() if "far shorter than allowed" in line)
    assert "(KL 0.0001, planner.kl 0.02)" in line
    assert words in line
    assert advice in line
    assert ("inference" in line) is (settings is MOBILE and later is FAR)


@pytest.mark.parametrize(
    ("later", "settings"),
    [
        (FAR | {"kl": 0.01}, MOBILE),
        (FAR | {"mmd": 0.06}, MOBILE),  # there is nothing left to gain
        (FAR | {"accepted": 0.1}, MOBILE),  # which is said, and why
        (FAR, MOBILE | {"planner": {"clip": 0.2}}),
        (FAR, BCO),
    ],
)
def test_short_steps_are_no_fault_where_they_are_meant(later, settings):
    assert "shorter than allowed" not in found(later, settings=settings)


def test_no_progress_is_dated_and_more_of_the_same_is_not_advised():
    text = found(lambda number: GOOD | {"mmd": 0.3 if number == 3 else 0.5, "imagined_mmd": 0.5})
    assert "no progress since iteration 3 of 12 (300 environment steps)" in text
    assert "more steps may help" not in text


def test_a_trifle_is_no_progress_and_the_untrained_policys_distance_is_none():
    """The smallest distance is that of the last iteration, by one in a thousand."""
    text = found(lambda number: GOOD | {"mmd": 0.5 - 0.0005 * (number == 12), "imagined_mmd": 0.5})
    assert "no progress since iteration 2 of 12" in text
    falling = lambda number: GOOD | {"mmd": 0.5 - 0.01 * number}
    assert "no progress since" not in found(falling, first=FIRST | {"mmd": 0.1})


@pytest.mark.parametrize(
    ("settings", "has", "lacks"),
    [
        (MOBILE, ["imagined_streams", "planner.kl"], ["updates"]),
        (GAIFO, ["planner.kl"], ["imagined_streams"]),
        (BCO, ["cloning.plan.passes"], ["imagined_streams", "planner.kl"]),
        (DACFO, ["(updates)", "learner.target_entropy"], ["imagined_streams", "planner.kl"]),
        ({}, ["--total-timesteps"], ["imagined_streams", "planner.kl"]),
    ],
)
def test_advice_names_only_settings_that_the_method_has(settings, has, lacks):
    later = lambda number: GOOD | {"mmd": 0.3 if number == 3 else 0.5, "entropy": 0.001}
    text = found(later, settings=settings)
    assert "no progress since" in text
    assert "hardly varies" in text
    assert all(name in text for name in has)
    assert not any(name in text for name in lacks)


@pytest.mark.parametrize(
    ("last", "fires"),
    [(-3.0, False), (-6.5, False), (-8.5, True)],  # 4.5 nats are the default's bound, 9 a twentieth
)
def test_entropies_of_continuous_actions_may_be_negative(last, fires):
    far = GOOD | {"mmd": 0.5, "entropy": last}
    text = found(far, first=FIRST | {"entropy": 1.5}, actions=BOX)
    assert ("hardly varies" in text) is fires


@pytest.mark.parametrize(
    ("settings", "iterations"),
    [(MOBILE, 1), (BCO, 2), (GAIFO, 1), (MOBILE | {"inference": None}, 1)],
)
def test_that_only_the_untrained_policy_has_acted_is_said(settings, iterations):
    text = found(FIRST, iterations=iterations, settings=settings)
    assert f"has acted so far ({100 * iterations} environment steps)" in text
    assert "--total-timesteps" in text
    assert ("explore" in text) is (settings in (MOBILE, BCO))
    assert "hardly nearer" not in text


def test_with_one_recording_the_noise_is_unknown():
    text = found(GOOD | {"mmd_floor": 0.0})
    assert "noise unknown" in text
    assert "with one recording the noise of the distance is unknown" in text


def test_a_policy_that_was_never_measured_and_an_untrained_one():
    seeds = [
        {"seed": 0, "chosen_iteration": 1, "chosen_mmd": None},
        {"seed": 1, "chosen_iteration": 0, "chosen_mmd": 0.1},
        {"seed": 2, "chosen_iteration": 7, "chosen_mmd": 0.1},
    ]
    text = found(GOOD, seeds)
    assert "the policy returned for seed 0 has never acted" in text
    assert "inference.explore" in text
    assert "the untrained policy was chosen for seed 1:" in text
    assert "imagined_streams" in text
    assert "inference.explore" not in found(GOOD, seeds, settings=GAIFO)


def test_a_seed_that_stayed_behind_is_named():
    good = [row for seed in (0, 2) for row in rows(GOOD, seed=seed)]
    behind = list(rows(GOOD | {"mmd": 0.9, "imagined_mmd": 0.9}, seed=1))
    text = "\n".join(findings([*good, *behind], [], config()))
    assert "seed 1 stayed behind: distance 0.9 at last, the others 0.06" in text
    assert "seed 0 stayed" not in text


def test_an_experts_folder_is_told_apart(tmp_path):
    with (
        RunDirectory.create(tmp_path / "expert", {"kind": "expert"}) as run,
        pytest.raises(RunError, match="holds an expert, which imitates nobody"),
    ):
        diagnose(run)


def test_a_run_without_an_iteration_is_an_error(tmp_path):
    with (
        RunDirectory.create(tmp_path / "run", {"method": "mobile"}) as run,
        pytest.raises(RunError, match="no finished iteration yet"),
    ):
        diagnose(run)


def test_without_distances_there_is_nothing_to_say(tmp_path):
    assert diagnosed(tmp_path, {"loss": 0.3}, first={"loss": 1.0}) == []


PAGE = (Path(__file__).parents[2] / "docs" / "guide" / "troubleshooting.md").read_text()


def test_the_page_names_the_settings_that_the_doctor_names():
    table = PAGE[PAGE.index("| it says | measured by | MobILE's") :].partition("\n\n")[0]
    told = set(re.findall(r"`([a-z_.]+)(?:=\w+)?`", table))
    names = {name for method in METHODS.values() for name, *_ in walk(method.method.settings())}
    mobile = {name for name, *_ in walk(METHODS["mobile"].method.settings())}
    tables = [known for name, known in vars(remedies).items() if name.isupper()]
    advised = {path for known in tables if isinstance(known, dict) for path in known}
    assert advised & mobile <= told  # what MobILE can be told is on the page
    of_ppo = {"planner.clip", "planner.optimiser.learning_rate"}
    assert advised <= names | of_ppo
