"""Plug-ins of Gazebo that slip, follow waypoints and fill bladders, against their formulas."""

from __future__ import annotations

import json
import math
import warnings

import numpy as np
import pytest

from sim_node import Simulation
from sim_node.extensions.sdf.waypoints import WaypointForce
from sim_node.world import WorldError, WorldWarning, loads
from sim_node.world.model import World
from sim_node.world.triggers import Trigger, TriggerMatch
from sim_node.world.writers.yaml import to_yaml


def read(models: str, world: str = "") -> World:
    """Return a world of models."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return loads(f'<sdf version="1.9"><world name="w">{world}{models}</world></sdf>', ".sdf")


def mass(of: float, moment: float) -> str:
    """Return the text of an inertial."""
    moments = "".join(f"<{key}>{moment}</{key}>" for key in ("ixx", "iyy", "izz"))
    return f"<inertial><mass>{of}</mass><inertia>{moments}</inertia></inertial>"


GROUND = (
    '<model name="ground"><static>true</static><link name="g"><collision name="c"><geometry><plane/></geometry>'
    "{0}</collision></link></model>"
)
SURFACE = "<surface><friction><ode><mu>{}</mu></ode></friction></surface>"


CAPSULE = "<capsule><radius>0.2</radius><length>0.1</length></capsule>"


class TestWheelSlip:
    @staticmethod
    def rollers(*compliances: float, friction: float | None = 0.9) -> Simulation:
        """Return a run of wheels, in models m0, m1, and so on, beside each other.

        Each slides along x without turning over, is driven at 10 rad/s, and is pulled by 15 N.
        """
        sphere = "<geometry><sphere><radius>0.2</radius></sphere></geometry>"
        surface = SURFACE.format(friction) if friction is not None else ""
        wheel = f'<link name="wheel"><pose>0 0 0.2 0 0 0</pose>{mass(4.0, 0.05)}'
        wheel += f'<collision name="c">{sphere}{surface}</collision></link>'
        cart = f'<link name="cart"><pose>0 0 0.2 0 0 0</pose>{mass(1.0, 0.05)}</link>'
        lift = f'<link name="lift"><pose>0 0 0.2 0 0 0</pose>{mass(1.0, 0.05)}</link>'
        joints = (
            '<joint name="x" type="prismatic"><parent>world</parent><child>cart</child><axis><xyz>1 0 0</xyz></axis>'
            '</joint><joint name="z" type="prismatic"><parent>cart</parent><child>lift</child><axis><xyz>0 0 1</xyz>'
            '</axis></joint><joint name="y" type="revolute"><parent>lift</parent><child>wheel</child><axis>'
            "<xyz>0 1 0</xyz></axis></joint>"
        )
        plugins = (
            '<plugin filename="x" name="gz::sim::systems::JointController"><joint_name>y</joint_name>'
            "<initial_velocity>10</initial_velocity></plugin>"
            '<plugin filename="gz-sim-wheel-slip-system" name="gz::sim::systems::WheelSlip"><wheel link_name="wheel">'
            "<slip_compliance_lateral>{0}</slip_compliance_lateral>"
            "<slip_compliance_longitudinal>{0}</slip_compliance_longitudinal>"
            "<wheel_normal_force>40</wheel_normal_force><wheel_radius>0.2</wheel_radius></wheel></plugin>"
        )
        models = "".join(
            f'<model name="m{number}"><pose>0 {number} 0 0 0 0</pose>{cart}{lift}{wheel}{joints}'
            f"{plugins.format(compliance)}</model>"
            for number, compliance in enumerate(compliances)
        )
        simulation = Simulation(read(GROUND.format(surface) + models))
        for number in range(len(compliances)):
            simulation.bodies[f"m{number}/cart"].apply_force([-15.0, 0.0, 0.0])
        return simulation

    # One run of all costs hardly more than that of one.
    COMPLIANCES = (0.1, 0.5, 2.0)

    @pytest.fixture(scope="class")
    @classmethod
    def slipped(cls) -> Simulation:
        simulation = cls.rollers(*cls.COMPLIANCES)
        simulation.run(4.0)
        return simulation

    @pytest.mark.parametrize(("number", "compliance"), enumerate(COMPLIANCES))
    def test_the_speed_of_slipping_is_the_compliance_times_the_force(
        self, number: int, compliance: float, slipped: Simulation
    ) -> None:
        speed, rate = (slipped.joints[f"m{number}/{name}"].velocity[0] for name in ("cart", "wheel"))
        # A contact is midway between the surfaces, which overlap.
        rim = rate * 0.5 * (0.2 + slipped.bodies[f"m{number}/wheel"].pose[2])
        assert rim == pytest.approx(2.0, rel=2e-3)
        # 15 N of 40 N is the ratio of the forces.
        assert rim - speed == pytest.approx(compliance * 15.0 / 40.0 * rim, rel=2e-3)

    def test_friction_limits_the_force(self) -> None:
        simulation = self.rollers(0.1, friction=0.1)
        simulation.run(1.0)
        before = simulation.joints["m0/cart"].velocity[0]
        simulation.run(0.5)
        # 15 N against a tenth of the weight of lift and wheel; 6 kg are moved.
        expected = (0.1 * 5.0 * 9.8 - 15.0) / 6.0
        assert (simulation.joints["m0/cart"].velocity[0] - before) / 0.5 == pytest.approx(expected, rel=0.01)

    # Takes seconds: make test has wheels that slip by what their surfaces say.
    @pytest.mark.nightly
    def test_it_slips_on_surfaces_that_say_nothing_of_friction(self) -> None:
        simulation = self.rollers(0.5, friction=None)
        simulation.run(2.0)  # thirteen times 6 kg 0.5 2 m/s / 40 N, in which its speed approaches this one
        speed, rate = (simulation.joints[name].velocity[0] for name in ("m0/cart", "m0/wheel"))
        rim = rate * 0.5 * (0.2 + simulation.bodies["m0/wheel"].pose[2])
        assert rim - speed == pytest.approx(0.5 * 15.0 / 40.0 * rim, rel=2e-3)

    def test_a_world_that_states_another_cone_is_refused(self) -> None:
        text = to_yaml(self.rollers(0.1).world)
        pyramidal = text.replace("physics:", "physics:\n  cone: pyramidal", 1)
        with pytest.raises(WorldError, match=r"wheel_slip needs physics\.cone: elliptic"):
            Simulation(loads(pyramidal))

    def test_it_is_written_in_world_files(self) -> None:
        world = self.rollers(0.1).world
        assert loads(to_yaml(world)).forces == world.forces

    # Of a model's wheel: its compliances, lateral and longitudinal, and its shape.
    WHEELS = tuple(
        (lateral, longitudinal, shape)
        for shape in ("<sphere><radius>0.2</radius></sphere>", CAPSULE)
        for lateral, longitudinal in [(2.0, 0.5), (0.5, 2.0), (1.0, 0.0), (0.0, 1.0)]
    )

    @staticmethod
    def axled(name: str, y: float, lateral: float, longitudinal: float, shape: str) -> str:
        """Return the text of a wheel on an axle that moves along x, y and z, driven at 10 rad/s."""
        links = "".join(
            f'<link name="{link}"><pose>0 0 0.2 0 0 0</pose>{mass(1.0, 0.05)}</link>' for link in ("x", "y", "z")
        )
        links += f'<link name="wheel"><pose>0 0 0.2 0 0 0</pose>{mass(4.0, 0.05)}<collision name="c">'
        links += f"<pose>0 0 0 1.5707963267948966 0 0</pose><geometry>{shape}</geometry>{SURFACE.format(0.9)}"
        links += "</collision></link>"
        chain = zip(
            ("world", "x", "y", "z"), ("x", "y", "z", "wheel"), ("1 0 0", "0 1 0", "0 0 1", "0 1 0"), strict=True
        )
        joints = "".join(
            f'<joint name="j{child}" type="{"revolute" if child == "wheel" else "prismatic"}"><parent>{parent}</parent>'
            f"<child>{child}</child><axis><xyz>{axis}</xyz></axis></joint>"
            for parent, child, axis in chain
        )
        plugins = (
            '<plugin filename="x" name="gz::sim::systems::JointController"><joint_name>jwheel</joint_name>'
            "<initial_velocity>10</initial_velocity></plugin>"
            '<plugin filename="x" name="gz::sim::systems::WheelSlip"><wheel link_name="wheel">'
            f"<slip_compliance_lateral>{lateral}</slip_compliance_lateral>"
            f"<slip_compliance_longitudinal>{longitudinal}</slip_compliance_longitudinal>"
            "<wheel_normal_force>40</wheel_normal_force><wheel_radius>0.2</wheel_radius></wheel></plugin>"
        )
        return f'<model name="{name}"><pose>0 {y} 0 0 0 0</pose>{links}{joints}{plugins}</model>'

    @pytest.fixture(scope="class")
    @classmethod
    def pulled(cls) -> Simulation:
        """A run of all WHEELS, 20 m apart, each pulled by 12 N back and aside."""
        models = "".join(cls.axled(f"m{number}", 20.0 * number, *wheel) for number, wheel in enumerate(cls.WHEELS))
        run = Simulation(read(GROUND.format(SURFACE.format(0.9)) + models))
        for number in range(len(cls.WHEELS)):
            run.joints[f"m{number}/x"].velocity = [2.0]  # it rolls
            run.bodies[f"m{number}/x"].apply_force([-12.0, 0.0, 0.0])
            run.bodies[f"m{number}/y"].apply_force([0.0, 12.0, 0.0])
        run.run(4.0)
        return run

    # Takes seconds: make test has wheels that slip along.
    @pytest.mark.nightly
    @pytest.mark.parametrize(
        ("number", "lateral", "longitudinal", "shape"), [(number, *wheel) for number, wheel in enumerate(WHEELS)]
    )
    def test_it_slips_otherwise_to_the_side(
        self, number: int, lateral: float, longitudinal: float, shape: str, pulled: Simulation
    ) -> None:
        """A capsule has two contacts, which share the force."""
        rate = pulled.joints[f"m{number}/wheel"].velocity[0]
        rim = rate * 0.5 * (0.2 + pulled.bodies[f"m{number}/wheel"].pose[2])
        speed, aside = (pulled.joints[f"m{number}/{name}"].velocity[0] for name in ("x", "y"))
        slips = np.array([rim - speed, aside])
        expected = np.array([longitudinal, lateral]) * 0.2 * rate * 12.0 / 40.0
        # Where it does not slip, MuJoCo's soft contacts creep.
        assert slips == pytest.approx(expected, rel=0.01, abs=2e-3)


class TestSpeeds:
    """The `velocity` of a joint's limit: MuJoCo has none, so that it bounds what its actuators do."""

    @staticmethod
    def text(system: str, more: str = "") -> str:
        """Return a world with a disc of 0.05 kg m^2 on a vertical axis that is to turn at 2 rad/s at most."""
        joint = (
            '<joint name="j" type="revolute"><parent>world</parent><child>disc</child><axis><xyz>0 0 1</xyz>'
            "<limit><velocity>2</velocity></limit></axis></joint>"
        )
        plugin = f'<plugin filename="x" name="gz::sim::systems::{system}"><joint_name>j</joint_name>{more}</plugin>'
        model = f'<model name="m"><link name="disc">{mass(1.0, 0.05)}</link>{joint}{plugin}</model>'
        return f'<sdf version="1.9"><world name="w">{model}</world></sdf>'

    @pytest.mark.parametrize("more", ["", "<use_force_commands>1</use_force_commands><p_gain>0.5</p_gain>"])
    def test_a_controller_drives_no_faster(self, more: str) -> None:
        faster = self.text("JointController", f"<initial_velocity>10</initial_velocity>{more}")
        simulation = Simulation(loads(faster, ".sdf"))
        simulation.run(2.0)
        assert simulation.joints["m/disc"].velocity[0] == pytest.approx(2.0, rel=1e-3)

    def test_a_torque_accelerates_up_to_it(self) -> None:
        simulation = Simulation(loads(self.text("ApplyJointForce"), ".sdf"))
        disc = simulation.joints["m/disc"]
        disc.effort = [0.1]
        simulation.run(0.5)
        assert disc.velocity[0] == pytest.approx(0.1 / 0.05 * 0.5, rel=1e-2)
        simulation.run(2.0)
        assert disc.velocity[0] == pytest.approx(2.0, rel=1e-2)

    def test_what_it_does_not_bound_is_said(self) -> None:
        with pytest.warns(WorldWarning, match=r"1:\d+: velocity: .*: a position controller has none here"):
            loads(self.text("JointPositionController", "<p_gain>1</p_gain><i_gain>0</i_gain>"), ".sdf")
        with pytest.warns(WorldWarning, match=r"1:\d+: velocity: .*: a joint of no speed has none here"):
            loads(self.text("JointController").replace("<velocity>2<", "<velocity>0<"), ".sdf")


