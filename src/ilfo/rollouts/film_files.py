"""Frames written as a film: an endless GIF, or an MP4."""

import io
import math
import warnings
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from PIL import Image

from ilfo.common.optional import needed_from
from ilfo.storage.atomic import atomic, require_new

COLOURS = 32
"""Half the size of a GIF's palette."""


def check_film(path: Path) -> None:
    """Raise an error if a film cannot be written to `path`; call it before episodes are played."""
    suffix = path.suffix.lower()
    if suffix not in WRITERS:
        raise ValueError(f"{path} must end in {' or '.join(WRITERS)}")
    require_new(path)
    if suffix == ".mp4":
        with needed_from("video", "an MP4 film"):
            import imageio_ffmpeg  # noqa: F401 - imageio finds it by itself


def write_film(path: Path, frames: Sequence[Image.Image], milliseconds: float) -> None:
    """Write frames of equal size, each shown for so long."""
    check_film(path)
    content = WRITERS[path.suffix.lower()](frames, milliseconds)
    with atomic(path) as file:
        file.write(content)


def as_gif(frames: Sequence[Image.Image], milliseconds: float) -> bytes:
    """An endless GIF with one palette, so that what does not change is not stored again."""
    palette = _palette(frames[:: math.ceil(len(frames) / 12)])
    first, *others = [frame.quantize(palette=palette, dither=Image.Dither.NONE) for frame in frames]
    file = io.BytesIO()
    first.save(
        file,
        format="GIF",
        save_all=True,
        append_images=others,
        duration=milliseconds,
        loop=0,
        optimize=False,
    )
    return file.getvalue()


def _as_mp4(frames: Sequence[Image.Image], milliseconds: float) -> bytes:
    """H.264 in the form that every browser plays."""
    import imageio.v3 as imageio

    with warnings.catch_warnings():
        # JAX warns of forks, but the encoder's process runs a program of its own at once
        warnings.filterwarnings("ignore", message=r"os\.fork\(\)", category=RuntimeWarning)
        return imageio.imwrite(
            "<bytes>",
            np.stack([_even(np.asarray(frame)) for frame in frames]),
            extension=".mp4",
            fps=1000 / milliseconds,
            macro_block_size=2,
        )


def _even(frame: np.ndarray) -> np.ndarray:
    """With an even number of rows and columns, which the encoder needs."""
    height, width, _ = frame.shape
    return np.pad(frame, ((0, height % 2), (0, width % 2), (0, 0)), mode="edge")


def _palette(frames: Sequence[Image.Image]) -> Image.Image:
    """Half of the colours for large areas and their gradients, half for small bright things."""
    sheet = Image.fromarray(np.concatenate([np.asarray(frame) for frame in frames]))
    colours: list[int] = []
    for method in (Image.Quantize.MEDIANCUT, Image.Quantize.MAXCOVERAGE):
        colours += (sheet.quantize(COLOURS, method).getpalette() or [])[: 3 * COLOURS]
    palette = Image.new("P", (1, 1))
    palette.putpalette(colours)
    return palette


WRITERS = {".gif": as_gif, ".mp4": _as_mp4}
