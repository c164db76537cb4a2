"""SNAP: what OpenPLX's documentation says of it, and laws that hold for any tree of systems."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from random import Random
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from sim_node.assembly import Assembly, assemble, assembly_of
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.world import (
    Mate,
    MateConnector,
    RedirectedMateConnector,
    RigidBody,
    System,
    World,
    WorldError,
    WorldWarning,
    lay_out,
)

IDENTITY = np.array([0, 0, 0, 0, 0, 0, 1.0])
inv = np.linalg.inv


def snapped(*systems: System) -> Assembly:
    return assembly_of(World("test", systems=systems))


def in_root(assembly: Assembly, name: str) -> FloatArray:
    return np.asarray(assembly.in_roots[assembly.table.names.index(name)])


def local(assembly: Assembly, name: str) -> FloatArray:
    return np.asarray(assembly.poses[assembly.table.names.index(name)])


def kinds(assembly: Assembly) -> list[str]:
    return [step.kind for step in assembly.steps]


def matrix(pose: FloatArray) -> FloatArray:
    """4 x 4, by scipy."""
    m = np.eye(4)
    m[:3, :3], m[:3, 3] = Rotation.from_quat(pose[3:]).as_matrix(), pose[:3]
    return m


def connector_matrix(position: Sequence[float], axis: Sequence[int], normal: Sequence[int]) -> FloatArray:
    m = np.eye(4)
    m[:3, :4] = np.stack([normal, np.cross(axis, normal), axis, position], axis=1)
    return m


def turn(*rotvec: float) -> FloatArray:
    return np.array([0, 0, 0, *Rotation.from_rotvec(rotvec).as_quat()])


def onto_diagonal(axis: FloatArray) -> FloatArray:
    """Math.Quat.fromTo(axis, (1, 1, 1).normal()): the shortest arc."""
    diagonal = np.ones(3) / np.sqrt(3)
    across = np.cross(axis, diagonal)
    return turn(*(across / np.linalg.norm(across) * np.arccos(axis @ diagonal)))


# ------------------------------------------------------------------------------- the three-level example

FROM_X, FROM_Y = onto_diagonal(np.array([1.0, 0, 0])), onto_diagonal(np.array([0, 1.0, 0]))
A = connector_matrix([0.5, 0, 0], [0, 1, 0], [1, 0, 0])
M = connector_matrix([0, 0, -0.6], [0, 1, 0], [0, 0, 1])
OUTER, INNER, ROD = "World/rod_system", "World/rod_system/rod_system", "World/rod_system/rod_system/rod"


def three_levels(s1: FloatArray | None, s2: FloatArray | None, r: FloatArray | None) -> System:
    """snap_parent.openplx: a rod in a system in a system, locked to a connector of the world by its end."""
    rod = RigidBody(
        "rod",
        r,
        connectors=(MateConnector("connector", np.array([0, 0, -0.6]), np.array([0, 1, 0]), np.array([0, 0, 1])),),
    )
    inner = System("rod_system", s2, bodies=(rod,))
    return System(
        "World",
        systems=(System("rod_system", s1, systems=(inner,)),),
        connectors=(MateConnector("world_connector", np.array([0.5, 0, 0]), np.array([0, 1, 0]), np.array([1, 0, 0])),),
        mates=(Mate("world_lock", "lock", ("rod_system/rod_system/rod/connector", "world_connector")),),
    )


@pytest.mark.parametrize(
    ("given_poses", "solved", "formula"),
    [
        ((FROM_X, FROM_Y, None), ROD, lambda s1, s2, r: inv(s2) @ inv(s1) @ A @ inv(M)),
        ((FROM_X, None, FROM_Y), INNER, lambda s1, s2, r: inv(s1) @ A @ inv(M) @ inv(r)),
        ((None, FROM_X, FROM_Y), OUTER, lambda s1, s2, r: A @ inv(M) @ inv(r) @ inv(s2)),
    ],
    ids=["SnapRod", "SnapRodParent", "SnapRodParentParent"],
)
def test_the_three_level_example(
    given_poses: tuple[FloatArray | None, FloatArray | None, FloatArray | None],
    solved: str,
    formula: Callable[..., Any],
) -> None:
    """S1 = A M^-1 R^-1 S2^-1 and its two like: OpenPLX, Physics3D, "Three-Level SNAP Example"."""
    assembly = snapped(three_levels(*given_poses))
    expected = formula(*(None if pose is None else matrix(pose) for pose in given_poses))
    np.testing.assert_allclose(matrix(local(assembly, solved)), expected, rtol=0, atol=1e-12)
    np.testing.assert_allclose(
        in_root(assembly, ROD), [1.1, 0, 0, 0, np.sqrt(0.5), 0, np.sqrt(0.5)], rtol=0, atol=1e-12
    )
    assert [assembly.table.names[row] for row in assembly.solved] == [solved]
    assert assembly.undefined == ()
    assert assembly.degrees_of_freedom == 0


def test_of_three_open_poses_two_become_the_identity() -> None:
    assembly = snapped(three_levels(None, None, None))
    assert kinds(assembly) == ["identity", "identity", "solved"]
    poses = [local(assembly, name) for name in (OUTER, INNER, ROD)]
    assert sum(np.array_equal(pose, IDENTITY) for pose in poses) == 2
    np.testing.assert_allclose(in_root(assembly, ROD)[:3], [1.1, 0, 0], atol=1e-12)


def test_a_given_pose_never_moves_and_a_mate_that_it_contradicts_tells_by_how_much() -> None:
    off = np.array([1.1, 0.03, 0.04, *Rotation.from_euler("yx", [np.pi / 2, 0.2]).as_quat()])
    assembly = snapped(three_levels(IDENTITY, IDENTITY, off))
    np.testing.assert_array_equal(local(assembly, ROD), off)
    (step,) = assembly.conflicts
    # The rod's end is 0.6 m from its origin and went with the turn.
    end = matrix(off) @ M
    assert step.distance == pytest.approx(np.linalg.norm(end[:3, 3] - A[:3, 3]), abs=1e-12)
    assert step.angle == pytest.approx(0.2, abs=1e-12)
    with pytest.raises(WorldError, match=r"World/world_lock: cannot be met, .* m and 0\.2 rad are left"):
        assemble(World("test", systems=(three_levels(IDENTITY, IDENTITY, off),)))


# ------------------------------------------------------------------------------------------ what is left


def test_what_no_mate_determines_stays_undefined_and_is_named() -> None:
    loose = RigidBody("loose", connectors=(MateConnector("c"),))
    system = System("s", bodies=(loose, RigidBody("placed", IDENTITY)), systems=(System("empty"),))
    assembly = snapped(system)
    assert [assembly.table.names[row] for row in assembly.undefined] == ["s/loose", "s/empty"]
    with pytest.warns(WorldWarning) as warned:
        assemble(World("test", systems=(system,)))
    reported = "no pose is given and no mate determines one; it stands where its owner does"
    assert [str(warning.message) for warning in warned] == [f"s/loose: {reported}", f"s/empty: {reported}"]


def test_a_mate_between_two_connectors_that_stand_still_is_ignored() -> None:
    """ "A Mate with two world-static MateConnectors has no semantic meaning and is ignored.\""""
    system = System(
        "s",
        connectors=(MateConnector("a"), MateConnector("b", np.array([1, 0, 0]))),
        mates=(Mate("m", "lock", ("a", "b")),),
    )
    assembly = snapped(system)
    assert kinds(assembly) == ["ignored"]
    assert assembly.conflicts == ()


