"""Earth's field against the values that are published with the World Magnetic Model."""

from __future__ import annotations

import numpy as np
import pytest

from sim_node.simulation.sensors.magnetometer import field, field_around
from sim_node.spatial.frames import Frame, convert_position, convert_velocity
from sim_node.world import Origin

# Chulliat et al., The US/UK World Magnetic Model for 2025-2030, NOAA NCEI, 2024, table of test values:
# year, km above the ellipsoid, latitude, longitude, declination.
PUBLISHED = [
    (2025.0, 0.0, 80.0, 0.0, 1.28),
    (2025.0, 0.0, 0.0, 120.0, -0.16),
    (2025.0, 0.0, -80.0, 240.0, 68.78),
    (2025.0, 100.0, 80.0, 0.0, 0.85),
    (2025.0, 100.0, 0.0, 120.0, -0.15),
    (2025.0, 100.0, -80.0, 240.0, 68.21),
    (2027.5, 0.0, 80.0, 0.0, 2.59),
    (2027.5, 0.0, 0.0, 120.0, -0.24),
    (2027.5, 0.0, -80.0, 240.0, 68.49),
    (2027.5, 100.0, 80.0, 0.0, 2.16),
    (2027.5, 100.0, 0.0, 120.0, -0.23),
    (2027.5, 100.0, -80.0, 240.0, 67.93),
]


@pytest.mark.parametrize(("year", "height", "latitude", "longitude", "declination"), PUBLISHED)
def test_declination_is_the_published_one(
    year: float, height: float, latitude: float, longitude: float, declination: float
) -> None:
    east, north, _ = field(latitude, longitude, height * 1e3, year)
    assert np.degrees(np.arctan2(east, north)) == pytest.approx(declination, abs=0.0051)


def test_the_field_points_into_the_ground_in_the_north_and_out_of_it_in_the_south() -> None:
    """Some 50 and 60 microtesla strong, by the model's charts of 2025."""
    zurich, hobart = field(47.4, 8.5, 0.0, 2025.0), field(-42.9, 147.3, 0.0, 2025.0)
    assert zurich[2] < 0 < hobart[2]
    assert np.linalg.norm(zurich) == pytest.approx(48.5e-6, abs=1e-6)
    assert np.linalg.norm(hobart) == pytest.approx(61.5e-6, abs=1e-6)


@pytest.mark.parametrize("latitude", [0.0, 47.397742, -33.9, 85.0])
@pytest.mark.parametrize(("distance", "tolerance"), [(1e4, 1e-9), (1e5, 1e-7)])
def test_the_field_around_a_place_is_near_that_of_the_model(latitude: float, distance: float, tolerance: float) -> None:
    origin = Origin(latitude, 8.545594, 488.0)
    around = field_around(origin, 2026.5)
    here = (origin.latitude, origin.longitude, origin.altitude)
    np.testing.assert_allclose(around.at(np.zeros(3)), field(*here, 2026.5), rtol=1e-12)
    for offset in distance * np.array([[1.0, 0, 0], [0, -1, 0], [0.6, 0.6, 0.1], [-0.5, 0.5, 0.5]]):
        place = convert_position(offset, Frame.ENU, Frame.LLA, here)
        through = convert_velocity(field(place[0], place[1], place[2], 2026.5), Frame.ENU, Frame.ECEF, place)
        expected = convert_velocity(through, Frame.ECEF, Frame.ENU, here)
        assert np.linalg.norm(around.at(offset) - expected) < tolerance
