"""The bridge without ROS, with autopilots on real sockets."""

from __future__ import annotations

import itertools
import math
import os
import select
import socket
import sys
import threading
import time
import tty
from collections.abc import Callable
from functools import partial

import psutil
import pytest
from claims import free_port
from diagnostic_msgs.msg import DiagnosticStatus
from geometry_msgs.msg import PoseStamped
from peer import COPTER_MODES, PX4, CoSimulator, peer
from pymavlink.dialects.v20 import ardupilotmega as mavlink
from rclpy.serialization import deserialize_message
from recordings import EXCERPT
from running import Running, running
from waiting import PATIENCE, until

from sim_node.mavlink import commands, setpoints
from sim_node.mavlink.commands import Goto
from sim_node.mavlink.links import EndpointFault, endpoint_of
from sim_node.mavlink.links.endpoint import MAX_READS
from sim_node.mavlink.links.tcp import Tcp
from sim_node.mavlink.links.udp import UdpEndpoint, UdpOut
from sim_node.mavlink.mission import Upload, read_plan
from sim_node.mavlink.mission.plan import as_messages
from sim_node.mavlink.setpoints import SetpointLimits
from sim_node.mavlink.tlog import TlogPlayback, read_tlog
from sim_node.mavlink.vehicle import BridgeSettings, Vehicle

POSE = "local_position/pose"


def udpin() -> tuple[int, str]:
    port = free_port()
    return port, f"udpin:127.0.0.1:{port}"


def takeoffs(autopilot: CoSimulator) -> list[mavlink.MAVLink_message]:
    return [command for command in autopilot.of("COMMAND_LONG") if command.command == 22]


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("udpim:127.0.0.1:1", "unknown kind 'udpim'; did you mean udpin? (known: "),
        ("udpin:127.0.0.1:70000", "'70000' is no port"),
        ("tcp:host", "'host' is no port"),
        ("serial:", "needs serial:DEVICE"),
        ("14540", "unknown kind '14540'"),
    ],
)
def test_a_url_that_names_no_link_says_what_would(url: str, words: str) -> None:
    with pytest.raises(EndpointFault) as fault:
        endpoint_of(url)
    assert words in str(fault.value)


def test_a_port_alone_is_on_this_machine() -> None:
    heard, called = endpoint_of("udpin:14540"), endpoint_of("tcp://127.0.0.1:5760")
    assert isinstance(heard, UdpEndpoint)
    assert isinstance(called, Tcp)
    assert heard.address == ("127.0.0.1", 14540)
    assert called.address == ("127.0.0.1", 5760)


def test_a_vehicle_is_found_and_told_of() -> None:
    port, url = udpin()
    with running(url) as bridge, peer(port, system=7) as autopilot:
        autopilot.position = [3.0, 1.0, -2.0]
        bridge.wait_for(lambda: bridge.count(POSE, 7) > 20)
        pose = deserialize_message(bridge.messages[7, POSE][-1][1], PoseStamped).pose
        assert (pose.position.x, pose.position.y, pose.position.z) == (1.0, 3.0, 2.0)
        autopilot.wait_for(lambda: autopilot.of("HEARTBEAT"), what="our heartbeat")
        beat = autopilot.of("HEARTBEAT")[0]
        assert (beat.get_srcSystem(), beat.get_srcComponent(), beat.autopilot) == (255, 191, 8)


def test_a_mission_takes_ardupilot_off_from_the_ground() -> None:
    port, url = udpin()
    with running(url) as bridge, peer(port) as autopilot:
        refused = bridge.ask(lambda vehicle: commands.start_mission(vehicle.telemetry))
        assert refused == (False, "failed: ArduPilot starts a mission when it has one and is armed", 4)
        plan = read_plan("frame: enu\nitems: [{type: takeoff, height: 3}, {type: return}]", "m")
        home = bridge.wait_for(lambda: bridge.vehicle().telemetry.home)
        assert bridge.ask(lambda vehicle: Upload(as_messages(plan, home, 3))).ok
        assert bridge.ask(lambda vehicle: commands.arm(True)).ok
        assert bridge.ask(lambda vehicle: commands.start_mission(vehicle.telemetry)) == (True, "accepted", 0)
        autopilot.wait_for(lambda: autopilot.position[2] == pytest.approx(-3.0), what="takeoff")
        [*_, start] = [each for each in autopilot.of("COMMAND_LONG") if each.command == 300]
        assert (start.param1, start.param2) == (0.0, 0.0), "ArduPilot refuses a first or last item"


