"""GOTO: ENU metres relative to home, and the autopilot's local NED."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sim_node.spatial.frames import goto_from_ned, goto_to_ned

metres = st.lists(st.floats(-1e4, 1e4), min_size=3, max_size=3)


def test_by_hand() -> None:
    """20 m east, 10 m north, 5 m above a home that lies 1 m north and 2 m below where the estimator started."""
    np.testing.assert_array_equal(goto_to_ned((20, 10, 5)), (10, 20, -5))
    np.testing.assert_array_equal(goto_to_ned((20, 10, 5), home_ned=(1, 0, 2)), (11, 20, -3))
    np.testing.assert_array_equal(goto_from_ned((11, 20, -3), home_ned=(1, 0, 2)), (20, 10, 5))


@given(metres, metres)
def test_there_and_back(target: Sequence[float], home: Sequence[float]) -> None:
    np.testing.assert_allclose(goto_from_ned(goto_to_ned(target, home), home), target, rtol=0, atol=4e-12)


def test_a_route() -> None:
    route = np.arange(12.0).reshape(4, 3)
    np.testing.assert_array_equal(goto_to_ned(route, (1, 1, 1))[2], goto_to_ned(route[2], (1, 1, 1)))
