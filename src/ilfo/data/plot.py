"""A figure of demonstrations: a histogram of each dimension and the first trajectories."""

import itertools
from pathlib import Path

import numpy as np

from ilfo.common.optional import needed_from
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
    with needed_from("report", "drawing a figure"):
        import matplotlib

        matplotlib.use("Agg")
        from matplotlib import pyplot
    states = sample(demonstrations, SAMPLE, np.random.default_rng(0)).pairs[:, 1]
    first = [trajectory.states for trajectory in itertools.islice(demonstrations, TRAJECTORIES)]
    shown = min(demonstrations.dim, DIMENSIONS)
    names = demonstrations.names or [f"state {place}" for place in range(demonstrations.dim)]
    rows = -(-shown // COLUMNS)
    figure, axes = pyplot.subplots(
        rows, 2 * COLUMNS, figsize=(5 * COLUMNS, 1.8 * rows), layout="constrained", squeeze=False
    )
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
    pyplot.close(figure)
