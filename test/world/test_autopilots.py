"""The `autopilot` of a vehicle in world files, and every fault at its place."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from sim_node.autopilots.lockstep import AUTOPILOTS
from sim_node.mavlink.links import endpoint_of
from sim_node.mavlink.links.tcp import Tcp
from sim_node.mavlink.links.udp import UdpEndpoint
from sim_node.world import Autopilot, World, WorldError, lay_out, load
from sim_node.world.autopilots import link_fault
from sim_node.world.vehicles import AUTOPILOT_TYPES

ORIGIN = "origin: {latitude: 47.4, longitude: 8.5, altitude: 488}\n"


def vehicles(write: Callable[..., Path], *entries: str) -> World:
    return load(write(ORIGIN + "vehicles:\n" + "".join(f"  - {entry}\n" for entry in entries)))


def test_vehicles_with_autopilots(write: Callable[..., Path]) -> None:
    world = vehicles(
        write,
        "{name: a, model: iris, autopilot: {type: px4}}",
        "{name: b, model: iris, autopilot: {type: px4, instance: 1}}",
        "{name: c, model: iris, autopilot: {type: ardupilot}, sensors: false}",
        "{name: d, model: iris, autopilot: none}",
        "{name: e, model: iris, autopilot: {type: mavlink_builtin, instance: 2, start: false}, pilot: {}}",
    )
    flown = [vehicle.autopilot for vehicle in world.vehicles]
    assert flown[:4] == [Autopilot("px4"), Autopilot("px4", 1), Autopilot("ardupilot"), None]
    assert flown[4] == Autopilot("mavlink_builtin", 2, start=False)


def test_what_worlds_may_name_is_what_there_is() -> None:
    assert set(AUTOPILOT_TYPES) == set(AUTOPILOTS)


def test_links_are_on_this_machine_unless_a_host_is_named(write: Callable[..., Path]) -> None:
    """What a world may say, the links themselves take."""
    urls = ("udpout:14550", "udpout:127.0.0.1:14551", "udpin://localhost:14552", "tcp:ground-station.local:5760")
    listed = ", ".join(map(repr, urls))
    world = vehicles(write, f"{{name: v, model: iris, autopilot: {{type: mavlink_builtin, links: [{listed}]}}}}")
    assert world.vehicles[0].autopilot is not None
    assert world.vehicles[0].autopilot.links == urls
    lay_out(world)
    links = [endpoint_of(url) for url in urls]
    assert [link.address for link in links if isinstance(link, (UdpEndpoint, Tcp))] == [
        ("127.0.0.1", 14550),
        ("127.0.0.1", 14551),
        ("localhost", 14552),
        ("ground-station.local", 5760),
    ]


def test_a_signing_key_is_in_the_folder_of_the_world(write: Callable[..., Path], tmp_path: Path) -> None:
    """The file itself is left to the run: a world is checked and shown where its key is not."""
    entry = "{{name: v, model: iris, autopilot: {{type: mavlink_builtin, signing_key: {}}}}}"
    autopilot = vehicles(write, entry.format("keys/flight.key")).vehicles[0].autopilot
    assert autopilot is not None
    assert autopilot.signing_key == tmp_path.resolve() / "keys" / "flight.key"
    for outside in ("../flight.key", "/etc/machine-id"):
        with pytest.raises(WorldError) as refused:
            vehicles(write, entry.format(outside))
        (line,) = refused.value.lines()
        assert f"3:76: vehicles[0].autopilot.signing_key: '{outside}' is outside the world's folder" in line
    with pytest.raises(WorldError, match="only mavlink_builtin takes a key"):
        vehicles(write, "{name: v, model: iris, autopilot: {type: px4, signing_key: flight.key}}")


@pytest.mark.parametrize("url", ["", "udpout", "udpout:", "14550", "udpout:host", "serial:/dev/ttyS0", "udpin:1:2:3"])
def test_what_is_no_link_is_a_fault(url: str) -> None:
    assert link_fault(url)


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        (
            ["{name: v, model: iris, autopilot: {type: px5}}"],
            "3:46: vehicles[0].autopilot.type: found 'px5'; "
            "allowed: ardupilot, mavlink_builtin, px4; did you mean px4?",
        ),
        (
            ["{name: v, model: iris, autopilot: {instance: 1}}"],
            "3:39: vehicles[0].autopilot: type is missing",
        ),
        (
            ["{name: v, model: iris, autopilot: {type: px4, instance: 1.5}}"],
            "3:61: vehicles[0].autopilot.instance: a whole number is needed, found 1.5",
        ),
        (
            ["{name: v, model: iris, autopilot: {type: px4}, pilot: {}}"],
            "3:5: vehicles[0].autopilot: the vehicle also has a pilot; give it one or the other",
        ),
        (
            ["{name: v, model: iris, autopilot: {type: px4}}", "{name: w, model: iris, autopilot: {type: px4}}"],
            "4:5: vehicles[1].autopilot.instance: px4 0 already flies 'v'",
        ),
        (
            [
                "{name: v, model: iris, autopilot: {type: px4}}",
                "{name: w, model: iris, autopilot: {type: mavlink_builtin}}",
            ],
            "4:5: vehicles[1].autopilot.instance: px4 0 already flies 'v'",
        ),
        (
            ["{name: v, model: iris, autopilot: {type: px4}, sensors: false}"],
            "3:5: vehicles[0].autopilot: px4 needs sensors fixed to 'v/base_link': "
            "imu, magnetometer, barometer, gps are missing",
        ),
        (
            ["{name: v, model: iris, autopilot: {type: mavlink_builtin, like: ardupilott}}"],
            "vehicles[0].autopilot.like: found 'ardupilott'; allowed: px4, ardupilot; did you mean ardupilot?",
        ),
        (
            ["{name: v, model: iris, autopilot: {type: px4, like: ardupilot}}"],
            "vehicles[0].autopilot.like: px4 is like itself; only mavlink_builtin can be like another",
        ),
        (
            ["{name: v, model: iris, autopilot: {type: px4, links: ['udpout:14550']}}"],
            "3:5: vehicles[0].autopilot.links: px4 has no links",
        ),
        (
            ["{name: v, model: iris, autopilot: {type: mavlink_builtin, links: ['udpot:14550']}}"],
            "3:5: vehicles[0].autopilot.links: 'udpot:14550': unknown kind 'udpot'; did you mean udpout? "
            "(known: tcp, udpin, udpout)",
        ),
        (
            ["{name: v, model: iris, autopilot: {type: mavlink_builtin, links: ['udpout:127.0.0.1:0']}}"],
            "3:5: vehicles[0].autopilot.links: 'udpout:127.0.0.1:0' is not a link; "
            "needs KIND:PORT or KIND:HOST:PORT with KIND tcp, udpin or udpout",
        ),
        (
            [
                "{name: v, model: iris, autopilot: {type: mavlink_builtin, links: ['udpin:14600']}}",
                "{name: w, model: iris, autopilot: {type: mavlink_builtin, instance: 1, links: [udpin:0.0.0.0:14600]}}",
            ],
            "4:5: vehicles[1].autopilot.links: 'v' already listens on port 14600",
        ),
    ],
)
def test_faults(write: Callable[..., Path], entries: Sequence[str], message: str) -> None:
    with pytest.raises(WorldError) as caught:
        lay_out(vehicles(write, *entries))
    assert str(caught.value).endswith(message), str(caught.value)
