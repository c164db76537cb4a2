"""Inputs and outputs of models: by their paths, read and set from Python, and as messages."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path

import pytest
from rclpy.serialization import deserialize_message
from std_msgs.msg import Float64

from sim_node.messages.signal_sink import SignalSink
from sim_node.messages.topic import Send, Topic
from sim_node.session.graph_names import graph_names
from sim_node.simulation import Simulation
from sim_node.world import World, WorldError, WorldWarning, load, loads
from sim_node.world.writers.yaml import to_yaml

MODEL = """\
Rotor is Physics3D.System:
    pivot is Physics3D.Interactions.MateConnector:
        main_axis: Math.Vec3.Y_AXIS()
    bar is Physics3D.Bodies.RigidBody:
        inertia.mass: 2
        shape is Physics3D.Geometries.Box:
            size: {1, 0.1, 0.1}
        eye is Physics3D.Interactions.MateConnector:
            position: {0.4, 0, 0}
            main_axis: Math.Vec3.Y_AXIS()
    hinge is Physics3D.Interactions.Hinge:
        connectors: [pivot, bar.eye]
        initial_angle: 0.5
        angle_output.enabled: true
        angular_velocity_output.enabled: true
    motor is Physics3D.Interactions.RotationalVelocityMotor:
        connectors: hinge.connectors
        torque_output.enabled: true
    speedInput is Physics.Signals.AngularVelocity1DInput:
        source: motor
    a is DriveTrain.Shaft:
        inertia.inertia: 1
        angular_velocity_output.enabled: true
    b is DriveTrain.Shaft:
        inertia.inertia: 1
    drive is DriveTrain.TorqueMotor:
        connectors: [a.input]
    clutch is DriveTrain.ManualClutch:
        initial_engagement_fraction: 0
        torque_capacity: 2
        connectors: [a.output, b.input]
        torque_output.enabled: true
    b_speed is Physics.Signals.AngularVelocity1DOutput:
        source: b
"""
# Moment of the bar's weight about its hinge at the angle 0, N m.
WEIGHT = 2.0 * 9.81 * 0.4


@pytest.fixture
def world(tmp_path: Path) -> Callable[..., World]:
    def made(after: str = "") -> World:
        path = tmp_path / "model.openplx"
        path.write_text(MODEL + after, encoding="utf-8")
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            return load(path)

    return made


def test_an_input_sets_the_speed_that_outputs_measure(world: Callable[..., World]) -> None:
    run = Simulation(world())
    signals = run.signals
    assert signals["Rotor/hinge/angle_output"].value == pytest.approx(0.5)
    # Held at rest, the motor bears the weight: the centre is 0.4 m behind the hinge, along -x at the angle 0.
    run.run(0.2)
    assert signals["Rotor/motor/torque_output"].value == pytest.approx(WEIGHT * 0.8775825618903728, rel=1e-3)
    signals["Rotor/motor/target_angular_velocity_input"].value = -2.0
    run.run(0.5)
    assert signals["Rotor/hinge/angular_velocity_output"].value == pytest.approx(-2.0, abs=1e-5)
    assert signals["Rotor/hinge/angle_output"].value == pytest.approx(0.5 - 2.0 * 0.5, abs=1e-2)
    signals["Rotor/speedInput"].value = 1.0
    run.run(0.2)
    assert signals["Rotor/hinge/angular_velocity_output"].value == pytest.approx(1.0, abs=1e-5)
    run.reset()
    assert signals["Rotor/speedInput"].value == 0.0, "a reset ends commands"


def test_torque_and_engagement_are_inputs(world: Callable[..., World]) -> None:
    """5 N m turn a shaft of 1 kg m^2; half of the clutch's capacity, 1 N m, turns the other one."""
    run = Simulation(world())
    signals = run.signals
    signals["Rotor/drive/torque_input"].value = 5.0
    run.run(0.5)
    assert signals["Rotor/a/angular_velocity_output"].value == pytest.approx(2.5, rel=1e-6)
    assert signals["Rotor/b_speed"].value == 0.0
    signals["Rotor/clutch/engagement_fraction_input"].value = 0.5
    run.run(0.5)
    assert signals["Rotor/b_speed"].value == pytest.approx(0.5, rel=1e-2)
    assert signals["Rotor/a/angular_velocity_output"].value == pytest.approx(2.5 + 0.5 * 4.0, rel=1e-2)
    assert abs(signals["Rotor/clutch/torque_output"].value) == pytest.approx(1.0, rel=1e-6)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("Rotor/b_speed", 1.0, "is an output"),
        ("Rotor/speedInput", float("nan"), "is not finite"),
        ("Rotor/clutch/engagement_fraction_input", 1.5, "out of range; allowed: 0 to 1"),
    ],
)
def test_what_cannot_be_set_is_refused(world: Callable[..., World], name: str, value: float, message: str) -> None:
    run = Simulation(world())
    with pytest.raises(ValueError, match=message):
        run.signals[name].value = value


