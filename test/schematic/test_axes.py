"""Formulas in NED and ECEF against pymap3d and scipy: conversions, and what is drawn in the fixed frame."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pymap3d
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from sim_node.viewing.cameras import ViewportCamera
from sim_node.viewing.drawn_objects import drawing_of
from sim_node.viewing.schematic import FormulaSignal, UnknownName, bound, formula, read_schematic
from sim_node.viewing.schematic.binding import bound_vector
from sim_node.viewing.schematic.model import VectorArrow
from sim_node.world import WorldError, WorldWarning, load

ORIGIN = (47.4, 8.5, 400.0)
NED_IN_ENU = Rotation.from_matrix([[0, 1, 0], [1, 0, 0], [0, 0, -1]])
# The rotation of components in ECEF into ENU, from its definition.
ECEF_IN_ENU = Rotation.from_matrix(np.array([pymap3d.ecef2enuv(*axis, *ORIGIN[:2]) for axis in np.eye(3)]).T)
TURNS = {"ENU": Rotation.identity(), "NED": NED_IN_ENU, "ECEF": ECEF_IN_ENU}


class OnEarth:
    """A scope with an origin and no names."""

    def __init__(self, origin: tuple[float, float, float] | None = ORIGIN) -> None:
        self.origin = origin

    def find(self, name: str) -> FormulaSignal | None:
        return None

    def names(self) -> Iterable[str]:
        return ()


def value(text: str, origin: tuple[float, float, float] | None = ORIGIN) -> np.ndarray:
    return bound(formula(text), OnEarth(origin)).read()


def row(*numbers: float) -> str:
    return f"({', '.join(f'{each:.9f}' for each in numbers)})"


metres = st.tuples(*[st.integers(-50_000, 50_000)] * 3)


@given(metres)
def test_positions_are_converted_as_pymap3d_converts_them(east_north_up: tuple[int, int, int]) -> None:
    east, north, up = east_north_up
    ecef = pymap3d.enu2ecef(east, north, up, *ORIGIN)
    assert value(f"{row(*ecef)}.ecef_to_enu()") == pytest.approx([east, north, up], abs=1e-4)
    assert value(f"{row(*ecef)}.ecef_to_ned()") == pytest.approx([north, east, -up], abs=1e-4)
    assert value(f"{row(north, east, -up)}.ned_to_ecef()") == pytest.approx(ecef, abs=1e-4)
    assert value(f"{row(east, north, up)}.enu_to_ecef()") == pytest.approx(ecef, abs=1e-4)
    assert value(f"{row(north, east, -up)}.ned_to_enu()", None) == pytest.approx([east, north, up], abs=1e-9)
    assert value(f"{row(east, north, up)}.enu_to_ned()", None) == pytest.approx([north, east, -up], abs=1e-9)


@pytest.mark.parametrize("source", TURNS)
@pytest.mark.parametrize("target", TURNS)
def test_vectors_and_attitudes_are_turned_alone(source: str, target: str) -> None:
    if source == target:
        return
    turn = TURNS[target].inv() * TURNS[source]
    name = f"{source}_to_{target}".lower()
    assert value(f"(1.0, -2.0, 5.0).{name}_vector()") == pytest.approx(turn.apply([1.0, -2.0, 5.0]), abs=1e-9)
    attitude = Rotation.from_euler("ZYX", [0.4, -0.2, 0.1])
    pose = value(f"{row(*attitude.as_quat(), 10.0, 20.0, 30.0)}.{name}()")
    assert (Rotation.from_quat(pose[:4]).inv() * turn * attitude).magnitude() < 1e-7
    assert pose[4:] == pytest.approx(value(f"(10.0, 20.0, 30.0).{name}()"), abs=1e-6)


def test_positions_in_ecef_need_an_origin_in_formulas() -> None:
    with pytest.raises(
        UnknownName, match="ecef_to_enu needs the origin of the world on Earth, or coordinate lat= lon="
    ):
        value("(1, 2, 3).ecef_to_enu()", None)
    with pytest.raises(UnknownName, match="ned_to_enu_vector applies to 3 numbers, found 7"):
        value("(0, 0, 0, 1, 1, 2, 3).ned_to_enu_vector()")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("(0.5, 2).arccos()", [np.arccos(0.5), 0.0]),  # beyond 1 as at 1, like Elodin's
        ("(3, -1).atan2(2)", [np.arctan2(3, 2), np.arctan2(-1, 2)]),
        ("(3, -1, 0.5).clip(0, 1)", [1.0, 0.0, 0.5]),
        # Half a turn about z: ahead is behind.
        ("(0, 0, 1, 0, 7, 8, 9).direction(1, 0, 2)", [-1.0, 0.0, 2.0]),
    ],
)
def test_functions_of_numbers_and_of_attitudes(text: str, expected: list[float]) -> None:
    assert value(text) == pytest.approx(expected, abs=1e-12)


def drawn(text: str, origin: tuple[float, float, float] | None = ORIGIN) -> np.ndarray:
    """Poses (K, 7) in the fixed frame of what a text draws."""
    return drawing_of(read_schematic(text), OnEarth(origin)).poses()


def test_objects_have_the_axes_of_coordinate_unless_they_name_others() -> None:
    poses = drawn(
        """
        object_3d "(0,0,0,1, 1,2,-3)" { sphere radius=1; }
        object_3d frame=enu "(1,2,3)" { sphere radius=1; }
        coordinate frame="NED"
        """
    )
    assert poses[:, :3] == pytest.approx(np.array([[2.0, 1.0, 3.0], [1.0, 2.0, 3.0]]), abs=1e-12)
    assert (Rotation.from_quat(poses[0, 3:]).inv() * NED_IN_ENU).magnitude() < 1e-9
    assert poses[1, 3:] == pytest.approx([0.0, 0.0, 0.0, 1.0])


def test_objects_in_ecef_stand_where_pymap3d_has_them() -> None:
    place = (47.41, 8.52, 1500.0)
    ecef = pymap3d.geodetic2ecef(*place)
    (pose,) = drawn(f'object_3d frame=ECEF frame_orientation=NED "{row(*ecef)}" {{ box x=1 y=2 z=3; }}')
    assert pose[:3] == pytest.approx(pymap3d.geodetic2enu(*place, *ORIGIN), abs=1e-5)
    assert (Rotation.from_quat(pose[3:]).inv() * NED_IN_ENU).magnitude() < 1e-9
    # Without an origin, the fixed frame is where the equator and the first meridian meet.
    (pose,) = drawn('coordinate frame=ECEF\nobject_3d "(6378147, 20, 30)" { sphere radius=1; }', None)
    assert pose[:3] == pytest.approx([20.0, 30.0, 10.0], abs=1e-6)


def test_a_camera_in_ned_is_upright() -> None:
    """The viewport of Elodin's falling ball in NED."""
    text = 'coordinate frame=NED\nviewport pos="(0,0,0,0, 8,2,-4)" look_at="(0,0,0,0, 0,0,-3)"'
    sight = ViewportCamera(read_schematic(text).viewports()[0], OnEarth()).sight()
    assert sight is not None
    assert sight.position == pytest.approx([2.0, 8.0, 4.0])
    assert sight.target == pytest.approx([0.0, 0.0, 3.0])
    assert sight.up == pytest.approx([0.0, 0.0, 1.0])
    # Riding an attitude, north; and with a direction that is up: east.
    for more, up in (("", [0.0, 0.0, 1.0]), ('up="(0, 1, 0)"', [1.0, 0.0, 0.0])):
        (viewport,) = read_schematic(f'viewport frame=NED pos="(0,0,0,1, 0,0,0)" {more}').viewports()
        sight = ViewportCamera(viewport, OnEarth()).sight()
        assert sight is not None
        assert sight.target - sight.position == pytest.approx([0.0, 1.0, 0.0], abs=1e-12)
        assert sight.up == pytest.approx(up, abs=1e-12)


