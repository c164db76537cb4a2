"""World files mean this machine alone: links of autopilots and processes beyond loopback are refused until allowed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from sim_node.autopilots.vehicle_co_simulator import attach_autopilots
from sim_node.cli.main import main
from sim_node.simulation import Simulation
from sim_node.world import WorldError, load
from sim_node.world.network import is_local

FLOWN = """\
world: w
fixed_frame: map
origin: {latitude: 47, longitude: 8, altitude: 500}
time: {step: 0.004}
bodies:
  - {name: ground, geometry: [{plane: true}]}
vehicles:
  - name: drone
    model: iris
    pose: {position: [0, 0, 0.13]}
    autopilot: {type: mavlink_builtin, links: ["LINK"]}
"""
GROUND = """\
world: w
processes:
  ground: {command: [mavproxy.py, "--master=LINK"]}
"""
REMOTE = [
    "udpin:0.0.0.0:14600",
    "tcp:HOST:5760",
    "tcp:example.org:5760",
    "udpout:192.168.1.7:14550",
    "udpin://0.0.0.0:14600",
    "udpout:127.0.0.1.example.org:14550",
]
LOCAL = ["udpin:14600", "udpout:127.0.0.1:14550", "tcp:localhost:5760", "udpout:127.5.5.5:14550"]


@pytest.mark.parametrize("link", REMOTE)
@pytest.mark.parametrize(
    ("text", "key"), [(FLOWN, "vehicles[0].autopilot.links"), (GROUND, "processes.ground.command")]
)
def test_other_machines_are_refused(
    text: str, key: str, link: str, write: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(write(text.replace("LINK", link)))
    for words in (["check", path], ["run", path, "--no-ros", "--duration", "1"]):
        assert main(words) == 2
        said = capsys.readouterr().err
        assert f"{key}: " in said
        assert said.startswith("w.yaml:")
        assert link in said
        assert "--allow-network" in said
    assert main(["check", path, "--allow-network"]) == 0


@pytest.mark.parametrize("link", LOCAL)
@pytest.mark.parametrize("text", [FLOWN, GROUND])
def test_this_machine_needs_no_leave(text: str, link: str, write: Callable[..., Path]) -> None:
    assert main(["check", str(write(text.replace("LINK", link)))]) == 0


def test_a_program_is_refused_too(write: Callable[..., Path]) -> None:
    simulation = Simulation(load(write(FLOWN.replace("LINK", REMOTE[0]))))
    with pytest.raises(WorldError, match="leaves this machine"):
        attach_autopilots(simulation)


@pytest.mark.parametrize("word", ["tcp", "px4", "--model=JSON:10.0.0.1", "udpin", "tcp:5760", "udpin:[::1]:5"])
def test_what_is_no_address_elsewhere(word: str) -> None:
    assert is_local(word)


def test_what_a_variable_may_lead_to_is_not_known() -> None:
    assert not is_local("tcp:${HOST:-0.0.0.0}:5760")
