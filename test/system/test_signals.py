"""Signals of a model on topics of a real node: a command drives it, its outputs follow."""

from __future__ import annotations

from pathlib import Path

import pytest
import rclpy.qos as ros_qos
from listening import listener
from processes import program, sim_node
from std_msgs.msg import Float64

pytestmark = pytest.mark.usefixtures("ros_domain")

MODEL = """
Train is Physics3D.System:
    a is DriveTrain.Shaft:
        inertia.inertia: 1
        angular_velocity_output.enabled: true
    motor is Physics1D.Interactions.RotationalVelocityMotor:
        target_speed: 0
        connectors: [a.input]
"""
INPUT = "/train/motor/target_angular_velocity_input"


def test_a_command_sets_the_speed_that_an_output_publishes(tmp_path: Path) -> None:
    path = tmp_path / "train.openplx"
    path.write_text(MODEL, encoding="utf-8")
    with program(sim_node("run", path)) as node, listener() as ears:
        speeds = ears.subscribe(Float64, "/train/a/angular_velocity_output", ros_qos.QoSProfile(depth=10))
        ears.spin_until(lambda: speeds and speeds[-1][1].data == 0.0, what="the speed of a motor at rest")
        command = ears.node.create_publisher(Float64, INPUT, 10)
        ears.spin_until(command.get_subscription_count, what=f"a subscription of {INPUT}")
        command.publish(Float64(data=3.0))
        ears.spin_until(lambda: abs(speeds[-1][1].data - 3.0) < 1e-6, what="the speed")
        command.publish(Float64(data=float("nan")))
        ears.spin_until(lambda: any("is not finite" in line for line in node.lines), what="a refusal")
        assert node.stop() == 0, node.output
