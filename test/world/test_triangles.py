"""Meshes in memory: hulls, volumes and moments against solids whose formulas are known."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim_node.simulation import Simulation
from sim_node.world import RigidBody, WorldError, load, loads
from sim_node.world.triangles import Triangles, hull_of, solid_of
from sim_node.world.writers.yaml import to_yaml

CORNERS = np.array([[x, y, z] for x in (0.0, 1.0) for y in (0.0, 1.0) for z in (0.0, 1.0)])
TETRAHEDRON = Triangles(
    np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]]), np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]])
)
positive = st.floats(0.1, 10.0)


@given(sizes=st.tuples(positive, positive, positive), at=st.tuples(*[st.floats(-50.0, 50.0)] * 3))
def test_a_box_has_the_moments_of_a_box(sizes: tuple[float, ...], at: tuple[float, ...]) -> None:
    volume, centre, inertia = solid_of(hull_of(CORNERS * sizes + at))
    x, y, z = np.square(sizes)
    assert volume == pytest.approx(np.prod(sizes), rel=1e-9)
    np.testing.assert_allclose(centre, np.array(at) + 0.5 * np.array(sizes), atol=1e-9)
    np.testing.assert_allclose(inertia, np.diag([y + z, x + z, x + y]) / 12.0, rtol=1e-7, atol=1e-7)


def test_a_tetrahedron_has_its_moments() -> None:
    """About its centre, of the corners of a unit cube: Ixx = 3/40 m, Ixy = m/80 (F. Tonon, 2004)."""
    volume, centre, inertia = solid_of(TETRAHEDRON)
    assert volume == pytest.approx(1.0 / 6.0, rel=1e-12)
    np.testing.assert_allclose(centre, 0.25, atol=1e-15)
    np.testing.assert_allclose(inertia, np.full((3, 3), 1 / 80) + np.eye(3) * (3 / 40 - 1 / 80), atol=1e-15)


def test_a_hull_leaves_out_what_is_inside_and_faces_outwards() -> None:
    hull = hull_of(np.vstack([CORNERS, [[0.5, 0.5, 0.5], [0.2, 0.3, 0.9]]]))
    assert len(hull.vertices) == 8
    assert hull.is_closed()
    assert solid_of(hull)[0] == pytest.approx(1.0)


def test_open_and_inside_out_triangles_are_told_apart() -> None:
    assert TETRAHEDRON.is_closed()
    assert not Triangles(TETRAHEDRON.vertices, TETRAHEDRON.faces[:3]).is_closed()
    with pytest.raises(ValueError, match="inside out"):
        solid_of(Triangles(TETRAHEDRON.vertices, TETRAHEDRON.faces[:, ::-1]))
    with pytest.raises(ValueError, match="span no volume"):
        hull_of(np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0]]))


# An L: MuJoCo has contacts of its hull, but its mass is that of the L.
L_SHAPE = np.array([(0, 0), (2, 0), (2, 1), (1, 1), (1, 2), (0, 2)], dtype=float)


def l_prism() -> Triangles:
    vertices = np.array([[x, y, z] for z in (0.0, 1.0) for x, y in L_SHAPE])
    lid = [(0, 1, 2), (0, 2, 3), (0, 3, 5), (3, 4, 5)]
    sides = [t for k in range(6) for t in ((k, (k + 1) % 6, 6 + (k + 1) % 6), (k, 6 + (k + 1) % 6, 6 + k))]
    return Triangles(vertices, np.array([*(f[::-1] for f in lid), *((a + 6, b + 6, c + 6) for a, b, c in lid), *sides]))


def test_a_concave_mesh_weighs_what_it_encloses() -> None:
    """Three cubes: 3000 kg, centre and moments by the parallel axis theorem."""
    prism = l_prism()
    assert prism.is_closed()
    _, centre, inertia = solid_of(prism)
    cubes = np.array([[0.5, 0.5, 0.5], [1.5, 0.5, 0.5], [0.5, 1.5, 0.5]])
    np.testing.assert_allclose(centre, cubes.mean(axis=0), atol=1e-12)
    away = cubes - cubes.mean(axis=0)
    expected = np.eye(3) / 6.0 + np.mean([d @ d * np.eye(3) - np.outer(d, d) for d in away], axis=0)
    np.testing.assert_allclose(inertia, expected, atol=1e-12)


SYSTEM = """\
world: w
systems:
  - name: s
    pose: {{position: [0, 0, 2]}}
    bodies:
      - name: part
        pose: {{position: [0, 0, 0]}}
        geometry: [{{mesh: {mesh}, {more}}}]
ground: plane
"""
MESH = f"{{vertices: {TETRAHEDRON.vertices.tolist()}, faces: {TETRAHEDRON.faces.tolist()}}}"


def test_world_files_have_triangles(tmp_path: Path) -> None:
    world = loads(SYSTEM.format(mesh=MESH, more="density: 600, scale: 2, color: [1, 0, 0]"))
    (body,) = world.systems[0].bodies
    assert isinstance(body, RigidBody)
    assert body.geometries[0].geometry.mass == pytest.approx(600.0 * 8.0 / 6.0)
    again = loads(to_yaml(world))
    assert again.systems[0].bodies[0].geometries[0].geometry == body.geometries[0].geometry
    run = Simulation(world)
    run.run(2.0)
    assert -0.01 < run.bodies["s/part"].pose[2] < 1.6


def test_a_file_has_the_same_mass(write: Callable[..., Path]) -> None:
    lines = ["v " + " ".join(map(str, v)) for v in TETRAHEDRON.vertices.tolist()]
    lines += ["f " + " ".join(str(k + 1) for k in face) for face in TETRAHEDRON.faces.tolist()]
    write("\n".join(lines) + "\n", "part.obj")
    world = load(write(SYSTEM.format(mesh="part.obj", more="density: 600, scale: [1, 2, 3]")))
    assert world.systems[0].bodies[0].geometries[0].geometry.mass == pytest.approx(600.0, rel=1e-6)


@pytest.mark.parametrize(
    ("mesh", "message"),
    [
        ("{vertices: [[0, 0, 0]], faces: [[0, 0, 1]]}", "mesh: no vertex 1; there are 1, from 0"),
        ("{vertices: [[0, 0, 0]], faces: []}", "mesh: 0 triangles; allowed: 1 to 1000000"),
        ("{vertices: [[0, 0, 0], [1, 0, 0], [0, 1, 0]], faces: [[0, 1, 2]]}", "mesh: its vertices span no volume"),
        ("{vertices: [[0, 0, 0]], faces: [[0, 0.5, 1]]}", "mesh.faces: faces are whole numbers"),
        ("{vertices: [[0, 0, 0]]}", "faces"),
    ],
)
def test_faults_of_triangles(mesh: str, message: str) -> None:
    with pytest.raises(WorldError) as error:
        loads(SYSTEM.format(mesh=mesh, more="density: 600"))
    assert message in str(error.value)
