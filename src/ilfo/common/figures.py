"""Empty matplotlib figures, which belong to their caller alone: no window, no list of open ones."""

from typing import Any

from ilfo.common.optional import needed_from

AT_ONE_PLACE = (
    "At one place, the return is that of the policy after the iteration, the MMD that of the "
    "one before, which collected the rollouts."
)
"""What a figure of learning curves has to say: the steps of an iteration are taken first, then the
policy learns from them, and then its return is measured."""


def make_figure(width: float, height: float) -> Any:
    """An empty figure of this size in inches; needs the extra `report`."""
    with needed_from("report", "a figure"):
        from matplotlib.figure import Figure
    return Figure(figsize=(width, height), layout="constrained")
