"""What a user installs: the wheel holds the whole package, and every dependency has a pin."""

import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
PIN_LINES = (ROOT / "constraints.txt").read_text().splitlines()
PIN = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*==[0-9]+(\.[0-9a-z]+)*")


@pytest.fixture(scope="module")
def wheel_files(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    # Built from a copy: setuptools would otherwise take in what an earlier build left behind,
    # and parallel test workers would build in the same folder.
    checkout = tmp_path_factory.mktemp("checkout")
    for file in ROOT.iterdir():
        if file.is_file():
            shutil.copy(file, checkout)
    ignored = shutil.ignore_patterns("__pycache__", "*.egg-info")
    shutil.copytree(SOURCE, checkout / "src", ignore=ignored)
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", "dist", "."]
    build = subprocess.run(command, cwd=checkout, capture_output=True, text=True)
    assert build.returncode == 0, build.stdout + build.stderr
    (wheel,) = (checkout / "dist").glob("ilfo-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


def source_files(pattern: str) -> set[str]:
    return {path.relative_to(SOURCE).as_posix() for path in (SOURCE / "ilfo").rglob(pattern)}


def test_wheel_holds_the_bundled_demonstrations(wheel_files: set[str]) -> None:
    bundled = {name for name in source_files("*.npz") if name.startswith("ilfo/data/bundled/")}
    assert bundled, "no demonstrations in src/ilfo/data/bundled"
    assert bundled <= wheel_files


def test_wheel_holds_every_module_and_the_type_marker(wheel_files: set[str]) -> None:
    expected = source_files("*.py") | {"ilfo/py.typed"}
    assert expected <= wheel_files


def requirements() -> list[Requirement]:
    """All that pyproject.toml names, except the package's own extras."""
    project = PROJECT["project"]
    groups = [
        PROJECT["build-system"]["requires"],
        project["dependencies"],
        *project["optional-dependencies"].values(),
    ]
    named = {text for group in groups for text in group}
    parsed = [Requirement(text) for text in sorted(named)]
    return [requirement for requirement in parsed if requirement.name != project["name"]]


def test_constraints_are_sorted_pins_and_nothing_else() -> None:
    assert [line for line in PIN_LINES if not PIN.fullmatch(line)] == []
    names = [line.partition("==")[0] for line in PIN_LINES]
    assert names == sorted(set(names))


@pytest.mark.parametrize("requirement", requirements(), ids=str)
def test_every_direct_dependency_has_a_pin_in_its_range(requirement: Requirement) -> None:
    pins = dict(line.split("==") for line in PIN_LINES)
    name = canonicalize_name(requirement.name)
    assert name in pins, f"add '{name}==<version>' to constraints.txt"
    assert requirement.specifier.contains(pins[name])