def test_px4_flies_a_mission_in_its_mode() -> None:
    """Its MISSION_START would arm, too."""
    port, url = udpin()
    with running(url) as bridge, peer(port, autopilot=PX4) as autopilot:
        assert bridge.ask(lambda vehicle: commands.start_mission(vehicle.telemetry)).ok
        assert not autopilot.armed
        assert autopilot.mode == 4 << 16 | 4 << 24


def test_a_long_reason_is_joined_from_its_chunks() -> None:
    """PX4's texts end in a tab."""
    port, url = udpin()
    reason = "Preflight Fail: the third magnetometer differs from the first one by more than it may\t"
    with running(url) as bridge, peer(port, autopilot=PX4) as autopilot:
        autopilot.refuse[400] = (1, reason)
        refused = bridge.ask(lambda vehicle: commands.arm(True))
        assert refused == (False, f"temporarily rejected: {reason.strip()}", 1)


def test_arming_modes_and_takeoff() -> None:
    port, url = udpin()
    with running(url) as bridge, peer(port) as autopilot:
        assert bridge.ask(lambda vehicle: commands.arm(True)) == (True, "accepted", 0)
        assert autopilot.armed
        assert bridge.ask(lambda vehicle: commands.set_mode("guided", vehicle.telemetry)).ok
        assert autopilot.mode == COPTER_MODES["GUIDED"]
        assert bridge.ask(lambda vehicle: commands.takeoff(10.0, 120.0, vehicle.telemetry)).ok
        assert takeoffs(autopilot)[-1].param7 == 10.0
        assert bridge.ask(lambda vehicle: commands.set_mode_for("land", vehicle.telemetry)).ok
        assert autopilot.mode == COPTER_MODES["LAND"]
        assert bridge.ask(lambda vehicle: commands.set_mode_for("return", vehicle.telemetry)).ok
        assert autopilot.mode == COPTER_MODES["RTL"]


def test_px4_is_spoken_to_in_its_own_modes() -> None:
    """px4_custom_mode.h: main << 16 | sub << 24, AUTO 4, RTL 5, LAND 6, OFFBOARD 6; takeoff above mean sea level."""
    port, url = udpin()
    with running(url) as bridge, peer(port, autopilot=PX4) as autopilot:
        bridge.wait_for(lambda: bridge.vehicle().telemetry.home)
        for what, custom in (("land", 4 << 16 | 6 << 24), ("return", 4 << 16 | 5 << 24), ("guided", 6 << 16)):
            assert bridge.ask(partial(lambda to, vehicle: commands.set_mode_for(to, vehicle.telemetry), what)).ok
            assert autopilot.mode == custom
        assert bridge.ask(lambda vehicle: commands.takeoff(10.0, 120.0, vehicle.telemetry)).ok
        command = takeoffs(autopilot)[-1]
        assert command.param7 == pytest.approx(498.0)
        assert math.isnan(command.param5)


def test_a_refusal_has_the_autopilots_own_words() -> None:
    port, url = udpin()
    with running(url) as bridge, peer(port) as autopilot:
        bridge.vehicle()
        autopilot.refuse[400] = (4, "PreArm: Compass not healthy")
        result = bridge.ask(lambda vehicle: commands.arm(True))
        assert result == (False, "failed: PreArm: Compass not healthy", 4)
        autopilot.refuse[400] = (2, "")
        assert bridge.ask(lambda vehicle: commands.arm(True)) == (False, "denied", 2)
        unknown = bridge.ask(lambda vehicle: commands.set_mode("GIUDED", vehicle.telemetry))
        assert unknown.text.startswith("no mode 'GIUDED'; did you mean GUIDED?")


def test_a_command_is_sent_again_until_it_is_answered() -> None:
    port, url = udpin()
    with running(url) as bridge, peer(port) as autopilot:
        bridge.vehicle()
        autopilot.drop_commands[400] = 2
        assert bridge.ask(lambda vehicle: commands.arm(True)).ok
        sent = [command.confirmation for command in autopilot.of("COMMAND_LONG") if command.command == 400]
        assert sent[:3] == [0, 1, 2]


