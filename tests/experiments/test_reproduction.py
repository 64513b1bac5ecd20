"""The paper's figures and tables, from made-up results of a few points each."""

import csv
from pathlib import Path

import pytest

from ilfo.cli import main
from ilfo.environments.tasks import find_task
from ilfo.experiments.reproduction.catalogue import EXHIBITS, find_exhibit
from ilfo.experiments.reproduction.exhibit import read_exhibit, unfinished, without_results
from ilfo.experiments.reproduction.findings import Verdict, compared, sentence
from ilfo.experiments.reproduction.hyper_parameters import TABLE_2, TASKS
from ilfo.experiments.reproduction.origin import origin_line
from ilfo.experiments.reproduction.published import TABLE_1
from ilfo.experiments.reproduction.writing import write_exhibit
from ilfo.experiments.runner import result_file
from ilfo.methods.presets import find_settings
from tests.helpers.results import as_result

SEEDS = 4


def level(series) -> float:
    """MobILE is near the expert, what the paper says is worse is worse."""
    return {"BC-O": 0.5, "GAIfO": 0.4, "ILPO": 0.3, "without optimism": 0.2}.get(series.label, 1.0)


def write_result(results, series, seed, height, *, folder=None):
    cell = series.cell
    steps = 0 if cell.spec.method == "bc" else 1000
    demonstrations = cell.spec.trajectories or find_task(cell.spec.task).demonstrations
    returns = [50 * height, 100 * height + seed % 5]
    record = {
        "cell": cell.name,
        "settings": {},
        "commit": "0123456789abcdef",
        "summary": {
            "expert_return": 100.0,
            "random_return": 0.0,
            "online_samples": 2 * steps,
            "demonstrations": {"trajectories": demonstrations},
        },
        "result": {"seed": seed, "greedy_score": returns[-1] / 100},
        "curve": [
            {"online_samples": steps * (place + 1), "greedy_return": value}
            for place, value in enumerate(returns)
        ],
    }
    path = result_file(folder or results, series.sweep, cell, seed)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(as_result(record))


def fill(results, exhibit, heights=level):
    for series in exhibit.series:
        for seed in series.cell.seeds[:SEEDS]:
            write_result(results, series, seed, heights(series))


@pytest.mark.parametrize("name", EXHIBITS)
def test_each_is_drawn_and_has_its_numbers(name, tmp_path):
    pytest.importorskip("matplotlib")
    exhibit, results = EXHIBITS[name], tmp_path / "results"
    fill(results, exhibit)
    measured = read_exhibit(exhibit, results)
    png, svg, table = write_exhibit(exhibit, measured, results, tmp_path / "out")
    assert png.read_bytes()[:4] == b"\x89PNG"
    assert "</svg>" in svg.read_text()
    line, header, *rows = table.read_text().splitlines()
    assert line == f"# {origin_line(measured, results)}"
    assert list(csv.reader([header])) == [list(exhibit.rows(measured)[0])]
    assert len(rows) >= len({(each.panel, each.label) for each in measured})
    with pytest.raises(FileExistsError, match="exists already"):
        write_exhibit(exhibit, measured, results, tmp_path / "out")


def test_the_line_names_seeds_settings_and_commit(tmp_path):
    exhibit = EXHIBITS["figure-3"]
    fill(tmp_path, exhibit)
    line = origin_line(read_exhibit(exhibit, tmp_path), tmp_path)
    assert "\n" not in line
    assert "without results" not in line
    for said in ("4 seeds (10-13)", "preset default with weight=0", "preset paper", "0123456"):
        assert said in line


def test_the_line_names_what_is_missing_and_counts_one_seed_as_one(tmp_path):
    exhibit = EXHIBITS["figure-7"]
    for panel in exhibit.panels:
        for series in panel.series[:3]:
            write_result(tmp_path, series, series.cell.seeds[0], 1.0)
    line = origin_line(read_exhibit(exhibit, tmp_path), tmp_path)
    assert "1 model*: 1 seed (" in line
    assert "without results yet: cartpole-models-8, cartpole-paper-models-8;" in line


def test_a_panel_without_results_says_so(tmp_path):
    pytest.importorskip("matplotlib")
    for name in ("figure-2", "figure-2-bars"):
        exhibit = EXHIBITS[name]
        for series in exhibit.panels[0].series:
            write_result(tmp_path, series, series.cell.seeds[0], 1.0)
        figure = exhibit.draw(read_exhibit(exhibit, tmp_path))
        said = [text.get_text() for axis in figure.axes for text in axis.texts]
        assert said == ["no results yet"] * 4


