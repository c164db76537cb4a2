"""Gazebo's systems that are parts here, against their formulas."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sim_node import Simulation
from sim_node.extensions.sdf.plugins import MISSING, SYSTEMS, system_name
from sim_node.extensions.sdf.wings import Air, LiftDrag, Surfaces, wrenches
from sim_node.world import load, loads
from sim_node.world.model import World
from sim_node.world.readers.xml_elements import Element, XmlAttribute
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
        force, moment = wrenches(Surfaces([wing]), Air(velocity[None], *rows, np.array([control])))
        expected = scalar_wing(wing, velocity, control)
        np.testing.assert_allclose(force[0], expected[0], rtol=1e-9, atol=1e-9 * speed**2)
        np.testing.assert_allclose(moment[0], expected[1], rtol=1e-9, atol=1e-9 * speed**2)

    def test_a_wing_that_flies_backwards_has_no_lift(self) -> None:
        rows = np.array([[1.0, 0.0, 0.0]]), np.array([[0.0, 0.0, 1.0]])
        force, moment = wrenches(Surfaces([LiftDrag("b")]), Air(np.array([[-5.0, 0.0, 1.0]]), *rows, np.zeros(1)))
        assert not force.any()
        assert not moment.any()

    def test_a_wing_is_written_in_world_files(self) -> None:
        world = read(quadrotor().replace("</model>", f"{WING}</model>"))
        assert loads(to_yaml(world)).forces == world.forces

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
    def test_a_differential_base_drives_as_it_is_commanded(self) -> None:
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
            "</wheel_separation><wheel_radius>0.1</wheel_radius></plugin>"
        )
        plane = '<collision name="c"><geometry><plane/></geometry></collision>'
        ground = f'<model name="g"><static>1</static><link name="l">{plane}</link></model>'
        text = f'<sdf version="1.9"><world name="w">{ground}<model name="m">{links}{plugin}</model></world></sdf>'
        simulation = Simulation(read(text), seed=0)
        simulation.vehicles["m/chassis"].cmd_vel(0.5, 0.0, 0.0, timeout=0)
        simulation.run(2.0)
        pose = simulation.snapshot().poses[simulation.frames.names.index("m/chassis")]
        assert pose[0] == pytest.approx(1.0, abs=0.05)
        assert pose[1] == pytest.approx(0.0, abs=0.02)


class TestTracks:
    plane = (
        '<model name="g"><static>1</static><link name="l"><collision name="c"><geometry><plane/></geometry>'
        "</collision></link></model>"
    )

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
