"""From assembly to motion: what MuJoCo moves is what the mates say."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nightly import only
from scipy.spatial.transform import Rotation

from sim_node.assembly import assemble, assembly_of
from sim_node.simulation import Simulation
from sim_node.simulation.physics.rigid_bodies import RigidBodyEngine
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.world import (
    ContactGeometry,
    Geometry,
    Mate,
    MateConnector,
    Physics,
    RigidBody,
    System,
    TimeGrid,
    World,
    lay_out,
    load,
)

MS = 1_000_000


def matrix(pose: FloatArray) -> FloatArray:
    m = np.eye(4)
    m[:3, :3], m[:3, 3] = Rotation.from_quat(pose[3:]).as_matrix(), pose[:3]
    return m


def connector_at(name: str, pose: FloatArray) -> MateConnector:
    turned = Rotation.from_quat(pose[3:])
    return MateConnector(name, pose[:3], turned.apply([0, 0, 1]), turned.apply([1, 0, 0]))


def block(name: str, *connectors: MateConnector, pose: Any = None, **more: Any) -> RigidBody:
    shape = ContactGeometry("block", Geometry("box", np.array([0.1, 0.2, 0.3]), 1.0))
    return RigidBody(name, pose, geometries=(shape,), connectors=connectors, **more)


def rooted(simulation: Simulation) -> FloatArray:
    snapshot = simulation.snapshot()
    return simulation.frames.in_root(snapshot.poses)


def between(simulation: Simulation, first: tuple[str, FloatArray], second: tuple[str, FloatArray]) -> FloatArray:
    """The second end (frame, pose in it) in the first, 4 x 4."""
    poses = rooted(simulation)
    a, b = (matrix(poses[simulation.frames.index(frame)]) @ matrix(end) for frame, end in (first, second))
    return np.linalg.inv(a) @ b


# ---------------------------------------------------------------------------------------- joints from mates

VALUES = {
    "lock": (),
    "hinge": (0.4,),
    "prismatic": (0.3,),
    "cylindrical": (0.3, 0.4),
    "planar": (0.2, -0.3, 0.4),
}


@st.composite
def ends(draw: st.DrawFn) -> FloatArray:
    numbers = draw(st.lists(st.floats(-1, 1), min_size=7, max_size=7))
    quaternion = np.array(numbers[3:]) + [0, 0, 0, 2.5]
    return np.array([*numbers[:3], *(quaternion / np.linalg.norm(quaternion))])


@settings(deadline=None, max_examples=30)
@given(
    st.lists(st.tuples(st.sampled_from([*VALUES, "ball"]), ends(), ends(), st.booleans()), min_size=1, max_size=5),
    ends(),
)
def test_bodies_start_where_they_are_assembled(
    links: Sequence[tuple[str, FloatArray, FloatArray, bool]], pose: FloatArray
) -> None:
    """A chain of blocks on any mates, either end first: the frames of the run are the assembly's."""
    connectors: list[list[MateConnector]] = [[] for _ in range(len(links) + 1)]
    mates = []
    for k, (kind, near, far, swap) in enumerate(links):
        connectors[k].append(connector_at("out", near))
        connectors[k + 1].append(connector_at("in", far))
        names = ("out" if k == 0 else f"b{k}/out", f"b{k + 1}/in")
        mates.append(Mate(f"m{k}", kind, names[::-1] if swap else names, VALUES.get(kind) or None))
    bodies = tuple(block(f"b{k}", *connectors[k]) for k in range(1, len(links) + 1))
    system = System("s", pose, bodies=bodies, connectors=tuple(connectors[0]), mates=tuple(mates))
    world = World("w", systems=(system,), physics=Physics(contact=False))
    layout = lay_out(assemble(world))
    assembly = assembly_of(world)
    found = layout.frames.in_root(layout.poses)
    for k in range(1, len(links) + 1):
        expected = assembly.in_roots[assembly.table.names.index(f"s/b{k}")]
        np.testing.assert_allclose(matrix(found[layout.frames.index(f"s/b{k}")]), matrix(expected), rtol=0, atol=1e-9)


