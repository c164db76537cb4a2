"""Ellipsoid and mean sea level, the geoid between them, and the refusal without one."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest

from sim_node.spatial.frames import (
    Altitude,
    InvalidCoordinates,
    VerticalDatum,
    altitude_ellipsoid,
    altitude_msl,
    altitudes,
    convert_altitude,
    geoid_undulation,
)

ELLIPSOID, SEA = VerticalDatum.ELLIPSOID, VerticalDatum.MEAN_SEA_LEVEL
POINTS = Path(__file__).parents[1] / "data" / "egm96_points.csv"

# NGA, EGM96: OUTINTPT.DAT of the distribution of WW15MGH.GRD.
NGA_POINTS = [
    (38.6281550, 269.7791550, -31.628),
    (-14.6212170, 305.0211140, -2.969),
    (46.8743190, 102.4487290, -43.575),
    (-23.6174460, 133.8747120, 15.871),
    (38.6254730, 359.9995000, 50.066),
    (-0.4667440, 0.0023000, 17.329),
]


@pytest.fixture
def only_shipped(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A machine without a finer grid, whatever this one has."""
    monkeypatch.setattr(altitudes, "_package", lambda: None)
    monkeypatch.setattr(altitudes, "_folders", lambda: [])
    altitudes._model.cache_clear()
    yield
    altitudes._model.cache_clear()


