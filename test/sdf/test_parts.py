"""What links, surfaces, sensors and joints of SDF become, against formulas."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sim_node import Simulation
from sim_node.world import WorldError, WorldWarning, loads
from sim_node.world.bodies import Body
from sim_node.world.model import World
from sim_node.world.transmissions import Transmission

MASS = "<inertial><mass>1</mass><inertia><ixx>1</ixx><iyy>1</iyy><izz>1</izz></inertia></inertial>"
LENGTH = st.floats(0.05, 3.0)


def read(models: str, world: str = "") -> World:
    """Return the world of some models."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return loads(f'<sdf version="1.12"><world name="w">{world}{models}</world></sdf>', ".sdf")


def model(inside: str, name: str = "m") -> str:
    """Return the text of a model."""
    return f'<model name="{name}">{inside}</model>'


def body_of(link: str) -> Body:
    """Return the body of the one link of a world."""
    return read(model(f'<link name="l">{link}</link>')).bodies[0]


def shape(geometry: str, more: str = "", name: str = "c") -> str:
    """Return the text of a collision."""
    return f'<collision name="{name}"><geometry>{geometry}</geometry>{more}</collision>'


class TestInertias:
    @given(radius=LENGTH, length=LENGTH, density=st.floats(10.0, 8000.0))
    @settings(max_examples=20, deadline=None)
    def test_a_cone_has_the_inertia_of_a_cone(self, radius: float, length: float, density: float) -> None:
        cone = shape(f"<cone><radius>{radius!r}</radius><length>{length!r}</length></cone>")
        found = body_of(f'<inertial auto="true"><density>{density!r}</density></inertial>{cone}').inertial
        assert found is not None
        # Slices of the cone, as discs: midpoints of 20,000 of them.
        z = (np.arange(20_000) + 0.5) / 20_000
        disc = density * math.pi * (radius * (1.0 - z)) ** 2 * length / 20_000
        at = (z - 0.5) * length
        centre = (disc * at).sum() / disc.sum()
        across = (disc * ((radius * (1.0 - z)) ** 2 / 4.0 + (at - centre) ** 2)).sum()
        assert found.mass == pytest.approx(disc.sum(), rel=1e-6)
        assert found.centre[2] == pytest.approx(centre, rel=1e-6)
        np.testing.assert_allclose(np.diag(found.inertia)[:2], across, rtol=1e-6)

    def test_two_boxes_are_as_the_box_that_they_make(self) -> None:
        half = "<box><size>1 1 1</size></box>"
        two = shape(half, "<pose>-0.5 0 0 0 0 0</pose>") + shape(half, "<pose>0.5 0 0 0 0 0</pose>", "d")
        found = body_of(f'<inertial auto="1"><density>600</density></inertial>{two}').inertial
        assert found is not None
        assert found.mass == pytest.approx(1200.0)
        np.testing.assert_allclose(np.diag(found.inertia), [200.0, 500.0, 500.0])

    def test_a_given_mass_scales_the_moments_of_the_density(self) -> None:
        box = shape("<box><size>1 1 1</size></box>")
        found = body_of(f'<inertial auto="1"><mass>6</mass></inertial>{box}').inertial
        assert found is not None
        assert found.mass == 6.0
        np.testing.assert_allclose(np.diag(found.inertia), 1.0)