@pytest.mark.parametrize("swap", [False, True], ids=["second carried", "first carried"])
@pytest.mark.parametrize(
    ("kind", "values", "speeds"),
    [
        ("hinge", (0.4,), (2.0,)),
        ("prismatic", (0.3,), (1.5,)),
        ("cylindrical", (0.3, 0.4), (1.5, 2.0)),
        ("planar", (0.2, -0.3, 0.4), (1.0, 0.5, 2.0)),
    ],
)
def test_a_mate_moves_at_its_speed_along_and_about_its_axes(
    kind: str, values: tuple[float, ...], speeds: tuple[float, ...], swap: bool
) -> None:
    """A ball whose centre is at the connector, without gravity: straight on and round, as the mate counts."""
    ball = ContactGeometry("ball", Geometry("sphere", np.array([0.1]), 1.0, np.array([0.3, 0.2, 0.1, 0, 0, 0, 1])))
    far = connector_at("c", np.array([0.3, 0.2, 0.1, *Rotation.from_euler("xyz", [0.5, 0.6, 0.7]).as_quat()]))
    near = np.array([1, 2, 3, *Rotation.from_euler("xyz", [-0.4, 0.3, 0.9]).as_quat()])
    names = ("w", "b/c")
    mate = Mate("m", kind, names[::-1] if swap else names, values, speeds=speeds)
    body = RigidBody("b", geometries=(ball,), connectors=(far,))
    system = System("s", bodies=(body,), connectors=(connector_at("w", near),), mates=(mate,))
    simulation = Simulation(
        World(
            "w",
            systems=(system,),
            physics=Physics(gravity=np.array([0, 0, 0]), timestep_ns=MS),
            time=TimeGrid(step_ns=MS),
        )
    )
    pair = (("map", near), ("s/b", far.pose))
    pair = pair[::-1] if swap else pair

    def positions() -> list[float]:
        seen = between(simulation, *pair)
        angle = np.arctan2(seen[1, 0], seen[0, 0])
        return {
            "hinge": [angle],
            "prismatic": [seen[2, 3]],
            "cylindrical": [seen[2, 3], angle],
            "planar": [seen[0, 3], seen[1, 3], angle],
        }[kind]

    np.testing.assert_allclose(positions(), values, atol=1e-12)
    simulation.step(1)
    # In 1 ms the straight motion of a turning ball, seen from the ball, bends by (w t)^2: 4e-6.
    np.testing.assert_allclose((np.array(positions()) - values) / 1e-3, speeds, atol=5e-3)


def test_a_prismatic_falls_freely_along_its_axis() -> None:
    """g sin(30 degrees) t^2 / 2 down an inclined rail."""
    slope = MateConnector("rail", np.array([0, 0, 0]), np.array([np.cos(np.pi / 6), 0, -0.5]), np.array([0, 1, 0]))
    body = block("b", MateConnector("c"))
    mate = Mate("m", "prismatic", ("rail", "b/c"))
    world = World("w", systems=(System("s", bodies=(body,), connectors=(slope,), mates=(mate,)),))
    simulation = Simulation(world)
    simulation.run(0.5)
    seen = between(simulation, ("s", slope.pose), ("s/b", np.array([0, 0, 0, 0, 0, 0, 1.0])))
    assert seen[2, 3] == pytest.approx(9.81 * 0.5 * 0.25 / 2, rel=1e-9)


# ------------------------------------------------------------------------------------------------- loops


def worst_gap(
    world: World,
    first: tuple[str, FloatArray],
    second: tuple[str, FloatArray],
    seconds: float,
    steps: int = 200,
    axis: bool = True,
) -> tuple[float, Simulation]:
    """The largest distance of two ends, and of their axes, over a run."""
    simulation = Simulation(world)
    step = round(seconds / steps * 1e9 / world.time.step_ns)
    gaps = []
    for _ in range(steps):
        simulation.step(step)
        seen = between(simulation, first, second)
        gaps.append(float(np.linalg.norm(seen[:3, 3])))
        gaps.append(float(np.linalg.norm(seen[:3, 2] - [0, 0, 1])) if axis else 0.0)
    return max(gaps), simulation


def test_the_four_bar_in_motion_keeps_its_loop_closed_to_a_micrometre() -> None:
    """The shipped linkage, turning at some two turns a second, over five seconds."""
    coupler = "linkage/coupler", np.array([0.3, 0, 0, 0, 0, 0, 1])
    rocker = "linkage/rocker", np.array([0.25, 0, 0, 0, 0, 0, 1])
    gap, simulation = worst_gap(load("four_bar"), coupler, rocker, 5.0)
    assert gap < 1e-6
    ended, began = simulation.engines["rigid_bodies"], Simulation(load("four_bar")).engines["rigid_bodies"]
    assert isinstance(ended, RigidBodyEngine)
    assert isinstance(began, RigidBodyEngine)
    assert ended.energy() == pytest.approx(began.energy(), rel=1e-4)