def follower(inside: str, pose: str = "0 0 0 0 0 0", weight: float = 2.0) -> World:
    """Return a world without gravity in which a body follows waypoints."""
    plugin = (
        '<plugin filename="gz-sim-trajectory-follower-system" name="gz::sim::systems::TrajectoryFollower">'
        f"<link_name>l</link_name>{inside}</plugin>"
    )
    model = f'<model name="m"><pose>{pose}</pose><link name="l">{mass(weight, 0.5)}</link>{plugin}</model>'
    return read(model, "<gravity>0 0 0</gravity>")


class TestWaypoints:
    def test_it_is_pushed_forward_towards_what_is_ahead(self) -> None:
        simulation = Simulation(follower("<force>6</force><waypoints><waypoint>50 0</waypoint></waypoints>"))
        simulation.run(2.0)
        np.testing.assert_allclose(
            simulation.bodies["m/l"].pose[:3], [0.5 * 3.0 * 2.0**2, 0.0, 0.0], rtol=2e-3, atol=1e-9
        )

    def test_it_is_turned_towards_what_is_beside_it(self) -> None:
        simulation = Simulation(follower("<torque>0.2</torque><waypoints><waypoint>0 -50</waypoint></waypoints>"))
        simulation.run(1.0)
        pose = simulation.bodies["m/l"].pose
        np.testing.assert_allclose(pose[:3], 0.0, atol=1e-9)
        assert 2.0 * math.asin(pose[5]) == pytest.approx(-0.5 * 0.4, rel=2e-3)

    def test_after_a_waypoint_comes_the_next_and_after_the_last_none(self) -> None:
        inside = "<force>6</force><range_tolerance>0.5</range_tolerance><waypoints><waypoint>1 0</waypoint>"
        simulation = Simulation(follower(f"{inside}<waypoint>4 0</waypoint></waypoints>"))
        simulation.run(1.0)
        assert simulation.columns["waypoints/next"][0] == 1
        simulation.run(2.0)
        # Reached at 3.5 m, it is not pushed any more for a metre; then it is turned.
        assert simulation.columns["waypoints/next"][0] == 1
        simulation.reset()
        assert simulation.columns["waypoints/next"][0] == 0

    def test_a_loop_begins_again(self) -> None:
        inside = (
            "<loop>true</loop><force>6</force><waypoints><waypoint>1 0</waypoint><waypoint>3 0</waypoint></waypoints>"
        )
        simulation = Simulation(follower(inside))
        simulation.run(1.5)
        assert simulation.columns["waypoints/next"][0] == 0

    def test_lines_and_circles_are_waypoints(self) -> None:
        (line,) = follower("<line><direction>0.5</direction><length>5</length></line>", "1 2 3 0 0 0.7").forces
        assert isinstance(line, WaypointForce)
        expected: list[list[float]] = [[1, 2], [1 + 5 * math.cos(1.2), 2 + 5 * math.sin(1.2)]]
        np.testing.assert_allclose(np.array(line.waypoints), expected)
        (circle,) = follower("<circle><radius>2</radius></circle>", "1 2 3 0 0 0.7").forces
        assert isinstance(circle, WaypointForce)
        np.testing.assert_allclose(np.linalg.norm(np.array(circle.waypoints) - [1.0, 2.0], axis=1), 2.0)
        np.testing.assert_allclose(np.array(circle.waypoints)[2], [1.0, 4.0])
        assert len(circle.waypoints) == 8
        assert (circle.force, circle.torque, circle.range_tolerance) == (60.0, 50.0, 0.5)
        assert circle.bearing_tolerance == pytest.approx(math.radians(2.0))

    def test_it_is_written_in_world_files(self) -> None:
        world = follower("<waypoints><waypoint>1 0</waypoint><waypoint>3 1</waypoint></waypoints>")
        assert loads(to_yaml(world)).forces == world.forces