class TestSurfaces:
    def test_friction_and_bounce_are_those_of_the_file(self) -> None:
        surface = (
            "<surface><friction><ode><mu>0.3</mu></ode><torsional><coefficient>2</coefficient>"
            "<patch_radius>0.1</patch_radius></torsional></friction>"
            "<bounce><restitution_coefficient>0.5</restitution_coefficient></bounce></surface>"
        )
        found = body_of(MASS + shape("<sphere><radius>1</radius></sphere>", surface)).geometry[0].surface
        assert found is not None
        assert (found.sliding, found.restitution) == (0.3, 0.5)
        assert found.torsional == pytest.approx(3.0 * math.pi / 16.0 * 0.1 * 2.0)

    def test_bit_masks_decide_what_touches(self) -> None:
        def falling(name: str, mask: str, x: float) -> str:
            contact = f"<surface><contact><collide_bitmask>{mask}</collide_bitmask></contact></surface>"
            ball = shape("<sphere><radius>0.5</radius></sphere>", contact)
            return f'<model name="{name}"><pose>{x} 0 0.6 0 0 0</pose><link name="l">{MASS}{ball}</link></model>'

        floor = "<contact><collide_bitmask>0x01</collide_bitmask></contact>"
        plane = shape("<plane/>", f"<surface>{floor}</surface>")
        ground = f'<model name="ground"><static>true</static><link name="l">{plane}</link></model>'
        world = read(ground + falling("stays", "1", 0.0) + falling("falls", "2", 3.0) + falling("also", "0x03", 6.0))
        simulation = Simulation(world, seed=0)
        simulation.run(1.0)
        heights = {
            name: simulation.snapshot().poses[simulation.frames.names.index(f"{name}/l")][2]
            for name in ("stays", "falls", "also")
        }
        assert heights["stays"] == pytest.approx(0.5, abs=0.02)
        assert heights["also"] == pytest.approx(0.5, abs=0.02)
        assert heights["falls"] == pytest.approx(0.6 - 0.5 * 9.8, abs=0.02)

    def test_links_of_a_model_do_not_touch_unless_they_say_so(self) -> None:
        ball = MASS + shape("<sphere><radius>1</radius></sphere>")
        links = "".join(f'<link name="l{k}">{ball}</link>' for k in range(3))
        assert len(read(model(links)).contact_exclusions) == 3
        assert not read(model(f"<self_collide>true</self_collide>{links}")).contact_exclusions


