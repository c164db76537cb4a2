"""Topics of sensors as Gazebo names them, against the names that others expect from Gazebo."""

from __future__ import annotations

import warnings
from argparse import ArgumentParser
from pathlib import Path

import pytest

from sim_node.cli.main import main
from sim_node.cli.world_arguments import add_world, loaded
from sim_node.extensions.sdf.topics import add_arguments, world_with_topics
from sim_node.messages.sensor_topics import topics_of
from sim_node.recording.opening import open_bag
from sim_node.recording.worlds import first_world
from sim_node.session.graph_names import graph_names
from sim_node.world import World, load
from sim_node.world.triggers import Trigger

MASS = "<inertial><mass>1</mass><inertia><ixx>1</ixx><iyy>1</iyy><izz>1</izz></inertia></inertial>"


def world_of(folder: Path, sensors: str, more: str = "", keys: str = ", topics: gazebo") -> World:
    """Return a world that includes one with the sensors on the link base_link of the model x500_0."""
    model = f'<model name="x500_0"><link name="base_link">{MASS}{sensors}</link>{more}</model>'
    text = f'<sdf version="1.9"><world name="default">{model}</world></sdf>'
    (folder / "default.sdf").write_text(text, encoding="utf-8")
    path = folder / "main.yaml"
    path.write_text(
        f"world: w\norigin: {{latitude: 47, longitude: 8, altitude: 0}}\ninclude: [{{file: default.sdf{keys}}}]\n",
        encoding="utf-8",
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return load(path)


def sensor(name: str, type: str, inside: str = "") -> str:
    """Return the text of a sensor."""
    return f'<sensor name="{name}" type="{type}"><update_rate>10</update_rate>{inside}</sensor>'


# The ends of what PX4 subscribes to below /world/W/model/M/link/L/sensor: its module gz_bridge, GZBridge.cpp.
OF_PX4 = {
    "imu": "imu_sensor/imu",
    "magnetometer": "magnetometer_sensor/magnetometer",
    "air_pressure": "air_pressure_sensor/air_pressure",
    "navsat": "navsat_sensor/navsat",
    "air_speed": "air_speed/air_speed",
    "gpu_lidar": "lidar_2d_v2/scan",
}


def test_px4_finds_the_topics_of_gazebo_that_it_subscribes_to(tmp_path: Path) -> None:
    sensors = "".join(sensor(topic.partition("/")[0], type) for type, topic in OF_PX4.items())
    found = topics_of(world_of(tmp_path, sensors), "")
    wanted = {f"world/default/model/x500_0/link/base_link/sensor/{topic}" for topic in OF_PX4.values()}
    assert wanted <= {*found}
    # Of these, only the velocity of a receiver has no topic in Gazebo.
    assert {*found} - wanted == {"x500_0/base_link/navsat_sensor/fix_velocity"}


def test_topics_are_ours_unless_asked_for_otherwise(tmp_path: Path) -> None:
    world = world_of(tmp_path, sensor("i", "imu", "<topic>imu</topic>"), keys="")
    assert topics_of(world, "") == ["x500_0/base_link/i/data_raw"]


def test_a_sensor_has_the_topic_that_its_file_gives(tmp_path: Path) -> None:
    sensors = sensor("i", "imu", "<topic>/my imu</topic>") + sensor("s", "gpu_lidar", "<topic>scan</topic>")
    sensors += sensor("c", "contact", "<contact><collision>c</collision><topic>bumps</topic></contact>")
    assert topics_of(world_of(tmp_path, sensors), "") == ["my_imu", "scan", "bumps"]


def test_cameras_have_their_camera_info_beside_their_image(tmp_path: Path) -> None:
    # gz-sensors, CameraSensor::AdvertiseInfo and RgbdCameraSensor::Load; examples/worlds/sensors_demo.sdf.
    found = topics_of(world_of(tmp_path, sensor("c", "camera", "<topic>front/image</topic>")), "")
    assert found == ["front/image", "front/camera_info"]
    found = topics_of(world_of(tmp_path, sensor("c", "rgbd_camera", "<topic>rgbd_camera</topic>")), "")
    assert {"rgbd_camera/image", "rgbd_camera/camera_info", "rgbd_camera/depth_image"} < {*found}
    assert len(set(found)) == len(found)


def test_two_cameras_whose_camera_info_would_be_one_have_two(tmp_path: Path) -> None:
    sensors = sensor("a", "camera", "<topic>left</topic>") + sensor("b", "camera", "<topic>right</topic>")
    found = topics_of(world_of(tmp_path, sensors), "")
    assert found == ["left", "camera_info", "right", "x500_0/base_link/b/camera_info"]


def test_the_prefix_of_an_include_comes_first(tmp_path: Path) -> None:
    world = world_of(tmp_path, sensor("i", "imu", "<topic>imu</topic>"), keys=", topics: gazebo, prefix: one")
    assert topics_of(world, "") == ["one/imu"]
    assert "/one/imu" in {each.name for each in graph_names(world)}


def test_a_trigger_on_an_altimeter_follows_its_topic(tmp_path: Path) -> None:
    trigger = (
        '<plugin filename="x" name="gz::sim::systems::TriggeredPublisher"><input type="gz.msgs.Altimeter" '
        'topic="/altimeter"><match field="vertical_position" tol="0.1">-1</match></input>'
        '<output type="gz.msgs.Empty" topic="/low"/></plugin>'
    )
    inside = sensor("a", "altimeter", "<topic>altimeter</topic>")
    world = world_of(tmp_path, inside, trigger)
    assert [each.topic for each in world.of(Trigger)] == ["altimeter"]
    assert topics_of(world, "")[0] == "altimeter"
    world = world_of(tmp_path, inside, trigger, keys="")
    assert [each.topic for each in world.of(Trigger)] == [topics_of(world, "")[0]]


class TestTheOption:
    """`sim_node run --sdf-topics gazebo`."""

    IMU = f'<model name="m"><link name="l">{MASS}{sensor("i", "imu")}</link></model>'
    TEXT = f'<sdf version="1.9"><world name="w">{IMU}</world></sdf>'

    def test_names_the_topics_of_a_run_and_of_its_bag(self, tmp_path: Path) -> None:
        (tmp_path / "w.sdf").write_text(self.TEXT)
        run = ["run", str(tmp_path / "w.sdf"), "--no-ros", "--speed", "max", "--duration", "0.3"]
        for options, topic in (
            (["--sdf-topics", "gazebo"], "world/w/model/m/link/l/sensor/i/imu"),
            ([], "m/l/i/data_raw"),
        ):
            bag = tmp_path / topic.rpartition("/")[2]
            assert main([*run, *options, "--record", str(bag)]) == 0
            with open_bag(bag) as recorded:
                assert f"/{topic}" in {each.name for each in recorded.topics}
                world = first_world(recorded, tmp_path / f"{bag.name}_world")
            assert world is not None
            assert topics_of(world, "") == [topic]

    def test_holds_for_files_whose_include_says_nothing(self, tmp_path: Path) -> None:
        (tmp_path / "w.sdf").write_text(self.TEXT)
        includes = "include: [{file: w.sdf, prefix: a}, {file: w.sdf, prefix: b, topics: ours}]"
        (tmp_path / "main.yaml").write_text(f"physics: {{gravity: [0, 0, -9.8]}}\n{includes}")
        parser = ArgumentParser()
        add_world(parser)
        add_arguments(parser)
        arguments = parser.parse_args([str(tmp_path / "main.yaml"), "--sdf-topics", "gazebo"])
        world = world_with_topics(arguments, loaded)
        assert world is not None
        assert topics_of(world, "") == ["a/world/w/model/m/link/l/sensor/i/imu", "b/m/l/i/data_raw"]

    def test_is_refused_for_a_world_without_sdf(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["run", "orbit", "--no-ros", "--sdf-topics", "gazebo"]) == 2
        assert "--sdf-topics names those of SDF files, and orbit has none" in capsys.readouterr().err

    def test_is_refused_beside_a_case_of_a_sweep(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["run", "--from", str(tmp_path), "--case", "1", "--sdf-topics", "gazebo"]) == 2
        assert "--from does not support --sdf-topics" in capsys.readouterr().err