def test_outputs_are_messages_below_the_path_of_the_model(world: Callable[..., World]) -> None:
    newest: dict[str, bytes] = {}

    class Kept:
        def advertise(self, topic: Topic) -> Send:
            def send(time_ns: int, data: bytes) -> None:
                newest[topic.name] = data

            return send

    run = Simulation(world())
    sink = SignalSink(Kept(), prefix="p/")
    sink.open(run.world, run.frames)
    run.step()
    sink.write(run.snapshot("signal"))
    angle = deserialize_message(newest["p/rotor/hinge/angle_output"], Float64).data
    assert angle == run.joints["Rotor/bar"].position[0]
    named = [each.name for each in graph_names(run.world) if each.owner.startswith("the signal")]
    assert [f"/{name.removeprefix('p/')}" for name in newest] == named


def test_signals_of_an_included_model_are_below_its_prefix(world: Callable[..., World], tmp_path: Path) -> None:
    world()
    (tmp_path / "shop.yaml").write_text("world: shop\ninclude: [{file: model.openplx, prefix: s}]\n", encoding="utf-8")
    run = Simulation(load(tmp_path / "shop.yaml"))
    run.signals["s/Rotor/speedInput"].value = 1.0
    run.run(0.2)
    assert run.signals["s/Rotor/hinge/angular_velocity_output"].value == pytest.approx(1.0, abs=1e-5)


WORLD = """
world: w
bodies: [{name: a, joint: rx, geometry: [{sphere: 0.1, mass: 1}]}]
actuators: [{joint: a, type: velocity, damping: 10}]
signals:
  - {name: speed, of: a, quantity: target, input: true}
  - {name: measured, of: a, quantity: velocity}
"""


def test_signals_of_world_files_are_written_and_read_again() -> None:
    model = loads(WORLD)
    assert loads(to_yaml(model)).signals == model.signals
    run = Simulation(model)
    run.signals["speed"].value = 2.0
    run.run(1.0)
    assert run.signals["measured"].value == pytest.approx(2.0, abs=1e-3)
    assert (run.signals["speed"].is_input, run.signals["measured"].is_input) == (True, False)


def test_a_signal_of_a_mate_that_closes_a_loop_is_left_out_and_named(tmp_path: Path) -> None:
    """Two hinges about one axis hold the same bar: one of them has the joint."""
    second = """\
    brace is Physics3D.Interactions.Hinge:
        connectors: [pivot, bar.eye]
        angle_output.enabled: true
"""
    path = tmp_path / "model.openplx"
    path.write_text(MODEL + second, encoding="utf-8")
    with pytest.warns(WorldWarning, match=r"closes a loop or is fixed, so that it has no signals"):
        run = Simulation(load(path))
    assert "Rotor/hinge/angle_output" in run.signals
    assert "Rotor/brace/angle_output" not in run.signals


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ("of: a, quantity: angle", "quantity: found 'angle'; allowed: position, velocity, target, force, engagement"),
        ("of: b, quantity: position", "'b' is no joint with one degree of freedom"),
        ("of: a, quantity: target", "'a' is no actuator"),
        ("of: a, quantity: velocity, input: true", "input: a velocity cannot be set; allowed: target, engagement"),
    ],
)
def test_faults_of_signals_in_world_files(fields: str, message: str) -> None:
    text = f"""
world: w
bodies: [{{name: a, joint: rx, geometry: [{{sphere: 0.1, mass: 1}}]}}]
signals: [{{name: s, {fields}}}]
"""
    with pytest.raises(WorldError, match=message):
        Simulation(loads(text))


FLIER = """
Flier is Physics3D.System:
    stone is Physics3D.Bodies.RigidBody:
        inertia.mass: 2
        shape is Physics3D.Geometries.Sphere:
            radius: 0.1
        kinematics.local_transform.position: {1, 2, 3}
        position_output.enabled: true
        rpy_output.enabled: true
        linear_velocity_world_output.enabled: true
        linear_velocity_world_input.reference_id: "throw"
        angular_velocity_world_input.reference_id: "spin"
"""