def fly_to(target: tuple[float, float, float]) -> Callable[..., Goto]:
    def make(vehicle: Vehicle) -> Goto:
        telemetry = vehicle.telemetry
        setpoint = setpoints.goto("map", target, (0.0, 0.0, 0.0, 1.0), "map", SetpointLimits(), telemetry.home)
        vehicle.stream.set(setpoint, "goto")
        return Goto(setpoint, telemetry, 0.5)

    return make


def test_goto_counts_from_home_sets_the_mode_and_ends_there() -> None:
    port, url = udpin()
    with running(url) as bridge, peer(port) as autopilot:
        autopilot.speed = 20.0
        autopilot.home_ned = (2.0, 1.0, -0.5)
        bridge.wait_for(lambda: (home := bridge.vehicle().telemetry.home) and home.ned and home.ned[0] == 2.0)
        result = bridge.ask(fly_to((10.0, -4.0, 12.0)))
        assert result.ok, result
        assert result.text.startswith("reached")
        assert autopilot.mode == COPTER_MODES["GUIDED"]
        last = autopilot.of("SET_POSITION_TARGET_LOCAL_NED")[-1]
        assert (last.type_mask, last.coordinate_frame) == (2552, 1)
        assert (last.x, last.y, last.z) == (2.0 - 4.0, 1.0 + 10.0, -0.5 - 12.0)
        assert last.yaw == pytest.approx(math.pi / 2)
        autopilot.mode = COPTER_MODES["LOITER"]
        since = time.monotonic()
        autopilot.wait_for(lambda: len(autopilot.of("SET_POSITION_TARGET_LOCAL_NED", since)) > 10)


def test_a_goto_whose_mode_is_refused_or_left_says_so() -> None:
    port, url = udpin()
    with running(url) as bridge, peer(port) as autopilot:
        bridge.wait_for(lambda: bridge.vehicle().telemetry.home)
        autopilot.refuse[176] = (2, "mode change failed: requires position")
        refused = bridge.ask(fly_to((10.0, 0.0, 5.0)))
        assert refused == (False, "mode GUIDED: denied: mode change failed: requires position", None)
        autopilot.refuse.clear()
        autopilot.speed = 0.1
        autopilot.mode = COPTER_MODES["GUIDED"]
        make = fly_to((10.0, 0.0, 5.0))

        def leaving(vehicle: Vehicle) -> Goto:
            """Somebody takes over as soon as it flies there."""
            goto = make(vehicle)
            goto.report = lambda text: setattr(autopilot, "mode", COPTER_MODES["LOITER"])
            return goto

        left = bridge.ask(leaving)
        assert left == (False, "cancelled: the mode is LOITER, no longer GUIDED", None)


def test_setpoints_stream_at_their_rate_until_they_are_stopped() -> None:
    port, url = udpin()
    with running(url) as bridge, peer(port) as autopilot:
        vehicle = bridge.vehicle()
        velocity = setpoints.velocity("map", (1.0, 2.0, 3.0), 0.5, "map", "base_link", SetpointLimits())
        began = time.monotonic()
        bridge.bridge.post(lambda now_ns: vehicle.stream.set(velocity, "test"))
        autopilot.wait_for(lambda: len(autopilot.of("SET_POSITION_TARGET_LOCAL_NED")) > 40)
        times = [at for at, message in autopilot.received if message.get_type() == "SET_POSITION_TARGET_LOCAL_NED"]
        assert len(times) <= 20.0 * (times[-1] - began) + 1, "20 a second, and not more"
        message = autopilot.of("SET_POSITION_TARGET_LOCAL_NED")[-1]
        assert (message.vx, message.vy, message.vz, message.yaw_rate) == (2.0, 1.0, -3.0, -0.5)
        bridge.bridge.post(lambda now_ns: vehicle.stream.stop("test"))
        # Comes to the autopilot behind all that was on its way.
        assert bridge.ask(lambda vehicle: commands.arm(True)).ok
        count = len(autopilot.of("SET_POSITION_TARGET_LOCAL_NED"))
        time.sleep(0.3)
        assert len(autopilot.of("SET_POSITION_TARGET_LOCAL_NED")) == count


