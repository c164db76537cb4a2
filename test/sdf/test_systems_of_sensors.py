"""Gazebo's sensors, and plug-ins that are sensors here, against formulas."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rosbags.typesys import Stores, get_typestore

from sim_node import Simulation
from sim_node.messages.sensor_topics import writers_of
from sim_node.simulation.sensors import groups_of
from sim_node.spatial.geometry import poses, quaternions
from sim_node.world import WorldError, WorldWarning, loads
from sim_node.world.model import World
from sim_node.world.triggers import Trigger, TriggerMatch
from sim_node.world.writers.yaml import to_yaml

ROS = get_typestore(Stores.ROS2_JAZZY)
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


def kinds(*types: str) -> str:
    """Return the text of sensors without noise, each named as its type."""
    return "".join(f'<sensor name="{kind}" type="{kind}"><update_rate>100</update_rate></sensor>' for kind in types)


class TestMagneticField:
    FIELD = "<magnetic_field>1e-5 2e-5 -3e-5</magnetic_field>"
    PLACE = "<spherical_coordinates><latitude_deg>47.4</latitude_deg><longitude_deg>8.5</longitude_deg>{}</{}>"

    def test_it_is_that_of_a_world_without_a_place_on_earth(self) -> None:
        model = box("<static>true</static>", "5 6 7 0 0 1.5707963267948966", link=kinds("magnetometer"))
        values = run(world_of(model, self.FIELD), 0.02, "m/l/magnetometer")[1]
        # Turned by a quarter to the left: its x is the world's y, and its y the world's -x.
        np.testing.assert_allclose(values[0], [2e-5, -1e-5, -3e-5], atol=1e-18)

    @pytest.mark.parametrize("wrap", ["{}", '<world name="w">{}</world>'])
    def test_its_default_is_that_of_sdf(self, wrap: str) -> None:
        model = box("<static>true</static>", link=kinds("magnetometer"))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            world = loads(f'<sdf version="1.9">{wrap.format(model)}</sdf>', ".sdf")
        # world.sdf of the format 1.12.
        np.testing.assert_allclose(
            run(world, 0.02, "m/l/magnetometer")[1][0], [5.5645e-6, 22.8758e-6, -42.3884e-6], atol=1e-18
        )

    def test_a_place_on_earth_has_the_world_magnetic_model(self) -> None:
        place = self.PLACE.format("", "spherical_coordinates")
        model = box("<static>true</static>", link=kinds("magnetometer"))
        values = run(world_of(model, self.FIELD + place), 0.02, "m/l/magnetometer")[1]
        assert np.linalg.norm(values[0]) == pytest.approx(48.5e-6, abs=1e-6), "in Zurich"


class TestAtmosphere:
    AIR = (
        '<atmosphere type="adiabatic"><temperature>{}</temperature><pressure>{}</pressure>'
        "<temperature_gradient>{}</temperature_gradient></atmosphere>"
    )
    # g / R of dry air, K/m: U.S. Standard Atmosphere, 1976.
    G_OVER_R = 9.80665 / 287.05287

    @pytest.mark.parametrize(
        ("warmth", "sea_level", "gradient"), [(288.15, 101325.0, -0.0065), (300.0, 98000.0, -0.004), (250.0, 1e5, 0.0)]
    )
    def test_pressure_and_airspeed_are_of_that_air(self, warmth: float, sea_level: float, gradient: float) -> None:
        air, wind = (
            self.AIR.format(warmth, sea_level, gradient),
            "<wind><linear_velocity>-40 0 0</linear_velocity></wind>",
        )
        sensors = kinds("air_pressure", "air_speed")
        world = world_of(box("<static>true</static>", "0 0 1500 0 0 0", link=sensors), air + wind)
        height = 6356766.0 * 1500.0 / (6356766.0 + 1500.0)
        if gradient:
            pressure = sea_level * (1.0 + gradient * height / warmth) ** (-self.G_OVER_R / gradient)
        else:
            pressure = sea_level * math.exp(-self.G_OVER_R * height / warmth)
        assert run(world, 0.02, "m/l/air_pressure")[1][0] == pytest.approx([pressure], rel=1e-9)
        # Isentropic flow that is brought to rest: p0 / p = (1 + 0.2 M^2)^3.5.
        mach = 40.0 / math.sqrt(1.4 * 287.05287 * (warmth + gradient * height))
        expected = pressure * ((1.0 + 0.2 * mach**2) ** 3.5 - 1.0)
        assert run(world, 0.02, "m/l/air_speed")[1][0] == pytest.approx([expected], rel=1e-9)

    def test_two_airs_are_measured_beside_each_other(self) -> None:
        sensors = "".join(
            f"  - {{name: m/{name}, type: barometer, noise: none, sea_level_temperature: {warmth}}}\n"
            for name, warmth in (("cold", 260.0), ("usual", 288.15), ("warm", 310.0))
        )
        text = f"world: w\nframes: [{{name: m/base_link, pose: {{position: [0, 0, 2000]}}}}]\nsensors:\n{sensors}"
        simulation = Simulation(loads(text), seed=0)
        simulation.run(0.1)
        found = simulation.snapshot().measurements
        height = 6356766.0 * 2000.0 / (6356766.0 + 2000.0)
        for name, warmth in (("cold", 260.0), ("usual", 288.15), ("warm", 310.0)):
            expected = 101325.0 * (1.0 - 0.0065 * height / warmth) ** (self.G_OVER_R / 0.0065)
            assert found[f"m/{name}"][1][0] == pytest.approx([expected], rel=1e-9)

    @pytest.mark.parametrize(
        ("air", "said"),
        [
            (
                (288.15, 2e5, -0.0065),
                r"pressure: 200000 is out of range; allowed: 80000 to 120000; .* with 101325 here",
            ),
            ((288.15, math.inf, -0.0065), r"pressure: inf is out of range; .* with 101325 here"),
            ((737.0, 101325.0, -0.0065), r"temperature: 737 is out of range; .* with 288.15 here"),
            ((288.15, 101325.0, -0.1), r"temperature_gradient: -0.1 is out of range; .* with -0.0065 here"),
        ],
    )
    def test_what_no_air_is_like_is_said_at_its_line(self, air: tuple[float, ...], said: str) -> None:
        # The air of other planets: Gazebo reads it, and its sensors measure the standard atmosphere all the same.
        high = box("<static>true</static>", "0 0 1500 0 0 0", link=kinds("air_pressure"))
        with pytest.warns(WorldWarning, match=rf"1:\d+: {said}"):
            world = loads(f'<sdf version="1.9"><world name="w">{self.AIR.format(*air)}{high}</world></sdf>', ".sdf")
        height = 6356766.0 * 1500.0 / (6356766.0 + 1500.0)
        standard = 101325.0 * (1.0 - 0.0065 * height / 288.15) ** (self.G_OVER_R / 0.0065)
        assert run(world, 0.02, "m/l/air_pressure")[1][0] == pytest.approx([standard], rel=1e-9)

    def test_an_atmosphere_of_another_type_is_refused(self) -> None:
        with pytest.raises(WorldError, match=r"no atmosphere 'thin'; allowed: adiabatic"):
            world_of(box(""), '<atmosphere type="thin"/>')


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

    def test_its_message_has_the_names_and_the_transforms(self) -> None:
        world = world_of(
            box("<static>true</static>", link='<sensor name="c" type="logical_camera"/>') + box("", name="n")
        )
        [(topic, write)] = writers_of("logical_camera", "m/l/c", groups_of(world)[0].sensors[0], "map")
        assert topic.name == "m/l/c/models"
        poses_of = np.arange(14.0).reshape(2, 7)
        message: Any = ROS.deserialize_cdr(write(5, poses_of), "sensor_msgs/msg/MultiDOFJointState")
        assert message.joint_names == ["m/l", "n/l"]
        assert message.transforms[1].translation.y == 8.0
        assert message.transforms[1].rotation.w == 13.0


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

    # Takes seconds: make test has the equations of a battery.
    @pytest.mark.nightly
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

    def test_its_message_is_a_battery_state(self) -> None:
        world = world_of(box(BATTERY.format("")))
        [(topic, write)] = writers_of("battery", "m/l/lipo", groups_of(world)[0].sensors[0], "map")
        message: Any = ROS.deserialize_cdr(write(5, np.array([12.5, -4.0, 1.1, 0.9, 2.0])), topic.type)
        assert (message.voltage, message.current, message.power_supply_status) == (12.5, -4.0, 2)
        assert (message.capacity, message.present) == (np.float32(1.2), True)


def test_the_message_of_a_touch_is_a_truth_value() -> None:
    world = world_of(GROUND + box(TOUCH, link=CONTACT))
    sensors = next(group.sensors for group in groups_of(world) if group.kind == "touch")
    [(topic, write)] = writers_of("touch", "m/l/touch", sensors[0], "map")
    for value in (0.0, 1.0):
        message: Any = ROS.deserialize_cdr(write(5, np.array([value])), topic.type)
        assert message.data is bool(value)


def test_velocity_logs_and_altimeters_have_messages() -> None:
    sensors = '<sensor name="a" type="altimeter"/>' + DVL.format(100)
    world = world_of(box("", link=sensors))
    found = {each.kind: (each.sensors[0], each.names[0]) for each in groups_of(world)}
    (_, write), (_, _) = writers_of("altimeter", "m/l/a", found["altimeter"][0], "map")
    height: Any = ROS.deserialize_cdr(write(5, np.array([3.0, -1.0])), "geometry_msgs/msg/Vector3Stamped")
    assert (height.header.frame_id, height.vector.z) == ("map", 3.0)
    (_, first), (_, second) = writers_of("dvl", "m/l/d", found["dvl"][0], "map")
    values = np.array([1.0, 2.0, 3.0, 20.0])
    twist: Any = ROS.deserialize_cdr(first(5, values), "geometry_msgs/msg/TwistWithCovarianceStamped")
    assert (twist.header.frame_id, twist.twist.twist.linear.y) == ("m/l/d", 2.0)
    distance: Any = ROS.deserialize_cdr(second(5, values), "sensor_msgs/msg/Range")
    assert distance.range == 20.0
