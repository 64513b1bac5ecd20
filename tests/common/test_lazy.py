"""Lazy re-exports: every announced name is there, and no other."""

import importlib
from types import ModuleType

import pytest

from ilfo.common.lazy import lazy_exports

ROOMS = ["common", "storage", "data", "environments", "rollouts"]


def test_a_name_is_imported_from_its_home_on_first_use() -> None:
    look_up, names = lazy_exports("ilfo.common", {"interval": "statistics"})
    assert look_up("interval") is importlib.import_module("ilfo.common.statistics").interval
    assert "interval" in names()


def test_other_names_are_no_attributes() -> None:
    look_up, _ = lazy_exports("ilfo.common", {"interval": "statistics"})
    with pytest.raises(AttributeError, match=r"'ilfo\.common' has no attribute 'mean'"):
        look_up("mean")


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_says_what_it_is_for_and_has_what_it_exports(room) -> None:
    package = importlib.import_module(f"ilfo.{room}")
    assert package.__doc__
    assert package.__all__
    for name in package.__all__:
        assert getattr(package, name) is not None
        assert name in dir(package)
        assert not isinstance(getattr(package, name), ModuleType)  # a submodule would hide it
