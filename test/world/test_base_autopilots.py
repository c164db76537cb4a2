"""The `pilot` and `autopilot` of a base in world files, and every fault at its place."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from sim_node.simulation import Simulation
from sim_node.world import Autopilot, World, WorldError, lay_out, load, loads
from sim_node.world.autopilots import autopiloted, flown_by_builtin
from sim_node.world.bases import Base, BasePilot, BaseWaypoint
from sim_node.world.network import network_problems
from sim_node.world.writers.yaml import to_yaml

ORIGIN = "origin: {latitude: 47.4, longitude: 8.5, altitude: 488}\n"
PHYSICS = "physics: {integrator: implicitfast, timestep: 0.002}\ntime: {step: 0.004}\nground: plane\n"


def rover(keys: str, model: str = "rover") -> World:
    return loads(f"{ORIGIN}{PHYSICS}bases: [{{name: r, model: {model}, {keys}}}]\n")


def test_a_base_has_a_pilot_and_an_autopilot_which_commands_it() -> None:
    world = rover(
        "autopilot: {type: mavlink_builtin, like: ardupilot, instance: 3}, pilot: {wait: 2, speed: 1.5, after: return,"
        " waypoints: [[4, 0], {position: [4, 3], yaw_deg: 90, speed: 0.5, hold: 1, radius: 0.1}]}"
    )
    (base,) = world.of(Base)
    assert base.autopilot == Autopilot("mavlink_builtin", 3, like="ardupilot")
    there = BaseWaypoint(np.array((4.0, 3.0)), math.pi / 2, 0.5, 1.0, 0.1)
    assert base.pilot == BasePilot((BaseWaypoint(np.array((4.0, 0.0))), there), "return", 2.0, 1.5)
    # Topics would be a second way to command it.
    assert base.cmd_vel == "none"
    assert [vehicle.name for vehicle, _ in autopiloted(world)] == ["r"]
    assert flown_by_builtin(world) == {3: "r"}
    assert lay_out(world)
    assert loads(to_yaml(world)).of(Base) == (base,)


@pytest.mark.parametrize(
    ("autopilot", "model", "channels"),
    [
        ("ardupilot", "rover", ("left", "none", "right")),
        ("ardupilot", "ackermann", ("steering", "none", "throttle")),
        ("px4", "rover", ("right", "left")),
        ("px4", "mecanum", ("front_right", "front_left", "rear_right", "rear_left")),
    ],
)
def test_channels_are_those_of_the_autopilots_own_rovers(autopilot: str, model: str, channels: tuple[str, ...]) -> None:
    assert rover(f"autopilot: {{type: {autopilot}}}", model).of(Base)[0].channels == channels


def test_a_world_may_name_channels() -> None:
    world = rover("autopilot: {type: ardupilot, channels: [none, throttle, turn]}")
    assert world.of(Base)[0].channels == ("none", "throttle", "turn")
    assert loads(to_yaml(world)).of(Base) == world.of(Base)


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ("pilot: {}", "bases[0].pilot: a base has a pilot for its autopilot only"),
        ("pilot: {take_off: 3}, autopilot: {type: mavlink_builtin}", "pilot.take_off: unknown key (known: waypoints"),
        ("pilot: {after: land}, autopilot: {type: mavlink_builtin}", "allowed: hold, loop, return"),
        ("pilot: {waypoints: [[1, 2, 3]]}, autopilot: {type: mavlink_builtin}", "a list of 2 numbers is needed"),
        (
            "pilot: {speed: 3}, autopilot: {type: mavlink_builtin}",
            "pilot.speed: 3 m/s is more than limits.linear, 2 m/s",
        ),
        (
            "pilot: {waypoints: [{position: [1, 2], speed: 9}]}, autopilot: {type: mavlink_builtin}",
            "pilot.waypoints[0].speed: 9 m/s is more than limits.linear",
        ),
        ("pilot: {}, autopilot: {type: px4}", "autopilot: the vehicle also has a pilot"),
        ("cmd_vel: twist, autopilot: {type: px4}", "cmd_vel: found 'twist', but its autopilot commands it"),
        ("limits: {linear: 1}, autopilot: {type: px4}", "limits.angular: is missing"),
        ("autopilot: {type: ardupilot, channels: [left, rigth]}", "'rigth'; allowed: left, right, throttle, lateral"),
        ("autopilot: {type: ardupilot, channels: [left, turn]}", "wheels are commanded all together"),
        ("autopilot: {type: ardupilot, channels: [throttle, throttle]}", "a second channel commands 'throttle'"),
        ("autopilot: {type: ardupilot, channels: [steering, throttle]}", "found 'steering'; allowed: left"),
        ("autopilot: {type: mavlink_builtin, channels: [throttle]}", "those of mavlink_builtin cannot be changed"),
        (
            "autopilot: {type: px4}, sensors: [IMU, GPS]",
            "px4 needs sensors fixed to 'r/base_link': magnetometer",
        ),
        ("autopilot: {type: px4, links: ['udpout:1']}", "px4 has no links"),
    ],
)
def test_faults_are_at_their_keys(keys: str, message: str) -> None:
    with pytest.raises(WorldError) as refused:
        Simulation(rover(keys))
    assert message in str(refused.value)
    assert "bases[0]" in str(refused.value)


def test_a_kind_without_usual_channels_needs_them() -> None:
    with pytest.raises(WorldError, match=r"ardupilot has no usual channels .* mecanum; name .*front_left"):
        lay_out(rover("autopilot: {type: ardupilot}", "mecanum"))


def test_a_vehicle_and_a_base_do_not_share_ports(write: Callable[..., Path]) -> None:
    text = (
        f"{ORIGIN}{PHYSICS}vehicles: [{{name: d, model: iris, autopilot: {{type: px4}}}}]\n"
        "bases: [{name: r, model: rover, autopilot: {type: mavlink_builtin, instance: 0}}]\n"
    )
    with pytest.raises(WorldError, match=r"yaml:\d+:\d+: bases\[0\]\.autopilot\.instance: px4 0 already flies 'd'"):
        lay_out(load(write(text)))


def test_links_of_bases_stay_on_this_machine() -> None:
    world = rover("autopilot: {type: mavlink_builtin, links: ['udpout:10.0.0.1:14550']}")
    (problem,) = network_problems(world)
    assert "bases[0].autopilot.links" in str(problem)


def test_a_rotor_vehicle_has_no_channels_of_px4() -> None:
    world = loads(f"{ORIGIN}vehicles: [{{name: d, model: iris, autopilot: {{type: px4, channels: [none]}}}}]\n")
    with pytest.raises(WorldError, match="px4 commands the rotors in their order, and nothing else; allowed with ard"):
        lay_out(world)


def test_a_base_is_written_without_what_it_has_not() -> None:
    world = rover("sensors: false")
    text = to_yaml(world)
    assert "pilot" not in text
    assert replace(world.of(Base)[0], autopilot=None) == world.of(Base)[0]
