"""Ports that somebody else has: another instance where that is free to choose, else one line and the end."""

from __future__ import annotations

import errno
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import pytest
from claims import free_instance, free_port
from running import Running

from sim_node.autopilots.vehicle_co_simulator import attach_autopilots
from sim_node.mavlink.instances import AutopilotInstances
from sim_node.mavlink.ports import PortInUse
from sim_node.session import Session
from sim_node.simulation import Simulation
from sim_node.world import World, load
from sim_node.world.autopilots import autopiloted
from sim_node.world.locate import DEFAULT_WORLD

UDP, TCP = socket.SOCK_DGRAM, socket.SOCK_STREAM


@contextmanager
def taken(kind: socket.SocketKind, port: int) -> Iterator[None]:
    with socket.socket(socket.AF_INET, kind) as held:
        if kind == TCP:
            held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # what is only in TIME_WAIT is free
        held.bind(("127.0.0.1", port))
        if kind == TCP:
            held.listen()
        yield


@contextmanager
def chosen_by(report: Callable[[str], object], *, bridged: bool) -> Iterator[Callable[[World], World]]:
    """How a run chooses its instances."""
    instances = AutopilotInstances(report, bridged=bridged)
    yield instances.choose
    instances.close()


@contextmanager
def taken_instance(world: World, kind: socket.SocketKind, first: int) -> Iterator[int]:
    """The instance that a world would get, with one of its ports in use."""
    with ExitStack() as held:
        while True:
            with chosen_by(lambda line: None, bridged=True) as choose:
                free = instance(choose(world))
            with suppress(OSError):  # another program was faster: a world that chooses no instance gets any
                held.enter_context(taken(kind, first + free))
                break
        yield free


def guided(tmp_path: Path, autopilot: str) -> World:
    """The default world, whose autopilot is told otherwise."""
    text = Path(load(DEFAULT_WORLD).source).read_text(encoding="utf-8")
    assert "{type: mavlink_builtin}" in text
    path = tmp_path / "flown.yaml"
    path.write_text(text.replace("{type: mavlink_builtin}", f"{{{autopilot}}}"), encoding="utf-8")
    return load(path)


def instance(world: World) -> int:
    ((_, autopilot),) = autopiloted(world)
    return autopilot.instance


@pytest.mark.parametrize(
    ("kind", "first", "bridged", "name"),
    [
        (TCP, 4560, False, DEFAULT_WORLD),
        (UDP, 14800, False, DEFAULT_WORLD),
        (UDP, 14540, True, DEFAULT_WORLD),
        (TCP, 4560, False, "rover"),
    ],
)
def test_an_instance_that_was_not_chosen_gives_way(
    kind: socket.SocketKind, first: int, bridged: bool, name: str
) -> None:
    """Ports by the instance as docs/autopilot.md has them; a bridge of this process listens on the ground's."""
    told: list[str] = []
    world = load(name)
    with taken_instance(world, kind, first) as free, chosen_by(told.append, bridged=bridged) as choose:
        found = instance(choose(world))
    assert found != free
    assert f"so it is instance {found}: system id {found + 1}" in told[-1]
    assert f"simulator tcp {4560 + found}, ground udp {14540 + found}" in told[-1]


# Takes seconds: make test has each instance and its port.
@pytest.mark.nightly
@pytest.mark.skipif(sys.platform != "linux", reason="instances are reserved by abstract sockets, which Linux has")
def test_runs_that_start_at_once_have_instances_of_their_own() -> None:
    """Each chooses before the others have opened their ports: here, and in another process."""
    one, two = Session(DEFAULT_WORLD), Session(DEFAULT_WORLD)
    another = "from sim_node.session import Session; print(Session('guided').world.vehicles[0].autopilot.instance)"
    found = [instance(one.world), instance(two.world)]
    out = subprocess.run([sys.executable, "-c", another], check=True, capture_output=True, text=True).stdout
    found.append(int(out.splitlines()[-1]))
    assert len(set(found)) == 3
    with one, two:
        for number in found[:2]:
            with pytest.raises(OSError, match="in use"), taken(TCP, 4560 + number):
                pass


@pytest.mark.skipif(sys.platform != "linux", reason="instances are reserved by abstract sockets, which Linux has")
def test_an_instance_is_reserved_until_its_run_is_closed_or_forgotten(tmp_path: Path) -> None:
    number = free_instance()
    world = guided(tmp_path, f"type: mavlink_builtin, instance: {number}")

    def is_reserved() -> bool:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as other:
            try:
                other.bind(f"\0sim_node/px4/{number}")
            except OSError as error:
                return error.errno == errno.EADDRINUSE
        return False

    with Session(world):
        assert is_reserved()
    assert not is_reserved()
    forgotten = Session(world)
    assert forgotten.world is not None
    assert is_reserved()
    del forgotten
    assert not is_reserved()


def test_an_instance_that_was_chosen_stays_and_is_told_of(tmp_path: Path) -> None:
    chosen = free_instance()
    world = guided(tmp_path, f"type: mavlink_builtin, instance: {chosen}")
    with taken(TCP, 4560 + chosen), chosen_by(pytest.fail, bridged=True) as choose:
        assert instance(choose(world)) == chosen
        with pytest.raises(
            PortInUse, match=rf"flown.yaml:\d+:\d+: .*{4560 + chosen}.*give the vehicle's `autopilot` another `inst"
        ):
            attach_autopilots(Simulation(world))


def test_px4s_port_is_told_of_too(tmp_path: Path) -> None:
    chosen = free_instance()
    path = tmp_path / "px4.yaml"
    text = Path(load("px4").source).read_text(encoding="utf-8")
    path.write_text(text.replace("instance: 0", f"instance: {chosen}"), encoding="utf-8")
    world = load(path)
    assert instance(world) == chosen
    with taken(TCP, 4560 + chosen), pytest.raises(PortInUse, match="the port is in use"):
        attach_autopilots(Simulation(world))


def test_a_world_keeps_that_its_instance_was_not_chosen(tmp_path: Path) -> None:
    (vehicle,) = load(DEFAULT_WORLD).vehicles
    assert vehicle.autopilot is not None
    assert vehicle.autopilot.any_instance
    by_hand = guided(tmp_path, "type: mavlink_builtin, start: false").vehicles[0].autopilot
    assert by_hand is not None
    assert not by_hand.any_instance


def test_a_second_bridge_on_a_port_ends_at_once() -> None:
    port = free_port()
    with taken(UDP, port), pytest.raises(PortInUse, match=rf"{port}: the port is in use.*--url"):
        Running(f"udpin:127.0.0.1:{port}").bridge.run()
