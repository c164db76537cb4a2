"""Pictures between processes: what is chosen by the room in /dev/shm, and that they arrive."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from collections import namedtuple
from contextlib import suppress
from pathlib import Path
from xml.etree.ElementTree import parse

import pytest
from waiting import PATIENCE

from sim_node.ros import environment
from sim_node.world.locate import PACKAGE, share

PICTURES = 40
# Small pictures come until the first of them arrives: best effort loses what is sent before both sides know each other.
# Each large one is sent once, when the one before it has arrived: a hearer that is late loses none by it.
SENDER = f"""
import sys
from sim_node.ros.environment import prepare
prepare()
import rclpy
from rclpy.qos import qos_profile_sensor_data
from sensor_msgs.msg import Image
from std_msgs.msg import Int32
rclpy.init()
node = rclpy.create_node("sender")
publisher = node.create_publisher(Image, "/picture", qos_profile_sensor_data)
arrived = []
node.create_subscription(Int32, "/arrived", lambda message: arrived.append(message.data), 10)
while not (publisher.get_subscription_count() and node.count_publishers("/arrived")):
    rclpy.spin_once(node, timeout_sec=0.01)
while not arrived:
    publisher.publish(Image())
    rclpy.spin_once(node, timeout_sec=0.01)
picture = Image(height=480, width=640, step=1920, encoding="rgb8", data=bytes(921_600))
for number in range({PICTURES}):
    publisher.publish(picture)
    while number + 1 not in arrived:
        rclpy.spin_once(node)
sys.stdin.read()
"""
HEARER = f"""
from sim_node.ros.environment import prepare
prepare()
import rclpy
from rclpy.qos import qos_profile_sensor_data
from sensor_msgs.msg import Image
from std_msgs.msg import Int32
rclpy.init()
node = rclpy.create_node("hearer")
got = []
tell = node.create_publisher(Int32, "/arrived", 10)
def hear(picture):
    if len(picture) > 900_000:
        got.append(picture)
    tell.publish(Int32(data=len(got)))
node.create_subscription(Image, "/picture", hear, qos_profile_sensor_data, raw=True)
while not tell.get_subscription_count():
    rclpy.spin_once(node, timeout_sec=0.01)
while len(got) < {PICTURES}:
    rclpy.spin_once(node)
print("all")
"""
# Pictures one after the other until a line comes on standard input, whether or not they arrive.
FLOOD = """
import select, sys, time
from sim_node.ros.environment import prepare
prepare()
import rclpy
from rclpy.qos import qos_profile_sensor_data
from sensor_msgs.msg import Image
rclpy.init()
node = rclpy.create_node("sender")
publisher = node.create_publisher(Image, "/picture", qos_profile_sensor_data)
picture = Image(height=480, width=640, step=1920, encoding="rgb8", data=bytes(921_600))
# On a busy machine no large picture may arrive whole: a small one then shows the gap in the sequence numbers.
thumbnail = Image(height=1, width=1, step=3, encoding="rgb8", data=bytes(3))
while not select.select([sys.stdin], [], [], 0)[0]:
    for sent in (picture, picture, picture, thumbnail):
        publisher.publish(sent)
        time.sleep(0.03)
