"""Which MMDs can be compared."""

import shutil

from ilfo.cli import main
from ilfo.reports.figures import comparison_figure
from ilfo.reports.groups import group_runs
from ilfo.reports.measures import mmd_note
from ilfo.reports.page import comparison_page
from ilfo.reports.records import read_run
from tests.reports.test_reports import run
from tests.runs.test_recorded import RECORDED


def groups(*paths):
    return group_runs([read_run(path) for path in paths])


def floors(several) -> list[str]:
    labels = [line.get_label() for line in comparison_figure(several).axes[1].lines]
    return [label for label in labels if "floor" in label]


def test_the_same_measure_needs_no_note(tmp_path):
    alike = groups(run(tmp_path, "one"), run(tmp_path, "kl", **{"planner.kl": 0.5}))
    assert mmd_note(alike) is None
    assert floors(alike) == ["noise floor"]


def test_other_settings_of_the_discriminator_are_another_measure(tmp_path):
    wide = run(tmp_path, "wide", **{"discriminator.bandwidth_quantile": 0.9})
    several = groups(run(tmp_path, "one"), wide)
    assert "settings of the discriminator differ" in mmd_note(several)
    assert floors(several) == ["noise floors, each in its colour"]
    dotted = [line for line in comparison_figure(several).axes[1].lines if line.get_xdata().size]
    colours = [line.get_color() for line in dotted if line.get_linestyle() == ":"]
    assert colours == ["C0", "C1"]


def test_streams_and_recordings_belong_to_the_measure(tmp_path):
    several = groups(
        run(tmp_path, "one"), run(tmp_path, "few", trajectories=9), run(tmp_path, "s", streams=7)
    )
    note = mmd_note(several)
    assert "recordings differ" in note
    assert "(streams) differ" in note


def test_in_other_environments_nobody_compares(tmp_path):
    assert mmd_note(groups(run(tmp_path, "a"), run(tmp_path, "b", task="hopper"))) is None


def test_what_mobile_pools_is_said_below_the_table(tmp_path, capsys):
    shutil.copytree(RECORDED / "bco", tmp_path / "bco")
    paths = [run(tmp_path, "mobile", floor=True), tmp_path / "bco"]
    said = "mobile pools the rollouts of several iterations, the others do not"
    main(["compare", *map(str, paths)])
    assert said in " ".join(capsys.readouterr().out.split())
    assert said in comparison_page(groups(*paths))
