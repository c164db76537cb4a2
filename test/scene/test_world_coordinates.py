"""World coordinates against pymap3d and pyproj."""

from __future__ import annotations

import json

import numpy as np
import pymap3d
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyproj import Transformer

from sim_node.extensions.aerosim import SceneEntity, SceneGraph, WorldCoordinate, consistent
from sim_node.extensions.aerosim.coordinates import origin_of, world_coordinates
from sim_node.spatial.frames import Frame, Position

ECEF_OF_LLA = Transformer.from_crs("EPSG:4979", "EPSG:4978")
near = st.floats(-5e4, 5e4)


@given(
    st.tuples(near, near, st.floats(-5e3, 5e3)),
    st.tuples(st.floats(-89, 89), st.floats(-179, 179), st.floats(-100, 5e3)),
)
def test_all_forms_are_one_place(ned: tuple[float, ...], origin: tuple[float, float, float]) -> None:
    [found] = world_coordinates(Position([ned], Frame.NED, origin))
    lla = pymap3d.ned2geodetic(*ned, *origin)
    ecef = np.array(ECEF_OF_LLA.transform(*lla))
    centre = np.array(ECEF_OF_LLA.transform(*origin))
    assert found.ned == pytest.approx(ned, abs=1e-6)
    assert found.ecef == pytest.approx(ecef, abs=1e-6)
    assert found.cartesian == pytest.approx(ecef - centre, abs=1e-6)
    assert found.lla is not None
    assert np.array(ECEF_OF_LLA.transform(*found.lla)) == pytest.approx(ecef, abs=1e-6)
    assert found.origin_lla is not None
    assert found.origin_lla.tolist() == list(origin)
    assert found.ellipsoid is not None
    assert (found.ellipsoid.equatorial_radius, found.ellipsoid.polar_radius) == (6378137.0, 6356752.314245179)


def test_cartesian_is_along_the_axes_of_ecef() -> None:
    """AeroSim's own numbers for (100, 200, -50) at the origin of its example."""
    [found] = world_coordinates(Position([[100, 200, -50]], Frame.NED, (29.594656, -95.16384722, -28.3)))
    assert found.cartesian == pytest.approx([199.720, -12.116, 111.647], abs=1e-3)


def test_the_resource_decides_where_aerosim_leaves_the_origin_at_zero() -> None:
    origin = {"latitude": 29.5, "longitude": -95.0, "altitude": 10.0}
    state = WorldCoordinate(ned=np.array([1.0, 2.0, 3.0]), origin_lla=np.zeros(3))
    graph = SceneGraph((SceneEntity("entity_0", world_coordinate=state),), {"origin": origin})
    whole, problems = consistent(graph)
    [entity] = whole.entities
    assert entity.world_coordinate is not None
    assert entity.world_coordinate.origin_lla is not None
    assert entity.world_coordinate.origin_lla.tolist() == [29.5, -95.0, 10.0]
    assert entity.world_coordinate.lla == pytest.approx(pymap3d.ned2geodetic(1, 2, 3, 29.5, -95.0, 10.0), abs=1e-9)
    assert [problem.key.rpartition(".")[2] for problem in problems] == ["origin_lla"]


def test_east_north_up_in_ned_is_reported() -> None:
    """AeroSim's update system writes (E, U, -N) there."""
    origin = (29.5, -95.0, 10.0)
    lla = pymap3d.ned2geodetic(100, 200, -50, *origin)
    state = WorldCoordinate(ned=np.array([200.0, 50.0, -100.0]), lla=np.array(lla), origin_lla=np.array(origin))
    [entity], [problem] = (
        (part := consistent(SceneGraph((SceneEntity("e", world_coordinate=state),))))[0].entities,
        part[1],
    )
    assert "ned: (200, 50, -100) is" in str(problem)
    assert entity.world_coordinate is not None
    assert entity.world_coordinate.ned == pytest.approx([100, 200, -50], abs=1e-5)


def test_without_an_origin_nothing_is_computed() -> None:
    graph = SceneGraph((SceneEntity("e", world_coordinate=WorldCoordinate(ned=np.ones(3))),))
    assert origin_of(graph) is None
    assert consistent(graph) == (graph, [])
    assert json.dumps(graph.resources) == "{}"
