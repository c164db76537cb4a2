"""A sensor of another package: one file and one entry point, seen wherever shipped sensors are."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest
import yaml
from forked import Forks
from rosbags.rosbag2 import Reader
from rosbags.typesys import Stores, get_types_from_msg, get_typestore

THERMOMETER = '''
from dataclasses import dataclass

import numpy as np

from sim_node.simulation.sensors import Message, Noise, SensorType, channels, sensor
from sim_node.simulation.sensors.parameters import group, parameter


@sensor("temperature")
@dataclass(frozen=True)
class Thermometer(SensorType):
    """Air that gets colder by 6.5 mK for each metre."""

    rate: float = parameter(10.0, "Hz", "measurements per second", above=0.0)
    latency: float = parameter(0.0, "s", "time from measurement to publication", low=0.0)
    ground: float = parameter(15.0, "degrees", "temperature at height 0", low=-90.0, high=60.0)
    noise: Noise = group(Noise(), "degrees", "temperature")

    channels = ("temperature",)

    def quantities(self):
        return ((self.noise, 1),)

    def messages(self, frame, fixed_frame):
        fields = {"temperature": channels(0), "variance": self.noise.variance(self.rate)}
        return (Message("temperature", "sensor_msgs/msg/Temperature", fields),)

    @classmethod
    def measure(cls, sensors, context):
        ground = np.array([each.ground for each in sensors])
        return lambda state: (ground - 0.0065 * state.pose[:, 2])[:, None]
'''
WORLD = """\
world: weather
time: {step: 0.1}
motions:
  - {frame: kite, keyframes: [{t: 0.0, position: [0, 0, 0]}, {t: 10.0, position: [0, 0, 1000]}]}
sensors:
  - {name: kite/thermometer, parent: kite, type: temperature, ground: 20.0, noise: {deviation: 0.0}}