def test_arrows_have_axes_too() -> None:
    (marker,) = read_schematic('vector_arrow "(3, 4, 5)" frame=NED').markers
    assert isinstance(marker, VectorArrow)
    assert bound_vector(marker.vector, OnEarth(), marker.frame)() == pytest.approx([4.0, 3.0, -5.0])


def test_the_origin_of_a_schematic_is_that_of_its_coordinate() -> None:
    assert read_schematic("coordinate frame=ENU lat=34.72 lon=-86.64 alt=180").origin == (34.72, -86.64, 180.0)
    assert read_schematic("coordinate frame=ENU lat=10 lon=20").origin == (10.0, 20.0, 0.0)
    assert read_schematic("coordinate frame=NED").origin is None


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("coordinate lat=1 lon=2", "s.kdl:1:1: coordinate: needs frame=: ENU, NED, ECEF"),
        ("coordinate frame=ENU lat=1", "s.kdl:1:1: coordinate: needs both lat= and lon="),
        ("coordinate frame=ENU alt=1", "s.kdl:1:1: coordinate: needs both lat= and lon="),
        ("coordinate frame=ECI", "s.kdl:1:18: coordinate.frame: found 'ECI'; allowed: ENU, NED, ECEF"),
        ("coordinate frame=ENU lat=91 lon=0", "s.kdl:1:26: coordinate.lat: found 91; allowed: -90 to 90"),
        ('line_3d "(1,2,3)" frame=GCRF', "s.kdl:1:25: line_3d.frame: found 'GCRF'; allowed: ENU, NED, ECEF"),
    ],
)
def test_other_axes_and_half_an_origin_are_refused(text: str, words: str) -> None:
    with pytest.raises(WorldError) as error:
        read_schematic(text, "s.kdl")
    assert words in str(error.value)


def test_another_body_than_the_earth_is_reported() -> None:
    notes: Any = read_schematic("coordinate frame=ECEF body=moon", "s.kdl").notes
    assert notes == ("s.kdl:1:23: coordinate.body: has no effect here",)


EARTHED = """
world: w
frames: [{{name: a}}]
origin: {{latitude: 47.0, longitude: 8.0, altitude: 400.0}}
schematic: |
  coordinate frame=NED lat={} lon=8.0 alt=400
  object_3d a.world_pos {{ sphere radius=1; }}
"""


def test_an_origin_that_the_world_overrides_is_said_at_its_line(tmp_path: Path) -> None:
    file = tmp_path / "w.yaml"
    file.write_text(EARTHED.format("46.5"))
    with pytest.warns(WorldWarning) as said:
        load(file)
    (line,) = (str(each.message) for each in said)
    assert re.search(
        r"w.yaml:6:3: coordinate: lat, lon, alt 46.5, 8, 400 have no effect; the world's origin is 47, 8, 400", line
    )


def test_an_origin_that_the_world_has_too_is_not_said(tmp_path: Path, recwarn: pytest.WarningsRecorder) -> None:
    file = tmp_path / "w.yaml"
    file.write_text(EARTHED.format("47.0"))
    load(file)
    assert not recwarn.list
