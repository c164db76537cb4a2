"""A plug-in that pip installed, used as people use it: whole programs, the real rclpy, sockets and pages."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import yaml
from forked import Forks
from forked_programs import program
from listening import listener
from nightly import only
from page import opened
from plugins import CONVEYOR, HALL, SITE, conveyor
from processes import sim_node
from pymavlink.dialects.v20 import ardupilotmega as mavlink
from rclpy.qos import DurabilityPolicy, QoSProfile, qos_profile_sensor_data
from rosbags.rosbag2 import Reader
from rosbags.typesys import Stores, get_typestore
from sensor_msgs.msg import Range
from tf2_msgs.msg import TFMessage

from sim_node.cli.commands import SHIPPED

GAUGE = "/infeed/gauge/distance"
IMPORTS = """
import math
from pathlib import Path
import numpy as np
from sim_node.simulation import Simulation
from sim_node.world import World, WorldError, lay_out, load
from sim_node.world.writers.yaml import to_yaml
"""


@pytest.fixture(autouse=True)
def _installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every program of these tests finds the plug-in."""
    conveyor()
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, (str(SITE), os.environ.get("PYTHONPATH")))))


@pytest.fixture
def hall(tmp_path: Path) -> Path:
    path = tmp_path / "hall.yaml"
    path.write_text(HALL)
    return path


FORKED: list[Forks] = []


@pytest.fixture(scope="module", autouse=True)
def _forked(forked: Forks) -> Iterator[None]:
    FORKED.append(forked)
    yield
    FORKED.clear()


def in_python(folder: Path, code: str) -> None:
    """Run Python in a process that finds the plug-in before any other module is looked for."""
    ended, errors = FORKED[0].python(folder, IMPORTS + textwrap.dedent(code), site=SITE)
    assert ended == 0, errors