def test_several_vehicles_on_one_port() -> None:
    port, url = udpin()
    with running(url) as bridge, peer(port, system=1) as one, peer(port, system=2) as two, peer(port, system=3):
        one.position, two.position = [1.0, 0.0, 0.0], [2.0, 0.0, 0.0]
        for system in (1, 2, 3):
            bridge.wait_for(partial(lambda one: bridge.count(POSE, one) > 20, system))
        assert bridge.ask(lambda vehicle: commands.arm(True), system=2).ok
        assert (one.armed, two.armed) == (False, True)
        for system, north in ((1, 1.0), (2, 2.0)):
            pose = deserialize_message(bridge.messages[system, POSE][-1][1], PoseStamped).pose
            assert pose.position.y == north
        assert not bridge.complaints


def test_losses_are_counted_for_each_vehicle() -> None:
    """Of 260 numbers in a row, ten are sent, two of them behind others."""
    port, url = udpin()
    with running(url) as bridge, peer(port, system=1), peer(port, system=2) as lossy:
        vehicle = bridge.vehicle(2)
        lossy._stopping = True
        lossy._thread.join()  # from here on, only what the test sends
        first = lossy.mav.seq

        def send(number: int) -> None:
            lossy.mav.seq = (first + number) & 0xFF
            lossy.send(lossy.mav.attitude_encode(lossy.boot_ms(), 0, 0, 0, 0, 0, 0))

        send(0)
        [numbers] = [each for (_, system, _), each in vehicle.route._sequences._senders.items() if system == 2]  # type: ignore[attr-defined]
        bridge.wait_for(lambda: numbers.number & 0xFF == first, "what was on its way")
        lost, received = vehicle.route.lost(2), vehicle.received
        for number in (1, 2, 5, 4, 6, 150, 250, 256 + 3, 255):
            send(number)
        bridge.wait_for(lambda: vehicle.received == received + 9)
        assert vehicle.route.lost(2) - lost == 260 - 10
        assert bridge.vehicle(1).route.lost(1) == 0


def test_datagrams_that_the_kernel_drops_are_counted_to_the_last_and_complained_of_once() -> None:
    """What was sent is what was read and what was dropped, also after the link was opened again."""
    port, url = udpin()
    made = Running(url)
    bridge, [link] = made.bridge, made.bridge.connections
    rubbish, sent = bytes(60_000), 0
    for _ in range(2):
        while link.state != "up":
            bridge.turn()
        before = link.dropped
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as flood:
            while link.dropped < before + 5:
                flood.sendto(rubbish, ("127.0.0.1", port))
                sent += 1
        deadline = time.monotonic() + PATIENCE
        while link.reception.junk // len(rubbish) + link.dropped < sent:
            assert time.monotonic() < deadline
            bridge.turn()
        assert link.reception.junk // len(rubbish) + link.dropped == sent
        link.went_down(OSError("pulled"), time.monotonic_ns())
    assert link.dropped == 10
    while not any("dropped" in each for each in made.complaints):
        assert time.monotonic() < deadline
        bridge.turn()
    for _ in range(3):
        bridge._heartbeat_ns = 0
        bridge._tick_ns = 0
        bridge.turn()
    [line] = [each for each in made.complaints if "dropped" in each]
    assert line.startswith((f"{url}: 5 datagrams were dropped", f"{url}: 10 datagrams were dropped"))
    bridge.stop()
    bridge.run()


def test_two_autopilots_with_one_system_id_are_told_apart_and_complained_of() -> None:
    port, url = udpin()
    with running(url) as bridge, peer(port) as first:
        first.position = [1.0, 0.0, 0.0]
        bridge.wait_for(lambda: bridge.count(POSE) > 5)
        with peer(port) as second:
            second.position = [9.0, 0.0, 0.0]
            bridge.wait_for(lambda: bridge.complaints)
            assert "two autopilots have system id 1" in bridge.complaints[0]
            assert "MAV_SYS_ID" in bridge.complaints[0]
            bridge.wait_for(lambda: bridge.count(POSE) > 60)
        norths = {deserialize_message(data, PoseStamped).pose.position.y for _, data in bridge.messages[1, POSE]}
        assert norths <= {0.0, 1.0}, "the second one's telemetry is not mixed in"


