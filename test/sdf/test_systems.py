"""Gazebo's systems that are parts here, against their formulas."""

from __future__ import annotations

import math
import re
import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nightly import only

from sim_node import Simulation
from sim_node.extensions.sdf.derivative_wings import Coefficients, ControlSurface, DerivativeWing
from sim_node.extensions.sdf.plugins import MISSING, SYSTEMS, system_name
from sim_node.extensions.sdf.water import DERIVATIVES as HYDRODYNAMIC
from sim_node.extensions.sdf.water import Derivatives, Hydrodynamics
from sim_node.extensions.sdf.wings import Air, LiftDrag, wrenches
from sim_node.simulation.physics.force_geometry import FieldArrays
from sim_node.world import WorldError, WorldWarning, load, loads
from sim_node.world.model import World
from sim_node.world.readers.xml_elements import Element, XmlAttribute
from sim_node.world.triggers import Trigger, TriggerMatch, TriggerOutput
from sim_node.world.vehicles import Servo
from sim_node.world.writers.yaml import to_yaml


def read(text: str) -> World:
    """Return the world of a text, whatever it warns of."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return loads(text, ".sdf")


def mass(of: float, moment: float) -> str:
    """Return the text of an inertial."""
    moments = "".join(f"<{key}>{moment}</{key}>" for key in ("ixx", "iyy", "izz"))
    return f"<inertial><mass>{of}</mass><inertia>{moments}</inertia></inertial>"


def quadrotor() -> str:
    """Return the text of a model with four rotors."""
    at = [(0.2, -0.2, "ccw"), (-0.2, 0.2, "ccw"), (0.2, 0.2, "cw"), (-0.2, -0.2, "cw")]
    links = f'<link name="base">{mass(1.5, 0.02)}</link>'
    plugins = ""
    for k, (x, y, spin) in enumerate(at):
        links += f'<link name="r{k}"><pose>{x} {y} 0.05 0 0 0</pose>{mass(0.01, 1e-5)}</link>'
        links += f'<joint name="j{k}" type="revolute"><parent>base</parent><child>r{k}</child><axis/></joint>'
        plugins += (
            '<plugin filename="gz-sim-multicopter-motor-model-system" name="gz::sim::systems::MulticopterMotorModel">'
            f"<jointName>j{k}</jointName><linkName>r{k}</linkName><turningDirection>{spin}</turningDirection>"
            "<motorConstant>8.5e-06</motorConstant><momentConstant>0.016</momentConstant>"
            f"<maxRotVelocity>1000</maxRotVelocity><motorNumber>{k}</motorNumber></plugin>"
        )
    return f'<sdf version="1.9"><model name="quad"><pose>0 0 0.3 0 0 0</pose>{links}{plugins}</model></sdf>'


class TestMotors:
    def test_a_pilot_hovers_at_the_throttle_of_the_motor_constant(self, tmp_path) -> None:  # type: ignore[no-untyped-def]
        (tmp_path / "quad.sdf").write_text(quadrotor())
        (tmp_path / "w.yaml").write_text(
            "world: w\ntime: {step: 0.004}\nground: plane\n"
            "include:\n  - {file: quad.sdf, pilot: {take_off: 1, wait: 0, after: hold}}\n"
        )
        simulation = Simulation(load(tmp_path / "w.yaml"), seed=0)
        simulation.run(6.0)
        expected = math.sqrt((1.5 + 0.04) * 9.81 / 4.0 / 8.5e-6)
        np.testing.assert_allclose(simulation.columns["rotor_speed"], expected, rtol=2e-3)

    def test_rotors_are_where_their_links_are_in_the_order_of_their_motors(self) -> None:
        world = read(quadrotor())
        vehicle = world.vehicles[0]
        np.testing.assert_allclose([rotor.position for rotor in vehicle.rotors][1], [-0.2, 0.2, 0.05])
        assert [rotor.spin for rotor in vehicle.rotors] == ["ccw", "ccw", "cw", "cw"]
        assert world.vehicle_commands[0].vehicle == "quad"


WING = (
    '<plugin filename="gz-sim-lift-drag-system" name="gz::sim::systems::LiftDrag"><link_name>base</link_name>'
    "<cla>4.7</cla><a0>0.1</a0><cp>0.1 0 0</cp><area>0.6</area></plugin>"
)
ANGLE = st.floats(-1.4, 1.4)


def scalar_wing(of: LiftDrag, velocity: np.ndarray, control: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the force and the moment of a wing whose body is along the world's axes: one number after the other."""
    forward, up = np.array([1.0, 0.0, 0.0]), np.array([0.0, 0.0, 1.0])
    span = np.cross(forward, up)
    sweep = math.asin(float(span @ velocity) / float(np.linalg.norm(velocity)))
    flat = velocity - (velocity @ span) * span
    # The angle from the inflow to the chord: up where the air comes from below.
    alpha = of.a0 + math.atan2(-velocity[2], velocity[0])
    pressure = 0.5 * of.density * float(flat @ flat) * of.area

    def slope(first: float, second: float, *, clamped: bool) -> float:
        if abs(alpha) <= of.alpha_stall:
            return first * alpha
        beyond = first * of.alpha_stall + second * (abs(alpha) - of.alpha_stall)
        return math.copysign(max(beyond, 0.0) if clamped else beyond, alpha)

    swept = math.cos(sweep) ** 2
    lift = slope(of.cla, of.cla_stall, clamped=True) * swept + of.control_cl * control
    drag = abs(slope(of.cda, of.cda_stall, clamped=False)) * swept
    turn = slope(of.cma, of.cma_stall, clamped=True) * swept + of.cm_delta * control
    along = flat / np.linalg.norm(flat)
    return pressure * (lift * np.cross(span, along) - drag * along), pressure * turn * span


