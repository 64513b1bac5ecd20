"""A plot of states that moves with time: what was recorded, and what the learner does. It stands in
for a picture of the expert where recorded states cannot be put back into the simulator."""

from collections.abc import Sequence

import numpy as np
from PIL import Image, ImageDraw, ImageFont

SHOWN = 6
"""Dimensions, the first that vary."""
RECORDED, AHEAD, LEARNER = (90, 90, 90), (205, 205, 205), (200, 30, 30)
"""Colours: of the recording up to now, of the rest of it, and of the learner."""
MARGIN = 4
"""Room for a label on the left, in pixels."""


class StatePlot:
    """Draws recorded and visited states up to some step."""

    def __init__(
        self,
        recorded: np.ndarray,
        visited: np.ndarray,
        *,
        every: int,
        names: Sequence[str],
        size: tuple[int, int],
    ):
        """`recorded` (n, S) are `every` control steps apart, `visited` (m, S) one; `names` are
        those of the S dimensions, `size` is that of the picture in pixels."""
        moving = np.flatnonzero(np.ptp(recorded, 0) > 0)[:SHOWN]
        self.dimensions = moving if len(moving) else np.arange(min(SHOWN, recorded.shape[1]))
        self.recorded, self.visited, self.names, self.size = recorded, visited, names, size
        self.times = every * np.arange(len(recorded))
        self.end = max(self.times[-1], len(visited) - 1, 1)

    def at(self, step: int) -> Image.Image:
        """The picture at that control step."""
        width, height = self.size
        picture = Image.new("RGB", self.size, "white")
        draw = ImageDraw.Draw(picture)
        row = height / len(self.dimensions)
        for place, dimension in enumerate(self.dimensions):
            top = place * row
            draw.text(
                (MARGIN + 2, top + 1),
                self.names[dimension],
                fill=RECORDED,
                font=ImageFont.load_default(9),
                anchor="la",
            )
            expert, learner = self.recorded[:, dimension], self.visited[:, dimension]
            low, high = expert.min(), expert.max()
            room = 0.25 * (high - low) + 1e-6
            down = lambda value, low=low - room, high=high + room, top=top: (
                top + row * (1 - np.clip((value - low) / (high - low), 0, 1))
            )
            across = lambda time: MARGIN + (width - MARGIN - 4) * np.asarray(time) / self.end
            known = self.times <= step
            now = min(step, len(learner) - 1)
            _line(draw, across(self.times), down(expert), AHEAD)
            _line(draw, across(self.times[known]), down(expert[known]), RECORDED)
            _line(draw, across(np.arange(now + 1)), down(learner[: now + 1]), LEARNER)
        return picture


def _line(draw: ImageDraw.ImageDraw, x: np.ndarray, y: np.ndarray, colour) -> None:
    """A line that ends in a dot."""
    points = list(zip(x.tolist(), y.tolist(), strict=True))
    if len(points) > 1:
        draw.line(points, fill=colour, width=1)
    if points:
        (across, down), radius = points[-1], 2
        draw.ellipse((across - radius, down - radius, across + radius, down + radius), fill=colour)