def test_a_mate_that_is_not_enabled_or_does_not_snap_places_nothing() -> None:
    body = RigidBody("b", connectors=(MateConnector("c"),))
    mate = Mate("m", "lock", ("w", "b/c"))
    for off in (replace(mate, enabled=False), replace(mate, snap=False)):
        assembly = snapped(System("s", bodies=(body,), connectors=(MateConnector("w"),), mates=(off,)))
        assert [assembly.table.names[row] for row in assembly.undefined] == ["s/b"]


def test_a_redirected_connector_places_by_its_system_and_holds_by_its_body() -> None:
    """The wheel stands 2 m along x of the system, wherever the frame is; what carries it is the frame."""
    frame = RigidBody("frame", np.array([0, 1, 0, 0, 0, 0, 1]), mass=1.0, inertia=np.eye(3))
    wheel = RigidBody("wheel", mass=1.0, inertia=np.eye(3), connectors=(MateConnector("hub"),))
    axle = RedirectedMateConnector("axle", np.array([2, 0, 0]), body="frame")
    system = System("s", bodies=(frame, wheel), connectors=(axle,), mates=(Mate("m", "hinge", ("axle", "wheel/hub")),))
    np.testing.assert_allclose(in_root(snapped(system), "s/wheel"), [2, 0, 0, 0, 0, 0, 1], atol=1e-15)
    bodies = {body.name: body for body in assemble(World("test", systems=(system,))).bodies}
    assert bodies["s/wheel"].parent == "s/frame"
    np.testing.assert_allclose(bodies["s/wheel"].pose[:3], [2, -1, 0], atol=1e-15)


