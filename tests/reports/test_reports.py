"""Reports and comparisons of runs, from run directories that are made of files alone."""

import html.parser
import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from ilfo.cli import main
from ilfo.reports import html as parts
from ilfo.reports import run_report
from ilfo.reports.comparison import comparison_table
from ilfo.reports.figures import comparison_figure
from ilfo.reports.groups import group_runs
from ilfo.reports.records import read_run
from ilfo.reports.results import result_table
from ilfo.runs.csv_tables import RunError
from tests.runs.test_recorded import RECORDED


class Links(html.parser.HTMLParser):
    """What a page refers to, and whether its tags are closed."""

    def __init__(self, text):
        super().__init__()
        self.found, self.open = [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.found += [value for name, value in attrs if name in ("src", "href")]
        if tag not in ("meta", "img", "!doctype"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def run(tmp_path, name: str, *, seed: int = 0, level: float = 1.0, **changes) -> Path:
    """A finished run of one seed whose return is `level` throughout; `changes` are of its spec or,
    with a dot, of its settings."""
    path = tmp_path / name
    shutil.copytree(RECORDED / "mobile", path)
    config = json.loads((path / "config.json").read_text())
    spec = config.pop("order", None) or config["spec"]
    settings = config["settings"]
    for key, value in changes.items():
        if key in spec:
            spec[key] = value
        else:
            *where, last = key.split(".")
            place = settings
            for part in where:
                place = place[part]
            place[last] = value
    config |= {"spec": spec | {"seeds": 1, "first_seed": seed}}
    (path / "config.json").write_text(json.dumps(config))
    (path / "metrics.csv").write_text(
        "iteration,seed,online_samples,greedy_return,stochastic_return,mmd,mmd_floor\n"
        + "".join(f"{i},{seed},{100 * i},{level},{level},{1 / i},0.1\n" for i in (1, 2, 3))
    )
    of_seed = {"seed": seed, "greedy_score": level, "greedy_return": level, "chosen_mmd": 0.5}
    (path / "summary.json").write_text(json.dumps({"seeds": [of_seed], "remarks": []}))
    return path


def test_runs_that_differ_in_their_seeds_are_one_group(tmp_path):
    records = [read_run(run(tmp_path, str(s), seed=s, level=float(s))) for s in (3, 4, 5)]
    (group,) = group_runs([*records, records[0]])  # the same run again counts once
    assert [seed for _, seed in group.members] == [3, 4, 5]
    assert group.label == "mobile"
    columns, ((*row,),) = comparison_table([group])
    said = dict(zip(columns, row, strict=True))
    assert said["seeds"] == "3"
    assert said["greedy score"].startswith("4 [3")  # the mean, and an interval around it
    assert "environment" not in columns  # it is the same everywhere
    assert "stochastic return" in columns  # from the curves, since the summary has none


def test_labels_say_what_differs(tmp_path):
    records = [
        read_run(run(tmp_path, "one")),
        read_run(run(tmp_path, "kl", **{"planner.kl": 0.5})),
        read_run(run(tmp_path, "few", trajectories=9)),
        read_run(run(tmp_path, "longer", total_timesteps=77)),
    ]
    one, kl, few, longer = (group.label for group in group_runs(records))
    assert "planner.kl=0.5" in kl
    assert "planner.kl" in one
    assert "trajectories=9" in few
    assert "total_timesteps=77" in longer


def test_labels_leave_out_what_the_environment_says_already(tmp_path):
    here, there = tmp_path / "data" / "a.npz", tmp_path / "data" / "b.npz"
    cart = {"task": None, "env": "Cart-v0"}
    records = [
        read_run(run(tmp_path, "one", **cart, demos=str(here))),
        read_run(run(tmp_path, "two", **cart, demos=str(there))),
        read_run(run(tmp_path, "other", task="hopper")),
    ]
    for record, name in zip(records, ("Cart", "Cart", "Hopper"), strict=True):
        record.run.config["environment"] = name
    labels = [group.label for group in group_runs(records)]
    assert labels == ["demos=data/a.npz", "demos=data/b.npz", "mobile"]


def test_long_labels_leave_room_for_the_curves(tmp_path):
    long = "a_name_that_goes_on_and_on, " * 8
    records = [read_run(run(tmp_path, name, demos=f"{name}{long}.npz")) for name in "ab"]
    figure = comparison_figure(group_runs(records))
    figure.draw_without_rendering()
    left, right = (axis.get_position() for axis in figure.axes)
    assert min(left.width, right.width) > 0.35
    assert left.x1 < right.x0


def test_a_method_that_takes_no_steps_has_no_place_on_their_axis(tmp_path):
    online = read_run(run(tmp_path, "online"))
    offline = read_run(run(tmp_path, "offline", trajectories=7))
    rows = [{**row, "online_samples": 0} for row in offline.rows]
    offline = replace(offline, rows=rows)
    both = comparison_figure(group_runs([online, offline]))
    labels = [line.get_label() for line in both.axes[0].lines]
    assert any("(takes no steps)" in label for label in labels)
    level = next(line for line in both.axes[0].lines if "takes no" in line.get_label())
    chosen = offline.final(rows[0]["seed"])["greedy_return"]
    assert level.get_ydata()[0] == pytest.approx(chosen)
    assert both.axes[0].get_xlabel() == "environment steps"
    alone = comparison_figure(group_runs([offline]))
    assert alone.axes[0].get_xlabel() == "iterations"


def test_returns_are_drawn_between_random_actions_and_the_expert(tmp_path):
    path = run(tmp_path, "run", level=400.0)
    summary = json.loads((path / "summary.json").read_text())
    (path / "summary.json").write_text(json.dumps(summary | {"random_return": 21.0}))
    left, _ = comparison_figure(group_runs([read_run(path)])).axes
    assert "random actions" in [line.get_label() for line in left.lines]
    assert left.get_ylim()[0] < 21
    assert left.get_ylim()[1] > 1.05 * read_run(path).expert_return


def test_methods_are_not_compared_by_their_settings(tmp_path):
    shutil.copytree(RECORDED / "bco", tmp_path / "bco")
    labels = [
        group.label
        for group in group_runs([read_run(run(tmp_path, "mobile")), read_run(tmp_path / "bco")])
    ]
    assert labels[0].startswith("mobile")
    assert labels[1].startswith("bco")
    assert "planner" not in "".join(labels)


def test_the_same_recordings_with_actions_are_no_difference(tmp_path):
    """A method that reads actions has another fingerprint of them, and may have no budget."""
    records = [
        read_run(run(tmp_path, "mobile")),
        read_run(run(tmp_path, "bc", method="bc", total_timesteps=None)),
    ]
    records[1].run.config["demonstrations"] = "another"
    assert [group.label for group in group_runs(records)] == ["mobile", "bc"]
    again = read_run(run(tmp_path, "again"))
    again.run.config["demonstrations"] = "changed"
    assert "demonstrations changed" in group_runs([records[0], again])[1].label


def test_a_narrow_table_is_broken_between_words(tmp_path, capsys, monkeypatch):
    paths = [run(tmp_path, task, task=task) for task in ("hopper", "walker2d")]
    monkeypatch.setattr("ilfo.cli.report.console.width", 60)
    main(["compare", *map(str, paths)])
    text = capsys.readouterr().out
    for word in ("environment", "stochastic", "walker2d", "return"):
        assert word in text


def test_compare_prints_a_table_and_draws(tmp_path, capsys):
    first, second = run(tmp_path, "a"), run(tmp_path, "b", **{"weight": 0.7})
    for suffix, magic in ((".png", b"\x89PNG"), (".svg", b"<?xml"), (".html", b"<!DOCTYPE")):
        out = tmp_path / f"curves{suffix}"
        main(["compare", str(first), str(second), "--out", str(out)])
        assert out.read_bytes().startswith(magic)
    assert "weight=0.7" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        main(["compare", str(first), "--out", str(tmp_path / "curves.png")])
    assert "exists already" in capsys.readouterr().err


def test_a_report_is_one_file_without_links(tmp_path):
    path = tmp_path / "run"
    shutil.copytree(RECORDED / "mobile", path)
    main(["report", str(path), "--no-film"])
    text = (path / "report.html").read_text()
    page = Links(text)
    assert page.open == []
    assert page.found  # pictures
    assert all(link.startswith("data:image/") for link in page.found)
    for expected in ("ilfo train mobile", "greedy return", "noise", "steps ahead", "All settings"):
        assert expected in text
    assert "the return is that of the policy after the iteration" in text
    with pytest.raises(SystemExit):
        main(["report", str(path), "--no-film"])  # nothing is overwritten
    (path / "report.html").write_text("old")
    main(["report", str(path), "--no-film", "--replace"])
    assert (path / "report.html").read_text() == text


def test_an_environment_of_ones_own_is_not_played_unless_it_is_trusted(tmp_path, capsys):
    path = run(tmp_path, "own", task=None, env="nobodys.py:Own", demos="none.npz")
    (path / "summary.json").unlink()
    (path / "last.npz").unlink()
    main(["report", str(path)])
    said = capsys.readouterr().out
    assert "states, film and model are missing" in said
    assert "--trust-env nobodys.py" in said


def test_an_unfinished_run_is_reported_as_such(tmp_path):
    path = tmp_path / "run"
    shutil.copytree(RECORDED / "mobile", path)
    (path / "summary.json").unlink(missing_ok=True)
    for checkpoint in path.glob("*.npz"):
        checkpoint.unlink()
    main(["report", str(path), "--out", str(tmp_path / "report.html")])
    text = (tmp_path / "report.html").read_text()
    assert "not finished" in text
    assert "Nothing was played" in text


def test_bad_input_is_said_before_any_work(tmp_path, capsys):
    with pytest.raises(SystemExit):
        main(["report", str(RECORDED / "mobile"), str(RECORDED / "bco")])
    assert "--out FILE.html" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["report", str(RECORDED / "mobile"), "--out", str(tmp_path / "report.pdf")])
    assert "must end in .html" in capsys.readouterr().err
    empty = run(tmp_path, "empty")
    (empty / "metrics.csv").unlink()
    with pytest.raises(RunError, match="no finished iteration"):
        read_run(empty)


@pytest.mark.parametrize("method", ["mobile", "bco"])
def test_how_policies_were_chosen_is_said_in_words(method):
    summary = json.loads((RECORDED / method / "summary.json").read_text())
    caption = result_table(summary).caption
    assert caption.endswith("policies chosen by their distance to the recordings")


def test_the_floor_of_one_recording_is_unknown():
    summary = json.loads((RECORDED / "mobile" / "summary.json").read_text())
    first, *others = summary["seeds"]
    for floor, shown in ((0.018, "0.018"), (0.0, "unknown"), (None, "-")):
        table = result_table(summary | {"seeds": [first | {"mmd_floor": floor}, *others]})
        assert table.columns[-1] == "its floor"
        assert table.sections[0][0][-1] == shown


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "[" * 100_000,
        "{}",
        '{"seeds": 5}',
        '{"seeds": [5]}',
        '{"seeds": [{}]}',
        '{"seeds": [], "random_return": "x"}',
        '{"seeds": [{"seed": 0, "greedy_score": "x"}]}',
        '{"seeds": [{"seed": 0, "greedy_return": 1' + "0" * 400 + "}]}",
    ],
)
def test_a_damaged_summary_is_named(text, tmp_path, capsys):
    path = run(tmp_path, "run")
    (path / "summary.json").write_text(text)
    for command in (["compare", str(path)], ["report", str(path), "--no-film"]):
        with pytest.raises(SystemExit) as end:
            main(command)
        assert end.value.code == 2
        assert "summary.json" in capsys.readouterr().err


