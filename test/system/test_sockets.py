"""What listens where: the tables of SECURITY.md beside the sockets of each command, started as people start it."""

from __future__ import annotations

import re
import socket
import sys
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import psutil
import pytest
from claims import DDS_PORTS, FIRST_DDS_PORT, free_instance, free_port
from forked_programs import program
from nightly import only
from processes import Program, sim_node
from waiting import until

from sim_node.cli.commands import SHIPPED
from sim_node.ros.bridge_parameters import SPECS
from sim_node.session import Session

PAGE = (Path(__file__).parents[2] / "SECURITY.md").read_text(encoding="utf-8")
TLOG = Path(__file__).parents[1] / "data" / "ardupilot_flight.tlog"
# What DDS opens by itself: a node with the profile that ours have, and nothing else.
BARE = """
import signal, sys
from sim_node.ros.environment import prepare
prepare(sys.argv[1])
import rclpy
rclpy.init()
node = rclpy.create_node("bare")
print("there", flush=True)
signal.pause()
"""
TYPES = {"built-in autopilot": "mavlink_builtin", "PX4": "px4", "ArduPilot": "ardupilot"}
WORLD = """\
time: {{step: 0.004}}
origin: {{latitude: 47.397742, longitude: 8.545594, altitude: 488.0}}
physics: {{integrator: euler, timestep: 0.001}}
bodies: [{{name: ground, geometry: [{{plane: true}}]}}]
vehicles:
  - name: drone
    model: iris
    pose: {{position: [0, 0, 0.13]}}
    autopilot: {{type: {type}, instance: {instance}}}
"""
# Each command says this once it runs.
READY = {
    "run": "stop ",
    "run --no-ros": "without ROS",
    "view": "viewer: http",
    "view --foxglove": "foxglove: ",
    "bridge": "link",
    "autopilot": "simulator tcp",
    "replay": "stop ",
    "record": "recording to",
    "tree": "",
    "lookup": "",
    "pub": "publishing #1",
    "mcp": "token: ",
    "scene": "following",
}


OF_DOMAIN = "of the domain"
# Two for each participant: more than the programs of a test have.
DDS_PORTS_OF_A_TEST = 100


class Bound(NamedTuple):
    """A socket that takes what others send: TCP that listens, UDP that has a port. port: its number, or its kind."""

    protocol: str
    address: str
    port: int | str


def table(first: str) -> list[list[str]]:
    """The rows of the table whose first heading is this one."""
    found = re.search(rf"^\| {first} \|.*\n\|[-|]+\n((?:\|.*\n)+)", PAGE, re.MULTILINE)
    assert found
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in found[1].splitlines()]


COMMANDS = {(command.strip("`"), flown): sockets.split(", ") for command, flown, sockets in table("Command")}
SOCKETS = {name: (protocol, address, port) for name, protocol, address, port, *_ in table("Socket")}


# By profile. Kinds of ports are the same in every domain.
DDS: dict[str, Counter[Bound]] = {}


@dataclass
class Place:
    """Where a command runs: its folder, the instance of its autopilot, a port that is free, its DDS domain."""

    folder: Path
    instance: int
    port: int
    domain: int

    def words(self, command: str, flown: str) -> list[str]:
        """A row's command with this place's names in it. `bridge` alone is that of this instance instead of 0."""
        names = {"WORLD": self.world(flown), "BAG": str(self.folder / "bag"), "DIR": str(self.folder / "new")}
        names |= {"PORT": str(self.port), "FILE": str(TLOG), "TARGET": "map", "SOURCE": "drone"}
        words = [names.get(word) or word.replace("HOST:PORT", f"127.0.0.1:{self.port}") for word in command.split(" ")]
        if command == "bridge":
            words += ["--url", f"udpin:127.0.0.1:{14540 + self.instance}"]
        if command == "bridge --tlog FILE":
            words += ["--ros-args", "-p", "tlog_speed:=0.01"]
        if words[0] == "autopilot":
            words += ["--instance", str(self.instance)]
        if words[0] == "pub":
            words += ["-w", "0"]  # nobody subscribes
        if words[0] == "replay":
            words += ["--loop"]
        return words

    def world(self, flown: str) -> str:
        """One without vehicles, or one whose vehicle is flown so."""
        if not flown:
            return "orbit"
        path = self.folder / "flown.yaml"
        path.write_text(WORLD.format(type=TYPES[flown], instance=self.instance), encoding="utf-8")
        return str(path)

    def listed(self, name: str) -> Bound:
        """The socket of a row, with this place's numbers."""
        protocol, address, port = SOCKETS[name]
        address = address.replace("HOST", "127.0.0.1")
        if counted := re.fullmatch(r"(\d+) \+ (?:(\d+) )?N", port):
            return Bound(protocol, address, int(counted[1]) + int(counted[2] or 1) * self.instance)
        if port == "PORT":
            return Bound(protocol, address, self.port)
        return Bound(protocol, address, port)

    def kind(self, bound: Bound) -> Bound:
        """The same with a kind of port where the system or who comes first decides its number."""
        assert isinstance(bound.port, int)
        named = [self.listed(name) for name in SOCKETS if name != "DDS"]
        if bound in named:
            return bound
        first = FIRST_DDS_PORT + DDS_PORTS * self.domain
        for each in named:
            span = re.match(r"(\d+) to (\d+)", str(each.port))
            if span and int(span[1]) <= bound.port <= int(span[2]) and each[:2] == bound[:2]:
                return each
        # Not all ports of the domain: the last ones of domain 101 are among those that the system chooses.
        if bound.protocol == "UDP" and first <= bound.port < first + DDS_PORTS_OF_A_TEST:
            return Bound(*bound[:2], OF_DOMAIN)
        return bound if bound.protocol == "TCP" else Bound(*bound[:2], SOCKETS["udpout"][2])


