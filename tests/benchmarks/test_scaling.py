"""The table of how an iteration scales: growth in proportion is 1."""

from benchmarks.scaling import HOPPER, LARGER, Measured, table


def entries(row: str) -> list[str]:
    return [entry.strip() for entry in row.strip("|").split("|")]


def test_growth_is_compared_with_growth_in_proportion():
    seconds = (1.0, 3.0, 20.0, 20.0, 20.0 * 105 / 11, 400.0)
    dims = (11, 11, 11, 27, 105, 348)
    measured = [
        Measured(case, dim, spent, 0.5)
        for case, dim, spent in zip(HOPPER + LARGER, dims, seconds, strict=True)
    ]
    header, _, *rows = table(measured).splitlines()
    assert entries(header)[-2:] == ["per step", "per number"]
    assert [entries(row)[-2] for row in rows] == ["1.00", "1.00", "2.00", "", "", ""]
    assert [entries(row)[-1] for row in rows] == ["", "", "1.00", "0.41", "1.00", "0.63"]
