"""Gazebo's sensors, and plug-ins that are sensors here, against formulas."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sim_node import Simulation
from sim_node.spatial.geometry import poses, quaternions
from sim_node.world import loads
from sim_node.world.model import World
from sim_node.world.triggers import Trigger, TriggerMatch
from sim_node.world.writers.yaml import to_yaml

MASS = "<inertial><mass>2</mass><inertia><ixx>0.1</ixx><iyy>0.1</iyy><izz>0.1</izz></inertia></inertial>"
BOX = '<collision name="c"><geometry><box><size>0.4 0.4 0.4</size></box></geometry></collision>'
GROUND = (
    '<model name="ground"><static>true</static><link name="g"><collision name="c"><geometry><plane/></geometry>'
    "</collision></link></model>"
)


def world_of(models: str, world: str = "") -> World:
    """Return a world of models."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return loads(f'<sdf version="1.9"><world name="w">{world}{models}</world></sdf>', ".sdf")


def box(inside: str, pose: str = "0 0 0 0 0 0", name: str = "m", link: str = "") -> str:
    """Return the text of a model with a box, what is in its link, and what is in the model."""
    return f'<model name="{name}"><pose>{pose}</pose><link name="l">{MASS}{BOX}{link}</link>{inside}</model>'


def run(world: World, seconds: float, sensor: str) -> tuple[Any, Any]:
    """Return the stamps (s) and the values of a sensor in the first seconds of a run."""
    simulation = Simulation(world, seed=0)
    simulation.run(seconds)
    stamps, values = simulation.snapshot().measurements[sensor]
    return np.asarray(stamps * 1e-9), values


class TestAltimeters:
    def test_it_measures_the_height_above_its_start_and_its_speed_in_free_fall(self) -> None:
        sensor = '<sensor name="a" type="altimeter"><pose>0.3 0 0.1 0 0 0</pose><update_rate>100</update_rate></sensor>'
        world = world_of(box("", "0 0 50 0 0 0", link=sensor))
        stamps, values = run(world, 2.0, "m/l/a")
        # Semi-implicit steps of 1 ms lead the parabola by half a step.
        np.testing.assert_allclose(values[:, 0], -0.5 * 9.8 * stamps * (stamps + 1e-3), atol=1e-9)
        np.testing.assert_allclose(values[:, 1], -9.8 * stamps, atol=1e-9)
        assert loads(to_yaml(world)).sensors == world.sensors

    def test_its_noise_is_that_of_its_two_quantities(self) -> None:
        noise = '<noise type="gaussian"><stddev>{}</stddev></noise>'
        of = f"<vertical_position>{noise.format(0.2)}</vertical_position>"
        of += f"<vertical_velocity>{noise.format(4.5)}</vertical_velocity>"
        world = world_of(box("", link=f'<sensor name="a" type="altimeter"><altimeter>{of}</altimeter></sensor>'))
        assert world.sensors[0].parameters["height"]["deviation"] == 0.2
        assert world.sensors[0].parameters["speed"]["deviation"] == 4.5


class TestLogicalCameras:
    @given(
        at=st.tuples(st.floats(-12.0, 12.0), st.floats(-12.0, 12.0), st.floats(-12.0, 12.0)),
        turned=st.tuples(*[st.floats(-3.0, 3.0)] * 3),
    )
    @settings(max_examples=25, deadline=None)
    def test_it_sees_the_models_whose_origin_is_between_the_planes_of_its_frustum(
        self, at: tuple[float, ...], turned: tuple[float, ...]
    ) -> None:
        of = "<near>0.5</near><far>10</far><horizontal_fov>1.2</horizontal_fov><aspect_ratio>1.5</aspect_ratio>"
        camera = f'<sensor name="c" type="logical_camera"><logical_camera>{of}</logical_camera></sensor>'
        text = " ".join(map(repr, (*at, *turned)))
        static = "<static>true</static>"
        world = world_of(box(static, "1 2 3 0 0 0.4", link=camera) + box(static, text, "other"))
        values = run(world, 0.01, "m/l/c")[1][0]
        found = dict(zip(("m/l", "other/l"), values.reshape(-1, 7), strict=True))
        # By the four planes through the camera, and the two across its axis.
        local = np.array([math.cos(0.4), math.sin(0.4), 0.0]), np.array([-math.sin(0.4), math.cos(0.4), 0.0])
        way = np.array(at) - [1.0, 2.0, 3.0]
        x, y, z = float(way @ local[0]), float(way @ local[1]), float(way[2])
        half = 0.6
        up = math.atan(math.tan(half) / 1.5)
        distances = (x - 0.5, 10.0 - x, *(math.sin(half) * x + sign * math.cos(half) * y for sign in (1, -1)))
        distances += tuple(math.sin(up) * x + sign * math.cos(up) * z for sign in (1, -1))
        if min(map(abs, distances)) < 1e-6:
            return
        assert np.isnan(found["m/l"]).all(), "it is nearer than the near plane"
        assert bool(np.isfinite(found["other/l"]).all()) == (min(distances) > 0.0)
        if min(distances) > 0.0:
            np.testing.assert_allclose(found["other/l"][:3], [x, y, z], atol=1e-9)
            pose = world.bodies[1].pose
            yaw = quaternions.exp(np.array([0.0, 0.0, 0.4]))
            expected = poses.relative(np.array([1.0, 2.0, 3.0, *yaw]), pose)
            assert abs(found["other/l"][3:] @ expected[3:]) == pytest.approx(1.0)