class TestLiftDrag:
    @given(alpha=ANGLE, sweep=st.floats(-1.2, 1.2), speed=st.floats(0.1, 80.0), control=st.floats(-0.5, 0.5))
    @settings(max_examples=200, deadline=None)
    def test_a_wing_is_as_gazebos(self, alpha: float, sweep: float, speed: float, control: float) -> None:
        wing = LiftDrag(
            "b", area=0.6, cla=4.7, cda=0.64, cma=-1.8, alpha_stall=0.34, cla_stall=-3.85, cda_stall=-0.92,
            cma_stall=0.0, a0=0.0, cm_delta=0.2, control_cl=-4.0,
        )  # fmt: skip
        velocity = speed * np.array(
            [math.cos(alpha) * math.cos(sweep), math.sin(sweep), -math.sin(alpha) * math.cos(sweep)]
        )
        rows = np.array([[1.0, 0.0, 0.0]]), np.array([[0.0, 0.0, 1.0]])
        force, moment = wrenches(FieldArrays([wing]), Air(velocity[None], *rows, np.array([control])))
        expected = scalar_wing(wing, velocity, control)
        np.testing.assert_allclose(force[0], expected[0], rtol=1e-9, atol=1e-9 * speed**2)
        np.testing.assert_allclose(moment[0], expected[1], rtol=1e-9, atol=1e-9 * speed**2)

    def test_a_wing_that_flies_backwards_has_no_lift(self) -> None:
        rows = np.array([[1.0, 0.0, 0.0]]), np.array([[0.0, 0.0, 1.0]])
        force, moment = wrenches(FieldArrays([LiftDrag("b")]), Air(np.array([[-5.0, 0.0, 1.0]]), *rows, np.zeros(1)))
        assert not force.any()
        assert not moment.any()

    def test_a_wing_is_written_in_world_files(self) -> None:
        world = read(quadrotor().replace("</model>", f"{WING}</model>"))
        assert loads(to_yaml(world)).forces == world.forces

    # Takes seconds: make test has the forces of wings and water.
    @pytest.mark.nightly
    def test_a_glider_falls_at_the_speed_at_which_its_wing_carries_it(self) -> None:
        wing = (
            '<plugin filename="gz-sim-lift-drag-system" name="gz::sim::systems::LiftDrag"><link_name>l</link_name>'
            "<forward>0 0 -1</forward><upward>1 0 0</upward><cda>0</cda><cla>0</cla><a0>0.5</a0><cda>0.8</cda>"
            "<area>0.5</area><air_density>1.2</air_density><cma>0</cma></plugin>"
        ).replace("<cda>0</cda>", "")
        world = read(f'<sdf version="1.9"><model name="m"><link name="l">{mass(0.2, 0.1)}</link>{wing}</model></sdf>')
        simulation = Simulation(world, seed=0)
        simulation.run(4.0)
        before = simulation.snapshot().poses[simulation.frames.names.index("m/l")][2]
        simulation.run(0.5)
        speed = (before - simulation.snapshot().poses[simulation.frames.names.index("m/l")][2]) / 0.5
        assert speed == pytest.approx(math.sqrt(0.2 * 9.8 / (0.5 * 1.2 * 0.5 * 0.8 * 0.5)), rel=1e-3)


CONTROLLED = {
    "LiftDrag": "<control_joint_name>j</control_joint_name><area>1</area>",
    "AdvancedLiftDrag": "<AR>6</AR><eff>1</eff><area>1</area><mac>0.2</mac><control_surface><name>j</name><index>0"
    "</index><direction>1</direction><CL_ctrl>1</CL_ctrl></control_surface>",
    "BuoyancyEngine": "",
}


class TestIncludedForces:
    """Forces that name a joint by the body that it moves, in a world that gives that body another name."""

    @pytest.mark.parametrize("system", CONTROLLED)
    def test_a_prefix_changes_nothing(self, system: str, tmp_path: Path) -> None:
        links = f'<link name="wing">{mass(1.0, 0.1)}</link><link name="elevon">{mass(0.1, 0.1)}</link>'
        joint = (
            '<joint name="j" type="revolute"><parent>wing</parent><child>elevon</child><axis><xyz>0 1 0</xyz></axis>'
        )
        plugin = f'<plugin filename="x" name="gz::sim::systems::{system}"><link_name>wing</link_name>'
        text = f'<sdf version="1.9"><model name="m">{links}{joint}</joint>{plugin}{CONTROLLED[system]}</plugin></model>'
        (tmp_path / "m.sdf").write_text(f"{text}</sdf>")
        ends = []
        for name, more in (("", ""), ("p/", ", prefix: p")):
            (tmp_path / "w.yaml").write_text(f"world: w\ninclude: [{{file: m.sdf{more}}}]\n")
            simulation = Simulation(load(tmp_path / "w.yaml"), seed=0)
            simulation.bodies[f"{name}m/wing"].twist = [10.0, 0.0, 1.0, 0.0, 0.0, 0.0]
            simulation.run(0.2)
            ends.append(simulation.bodies[f"{name}m/wing"].pose)
        np.testing.assert_array_equal(ends[0], ends[1])

    @pytest.mark.parametrize(
        ("force", "said"),
        [
            ("lift_drag, body: a, control: x", r"w.yaml:4:\d+: forces\[0\].control: no body 'x'"),
            ("lift_drag, body: a, control: a", r"forces\[0\].control: 'a' is on no hinge or slide"),
            (
                "stability_derivatives, body: a, surfaces: [{joint: a}]",
                r"surfaces\[0\].joint: 'a' is on no hinge",
            ),
        ],
    )
    def test_a_control_that_does_not_turn_is_told(self, force: str, said: str, tmp_path: Path) -> None:
        ball = "{name: a, joint: free, geometry: [{sphere: 1, mass: 1}]}"
        (tmp_path / "w.yaml").write_text(f"world: w\nbodies: [{ball}]\nforces:\n  - {{type: {force}}}\n")
        with pytest.raises(WorldError, match=said):
            Simulation(load(tmp_path / "w.yaml"))


