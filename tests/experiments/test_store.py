"""The copy of a run that outlives its node."""

import io
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

pytest.importorskip("fsspec")

from ilfo.experiments.store import FILES, Store, open_store
from ilfo.experiments.work import train_run
from tests.helpers.agents import MACHINE

ROOT = Path(__file__).parents[2]
SPEC = {
    "method": "bc",
    "task": "cartpole",
    "trajectories": 1,
    "changes": ["passes=3", "every=1", "episodes=1", "policy.width=8", "policy.depth=1"],
}


class Lost(BaseException):
    """The node is gone."""


class Dies(Store):
    """A store whose node is lost after some iterations."""

    left = 2

    def on_iteration(self, agent, log):
        super().on_iteration(agent, log)
        self.left -= 1
        if not self.left:
            raise Lost


@pytest.mark.slow
def test_a_lost_run_goes_on_elsewhere_with_the_same_bits(tmp_path, monkeypatch):
    pytest.importorskip("ray", reason="long, and an engine of several nodes is what it is for")
    # other tests of this process may have computed already, after which devices cannot be set
    monkeypatch.setattr("ilfo.experiments.work.machine.set_up", lambda devices: MACHINE)
    url = f"file://{tmp_path}/store/sweep/run"
    whole, first, second = (tmp_path / name for name in ("whole", "first", "second"))
    train_run(SPEC, 100, str(whole))
    with pytest.raises(Lost):
        train_run(SPEC, 100, str(first), callbacks=[Dies(url, first)])

    store = Store(url, second)
    assert store.fetch()
    rows = (second / "metrics.csv").read_bytes()
    assert 1 < rows.count(b"\n") < (whole / "metrics.csv").read_bytes().count(b"\n")
    train_run(SPEC, 100, str(second), callbacks=[store])
    assert (second / "metrics.csv").read_bytes() == (whole / "metrics.csv").read_bytes()
    store.keep()
    third = Store(url, tmp_path / "third")
    assert third.fetch()
    for name in FILES:
        if (second / name).exists():
            assert (third.directory / name).read_bytes() == (second / name).read_bytes()


def test_a_copy_is_replaced_as_a_whole_and_never_replaces_a_run(tmp_path):
    run, there = tmp_path / "run", tmp_path / "store" / "run.zip"
    run.mkdir()
    store = Store(f"file://{tmp_path}/store/run", run)
    assert not store.fetch(), "there is no copy yet"
    (run / "metrics.csv").write_text("1")
    (run / "config.json").write_text("{}")
    (run / ".lock").write_text("")
    store.keep()
    (run / "metrics.csv").write_text("2")
    store.keep()
    assert [path.name for path in there.parent.iterdir()] == ["run.zip"]
    with zipfile.ZipFile(io.BytesIO(there.read_bytes())) as archive:
        assert sorted(archive.namelist()) == ["config.json", "metrics.csv"]
        assert archive.read("metrics.csv") == b"2"
    (run / "metrics.csv").write_text("3")
    assert not store.fetch()
    assert (run / "metrics.csv").read_text() == "3"


def test_without_fsspec_the_message_names_the_extra_that_has_it(monkeypatch):
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    (needed,) = extras["optional-dependencies"]["store"]
    assert needed.startswith("fsspec")
    monkeypatch.setitem(sys.modules, "fsspec", None)
    with pytest.raises(ImportError, match=r"--store needs fsspec; .*'ilfo\[store\]'"):
        open_store("file:///tmp")


@pytest.mark.parametrize("url", ["nowhere", "nothing://x/y"])
def test_what_cannot_be_opened_is_said(url):
    with pytest.raises(ValueError, match=f"--store is {url}, which cannot be opened"):
        open_store(url)