DVL = (
    '<sensor name="d" type="custom" gz:type="dvl"><update_rate>10</update_rate><gz:dvl><type>phased_array</type>'
    '<arrangement degrees="true">'
    + "".join(
        f'<beam id="{k}"><aperture>2</aperture><rotation>{45 + 90 * k}</rotation><tilt>30</tilt></beam>'
        for k in range(4)
    )
    + "</arrangement><tracking><bottom_mode><when>best</when></bottom_mode></tracking>"
    "<maximum_range>{}</maximum_range><minimum_range>0.1</minimum_range></gz:dvl></sensor>"
)


class TestVelocityLogs:
    def test_its_velocity_is_that_over_the_ground_and_its_distance_the_height(self) -> None:
        plugin = '<plugin filename="gz-sim-dvl-system" name="gz::sim::systems::DopplerVelocityLogSystem"/>'
        pose = "0 0 20 0 0 0.5"
        world = world_of(GROUND.replace('<collision', '<visual name="v"><geometry><plane><size>500 500</size></plane>'
                         "</geometry></visual><collision") + box("", pose, link=DVL.format(100)), plugin)  # fmt: skip
        simulation = Simulation(world, seed=0)
        simulation.bodies["m/l"].twist = np.array([3.0, 1.0, 0.0, 0.0, 0.0, 0.0])
        simulation.run(0.5)
        stamps, values = simulation.snapshot().measurements["m/l/d"]
        seconds = stamps * 1e-9
        expected = [3.0 * math.cos(0.5) + math.sin(0.5), math.cos(0.5) - 3.0 * math.sin(0.5)]
        np.testing.assert_allclose(values[:, :2], np.tile(expected, (len(values), 1)), atol=1e-9)
        np.testing.assert_allclose(values[:, 2], -9.8 * seconds, atol=1e-9)
        np.testing.assert_allclose(values[:, 3], 20.0 - 0.5 * 9.8 * seconds * (seconds + 1e-3), atol=1e-9)

    def test_out_of_range_it_measures_nothing(self) -> None:
        # Its beams are 20 m / cos 30 degrees long.
        world = world_of(GROUND + box("", "0 0 20 0 0 0", link=DVL.format(23)))
        values = run(world, 0.1, "m/l/d")[1]
        assert np.isnan(values[0, :3]).all()
        assert values[0, 3] == np.inf

    def test_its_beams_are_those_of_the_file(self) -> None:
        from sim_node.simulation.sensors import Dvl

        found = world_of(box("", link=DVL.format(100))).sensors[0]
        fan = Dvl(**{key: found.parameters[key] for key in ("beams", "tilt", "rotation")}).fan()
        # Along -z, tilted about y, turned about z.
        for k, beam in enumerate(fan):
            turn = math.radians(45 + 90 * k)
            across = math.sin(math.radians(30))
            expected = [across * math.cos(turn), across * math.sin(turn), -math.cos(math.radians(30))]
            np.testing.assert_allclose(beam, expected, atol=1e-12)


TOUCH = (
    '<plugin filename="gz-sim-touchplugin-system" name="gz::sim::systems::TouchPlugin"><target>ground</target>'
    "<time>0.25</time><namespace>box</namespace><enabled>true</enabled></plugin>"
)
CONTACT = '<sensor name="s" type="contact"><contact><collision>c</collision></contact></sensor>'


class TestTouching:
    def test_it_says_once_that_a_target_was_touched_for_so_long(self) -> None:
        world = world_of(GROUND + box(TOUCH, "0 0 0.65 0 0 0", link=CONTACT))
        stamps, values = run(world, 1.5, "m/l/touch")
        # It falls 0.45 m.
        touched = math.sqrt(2.0 * 0.45 / 9.8)
        assert values.sum() == 1.0
        assert stamps[values[:, 0].argmax()] == pytest.approx(touched + 0.25, abs=0.012)

    def test_other_targets_do_not_count(self) -> None:
        other = box("<static>true</static>", "30 0 0 0 0 0", "wall")
        touch = TOUCH.replace("ground", "wall")
        world = world_of(GROUND + other + box(touch, "0 0 0.25 0 0 0", link=CONTACT))
        assert not run(world, 1.0, "m/l/touch")[1].any()

    def test_a_trigger_on_its_topic_follows_on_true(self) -> None:
        trigger = (
            '<plugin filename="x" name="gz::sim::systems::TriggeredPublisher">'
            '<input type="gz.msgs.Boolean" topic="/box/touched"/><output type="gz.msgs.Empty" topic="/done"/></plugin>'
        )
        (found,) = world_of(GROUND + box(TOUCH, link=CONTACT), trigger).of(Trigger)
        assert found.topic == "m/l/touch/touched"
        assert found.matches == (TriggerMatch('{"data": true}'),)

    @pytest.mark.parametrize(
        ("plugin", "link", "message"),
        [
            (TOUCH, "", "no link of the model has a contact sensor"),
            (TOUCH.replace("ground", "wall"), CONTACT, "no collision has 'wall' in its name"),
            (TOUCH.replace("<time>0.25</time>", ""), CONTACT, "time is missing"),
        ],
    )
    def test_what_gazebo_cannot_configure_is_left_out(self, plugin: str, link: str, message: str) -> None:
        text = f'<sdf version="1.9"><world name="w">{GROUND}{box(plugin, link=link)}</world></sdf>'
        with pytest.warns(UserWarning, match=message):
            assert all(each.type != "touch" for each in loads(text, ".sdf").sensors)