@pytest.mark.parametrize("change", [{"demonstrations": 5}, {"method": []}, {"remarks": 5}])
def test_what_only_a_report_reads_of_the_summary_is_checked(change, tmp_path, monkeypatch):
    path = tmp_path / "run"
    shutil.copytree(RECORDED / "mobile", path)
    summary = json.loads((path / "summary.json").read_text())
    (path / "summary.json").write_text(json.dumps(summary | change))
    monkeypatch.setattr(run_report, "as_svg", lambda _: "")
    with pytest.raises(RunError, match=r"summary\.json is not the summary of a run"):
        run_report.run_sections(read_run(path), film=False)


def test_the_rate_of_sparse_recordings_is_said(tmp_path, monkeypatch):
    monkeypatch.setattr(run_report, "as_svg", lambda _: "")
    path = tmp_path / "run"
    shutil.copytree(RECORDED / "mobile", path)
    page = lambda: "".join(run_report.run_sections(read_run(path), film=False))
    assert "rate of the recordings" not in page()
    config = json.loads((path / "config.json").read_text())
    config["problem"] = config.get("problem", {}) | {"every": 3}
    (path / "config.json").write_text(json.dumps(config))
    assert "one state every 3 control steps" in page()


@pytest.mark.parametrize("expert", ["x", True, [], 10**400])
def test_an_expert_return_that_is_no_number_is_named(expert, tmp_path):
    path = run(tmp_path, "run")
    config = json.loads((path / "config.json").read_text())
    (path / "config.json").write_text(json.dumps(config | {"expert_return": expert}))
    with pytest.raises(RunError, match=r"config\.json: expert_return is"):
        read_run(path)


def test_rows_without_a_seed_are_named(tmp_path):
    path = run(tmp_path, "run")
    (path / "metrics.csv").write_text("iteration,seed,online_samples\n1,,100\n")
    with pytest.raises(RunError, match=r"metrics\.csv lacks whole numbers in seed"):
        read_run(path)


def test_texts_are_escaped():
    said = parts.page("<b>", parts.paragraph("<script>"), parts.table(["<i>"], [["&"]]))
    assert "<script>" not in said
    assert "&lt;script&gt;" in said
    assert "<td>&amp;</td>" in said
