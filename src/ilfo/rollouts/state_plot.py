"""A plot of states that moves with time: what was recorded, and what the learner does. It stands in
for a picture of the expert where recorded states cannot be put back into the simulator."""

from collections.abc import Callable, Sequence

import numpy as np
from PIL import Image, ImageDraw, ImageFont

SHOWN = 6
"""Dimensions, the first that vary."""
RECORDED, AHEAD, LEARNER = (90, 90, 90), (205, 205, 205), (200, 30, 30)
"""Colours: of the recording up to now, of the rest of it, and of the learner."""
MARGIN, LABEL, LEAST = 4, 14, 26
"""In pixels: room at the sides, the height of a label, and of a lane with its label at least."""


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
        learner: bool = True,
    ):
        """`recorded` (n, S) are `every` control steps apart, `visited` (m, S) one; `names` are
        those of the S dimensions, `size` is that of the picture in pixels. Without `learner` the
        visited states are not drawn, but the axes have room for them, as in a plot beside it."""
        self.learner = learner
        most = max(min(SHOWN, size[1] // LEAST), 1)
        moving = np.flatnonzero(np.ptp(recorded, 0) > 0)[:most]
        self.dimensions = moving if len(moving) else np.arange(min(most, recorded.shape[1]))
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
            # above the curves, where none of them runs through it
            font, label = ImageFont.load_default(9), self.names[dimension]
            draw.text((MARGIN, top + 1), label, fill=RECORDED, font=font, anchor="la")
            if place:
                draw.line([(0, top), (width, top)], fill=AHEAD)
            expert, learner = self.recorded[:, dimension], self.visited[:, dimension]
            down = self._scale(expert, learner, top + LABEL, top + row - MARGIN)
            across = lambda time: MARGIN + (width - 2 * MARGIN) * np.asarray(time) / self.end
            known = self.times <= step
            _line(draw, across(self.times), down(expert), AHEAD)
            _line(draw, across(self.times[known]), down(expert[known]), RECORDED)
            if self.learner:
                now = min(step, len(learner) - 1)
                _line(draw, across(np.arange(now + 1)), down(learner[: now + 1]), LEARNER)
        return picture

    def _scale(
        self, expert: np.ndarray, learner: np.ndarray, top: float, bottom: float
    ) -> Callable[[np.ndarray], np.ndarray]:
        """From values to rows of pixels, so that neither of the two leaves the lane."""
        both = np.concatenate([expert, learner]).astype(float)
        middle, half = (both.max() + both.min()) / 2, np.ptp(both) / 2 + 1e-6
        return lambda values: (top + bottom) / 2 - (values - middle) / half * (bottom - top) / 2


def _line(draw: ImageDraw.ImageDraw, x: np.ndarray, y: np.ndarray, colour) -> None:
    """A line that ends in a dot."""
    points = list(zip(x.tolist(), y.tolist(), strict=True))
    if len(points) > 1:
        draw.line(points, fill=colour, width=1)
    if points:
        (across, down), radius = points[-1], 2
        draw.ellipse((across - radius, down - radius, across + radius, down + radius), fill=colour)