def test_an_autopilot_that_is_killed_and_started_again_is_taken_up() -> None:
    port, url = udpin()
    with running(url) as bridge:
        with peer(port) as first:
            first.boot_offset_ms = 600_000
            bridge.wait_for(lambda: bridge.count(POSE) > 20)
        bridge.wait_for(lambda: not bridge.vehicle().connected, what="the silence is noticed")
        silent = deserialize_message(bridge.messages[1, "state"][-1][1], DiagnosticStatus)
        assert (silent.level, silent.message) == (DiagnosticStatus.ERROR, "no heartbeat")
        count = bridge.count(POSE)
        with peer(port):
            bridge.wait_for(lambda: bridge.count(POSE) > count + 20)
            assert any("is now at" in news for news in bridge.news)
            assert any("rebooted" in news for news in bridge.news)
            assert bridge.ask(lambda vehicle: commands.arm(True)).ok
        assert not any("two autopilots" in complaint for complaint in bridge.complaints)


class TcpAutopilot:
    """Listens, and sends heartbeats to whoever connects, until it is told to hang up."""

    def __init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self.connections = 0
        self._held: socket.socket | None = None
        self._closing = False
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        sender = mavlink.MAVLink(None, 1, 1)
        while not self._closing:
            try:
                self._held, _ = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            try:
                while not self._closing:
                    self._held.sendall(sender.heartbeat_encode(2, 3, 1, 4, 4).pack(sender))
                    sender.seq = (sender.seq + 1) % 256
                    time.sleep(0.005)
            except OSError:
                continue

    def hang_up(self) -> None:
        assert self._held is not None
        self._held.shutdown(socket.SHUT_RDWR)
        self._held.close()

    def close(self) -> None:
        self._closing = True
        self._listener.close()


def test_a_link_that_is_cut_fifty_times_comes_back_each_time() -> None:
    autopilot = TcpAutopilot()
    try:
        with running(f"tcp:127.0.0.1:{autopilot.port}") as bridge:
            open_files = 0
            for cut in range(50):
                seen = bridge.count("state")
                bridge.wait_for(
                    partial(lambda before: bridge.count("state") > before + 2, seen), what=f"heartbeats after cut {cut}"
                )
                if cut == 5:
                    open_files = len(os.listdir("/proc/self/fd"))
                autopilot.hang_up()
                bridge.wait_for(
                    partial(lambda number: autopilot.connections > number + 1, cut), what=f"connection {cut + 2}"
                )
            assert len(os.listdir("/proc/self/fd")) <= open_files + 2
            [connection] = bridge.bridge.connections
            assert connection.openings >= 51
            assert "hung up" in connection.why or "reset" in connection.why
    finally:
        autopilot.close()


def test_a_peer_that_is_not_there_yet_is_waited_for() -> None:
    port = free_port(socket.SOCK_STREAM)
    with running(f"tcp:127.0.0.1:{port}") as bridge:
        bridge.wait_for(lambda: bridge.complaints)
        assert "refused" in bridge.complaints[0]
        with socket.create_server(("127.0.0.1", port)) as listening:
            listening.settimeout(PATIENCE)
            accepted, _ = listening.accept()
            sender = mavlink.MAVLink(None, 4, 1)
            accepted.sendall(2 * sender.heartbeat_encode(2, 3, 1, 4, 4).pack(sender))
            bridge.vehicle(4)
            accepted.settimeout(PATIENCE)
            assert accepted.recv(300)[0] == 0xFD, "our heartbeat"
            accepted.close()