# --------------------------------------------------------------------------------------------- connectors


def axes_of(connector: MateConnector) -> FloatArray:
    return np.asarray(matrix(connector.pose)[:3, :3].T)


def test_of_a_normal_only_what_is_orthogonal_to_the_axis_counts() -> None:
    x, y, z = axes_of(MateConnector("c", main_axis=np.array([0, 0, 2]), normal=np.array([3, 0, 5])))
    np.testing.assert_allclose([x, y, z], np.eye(3), atol=1e-15)


@pytest.mark.parametrize(
    ("axis", "normal"), [([0, 0, 1], [1, 0, 0]), ([1, 0, 0], [0, 1, 0]), ([0, 1, 0], [1, 0, 0]), ([1, 1, 0], [0, 0, 1])]
)
def test_a_missing_normal_is_the_axis_furthest_from_the_main_axis(axis: Sequence[int], normal: Sequence[int]) -> None:
    np.testing.assert_allclose(axes_of(MateConnector("c", main_axis=np.array(axis)))[0], normal, atol=1e-15)


@given(st.lists(st.floats(-1e3, 1e3), min_size=6, max_size=6))
def test_any_connector_is_right_handed_and_orthonormal(numbers: Sequence[float]) -> None:
    axis, normal = np.array(numbers[:3]), np.array(numbers[3:])
    sizes = np.linalg.norm(axis) * np.linalg.norm(normal)
    if sizes < 1e-3 or np.linalg.norm(np.cross(axis, normal)) < 1e-6 * sizes:
        return
    x, y, z = axes_of(MateConnector("c", main_axis=axis, normal=normal))
    np.testing.assert_allclose(z, axis / np.linalg.norm(axis), atol=1e-12)
    np.testing.assert_allclose([x @ y, y @ z, z @ x], 0, atol=1e-12)
    np.testing.assert_allclose(np.cross(x, y), z, atol=1e-12)
    assert x @ normal > 0


def test_a_normal_parallel_to_the_axis_is_an_error() -> None:
    with pytest.raises(ValueError, match=r"'c': normal \[0.0, 0.0, -3.0\] is parallel to main_axis"):
        MateConnector("c", main_axis=np.array([0, 0, 1]), normal=np.array([0, 0, -3]))
    with pytest.raises(ValueError, match=r"main_axis .* has no direction"):
        MateConnector("c", main_axis=np.array([0, 0, 0]))


# ----------------------------------------------------------------------------------- initial values of mates


@pytest.mark.parametrize(
    ("kind", "values", "expected"),
    [
        ("hinge", (0.3,), [0, 0, 0, 0, 0, np.sin(0.15), np.cos(0.15)]),
        ("prismatic", (0.4,), [0, 0, 0.4, 0, 0, 0, 1]),
        ("cylindrical", (0.4, 0.3), [0, 0, 0.4, 0, 0, np.sin(0.15), np.cos(0.15)]),
        ("planar", (1.0, 2.0, 0.3), [1, 2, 0, 0, 0, np.sin(0.15), np.cos(0.15)]),
        ("distance", (0.7,), [0, 0, 0.7, 0, 0, 0, 1]),
        ("ball", None, IDENTITY),
        ("lock", None, IDENTITY),
    ],
)
@pytest.mark.parametrize("moved", [0, 1], ids=["first moves", "second moves"])
def test_initial_values_are_of_the_second_connector_in_the_first(
    kind: str, values: tuple[float, ...] | None, expected: npt.ArrayLike, moved: int
) -> None:
    fixed, loose = ("w", "b/c") if moved else ("b/c", "w")
    body = RigidBody("b", connectors=(MateConnector("c"),))
    mate = Mate("m", kind, (fixed, loose), values)
    assembly = snapped(System("s", bodies=(body,), connectors=(MateConnector("w"),), mates=(mate,)))
    found = matrix(in_root(assembly, "s/b"))
    np.testing.assert_allclose(found if moved else inv(found), matrix(np.array(expected)), atol=1e-12)


