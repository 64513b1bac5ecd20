"""Empty matplotlib figures, which belong to their caller alone: no window, no list of open ones."""

from typing import Any

from ilfo.common.optional import needed_from


def make_figure(width: float, height: float) -> Any:
    """An empty figure of this size in inches; needs the extra `report`."""
    with needed_from("report", "a figure"):
        from matplotlib.figure import Figure
    return Figure(figsize=(width, height), layout="constrained")
