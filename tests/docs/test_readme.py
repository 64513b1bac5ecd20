"""The front page stays short, and what it links to exists."""

import contextlib
import io
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
MOST_LINES, WIDEST_ROW, LARGEST_FILM = 120, 120, 2_000_000
LINK = re.compile(r"\]\(([^)#\s]+)[^)]*\)")
BLOCK = re.compile(
    r"<!-- \[\[\[cog import tables; tables\.front_page\(\) \]\]\] -->\n(.*?)<!--", re.S
)


def test_readme_is_short() -> None:
    assert len(README.splitlines()) <= MOST_LINES


def test_no_row_of_a_table_is_too_wide() -> None:
    rows = [line for line in README.splitlines() if line.startswith("|")]
    assert rows
    assert [row for row in rows if len(row) > WIDEST_ROW] == []


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md", "CHANGELOG.md"])
def test_links_lead_to_files(page: str) -> None:
    links = LINK.findall((ROOT / page).read_text())
    local = [link for link in links if not link.startswith("http")]
    assert [link for link in local if not (ROOT / link).exists()] == []


def test_film_is_small() -> None:
    assert (ROOT / "docs" / "assets" / "hopper.gif").stat().st_size <= LARGEST_FILM


def test_result_table_is_that_of_the_result_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    import tables

    monkeypatch.setitem(sys.modules, "tables", tables)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        tables.front_page()
    found = BLOCK.search(README)
    assert found is not None
    assert found.group(1).strip() == printed.getvalue().strip(), "run `make tables`"


def test_citation_names_the_paper() -> None:
    yaml = pytest.importorskip("yaml")
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert citation["cff-version"] == "1.2.0"
    (paper,) = citation["references"]
    names = [author["family-names"] for author in paper["authors"]]
    assert names == ["Kidambi", "Chang", "Sun"]
    assert paper["title"].startswith("MobILE")