# -------------------------------------------------------------------------------------------- random trees


@st.composite
def poses(draw: st.DrawFn) -> FloatArray:
    numbers = draw(st.lists(st.floats(-1, 1), min_size=7, max_size=7))
    quaternion = np.array(numbers[3:]) + [0, 0, 0, 2.5]
    return np.array([*numbers[:3], *(quaternion / np.linalg.norm(quaternion))])


@st.composite
def trees(draw: st.DrawFn) -> tuple[Any, ...]:
    """Nested systems of bodies at known poses, then one pose opened per chain and a mate that implies it."""
    count = draw(st.integers(2, 12))
    hosts = [draw(st.integers(-1, k - 1)) for k in range(count)]  # a system below the top or below another
    locals_ = [draw(poses()) for _ in range(2 * count)]
    opened = [draw(st.sampled_from(["system", "body"])) for _ in range(count)]
    ends = [(draw(poses()), draw(st.booleans())) for _ in range(count)]
    targets = [draw(st.integers(-1, k - 1)) for k in range(count)]
    order = draw(st.permutations(range(count)))
    return hosts, locals_, opened, ends, targets, order


def connector_at(name: str, pose: FloatArray) -> MateConnector:
    turned = Rotation.from_quat(pose[3:])
    return MateConnector(name, pose[:3], turned.apply([0, 0, 1]), turned.apply([1, 0, 0]))


# Takes seconds: make test has open systems in any order.
@pytest.mark.nightly
@settings(deadline=None, max_examples=60)
@given(trees())
def test_one_unknown_per_chain_is_recovered_whatever_the_order_of_the_mates(
    tree: tuple[Any, ...],
) -> None:
    """Poses are drawn, worked out in matrices, one per chain forgotten, and come back to 1e-10."""
    hosts, locals_, opened, ends, targets, order = tree
    count = len(hosts)
    world_system: list[FloatArray] = []
    world_body: list[FloatArray] = []
    names: list[str] = []
    for k, host in enumerate(hosts):
        above = np.eye(4) if host < 0 else world_system[host]
        world_system.append(above @ matrix(locals_[k]))
        world_body.append(world_system[k] @ matrix(locals_[count + k]))
        names.append(f"{names[host]}/s{k}" if host >= 0 else f"s{k}")
    # A target that stands below what is opened would make two unknowns of one chain: the top serves everywhere then.
    connectors: list[list[MateConnector]] = [[] for _ in range(count)]
    top: list[MateConnector] = []
    mates = []
    for k in range(count):
        pose, swap = ends[k]
        end = world_body[k] @ matrix(pose)
        target = targets[k] if targets[k] >= 0 and hosts[k] < 0 and hosts[targets[k]] < 0 else -1
        carrier = np.eye(4) if target < 0 else world_body[target]
        seen = inv(carrier) @ end
        at = np.array([*seen[:3, 3], *Rotation.from_matrix(seen[:3, :3]).as_quat()])
        (top if target < 0 else connectors[target]).append(connector_at(f"t{k}", at))
        connectors[k].append(connector_at("end", pose))
        pair = (f"{names[k]}/body/end", f"t{k}" if target < 0 else f"{names[target]}/body/t{k}")
        mates.append(Mate(f"m{k}", "lock", pair[::-1] if swap else pair))

    def system(k: int) -> System:
        pose = None if opened[k] == "system" else locals_[k]
        body = RigidBody("body", locals_[count + k] if pose is None else None, connectors=tuple(connectors[k]))
        inner = tuple(system(j) for j in range(count) if hosts[j] == k)
        return System(f"s{k}", pose, systems=inner, bodies=(body,))

    whole = System(
        "top",
        systems=tuple(system(k) for k in range(count) if hosts[k] < 0),
        connectors=tuple(top),
        mates=tuple(mates[k] for k in order),
    )
    assembly = snapped(whole)
    assert set(kinds(assembly)) == {"solved"}
    for k, name in enumerate(names):
        found = matrix(in_root(assembly, f"top/{name}/body"))
        np.testing.assert_allclose(found, world_body[k], rtol=0, atol=1e-10)
        np.testing.assert_allclose(matrix(in_root(assembly, f"top/{name}")), world_system[k], rtol=0, atol=1e-10)


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 100), poses(), poses(), st.booleans()), min_size=2, max_size=12), st.randoms())
def test_open_systems_of_open_bodies_fit_in_any_order(
    links: Sequence[tuple[int, FloatArray, FloatArray, bool]], random: Random
) -> None:
    """Which poses become the identity is open; where the bodies stand, each on one before it, is not."""
    count = len(links)
    names = [f"s{k // 3}/b{k % 3}" for k in range(count)]
    connectors: list[list[MateConnector]] = [[] for _ in range(count)]
    expected: list[FloatArray] = []
    mates = []
    for k, (draw, near, far, swap) in enumerate(links):
        host = draw % k if k else -1
        above = np.eye(4) if host < 0 else expected[host]
        expected.append(above @ matrix(near) @ inv(matrix(far)))
        connectors[k].append(connector_at("in", far))
        if host >= 0:
            connectors[host].append(connector_at(f"out{k}", near))
        pair = ("ground" if host < 0 else f"{names[host]}/out{k}", f"{names[k]}/in")
        mates.append(Mate(f"m{k}", "lock", pair[::-1] if swap else pair))
    random.shuffle(mates)
    bodies = [RigidBody(f"b{k % 3}", connectors=tuple(connectors[k])) for k in range(count)]
    systems = tuple(System(f"s{k // 3}", bodies=tuple(bodies[k : k + 3])) for k in range(0, count, 3))
    ground = connector_at("ground", links[0][1])
    assembly = snapped(System("top", systems=systems, connectors=(ground,), mates=tuple(mates)))
    assert assembly.conflicts == ()
    assert assembly.undefined == ()
    for k, name in enumerate(names):
        np.testing.assert_allclose(matrix(in_root(assembly, f"top/{name}")), expected[k], rtol=0, atol=1e-10)