def test_a_link_that_stays_down_is_reported_by_its_tries() -> None:
    """After pauses of 0.1 s, twice that, and so on up to 5 s: the eighth try, at 11.3 s, is the first after ten."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as taken:
        taken.bind(("127.0.0.1", 0))
        run = Running(f"udpin:127.0.0.1:{taken.getsockname()[1]}")
        for tick in range(1200):
            run.bridge._tick(tick * 10_000_000)
    assert len(run.complaints) == 2
    assert run.complaints[1].endswith("; retrying (6 more like this since the last one)")


def test_a_serial_line() -> None:
    """A pseudo-terminal is one."""
    ours, theirs = os.openpty()
    tty.setraw(ours)
    tty.setraw(theirs)
    try:
        with running(f"serial:{os.ttyname(theirs)}:115200") as bridge:
            bridge.wait_for(lambda: bridge.bridge.connections[0].state == "up")
            sender = mavlink.MAVLink(None, 9, 1)
            frame = sender.heartbeat_encode(2, 12, 1, 0, 4).pack(sender)
            os.write(ours, frame[:7])
            os.write(ours, frame[7:] + frame)
            bridge.vehicle(9)
            assert os.read(ours, 300)[0] == 0xFD
    finally:
        os.close(ours)
        os.close(theirs)


def test_udpout_speaks_first() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as autopilot:
        autopilot.bind(("127.0.0.1", 0))
        autopilot.settimeout(PATIENCE)
        with running(f"udpout:127.0.0.1:{autopilot.getsockname()[1]}") as bridge:
            data, address = autopilot.recvfrom(300)
            assert data[0] == 0xFD
            sender = mavlink.MAVLink(None, 3, 1)
            autopilot.sendto(2 * sender.heartbeat_encode(2, 12, 1, 0, 4).pack(sender), address)
            bridge.vehicle(3)
            assert address[0] == "127.0.0.1"


def test_udpout_to_loopback_listens_there_only() -> None:
    """A socket that the system binds on sending is on all interfaces."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as autopilot:
        autopilot.bind(("127.0.0.1", 0))
        for host in ("127.0.0.1", "localhost"):
            link = endpoint_of(f"udpout:{host}:{autopilot.getsockname()[1]}")
            link.open()
            try:
                bound = [each.laddr.ip for each in psutil.Process().net_connections("udp4") if each.fd == link.fileno()]
                assert bound == ["127.0.0.1"]
            finally:
                link.close()


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not tell a socket that nobody listens")
def test_udpout_knows_whether_anybody_listens() -> None:
    port = free_port()
    link = endpoint_of(f"udpout:127.0.0.1:{port}")
    assert isinstance(link, UdpOut)
    link.open()

    def is_unheard() -> bool:
        link.write(b"?", None)
        return link.unheard

    try:
        until(is_unheard)
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as autopilot:
            autopilot.bind(("127.0.0.1", port))
            autopilot.settimeout(PATIENCE)
            until(lambda: not is_unheard())
            assert autopilot.recv(9) == b"?"
        until(is_unheard)
        assert not select.select([link.fileno()], [], [], 0.0)[0], "nothing to read: no loop runs for it"
    finally:
        link.close()


def test_rubbish_in_between_harms_nobody() -> None:
    port, url = udpin()
    frames = [record.message.raw for record in read_tlog(EXCERPT)]
    with running(url) as bridge, peer(port, system=5), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as noise:
        bridge.wait_for(lambda: bridge.count(POSE, 5) > 5)
        for number, frame in enumerate(frames):
            broken = bytearray(frame)
            broken[number % len(broken)] ^= 0x5A
            noise.sendto(bytes(broken), ("127.0.0.1", port))
        count = bridge.count(POSE, 5)
        bridge.wait_for(lambda: bridge.count(POSE, 5) > count + 20)
        assert bridge.bridge.connections[0].reception.junk > 1000


def test_a_recording_plays_as_a_vehicle_and_takes_no_commands() -> None:
    made = Running()
    made.bridge.playback = TlogPlayback(EXCERPT, speed=0.0)
    made.start()
    made.wait_for(lambda: made.count(POSE) > 900)
    assert made.ask(lambda vehicle: commands.arm(True)) == (False, "a recording accepts no commands", None)
    made.join()
    assert made.bridge.playback.ended


def test_stamps_follow_a_simulated_clock_that_begins_late_and_is_set_back() -> None:
    port, url = udpin()
    shown = [0]
    bridge = Running(url)
    bridge.bridge._graph_ns = lambda: shown[0]
    bridge.start()
    try:
        with peer(port):
            bridge.wait_for(lambda: bridge.count(POSE) > 20)
            assert stamp(bridge) == 0.0, "no /clock yet"
            shown[0] = 50_000_000_000
            count = bridge.count(POSE)
            bridge.wait_for(lambda: bridge.count(POSE) > count + 20)
            assert 40.0 < stamp(bridge) <= 50.0
            shown[0] = 10_000_000_000
            bridge.wait_for(lambda: any("went back" in news for news in bridge.news))
            count = bridge.count(POSE)
            bridge.wait_for(lambda: bridge.count(POSE) > count + 20)
            assert 0.0 < stamp(bridge) <= 10.0
    finally:
        bridge.stop()


