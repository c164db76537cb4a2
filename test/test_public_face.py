"""What `import sim_node` gives, and what it costs."""

from __future__ import annotations

import ast
import subprocess
import sys

import pytest

import sim_node
from sim_node.spatial.frames import Frame, Orientation, Position, Velocity


def test_every_public_name_is_that_of_its_room() -> None:
    for name in vars(sim_node)["__all__"]:
        value = getattr(sim_node, name)
        assert value.__name__ == name
        assert value.__module__.startswith("sim_node.")


def test_importing_the_package_loads_none_of_its_rooms() -> None:
    code = "import sys, sim_node; print(sorted(m for m in sys.modules if m.startswith('sim_node') or m == 'numpy'))"
    assert ast.literal_eval(subprocess.check_output([sys.executable, "-c", code], text=True)) == [
        "sim_node",
        "sim_node.command_signals",
        "sim_node.lazy",
        "sim_node.moved",
    ]


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="Simulatoin"):
        sim_node.Simulatoin  # type: ignore[attr-defined]  # noqa: B018


BALL = """\
world: ball
physics: {gravity: [0, 0, -10], timestep: 0.001}
time: {step: 0.01}
bodies:
  - {name: ball, joint: free, geometry: [{sphere: 0.1, mass: 1.0}]}
"""


def test_a_world_in_a_text_runs_from_the_public_names_alone() -> None:
    """A ball falls g t^2 / 2 = 5 m in a second; the default integrator is exact for a parabola."""
    world = sim_node.loads(BALL)
    assert (world.source, world.files) == ("", ())
    simulation = sim_node.Simulation(world)
    simulation.run(1.0)
    row = simulation.frames.names.index("ball")
    assert abs(simulation.snapshot().poses[row, 2] + 5.0) < 1e-9


def test_a_simulation_takes_the_name_of_a_world() -> None:
    assert sim_node.Simulation("orbit").world.name == "orbit"
    with pytest.raises(sim_node.WorldError, match="int 3"):
        sim_node.Simulation(3)  # type: ignore[arg-type]


def test_errors_of_a_text_name_its_lines() -> None:
    with pytest.raises(sim_node.WorldError, match=r"<text>:2:\d+: .*fraems"):
        sim_node.loads("world: a\nfraems: []\n")


@pytest.mark.parametrize("wrong", [3, None, ["orbit"], b"orbit"])
def test_what_is_no_world_is_refused_with_what_it_is(wrong: object) -> None:
    for read in (sim_node.load, sim_node.loads):
        with pytest.raises(sim_node.WorldError, match=type(wrong).__name__):
            read(wrong)  # type: ignore[arg-type]


def test_convert_turns_tagged_values_from_ned_and_frd() -> None:
    """REP 103, REP 147: ENU is east, north, up; FLU is forward, left, up."""
    assert sim_node.convert(Position([1, 2, 3], Frame.NED), Frame.ENU).values.tolist() == [2.0, 1.0, -3.0]
    assert sim_node.convert(Velocity([1, 2, 3], Frame.FRD), Frame.FLU).values.tolist() == [1.0, -2.0, -3.0]
    level_north = Orientation([0, 0, 0, 1], (Frame.NED, Frame.FRD))
    turned = sim_node.convert(level_north, (Frame.ENU, Frame.FLU)).values
    half = 0.5**0.5  # a yaw of 90 degrees from east
    assert abs(abs(turned @ [0, 0, half, half]) - 1.0) < 1e-15


@pytest.mark.parametrize(
    ("value", "target", "reported"),
    [
        ([1, 2, 3], Frame.ENU, "list does not say its frame"),
        (Position([1, 2, 3], Frame.NED), "ENU", "'ENU'"),
        (Orientation([0, 0, 0, 1], (Frame.NED, Frame.FRD)), Frame.ENU, r"pair of frames \(world, body\)"),
    ],
)
def test_convert_refuses_what_it_cannot_know(value: object, target: object, reported: str) -> None:
    with pytest.raises(TypeError, match=reported):
        sim_node.convert(value, target)  # type: ignore[call-overload]
