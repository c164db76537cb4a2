"""PX4's names as programs use them: px4_ros_com's offboard example, with the built-in autopilot in simulated time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("px4_msgs", reason="needs sim_node build px4_msgs")

from forked_programs import program
from listening import listener
from processes import sim_node
from px4_msgs.msg import (
    OffboardControlMode,
    TrajectorySetpoint,
    VehicleCommand,
    VehicleCommandAck,
    VehicleLocalPosition,
    VehicleStatus,
)
from px4_msgs.srv import VehicleCommand as VehicleCommandService
from rclpy.qos import DurabilityPolicy, HistoryPolicy, QoSProfile, ReliabilityPolicy

pytestmark = [pytest.mark.peers, pytest.mark.usefixtures("ros_domain")]
# As the example has it.
PX4 = QoSProfile(
    reliability=ReliabilityPolicy.BEST_EFFORT,
    durability=DurabilityPolicy.TRANSIENT_LOCAL,
    history=HistoryPolicy.KEEP_LAST,
    depth=1,
)
WORLD = """
world: idle
origin: {latitude: 47.397742, longitude: 8.545594, altitude: 488.0}
time: {step: 0.004}
physics: {integrator: euler, timestep: 0.001}
bodies:
  - {name: ground, geometry: [{plane: true}]}
vehicles:
  - {name: drone, model: iris, pose: {position: [0, 0, 0.13]}, autopilot: {type: mavlink_builtin}}
"""


def test_the_offboard_example_takes_off_holds_and_lands(tmp_path: Path) -> None:
    world = tmp_path / "idle.yaml"
    world.write_text(WORLD, encoding="utf-8")
    names = ("-p", "names:=px4", "-p", "px4_namespace:=''")
    with program(sim_node("run", str(world), "--no-view", "--ros-args", *names)) as run, listener() as ears:
        run.wait_for("topics below")
        modes, setpoints, commands = (
            ears.node.create_publisher(type, f"/fmu/in/{name}", PX4)
            for type, name in (
                (OffboardControlMode, "offboard_control_mode"),
                (TrajectorySetpoint, "trajectory_setpoint"),
                (VehicleCommand, "vehicle_command"),
            )
        )
        places = ears.subscribe(VehicleLocalPosition, "/fmu/out/vehicle_local_position_v1", PX4)
        states = ears.subscribe(VehicleStatus, "/fmu/out/vehicle_status", PX4)
        acks = ears.subscribe(VehicleCommandAck, "/fmu/out/vehicle_command_ack", PX4)
        ears.spin_until(lambda: all(each.get_subscription_count() for each in (modes, setpoints, commands)))
        ears.spin_until(lambda: places and places[-1][1].xy_global, "a position with its origin")
        assert (places[-1][1].ref_lat, places[-1][1].ref_lon) == pytest.approx((47.397742, 8.545594), abs=1e-6)

        def order(command: int, **params: float) -> None:
            """As the example, but until it is answered: the topic is best effort."""
            message = VehicleCommand(command=command, target_system=1, target_component=1, **params)
            timer = ears.node.create_timer(0.5, lambda: commands.publish(message))
            ears.spin_until(
                lambda: any((ack.command, ack.result) == (command, 0) for _, ack in acks), f"command {command}"
            )
            ears.node.destroy_timer(timer)

        def fly() -> None:
            modes.publish(OffboardControlMode(position=True))
            if states and states[-1][1].nav_state == VehicleStatus.NAVIGATION_STATE_OFFBOARD:
                setpoints.publish(TrajectorySetpoint(position=[3.0, 0.0, -5.0], yaw=1.57079))

        timer = ears.node.create_timer(0.1, fly)
        try:
            order(VehicleCommand.VEHICLE_CMD_DO_SET_MODE, param1=1.0, param2=6.0)
            order(VehicleCommand.VEHICLE_CMD_COMPONENT_ARM_DISARM, param1=1.0)
            ears.spin_until(lambda: abs(places[-1][1].z + 5.0) < 0.2 and abs(places[-1][1].x - 3.0) < 0.3, "the place")
            status: Any = states[-1][1]
            assert (status.arming_state, status.nav_state) == (2, VehicleStatus.NAVIGATION_STATE_OFFBOARD)
            assert places[-1][1].timestamp < 600e6, "simulated time"
        finally:
            ears.node.destroy_timer(timer)
        request = VehicleCommandService.Request()
        request.request.command = VehicleCommand.VEHICLE_CMD_NAV_LAND
        reply = ears.call(VehicleCommandService, "/fmu/vehicle_command", request).reply
        assert (reply.command, reply.result) == (21, 0)
        ears.spin_until(lambda: states[-1][1].arming_state == 1, "landed and disarmed")