def test_two_clocks_in_turns_are_told_of_once() -> None:
    """As where two simulations publish /clock in one domain."""
    _, url = udpin()
    bridge = Running(url)
    times, turns = itertools.cycle([50_000_000_000, 10_000_000_000]), itertools.count()

    def next_time() -> int:
        next(turns)
        return next(times)

    bridge.bridge._graph_ns = next_time
    bridge.start()
    try:
        bridge.wait_for(lambda: next(turns) > 100)
    finally:
        bridge.stop()
    assert len([news for news in bridge.news if "went back" in news]) == 1


def stamp(bridge: Running) -> float:
    header = deserialize_message(bridge.messages[1, POSE][-1][1], PoseStamped).header
    return float(header.stamp.sec + header.stamp.nanosec * 1e-9)


def test_the_clock_follows_timesync() -> None:
    port, url = udpin()
    with running(url) as bridge, peer(port) as autopilot:
        vehicle = bridge.vehicle()
        bridge.wait_for(lambda: vehicle.telemetry.clock.synchronised, what="ten round trips")
        offset = time.time_ns() - autopilot.boot_ms() * 1_000_000
        # As near as the quickest of ten round trips on a busy machine; how near it comes is test_timesync.py's.
        assert vehicle.telemetry.clock.offset_ns == pytest.approx(offset, abs=500_000_000)


def heartbeat(system: int) -> bytes:
    sender = mavlink.MAVLink(None, system, 1)
    return bytes(sender.heartbeat_encode(2, mavlink.MAV_AUTOPILOT_PX4, 0, 0, 4).pack(sender))


def test_made_up_system_ids_cost_nothing_until_they_repeat_and_little_after() -> None:
    port, url = udpin()
    with (
        running(url, settings=BridgeSettings(max_vehicles=3)) as bridge,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as attacker,
        peer(port, system=254) as last,
    ):
        bridge.vehicle(254)
        for system in range(1, 253):
            attacker.sendto(heartbeat(system), ("127.0.0.1", port))
        bridge.wait_for(lambda: len(bridge.bridge._discovery._senders) == 253, "all heartbeats")
        assert set(bridge.bridge.vehicles) == {254}
        for system in range(1, 253):
            attacker.sendto(heartbeat(system), ("127.0.0.1", port))
        bridge.wait_for(lambda: bridge.complaints, "a complaint")
        assert "system 3 at" in bridge.complaints[0]
        assert "3 vehicles are the limit (parameter max_vehicles)" in bridge.complaints[0]
        sent = last.sent
        last.wait_for(lambda: last.sent > sent + 10, what="the vehicle that is there goes on")
        bridge.wait_for(lambda: len(bridge.bridge.vehicles) == 3)
        assert set(bridge.bridge.vehicles) == {254, 1, 2}


def test_a_bridge_ends_between_two_packets_of_a_flood() -> None:
    """As many packets as one turn reads wait; only the one at which it is told to end is looked at to its end."""
    port, url = udpin()
    made = Running(url)
    bridge = made.bridge
    bridge.turn()
    bridge.turn()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as attacker:
        for _ in range(2 * MAX_READS):
            attacker.sendto(heartbeat(1) * 50, ("127.0.0.1", port))
        stopping = made.vehicle_found
        made.vehicle_found = lambda vehicle: (stopping(vehicle), bridge.stop())  # type: ignore[method-assign,assignment,func-returns-value]
        bridge.run()
    assert set(bridge.vehicles) == {1}
    assert bridge.connections[0].reception.messages <= 50


def test_peers_are_real() -> None:
    """What the other tests lean on: pymavlink's own parser reads what the bridge sends."""
    port, url = udpin()
    with running(url), peer(port) as autopilot:
        autopilot.wait_for(lambda: autopilot.of("TIMESYNC"))
        assert isinstance(autopilot, CoSimulator)
        assert not autopilot.of("BAD_DATA")