def test_the_table_of_settings_explains_its_brackets():
    assert "in brackets what the preset paper has instead" in origin_line([], Path("results"))


def test_a_baseline_that_is_worse_agrees_with_the_paper_and_a_better_one_does_not(tmp_path):
    exhibit = EXHIBITS["figure-4"]
    fill(tmp_path, exhibit)
    finding = exhibit.finding(read_exhibit(exhibit, tmp_path))
    agreeing = finding.partition("Does not agree")[0]
    assert "better than BC-O" in agreeing
    assert "as good as BC (" in agreeing
    better = {"BC-O": 2.0, "BC": 2.0}
    fill(tmp_path, exhibit, lambda series: better.get(series.label, level(series)))
    finding = exhibit.finding(read_exhibit(exhibit, tmp_path))
    disagreeing = finding.partition("Does not agree")[2]
    assert "worse than BC-O" in disagreeing
    assert "worse than BC (" in disagreeing
    assert "better than GAIfO" in finding.partition("Does not agree")[0]


def test_curves_are_compared_by_the_steps_they_take(tmp_path):
    """GAIL and ILPO come to the same scores; at half the steps, MobILE does where it is good."""
    exhibit = EXHIBITS["figure-2"]
    late = lambda series: 0.96 if series.label in ("GAIL", "ILPO") else 2 * level(series)
    fill(tmp_path, exhibit, late)
    finding = exhibit.finding(read_exhibit(exhibit, tmp_path))
    agreeing = finding.partition("Does not agree")[0]
    assert "until a seed's curve first has a score of 0.95" in finding
    for method in ("GAIL", "GAIfO", "ILPO"):
        assert f"MobILE is sooner than {method} (CartPole, Reacher" in agreeing
    fill(tmp_path, exhibit, lambda series: 0.2 if series.label == "MobILE" else 1.0)
    finding = exhibit.finding(read_exhibit(exhibit, tmp_path))
    assert "MobILE is later than BC-O" in finding.partition("Does not agree")[2]


def test_running_maxima_are_compared_by_steps_and_by_what_is_reached(tmp_path):
    exhibit = EXHIBITS["figure-6"]
    fill(tmp_path, exhibit, lambda series: 0.4 if series.label == "GAIfO" else 1.0)
    steps, _, best = exhibit.finding(read_exhibit(exhibit, tmp_path)).partition("Best policies")
    assert "MobILE is sooner than GAIfO" in steps.partition("Not decided")[0]
    assert "no clear difference from GAIL" in steps.partition("Not decided")[2]
    assert "as good as BC (" in best
    assert "as good as ILPO (" in best
    assert "GAIfO" not in best


def test_optimism_is_judged_task_by_task(tmp_path):
    exhibit = EXHIBITS["figure-3"]
    fill(tmp_path, exhibit)
    finding = exhibit.finding(read_exhibit(exhibit, tmp_path))
    assert "MobILE: learns better with the bonus (CartPole, Reacher, Swimmer" in finding
    swap = lambda series: 0.1 if series.label == "MobILE" else 1.0
    fill(tmp_path, exhibit, swap)
    finding = exhibit.finding(read_exhibit(exhibit, tmp_path))
    assert "MobILE: learns worse with the bonus" in finding.partition("Does not agree")[2]


def test_more_models_are_compared_with_two(tmp_path):
    exhibit = EXHIBITS["figure-7"]
    assert [each.label for each in exhibit.panels[0].series] == [
        "1 model",
        "2 models",
        "4 models",
        "8 models",
    ]
    fill(tmp_path, exhibit)
    finding = exhibit.finding(read_exhibit(exhibit, tmp_path))
    assert "4 models are not better than two (Our default, The paper's settings)" in finding
    fill(tmp_path, exhibit, lambda series: 2.0 if series.label == "8 models" else 1.0)
    finding = exhibit.finding(read_exhibit(exhibit, tmp_path))
    assert "8 models are better than two" in finding.partition("Does not agree")[2]