class TestServos:
    def test_a_light_elevon_goes_where_its_stiff_servo_wants_it(self) -> None:
        # As PX4's planes have them: 1e-6 kg m^2, a damping of 1 N m s/rad, and a gain of 10 N m/rad.
        links = f'<link name="wing">{mass(1.0, 0.1)}</link><link name="elevon">{mass(1e-3, 1e-6)}</link>'
        axis = "<axis><xyz>0 1 0</xyz><limit><lower>-0.5</lower><upper>0.5</upper></limit>"
        axis += "<dynamics><damping>1</damping></dynamics></axis>"
        joint = f'<joint name="j" type="revolute"><parent>wing</parent><child>elevon</child>{axis}</joint>'
        servo = (
            '<plugin filename="x" name="gz::sim::systems::JointPositionController">'
            "<joint_name>j</joint_name><p_gain>10</p_gain><i_gain>0</i_gain><d_gain>0</d_gain>"
            "<initial_position>0.3</initial_position></plugin>"
        )
        world = '<joint name="w" type="fixed"><parent>world</parent><child>wing</child></joint>'
        simulation = Simulation(
            read(f'<sdf version="1.9"><model name="m">{links}{world}{joint}{servo}</model></sdf>'), seed=0
        )
        simulation.run(0.1)
        pose = simulation.snapshot().poses[simulation.frames.names.index("m/elevon")]
        # Its inertia is nothing beside its damping: a first-order lag with the time constant damping / gain.
        assert 2.0 * math.asin(pose[4]) == pytest.approx(0.3 * (1.0 - math.exp(-0.1 * 10.0)), rel=0.02)


class TestWheels:
    @staticmethod
    def differential(limits: str = "") -> str:
        wheel = '<collision name="c"><geometry><sphere><radius>0.1</radius></sphere></geometry></collision>'
        links = f'<link name="chassis"><pose>0 0 0.1 0 0 0</pose>{mass(4.0, 0.1)}</link>'
        for name, x, y in (("left", 0.0, 0.2), ("right", 0.0, -0.2), ("caster", -0.25, 0.0)):
            kind = "ball" if name == "caster" else "revolute"
            links += f'<link name="{name}"><pose>{x} {y} 0.1 0 0 0</pose>{mass(0.3, 1e-3)}{wheel}</link>'
            axis = "<axis><xyz>0 1 0</xyz></axis>" if kind == "revolute" else ""
            ends = f"<parent>chassis</parent><child>{name}</child>"
            links += f'<joint name="{name}_joint" type="{kind}">{ends}{axis}</joint>'
        plugin = (
            '<plugin filename="libignition-gazebo-diff-drive-system.so" name="ignition::gazebo::systems::DiffDrive">'
            "<left_joint>left_joint</left_joint><right_joint>right_joint</right_joint><wheel_separation>0.4"
            f"</wheel_separation><wheel_radius>0.1</wheel_radius>{limits}</plugin>"
        )
        plane = '<collision name="c"><geometry><plane/></geometry></collision>'
        ground = f'<model name="g"><static>1</static><link name="l">{plane}</link></model>'
        return f'<sdf version="1.9"><world name="w">{ground}<model name="m">{links}{plugin}</model></world></sdf>'

    def test_limits_are_those_of_gazebo(self) -> None:
        """DiffDrive.cc: a limit without a direction is of both, and min_ is the end below zero."""
        text = (
            "<max_velocity>0.5</max_velocity><min_velocity>-0.2</min_velocity>"
            "<max_angular_velocity>1.5</max_angular_velocity><min_linear_acceleration>-3</min_linear_acceleration>"
            "<max_linear_jerk>4</max_linear_jerk><min_linear_jerk>-4</min_linear_jerk>"
        )
        (base,) = read(self.differential(text)).bases
        ahead, back = base.limits, base.limits.reverse
        assert (ahead.linear, ahead.angular, ahead.linear_acceleration, ahead.linear_jerk) == (0.5, 1.5, math.inf, 4.0)
        assert back is not None
        assert (back.linear, back.angular, back.linear_acceleration, back.linear_jerk) == (0.2, 0.2, 3.0, 4.0)
        assert ahead.angular_jerk == back.angular_jerk == math.inf

    def test_a_limit_of_one_direction_leaves_the_other_free(self) -> None:
        simulation = Simulation(read(self.differential("<max_linear_velocity>0.2</max_linear_velocity>")), seed=0)
        for wanted, speed in ((1.0, 0.2), (-1.0, -1.0)):
            simulation.vehicles["m/chassis"].cmd_vel(wanted, 0.0, 0.0, timeout=0)
            simulation.run(1.0)
            assert simulation.vehicles["m/chassis"].twist[0] == pytest.approx(speed, abs=0.02)

    def test_a_differential_base_drives_as_it_is_commanded(self) -> None:
        simulation = Simulation(read(self.differential()), seed=0)
        simulation.vehicles["m/chassis"].cmd_vel(0.5, 0.0, 0.0, timeout=0)
        simulation.run(2.0)
        pose = simulation.snapshot().poses[simulation.frames.names.index("m/chassis")]
        assert pose[0] == pytest.approx(1.0, abs=0.05)
        assert pose[1] == pytest.approx(0.0, abs=0.02)

    def test_a_base_of_a_static_model_is_left_out_for_that_one_reason(self) -> None:
        text = self.differential().replace('<model name="m">', '<model name="m"><static>true</static>')
        with pytest.warns(WorldWarning, match="DiffDrive") as warned:
            world = loads(text, ".sdf")
        assert world.bases == ()
        (message,) = (str(each.message) for each in warned if "DiffDrive" in str(each.message))
        assert message.endswith("the model 'm' is static; the plug-in 'DiffDrive' is left out")


