"""The worked examples of docs/guide/extending.md, run block by block on a copy of the package.

Blocks with a title are files, `bash` blocks are commands, `diff` blocks are edits: a line that
begins with `+` goes below the line before it, a line that begins with `-` is removed.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/guide/extending.md"
BLOCK = re.compile(r'^```(\w+)(?: title="([^"]+)")?\n(.*?)^```$', re.M | re.S)
TOUCHED = {
    "A dynamics model": {"dynamics/linear.py", "dynamics/__init__.py"},
    "A method": {"methods/search.py", "methods/__init__.py"},
    "A task": {
        "environments/heavy_cartpole.py",
        "environments/tasks.py",
        "data/bundled/cartpole-heavy.npz",
    },
}


def sections() -> dict[str, str]:
    _, *parts = PAGE.read_text().split("\n## ")
    return {part.partition("\n")[0]: part for part in parts}


def edit(folder: Path, text: str) -> None:
    head, *lines = text.splitlines()
    path = folder / head.removeprefix("+++ ")
    content = path.read_text().split("\n")
    place = None
    for line in lines:
        sign, words = line[0], line[1:]
        if sign == "+":
            assert place is not None, f"nothing says where {line!r} goes"
            place += 1
            content.insert(place, words)
            continue
        assert content.count(words) == 1, f"{words!r} is not once in {path}"
        place = content.index(words)
        if sign == "-":
            del content[place]
            place -= 1
    path.write_text("\n".join(content))


def run(folder: Path, commands: str, cache_home: Path) -> None:
    environment = os.environ | {
        "XDG_CACHE_HOME": str(cache_home),
        "PYTHONPATH": f"{folder / 'src'}:{folder}",
        "PATH": f"{folder / 'bin'}:{os.environ['PATH']}",
    }
    done = subprocess.run(
        ["bash", "-ec", commands], cwd=folder, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, f"{commands}\n{done.stdout}\n{done.stderr}"


def contents(package: Path) -> dict[str, bytes]:
    files = [path for path in package.rglob("*") if path.suffix in (".py", ".npz")]
    return {str(path.relative_to(package)): path.read_bytes() for path in files}


@pytest.fixture
def folder(tmp_path) -> Path:
    """A checkout with the package alone, where `ilfo` and `python` mean it."""
    keep_out = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "src/ilfo", tmp_path / "src/ilfo", ignore=keep_out)
    (tmp_path / "bin").mkdir()
    for name, words in {"python": "", "ilfo": "-m ilfo"}.items():
        script = tmp_path / "bin" / name
        script.write_text(f'#!/bin/sh\nexec {sys.executable} {words} "$@"\n')
        script.chmod(0o755)
    return tmp_path


def test_the_page_has_these_examples_and_the_table_counts_their_files():
    assert list(sections()) == list(TOUCHED)
    rows = re.findall(r"^\| (dynamics model|method|task) \|(.*?)\|", PAGE.read_text(), re.M)
    counted = [text.count(",") + 1 for _, text in rows]
    sources = [[path for path in paths if path.endswith(".py")] for paths in TOUCHED.values()]
    assert counted == [len(paths) for paths in sources]


@pytest.mark.slow
@pytest.mark.parametrize("name", TOUCHED)
def test_example(name, folder, cache_home):
    before = contents(folder / "src/ilfo")
    for language, title, text in BLOCK.findall(sections()[name]):
        if title:
            (folder / title).write_text(text)
        elif language == "diff":
            edit(folder, text)
        else:
            run(folder, text, cache_home)
    after = contents(folder / "src/ilfo")
    assert {path for path in after if before.get(path) != after[path]} == TOUCHED[name]
    assert before.keys() <= after.keys()