def integrated(world: World, integrator: str) -> World:
    return replace(world, physics=replace(world.physics, integrator=integrator))


@pytest.mark.parametrize("integrator", only(["implicitfast", "implicit", "euler"], 2))
def test_so_it_does_under_integrators_of_first_order(integrator: str) -> None:
    coupler = "linkage/coupler", np.array([0.3, 0, 0, 0, 0, 0, 1])
    rocker = "linkage/rocker", np.array([0.25, 0, 0, 0, 0, 0, 1])
    gap, _ = worst_gap(integrated(load("four_bar"), integrator), coupler, rocker, 1.0)
    assert gap < 1e-6


def test_a_loop_goes_on_from_a_state_to_the_byte() -> None:
    simulation = Simulation(integrated(load("four_bar"), "implicitfast"))
    simulation.run(0.2)
    state = simulation.state
    simulation.run(0.2)
    ended = simulation.snapshot().poses.tobytes()
    simulation.restore(state)
    simulation.run(0.2)
    assert simulation.snapshot().poses.tobytes() == ended


def pendulum_loop(kind: str, **more: Any) -> World:
    """Two blocks on hinges side by side, their far ends held together by a mate of some kind."""
    arms = [block(name, connector_at("top", np.array([0, 0, 0.5, *TURN])), connector_at("end", END)) for name in "lr"]
    tops = [connector_at(f"t{k}", np.array([x, 0, 0, *TURN])) for k, x in enumerate((0.0, 0.6))]
    mates = (
        Mate("left", "hinge", ("t0", "l/top"), (0.5,)),
        Mate("right", "hinge", ("t1", "r/top"), (0.5,)),
        Mate("held", kind, ("l/end", "r/end"), **more),
    )
    return World("w", systems=(System("s", bodies=tuple(arms), connectors=tuple(tops), mates=mates),))


TURN = Rotation.from_euler("x", -np.pi / 2).as_quat()  # z to y
END = np.array([0, 0, -0.5, *TURN])


@pytest.mark.parametrize("integrator", ["rk4", "implicitfast"])
def test_a_distance_is_kept_in_motion(integrator: str) -> None:
    """Two pendulums of one swing, 0.6 m apart, with a rod between: nothing to hold, and then a push apart."""
    world = pendulum_loop("distance", values=(0.6,))
    assert [loop.kind for loop in assemble(world).loop_closures] == ["distance"]
    simulation = Simulation(integrated(world, integrator))
    gaps = []
    for _ in range(100):
        simulation.step(2)
        seen = between(simulation, ("s/l", END), ("s/r", END))
        gaps.append(abs(np.linalg.norm(seen[:3, 3]) - 0.6))
    assert max(gaps) < 1e-6


def test_a_loop_within_one_rigid_part_is_none() -> None:
    """Two locks between the same two blocks: the second says nothing more."""
    first = block(
        "a", MateConnector("c"), MateConnector("d", np.array([0.1, 0, 0])), pose=np.array([0, 0, 1, 0, 0, 0, 1.0])
    )
    second = block("b", MateConnector("c"), MateConnector("d", np.array([0.1, 0, 0])))
    mates = (Mate("m", "lock", ("a/c", "b/c")), Mate("n", "lock", ("a/d", "b/d")))
    world = assemble(World("w", systems=(System("s", bodies=(first, second), mates=mates),)))
    assert world.loop_closures == ()
    assert {body.name: body.joint for body in world.bodies} == {"s/a": "free", "s/b": "frozen"}


def test_what_floats_falls_as_one() -> None:
    first = block("a", MateConnector("c"), pose=np.array([0, 0, 1, 0, 0, 0, 1.0]), speed=[1.0, 0, 0, 0, 0, 0])
    second = block("b", MateConnector("c", np.array([0.2, 0, 0])))
    system = System("s", bodies=(first, second), mates=(Mate("m", "lock", ("a/c", "b/c")),))
    simulation = Simulation(World("w", systems=(system,)))
    before = rooted(simulation)
    simulation.run(0.3)
    fallen = rooted(simulation) - before
    for name in ("s/a", "s/b"):
        row = fallen[simulation.frames.index(name)]
        np.testing.assert_allclose(row[:3], [0.3, 0, -9.81 * 0.09 / 2], atol=1e-9)


def test_mated_bodies_do_not_touch_and_others_do() -> None:
    world = assemble(load("four_bar"))
    assert set(world.contact_exclusions) == {
        ("linkage/crank", "linkage/coupler"),
        ("linkage/coupler", "linkage/rocker"),
    }


