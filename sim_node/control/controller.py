"""The controller of several multirotors: setpoints to motor commands, arrays in and arrays out."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from sim_node.control.airframe import Airframe, allocation
from sim_node.control.attitudes import control_attitudes
from sim_node.control.gains import gains
from sim_node.control.mixer import mix
from sim_node.control.positions import control_positions
from sim_node.geometry.arrays import FloatArray


class Controller:
    """Flies V multirotors of R rotors in all to their setpoints, once a period.

    airframes: of each, and limits (V, 2): the speed (m/s) and the yaw rate (rad/s) that are asked for at most. period
    s; gravity m/s^2, downwards. integrals (V, 3): all that it remembers, to save and restore; zeros at rest. Raises
    ValueError for an airframe that its rotors do not command.
    """

    def __init__(self, airframes: Sequence[Airframe], limits: FloatArray, period: float, gravity: float = 9.81) -> None:
        count = len(airframes)
        self.first = np.concatenate([[0], np.cumsum([len(a.positions) for a in airframes])]).astype(np.int64)
        self.gains = np.array([gains(a, *limit) for a, limit in zip(airframes, limits.tolist(), strict=True)])
        self.integrals = np.zeros((count, 3))
        self._period, self._gravity = period, gravity
        self._inertias = np.array([a.inertia for a in airframes])
        self._rotors = np.concatenate([_mixer_rows(a) for a in airframes])
        self._demands, self._wrenches = np.zeros((count, 5)), np.zeros((count, 4))

    def fly(
        self, states: FloatArray, setpoints: FloatArray, running: npt.NDArray[np.int64], commands: FloatArray
    ) -> None:
        """Writes commands (R,) in [0, 1] from states (V, 13) and setpoints (V, 11); zeros where not running (V,)."""
        control_positions(
            states,
            setpoints,
            self.gains,
            self._gravity,
            self._period,
            running,
            self.integrals,
            self._demands,
        )
        self.turn(states, self._demands, running, commands)

    def turn(
        self, states: FloatArray, demands: FloatArray, running: npt.NDArray[np.int64], commands: FloatArray
    ) -> None:
        """Writes commands from demanded thrusts and yaws, demands (V, 5): `fly` without its loops on the position."""
        control_attitudes(states, demands, self.gains, self._inertias, self._wrenches)
        mix(self._wrenches, self.first, self._rotors, running, commands)


def _mixer_rows(airframe: Airframe) -> FloatArray:
    columns = (airframe.least, airframe.most, airframe.coefficients, airframe.slowest, airframe.fastest)
    return np.column_stack([allocation(airframe), *columns])