class TestJoints:
    def test_a_screw_moves_by_its_pitch(self) -> None:
        joint = (
            '<joint name="j" type="screw"><parent>world</parent><child>l</child>'
            "<screw_thread_pitch>0.2</screw_thread_pitch><axis><xyz>0 0 1</xyz></axis></joint>"
        )
        simulation = Simulation(read(model(f'<link name="l">{MASS}</link>{joint}')), seed=0)
        simulation.run(1.0)
        pose = simulation.snapshot().poses[simulation.frames.names.index("m/l")]
        angle = 2.0 * math.atan2(pose[5], pose[6])
        # It falls, slowed by what it turns: a = -g / (1 + I (2 pi / p)^2 / m), and turns a full turn for each pitch.
        fallen = 0.5 * 9.8 / (1.0 + (2.0 * math.pi / 0.2) ** 2)
        assert pose[2] == pytest.approx(-fallen, rel=1e-2)
        assert angle == pytest.approx(pose[2] / 0.2 * 2.0 * math.pi, rel=1e-3)

    @pytest.mark.parametrize("ratio", [-3.0, 0.5])
    @pytest.mark.parametrize("turned", ["0 0 1", "0 0 -1"])
    @pytest.mark.parametrize("carried", [True, False])
    def test_a_gearbox_turns_its_child_back_by_its_ratio(self, ratio: float, turned: str, carried: bool) -> None:
        def hinge(name: str, ends: tuple[str, str], xyz: str) -> str:
            ends_of = f"<parent>{ends[0]}</parent><child>{ends[1]}</child>"
            return f'<joint name="{name}" type="revolute">{ends_of}<axis><xyz>{xyz}</xyz></axis></joint>'

        inertia = "<inertia><ixx>1</ixx><iyy>1</iyy><izz>{}</izz></inertia>"
        first, second, arm, weight = 0.3, 0.7, 0.05, 2.0
        away = f"<pose>{arm} 0 0 0 0 0</pose>"
        weighted = f"<inertial>{away}<mass>{weight}</mass>{inertia.format(first)}</inertial>"
        links = f'<link name="base">{weighted}</link>'
        links += f'<link name="a">{weighted}</link>'
        links += f'<link name="b"><inertial><mass>1</mass>{inertia.format(second)}</inertial></link>'
        fixed = '<joint name="f" type="fixed"><parent>world</parent><child>base</child></joint>'
        gear = (
            '<joint name="gear" type="gearbox"><parent>a</parent><child>b</child><gearbox_reference_body>base'
            f"</gearbox_reference_body><gearbox_ratio>{ratio}</gearbox_ratio><axis><xyz>0 0 1</xyz></axis>"
            "<axis2><xyz>0 0 1</xyz></axis2></joint>"
        )
        joints = fixed + hinge("j1", ("base", "a"), "0 0 1") + hinge("j2", ("base", "b"), turned)
        if not carried:  # the reference body is carried by the parent
            fixed = fixed.replace(">base<", ">a<")
            joints = hinge("j1", ("a", "base"), "0 0 1") + hinge("j2", ("base", "b"), turned)
            joints += fixed
        world = read(model(links + joints + gear), "<gravity>0 -5 0</gravity>")
        simulation = Simulation(world, seed=0)
        simulation.run(0.2)
        snapshot, names = simulation.snapshot(), list(simulation.frames.names)

        def angle(name: str) -> float:
            pose = snapshot.poses[names.index(name)]
            return 2.0 * math.atan2(pose[5], pose[6])

        if not carried:
            # b is carried by base, and turns on it by what a's angle from base, the opposite of base's on a, says.
            assert abs(angle("m/base")) > 1e-3
            assert angle("m/b") == pytest.approx(ratio * angle("m/base"), rel=1e-3)
            return
        # The torque of the weight, m g r, turns the inertia of both: I1 + m r^2 + n^2 I2.
        torque = -weight * 5.0 * arm
        speeding = torque / (first + weight * arm**2 + ratio**2 * second)
        assert angle("m/a") == pytest.approx(0.5 * speeding * 0.2**2, rel=1e-2)
        assert angle("m/b") == pytest.approx(-ratio * angle("m/a"), rel=1e-3)

    @pytest.mark.parametrize(
        ("body", "axis", "message"),
        [("b", "0 0 1", "needs a hinge between"), ("base", "0 1 0", "turns about another axis")],
    )
    def test_a_gearbox_without_its_hinges_couples_nothing_and_says_so(self, body: str, axis: str, message: str) -> None:
        links = "".join(f'<link name="{name}">{MASS}</link>' for name in ("base", "a", "b"))
        joints = "".join(
            f'<joint name="j{name}" type="revolute"><parent>base</parent><child>{name}</child>'
            "<axis><xyz>0 0 1</xyz></axis></joint>"
            for name in "ab"
        )
        gear = (
            f'<joint name="gear" type="gearbox"><parent>a</parent><child>b</child><gearbox_reference_body>{body}'
            f"</gearbox_reference_body><axis><xyz>{axis}</xyz></axis><axis2><xyz>0 0 1</xyz></axis2></joint>"
        )
        with pytest.warns(UserWarning, match=message):
            world = loads(f'<sdf version="1.12"><world name="w">{model(links + joints + gear)}</world></sdf>', ".sdf")
        assert not world.of(Transmission)

    def test_a_link_without_gravity_stays(self) -> None:
        link = f'<link name="l"><gravity>0</gravity>{MASS.replace("<mass>", "<pose>0.3 0 0 0 0 0</pose><mass>")}</link>'
        simulation = Simulation(read(model(link)), seed=0)
        simulation.run(0.5)
        pose = simulation.snapshot().poses[simulation.frames.names.index("m/l")]
        np.testing.assert_allclose(pose[:3], 0.0, atol=1e-9)

    def test_a_joint_follows_another_one(self) -> None:
        def joint(name: str, child: str, mimic: str = "") -> str:
            axis = f"<axis><xyz>0 0 1</xyz>{mimic}</axis>"
            return f'<joint name="{name}" type="revolute"><parent>a</parent><child>{child}</child>{axis}</joint>'

        follows = '<mimic joint="j1"><multiplier>2</multiplier><offset>0.5</offset><reference>0.1</reference></mimic>'
        links = "".join(f'<link name="{name}">{MASS}</link>' for name in "abc")
        world = read(model(links + joint("j1", "b") + joint("j2", "c", follows)))
        mimic = next(body.mimic for body in world.bodies if body.name == "m/c")
        assert mimic is not None
        assert (mimic.joint, mimic.multiplier) == ("m/b", 2.0)
        assert mimic.offset == pytest.approx(2.0 * (0.0 - 0.1) + 0.5)


