"""A film of the expert beside the learner: what was recorded on the left, an episode of the
learner's policy on the right.

Recorded states are put back into the simulator where that is possible. Where it is not, because the
environment is unknown, or the recordings are at a lower rate or of a part of the state, the left
side is a plot of the states. Where the environment makes no pictures, both sides are.
"""

import math
import textwrap
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from ilfo.data.demonstrations import Demonstrations
from ilfo.environments.factory import Factory
from ilfo.environments.observing import dimension_names
from ilfo.policies.host import HostPolicy
from ilfo.rollouts.film_files import check_film, write_film
from ilfo.rollouts.replay import replay, replayer
from ilfo.rollouts.state_plot import StatePlot
from ilfo.rollouts.video import SECONDS, Moment, frame_rate, open_for_rendering, play_greedily

PANEL, FRAMES_PER_SECOND = 240, 20
"""Longest side of a panel in pixels, and highest frame rate."""


@dataclass(frozen=True)
class Recording:
    """What a film shows of the expert."""

    states: np.ndarray
    """(T+1, S)."""
    total: float | None
    """Return of the episode, where it was recorded."""
    every: int = 1
    """Control steps from one recorded state to the next."""
    observed: tuple[int, ...] | None = None
    """Dimensions that were recorded; None for all."""
    replayed: bool = True
    """It is put back into the simulator; otherwise it is plotted."""
    rendered: bool = True
    """The environment makes pictures; otherwise the learner's states are plotted, too."""
    names: tuple[str, ...] | None = None
    """What the recorded dimensions are called."""
    clip: bool = False
    """It begins anywhere, not at a reset."""

    def plotted(self) -> "Recording":
        """For an environment that makes no pictures."""
        return replace(self, replayed=False, rendered=False)


def first_recording(maker: Factory, demonstrations: Demonstrations) -> Recording:
    """The first demonstration, as it can be shown."""
    size, observed = maker.observation_space.shape, demonstrations.observed
    if observed is None and size != (demonstrations.dim,):
        raise ValueError(
            f"the demonstrations have states of dimension {demonstrations.dim}, but observations "
            f"of {maker.name} have shape {size}; leave --beside-expert out to film the learner"
        )
    environment = maker.make()
    known = replayer(environment) is not None
    environment.close()
    returns = demonstrations.returns
    return Recording(
        next(iter(demonstrations)).states,
        None if returns is None else float(returns[0]),
        demonstrations.every,
        observed,
        known and demonstrations.every == 1 and observed is None,
        names=dimension_names(demonstrations, maker),
        clip=demonstrations.clips,
    )


def film_beside_expert(
    maker: Factory, policy: HostPolicy, expert: Recording, path: Path, *, seed: int
) -> float:
    """The expert on the left, one greedy episode on the right, both in real time, in a file.
    Returns the return of the greedy episode.

    The film is as long as the longer of the two, 20 seconds at most; the shorter one holds its
    last frame.
    """
    check_film(path)
    frames, milliseconds, total = frames_beside_expert(maker, policy, expert, seed=seed)
    write_film(path, frames, milliseconds)
    return total


def frames_beside_expert(
    maker: Factory, policy: HostPolicy, expert: Recording, *, seed: int
) -> tuple[list[Image.Image], float, float]:
    """The frames of such a film, the milliseconds for which each is shown, and the return."""
    pace = _pace(maker)
    right: list[Image.Image] = []
    visited: list[np.ndarray] = []

    def shoot(now: Moment) -> None:
        visited.append(now.state)
        shown = now.step % pace.every == 0 or now.last
        if expert.rendered and shown and len(right) < pace.limit:
            right.append(_panel(now.environment.render()))

    total = play_greedily(maker, policy, seed, shoot, rendered=expert.rendered)
    size, states = right[0].size if right else (PANEL, PANEL), np.stack(visited)
    if expert.replayed:
        name, left = "expert (recorded states)", _replayed(maker, expert, pace)
    elif expert.rendered:
        name, left = "states: recorded grey, learner red", _plotted(expert, states, size, pace)
    else:
        name = "expert (recorded states)"
        left = _plotted(expert, states, size, pace, learner=False)
        right = _plotted(expert, states, size, pace)
    own = expert.total if expert.replayed or not expert.rendered else None
    heads = _head(name, own), _head("learner", total)
    foot = _caption(expert, states[0])
    count = max(len(left), len(right))
    frames = [
        _side_by_side(heads, (left[min(t, len(left) - 1)], right[min(t, len(right) - 1)]), foot)
        for t in range(count)
    ]
    return frames, pace.milliseconds, total