"""

# Of a sensor's code and a world with one: the world's file.
Install = Callable[..., Path]


@pytest.fixture
def installed(tmp_path: Path) -> Install:
    """Returns what installs a package `thermo` with the code of a sensor, and a world with one."""

    def install(code: str = THERMOMETER, world: str = WORLD) -> Path:
        site = tmp_path / "site"
        info = site / "thermo-1.2.dist-info"
        info.mkdir(parents=True)
        (site / "thermo.py").write_text(code)
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: thermo\nVersion: 1.2\n")
        (info / "entry_points.txt").write_text("[sim_node.sensors]\nthermo = thermo\n")
        path = tmp_path / "weather.yaml"
        path.write_text(world)
        return path

    return install


class Done(NamedTuple):
    """What a command ended with, and what it wrote."""

    returncode: int
    stdout: str
    stderr: str


Run = Callable[..., Done]


@pytest.fixture
def sim_node(forked: Forks) -> Run:
    """Runs a command in the folder of a world, where the package beside it is installed."""

    def run(world: Path, *arguments: str) -> Done:
        code, errors = forked.run(world.parent, *arguments, site=world.parent / "site")
        return Done(code, (world.parent / "out").read_text(), errors)

    return run


def test_its_readings_are_in_a_bag(installed: Install, sim_node: Run) -> None:
    """Height is 100 m/s t: each second is 0.65 degrees colder, from 20."""
    world = installed()
    checked = sim_node(world, "check", "weather.yaml")
    assert (checked.returncode, checked.stderr) == (0, "")
    assert "1 sensor" in checked.stdout
    run = sim_node(world, "run", "weather.yaml", "--no-ros", "--duration", "2", "--speed", "max", "--record", "bag")
    assert run.returncode == 0, run.stderr
    types = get_typestore(Stores.ROS2_JAZZY)
    with Reader(world.parent / "bag") as bag:
        [connection] = [each for each in bag.connections if each.topic == "/kite/thermometer/temperature"]
        assert connection.msgtype == "sensor_msgs/msg/Temperature"
        found = [types.deserialize_cdr(data, connection.msgtype) for _, _, data in bag.messages([connection])]
    stamps = [each.header.stamp.sec + 1e-9 * each.header.stamp.nanosec for each in found]
    assert len(found) in (20, 21)
    assert [each.temperature for each in found] == pytest.approx([20.0 - 0.65 * stamp for stamp in stamps])
    assert {(each.header.frame_id, each.variance) for each in found} == {("kite/thermometer", 0.0)}


def test_a_message_of_its_own_package_is_recorded_with_its_definition(
    installed: Install, sim_node: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = THERMOMETER.replace('"sensor_msgs/msg/Temperature"', '"thermo_msgs/msg/Warmth"').replace(
        'ature": ch', '": ch'
    )
    code = code.replace('"temper": channels(0), "variance"', '"celsius": channels(0), "off"')
    world = installed(code)
    share = world.parent / "share" / "thermo_msgs" / "msg"
    share.mkdir(parents=True)
    (share / "Warmth.msg").write_text('uint8 COLD=0\nfloat32 celsius  # of the air\nfloat64 off 7.0\nstring by "me"\n')
    monkeypatch.setenv("AMENT_PREFIX_PATH", str(world.parent))
    run = sim_node(world, "run", "weather.yaml", "--no-ros", "--duration", "1", "--speed", "max", "--record", "bag")
    assert run.returncode == 0, run.stderr
    types = get_typestore(Stores.ROS2_JAZZY)
    with Reader(world.parent / "bag") as bag:
        [connection] = [each for each in bag.connections if each.msgtype == "thermo_msgs/msg/Warmth"]
        types.register(get_types_from_msg(connection.msgdef.data, connection.msgtype))
        found = [types.deserialize_cdr(data, connection.msgtype) for _, _, data in bag.messages([connection])]
    assert [each.celsius for each in found[:2]] == pytest.approx([20.0, 20.0 - 0.065])
    assert {(each.off, each.by) for each in found} == {(0.0, "me")}


def test_rviz_shows_it(installed: Install, sim_node: Run) -> None:
    done = sim_node(installed(), "rviz", "weather.yaml")
    assert (done.returncode, done.stderr) == (0, "")
    [sensors] = [
        each for each in yaml.safe_load(done.stdout)["Visualization Manager"]["Displays"] if each["Name"] == "Sensors"
    ]
    [display] = sensors["Displays"]
    assert display["Class"] == "rviz_default_plugins/Temperature"
    assert display["Topic"]["Value"] == "/kite/thermometer/temperature"


def test_rviz_says_where_it_has_no_display(installed: Install, sim_node: Run) -> None:
    code = THERMOMETER.replace('"sensor_msgs/msg/Temperature"', '"std_msgs/msg/Float64"').replace(
        '{"temperature": channels(0), "variance": self.noise.variance(self.rate)}', '{"data": channels(0)}'
    )
    done = sim_node(installed(code), "rviz", "weather.yaml")
    assert done.returncode == 0
    assert done.stderr == "sim_node: no display for std_msgs/msg/Float64 (kite/thermometer/temperature)\n"


def test_a_typo_in_its_parameters_is_an_error_at_its_place(installed: Install, sim_node: Run) -> None:
    done = sim_node(installed(world=WORLD.replace("ground:", "grund:")), "check", "weather.yaml")
    assert done.returncode == 2
    reported = "weather.yaml:6:63: sensors[0].grund: unknown key; did you mean ground?"
    assert done.stderr.startswith(reported)


def test_an_unknown_type_is_answered_with_its_name(installed: Install, sim_node: Run) -> None:
    done = sim_node(installed(world=WORLD.replace("type: temperature", "type: temprature")), "check", "weather.yaml")
    assert done.returncode == 2
    assert "did you mean temperature?" in done.stderr


@pytest.mark.parametrize(
    ("old", "new", "command", "reported"),
    [
        ("(ground - ", "(1 / len(state.pose[1:]) - ", "run", "ZeroDivisionError: division by zero ({}, in <lambda>)"),
        ("return ((self.noise, 1),)", "return self.nose", "run", "object has no attribute 'nose' ({}, in quantities)"),
        (
            "channels(0)",
            "channels(0, 2)",
            "check",
            "LayoutFault: sensor_msgs/msg/Temperature: channels do not fit a measurement of shape (1,)",
        ),
        ('"variance"', '"varance"', "check", "has no field 'varance'; did you mean variance?"),
        ("msg/Temperature", "msg/Temprature", "check", "Temprature; did you mean sensor_msgs/msg/Temperature?"),
        ("def messages", "def mesages", "check", "TypeError: Can't instantiate abstract class Thermometer"),
    ],
)
def test_its_mistakes_are_reported_as_its_own(
    installed: Install, sim_node: Run, old: str, new: str, command: str, reported: str
) -> None:
    """The package, its version, the sensor and the line; without a traceback; the run failed, not the user."""
    assert old in THERMOMETER
    code = THERMOMETER.replace(old, new)
    world = installed(code)
    place = f"{world.parent / 'site' / 'thermo.py'}:{code[: code.index(new)].count(chr(10)) + 1}"
    more = ("--no-ros", "--duration", "1", "--speed", "max") if command == "run" else ()
    done = sim_node(world, command, "weather.yaml", *more)
    assert done.returncode == 1
    assert "sim_node: plug-in thermo 1.2 (sim_node.sensors: thermo = thermo): sensor 'temperature': " in done.stderr
    assert reported.format(place) in done.stderr
    assert "Traceback" not in done.stderr