def test_numbers_of_bodies_in_three_dimensions_are_a_signal_for_each_axis(tmp_path: Path) -> None:
    """Thrown, a stone flies its parabola."""
    (tmp_path / "flier.openplx").write_text(FLIER, encoding="utf-8")
    run = Simulation(tmp_path / "flier.openplx")
    signals = run.signals
    assert [signals[f"Flier/stone/position_output/{axis}"].value for axis in "xyz"] == pytest.approx([1, 2, 3])
    for axis, speed in zip("xyz", (3.0, -2.0, 5.0), strict=True):
        signals[f"Flier/stone/linear_velocity_world_input/{axis}"].value = speed
    signals["Flier/stone/angular_velocity_world_input/z"].value = 1.5
    run.run(0.5)
    found = [signals[f"Flier/stone/position_output/{axis}"].value for axis in "xyz"]
    assert found == pytest.approx([2.5, 1.0, 3.0 + 2.5 - 9.81 / 2 * 0.25], abs=5e-3)
    assert signals["Flier/stone/linear_velocity_world_output/z"].value == pytest.approx(5.0 - 4.905, abs=1e-6)
    assert signals["Flier/stone/rpy_output/z"].value == pytest.approx(0.75, abs=1e-6)
    again = loads(to_yaml(run.world))
    assert [(s.of, s.quantity, s.axis, s.input) for s in again.signals] == [
        (s.of, s.quantity, s.axis, s.input) for s in run.world.signals
    ]


SHIFTED = """
Train is Physics3D.System:
    a is DriveTrain.Shaft:
        inertia.inertia: 1
        angular_velocity_output.enabled: true
    b is DriveTrain.Shaft:
        inertia.inertia: 1
        angular_velocity_output.enabled: true
    motor is Physics1D.Interactions.RotationalVelocityMotor:
        connectors: [a.input]
        target_speed: 12
    box is DriveTrain.GearBox:
        connectors: [a.output, b.input]
        forward_gears: [4, 2]
        reverse_gears: [3]
        gear_selection_input.reference_id: "gear"
        gear_selection_output.enabled: true
"""


def test_a_signal_changes_gear(tmp_path: Path) -> None:
    """At 12 rad/s, what a gear box turns has that speed over the ratio of its gear; in neutral it keeps its own."""
    (tmp_path / "train.openplx").write_text(SHIFTED, encoding="utf-8")
    run = Simulation(tmp_path / "train.openplx")
    gear, speed = run.signals["Train/box/gear_selection_input"], run.signals["Train/b/angular_velocity_output"]
    for wanted, expected in ((0, 0.0), (1, 3.0), (2, 6.0), (0, 6.0), (-1, -4.0)):
        gear.value = wanted
        run.run(1.0)
        assert run.signals["Train/box/gear_selection_output"].value == wanted
        assert speed.value == pytest.approx(expected, abs=1e-3)
    with pytest.raises(ValueError, match="there is no 3 of 'Train/box'; allowed: -1, 0, 1, 2"):
        gear.value = 3


def test_the_range_of_a_motor_s_torque_is_set_in_a_run(world: Callable[..., World]) -> None:
    """Of 1 N m, a motor lets a bar fall that weighs more."""
    motor = '    motor.torque_range_input.reference_id: "range"\n    motor.torque_range_output.enabled: true\n'
    run = Simulation(world(motor))
    run.run(0.2)
    assert run.signals["Rotor/hinge/angle_output"].value == pytest.approx(0.5, abs=1e-3)
    run.signals["Rotor/motor/torque_range_input/low"].value = -1.0
    run.signals["Rotor/motor/torque_range_input/high"].value = 1.0
    run.run(0.2)
    assert run.signals["Rotor/motor/torque_range_output/high"].value == 1.0
    assert abs(run.signals["Rotor/motor/torque_output"].value) == pytest.approx(1.0, rel=1e-6)
    assert abs(run.signals["Rotor/hinge/angle_output"].value - 0.5) > 0.1


LIFT = """
Lift is Physics3D.System:
    ground is Physics3D.Interactions.MateConnector:
        main_axis: Math.Vec3.Z_AXIS()
    car is Physics3D.Bodies.RigidBody:
        inertia.mass: 2
        shape is Physics3D.Geometries.Sphere:
            radius: 0.1
        eye is Physics3D.Interactions.MateConnector:
            main_axis: Math.Vec3.Z_AXIS()
    rail is Physics3D.Interactions.Prismatic:
        connectors: [ground, car.eye]
        velocity_output.enabled: true
    motor is Physics3D.Interactions.LinearVelocityMotor:
        connectors: rail.connectors
        force_range_input.reference_id: "range"
        force_output.enabled: true
"""


