"""What `make docs` refuses, with the project's own configuration; and what the site must have."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

yaml = pytest.importorskip("yaml")
pytest.importorskip("mkdocs")

ROOT = Path(__file__).parents[2]
CONFIG = yaml.safe_load((ROOT / "mkdocs.yml").read_text())


def build(folder: Path, pages: dict[str, str], nav: list[str]) -> subprocess.CompletedProcess[str]:
    """A small site that is validated like the project's."""
    config: dict[str, Any] = {
        "site_name": "small",
        "validation": CONFIG["validation"],
        "nav": nav,
        "theme": "mkdocs",
        "plugins": [],
    }
    (folder / "docs").mkdir()
    (folder / "mkdocs.yml").write_text(yaml.safe_dump(config))
    for name, text in pages.items():
        (folder / "docs" / name).write_text(text)
    command = [sys.executable, "-m", "mkdocs", "build", "--strict"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True)


def test_a_sound_site_is_built(tmp_path: Path) -> None:
    built = build(tmp_path, {"index.md": "# One\n\n[here](#one)\n"}, ["index.md"])
    assert built.returncode == 0, built.stderr


@pytest.mark.parametrize(
    ("pages", "nav"),
    [
        ({"index.md": "[gone](gone.md)\n"}, ["index.md"]),
        ({"index.md": "[gone](#gone)\n"}, ["index.md"]),
        ({"index.md": "![gone](gone.png)\n"}, ["index.md"]),
        ({"index.md": "# One\n", "more.md": "# Two\n"}, ["index.md"]),
        ({"index.md": "# One\n"}, ["index.md", "gone.md"]),
    ],
    ids=["link", "anchor", "picture", "page without navigation", "navigation without page"],
)
def test_what_is_broken_fails(pages: dict[str, str], nav: list[str], tmp_path: Path) -> None:
    assert build(tmp_path, pages, nav).returncode != 0


def test_make_builds_in_strict_mode_and_says_what_is_wrong() -> None:
    (line,) = [
        line for line in (ROOT / "Makefile").read_text().splitlines() if "mkdocs build" in line
    ]
    assert "--strict" in line
    # --quiet drops the warnings before strict mode counts them
    assert "--quiet" not in line
    assert "-q" not in line.split()


def test_every_package_has_a_page_of_the_reference() -> None:
    packages = {path.parent.name for path in (ROOT / "src" / "ilfo").glob("*/__init__.py")}
    pages = {path.stem for path in (ROOT / "docs" / "api").glob("*.md")} - {"index"}
    assert packages == pages


def test_pages_load_nothing_from_other_hosts() -> None:
    assert CONFIG["theme"]["font"] is False
    assert "extra_javascript" not in CONFIG
