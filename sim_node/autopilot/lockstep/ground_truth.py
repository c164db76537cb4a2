"""The truth, for autopilots that make their own sensors of it; only distances come from sensors."""

from __future__ import annotations

import numpy as np

from sim_node.autopilot.lockstep.ardupilot_json import MAX_RANGES
from sim_node.autopilot.lockstep.sample import Sample
from sim_node.sensors.truth import FrameState
from sim_node.simulation import Simulation
from sim_node.world import Multirotor
from sim_node.world.autopilot_checks import sensors_on

# As fast as the world steps, but no faster than ArduPilot's own simulators do (SIM_RATE_HZ).
RATE = 1200.0
# What a rangefinder tells that sees nothing, m: more than any measures.
_TOO_FAR = 1e4


class GroundTruthSource:
    """How base_link truly moves; up to six rangefinders as they read last; airspeed where there is a tube for it."""

    rate = RATE

    def __init__(self, simulation: Simulation, vehicle: Multirotor) -> None:
        sensors = sensors_on(simulation.world, vehicle.body)
        finders = [sensor.name for sensor in sensors if sensor.type == "rangefinder"][:MAX_RANGES]
        self._ranges = [_TOO_FAR] * len(finders)
        self._finders = [simulation.subscribe(name) for name in finders]
        self._has_tube = any(sensor.type == "airspeed" for sensor in sensors)
        self._wind = simulation.wind if simulation.world.wind is not None or self._has_tube else None
        self._truth = simulation.observer([vehicle.body])

    def sample(self, step: int, time_ns: int) -> Sample:
        """The vehicle as it is."""
        from sim_node.sensors.kernels import rate_and_force

        for index, finder in enumerate(self._finders):
            told = finder.newest(step)
            if told is not None:
                self._ranges[index] = float(np.clip(told[0], 0.0, _TOO_FAR))
        state = self._truth()
        felt = rate_and_force(state.pose, state.twist, state.acceleration, state.gravity)[0]
        wind = None if self._wind is None else self._wind(state.pose[:, :3])[0]
        airspeed = None if wind is None or not self._has_tube else _ahead(state, wind)
        pose, velocity = state.pose[0], state.twist[0, :3]
        ranges = tuple(self._ranges)
        return Sample(time_ns, pose, velocity, felt[:3], felt[3:], ranges=ranges, airspeed=airspeed, wind=wind)


def _ahead(state: FrameState, wind: np.ndarray) -> float:
    """The speed of the air from ahead, m/s; a tube feels none from behind."""
    return max(float(state.to_frame(state.twist[:, :3] - wind)[0, 0]), 0.0)
