"""What iterations logged, and what a run directory has of it."""

import numpy as np
import pytest

from ilfo.agents.history import History

TABLE = """iteration,seed,online_samples,mmd,greedy_return
1,3,40,0.5,
1,4,40,0.7,
2,3,80,0.25,9.0
2,4,80,0.125,8.0
3,3,120,0.1,7.0
3,4,12"""


def test_a_table_up_to_an_iteration(tmp_path):
    path = tmp_path / "metrics.csv"
    path.write_text(TABLE)
    history = History((3, 4))
    history.read(path, 2)
    assert history["iteration"].tolist() == [1, 2]
    assert history["online_samples"].tolist() == [40, 80]
    np.testing.assert_array_equal(history["mmd"], [[0.5, 0.7], [0.25, 0.125]])
    np.testing.assert_array_equal(history["greedy_return"], [[np.nan, np.nan], [9, 8]])
    assert history.frame().seed.tolist() == [3, 4, 3, 4]
    history.add({"iteration": 3, "online_samples": 120, "mmd": np.array([0.1, 0.2])})
    assert history["mmd"].shape == (3, 2)


def test_an_unknown_column_is_an_error_that_lists_the_others():
    history = History((0,))
    with pytest.raises(KeyError, match="'speed' is no column; there are: none yet"):
        history["speed"]
    history.take([{"iteration": 1, "seed": 0, "online_samples": 40, "mmd": 0.5}])
    with pytest.raises(KeyError, match="there are: mmd, iteration, online_samples"):
        history["speed"]