class TestTracks:
    plane = (
        '<model name="g"><static>1</static><link name="l"><collision name="c"><geometry><plane/></geometry>'
        "</collision></link></model>"
    )

    # Takes seconds: make test has the forces of wings and water.
    @pytest.mark.nightly
    def test_a_tracked_vehicle_drives_as_fast_as_it_is_told(self) -> None:
        """As the example of Gazebo has it: links without joints of their own, which the plug-ins name."""
        links = f'<pose>0 0 0.21 0 0 0</pose><link name="body">{mass(20.0, 1.0)}</link>'
        plugins = ""
        for side, y in (("left", 0.25), ("right", -0.25)):
            shape = "<geometry><box><size>0.8 0.1 0.2</size></box></geometry>"
            links += (
                f'<link name="{side}"><pose>0 {y} -0.1 0 0 0</pose>{mass(5.0, 0.1)}<collision name="c">{shape}'
                f'</collision></link><joint name="{side}_joint" type="fixed"><parent>body</parent><child>{side}</child>'
                "</joint>"
            )
            plugins += (
                '<plugin filename="gz-sim-track-controller-system" name="gz::sim::systems::TrackController">'
                f"<link>{side}</link><min_velocity>-1.0</min_velocity></plugin>"
            )
        plugins += (
            '<plugin filename="gz-sim-tracked-vehicle-system" name="gz::sim::systems::TrackedVehicle">'
            "<left_track><link>left</link></left_track><right_track><link>right</link></right_track>"
            "<tracks_separation>0.5</tracks_separation><tracks_height>0.2</tracks_height>"
            "<steering_efficiency>0.5</steering_efficiency></plugin>"
        )
        text = f'<sdf version="1.9"><world name="w">{self.plane}<model name="m">{links}{plugins}</model></world></sdf>'
        simulation = Simulation(read(text), seed=0)
        simulation.run(0.2)
        simulation.vehicles["m/body"].cmd_vel(0.5, 0.0, 0.0, timeout=0)
        simulation.run(2.0)
        assert simulation.bodies["m/body"].pose[0] == pytest.approx(1.0, abs=0.05)
        assert simulation.bodies["m/body"].twist[0] == pytest.approx(0.5, abs=2e-3)

    def test_a_track_that_stands_is_a_conveyor_along_its_orientation(self) -> None:
        box = "<geometry><box><size>{}</size></box></geometry>"
        belt = (
            f'<model name="belt"><static>1</static><link name="l"><collision name="c">{box.format("4 4 0.2")}'
            '</collision></link><plugin filename="gz-sim-track-controller-system" '
            'name="gz::sim::systems::TrackController"><link>l</link><track_orientation>0 0 1.5707963267948966'
            "</track_orientation></plugin></model>"
        )
        parcel = (
            f'<model name="parcel"><pose>0 0 0.2 0 0 0</pose><link name="l">{mass(1.0, 0.01)}<collision name="c">'
            f"{box.format('0.2 0.2 0.2')}</collision></link></model>"
        )
        simulation = Simulation(read(f'<sdf version="1.9"><world name="w">{belt}{parcel}</world></sdf>'), seed=0)
        simulation.joints["belt/l/track"].target = 0.4
        simulation.run(2.0)
        found = simulation.bodies["parcel/l"].twist
        assert found[:2] == pytest.approx([0.0, 0.4], abs=2e-3)


def plugin(name: str, filename: str) -> Element:
    """Return a plug-in's element."""
    return Element("plugin", (1, 1), {"name": XmlAttribute(name, (1, 1)), "filename": XmlAttribute(filename, (1, 1))})


class TestNames:
    @pytest.mark.parametrize(
        ("name", "filename"),
        [
            ("gz::sim::systems::DiffDrive", "gz-sim-diff-drive-system"),
            ("gz::sim::v9::systems::DiffDrive", "anything"),
            ("ignition::gazebo::systems::DiffDrive", "ignition-gazebo-diff-drive-system"),
            ("drive", "libgz-sim-diff-drive-system.so"),
            ("drive", "libignition-gazebo6-diff-drive-system.so"),
            ("drive", "gz-sim8-diff-drive-system"),
        ],
    )
    def test_a_system_is_known_by_every_name(self, name: str, filename: str) -> None:
        assert system_name(plugin(name, filename)) == "DiffDrive"

    def test_no_system_is_both_known_and_missing(self) -> None:
        assert not set(SYSTEMS) & set(MISSING)


PLANE = {
    "CL0": 0.15188, "CLa": 5.015, "CD0": 0.029, "Cem0": 0.075, "Cema": -0.463966, "CYb": -0.258244, "CYa": 0.02,
    "Cella": 0.01, "Cena": -0.03, "CLb": 0.04, "Cellb": -0.03925, "Cemb": 0.02, "Cenb": 0.100826, "CYp": 0.065861,
    "Cellp": -0.487407, "Cenp": -0.040416, "CDq": 0.055166, "CLq": 7.971792, "Cemq": -12.14014, "CYr": 0.230299,
    "Cellr": 0.078165, "Cenr": -0.089947, "Cema_stall": -0.3,
}  # fmt: skip


