"""The pace of the simulation, and the state of its autopilots and programs, on /diagnostics once a second."""

from __future__ import annotations

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from rclpy.time import Time

from sim_node.autopilots.vehicle_co_simulator import VehicleCoSimulator
from sim_node.messages.clock import Stamp
from sim_node.ros import publishers
from sim_node.session import Session
from sim_node.simulation.programs.supervisor import Running

# A warning is published above this lateness at the 99th percentile, or below this fraction of the requested speed.
LATE_S, SLOW = 0.005, 0.95


class Diagnostics:
    """Publishes a DiagnosticStatus of a run's rate, lateness and real-time factor, and of each autopilot and program.

    stamp: stamps of the messages, as those of everything that the simulation publishes.
    """

    def __init__(self, node: Node, session: Session, stamp: Stamp) -> None:
        self._node = node
        self._session = session
        self._loop = session.loop
        self._stamp = stamp
        self._dropped = 0
        self._publisher = node.create_publisher(DiagnosticArray, "/diagnostics", publishers.DIAGNOSTICS)
        # Wall time: a paused simulation still reports that it is paused.
        self._timer = node.create_timer(1.0, self._publish, clock=Clock(clock_type=ClockType.STEADY_TIME))

    def _publish(self) -> None:
        pace = self._loop.pace()
        requested = self._node.get_parameter("real_time_factor").value
        level, message = DiagnosticStatus.OK, "running"
        if self._loop.paused:
            message = "paused"
        elif pace.rate and requested and pace.real_time_factor < SLOW * requested:
            level, message = (
                DiagnosticStatus.WARN,
                f"slower than requested: {pace.real_time_factor:.2f} of {requested:g}",
            )
        elif pace.lateness_p99 > LATE_S:
            level, message = DiagnosticStatus.WARN, f"late: 1 % of ticks by {pace.lateness_p99 * 1e3:.1f} ms or more"
        dropped = self._loop.simulation.pictures_dropped
        if dropped > self._dropped:
            level, message = DiagnosticStatus.WARN, f"{dropped - self._dropped} camera pictures dropped"
        self._dropped = dropped
        if self._node.count_publishers("/clock") > 1:
            level, message = DiagnosticStatus.WARN, "another node publishes /clock too: time jumps between the two"
            self._node.get_logger().warning(
                f"{message}; stop one, or give each its own ROS_DOMAIN_ID", throttle_duration_sec=30.0
            )
        values = {
            "world": self._loop.simulation.world.name,
            "time (s)": f"{self._loop.simulation.time_ns / 1e9:.9g}",
            "ticks": str(pace.ticks),
            "publish rate (Hz)": f"{pace.rate:.3f}",
            "lateness p50 (ms)": f"{pace.lateness_p50 * 1e3:.3f}",
            "lateness p99 (ms)": f"{pace.lateness_p99 * 1e3:.3f}",
            "real-time factor": f"{pace.real_time_factor:.4f}",
            "wall time given up (s)": f"{pace.behind:.3f}",
            "pictures left out": str(dropped),
        }
        status = DiagnosticStatus(
            level=level,
            name=f"{self._node.get_fully_qualified_name()}: pace",
            message=message,
            hardware_id="sim_node",
            values=[KeyValue(key=key, value=value) for key, value in values.items()],
        )
        programs = [self._program(running) for running in self._session.programs.running.values()]
        array = DiagnosticArray(status=[status, *map(self._autopilot, self._session.autopilots), *programs])
        array.header.stamp = Time(nanoseconds=self._stamp(self._loop.simulation.time_ns)).to_msg()
        self._publisher.publish(array)

    def _autopilot(self, vehicle: VehicleCoSimulator) -> DiagnosticStatus:
        """Return the state of an autopilot: a warning before it connects, an error if the connection was lost."""
        wait = vehicle.wait
        level = DiagnosticStatus.OK
        if not wait.peer or wait.since is not None:
            level = DiagnosticStatus.ERROR if wait.lost else DiagnosticStatus.WARN
        return DiagnosticStatus(
            level=level,
            name=f"{self._node.get_fully_qualified_name()}: autopilot of {vehicle.name}",
            message=wait.describe(),
            hardware_id=vehicle.name,
            values=[
                KeyValue(key="lockstep", value=str(wait.lockstep).lower()),
                KeyValue(key="times lost", value=str(wait.lost)),
            ],
        )

    def _program(self, running: Running) -> DiagnosticStatus:
        """Return the state of a program: a warning if it has ended."""
        return DiagnosticStatus(
            level=DiagnosticStatus.WARN if running.ended.is_set() else DiagnosticStatus.OK,
            name=f"{self._node.get_fully_qualified_name()}: program {running.program.name}",
            message=running.status(),
            hardware_id="sim_node",
            values=[KeyValue(key="starts", value=str(running.starts))],
        )
