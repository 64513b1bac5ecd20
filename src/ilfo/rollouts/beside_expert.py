"""A film of the expert beside the learner: the expert's recorded states on the left, an episode of
the learner's policy on the right."""

import math
from dataclasses import dataclass
from pathlib import Path

import gymnasium as gym
import numpy as np
from PIL import Image, ImageDraw, ImageFont

from ilfo.data.demonstrations import Demonstrations
from ilfo.environments.factory import Factory
from ilfo.policies.host import HostPolicy
from ilfo.rollouts.replay import replay, replayer
from ilfo.rollouts.video import SECONDS, check_path, frame_rate, open_for_rendering, play_greedily
from ilfo.storage.atomic import atomic

PANEL, FRAMES_PER_SECOND, COLOURS = 240, 20, 24
"""Longest side of a panel in pixels, highest frame rate, and half the size of the palette."""


@dataclass(frozen=True)
class Recording:
    """What a film shows of the expert."""

    states: np.ndarray
    """(T+1, S)."""
    total: float | None
    """Return of the episode, where it was recorded."""


def first_recording(maker: Factory, demonstrations: Demonstrations) -> Recording:
    """The states of the first demonstration; an error where they cannot be replayed."""
    environment = maker.make()
    known = replayer(environment) is not None
    environment.close()
    if not known:
        raise ValueError(
            f"the recorded states of {maker.name} cannot be put back into its simulator: "
            "ilfo.rollouts.replay has no entry for this class of environment, or a wrapper changes "
            "its observations; leave --beside-expert out to film the learner"
        )
    size = maker.observation_space.shape
    if size != (demonstrations.dim,):
        raise ValueError(
            f"the demonstrations have states of dimension {demonstrations.dim}, but observations "
            f"of {maker.name} have shape {size}; leave --beside-expert out to film the learner"
        )
    if demonstrations.every > 1 or demonstrations.observed is not None:
        raise ValueError(
            "recordings at a lower rate, or of a part of the state, cannot be replayed; leave "
            "--beside-expert out to film the learner"
        )
    returns = demonstrations.returns
    total = None if returns is None else float(returns[0])
    return Recording(next(iter(demonstrations)).states, total)


def film_beside_expert(
    maker: Factory, policy: HostPolicy, expert: Recording, path: Path, *, seed: int
) -> float:
    """The expert's recorded states on the left, one greedy episode on the right, both in real
    time. Returns the return of the greedy episode.

    The film is as long as the longer of the two, 20 seconds at most; the shorter one holds its
    last frame.
    """
    check_path(path)
    pace = _pace(maker)
    left: list[Image.Image] = []
    right: list[Image.Image] = []

    def shoot(step: int, environment: gym.Env, total: float, last: bool) -> None:
        if (step % pace.every == 0 or last) and len(right) < pace.limit:
            right.append(_panel(environment.render()))

    total = play_greedily(maker, policy, seed, shoot)
    environment = open_for_rendering(maker)
    environment.reset(seed=0)
    put = replay(environment, expert.states)
    last = len(expert.states) - 1
    for step in [*range(0, last, pace.every), last][: pace.limit]:
        put(step)
        left.append(_panel(environment.render()))
    environment.close()
    heads = _head("expert (recorded states)", expert.total), _head("learner", total)
    count = max(len(left), len(right))
    frames = [
        _side_by_side(heads, (left[min(t, len(left) - 1)], right[min(t, len(right) - 1)]))
        for t in range(count)
    ]
    _write(path, frames, pace.milliseconds)
    return total


@dataclass(frozen=True)
class _Pace:
    every: int
    """Steps from one frame to the next."""
    milliseconds: float
    """From one frame to the next."""
    limit: int
    """Frames at most."""


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


def _side_by_side(heads: tuple[str, str], panels: tuple[Image.Image, Image.Image]) -> Image.Image:
    width, height = panels[0].size
    gap, band = 4, 22
    font = ImageFont.load_default(12)
    picture = Image.new("RGB", (2 * width + gap, band + height), "white")
    draw = ImageDraw.Draw(picture)
    for text, panel, left in zip(heads, panels, (0, width + gap), strict=True):
        picture.paste(panel, (left, band))
        draw.text((left + width / 2, band / 2), text, fill=(40, 40, 40), font=font, anchor="mm")
    return picture


def _write(path: Path, frames: list[Image.Image], milliseconds: float) -> None:
    """An endless GIF with one palette, so that what does not change is not stored again."""
    palette = _palette(frames[:: math.ceil(len(frames) / 12)])
    first, *others = [frame.quantize(palette=palette, dither=Image.Dither.NONE) for frame in frames]
    with atomic(path) as file:
        first.save(
            file,
            format="GIF",
            save_all=True,
            append_images=others,
            duration=milliseconds,
            loop=0,
            optimize=False,
        )


def _palette(frames: list[Image.Image]) -> Image.Image:
    """Half of the colours for large areas and their gradients, half for small bright things."""
    sheet = Image.fromarray(np.concatenate([np.asarray(frame) for frame in frames]))
    colours: list[int] = []
    for method in (Image.Quantize.MEDIANCUT, Image.Quantize.MAXCOVERAGE):
        colours += (sheet.quantize(COLOURS, method).getpalette() or [])[: 3 * COLOURS]
    palette = Image.new("P", (1, 1))
    palette.putpalette(colours)
    return palette
