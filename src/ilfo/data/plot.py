"""What demonstrations look like: how each dimension is distributed, and the first trajectories."""

import itertools
from pathlib import Path

import numpy as np

from ilfo.common.optional import needed_from
from ilfo.data.demonstrations import Demonstrations
from ilfo.data.sampling import SAMPLE, sample_steps
from ilfo.storage.atomic import require_new

DIMENSIONS, TRAJECTORIES, COLUMNS = 18, 5, 3


def check_picture(path: Path) -> None:
    """Before any work."""
    if path.suffix.lower() != ".png":
        raise ValueError(f"{path} must end in .png")
    require_new(path)


def draw_demonstrations(demonstrations: Demonstrations, path: Path) -> None:
    """A pair of axes per dimension, of the first 18: a histogram and five trajectories in time."""
    check_picture(path)
    with needed_from("report", "a picture"):
        import matplotlib

        matplotlib.use("Agg")
        from matplotlib import pyplot
    states = sample_steps(demonstrations, SAMPLE, np.random.default_rng(0))[:, 1]
    first = [each.states for each in itertools.islice(demonstrations, TRAJECTORIES)]
    shown = min(demonstrations.dim, DIMENSIONS)
    rows = -(-shown // COLUMNS)
    figure, axes = pyplot.subplots(
        rows, 2 * COLUMNS, figsize=(5 * COLUMNS, 1.8 * rows), layout="constrained", squeeze=False
    )
    for unused in axes.ravel()[2 * shown :]:
        unused.set_visible(False)
    for dimension in range(shown):
        spread, course = axes.ravel()[2 * dimension : 2 * dimension + 2]
        spread.hist(states[:, dimension], bins=40)
        spread.set(title=f"state {dimension}", yticks=[])
        for path_of_states in first:
            course.plot(path_of_states[:, dimension], linewidth=0.8)
        course.set(xlabel="step")
    figure.savefig(path, dpi=100)
    pyplot.close(figure)
