"""What a room re-exports can be imported from it, and costs no more than it must."""

import importlib
import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import ilfo

ROOMS = sorted(
    path.parent.name
    for path in Path(ilfo.__file__).parent.glob("*/__init__.py")
    if path.parent.name != "cli"
)


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_has_a_docstring_and_all_that_it_lists(room):
    module = importlib.import_module(f"ilfo.{room}")
    assert module.__doc__
    assert set(module.__all__) <= set(dir(module))
    assert len(set(module.__all__)) == len(module.__all__)
    for name in module.__all__:
        exported = getattr(module, name)
        if inspect.isclass(exported) or inspect.isfunction(exported):
            assert exported.__module__.startswith(f"ilfo.{room}.")


@pytest.mark.parametrize("room", ["experiments", "theory"])
def test_what_a_room_does_not_have_is_an_attribute_error(room):
    module = importlib.import_module(f"ilfo.{room}")
    with pytest.raises(AttributeError, match=f"'ilfo.{room}' has no attribute 'Nothing'"):
        _ = module.Nothing


def test_experiments_and_theory_are_imported_without_slow_libraries():
    """SciPy's statistics and matplotlib are imported by the functions that use them."""
    program = (
        "import sys, ilfo.experiments as e, ilfo.theory as t\n"
        "names = [getattr(m, name) for m in (e, t) for name in m.__all__]\n"
        "print([name for name in ('scipy.stats', 'matplotlib') if name in sys.modules])\n"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (ran.stdout.strip(), ran.stderr) == ("[]", "")
