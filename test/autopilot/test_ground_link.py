"""The ground station that a simulation is for a real autopilot: its link, at the built-in one that is like PX4."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from claims import free_instance

from sim_node.autopilots.ground_link import GroundLink
from sim_node.autopilots.installed import PX4, px4_geometry
from sim_node.autopilots.vehicle_co_simulator import attach_autopilots
from sim_node.extensions.scenario.testing import flown_by
from sim_node.mavlink.ports import FIRST_STATION_PORT
from sim_node.simulation import Simulation
from sim_node.world import WorldError, load

ARM = 400  # MAV_CMD_COMPONENT_ARM_DISARM


@contextmanager
def linked() -> Iterator[tuple[Simulation, GroundLink]]:
    """A run whose autopilot listens where PX4 does, and the link."""
    world, instance = load("guided"), free_instance()
    [vehicle] = world.vehicles
    assert vehicle.autopilot is not None
    links = (f"udpin:127.0.0.1:{FIRST_STATION_PORT + instance}",)
    autopilot = replace(vehicle.autopilot, instance=instance, any_instance=False, links=links)
    run = Simulation(replace(world, vehicles=(replace(vehicle, autopilot=autopilot, pilot=None),)))
    attach_autopilots(run)
    link = GroundLink(PX4, instance)
    try:
        run.step(1)
        assert link.open()
        yield run, link
    finally:
        link.close()
        run.close()


# Takes seconds: make test has a mission that is sent; what is refused is in test_builtin_missions.py.
@pytest.mark.nightly
def test_what_is_sent_has_been_read_when_the_run_goes_on() -> None:
    with linked() as (run, link):
        link.send("HEARTBEAT", {"type": 6, "autopilot": 8, "mavlink_version": 3})
        assert link.wait_until_read()
        arm = {"target_system": 0, "target_component": 1, "command": ARM, "param1": 1.0}
        link.send("COMMAND_LONG", arm)
        for _ in range(500):
            run.step(1)
            link.poll(run.time_ns)
            link.wait_until_read()
            if link.armed:
                break
        assert [each.fields.result for each in link.replies if each.name == "COMMAND_ACK"] == [0]
        assert link.armed


def test_a_mission_is_sent_as_it_is_asked_for() -> None:
    with linked() as (run, link):
        link.send("HEARTBEAT", {"type": 6, "autopilot": 8, "mavlink_version": 3})
        place = {"frame": 5, "autocontinue": 1, "x": 473977420, "y": 85455940, "z": 500.0}
        link.upload([{**place, "seq": seq, "command": command} for seq, command in enumerate((22, 16, 21))], 0)
        for _ in range(500):
            run.step(1)
            link.poll(run.time_ns)
            if link.uploaded is not None:
                break
        assert link.uploaded == (True, "3 items", None)


# Takes seconds: make test has a mission that is sent; what is refused is in test_builtin_missions.py.
@pytest.mark.nightly
def test_a_mission_that_is_refused_says_why() -> None:
    with linked() as (run, link):
        link.send("HEARTBEAT", {"type": 6, "autopilot": 8, "mavlink_version": 3})
        link.upload([{"frame": 5, "command": 1, "seq": 0, "x": 473977420, "y": 85455940, "z": 500.0}], 0)
        for _ in range(500):
            run.step(1)
            link.poll(run.time_ns)
            if link.uploaded is not None:
                break
        assert link.uploaded == (False, "unsupported", None)


def test_nobody_reads_what_is_sent_to_nobody() -> None:
    link = GroundLink(PX4, free_instance())
    assert link.open(), "udp needs nobody"
    link.send("HEARTBEAT", {"type": 6, "autopilot": 8, "mavlink_version": 3})
    assert not link.wait_until_read()
    link.close()


def test_the_rotors_of_an_airframe_that_px4_knows_are_told_as_it_has_them() -> None:
    """PX4's 6001_hexa_x: right, left, front left, rear right, front right, rear left, FRD; CCW is positive."""
    [vehicle] = load("config/scenarios/motor_out.yaml").vehicles
    told = {name.removeprefix("PX4_PARAM_"): float(value) for name, value in px4_geometry(vehicle).items()}
    known = [(0.0, 0.5, -1), (0.0, -0.5, 1), (0.43, -0.25, -1), (-0.43, 0.25, 1), (0.43, 0.25, 1), (-0.43, -0.25, -1)]
    assert told["CA_ROTOR_COUNT"] == 6
    for rotor, (forward, right, turning) in enumerate(known):
        found = told[f"CA_ROTOR{rotor}_PX"], told[f"CA_ROTOR{rotor}_PY"]
        assert [each * 0.5 / 0.215 for each in found] == pytest.approx([forward, right], abs=0.01)
        assert told[f"CA_ROTOR{rotor}_KM"] * turning > 0.0
        assert told[f"PWM_MAIN_FUNC{rotor + 1}"] == 101 + rotor


def test_the_iris_needs_nothing_but_its_airframe() -> None:
    [vehicle] = load("px4").vehicles
    assert px4_geometry(vehicle) == {}


def test_a_scenario_without_the_autopilot_on_this_machine_names_the_mend(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PX4_DIR", str(tmp_path))
    with pytest.raises(WorldError, match=r"autopilot: PX4_DIR is .*, without build/px4_sitl_default/bin/px4"):
        flown_by(load("config/scenarios/geofence.yaml"), PX4)