def _caption(expert: Recording, first: np.ndarray) -> str:
    """What is to be known of the two beginnings; nothing where they are the same."""
    kept = slice(None) if expert.observed is None else list(expert.observed)
    if np.allclose(expert.states[0], first[kept], rtol=1e-4, atol=1e-6):
        return ""
    if expert.clip:
        return "the recording is a clip: it begins elsewhere"
    return "recording and learner begin at different resets"


def _replayed(maker: Factory, expert: Recording, pace: "_Pace") -> list[Image.Image]:
    environment = open_for_rendering(maker)
    environment.reset(seed=0)
    put = replay(environment, expert.states)
    panels = []
    for step in pace.steps(len(expert.states) - 1):
        put(step)
        panels.append(_panel(environment.render()))
    environment.close()
    return panels


def _plotted(
    expert: Recording,
    visited: np.ndarray,
    size: tuple[int, int],
    pace: "_Pace",
    *,
    learner: bool = True,
) -> list[Image.Image]:
    kept = list(range(visited.shape[1]) if expert.observed is None else expert.observed)
    names = [str(place) for place in kept] if expert.names is None else list(expert.names)
    plot = StatePlot(
        expert.states, visited[:, kept], every=expert.every, names=names, size=size, learner=learner
    )
    return [plot.at(step) for step in pace.steps(plot.end)]


@dataclass(frozen=True)
class _Pace:
    every: int
    """Steps from one frame to the next."""
    milliseconds: float
    """From one frame to the next."""
    limit: int
    """Frames at most."""

    def steps(self, last: int) -> list[int]:
        """The control steps that are shown, the last one included."""
        return [*range(0, last, self.every), last][: self.limit]


def _pace(maker: Factory) -> _Pace:
    environment = maker.make()
    rate = frame_rate(environment)
    environment.close()
    every = max(math.ceil(rate / FRAMES_PER_SECOND), 1)
    return _Pace(every, 1000 * every / rate, int(SECONDS * rate / every))


def _panel(frame) -> Image.Image:
    picture = Image.fromarray(np.asarray(frame))
    picture.thumbnail((PANEL, PANEL), Image.Resampling.BOX)
    return picture


def _head(name: str, total: float | None) -> str:
    return name if total is None else f"{name}: return {total:.0f}"


def _side_by_side(
    heads: tuple[str, str], panels: tuple[Image.Image, Image.Image], foot: str
) -> Image.Image:
    width, height = panels[0].size
    gap, band = 4, 22
    font, small = ImageFont.load_default(12), ImageFont.load_default(11)
    whole = 2 * width + gap
    lines = textwrap.wrap(foot, max(whole // 7, 10))  # no letter is wider on average
    line = 16
    picture = Image.new("RGB", (whole, band + height + line * len(lines)), "white")
    draw = ImageDraw.Draw(picture)
    for number, text in enumerate(lines):
        place = (whole / 2, band + height + (number + 0.5) * line)
        draw.text(place, text, fill=(90, 90, 90), font=small, anchor="mm")
    for text, panel, left in zip(heads, panels, (0, width + gap), strict=True):
        picture.paste(panel, (left, band))
        draw.text((left + width / 2, band / 2), text, fill=(40, 40, 40), font=font, anchor="mm")
    return picture
