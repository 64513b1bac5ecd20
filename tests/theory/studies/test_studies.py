"""Every study at a size of seconds: what it writes, and what must hold at any size."""

import csv
import json

import numpy as np
import pytest

from ilfo.cli import main
from ilfo.cli.theory import COMMANDS as STUDIES
from ilfo.runs import machine
from ilfo.theory.studies.calibration import Calibration
from ilfo.theory.studies.explore import Explore, gaps_up_to_one
from ilfo.theory.studies.knr import KNRStudy
from ilfo.theory.studies.tabular import TabularStudy
from tests.helpers.agents import MACHINE

SMALL = {
    "explore": ["--repetitions", "300", "--longest", "256", "--lengths", "2", "--arms", "2"],
    "actions": ["--repetitions", "50", "--rounds", "64", "--fewest", "2", "--amounts", "2"],
    "tabular": ["--repetitions", "2", "--levels", "2", "--longest", "16", "--lengths", "2"],
    "calibration": ["--repetitions", "40"],
    "knr": ["--repetitions", "2", "--iterations", "8", "--imagined", "2"],
}


@pytest.fixture(scope="module")
def written(tmp_path_factory, cache_home):
    """The tables of each study, run by its command."""
    folder, tables = tmp_path_factory.mktemp("theory"), {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(machine, "set_up", lambda *_: MACHINE)
        for name in STUDIES:
            main(["theory", name, *SMALL[name], "--out", str(folder / name)])
            tables[name] = {
                path.stem: list(csv.DictReader(path.open()))
                for path in (folder / name).glob("*.csv")
            }
    return folder, tables


def column(rows, name, **where):
    kept = [row for row in rows if all(row[key] == value for key, value in where.items())]
    return np.array([float(row[name]) for row in kept])


@pytest.mark.slow
@pytest.mark.parametrize("name", STUDIES)
def test_a_study_leaves_tables_a_picture_and_what_was_asked(name, written):
    folder, tables = written
    assert tables[name]
    assert all(rows for rows in tables[name].values())
    assert (folder / name / "picture.png").stat().st_size > 5000
    facts = json.loads((folder / name / "study.json").read_text())
    assert (facts["study"], facts["settings"]["seed"]) == (name, 0)
    text = (folder / name / "tables.md").read_text()
    assert all(f"## {table}" in text for table in tables[name])


@pytest.mark.slow
def test_nothing_is_overwritten(written, capsys):
    folder, _ = written
    with pytest.raises(SystemExit):
        main(["theory", "knr", "--out", str(folder / "knr")])
    assert "is in use" in capsys.readouterr().err


@pytest.mark.slow
def test_no_algorithm_beats_the_lower_bound(written):
    rows = written[1]["explore"]["lower_bound"]
    bound, error = column(rows, "√(AT)/16"), column(rows, "standard error")
    assert (column(rows, "largest regret") - 3 * error > bound).all()


@pytest.mark.slow
def test_regret_grows_faster_without_exploring_than_with_optimism(written):
    """By their whole intervals, over all T and from the last but one on, here the same."""
    rows = written[1]["explore"]["slopes"]
    high = column(rows, "high", algorithm="optimism")
    low = column(rows, "low", algorithm="greedy")
    assert len(high) == 1
    assert (high < low).all()
    assert (low > 2 / 3).all()


def test_the_grid_of_gaps_reaches_below_what_can_matter():
    for rounds in (64, 4096, 65536):
        gaps = gaps_up_to_one(4, rounds)
        assert gaps[0] == 1
        assert gaps[-1] * rounds <= 1.001 * np.sqrt(4 * rounds)


@pytest.mark.slow
def test_a_demonstrated_action_leaves_no_regret(written):
    rows = written[1]["actions"]["regret"]
    assert (column(rows, "regret", learner="cloning one action") == 0).all()
    assert (column(rows, "regret", learner="optimism") > 0).all()


@pytest.mark.slow
def test_coverage_is_at_least_what_was_promised_within_binomial_error(written):
    """And with the paper's radius of the finite class it is not, where predictions are small."""
    rows = written[1]["calibration"]["coverage"]
    small = "noise 0.1, G = 0.1"
    for row in rows:
        if row["uncertainty"] != "finite class, paper" and "σ/" not in row["uncertainty"]:
            assert float(row["high"]) >= float(row["promised"]), row
    paper = column(rows, "high", uncertainty="finite class, paper", setting=small)
    assert paper < 0.6
    assert column(rows, "coverage", uncertainty="finite class, corrected", setting=small) > 0.9


@pytest.mark.slow
def test_coverage_could_have_failed(written):
    """No promised uncertainty is 2 everywhere, and a smaller one does not cover."""
    rows = written[1]["calibration"]["coverage"]
    promised = [row for row in rows if row["uncertainty"] != "finite class, paper"]
    assert (column(promised, "share of σ < 2") > 0).all()
    controls = [row for row in rows if "σ/" in row["uncertainty"]]
    assert len(controls) == 3
    assert all(float(row["high"]) < float(row["promised"]) for row in controls)


@pytest.mark.slow
def test_gain_and_potential_stay_below_their_bounds(written):
    regret, potential = written[1]["knr"]["regret"], written[1]["knr"]["potential"]
    assert (column(regret, "I_T") <= column(regret, "I_T's bound")).all()
    assert (column(potential, "largest ratio") <= 1).all()


@pytest.mark.parametrize(
    ("kind", "fields"),
    [
        (Explore, {"longest": 16, "lengths": 3}),
        (Explore, {"repetitions": 1}),
        (STUDIES["actions"], {"rounds": 64}),
        (TabularStudy, {"longest": 10}),
        (Calibration, {"fits": 11}),
        (Calibration, {"delta": 1.0}),
        (KNRStudy, {"iterations": 3}),
    ],
)
def test_sizes_that_cannot_be(kind, fields):
    with pytest.raises(ValueError, match=r"must|at least|needed"):
        kind(**fields)


@pytest.mark.parametrize("seed", [-1, 2**32])
def test_a_bad_seed_is_refused_before_anything_is_measured(seed, tmp_path, monkeypatch):
    monkeypatch.setattr(KNRStudy, "measure", lambda self: pytest.fail("measured"))
    with pytest.raises(ValueError, match="seed is"):
        KNRStudy(seed=seed, out=tmp_path / "knr").run()
