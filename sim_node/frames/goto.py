"""GOTO targets: ENU metres relative to home, as an operator gives them, and the autopilot's local NED."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sim_node.frames.conventions import Frame
from sim_node.frames.positions import convert_position
from sim_node.geometry.arrays import FloatArray, as_rows

_AT_THE_ORIGIN = (0.0, 0.0, 0.0)


def goto_to_ned(target_enu: npt.ArrayLike, home_ned: npt.ArrayLike = _AT_THE_ORIGIN) -> FloatArray:
    """Return the setpoint (..., 3) in the autopilot's local NED for a target in ENU metres relative to home.

    home_ned: home in that same local frame, the x, y, z of MAVLink's HOME_POSITION. It is not (0, 0, 0) as a
    rule: local NED starts where the estimator did, home is where the vehicle armed or what the pilot set.
    """
    return np.asarray(as_rows(home_ned, 3, "home") + convert_position(target_enu, Frame.ENU, Frame.NED))


def goto_from_ned(position_ned: npt.ArrayLike, home_ned: npt.ArrayLike = _AT_THE_ORIGIN) -> FloatArray:
    """Return a position (..., 3) in the autopilot's local NED as ENU metres relative to home; see goto_to_ned."""
    return convert_position(as_rows(position_ned, 3, "position") - as_rows(home_ned, 3, "home"), Frame.NED, Frame.ENU)