def test_the_table_of_demonstrations_has_the_papers_numbers_beside_ours(tmp_path):
    exhibit = EXHIBITS["table-1"]
    fill(tmp_path, exhibit)
    measured = read_exhibit(exhibit, tmp_path)
    header, *rows = exhibit.rows(measured)
    by_name = [dict(zip(header, row, strict=True)) for row in rows]
    default = [row for row in by_name if row["settings"].startswith("default")]
    ours = {(row["task"], row["demonstrations"]): row for row in default}
    assert len(ours) == len(TABLE_1)
    assert ours["Walker2d", "50"]["paper"] == "0.94 ± 0.038"
    assert ours["Walker2d", "50"]["ours"].startswith("1.0")
    finding = exhibit.finding(measured)
    assert "by no more than the two standard deviations together" in finding
    assert "MobILE is about at the paper's score (CartPole with 5, Reacher with 10," in finding
    assert "MobILE is below the paper's score" in finding.partition("Does not agree")[2]


def test_results_with_earlier_settings_stand_in_and_are_marked(tmp_path):
    exhibit = EXHIBITS["figure-1"]
    fill(tmp_path, exhibit)
    gaifo = next(each for each in exhibit.series if each.cell.name == "hopper-gaifo")
    for seed in gaifo.cell.seeds[:SEEDS]:
        result_file(tmp_path, "methods", gaifo.cell, seed).unlink()
    assert without_results(read_exhibit(exhibit, tmp_path)) == ["hopper-gaifo"]
    for seed in range(3):
        write_result(tmp_path, gaifo, seed, 0.6, folder=tmp_path / "tuned")
    (found,) = [each for each in read_exhibit(exhibit, tmp_path) if each.series == gaifo]
    assert len(found.records) == 3
    assert found.marked == "GAIfO*"


def test_the_line_names_the_settings_that_have_changed_since(tmp_path):
    exhibit = EXHIBITS["table-1"]
    fill(tmp_path, exhibit)
    line = origin_line(read_exhibit(exhibit, tmp_path), tmp_path)
    assert "* measured before these settings changed or were added: " in line
    assert "discriminator" in line.partition("were added")[2]


def test_results_with_another_number_of_demonstrations_do_not_stand_in(tmp_path):
    """Swimmer's earlier ones with the paper's settings have 40."""
    exhibit = EXHIBITS["figure-5"]
    forty, ten = (
        next(each for each in panel.series if each.cell.name == "swimmer-paper")
        for panel in exhibit.panels
    )
    write_result(tmp_path, forty, 0, 1.0, folder=tmp_path / "tuned")
    measured = {each.panel: each for each in read_exhibit(exhibit, tmp_path) if each.records}
    assert list(measured) == ["Swimmer, 40 demonstrations"]
    write_result(tmp_path, ten, 0, 1.0)
    found = [each for each in read_exhibit(exhibit, tmp_path) if each.records]
    assert [each.panel for each in found] == [*measured, "Swimmer, 10 demonstrations"]


def test_what_is_to_run_has_five_seeds_of_each_cell(tmp_path):
    exhibit = EXHIBITS["figure-7"]
    runs = unfinished(exhibit, tmp_path, 5)
    assert ("paper", "cartpole-models-8", 14) in {(s, c.name, seed) for s, c, seed in runs}
    assert {sweep for sweep, _, _ in runs} == {"tasks", "paper"}
    assert len(runs) == 8 * 5
    fill(tmp_path, exhibit)
    assert len(unfinished(exhibit, tmp_path, SEEDS)) == 0


def test_the_papers_settings_are_run_where_they_are_cheap_alone(tmp_path):
    runs = {cell.name for each in EXHIBITS.values() for _, cell, _ in unfinished(each, tmp_path, 5)}
    papers = {name for name in runs if name.endswith("-paper")}
    assert papers == {"cartpole-paper", "cartpole-stochastic-paper", "reacher-paper"}
    lacking = without_results(read_exhibit(EXHIBITS["figure-1"], tmp_path))
    assert "reacher-paper" in lacking
    assert "hopper-paper" not in lacking


def test_the_preset_paper_has_the_papers_table():
    """All but the bound on the noise, which the paper's table leaves out on four tasks."""
    assert len(TABLE_2) == 23
    finding = EXHIBITS["table-2"].finding([])
    assert "134 of these 138 values of the paper; it differs in least log standard" in finding
    assert "Left out is what belongs to a task (horizon" in finding
    width = next(row for row in TABLE_2 if row.name == "width of the dynamics model")
    for task, said in zip(TASKS, width.paper, strict=True):
        assert width.value(find_settings("paper", "mobile", find_task(task))) == said


def test_groups_are_compared_both_ways():
    low, high = [0.1, 0.2, 0.15, 0.12], [0.9, 0.8, 0.95, 0.99]
    assert compared(high, low) == "better"
    assert compared(low, high) == "worse"
    assert compared(low, low) == "alike"
    assert compared(high, low[:1]) == "unknown"