@pytest.mark.parametrize("kind", ["prismatic", "cylindrical", "planar"])
@pytest.mark.parametrize(("order", "integrator"), [((0, 1, 2), "rk4"), ((2, 1, 0), "rk4"), ((0, 1, 2), "implicitfast")])
def test_a_loop_of_slides_moves_as_a_wedge_does(kind: str, order: Sequence[int], integrator: str) -> None:
    """A block on a level rail and one on an upright rail, which slide along each other on a slope of angle s.

    With z = x tan(s) and masses m, M, Lagrange's equation is (m + M tan(s)^2) x'' = -M g tan(s).
    """
    slope, across = 0.6, np.array([0.0, 1.0, 0.0])
    along, normal = np.array([np.cos(slope), 0, -np.sin(slope)]), np.array([np.sin(slope), 0, np.cos(slope)])
    face = normal if kind == "planar" else along
    level, upright = np.array([1.0, 0, 0]), np.array([0, 0, 1.0])

    def wedge(name: str, mass: float, rail: FloatArray, height: float) -> RigidBody:
        shape = ContactGeometry("g", Geometry("box", np.array([0.2, 0.2, 0.2]), mass))
        ends = (MateConnector("rail", np.zeros(3), rail, across), MateConnector("face", upright * height, face, across))
        return RigidBody(name, geometries=(shape,), connectors=ends)

    mates = (
        Mate("x", "prismatic", ("level", "a/rail"), (0.1,)),
        Mate("z", "prismatic", ("upright", "b/rail")),
        Mate("on", kind, ("a/face", "b/face")),
    )
    rails = (
        MateConnector("level", np.zeros(3), level, across),
        MateConnector("upright", 0.2 * upright, upright, across),
    )
    blocks = (wedge("a", 2.0, level, 0.1), wedge("b", 3.0, upright, -0.1))
    system = System("s", bodies=blocks, connectors=rails, mates=tuple(mates[k] for k in order))
    physics = Physics(contact=False, integrator=integrator)
    with warnings.catch_warnings(record=True) as noted:
        warnings.simplefilter("always")
        simulation = Simulation(assemble(World("w", physics=physics, systems=(system,))))
    told = ["loops of sliding mates are integrated by euler instead of" in str(each.message) for each in noted]
    assert told == ([] if integrator == "rk4" else [True])
    simulation.run(0.3)
    poses = simulation.frames.in_root(simulation.snapshot().poses)
    x, z = poses[simulation.frames.index("s/a"), 0], poses[simulation.frames.index("s/b"), 2]
    acceleration = -3.0 * 9.81 * np.tan(slope) / (2.0 + 3.0 * np.tan(slope) ** 2)
    # An integrator of first order is late by half a timestep.
    late = 0.0 if integrator == "rk4" else 0.0005
    assert x == pytest.approx(0.1 + acceleration * 0.3 * (0.3 + 2.0 * late) / 2.0, abs=1e-6)
    assert z - 0.2 == pytest.approx(x * np.tan(slope), abs=1e-6)


def test_the_rig_of_sensors_rides_on_the_car() -> None:
    """Extrinsics by hand: the roof at 1.6 m, the foot of the beam 0.08 m below it, the camera beside and below."""
    world = assemble(load("sensor_rig"))
    poses = {sensor.name: sensor.pose for sensor in world.sensors}
    np.testing.assert_allclose(poses["car/LIDAR_TOP"], [0.3, 0, 1.7 + 0.25 + 0.05, 0, 0, 0, 1], atol=1e-12)
    np.testing.assert_allclose(poses["car/CAM_FRONT"], [0.3 + 0.04 + 0.02, 0, 1.68 + 0.03, 0, 0, 0, 1], atol=1e-12)
    yaw = {name: Rotation.from_quat(pose[3:]).as_euler("ZYX")[0] for name, pose in poses.items()}
    assert yaw["car/CAM_LEFT"] == pytest.approx(np.arctan2(2, 1), abs=1e-12)
    assert yaw["car/CAM_RIGHT"] == pytest.approx(-np.arctan2(2, 1) - 0.2, abs=1e-12)
    assert world.bodies == ()


def test_the_same_world_has_the_same_bytes() -> None:
    runs = []
    for _ in range(2):
        simulation = Simulation(replace(load("four_bar"), name="again"))
        simulation.run(1.0)
        runs.append(simulation.snapshot().poses.tobytes())
    assert runs[0] == runs[1]