def test_the_range_of_a_motor_s_force_is_set_in_a_run(tmp_path: Path) -> None:
    """A lift of 2 kg is held by its weight; of 15 N at most, it falls with g - 15 N / 2 kg."""
    (tmp_path / "lift.openplx").write_text(LIFT, encoding="utf-8")
    run = Simulation(tmp_path / "lift.openplx")
    signals = run.signals
    run.run(0.2)
    assert signals["Lift/motor/force_output"].value == pytest.approx(2.0 * 9.81, rel=1e-6)
    signals["Lift/motor/force_range_input/low"].value = -15.0
    signals["Lift/motor/force_range_input/high"].value = 15.0
    run.run(0.5)
    assert signals["Lift/motor/force_output"].value == pytest.approx(15.0, rel=1e-9)
    assert signals["Lift/rail/velocity_output"].value == pytest.approx((7.5 - 9.81) * 0.5, rel=1e-6)


@pytest.mark.parametrize(
    "statement", ["force_range_input becomes Physics.Signals.ForceRangeInput", "force_range_input.source: motor"]
)
def test_an_id_makes_a_signal_of_an_input_of_which_nothing_else_is_said(tmp_path: Path, statement: str) -> None:
    """An id of an input that is a signal without it is named."""
    ends = {"Lift/motor/force_range_input/low", "Lift/motor/force_range_input/high"}
    line = '        force_range_input.reference_id: "range"'
    path = tmp_path / "lift.openplx"
    path.write_text(LIFT.replace(line, f"        {statement}\n{line}"), encoding="utf-8")
    with pytest.warns(WorldWarning, match=r"force_range_input\.reference_id: has no effect here") as caught:
        assert ends <= {each.name for each in load(path).signals}
    assert len(caught) == 1
    path.write_text(LIFT.replace(line, f"        {statement}"), encoding="utf-8")
    assert ends <= {each.name for each in load(path).signals}


def test_a_model_between_may_state_an_input(tmp_path: Path) -> None:
    line = '        force_range_input.reference_id: "range"\n'
    motor = f"Motor is Physics3D.Interactions.LinearVelocityMotor:\n{line[4:]}"
    path = tmp_path / "lift.openplx"
    text = LIFT.replace(line, "").replace("motor is Physics3D.Interactions.LinearVelocityMotor", "motor is Motor")
    path.write_text(motor + text, encoding="utf-8")
    assert "Lift/motor/force_range_input/high" in {each.name for each in load(path).signals}


TABLE = """
Shop is Physics3D.System:
    table is Physics3D.Bodies.RigidBody:
        is_dynamic: false
        kinematics.local_transform.position: {5, 0, 1}
"""


def test_a_body_that_is_not_dynamic_moves_as_its_inputs_say(tmp_path: Path) -> None:
    """It stands until then, and keeps the last velocity: of its origin along the world's axes, about its origin."""
    own = """        linear_velocity_world_input.reference_id: "move"
        angular_velocity_world_input.reference_id: "turn"
        position_output.enabled: true
        rpy_output.enabled: true
"""
    (tmp_path / "shop.openplx").write_text(TABLE + own, encoding="utf-8")
    run = Simulation(tmp_path / "shop.openplx")
    signals = run.signals

    def now() -> list[float]:
        return [signals[f"Shop/table/{kind}_output/{axis}"].value for kind in ("position", "rpy") for axis in "xyz"]

    run.run(0.5)
    assert now() == [5, 0, 1, 0, 0, 0]
    signals["Shop/table/linear_velocity_world_input/y"].value = 0.5
    signals["Shop/table/angular_velocity_world_input/z"].value = -1.0
    run.run(1.0)
    assert now() == pytest.approx([5, 0.5, 1, 0, 0, -1], abs=1e-9)


def test_a_signal_of_a_body_that_nothing_moves_is_left_out_and_named(tmp_path: Path) -> None:
    other = "    height is Physics3D.Signals.Position3DOutput:\n        source: table\n        enabled: true\n"
    (tmp_path / "shop.openplx").write_text(TABLE + other, encoding="utf-8")
    with pytest.warns(WorldWarning, match=r"a Physics3D.Signals.Position3DOutput has no effect here"):
        run = Simulation(load(tmp_path / "shop.openplx"))
    assert not run.signals