class TestBladders:
    @staticmethod
    def glider(inside: str = "") -> Simulation:
        plugin = (
            '<plugin filename="gz-sim-buoyancy-engine-system" name="gz::sim::systems::BuoyancyEngine">'
            "<link_name>l</link_name><namespace>box</namespace><min_volume>0</min_volume>"
            "<neutral_volume>0.002</neutral_volume><default_volume>0.002</default_volume>"
            f"<max_volume>0.003</max_volume><max_inflation_rate>0.0003</max_inflation_rate>{inside}</plugin>"
        )
        # Nothing but the bladder pushes it: its weight is carried.
        force = (
            '<plugin filename="x" name="gz::sim::systems::ApplyLinkWrench"><persistent><entity_name>m::l</entity_name>'
            "<entity_type>link</entity_type><force>0 0 980.0098</force></persistent></plugin>"
        )
        model = f'<model name="m"><link name="l">{mass(100.0, 5.0)}</link>{plugin}</model>'
        return Simulation(read(force + model))

    def test_its_force_follows_from_its_volume_which_changes_at_a_rate(self) -> None:
        simulation = self.glider()
        simulation.run(1.0)
        speed = simulation.bodies["m/l"].twist[2]
        assert speed == pytest.approx(0.0, abs=1e-6)
        simulation.joints["m/l/bladder"].target = 0.003
        simulation.run(3.0)
        # Its volume grows by 0.0003 m^3/s, and so does its force by 2.94 N/s.
        assert simulation.bodies["m/l"].twist[2] == pytest.approx(0.5 * 2.94 * 3.0**2 / 100.001, rel=2e-3)
        simulation.run(3.0)
        ramp = 10.0 / 3.0
        expected = (0.5 * 2.94 * ramp**2 + 9.8 * (6.0 - ramp)) / 100.001
        assert simulation.bodies["m/l"].twist[2] == pytest.approx(expected, rel=2e-3)

    def test_above_the_surface_it_only_weighs(self) -> None:
        simulation = self.glider("<surface>-1</surface>")
        simulation.run(1.0)
        assert simulation.bodies["m/l"].twist[2] == pytest.approx(-19.6 / 100.001, rel=1e-3)

    def test_triggers_and_topics_set_its_volume(self) -> None:
        world = self.glider().world
        assert world.joint_commands[0].joints == ("m/l/bladder",)
        assert loads(to_yaml(world)).forces == world.forces


