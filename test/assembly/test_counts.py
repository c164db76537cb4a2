"""How many ways there are to assemble: as many as textbooks or other computations say, told apart by poses."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise, product

import numpy as np
import pytest
from linkages import bar, four_bar
from nightly import only
from scipy.optimize import brentq, fsolve

from sim_node.assembly import Assembly, assembly_of
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.world import Mate, MateConnector, RigidBody, System, World


def points_of(assembly: Assembly, body: str, points: FloatArray) -> list[FloatArray]:
    """Where points (N, 3) of a body are, in each way to assemble."""
    row = assembly.table.names.index(f"s/{body}")
    poses = [assembly.in_roots[row], *(other.in_roots[row] for other in assembly.others)]
    return [np.array([pose[:3] + turned(pose[3:], point) for point in points]) for pose in poses]


def turned(q: FloatArray, v: FloatArray) -> FloatArray:
    return v + 2.0 * np.cross(q[:3], np.cross(q[:3], v) + q[3] * v)


def everything(system: System) -> Assembly:
    return assembly_of(World("w", systems=(system,)), every=True)


def count_told(assembly: Assembly) -> int:
    """What the log says of other assemblies."""
    told = [int(step.value[0]) for step in assembly.steps if step.kind == "others"]
    return told[0] if told else 0


def on_rods(
    body: RigidBody, grounds: Sequence[Sequence[float]], ends: Sequence[str], lengths: Sequence[float]
) -> System:
    """A body at given distances from points of the ground."""
    named = [MateConnector(f"g{k}", np.array(ground)) for k, ground in enumerate(grounds)]
    mates = [
        Mate(f"d{k}", "distance", (f"g{k}", f"{body.name}/{end}"), (length,))
        for k, (end, length) in enumerate(zip(ends, lengths, strict=True))
    ]
    return System("s", bodies=(body,), connectors=tuple(named), mates=tuple(mates))


# Takes seconds: make test has a platform on three legs.
@pytest.mark.nightly
def test_a_point_at_three_distances_has_two_places() -> None:
    """Trilateration: above and below the plane of three points. How the body is turned about its point is free."""
    grounds = np.array([(0.0, 0.0, 0.0), (2.0, 0.0, 0.0), (0.5, 1.5, 0.0)])
    there = np.array([0.7, 0.4, 1.1])
    body = RigidBody("tip", connectors=(MateConnector("p", np.array([0.1, 0.0, 0.0])),))
    system = on_rods(body, grounds.tolist(), "ppp", np.linalg.norm(grounds - there, axis=1).tolist())
    assembly = everything(system)
    found = points_of(assembly, "tip", np.array([(0.1, 0.0, 0.0)]))
    heights = sorted(float(points[0, 2]) for points in found)
    assert heights == pytest.approx([-1.1, 1.1], abs=1e-8)
    assert count_told(assembly) == 1
    assert count_told(assembly_of(World("w", systems=(system,)))) == 1


@pytest.mark.parametrize("theta", only([0.4, 0.7, 2.0], 1))
def test_a_planar_four_bar_has_two(theta: float) -> None:
    assert len(everything(four_bar(1.0, 3.0, 2.5, 3.2, theta)).others) == 1


PLATFORM = np.array([(0.0, 0.0), (1.0, 0.0), (0.4, 0.9)])
BASES = np.array([(0.0, 0.0), (2.1, 0.1), (0.8, 1.9)])


def three_rpr(lengths: Sequence[float]) -> list[float]:
    """The headings of a platform on three legs in a plane, by the sign changes of what is left of the third length.

    For a heading, the first two legs are circles about points, which intersect in two points of the platform's origin.
    """

    def left(heading: float, branch: float) -> float:
        c, s = np.cos(heading), np.sin(heading)
        centres = BASES - PLATFORM @ np.array([(c, s), (-s, c)])
        way = centres[1] - centres[0]
        d = float(np.hypot(*way))
        along = (d * d + lengths[0] ** 2 - lengths[1] ** 2) / (2.0 * d)
        if lengths[0] ** 2 < along**2:
            return np.nan
        off = branch * np.sqrt(lengths[0] ** 2 - along**2)
        place = centres[0] + along * way / d + off * np.array([-way[1], way[0]]) / d
        return float(np.hypot(*(place - centres[2])) - lengths[2])

    found: list[float] = []
    for branch in (1.0, -1.0):
        grid = np.linspace(-np.pi, np.pi, 2_001)
        values = [left(heading, branch) for heading in grid]
        for (a, fa), (b, fb) in pairwise(zip(grid, values, strict=True)):
            if fa * fb < 0.0:
                found.append(float(brentq(left, a, b, args=(branch,))))
    return sorted(found)


LEGS = ((0.9, 1.5, 1.2), (1.2, 1.0, 1.1), (1.6, 1.5, 1.5))


@pytest.mark.parametrize("lengths", only([(each,) for each in LEGS], 0))
def test_a_planar_platform_on_three_legs_has_as_many_as_another_computation_finds(lengths: Sequence[float]) -> None:
    """At most six: Hunt, Structural kinematics of in-parallel-actuated robot arms, 1983."""
    body = RigidBody(
        "platform",
        connectors=tuple(MateConnector(f"p{k}", np.array([*point, 0.0])) for k, point in enumerate(PLATFORM)),
    )
    legs = tuple(bar(f"leg{k}", length) for k, length in enumerate(lengths))
    mates = [Mate(f"low{k}", "hinge", (f"g{k}", f"leg{k}/a")) for k in range(3)]
    mates += [Mate(f"high{k}", "hinge", (f"leg{k}/b", f"platform/p{k}")) for k in range(3)]
    grounds = tuple(MateConnector(f"g{k}", np.array([*point, 0.0])) for k, point in enumerate(BASES))
    assembly = everything(System("s", bodies=(*legs, body), connectors=grounds, mates=tuple(mates)))
    found = points_of(assembly, "platform", np.array([(0.0, 0.0, 0.0), (1.0, 0.0, 0.0)]))
    headings = sorted(float(np.arctan2(*(points[1] - points[0])[1::-1])) for points in found)
    assert headings == pytest.approx(three_rpr(lengths), abs=1e-6)
    assert count_told(assembly) == len(headings) - 1


def stewart(base: FloatArray, sides: Sequence[float], lengths: FloatArray) -> list[FloatArray]:
    """The corners (3, 3) of a 6-3 platform: each is on a circle about a side of the base, at an angle that is unknown.

    All solutions of the three equations between the angles, from a grid of starts.
    """
    circles = []
    for k in range(3):
        a, b = base[2 * k], base[2 * k + 1]
        way = (b - a) / np.linalg.norm(b - a)
        d = float(np.linalg.norm(b - a))
        along = (d * d + lengths[2 * k] ** 2 - lengths[2 * k + 1] ** 2) / (2.0 * d)
        circles.append((a + along * way, np.cross(way, [0, 0, 1.0]), np.sqrt(lengths[2 * k] ** 2 - along**2)))

    def corners(angles: FloatArray) -> FloatArray:
        up = np.array([0.0, 0.0, 1.0])
        return np.array(
            [c + r * (np.cos(t) * u + np.sin(t) * up) for (c, u, r), t in zip(circles, angles, strict=True)]
        )

    def left(angles: FloatArray) -> list[float]:
        p = corners(angles)
        return [float(np.linalg.norm(p[k] - p[(k + 1) % 3])) - sides[k] for k in range(3)]

    found: list[FloatArray] = []
    for start in product(np.arange(0.1, 2.0 * np.pi, np.pi / 4.0), repeat=3):
        angles, _, flag, _ = fsolve(left, start, full_output=True)
        p = corners(angles)
        if flag == 1 and max(map(abs, left(angles))) < 1e-9 and all(np.abs(p - q).max() > 1e-5 for q in found):
            found.append(p)
    return found


# Takes seconds: make test has a platform on three legs.
@pytest.mark.nightly
def test_a_stewart_platform_has_as_many_as_another_computation_finds() -> None:
    """A 6-3 platform has at most 16: Nanua, Waldron and Murthy, IEEE Trans. Robotics and Automation, 1990."""
    turns = np.radians([-10.0, 10.0, 110.0, 130.0, 230.0, 250.0])
    base = np.column_stack([np.cos(turns), np.sin(turns), np.zeros(6)]) * 1.2
    base = base[[1, 2, 3, 4, 5, 0]]
    corners = np.array([(0.55, 0.35, 0.9), (-0.6, 0.3, 1.0), (0.05, -0.65, 0.85)])
    sides = [float(np.linalg.norm(corners[k] - corners[(k + 1) % 3])) for k in range(3)]
    lengths = np.array([np.linalg.norm(corners[k // 2] - base[k]) for k in range(6)])
    # The platform's own frame: the first corner, the second along x, the third in the plane.
    x = (sides[0] ** 2 + sides[2] ** 2 - sides[1] ** 2) / (2.0 * sides[0])
    own = np.array([(0.0, 0.0, 0.0), (sides[0], 0.0, 0.0), (x, np.sqrt(sides[2] ** 2 - x * x), 0.0)])
    body = RigidBody("platform", connectors=tuple(MateConnector(f"p{k}", point) for k, point in enumerate(own)))
    assembly = everything(on_rods(body, base.tolist(), ["p0", "p0", "p1", "p1", "p2", "p2"], lengths.tolist()))
    expected = stewart(base, sides, lengths)
    found = points_of(assembly, "platform", own)
    assert len(found) == len(expected) <= 16
    assert all(min(np.abs(p - q).max() for q in expected) < 1e-5 for p in found)
    assert count_told(assembly) == len(expected) - 1