def command(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run sim_node to its end in a folder, where the plug-in is installed."""
    code, errors = FORKED[0].run(folder, *words, site=SITE)
    return subprocess.CompletedProcess(words, code, (folder / "out").read_text(), errors)


def distance(seconds: float) -> float:
    """From the first pallet, at 0.5 m/s on a belt of 2 m, to the reflector at 5 m."""
    return 5.0 - (0.5 * seconds) % 2.0


def test_check_counts_its_frames_and_its_sensor(hall: Path) -> None:
    done = command(hall.parent, "check", hall.name)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "hall.yaml: valid, 8 frames, 5 moving, 1 sensor\n"


def test_its_part_is_read_written_and_included(hall: Path) -> None:
    site = hall.parent / "site.yaml"
    site.write_text("frames: [{name: dock}]\ninclude: [{file: hall.yaml, prefix: a, parent: dock}]")
    in_python(
        hall.parent,
        """
        world = load("hall.yaml")
        [belt] = world.belts
        assert (belt.length, belt.speed, belt.pallets) == (2.0, 0.5, 4)
        Path("again.yaml").write_text(to_yaml(world))
        assert load("again.yaml") == world
        assert {"a/infeed", "a/infeed/pallet_3", "a/infeed/gauge"} <= set(lay_out(load("site.yaml")).frames.names)
        """,
    )


def test_a_mistake_in_a_file_is_reported_at_its_place(hall: Path) -> None:
    hall.write_text(HALL.replace("speed: 0.5", "spede: 0.5").replace("length: 2.0", "length: -2"))
    done = command(hall.parent, "check", hall.name)
    assert done.returncode == 2
    assert "hall.yaml:5:" in done.stderr
    assert "belts[0].length: -2 is out of range; allowed: 0.001 to 1000" in done.stderr
    assert "belts[0].spede: unknown key; did you mean speed?" in done.stderr
    in_python(
        hall.parent,
        """
        from conveyor.belt import Belt
        try:
            lay_out(World("w", belts=[Belt("b", "map", [0, 0, 0, 0, 0, 0, 1], length=0.0)]))
        except WorldError as error:
            assert "belts[b].length: 0 m is out of range" in str(error)
        else:
            raise AssertionError
        """,
    )


def test_its_engine_moves_frames_and_its_force_a_body(hall: Path) -> None:
    """A body of mass m at rest that c (u - v) pushes: x = u (t - T (1 - exp(-t/T))), T = m/c."""
    in_python(
        hall.parent,
        """
        simulation = Simulation(load("hall.yaml"))
        for step in (1, 37, 162):
            simulation.step(step)
            seconds = simulation.time_ns / 1e9
            poses = dict(zip(simulation.frames.names, simulation.present().poses))
            assert abs(poses["infeed/pallet_0"][0] - (0.5 * seconds) % 2.0) < 1e-12
            lag = 2.0 / 8.0
            expected = 0.5 * (seconds - lag * (1.0 - math.exp(-seconds / lag)))
            assert abs(poses["parcel"][0] - expected) < 0.5 * 0.01
        saved, there = simulation.state, simulation.snapshot().poses
        simulation.step(50)
        simulation.restore(saved)
        assert np.array_equal(simulation.present().poses, there)
        """,
    )


def test_a_bag_has_its_messages(hall: Path) -> None:
    words = ("run", hall.name, "--no-ros", "--duration", "3", "--speed", "max", "--record", "bag")
    run = command(hall.parent, *words)
    assert run.returncode == 0, run.stderr
    info = command(hall.parent, "info", "bag")
    assert re.search(rf"{GAUGE}\s+sensor_msgs/msg/Range\s+61\s", info.stdout), info.stdout
    types = get_typestore(Stores.ROS2_JAZZY)
    with Reader(hall.parent / "bag") as bag:
        [connection] = [each for each in bag.connections if each.topic == GAUGE]
        found = [types.deserialize_cdr(data, connection.msgtype) for _, _, data in bag.messages([connection])]
    stamps = [each.header.stamp.sec + 1e-9 * each.header.stamp.nanosec for each in found]
    assert [each.range for each in found] == pytest.approx([distance(stamp) for stamp in stamps], abs=1e-6)


@pytest.mark.usefixtures("ros_domain")
def test_a_node_publishes_its_frames_and_its_readings(hall: Path) -> None:
    latched = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
    with listener() as ears, program(sim_node("run", hall)) as node:
        moved = ears.subscribe(TFMessage, "/tf", QoSProfile(depth=100))
        still = ears.subscribe(TFMessage, "/tf_static", latched)
        received = ears.subscribe(Range, GAUGE, qos_profile_sensor_data)
        ears.spin_until(lambda: len(received) > 5 and len(moved) > 5 and still, "readings and transforms")
        assert node.stop() == 0, node.output
    for _, message in received:
        stamp = message.header.stamp.sec + 1e-9 * message.header.stamp.nanosec
        assert message.header.frame_id == "infeed/gauge"
        assert message.range == pytest.approx(distance(stamp), abs=1e-6)
    pallets = {each.child_frame_id: each.header.frame_id for each in moved[-1][1].transforms}
    assert pallets.items() >= {f"infeed/pallet_{number}": "infeed" for number in range(4)}.items()
    assert "infeed" in {each.child_frame_id for each in still[0][1].transforms}


def test_rviz_shows_its_readings(hall: Path) -> None:
    done = command(hall.parent, "rviz", hall.name)
    assert (done.returncode, done.stderr) == (0, "")
    displays = yaml.safe_load(done.stdout)["Visualization Manager"]["Displays"]
    [sensors] = [each["Displays"] for each in displays if each["Name"] == "Sensors"]
    assert [(each["Class"], each["Topic"]["Value"]) for each in sensors] == [("rviz_default_plugins/Range", GAUGE)]


def test_the_viewer_draws_its_readings(hall: Path) -> None:
    """A line from the gauge along its x axis, as long as what it read."""
    with program(sim_node("view", hall, "--port", "0")) as viewer:
        viewer.wait_for("viewer: http://127.0.0.1:")
        found = re.search(r"http://127\.0\.0\.1:\d+", viewer.output)
        assert found
        with opened(found[0]) as page:
            page.until(lambda page: page.prop("/world/sensors/0/lines", "points") is not None)

            def reaches() -> bool:
                ends = np.reshape(np.frombuffer(page.prop("/world/sensors/0/lines", "points"), np.float32), (2, 3))
                return bool(np.allclose(ends[1], [5.0, 0.0, 0.8], atol=1e-4))

            page.until(lambda _: reaches())
        assert viewer.stop() == 0, viewer.output


def test_its_file_format_is_a_world(tmp_path: Path) -> None:
    path = tmp_path / "line.belts"
    path.write_text("name,x,y,z,yaw_deg,length,speed,pallets\ninfeed,1,2,0.8,90,2.0,0.5,4\n")
    in_python(
        tmp_path,
        """
        layout = lay_out(load("line.belts"))
        turned = layout.poses[layout.frames.index("infeed")]
        assert np.allclose(turned, [1.0, 2.0, 0.8, 0.0, 0.0, math.sqrt(0.5), math.sqrt(0.5)])
        """,
    )
    path.write_text(path.read_text() + "outfeed,0,0,0,0,long,0.5,4\n")
    done = command(tmp_path, "check", path.name)
    assert done.returncode == 2
    assert done.stderr.startswith("line.belts:3:1: could not convert string to float: 'long'")


@pytest.mark.usefixtures("ros_domain")
def test_the_bridge_speaks_through_its_link(tmp_path: Path) -> None:
    """Heartbeats both ways through a UNIX socket."""
    path = tmp_path / "autopilot.sock"
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(path))
        listening.listen()
        with program(sim_node("bridge", "--url", f"unix:{path}")) as bridge:
            autopilot, _ = listening.accept()
            with autopilot:
                mav = mavlink.MAVLink(None, 1, 1)
                heartbeat = mav.heartbeat_encode(mavlink.MAV_TYPE_QUADROTOR, mavlink.MAV_AUTOPILOT_PX4, 0, 0, 4)
                autopilot.sendall(heartbeat.pack(mav) + heartbeat.pack(mav))  # one alone may be spoofed
                bridge.wait_for("topics below vehicle1")
                ours = mavlink.MAVLink(None).parse_buffer(autopilot.recv(4096))
                assert ours[0].get_type() == "HEARTBEAT"
            assert bridge.stop() == 0, bridge.output


def test_its_command_runs_and_is_listed(hall: Path) -> None:
    done = command(hall.parent, "throughput", hall.name)
    assert (done.returncode, done.stdout, done.stderr) == (0, "infeed: 60 pallets/min\n", "")
    assert re.search(r"\n    throughput\s+Say how many pallets", command(hall.parent, "--help").stdout)
    assert "did you mean throughput?" in command(hall.parent, "throughpt").stderr
    assert "usage: sim_node throughput" in command(hall.parent, "throughput", "--help").stdout
    assert "unknown option --duraton" in command(hall.parent, "throughput", "x", "--duraton").stderr


# Runs a command, then tells the modules that were imported.
IMPORTED = """
import sys
from sim_node.cli.main import main
try:
    main(sys.argv[1:])
except SystemExit:
    pass
print(*sys.modules)
"""


# One that is not shipped: it is found among the others.
@pytest.mark.parametrize(
    ("words", "shipped"),
    only(
        [(["convert", "--help"], {"convert"}), (["sweep", "--help"], {"sweep"}), (["throughput", "hall.yaml"], set())],
        2,
    ),
)
def test_only_the_command_that_is_called_is_imported(hall: Path, words: list[str], shipped: set[str]) -> None:
    ran = [sys.executable, "-c", IMPORTED, *words]
    done = subprocess.run(ran, cwd=hall.parent, capture_output=True, text=True, check=True)
    modules = done.stdout.splitlines()[-1].split()
    assert {name for name, module in SHIPPED.items() if module in modules} == shipped


def test_doctor_lists_what_it_adds(tmp_path: Path) -> None:
    version = conveyor().version
    said = command(tmp_path, "doctor").stdout
    for adds in (
        "(sim_node.commands: throughput = conveyor.throughput): command throughput",
        "(sim_node.engines: belts = conveyor.engine): engine belts",
        "(sim_node.forces: belt_drive = conveyor.drive): force element belt_drive, type of force belt_drive",
        "(sim_node.links: unix = conveyor.unix_link): link unix",
        "(sim_node.parts: belts = conveyor.belt): kind of part belts, section belts",
        "(sim_node.readers: belts = conveyor.belts_file): reader .belts",
        "(sim_node.sensors: reflector = conveyor.reflector): sensor reflector",
    ):
        assert f"{CONVEYOR} {version} {adds}" in said