JOINT = (
    '<joint name="j" type="revolute"><parent>l</parent><child>a</child><axis><xyz>1 0 0</xyz></axis></joint>'
    '<plugin filename="x" name="gz::sim::systems::{}"><joint_name>j</joint_name>{}</plugin>'
)


class TestTopicsOfTriggers:
    @staticmethod
    def output(plugin: str, topic: str, data: float = 2.0) -> tuple[str, object]:
        """Return the topic and the data that a trigger sends for a topic of Gazebo."""
        trigger = (
            '<plugin filename="x" name="gz::sim::systems::TriggeredPublisher"><input type="gz.msgs.Empty" topic="/go"/>'
            f'<output type="gz.msgs.Double" topic="{topic}">data: {data}</output></plugin>'
        )
        links = f'<link name="l">{mass(1, 1)}</link><link name="a">{mass(1, 1)}</link>'
        (found,) = read(f'{trigger}<model name="my-m">{links}{plugin}</model>').of(Trigger)
        (sent,) = found.outputs
        assert sent.type == "std_msgs/msg/Float64"
        return sent.topic, json.loads(sent.message)["data"]

    @pytest.mark.parametrize(
        ("system", "inside", "topic", "expected"),
        [
            ("JointPositionController", "", "/model/my-m/joint/j/0/cmd_pos", "cmd_pos"),
            ("JointPositionController", "<joint_index>2</joint_index>", "/model/my-m/joint/j/2/cmd_pos", "cmd_pos"),
            ("JointPositionController", "<sub_topic>arm</sub_topic>", "/model/my-m/arm", "cmd_pos"),
            ("JointPositionController", "<topic>flap</topic>", "/flap", "cmd_pos"),
            ("JointController", "", "/model/my-m/joint/j/cmd_vel", "cmd_vel"),
            ("JointController", "<topic>/spin</topic>", "spin", "cmd_vel"),
            ("ApplyJointForce", "", "/model/my-m/joint/j/cmd_force", "cmd_effort"),
            ("Thruster", "<use_angvel_cmd>1</use_angvel_cmd>", "/model/my-m/joint/j/cmd_vel", "cmd_vel"),
        ],
    )
    def test_those_of_joints_are_those_of_their_actuators(
        self, system: str, inside: str, topic: str, expected: str
    ) -> None:
        assert self.output(JOINT.format(system, inside), topic) == (f"my_m/a/{expected}", 2.0)

    def test_the_thrust_of_a_thruster_becomes_the_speed_of_its_propeller(self) -> None:
        inside = "<namespace>sub</namespace><thrust_coefficient>0.004</thrust_coefficient>"
        inside += "<propeller_diameter>0.2</propeller_diameter><fluid_density>1000</fluid_density>"
        topic, speed = self.output(JOINT.format("Thruster", inside), "/model/sub/joint/j/cmd_thrust", -31.0)
        assert topic == "my_m/a/cmd_vel"
        assert speed == pytest.approx(-math.sqrt(31.0 / (1000 * 0.004 * 0.2**4)))

    def test_a_topic_of_several_joints_commands_all(self) -> None:
        link = f'<link name="{{0}}">{mass(1, 1)}</link><joint name="j{{0}}" type="revolute"><parent>l</parent>'
        link += "<child>{0}</child><axis/></joint>"
        links = link.format("a") + link.format("b")
        plugin = (
            '<plugin filename="x" name="gz::sim::systems::JointPositionController"><joint_name>ja</joint_name>'
            "<joint_name>jb</joint_name><topic>both</topic></plugin>"
        )
        trigger = (
            '<plugin filename="x" name="gz::sim::systems::TriggeredPublisher"><input type="gz.msgs.Empty" topic="/go"/>'
            '<output type="gz.msgs.Double" topic="/both">data: 1</output></plugin>'
        )
        world = read(f'{trigger}<model name="m"><link name="l">{mass(1, 1)}</link>{links}{plugin}</model>')
        assert [each.topic for each in world.of(Trigger)[0].outputs] == ["m/a/cmd_pos", "m/b/cmd_pos"]

    def test_a_match_of_an_altimeter_is_one_of_its_height(self) -> None:
        # Of gz-sim's examples/worlds/triggered_publisher.sdf.
        trigger = (
            '<plugin filename="x" name="gz::sim::systems::TriggeredPublisher">'
            '<input type="gz.msgs.Altimeter" topic="/altimeter"><match field="vertical_position" tol="0.2">-7.5</match>'
            '</input><output type="gz.msgs.Empty" topic="/o"/></plugin>'
        )
        sensor = '<sensor name="alt" type="altimeter"><topic>/altimeter</topic></sensor>'
        world = read(f'{trigger}<model name="m"><link name="l">{mass(1, 1)}{sensor}</link></model>')
        (found,) = world.of(Trigger)
        assert (found.topic, found.type) == ("m/l/alt/height", "geometry_msgs/msg/Vector3Stamped")
        assert found.matches == (TriggerMatch("-7.5", "vector.z", tolerance=0.2),)
