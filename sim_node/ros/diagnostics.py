"""Pace of the simulation, and status of its autopilots and programs, on /diagnostics once per second."""

from __future__ import annotations

from collections.abc import Iterator

from rclpy.node import Node
from rclpy.time import Time

from sim_node.autopilots.vehicle_co_simulator import VehicleCoSimulator
from sim_node.messages.clock import Stamp
from sim_node.ros.statuses import ERROR, OK, WARN, Status, publish_statuses
from sim_node.session import Session
from sim_node.simulation.programs.supervisor import Running

# Thresholds of a warning: lateness at the 99th percentile, s, and fraction of the requested speed.
LATE_S, SLOW = 0.005, 0.95


class Diagnostics:
    """Publishes the rate, lateness and real-time factor of a run, and the status of each autopilot and program.

    stamp: stamps the messages, like all others of the simulation.
    """

    def __init__(self, node: Node, session: Session, stamp: Stamp) -> None:
        self._node, self._session, self._loop = node, session, session.loop
        self._dropped = 0
        publish_statuses(node, self._statuses, lambda: Time(nanoseconds=stamp(session.loop.simulation.time_ns)))

    def _statuses(self) -> Iterator[Status]:
        yield self._pace()
        yield from map(_autopilot, self._session.autopilots)
        yield from map(_program, self._session.programs.running.values())

    def _pace(self) -> Status:
        pace = self._loop.pace()
        requested = self._node.get_parameter("real_time_factor").value
        level, message = OK, "running"
        if self._loop.paused:
            message = "paused"
        elif pace.rate and requested and pace.real_time_factor < SLOW * requested:
            level, message = WARN, f"slower than requested: {pace.real_time_factor:.2f} of {requested:g}"
        elif pace.lateness_p99 > LATE_S:
            level, message = WARN, f"late: 1 % of ticks by {pace.lateness_p99 * 1e3:.1f} ms or more"
        dropped = self._loop.simulation.pictures_dropped
        if dropped > self._dropped:
            level, message = WARN, f"{dropped - self._dropped} camera pictures dropped"
        self._dropped = dropped
        if self._node.count_publishers("/clock") > 1:
            level, message = WARN, "another node publishes /clock too: time jumps between the two"
            self._node.get_logger().warning(
                f"{message}; stop one, or give each its own ROS_DOMAIN_ID", throttle_duration_sec=30.0
            )
        values: dict[str, object] = {
            "world": self._loop.simulation.world.name,
            "time (s)": f"{self._loop.simulation.time_ns / 1e9:.9g}",
            "ticks": pace.ticks,
            "publish rate (Hz)": f"{pace.rate:.3f}",
            "lateness p50 (ms)": f"{pace.lateness_p50 * 1e3:.3f}",
            "lateness p99 (ms)": f"{pace.lateness_p99 * 1e3:.3f}",
            "real-time factor": f"{pace.real_time_factor:.4f}",
            "wall time given up (s)": f"{pace.behind:.3f}",
            "pictures left out": dropped,
        }
        return Status(level, "pace", message, values.items())


def _autopilot(vehicle: VehicleCoSimulator) -> Status:
    """Return the status of an autopilot: a warning before it connects, an error if the connection was lost."""
    wait = vehicle.wait
    level = OK
    if not wait.peer or wait.since is not None:
        level = ERROR if wait.lost else WARN
    values = (("lockstep", str(wait.lockstep).lower()), ("times lost", wait.lost))
    return Status(level, f"autopilot of {vehicle.name}", wait.describe(), values, vehicle.name)


def _program(running: Running) -> Status:
    """Return the status of a program: a warning if it has ended."""
    level = WARN if running.ended.is_set() else OK
    return Status(level, f"program {running.program.name}", running.status(), [("starts", running.starts)])