def scalar_plane(
    of: dict[str, float], velocity: np.ndarray, rate: np.ndarray, angle: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return the force and the moment of PLANE with an area of 0.34 m^2, AR 6.5, eff 0.97, stall 0.34 and a chord of
    0.22 m, in axes forwards, left and up: one number after the other, as AdvancedLiftDrag.cc has it.
    """
    u, v, w = float(velocity[0]), -float(velocity[1]), -float(velocity[2])
    speed, stall, area, ratio, chord = math.hypot(u, w), 0.34, 0.34, 6.5, 0.22
    span = math.sqrt(area * ratio)
    alpha, beta = math.atan2(w, u), math.atan2(v, u)
    before, after = math.exp(-15.0 * (alpha - stall)), math.exp(15.0 * (alpha + stall))
    sigma = (1 + before + after) / ((1 + before) * (1 + after))
    degrees = math.degrees(angle)
    lift = (1 - sigma) * (of["CL0"] + of["CLa"] * alpha)
    lift += sigma * 2 * math.copysign(1.0, alpha) * math.sin(alpha) ** 2 * math.cos(alpha)
    lift += of["CLb"] * beta + degrees * 0.0107
    plate = 2 / (1 + math.exp(-0.224 - 0.115 * 6.5))
    drag = (1 - sigma) * (of["CD0"] + lift**2 / (math.pi * ratio * 0.97))
    drag += sigma * abs(plate * (0.5 - 0.5 * math.cos(2 * alpha))) + degrees * 0.0003
    side = of["CYa"] * alpha + of["CYb"] * beta
    roll = of["Cella"] * alpha + of["Cellb"] * beta
    pitch = of["Cemb"] * beta - degrees * 0.0258
    yaw = of["Cena"] * alpha + of["Cenb"] * beta
    half = [rate[0] * span / 2, -rate[1] * chord / 2, -rate[2] * span / 2]
    pressure = 0.5 * 1.2041 * speed**2

    def total(steady: float, name: str) -> float:
        turning = sum(of.get(f"{name}{key}", 0.0) * float(value) for key, value in zip("pqr", half, strict=True))
        return area * (pressure * steady + 0.5 * 1.2041 * speed * turning)

    forward, right, down = np.array([1.0, 0, 0]), np.array([0, -1.0, 0]), np.array([0, 0, -1.0])
    along = (u * forward + w * down) / speed
    force = total(lift, "CL") * -np.cross(along, right) - total(drag, "CD") * along + total(side, "CY") * right
    turn = total(roll, "Cell") * span * forward + total(pitch, "Cem") * chord * right
    return force, turn + total(yaw, "Cen") * span * down


class TestAdvancedLiftDrag:
    @given(
        alpha=st.floats(-3.0, 3.0), beta=st.floats(-1.2, 1.2), speed=st.floats(0.1, 80.0), angle=st.floats(-0.5, 0.5),
        rate=st.tuples(*[st.floats(-3.0, 3.0)] * 3),
    )  # fmt: skip
    @settings(max_examples=200, deadline=None)
    def test_a_plane_is_as_gazebos(
        self, alpha: float, beta: float, speed: float, angle: float, rate: tuple[float, float, float]
    ) -> None:
        wing = DerivativeWing(
            "b", derivatives=PLANE, area=0.34, aspect_ratio=6.5, efficiency=0.97, chord=0.22, alpha_stall=0.34,
            surfaces=(ControlSurface("c", lift=0.0107, drag=0.0003, pitch=-0.0258),),
        )  # fmt: skip
        velocity = speed * np.array(
            [math.cos(alpha) * math.cos(beta), -math.sin(beta), -math.sin(alpha) * math.cos(beta)]
        )
        found = Coefficients(wing).wrench(velocity, np.array(rate), np.array([angle]))
        expected = scalar_plane(PLANE, velocity, np.array(rate), angle)
        np.testing.assert_allclose(found[0], expected[0], rtol=1e-9, atol=1e-9 * speed**2)
        np.testing.assert_allclose(found[1], expected[1], rtol=1e-9, atol=1e-9 * speed**2)

    def test_its_pitching_moment_has_all_terms_if_they_are_wanted(self) -> None:
        given = {"Cem0": 0.1, "Cema": -0.5, "Cema_stall": -0.2}
        wing = DerivativeWing("b", derivatives=given, alpha_stall=0.3, whole_pitch=True, density=2.0)
        for alpha, expected in ((0.2, 0.1 - 0.1), (0.5, 0.1 - 0.15 - 0.04), (-0.5, 0.1 + 0.15 + 0.04)):
            velocity = np.array([math.cos(alpha), 0.0, -math.sin(alpha)])
            _, moment = Coefficients(wing).wrench(velocity, np.zeros(3), np.zeros(0))
            # Of an area and a chord of 1; it pitches up about the axis to the right.
            np.testing.assert_allclose(moment, [0.0, -expected, 0.0], atol=1e-12)

    def test_a_plug_in_is_a_force_that_world_files_have(self) -> None:
        text = "".join(f"<{key}>{value}</{key}>" for key, value in PLANE.items())
        plugin = (
            f'<plugin filename="gz-sim-advanced-lift-drag-system" name="gz::sim::systems::AdvancedLiftDrag">{text}'
            "<link_name>base</link_name><AR>6.5</AR><eff>0.97</eff><area>0.34</area><mac>0.22</mac>"
            "<control_surface><name>j1</name><index>0</index><direction>-1</direction><CD_ctrl>1</CD_ctrl>"
            "<CY_ctrl>2</CY_ctrl><CL_ctrl>3</CL_ctrl><Cell_ctrl>4</Cell_ctrl><Cem_ctrl>5</Cem_ctrl><Cen_ctrl>6</Cen_ctrl>"
            "</control_surface></plugin></model>"
        )
        links = f'<link name="base">{mass(1, 1)}</link><link name="flap">{mass(0.1, 0.1)}</link>'
        links += '<joint name="j1" type="revolute"><parent>base</parent><child>flap</child><axis/></joint>'
        world = read(f'<sdf version="1.9"><model name="quad">{links}{plugin}</sdf>')
        (force,) = (each for each in world.forces if isinstance(each, DerivativeWing))
        assert force.derivatives == PLANE
        assert force.surfaces == (ControlSurface("quad/flap", -1.0, -2.0, -3.0, -4.0, -5.0, -6.0),)
        assert loads(to_yaml(world)).forces == world.forces


def free(plugins: str, links: str = "", weight: float = 10.0, more: str = "") -> Simulation:
    """Return a run of a model with a body in a world without gravity."""
    model = f'<model name="m"><link name="base">{mass(weight, 1.0)}</link>{links}{plugins}</model>'
    return Simulation(
        read(f'<sdf version="1.9"><world name="w"><gravity>0 0 0</gravity>{more}{model}</world></sdf>'), seed=0
    )


HYDRO = '<plugin filename="x" name="gz::sim::systems::Hydrodynamics"><link_name>base</link_name>{}</plugin>'


class TestWater:
    @given(state=st.tuples(*[st.floats(-5.0, 5.0)] * 6), seed=st.integers(0, 10**6))
    @settings(max_examples=200, deadline=None)
    def test_its_forces_are_the_sums_of_its_derivatives(self, state: tuple[float, ...], seed: int) -> None:
        random = np.random.default_rng(seed)
        names = random.choice(sorted(HYDRODYNAMIC), 20, replace=False)
        given = {str(name): float(random.normal()) for name in names}
        found = Derivatives([Hydrodynamics("b", derivatives=given, coriolis="none")]).wrenches(np.array([state]))[0]
        expected = np.zeros(6)
        for i, force in enumerate("xyzkmn"):
            for j, first in enumerate("UVWPQR"):
                expected[i] += given.get(f"{force}{first}", 0.0) * state[j]
                for k, second in enumerate("UVWPQR"):
                    expected[i] += given.get(f"{force}{first}{second}", 0.0) * state[j] * state[k]
                    expected[i] += given.get(f"{force}{first}abs{second}", 0.0) * state[j] * abs(state[k])
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)

    def test_coriolis_forces_are_those_of_kirchhoff_and_gazebos_the_opposite(self) -> None:
        added = np.array([3.0, 5.0, 7.0, 0.2, 0.3, 0.4])
        given = {f"{i}Dot{j}": -float(m) for i, j, m in zip("xyzkmn", "UVWPQR", added, strict=True)}
        state = np.array([0.5, -1.0, 2.0, 0.3, -0.7, 1.1])
        momentum, v, w = added * state, state[:3], state[3:]
        # d(momentum)/dt in turning axes: Lamb, Hydrodynamics, art. 124.
        linear, angular = -np.cross(w, momentum[:3]), -np.cross(v, momentum[:3]) - np.cross(w, momentum[3:])
        for kind, sign in (("fossen", 1.0), ("gazebo", -1.0)):
            found = Derivatives([Hydrodynamics("b", derivatives=given, coriolis=kind)]).wrenches(state[None])[0]
            np.testing.assert_allclose(found, sign * np.concatenate([linear, angular]), atol=1e-12)

    @pytest.mark.parametrize("added", only([1.0, 10.0, 200.0], 1))
    def test_a_pushed_body_moves_as_one_of_its_mass_and_its_added_mass(self, added: float) -> None:
        simulation = free(HYDRO.format(f"<xDotU>{-added}</xDotU>"))
        simulation.bodies["m/base"].apply_force([2.0, 0.0, 0.0])
        simulation.run(0.5)
        before = simulation.bodies["m/base"].twist[0]
        simulation.run(0.5)
        assert simulation.bodies["m/base"].twist[0] - before == pytest.approx(1.0 / (10.0 + added), rel=1e-6)

    def test_a_body_in_a_current_is_taken_along(self) -> None:
        simulation = free(HYDRO.format("<xU>-20</xU><default_current>0.5 0 0</default_current>"))
        simulation.run(1.0)
        assert simulation.bodies["m/base"].twist[0] == pytest.approx(0.5 * (1.0 - math.exp(-2.0)), rel=2e-3)

    def test_a_thruster_pushes_by_the_square_of_its_speed_in_both_directions(self) -> None:
        links = f'<link name="prop">{mass(0.1, 1e-4)}</link><joint name="j" type="revolute"><parent>base</parent>'
        links += "<child>prop</child><axis><xyz>1 0 0</xyz></axis></joint>"
        thruster = (
            '<plugin filename="gz-sim-thruster-system" name="gz::sim::systems::Thruster"><joint_name>j</joint_name>'
            "<thrust_coefficient>0.004</thrust_coefficient><fluid_density>1000</fluid_density>"
            "<propeller_diameter>0.2</propeller_diameter><use_angvel_cmd>1</use_angvel_cmd></plugin>"
        )
        for speed in (30.0, -30.0):
            simulation = free(thruster, links)
            simulation.joints["m/prop"].target = speed
            simulation.run(1.0)
            expected = 1000.0 * 0.004 * 0.2**4 * speed * abs(speed) / 10.1
            assert simulation.bodies["m/base"].twist[0] == pytest.approx(expected, rel=5e-3)
        assert loads(to_yaml(simulation.world)).forces == simulation.world.forces


class TestWind:
    def test_what_has_enable_wind_follows_it_with_the_time_of_its_factor(self) -> None:
        plugin = '<plugin filename="gz-sim-wind-effects-system" name="gz::sim::systems::WindEffects">'
        plugin += "<force_approximation_scaling_factor>2</force_approximation_scaling_factor></plugin>"
        wind = "<wind><linear_velocity>3 0 0</linear_velocity></wind>"
        for flag, expected in (("", 0.0), ("<enable_wind>1</enable_wind>", 3.0 * (1.0 - math.exp(-2.0)))):
            simulation = free(flag, more=wind + plugin)
            simulation.run(1.0)
            assert simulation.bodies["m/base"].twist[0] == pytest.approx(expected, rel=2e-3)


class TestArduPilot:
    def test_blades_that_it_turns_are_rotors_and_other_joints_servos(self) -> None:
        links = f'<link name="base">{mass(1.5, 0.02)}</link><link name="flap">{mass(0.01, 1e-3)}</link>'
        plugins, controls = "", ""
        flap = '<joint name="hinge" type="revolute"><parent>base</parent><child>flap</child><axis/></joint>'
        for k, turn in enumerate((1, -1)):
            links += f'<link name="r{k}"><pose>{0.2 - 0.4 * k} 0 0.1 0 0 0</pose>{mass(0.02, 1e-4)}</link>'
            links += f'<joint name="j{k}" type="revolute"><parent>base</parent><child>r{k}</child><axis/></joint>'
            for side in (1, -1):
                plugins += (
                    '<plugin filename="x" name="gz::sim::systems::LiftDrag"><a0>0.3</a0><cla>4.25</cla><cda>0.1</cda>'
                    f"<area>0.002</area><air_density>1.2</air_density><cp>{side * 0.08} 0 0</cp><cma>0</cma>"
                    f"<forward>0 {side * turn} 0</forward><upward>0 0 1</upward><link_name>r{k}</link_name></plugin>"
                )
            controls += (
                f'<control channel="{2 - k}"><jointName>j{k}</jointName><useForce>1</useForce><multiplier>{turn * 800}'
                "</multiplier><servo_min>1100</servo_min><servo_max>1900</servo_max><type>VELOCITY</type>"
                "<p_gain>0.2</p_gain></control>"
            )
        controls += (
            '<control channel="4"><jointName>hinge</jointName><multiplier>2</multiplier><offset>-0.5</offset>'
            "<servo_min>1100</servo_min><servo_max>1900</servo_max><type>POSITION</type><p_gain>3</p_gain></control>"
        )
        text = f'<plugin filename="x" name="ArduPilotPlugin"><fdm_port_in>9022</fdm_port_in>{controls}</plugin>'
        world = read(f'<sdf version="1.9"><model name="m">{links}{flap}{text}{plugins}</model></sdf>')
        (vehicle,) = world.vehicles
        autopilot = vehicle.autopilot
        assert autopilot is not None
        assert (autopilot.instance, autopilot.pulses) == (2, (1100.0, 1900.0))
        assert autopilot.channels == ("none", "rotor_1", "rotor_0", "none", "servo_0")
        assert [each.spin for each in vehicle.rotors] == ["ccw", "cw"]
        assert not world.forces
        assert vehicle.servos == (Servo("m/flap", -1.0, 1.0),)
        # Of each blade: density / 2 (w r)^2 area times the slopes times a0, and the arm of its drag.
        for rotor in vehicle.rotors:
            assert rotor.thrust_coefficient == pytest.approx(2 * 0.6 * 0.08**2 * 0.002 * 4.25 * 0.3, rel=1e-9)
            assert rotor.moment_coefficient == pytest.approx(0.08 * 0.1 / 4.25, rel=1e-9)
            assert rotor.time_constant_up == pytest.approx(1e-4 / 0.2)
        np.testing.assert_allclose([each.position for each in vehicle.rotors], [[0.2, 0, 0.1], [-0.2, 0, 0.1]])


class TestDetachableJoints:
    def test_a_child_is_carried_until_it_is_detached(self) -> None:
        other = f'<model name="load"><pose>0 0 -1 0 0 0</pose><link name="box">{mass(1.0, 0.1)}</link></model>'
        plugin = (
            '<plugin filename="gz-sim-detachable-joint-system" name="gz::sim::systems::DetachableJoint">'
            "<parent_link>base</parent_link><child_model>load</child_model><child_link>box</child_link><topic>drop</topic></plugin>"
        )
        simulation = free(plugin, more=other)
        simulation.bodies["m/base"].apply_force([11.0, 0.0, 0.0], point=[0.0, 0.0, -1.0 / 11.0])
        simulation.run(0.5)
        place = {name: simulation.bodies[name].pose for name in ("m/base", "load/box")}
        np.testing.assert_allclose(place["m/base"][:3] - place["load/box"][:3], [0.0, 0.0, 1.0], atol=1e-6)
        assert place["m/base"][0] == pytest.approx(0.5**3, rel=5e-3)
        simulation.detach("load/box")
        simulation.bodies["m/base"].apply_force([0.0, 0.0, 11.0])
        simulation.run(0.5)
        assert simulation.bodies["load/box"].pose[2] == pytest.approx(-1.0, abs=1e-6)


class TestTrajectories:
    def test_a_joint_trajectory_controller_has_a_gain_for_each_of_its_joints(self) -> None:
        links = ""
        for k in (1, 2, 3):
            links += (
                f'<link name="l{k}">{mass(0.1, 0.1)}</link><joint name="j{k}" type="revolute"><parent>base</parent>'
            )
            links += f"<child>l{k}</child><axis/></joint>"
        plugin = (
            '<plugin filename="x" name="gz::sim::systems::JointTrajectoryController"><joint_name>j1</joint_name>'
            "<joint_name>j2</joint_name><initial_position>0.7</initial_position><position_p_gain>20</position_p_gain>"
            "<position_d_gain>0.4</position_d_gain><position_cmd_max>5</position_cmd_max>"
            "<velocity_p_gain>0</velocity_p_gain><velocity_p_gain>0.6</velocity_p_gain></plugin>"
        )
        first, second = free(plugin, links).world.actuators
        assert (first.joint, first.type, first.stiffness, first.damping, first.force, first.target) == (
            "m/l1", "position", 20.0, 0.4, 5.0, 0.7,
        )  # fmt: skip
        assert (second.joint, second.type, second.damping) == ("m/l2", "velocity", 0.6)
        (group,) = free(plugin, links).world.joint_commands
        assert group.joints == ("m/l1", "m/l2")
        assert "trajectory" in group.accept


class TestVelocities:
    def test_a_multicopter_flies_as_fast_as_it_is_told(self) -> None:
        control = '<plugin filename="x" name="gz::sim::systems::MulticopterVelocityControl"/></model>'
        world = read(quadrotor().replace("</model>", control))
        simulation = Simulation(world, seed=0)
        for _ in range(60):
            simulation.vehicles["quad"].cmd_vel(1.0, linear_z=0.5)
            simulation.run(0.1)
        assert simulation.bodies["quad/base"].twist[0] == pytest.approx(1.0, abs=0.05)
        assert simulation.bodies["quad/base"].twist[2] == pytest.approx(0.5, abs=0.05)

    def test_a_model_takes_velocities(self) -> None:
        world = free('<plugin filename="x" name="gz::sim::systems::VelocityControl"/>').world
        assert [(each.body, each.accept) for each in world.body_commands] == [("m/base", ("twist",))]


def triggered(inner: str) -> str:
    """Return the text of a TriggeredPublisher."""
    return f'<plugin filename="gz-sim-triggered-publisher-system" name="TriggeredPublisher">{inner}</plugin>'


class TestTriggers:
    @staticmethod
    def world(inner: str) -> World:
        model = f'<model name="m"><link name="a">{mass(1.0, 0.1)}</link></model>'
        return read(f'<sdf version="1.9"><world name="w">{model}{triggered(inner)}</world></sdf>')

    def test_a_match_and_its_output_are_those_of_the_bridge_to_ros(self) -> None:
        # Of gz-sim's test/worlds/triggered_publisher.sdf.
        world = self.world(
            '<input type="gz.msgs.Pose" topic="/in_11"><match field="position.z" tol="0.15">0.5</match></input>'
            '<output type="gz.msgs.Twist" topic="/out_11">linear: {x: 3}, angular: {z: -1}</output>'
            "<delay_ms>1000</delay_ms>"
        )
        (trigger,) = world.of(Trigger)
        match = TriggerMatch("0.5", "position.z", tolerance=0.15)
        message = '{"linear": {"x": 3.0}, "angular": {"z": -1.0}}'
        output = TriggerOutput("/out_11", "geometry_msgs/msg/Twist", message)
        assert (trigger.topic, trigger.type, trigger.delay) == ("/in_11", "geometry_msgs/msg/Pose", 1.0)
        assert (trigger.matches, trigger.outputs) == ((match,), (output,))
        assert loads(to_yaml(world)).of(Trigger) == world.of(Trigger)

    def test_the_topic_of_a_detachable_joint_detaches_its_child(self) -> None:
        box = f'<model name="box"><link name="b">{mass(1.0, 0.1)}</link></model>'
        joint = (
            '<plugin filename="x" name="DetachableJoint"><parent_link>a</parent_link><child_model>box</child_model>'
            "<child_link>b</child_link><topic>/box/detach</topic></plugin>"
        )
        model = f'<model name="m"><link name="a">{mass(1.0, 0.1)}</link>{joint}</model>'
        on = triggered(
            '<input type="gz.msgs.Boolean" topic="/touched"><match>data: true</match></input>'
            '<output type="gz.msgs.Empty" topic="/box/detach"/>'
        )
        (trigger,) = read(f'<sdf version="1.9"><world name="w">{on}{model}{box}</world></sdf>').of(Trigger)
        assert trigger.detach == ("box/b",)
        assert trigger.matches == (TriggerMatch('{"data": true}'),)

    @pytest.mark.parametrize(
        ("inner", "message"),
        [
            ('<input type="gz.msgs.Nothing" topic="/i"/><output type="gz.msgs.Empty" topic="/o"/>', "gz.msgs.Nothing"),
            ('<input type="gz.msgs.Empty" topic="/i"/>', "no output is left"),
            (
                '<input type="gz.msgs.Int32" topic="/i"><match>date: 1</match></input>'
                '<output type="gz.msgs.Empty" topic="/o"/>',
                "no field 'date'; did you mean data",
            ),
            (
                '<input type="gz.msgs.Int32" topic="/i"><match field="data">one</match></input>'
                '<output type="gz.msgs.Empty" topic="/o"/>',
                "an integer is needed",
            ),
            ('<input type="gz.msgs.Empty" topic="/i"/><output type="gz.msgs.Twist" topic="/o">linear: {x: 1', "early"),
        ],
    )
    def test_what_is_not_valid_is_left_out_with_its_reason(self, inner: str, message: str) -> None:
        inner += "</output>" if inner.endswith("x: 1") else ""
        model = f'<model name="m"><link name="a">{mass(1.0, 0.1)}</link></model>'
        with pytest.warns(UserWarning, match=re.escape(message)):
            world = loads(f'<sdf version="1.9"><world name="w">{model}{triggered(inner)}</world></sdf>', ".sdf")
        assert not world.of(Trigger)
