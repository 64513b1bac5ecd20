"""A figure of demonstrations: a histogram of each dimension and the first trajectories."""

import itertools
from pathlib import Path

import numpy as np

from ilfo.common.figures import make_figure
from ilfo.data.demonstrations import Demonstrations
from ilfo.data.sampling import SAMPLE, sample
from ilfo.storage.atomic import naming, require_new

DIMENSIONS, TRAJECTORIES, COLUMNS = 18, 5, 3


def check_picture(path: Path) -> None:
    """Raise an error if a figure cannot be written to `path`; call it before long work."""
    if path.suffix.lower() != ".png":
        raise ValueError(f"{path} must end in .png")
    require_new(path)


def draw_demonstrations(demonstrations: Demonstrations, path: Path) -> None:
    """For each of the first 18 dimensions, a histogram and the first five trajectories."""
    check_picture(path)
    shown = min(demonstrations.dim, DIMENSIONS)
    rows = -(-shown // COLUMNS)
    figure = make_figure(5 * COLUMNS, 1.8 * rows)
    states = sample(demonstrations, SAMPLE, np.random.default_rng(0)).pairs[:, 1]
    first = [trajectory.states for trajectory in itertools.islice(demonstrations, TRAJECTORIES)]
    names = demonstrations.names or [f"state {place}" for place in range(demonstrations.dim)]
    axes = figure.subplots(rows, 2 * COLUMNS, squeeze=False)
    for unused in axes.ravel()[2 * shown :]:
        unused.set_visible(False)
    for dimension in range(shown):
        histogram, curves = axes.ravel()[2 * dimension : 2 * dimension + 2]
        histogram.hist(states[:, dimension], bins=40)
        histogram.set(title=names[dimension], yticks=[])
        for trajectory in first:
            curves.plot(trajectory[:, dimension], linewidth=0.8)
        curves.set(xlabel="step")
    with naming(path):
        figure.savefig(path, dpi=100)