"""
# A /dev/shm as small as Docker's; what stands after it runs there.
SMALL = ["unshare", "--mount", "--ipc", "sh", "-c", 'mount -t tmpfs -o size=64m tmpfs /dev/shm && exec "$@"', "sh"]


def can_have_a_small_one() -> bool:
    if shutil.which("unshare") is None:
        return False
    return subprocess.run([*SMALL, "true"], capture_output=True, check=False).returncode == 0


@pytest.mark.parametrize(
    ("free", "file"), [(10 << 30, "_64mb"), (1 << 30, "_64mb"), (64 << 20, "_8mb"), (32 << 20, "_8mb"), (16 << 20, "")]
)
@pytest.mark.parametrize("profiles", ["fastdds", "fastdds_replay"])
def test_the_segment_goes_by_the_free_space(
    free: int, file: str, profiles: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: usage(free, 0, free))
    for name in environment.PROFILE_FILES:
        monkeypatch.setenv(name, "")
    monkeypatch.setenv("ROS_AUTOMATIC_DISCOVERY_RANGE", "SUBNET")
    environment.prepare(profiles)
    path = Path(os.environ["FASTRTPS_DEFAULT_PROFILES_FILE"])
    assert path.name == f"{profiles}{file}.xml"
    found = parse(path).getroot().findtext(".//{*}segment_size")
    assert found == (str(int(file[1:-2]) << 20) if file else None)


@pytest.mark.parametrize(
    ("variables", "is_local"),
    [
        ({"ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST"}, True),
        ({"AMENT_PREFIX_PATH": ""}, True),
        ({"ROS_AUTOMATIC_DISCOVERY_RANGE": "SUBNET"}, False),
        ({"AMENT_PREFIX_PATH": "/opt/ros/jazzy"}, False),
        ({"ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST", "ROS_STATIC_PEERS": "192.0.2.7"}, False),
        ({"ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST", "ROS_DISTRO": "humble"}, False),
    ],
)
@pytest.mark.parametrize("profiles", ["fastdds", "fastdds_replay"])
def test_udp_is_received_on_loopback_where_discovery_stays_on_this_machine(
    variables: dict[str, str], is_local: bool, profiles: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in (*environment.PROFILE_FILES, *environment._REACH_SET_BY_USERS, "ROS_DISTRO"):
        monkeypatch.setenv(name, "")
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    environment.prepare(profiles)
    path = Path(os.environ["FASTRTPS_DEFAULT_PROFILES_FILE"])
    assert path.name.startswith(f"{profiles}_") or path.name == f"{profiles}.xml"
    addresses = [each.text for each in parse(path).getroot().findall(".//{*}interfaceWhiteList/{*}address")]
    assert addresses == (["127.0.0.1"] if is_local else [])


def test_profiles_of_the_user_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FASTDDS_DEFAULT_PROFILES_FILE", "/mine.xml")
    monkeypatch.setenv("FASTRTPS_DEFAULT_PROFILES_FILE", "")
    environment.prepare()
    assert os.environ["FASTDDS_DEFAULT_PROFILES_FILE"] == "/mine.xml"
    assert not os.environ["FASTRTPS_DEFAULT_PROFILES_FILE"]


def test_profiles_differ_in_their_transports_alone() -> None:
    folder = share(PACKAGE)
    assert folder is not None
    for name in ("fastdds", "fastdds_replay"):
        texts = []
        for suffix in ("", "_8mb", "_64mb", "_local", "_8mb_local", "_64mb_local"):
            root = parse(folder / "config" / "dds" / f"{name}{suffix}.xml").getroot()
            for parent in list(root.iter()):
                for child in list(parent):
                    if child.tag.rpartition("}")[2] in (
                        "transport_descriptors",
                        "userTransports",
                        "useBuiltinTransports",
                    ):
                        parent.remove(child)
            texts.append([(each.tag, (each.text or "").strip()) for each in root.iter()])
        assert all(text == texts[0] for text in texts)


# Takes seconds: make test has segments that are left, and what is missed.
@pytest.mark.nightly
def test_pictures_arrive_in_a_small_shared_memory_without_complaints(ros_domain: int) -> None:
    if not can_have_a_small_one():
        pytest.skip("a small /dev/shm needs the right to mount one (unshare --mount)")
    variables = {name: value for name, value in os.environ.items() if name not in environment.PROFILE_FILES}
    pair = f"""
