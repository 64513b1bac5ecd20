"""The TOML file of a sweep: the runs it makes, and what is wrong with it."""

from pathlib import Path

import pytest

from ilfo.experiments.sweep_file import read_sweep
from ilfo.experiments.sweep_folder import marked_folder, missing_runs, open_folder, write_run
from ilfo.runs.spec import RunSpec

LONG = '{"' + "a" * 5_000 + '": 1}'
HUNDRED = list(range(100))
BASE = 'method = "bc"\ntask = "cartpole"\n'


def sweep_of(tmp_path, text: str):
    path = tmp_path / "mine.toml"
    path.write_text(text)
    return read_sweep(path)


def test_all_combinations_of_the_grid_with_every_seed(tmp_path):
    sweep = sweep_of(
        tmp_path,
        BASE
        + """
seeds = [0, 7]
[settings]
passes = 20
policy.depth = 1
[grid]
trajectories = [1, 5]
[grid.settings]
policy.width = [8, 16]
""",
    )
    assert [run.name for run in sweep.runs] == [
        f"trajectories-{count}_width-{width}-{seed}"
        for count in (1, 5)
        for width in (8, 16)
        for seed in (0, 7)
    ]
    changes = ("passes=20", "policy.depth=1", "policy.width=16")
    expected = RunSpec("bc", "cartpole", trajectories=5, first_seed=7, changes=changes)
    assert sweep.runs[-1].spec == expected


def test_a_list_of_variants_with_a_grid(tmp_path):
    sweep = sweep_of(
        tmp_path,
        """
task = "cartpole"
seeds = 1
total_timesteps = 1000
[[list]]
name = "plain"
[[list]]
name = "no-bonus"
settings = { weight = 0.0, paired = false }
[grid.settings]
planner.kl = [0.01, 0.02]
""",
    )
    assert [run.name for run in sweep.runs] == [
        "plain_kl-0.01-0",
        "plain_kl-0.02-0",
        "no-bonus_kl-0.01-0",
        "no-bonus_kl-0.02-0",
    ]
    spec = sweep.runs[-1].spec
    assert spec.changes == ("weight=0.0", "paired=false", "planner.kl=0.02")
    settings = spec.settings()
    assert (settings.weight, settings.paired, settings.planner.kl) == (0.0, False, 0.02)


def test_the_example_of_the_guide_makes_the_runs_that_it_says(tmp_path):
    page = (Path(__file__).parents[2] / "docs" / "guide" / "sweeps.md").read_text()
    example = page.split("```toml\n")[1].split("```")[0]
    runs = sweep_of(tmp_path, example).runs
    assert f"{len(runs)} run directories" in page
    assert len(runs) == 40
    assert "no-bonus_trajectories-10_kl-0.02-3" in [run.name for run in runs]


def test_paths_are_relative_to_the_file(tmp_path, demos_file, monkeypatch):
    (tmp_path / "near.npz").write_bytes(demos_file.read_bytes())
    monkeypatch.chdir(demos_file.parent)
    sweep = sweep_of(tmp_path, 'method = "bc"\nenv = "CartPole-v1"\ndemos = "near.npz"\n')
    assert sweep.runs[0].spec.demos == str(tmp_path / "near.npz")
    own = sweep_of(tmp_path, 'method = "bc"\nenv = "my.py:Mine"\ndemos = "near.npz"\n')
    assert own.runs[0].spec.env == f"{tmp_path}/my.py:Mine"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("method = ", "is not a TOML file"),
        ("a = " + "[" * 5_000, "is not a TOML file"),
        (
            BASE + "[settings]\n" + ".".join("a" * 3_000) + " = 1",
            "nested too deeply",
        ),
        (BASE + "seeds = 99999999", "it describes 99,999,999 runs, but at most 100,000"),
        (
            BASE + "[grid.settings]\n" + "".join(f"{name} = {HUNDRED}\n" for name in "abcd"),
            "it describes 100,000,000 runs",
        ),
        (BASE + "lerning_rate = 1", "unknown key lerning_rate; there are: .*trajectories"),
        (BASE + "[grid]\nwidth = [1]", "unknown key grid.width"),
        (BASE + '[[list]]\nname = "a"\nx = 1', r"unknown key list\.x"),
        (BASE + "[settings]\npolicy.wdth = 8", "policy.wdth: MLPPolicy has no field 'wdth'"),
        (BASE + '[settings]\npolicy.width = "wide"', "policy.width: expected int, got 'wide'"),
        (BASE + "[grid.settings]\npolicy.width = 8", "policy.width is 8, but must be a list"),
        (BASE + "[settings]\npasses = [1, 2]", r"passes is \[1, 2\], but must be a number"),
        (BASE + "[grid.settings]\npasses = [1, 1]", "two runs would be called passes-1"),
        (BASE + '[[list]]\nname = "a/b"', "name 'a/b'; names are letters"),
        (BASE + "seeds = 0", "seeds is 0, but must be a number of seeds"),
        (BASE + "seeds = [1, 1]", r"seeds is \[1, 1\]"),
        (BASE + "seeds = [5000000000, 0]", r"seeds is \[5000000000, 0\].* in \[0, 2\*\*32\)"),
        (BASE + "seeds = [-1]", r"seeds is \[-1\]"),
        (BASE + f'[[list]]\nname = "{"a" * 199}"', "would be called a.*-0, 201 characters"),
        (BASE + f"[grid]\nenv_set = [['mass=1.{'0' * 200}']]", "but at most 200 fit"),
        (BASE + "evaluate_every = 0", "evaluate_every is 0"),
        (BASE + 'trajectories = "two"', "trajectories: expected int"),
        ('method = "bcc"\ntask = "cartpole"', "unknown method 'bcc'"),
        ('method = "bc"', "what to train on is missing; give task, or env with demos"),
        (BASE + 'demos = "x.npz"', "give either task, or env with demos, not both"),
        ('method = "bc"\ntask = "cartpol"', "cartpol"),
        (f'method = "bc"\ntask = "{"a" * 5_000}"', r"a \.\.\. a"),
    ],
)
def test_a_mistake_is_named(text, message, tmp_path):
    with pytest.raises(ValueError, match=message):
        sweep_of(tmp_path, text)