@pytest.fixture
def small_grid(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """A file in GeographicLib's format with 10 degrees between points and heights that are linear in latitude.

    Undulation = -108 + 0.003 (20000 + 100 latitude + 300 [90 E]), the last at the meridian of 90 E only.
    """
    heights = np.add.outer(20000 + 100 * np.arange(90, -91, -10), 300 * (np.arange(0, 360, 10) == 90))
    header = b"P5\n# Geoid file in PGM format\n# Offset -108\n# Scale 0.003\n# Origin 90N 0E\n36 19\n65535\n"
    (tmp_path / "egm96-5.pgm").write_bytes(header + heights.astype(">u2").tobytes())
    monkeypatch.setattr(altitudes, "_package", lambda: None)
    monkeypatch.setenv("GEOGRAPHICLIB_GEOID_PATH", str(tmp_path))
    altitudes._model.cache_clear()
    yield
    altitudes._model.cache_clear()


def test_nga_points() -> None:
    """The interpolation is bilinear here, NGA's is a spline: within 1 cm of it with a grid of 5 arc minutes."""
    atol = 0.01 if altitudes._package() or altitudes._file() else 0.3
    latitude, longitude, undulation = np.array(NGA_POINTS).T
    np.testing.assert_allclose(geoid_undulation(latitude, longitude), undulation, rtol=0, atol=atol)
    np.testing.assert_allclose(geoid_undulation(latitude, longitude - 360), undulation, rtol=0, atol=atol)


@pytest.mark.usefixtures("only_shipped")
def test_the_shipped_grid_is_as_near_to_egm96_as_is_stated() -> None:
    """At random points, and where a grid of 15 arc minutes is furthest from one of 5: test/data/README.md."""
    latitude, longitude, undulation = np.loadtxt(POINTS, delimiter=",", skiprows=1).T
    error = np.abs(geoid_undulation(latitude, longitude) - undulation)
    assert error.max() <= 1.1
    anywhere = error[:500]
    assert np.mean(anywhere <= 0.3) >= 0.99
    assert np.sqrt(np.mean(anywhere**2)) <= 0.06


@pytest.mark.usefixtures("only_shipped")
def test_the_shipped_grid_against_the_package_egm96() -> None:
    """The whole Earth at 5 arc minutes, where the package can be had (Python 3.12 or newer)."""
    egm96 = pytest.importorskip("egm96", reason="egm96 needs Python 3.12")
    latitude, longitude = np.meshgrid(np.linspace(-90, 90, 2161), np.linspace(-180, 180, 4321), indexing="ij")
    error = np.abs(geoid_undulation(latitude, longitude) - egm96.undulation(latitude, longitude))
    assert error.max() <= 1.1
    area = np.cos(np.radians(latitude))
    assert (area * (error > 0.3)).sum() / area.sum() <= 0.002


@pytest.mark.parametrize(
    ("latitude", "longitude", "hundreds"),
    [(90, 0, 290), (-90, 123, 110), (0, 0, 200), (45, 30, 245), (-33, 271, 167), (0, 90, 203), (0, 85, 201.5),
     (-5, 92.5, 195 + 0.75 * 3), (12, -270, 215), (10, 359.9, 210), (10, -360, 210), (10, 360, 210)],
)  # fmt: skip
def test_geographiclibs_format(small_grid: None, latitude: int, longitude: float, hundreds: float) -> None:
    """Linear between the points, around the globe's seam and to the poles; by hand."""
    assert geoid_undulation(latitude, longitude) == pytest.approx(-108 + 0.3 * hundreds, abs=1e-9)


def test_signs(small_grid: None) -> None:
    """N = h - H: at 0 N 0 E of this grid the sea stands 48 m below the ellipsoid."""
    np.testing.assert_allclose(altitude_msl([0, 100], 0, 0), [48, 148])
    np.testing.assert_allclose(altitude_ellipsoid([0, 100], 0, 0), [-48, 52])
    np.testing.assert_allclose(convert_altitude(10, SEA, ELLIPSOID, [0, 90], [0, 10]), [-38, -11])
    assert Altitude(100.0, ELLIPSOID).to(SEA, 0, 0).above(SEA) == pytest.approx(148)


def test_unknown_places(small_grid: None) -> None:
    found = geoid_undulation(np.array([[0], [np.nan]]), [0, np.nan])
    np.testing.assert_array_equal(np.isnan(found), [[False, True], [True, True]])


@pytest.mark.parametrize(("latitude", "longitude"), [(91, 0), ([0, -95], 0), (0, 400)])
def test_no_place_on_earth(small_grid: None, latitude: int | Sequence[int], longitude: int) -> None:
    with pytest.raises(InvalidCoordinates, match="swapped, or scaled"):
        geoid_undulation(latitude, longitude)


@pytest.mark.usefixtures("only_shipped")
def test_without_a_finer_grid_altitudes_are_converted() -> None:
    latitude, longitude, undulation = NGA_POINTS[2]
    expected = pytest.approx(500 - undulation, abs=0.3)
    assert altitude_msl(500, latitude, longitude) == expected
    assert Altitude(500.0, ELLIPSOID).to(SEA, latitude, longitude).above(SEA) == expected
    np.testing.assert_array_equal(convert_altitude([500.0], SEA, SEA, 47, 8), [500.0])


def test_a_file_that_is_no_geoid(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "geoids").mkdir()
    (tmp_path / "geoids" / "egm96-5.pgm").write_bytes(b"P5\n# a picture\n2 2\n255\n1234")
    monkeypatch.setattr(altitudes, "_package", lambda: None)
    monkeypatch.delenv("GEOGRAPHICLIB_GEOID_PATH", raising=False)
    monkeypatch.setenv("GEOGRAPHICLIB_DATA", str(tmp_path))
    altitudes._model.cache_clear()
    with pytest.raises(ValueError, match=r"egm96-5\.pgm: not a geoid in GeographicLib's PGM format"):
        geoid_undulation(0, 0)


def test_an_empty_egm96_package_counts_as_none(tmp_path: Path) -> None:
    """egm96 0.1, which pip gives to Pythons before 3.12, has no grid and no function."""
    (tmp_path / "egm96").mkdir()
    (tmp_path / "egm96" / "__init__.py").write_text("")
    code = "from sim_node.spatial.frames import altitudes; raise SystemExit(altitudes._package() is not None)"
    environment = {"PYTHONPATH": f"{tmp_path}:{root()}"}
    assert subprocess.run([sys.executable, "-c", code], env=environment, check=False).returncode == 0


def root() -> str:
    spec = importlib.util.find_spec("sim_node")
    assert spec is not None
    assert spec.submodule_search_locations is not None
    return spec.submodule_search_locations[0].removesuffix("sim_node")


def test_a_datum_is_asked_for() -> None:
    with pytest.raises(TypeError, match="'msl' is not a VerticalDatum"):
        convert_altitude(1, "msl", ELLIPSOID, 0, 0)  # type: ignore[arg-type]