import subprocess, sys
hearer = subprocess.Popen([sys.executable, "-c", {HEARER!r}])
sender = subprocess.Popen([sys.executable, "-c", {SENDER!r}], stdin=subprocess.PIPE)
code = hearer.wait({PATIENCE})
sender.communicate()
sys.exit(code or sender.returncode)
"""
    with subprocess.Popen(
        [*SMALL, sys.executable, "-c", pair],
        env=variables,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as both:
        try:
            out, err = both.communicate(timeout=PATIENCE)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(both.pid, signal.SIGKILL)
    assert (both.returncode, out, err) == (0, "all\n", "")


def test_what_a_live_recording_misses_is_reported_by_topic(ros_domain: int, tmp_path: Path) -> None:
    """With the 0.5 MB that Fast DDS takes by itself, pictures are lost: that is what the profiles are for."""
    folder = share(PACKAGE)
    assert folder is not None
    profile = str(folder / "config" / "dds" / "fastdds.xml")
    variables = {**os.environ, **dict.fromkeys(environment.PROFILE_FILES, profile)}
    recording = subprocess.Popen(
        [sys.executable, "-m", "sim_node.cli.main", "record", str(tmp_path / "bag"), "--live", "/picture"],
        env=variables,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    sending = subprocess.Popen([sys.executable, "-c", FLOOD], env=variables, stdin=subprocess.PIPE)
    assert recording.stdout is not None
    lines = []
    for line in recording.stdout:
        lines.append(line)
        if "messages are being lost" in line:
            break
    recording.send_signal(signal.SIGINT)
    rest, _ = recording.communicate(timeout=PATIENCE)
    sending.communicate(b"\n")
    assert any("/picture: messages are being lost" in line for line in lines), "".join(lines) + rest
    missed = re.search(r"missed (\d+) messages? on /picture", rest)
    assert missed is not None, rest
    assert int(missed[1]) > 0
    assert recording.returncode == 0


NODE = """
from sim_node.ros.environment import prepare
prepare()
import rclpy
rclpy.init()
node = rclpy.create_node("node")
print("up", flush=True)
input()
"""


def segments() -> set[str]:
    return {path.name for path in environment.SHARED_MEMORY.glob("fastrtps_*_el") if "port" not in path.name}


@pytest.mark.skipif(not environment.SHARED_MEMORY.is_dir(), reason="needs /dev/shm")
def test_segments_of_killed_processes_are_removed_and_others_stay(ros_domain: int) -> None:
    """Fast DDS leaves 64 MB behind for each process that is killed."""
    started = []
    for _ in range(2):
        before = segments()
        process = subprocess.Popen([sys.executable, "-c", NODE], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert process.stdout is not None
        assert process.stdout.readline() == b"up\n"
        opened = {name for name in segments() - before if _is_held_by(process.pid, name)}
        if not opened:
            process.communicate(b"\n", timeout=PATIENCE)
            pytest.skip("the middleware here has no shared memory of its own")
        started.append((process, opened))
    (killed, lost), (alive, kept) = started
    killed.kill()
    killed.wait(PATIENCE)
    assert lost <= segments()
    for name in lost | kept:
        # As if it had been there for a minute: a lock file that is quite new may not be locked yet.
        path = environment.SHARED_MEMORY / name
        os.utime(path, (path.stat().st_atime, path.stat().st_mtime - 60.0))
    environment.remove_stale_segments()
    left = segments()
    alive.communicate(b"\n", timeout=PATIENCE)
    assert not lost & left
    assert kept <= left


def _is_held_by(pid: int, name: str) -> bool:
    target = str(environment.SHARED_MEMORY / name)
    return any(os.path.realpath(fd) == target for fd in Path(f"/proc/{pid}/fd").iterdir())


def test_a_folder_without_segments_is_left_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "fastrtps_0123_el").touch()
    (tmp_path / "other_0123456789abcdef_el").touch()
    assert environment.remove_stale_segments(tmp_path) == 0
    assert len(list(tmp_path.iterdir())) == 2
    assert environment.remove_stale_segments(tmp_path / "missing") == 0


def test_messages_of_dds_go_to_standard_error(tmp_path: Path) -> None:
    """What a command prints may be read by a program. No datagram fits into 10 bytes, so each is an error."""
    folder = share(PACKAGE)
    assert folder is not None
    profiles, udp = tmp_path / "profiles.xml", "<type>UDPv4</type>"
    text = (folder / "config" / "dds" / "fastdds_local.xml").read_text(encoding="utf-8")
    assert udp in text
    profiles.write_text(text.replace(udp, f"{udp}<maxMessageSize>10</maxMessageSize>"), encoding="utf-8")
    code = "import rclpy; rclpy.init(); rclpy.create_node('loud').destroy_node(); rclpy.shutdown(); print('done')"
    chosen = dict.fromkeys(environment.PROFILE_FILES, str(profiles))
    ran = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, **chosen}, capture_output=True, text=True, timeout=PATIENCE
    )
    assert ran.stdout == "done\n"
    assert "RTPS_WRITER" in ran.stderr
