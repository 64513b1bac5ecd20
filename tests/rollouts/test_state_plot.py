"""Plots of recorded and visited states that move with time."""

import numpy as np

from ilfo.rollouts.state_plot import LABEL, LEARNER, MARGIN, RECORDED, StatePlot

SIZE = (120, 100)


def plot(visited, **more) -> StatePlot:
    recorded = np.linspace([0.0, 5.0], [1.0, 6.0], 11)
    return StatePlot(recorded, visited, every=1, names=["x", "y"], size=SIZE, **more)


def rows_of(picture, colour, below: int = 0) -> np.ndarray:
    """Where a lane has this colour, from its top."""
    pixels = np.asarray(picture)[below : SIZE[1] // 2]
    return below + np.flatnonzero((pixels == colour).all(-1).any(-1))


def test_a_learner_that_leaves_the_range_of_the_recording_is_not_cut_off():
    visited = np.linspace([0.0, 5.0], [10.0, 5.0], 11)
    recorded = rows_of(plot(visited).at(10), RECORDED, LABEL)
    learner = rows_of(plot(visited).at(10), LEARNER, LABEL)
    top, bottom = LABEL, SIZE[1] // 2 - MARGIN
    assert abs(learner.min() - top) <= 3
    assert abs(learner.max() - bottom) <= 3
    # ten times the recorded range
    assert recorded.max() - recorded.min() < (bottom - top) / 10 + 6
    straight = [np.asarray(plot(visited).at(step)) for step in (5, 10)]
    ends = [np.argwhere((p[: SIZE[1] // 2] == LEARNER).all(-1))[:, 0].min() for p in straight]
    assert ends[1] < ends[0] - 5  # still rising, not flat at the edge


def test_labels_are_above_the_curves():
    visited = np.linspace([1.0, 6.0], [0.0, 5.0], 11)
    assert rows_of(plot(visited).at(10), LEARNER).min() >= LABEL - 3
    assert len(rows_of(plot(visited).at(10), RECORDED)) > len(
        rows_of(plot(visited).at(10), RECORDED, LABEL)
    )


def test_a_plot_without_the_learner_has_the_same_axes():
    visited = np.linspace([0.0, 5.0], [10.0, 5.0], 21)
    alone, both = plot(visited, learner=False), plot(visited)
    assert alone.end == both.end == 20
    assert not len(rows_of(alone.at(20), LEARNER))
    assert rows_of(alone.at(0), RECORDED, LABEL).tolist()[0] >= SIZE[1] // 4


def test_a_low_picture_has_fewer_lanes():
    states = np.random.default_rng(0).normal(size=(5, 6))
    sized = lambda height: StatePlot(
        states, states, every=1, names=list("abcdef"), size=(100, height)
    )
    assert [len(sized(height).dimensions) for height in (10, 80, 240)] == [1, 3, 6]
