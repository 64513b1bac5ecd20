import builtins

import pytest

from ilfo.common.figures import make_figure
from ilfo.common.optional import MissingExtraError


def test_no_list_of_open_figures_grows():
    pyplot = pytest.importorskip("matplotlib.pyplot")
    before = pyplot.get_fignums()
    assert tuple(make_figure(4, 3).get_size_inches()) == (4, 3)
    assert pyplot.get_fignums() == before


def test_without_matplotlib_the_extra_is_named(monkeypatch):
    real = builtins.__import__

    def missing(name, *args, **kwargs):
        if name.partition(".")[0] == "matplotlib":
            raise ImportError(name=name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", missing)
    with pytest.raises(MissingExtraError, match=r"a figure needs matplotlib.*ilfo\[report\]"):
        make_figure(4, 3)
