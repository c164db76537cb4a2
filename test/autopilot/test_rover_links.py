"""The built-in autopilot's rover as a process on real sockets: by pymavlink, by sticks, and after it was killed."""

from __future__ import annotations

import math
import signal
import time

import numpy as np
import pytest
from claims import free_instance
from test_builtin_links import Ground, Run, flying, only_autopilot
from waiting import until

from sim_node.autopilots.builtin.setpoints import TIMEOUT
from sim_node.autopilots.vehicle_co_simulator import attach_autopilots
from sim_node.simulation import Simulation
from sim_node.world import loads

WORLD = """\
origin: {{latitude: 47.397742, longitude: 8.545594, altitude: 488.0}}
time: {{step: 0.004}}
physics: {{integrator: implicitfast, timestep: 0.004}}
ground: plane
bases:
  - {{name: v, model: rover, drive: kinematic, autopilot: {{type: mavlink_builtin, instance: {instance}}}}}
"""
ROVER, UNSUPPORTED, ACCEPTED = 10, 3, 0
MANUAL, FULL, MIDDLE = 1, 1000, 500


class Rover(Run):
    """A simulation with a rover and its autopilot."""

    def __init__(self) -> None:
        self.instance = free_instance()
        self.said: list[str] = []
        self.simulation = Simulation(loads(WORLD.format(instance=self.instance)), seed=5)
        (self.peer,) = attach_autopilots(self.simulation, self.said.append)
        self._row = self.simulation.frames.names.index("v/base_link")

    def twist(self, ground: Ground) -> np.ndarray:
        assert ground.loop is not None
        return np.array(ground.loop.call(lambda: self.simulation.vehicles["v"].twist))


@pytest.mark.nightly
def test_by_sticks_and_killed_under_way_it_drives_on() -> None:
    run = Rover()
    try:
        with flying(run, speed=2.0) as ground:
            beat = ground.wait("HEARTBEAT")
            assert (beat.type, beat.base_mode & 128) == (ROVER, 0)
            assert ground.command(22, *[float("nan")] * 6, 3.0) == (
                UNSUPPORTED,
                "nav takeoff: a rover cannot take off",
            )
            assert ground.command(400, 1.0)[0] == ACCEPTED
            assert ground.command(176, 1.0, MANUAL)[0] == ACCEPTED
            ground.wait("HEARTBEAT", lambda message: message.custom_mode == MANUAL << 16)

            def held(y: int, z: int) -> bool:
                ground.send(ground._mav.manual_control_encode(ground.system, 0, y, z, 0, 0))
                time.sleep(0.05)
                vx, _, wz = run.twist(ground)
                return math.hypot(vx - 2.0 * (z - MIDDLE) / MIDDLE, wz + 1.5 * y / FULL) < 0.02

            until(lambda: held(200, FULL), "full speed, to the right")
            let_go = time.monotonic()
            until(lambda: not np.abs(run.twist(ground)).max() > 1e-3, "the stop after the last stick")
            assert time.monotonic() - let_go > TIMEOUT / 2.0
            until(lambda: held(0, 0), "full speed back")

            # A return goes on in another process.
            assert ground.command(176, 1.0, 4, 3)[0] == ACCEPTED
            until(lambda: not np.abs(run.twist(ground)).max() > 1e-3, "it holds")
            assert ground.command(20)[0] == ACCEPTED
            until(lambda: run.twist(ground)[0] > 0.2, "on the way home")
            only_autopilot().send_signal(signal.SIGKILL)
            until(lambda: run.peer.wait.lost == 1 and run.peer.wait.lockstep, "another process")
            until(lambda: np.linalg.norm(run.place[:2]) < 0.3 and run.twist(ground)[0] < 1e-3, "home")
            ground.wait("HEARTBEAT", lambda message: message.base_mode & 128)
    finally:
        run.simulation.close()
