"""Termination rules at their bounds."""

import numpy as np

from ilfo.environments import endings


def test_walkers_fall_as_the_paper_says():
    upright = np.zeros(18, np.float32)
    upright[1] = 1.25
    hopper, walker = endings.hopper_ends, endings.walker2d_ends
    assert not hopper(upright[:12])
    assert not walker(upright)
    for index, value, falls in [
        (1, 0.7, (True, True)),
        (1, 0.75, (False, True)),
        (1, 2.1, (False, True)),
        (2, -1.0, (True, True)),
        (2, 0.99, (False, False)),
        (5, 100.0, (True, True)),
        (5, np.nan, (True, True)),
        (0, -np.inf, (True, True)),
    ]:
        state = upright.copy()
        state[index] = value
        assert (bool(hopper(state[:12])), bool(walker(state))) == falls, (index, value)