def test_the_largest_seed_and_the_longest_name(tmp_path):
    text = BASE + f'seeds = [{2**32 - 1}]\n[[list]]\nname = "{"a" * 189}"'
    (run,) = sweep_of(tmp_path, text).runs
    assert (len(run.name), run.spec.first_seed) == (200, 2**32 - 1)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"demos: there is no file or folder .*gone\.npz"):
        sweep_of(tmp_path, 'method = "bc"\nenv = "CartPole-v1"\ndemos = "gone.npz"')


def test_what_needs_the_environment_is_checked_too(tmp_path, demos_file):
    """And the demonstrations: a method that needs actions does not get any here."""
    own = f'env = "CartPole-v1"\ndemos = "{demos_file}"\n'
    with pytest.raises(ValueError, match="bc learns from the expert's actions") as error:
        sweep_of(tmp_path, 'method = "bc"\n' + own).check()
    assert "run bc-0" in error.value.__notes__[0]
    budget = "horizon = 20\ntotal_timesteps = 1000\n"
    with pytest.raises(ValueError, match="unknown environment 'None-v0'"):
        sweep_of(tmp_path, own.replace("CartPole-v1", "None-v0") + budget).check()
    with pytest.raises(ValueError, match="total_timesteps is 1"):
        sweep_of(tmp_path, own + budget.replace("1000", "1")).check()
    sweep_of(tmp_path, own + budget).check()


def test_a_changed_file_does_not_fit_the_folder(tmp_path):
    out = tmp_path / "out"
    text = BASE + "seeds = 2\n[settings]\npasses = 4\n"
    open_folder(out, sweep_of(tmp_path, text), cpus=1)
    open_folder(out, sweep_of(tmp_path, "# the same\n" + text), cpus=1)
    changed = sweep_of(tmp_path, text.replace("4", "5") + "every = 2\n")
    with pytest.raises(ValueError, match=r"settings.every was missing and is 2.*passes was 4 and"):
        open_folder(out, changed, cpus=1)
    with pytest.raises(ValueError, match="cpus_per_run was 1 and is 2"):
        open_folder(out, sweep_of(tmp_path, text), cpus=2)


@pytest.mark.parametrize("text", ["", "{", "[" * 100_000, '{"a": ' * 950 + "1" + "}" * 950, LONG])
def test_a_damaged_record_is_named(text, tmp_path):
    out, sweep = tmp_path / "out", sweep_of(tmp_path, BASE)
    open_folder(out, sweep, cpus=1)
    (out / "sweep.json").write_text(text)
    message = r"out(/sweep\.json is not valid JSON| holds the runs)"
    with pytest.raises(ValueError, match=message) as raised:
        open_folder(out, sweep, cpus=1)
    assert len(str(raised.value)) < 2_000


def test_a_folder_of_something_else_is_not_touched(tmp_path):
    sweep = sweep_of(tmp_path, BASE)
    with pytest.raises(ValueError, match="is not empty and holds no sweep"):
        open_folder(tmp_path, sweep, cpus=1)
    with pytest.raises(ValueError, match="is a file"):
        open_folder(tmp_path / "mine.toml", sweep, cpus=1)


def test_a_run_that_a_node_sends_is_written_once(tmp_path):
    sweep = sweep_of(tmp_path, BASE)
    folder = tmp_path / "out" / "bc-0"
    assert missing_runs(tmp_path / "out", sweep) == list(sweep.runs)
    write_run(folder, {"summary.json": b"{}", "last.npz": b"1", "../up": b"2"})
    assert (folder / "last.npz").read_bytes() == b"1"
    assert not (tmp_path / "out" / "up").exists()
    write_run(folder, {"summary.json": b"other"})
    assert (folder / "summary.json").read_bytes() == b"{}"
    assert missing_runs(tmp_path / "out", sweep) == []


def test_the_mark_of_the_driver_goes_with_it(tmp_path):
    (tmp_path / ".driver-old").touch()
    with marked_folder(tmp_path) as mark:
        assert list(tmp_path.iterdir()) == [mark]
    assert not mark.exists()