def test_a_sentence_sorts_what_agrees():
    verdicts = [Verdict("a", "x", True), Verdict("a", "y", True), Verdict("b", "x", False)]
    assert sentence(verdicts) == "Agrees with the paper: a (x, y). Does not agree: b (x)."
    assert "no results" in sentence([])


def test_an_unknown_figure_is_named():
    with pytest.raises(ValueError, match=r"unknown figure 'figure-9'.*figure-1"):
        find_exhibit("figure-9")


def test_check_names_what_is_missing_and_fails(tmp_path, capsys):
    results = tmp_path / "results"
    fill(results, EXHIBITS["figure-7"])
    main(["reproduce", "figure-7", "--check", "--results", str(results)])
    assert "nothing is missing: figure-7" in capsys.readouterr().out
    with pytest.raises(SystemExit) as stopped:
        main(["reproduce", "figure-7", "table-1", "--check", "--results", str(results)])
    assert stopped.value.code == 1
    out = capsys.readouterr().out
    assert "table-1 (Number of demonstrations) has no results of" in out
    assert "hopper-40" in out
    assert "1 of 2 asked for is not complete" in out
    assert "figure-7 (" not in out


def test_the_list_counts_cells_with_results(tmp_path, capsys):
    main(["reproduce", "--results", str(tmp_path)])
    out = capsys.readouterr().out
    assert all(name in out for name in EXHIBITS)
    counts = [line.split("│")[3].strip() for line in out.splitlines() if line.startswith("│")]
    assert counts == [f"0 of {number}" for number in (13, 32, 32, 18, 7, 11, 32, 8, 14)] + [
        "needs none"
    ]


def test_drawing_what_exists_runs_nothing(tmp_path, capsys):
    pytest.importorskip("matplotlib")
    results, out = tmp_path / "results", tmp_path / "out"
    exhibit = EXHIBITS["figure-7"]
    for seed in (10, 11):
        write_result(results, exhibit.panels[0].series[1], seed, 1.0)
    options = ["--results", str(results), "--out", str(out), "--runs", str(tmp_path / "runs")]
    main(["reproduce", "figure-7", "--only-existing", *options])
    assert sorted(path.name for path in out.iterdir()) == [
        "figure-7.csv",
        "figure-7.png",
        "figure-7.svg",
    ]
    assert "without results yet: cartpole-models-1" in capsys.readouterr().out
    assert not (tmp_path / "runs").exists()


def test_the_report_is_one_page_that_loads_nothing(tmp_path):
    pytest.importorskip("matplotlib")
    results, folder = tmp_path / "results", tmp_path / "report"
    fill(results, EXHIBITS["table-1"])
    names = ["table-1", "figure-7"]
    main(["reproduce", *names, "--report", str(folder), "--results", str(results)])
    page = (folder / "reproduction.html").read_text()
    for said in ("Table 1: Number of demonstrations", "ilfo reproduce figure-7", "Agrees with"):
        assert said in page
    assert 'src="http' not in page
    assert page.count("data:image/svg+xml;base64,") == 2
    assert page.count("ilfo reproduce --check") == page.count("--report FOLDER") == 1
    assert "With fewer than three seeds there is no band" in page
    with pytest.raises(SystemExit) as stopped:
        main(["reproduce", *names, "--report", str(folder), "--results", str(results)])
    assert stopped.value.code == 2


def test_what_is_missing_is_run_before_drawing(tmp_path, monkeypatch):
    """Each run once, though the figure is named twice; nothing if a file would be overwritten."""
    pytest.importorskip("matplotlib")
    results, out = tmp_path / "results", tmp_path / "out"
    exhibit = EXHIBITS["figure-7"]
    by_cell = {series.cell.name: series for series in exhibit.series}
    asked = []

    def run_all(options, wanted, where, runs):
        assert where == results
        asked.extend((cell.name, seed) for _, cell, seed in wanted)
        for _, cell, seed in wanted:
            write_result(results, by_cell[cell.name], seed, 1.0)

    monkeypatch.setattr("ilfo.cli.reproduce.run_cells", run_all)
    options = ["--results", str(results), "--out", str(out), "--seeds", "2"]
    main(["reproduce", "figure-7", "figure-7", *options])
    assert len(asked) == len(set(asked)) == 8 * 2
    assert (out / "figure-7.png").exists()
    asked.clear()
    with pytest.raises(SystemExit):
        main(["reproduce", "figure-7", *options])
    assert asked == []