BATTERY = (
    '<plugin filename="gz-sim-linearbatteryplugin-system" name="gz::sim::systems::LinearBatteryPlugin">'
    "<battery_name>lipo</battery_name><voltage>12.6</voltage>"
    "<open_circuit_voltage_constant_coef>12.6</open_circuit_voltage_constant_coef>"
    "<open_circuit_voltage_linear_coef>-3.1</open_circuit_voltage_linear_coef><initial_charge>1.1</initial_charge>"
    "<capacity>1.2</capacity><resistance>0.06</resistance><smooth_current_tau>1.9</smooth_current_tau>"
    "<power_load>60</power_load>{}</plugin>"
)


class TestBatteries:
    def test_voltage_current_and_charge_follow_gazebos_equations(self) -> None:
        world = world_of(box(BATTERY.format("<start_draining>true</start_draining>")))
        stamps, values = run(world, 20.0, "m/l/lipo")
        # One step of 1 ms after the other, as the header of the plug-in has it.
        current, charge, rows = 0.0, 1.1, []
        voltage = 12.6 - 3.1 * (1.0 - 1.1 / 1.2)
        for _ in range(round(stamps[-1] * 1e3) + 1):
            rows.append((voltage, -current, charge, charge / 1.2))
            current += 1e-3 / 1.9 * (60.0 / voltage - current)
            charge -= 1e-3 * current / 3600.0
            voltage = 12.6 - 3.1 * (1.0 - charge / 1.2) - 0.06 * current
        expected = np.array(rows)[np.round(stamps * 1e3).astype(int)]
        np.testing.assert_allclose(values[:, :4], expected, rtol=1e-12)
        assert (values[:, 4] == 2.0).all()

    def test_its_power_is_the_load_when_its_current_is_steady(self) -> None:
        world = world_of(box(BATTERY.format("<start_draining>true</start_draining>")))
        values = run(world, 30.0, "m/l/lipo")[1]
        assert -values[-1, 0] * values[-1, 1] == pytest.approx(60.0, rel=1e-3)

    def test_it_drains_from_the_first_effort_of_a_joint_on(self) -> None:
        arm = (
            f'<link name="a">{MASS}</link><joint name="j" type="revolute"><parent>l</parent><child>a</child><axis>'
            '</axis></joint><plugin filename="x" name="gz::sim::systems::ApplyJointForce"><joint_name>j</joint_name>'
            "</plugin>"
        )
        simulation = Simulation(world_of(box(BATTERY.format("") + arm), "<gravity>0 0 0</gravity>"), seed=0)
        simulation.run(1.0)
        assert simulation.snapshot().measurements["m/l/lipo"][1][-1, 2] == pytest.approx(1.1, rel=1e-12)
        simulation.joints["m/a"].target = 0.5
        simulation.run(1.0)
        assert simulation.snapshot().measurements["m/l/lipo"][1][-1, 2] < 1.0999

    def test_a_state_of_a_run_has_its_charge(self) -> None:
        simulation = Simulation(world_of(box(BATTERY.format("<start_draining>true</start_draining>"))), seed=0)
        simulation.run(2.0)
        state = simulation.state
        simulation.run(1.0)
        expected = simulation.snapshot().measurements["m/l/lipo"][1]
        simulation.restore(state)
        simulation.run(1.0)
        np.testing.assert_array_equal(simulation.snapshot().measurements["m/l/lipo"][1], expected)

    def test_thrusters_load_the_battery_that_they_name(self) -> None:
        thruster = (
            f'<link name="p">{MASS}</link><joint name="j" type="revolute"><parent>l</parent><child>p</child><axis>'
            '</axis></joint><plugin filename="x" name="gz::sim::systems::Thruster"><joint_name>j</joint_name>'
            "<power_load>15</power_load><battery_name>lipo</battery_name></plugin>"
        )
        found = world_of(box(BATTERY.format("") + thruster)).sensors[0]
        assert found.parameters["load"] == 75.0
