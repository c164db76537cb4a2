"""Closed loops, against what textbooks say of linkages."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from linkages import bar, four_bar, freudenstein, heading, snapped, wrapped
from nightly import only
from scipy.spatial.transform import Rotation

from sim_node.world import Mate, MateConnector, RigidBody, System

CLOSED = 1e-10


# Takes seconds: make test has loops that are met in both ways.
@pytest.mark.nightly
@given(st.floats(-np.pi, np.pi), st.permutations(range(4)))
def test_a_four_bar_obeys_freudensteins_equation(theta: float, order: Sequence[int]) -> None:
    """A Grashof crank-rocker, so that every crank angle can be had; in whatever order the mates are listed."""
    lengths = (1.0, 3.0, 2.5, 3.2)
    assembly = snapped(four_bar(*lengths, theta, order=order))
    assert assembly.conflicts == ()
    assert abs(wrapped(heading(assembly, "s/crank") - theta)) < 1e-12
    rocker = heading(assembly, "s/rocker")
    assert min(abs(wrapped(rocker - phi)) for phi in freudenstein(*lengths, theta)) < 1e-9
    assert assembly.degrees_of_freedom == 1


@pytest.mark.parametrize("theta", only(np.linspace(-3, 3, 7), 1, 5))
def test_near_chooses_between_the_two_ways_to_assemble(theta: float) -> None:
    lengths = (1.0, 3.0, 2.5, 3.2)
    for phi in freudenstein(*lengths, theta):
        tip = np.array([3.2 + 2.5 * np.cos(phi), 2.5 * np.sin(phi)]) - [np.cos(theta), np.sin(theta)]
        elbow = np.arctan2(tip[1], tip[0]) - theta
        assembly = snapped(four_bar(*lengths, theta, near=(elbow + 0.05, phi - 0.05)))
        assert abs(wrapped(heading(assembly, "s/rocker") - phi)) < 1e-9


def test_what_is_free_beyond_the_loop_stays_at_rest() -> None:
    """Nothing is given: of the four-bar's one degree of freedom the first mate's is held, the others follow."""
    assembly = snapped(four_bar(1.0, 3.0, 2.5, 3.2, None))
    assert [str(step) for step in assembly.steps if step.kind == "held"] == ["s/drive: held at 0"]
    assert heading(assembly, "s/crank") == pytest.approx(0, abs=1e-12)
    assert min(abs(wrapped(heading(assembly, "s/rocker") - phi)) for phi in freudenstein(1, 3, 2.5, 3.2, 0)) < 1e-9


def test_a_four_bar_that_is_too_short_tells_what_is_missing() -> None:
    """Bars of 1, 1 and 1 m over 4 m: stretched out, one metre is missing."""
    assembly = snapped(four_bar(1.0, 1.0, 1.0, 4.0, None))
    (step,) = assembly.conflicts
    assert step.mate == "s/closing"
    assert step.distance == pytest.approx(1.0, abs=1e-6)


def test_a_linkage_that_lies_folded_at_rest_is_unfolded() -> None:
    """Two equal bars over a gap: at rest both lie on the line between the pivots, and no tangent says which way."""
    system = System(
        "s",
        bodies=(bar("left", 1.0), bar("right", 1.0)),
        connectors=(MateConnector("g0"), MateConnector("g1", np.array([1.0, 0, 0]))),
        mates=(
            Mate("l", "hinge", ("g0", "left/a")),
            Mate("r", "hinge", ("g1", "right/a")),
            Mate("top", "hinge", ("left/b", "right/b")),
        ),
    )
    assembly = snapped(system)
    assert assembly.conflicts == ()
    assert abs(heading(assembly, "s/left")) == pytest.approx(np.pi / 3, abs=1e-9)
    assert abs(heading(assembly, "s/right")) == pytest.approx(2 * np.pi / 3, abs=1e-9)
    assert assembly.degrees_of_freedom == 0


@pytest.mark.parametrize("stages", [1, 3, 10])
def test_a_scissor_lift_rises_by_its_law(stages: int) -> None:
    """With bars of length l at angle a from the ground, n stages are n l sin(a) high: one slider closes it all."""
    length, angle = 1.0, 0.6
    bodies, mates = [], []
    for k in range(stages):
        for name in ("up", "down"):
            ends = (("a", 0.0), ("m", length / 2), ("b", length))
            connectors = tuple(MateConnector(end, np.array([x, 0, 0])) for end, x in ends)
            bodies.append(RigidBody(f"{name}{k}", connectors=connectors))
    # `up` rises to the right from the left foot; `down` rises to the left from the right foot, which slides.
    mates.append(Mate("foot", "hinge", ("ground", "up0/a"), (angle,)))
    for k in range(stages):
        mates.append(Mate(f"middle{k}", "hinge", (f"up{k}/m", f"down{k}/m"), near=(np.pi - 1.0,)))
        if k:
            mates.append(Mate(f"left{k}", "hinge", (f"down{k - 1}/b", f"up{k}/a"), near=(-2.0,)))
            mates.append(Mate(f"right{k}", "hinge", (f"up{k - 1}/b", f"down{k}/a"), near=(2.0,)))
    # The right foot slides along the ground.
    rail = MateConnector("rail", main_axis=np.array([1, 0, 0]), normal=np.array([0, 1, 0]))
    shoe = RigidBody(
        "shoe",
        connectors=(
            MateConnector("on", main_axis=np.array([1, 0, 0]), normal=np.array([0, 1, 0])),
            MateConnector("axle"),
        ),
    )
    mates.append(Mate("rail", "prismatic", ("rail", "shoe/on"), near=(0.8,)))
    mates.append(Mate("shoe", "hinge", ("shoe/axle", "down0/a"), near=(np.pi - angle,)))
    system = System("s", bodies=(*bodies, shoe), connectors=(MateConnector("ground"), rail), mates=tuple(mates))
    assembly = snapped(system)
    assert assembly.conflicts == ()
    for step in assembly.steps:
        if step.kind == "closed":
            assert max(step.distance, step.angle) <= CLOSED
    top = assembly.in_roots[assembly.table.names.index(f"s/up{stages - 1}")]
    tip = top[:3] + Rotation.from_quat(top[3:]).apply([length, 0, 0])
    assert tip[1] == pytest.approx(stages * length * np.sin(angle), abs=1e-8)
    assert assembly.degrees_of_freedom == 1


def test_a_delta_robot_comes_to_its_forward_kinematics() -> None:
    """Three arms at given angles, three pairs of rods on balls: the plate is where three spheres meet.

    Clavel, Delta, a fast robot with parallel geometry, 1988: with rods in parallel pairs the plate does not turn, and
    the rods' other ends are on spheres about the elbows moved in by the plate's radius.
    """
    base, plate, arm, rod, half = 0.2, 0.06, 0.25, 0.6, 0.05
    angles = (0.2, 0.35, 0.1)
    bodies, connectors, mates = [], [], []
    plate_ends = []
    for k, angle in enumerate(angles):
        out = Rotation.from_euler("z", 2 * np.pi * k / 3)
        radial, across = out.apply([1, 0, 0]), out.apply([0, 1, 0])
        # About `across`, positive down: the arm lies along the normal, outwards.
        connectors.append(MateConnector(f"hip{k}", base * radial, across, radial))
        shoulder = MateConnector("hip", np.array([0, 0, 0]), np.array([0, 1, 0]), np.array([1, 0, 0]))
        elbows = (MateConnector("l", np.array([arm, half, 0])), MateConnector("r", np.array([arm, -half, 0])))
        bodies.append(RigidBody(f"arm{k}", connectors=(shoulder, *elbows)))
        mates.append(Mate(f"hip{k}", "hinge", (f"hip{k}", f"arm{k}/hip"), (angle,)))
        for side, offset in (("l", half), ("r", -half)):
            rod_ends = (MateConnector("a"), MateConnector("b", np.array([0, 0, -rod])))
            bodies.append(RigidBody(f"rod{k}{side}", connectors=rod_ends))
            plate_ends.append(MateConnector(f"p{k}{side}", plate * radial + offset * across))
            mates.append(Mate(f"elbow{k}{side}", "ball", (f"arm{k}/{side}", f"rod{k}{side}/a")))
            mates.append(Mate(f"wrist{k}{side}", "ball", (f"rod{k}{side}/b", f"plate/p{k}{side}")))
    bodies.append(RigidBody("plate", connectors=tuple(plate_ends)))
    assembly = snapped(System("s", bodies=tuple(bodies), connectors=tuple(connectors), mates=tuple(mates)))
    assert assembly.conflicts == ()
    found = assembly.in_roots[assembly.table.names.index("s/plate")]

    centres = []
    for k, angle in enumerate(angles):
        radius = base + arm * np.cos(angle) - plate
        x, y, _ = Rotation.from_euler("z", 2 * np.pi * k / 3).apply([radius, 0, 0])
        centres.append([x, y, -arm * np.sin(angle)])
    # If it did not turn, it is where the spheres meet; it may also be assembled turned, which the rods' spheres allow.
    turned = Rotation.from_quat(found[3:]).magnitude()
    assert turned < 1e-8
    c = np.array(centres)
    np.testing.assert_allclose(np.linalg.norm(found[:3] - c, axis=1), rod, atol=1e-9)
    assert found[2] < 0
    # Six rods may spin about themselves.
    assert assembly.degrees_of_freedom == 3 + 6


def test_a_hinge_takes_its_angle_from_a_second_mate() -> None:
    """A door on a hinge, and a stay of given length from the frame to its edge: the law of cosines."""
    door = RigidBody("door", connectors=(MateConnector("pivot"), MateConnector("edge", np.array([0.8, 0, 0]))))
    system = System(
        "s",
        bodies=(door,),
        connectors=(MateConnector("pivot"), MateConnector("stay", np.array([0.6, 0, 0]))),
        mates=(
            Mate("hinge", "hinge", ("pivot", "door/pivot")),
            Mate("stay", "distance", ("stay", "door/edge"), (0.5,)),
        ),
    )
    assembly = snapped(system)
    assert assembly.conflicts == ()
    expected = np.arccos((0.8**2 + 0.6**2 - 0.5**2) / (2 * 0.8 * 0.6))
    assert abs(heading(assembly, "s/door")) == pytest.approx(expected, abs=1e-9)
    assert assembly.degrees_of_freedom == 0


# Takes seconds: make test has loops that are met in both ways.
@pytest.mark.nightly
def test_what_is_given_is_not_moved_to_close_a_loop() -> None:
    door = RigidBody("door", connectors=(MateConnector("pivot"), MateConnector("edge", np.array([0.8, 0, 0]))))
    mates = (
        Mate("hinge", "hinge", ("pivot", "door/pivot"), (0.1,)),
        Mate("stay", "distance", ("stay", "door/edge"), (0.5,)),
    )
    assembly = snapped(
        System(
            "s",
            bodies=(door,),
            connectors=(MateConnector("pivot"), MateConnector("stay", np.array([0.6, 0, 0]))),
            mates=mates,
        )
    )
    assert heading(assembly, "s/door") == pytest.approx(0.1, abs=1e-12)
    (step,) = assembly.conflicts
    gap = np.hypot(0.8 * np.cos(0.1) - 0.6, 0.8 * np.sin(0.1)) - 0.5
    assert step.distance == pytest.approx(abs(gap), abs=1e-6)