class TestSensors:
    def sensor(self, text: str) -> Any:
        """Return the one sensor of a link."""
        world = "<spherical_coordinates><latitude_deg>47</latitude_deg></spherical_coordinates>"
        return read(model(f'<link name="l">{MASS}{text}</link>'), world).sensors[0]

    @pytest.mark.parametrize(
        ("key", "told"), [("mean", "the mean of a noise"), ("bias_mean", "mean of a noise's bias")]
    )
    def test_means_of_noise_are_said_to_be_zero(self, key: str, told: str) -> None:
        noise = f'<noise type="gaussian"><stddev>0.1</stddev><{key}>0.3</{key}></noise>'
        with pytest.warns(WorldWarning, match=f"{told} is treated as 0"):
            loads(
                '<sdf version="1.12"><world name="w"><model name="m"><link name="l"><sensor name="s" type="imu">'
                f"<imu><angular_velocity><x>{noise}</x></angular_velocity></imu></sensor></link></model></world></sdf>",
                ".sdf",
            )

    def test_a_drifting_bias_has_the_deviation_of_gazebos(self) -> None:
        noise = (
            '<noise type="gaussian"><stddev>0.1</stddev><bias_stddev>0.2</bias_stddev><dynamic_bias_stddev>0.01'
            "</dynamic_bias_stddev><dynamic_bias_correlation_time>50</dynamic_bias_correlation_time></noise>"
        )
        axes = "".join(f"<{axis}>{noise}</{axis}>" for axis in "xyz")
        found = self.sensor(
            '<sensor name="s" type="imu"><update_rate>200</update_rate>'
            f"<imu><angular_velocity>{axes}</angular_velocity></imu></sensor>"
        )
        assert (found.name, found.type, found.parameters["rate"]) == ("m/l/s", "imu", 200.0)
        gyroscope = found.parameters["gyroscope"]
        assert gyroscope["deviation"] == pytest.approx(0.1)
        assert gyroscope["turn_on_bias"] == pytest.approx(0.2)
        # The stationary deviation of gz-sensors' recursion b' = phi b + sigma n, at its own step of 1 ms.
        phi = math.exp(-0.001 / 50.0)
        sigma = math.sqrt(-0.01 * 0.01 * 50.0 / 2.0 * math.expm1(-2.0 * 0.001 / 50.0))
        assert gyroscope["bias_instability"] == pytest.approx(sigma / math.sqrt(1.0 - phi * phi), rel=1e-9)
        assert found.parameters["accelerometer"] == "none"

    @pytest.mark.parametrize(
        ("said", "unit"), [("", 1e-4), ("<use_units_gauss>true</use_units_gauss>", 1e-4),
                           ("<use_units_gauss>false</use_units_gauss>", 1.0)],
    )  # fmt: skip
    def test_the_noise_of_a_magnetometer_is_in_gauss_as_gazebo_adds_it(self, said: str, unit: float) -> None:
        """gz-sim's Magnetometer.cc: useUnitsGauss is true by default. PX4's x500 has 0.0001 for 3 mG."""
        noise = '<noise type="gaussian"><stddev>0.0001</stddev><bias_stddev>0.01</bias_stddev></noise>'
        axes = "".join(f"<{axis}>{noise}</{axis}>" for axis in "xyz")
        system = f'<plugin filename="gz-sim-magnetometer-system" name="gz::sim::systems::Magnetometer">{said}</plugin>'
        sensor = f'<sensor name="s" type="magnetometer"><magnetometer>{axes}</magnetometer></sensor>'
        place = "<spherical_coordinates><latitude_deg>47</latitude_deg></spherical_coordinates>"
        [found] = read(model(f'<link name="l">{MASS}{sensor}</link>'), place + system).sensors
        assert found.parameters["noise"]["deviation"] == pytest.approx(0.0001 * unit)
        assert found.parameters["noise"]["turn_on_bias"] == pytest.approx(0.01 * unit)

    @pytest.mark.parametrize(("samples", "kind"), [(1, "lidar_2d"), (16, "lidar_3d")])
    def test_a_lidar_has_as_many_rays_as_the_file_says(self, samples: int, kind: str) -> None:
        def fan(key: str, count: int) -> str:
            ends = "<min_angle>-0.5</min_angle><max_angle>0.5</max_angle>"
            return f"<{key}><samples>{count}</samples>{ends}</{key}>"

        scan = fan("horizontal", 90) + fan("vertical", samples)
        lidar = f"<lidar><scan>{scan}</scan><range><min>0.2</min><max>9</max></range></lidar>"
        found = self.sensor(f'<sensor name="s" type="gpu_lidar">{lidar}</sensor>')
        assert found.type == kind
        wanted = {"samples": 90, "angle_min": -0.5, "angle_max": 0.5, "range_min": 0.2, "range_max": 9.0}
        assert {key: found.parameters[key] for key in wanted} == wanted
        assert found.parameters.get("rings", 1) == samples

    def test_a_distortion_that_reaches_no_pixel_at_the_corners_is_left_out(self) -> None:
        """That of Gazebo's test/worlds/camera_distortion.sdf: r (1 - 0.1349 r^2 - 0.51868 r^4) is 0.57 at most."""
        bent = "<k1>-0.1349</k1><k2>-0.51868</k2><k3>-0.001</k3>"
        for angle, kept in ((0.7, True), (0.927295218, False)):  # corners at 0.46, and at 0.625 of the focal length
            camera = f"<camera><horizontal_fov>{angle}</horizontal_fov><distortion>{bent}</distortion></camera>"
            text = model(f'<link name="l"><sensor name="s" type="camera">{camera}</sensor></link>')
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                (sensor,) = loads(f'<sdf version="1.9"><world name="w">{text}</world></sdf>', ".sdf").sensors
            assert ("distortion" in sensor.parameters) == kept
            said = [text for each in caught if "folds" in (text := str(each.message))]
            assert len(said) == (not kept)
            assert all(text.endswith(": some pixel is met by no ray; the camera has none") for text in said)

    @pytest.mark.parametrize(
        ("kind", "inside", "key"),
        [
            ("camera", "<camera><image><width>inf</width></image></camera>", "width"),
            ("gpu_lidar", "<lidar><scan><vertical><samples>-inf</samples></vertical></scan></lidar>", "samples"),
        ],
    )
    def test_a_number_of_pixels_or_rays_is_finite(self, kind: str, inside: str, key: str) -> None:
        with pytest.raises(WorldError, match=rf"1:\d+: {key}: a finite number is needed, found -?inf"):
            self.sensor(f'<sensor name="s" type="{kind}">{inside}</sensor>')

    def test_every_type_is_simulated(self) -> None:
        from sim_node.extensions.sdf.sensors import TYPES

        kinds = [kind for kind in TYPES if kind != "force_torque"]
        sensors = "".join(f'<sensor name="{kind}" type="{kind}"/>' for kind in kinds)
        world = read(model(f'<link name="l">{MASS}{shape("<sphere/>")}{sensors}</link>'))
        from sim_node.messages.sensor_topics import lay_out_messages

        assert len(lay_out_messages(world)) >= len(kinds)


def test_a_kinematic_link_stays_and_carries_what_falls_on_it() -> None:
    box = shape("<box><size>1 1 1</size></box>")
    shelf = f'<pose>0 0 2 0 0 0</pose><link name="l"><kinematic>1</kinematic><gravity>0</gravity>{MASS}{box}</link>'
    crate = f'<pose>0 0 3.05 0 0 0</pose><link name="l">{MASS}{box}</link>'
    simulation = Simulation(read(model(shelf, "shelf") + model(crate, "crate")), seed=0)
    simulation.run(2.0)
    assert simulation.bodies["shelf/l"].pose[:3].tolist() == [0.0, 0.0, 2.0]
    assert simulation.bodies["crate/l"].pose[2] == pytest.approx(3.0, abs=2e-3)