@settings(deadline=None)
@given(poses(), st.floats(1e-6, 0.1), st.floats(1e-6, 1.0))
def test_a_perturbed_mate_tells_its_residual(pose: FloatArray, distance: float, angle: float) -> None:
    """A body locked twice: by the truth, and by a connector that is off along x and turned about x."""
    turned = Rotation.from_rotvec([angle, 0, 0])
    second = MateConnector("second", np.array([distance, 0, 0]), turned.apply([0, 0, 1]), np.array([1, 0, 0]))
    body = RigidBody("b", connectors=(MateConnector("first"), second))
    system = System(
        "s",
        bodies=(body,),
        connectors=(connector_at("w", pose),),
        mates=(Mate("right", "lock", ("w", "b/first")), Mate("off", "lock", ("b/second", "w"))),
    )
    (step,) = snapped(system).conflicts
    assert step.mate == "s/off"
    assert step.distance == pytest.approx(distance, abs=1e-9)
    assert step.angle == pytest.approx(angle, abs=1e-9)


# ------------------------------------------------------------------------------------------ into the world


def test_assembled_frames_stand_in_the_world_where_the_assembly_put_them() -> None:
    """The layout of frames on the TF tree, composed from the fixed frame down, is the assembly."""
    world = World("test", systems=(three_levels(FROM_X, None, FROM_Y),))
    layout = lay_out(assemble(world))
    rooted = layout.frames.in_root(layout.poses)
    assembly = assembly_of(world)
    for name in (OUTER, INNER, ROD):
        found = rooted[layout.frames.index(name)]
        np.testing.assert_allclose(matrix(found), matrix(in_root(assembly, name)), atol=1e-12)
    assert layout.frames.path(ROD) == "map/World/rod_system/rod_system/rod"


def test_a_world_with_systems_is_not_laid_out_before_it_is_assembled() -> None:
    with pytest.raises(WorldError, match="systems: are not assembled"):
        lay_out(World("test", systems=(System("s"),)))


def test_a_world_without_systems_is_itself() -> None:
    world = World("test")
    assert assemble(world) is world


def test_a_reference_that_leads_nowhere_names_the_nearest() -> None:
    system = replace(three_levels(None, None, None), mates=(Mate("m", "lock", ("world_conector", "world_connector")),))
    with pytest.raises(WorldError, match="no connector 'world_conector' in World; did you mean world_connector"):
        snapped(system)