@pytest.fixture
def place(tmp_path: Path, ros_domain: int) -> Place:
    return Place(tmp_path, free_instance(), free_port(), ros_domain)


def bound_by(running: Program) -> set[Bound]:
    """Of a program and all that it has started."""
    found = set()
    process = psutil.Process(running.process.pid)
    for each in [process, *process.children(recursive=True)]:
        with suppress(psutil.NoSuchProcess):
            for one in each.net_connections("inet"):
                if one.type == socket.SOCK_DGRAM:
                    found.add(Bound("UDP", one.laddr.ip, one.laddr.port))
                elif one.status == psutil.CONN_LISTEN:
                    found.add(Bound("TCP", one.laddr.ip, one.laddr.port))
    return found


def kinds(running: Program, place: Place) -> Counter[Bound]:
    return Counter(place.kind(bound) for bound in bound_by(running))


def dds(place: Place, profiles: str) -> Counter[Bound]:
    """What DDS opens here; the row of it is true."""
    if profiles not in DDS:
        with program([sys.executable, "-c", BARE, profiles]) as bare:
            bare.wait_for("there")
            DDS[profiles] = kinds(bare, place)
        protocol, address, port = SOCKETS["DDS"]
        assert port.startswith(f"{FIRST_DDS_PORT} + {DDS_PORTS} D and up")
        # Tests, too, keep to this machine.
        alone = address.partition(",")[0]
        assert {each for each in DDS[profiles] if each.port == OF_DOMAIN} == {Bound(protocol, alone, OF_DOMAIN)}
    return DDS[profiles]


@pytest.mark.parametrize(("command", "flown"), only(COMMANDS, *range(0, len(COMMANDS), 4)), ids=lambda words: words)
def test_a_command_opens_the_sockets_of_its_row_and_no_others(command: str, flown: str, place: Place) -> None:
    if "BAG" in command:
        with Session("orbit", record=place.folder / "bag", real_time_factor=0.0) as session:
            session.run(2.0)
    names = [name for name in COMMANDS[command, flown] if name != "none"]
    expected = Counter(place.listed(name) for name in names if name != "DDS")
    if "DDS" in names:
        expected += dds(place, "fastdds_replay" if command.startswith("replay") else "fastdds")
    with program(sim_node(*place.words(command, flown))) as running:
        word = "view --foxglove" if command.endswith("BAG --foxglove") else command.partition(" ")[0]
        running.wait_for(READY["run --no-ros" if "--no-ros" in command else word])
        try:
            until(lambda: not expected - kinds(running, place), "all sockets", 0.05)
        finally:
            found = kinds(running, place)
            assert found == expected, f"missing {expected - found}, further {found - expected}; {running.output}"


def test_every_command_is_on_the_page() -> None:
    alone = re.search(r"The other commands \((.*?)\) open none", PAGE, re.DOTALL)
    like_pub = re.search(r"((?:.+\n)*.*) open what\s`pub` opens", PAGE)
    assert alone
    assert like_pub
    with_sockets = {command.partition(" ")[0] for command, _ in COMMANDS} | set(re.findall(r"`(\w+)`", like_pub[1]))
    with_sockets |= set(re.findall(r"`(\w+)` opens those of", PAGE))
    without = set(re.findall(r"`(\w+)`", alone[1]))
    assert with_sockets | without == set(SHIPPED)
    assert not with_sockets & without
    assert {name for names in COMMANDS.values() for name in names} - {"none"} == SOCKETS.keys()


def test_a_bridge_listens_on_the_port_of_instance_0_unless_reported_otherwise() -> None:
    _, address, port = SOCKETS["bridge"]
    assert SPECS["urls"].default == [f"udpin:{address}:{port.removesuffix(' + N')}"]
