"""`import ilfo` is light; its names are there when they are used."""

import subprocess
import sys
from importlib.metadata import version

import pytest

import ilfo


def test_every_public_name_is_there():
    assert set(ilfo.__all__) <= set(dir(ilfo))
    for name in ilfo.__all__:
        assert getattr(ilfo, name) is getattr(ilfo, name)


def test_names_are_those_of_their_modules():
    from ilfo import GAIL, Demonstrations, GAIfO, MobILE
    from ilfo.data import demonstrations
    from ilfo.methods import gail, mobile

    assert MobILE is ilfo.MobILE is mobile.MobILE
    assert (GAIL, GAIfO) == (gail.GAIL, gail.GAIfO)
    assert Demonstrations is demonstrations.Demonstrations


def test_the_version_is_that_of_the_distribution():
    assert ilfo.__version__ == version("ilfo")


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match=r"^module 'ilfo' has no attribute 'Chess'$"):
        _ = ilfo.Chess
    with pytest.raises(ImportError, match="cannot import name 'Chess' from 'ilfo'"):
        from ilfo import Chess  # noqa: F401


LAZY = """
import sys
import ilfo
before = set(sys.modules)
assert not {"numpy", "jax", "importlib.metadata"} & before, sorted(before)
from ilfo import *
assert MobILE.__name__ == "MobILE"
assert "jax" in sys.modules
"""


def test_nothing_is_imported_before_it_is_used():
    done = subprocess.run([sys.executable, "-c", LAZY], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
