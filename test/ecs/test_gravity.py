"""The gravity of the Earth: harmonics of EGM2008, of models in files, and J2."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nightly import only

import sim_node.extensions.elodin as el
from sim_node.extensions.elodin import compat, egm08, j2

# By brahe 1.8 (Cunningham's recursion) and its own copy of EGM2008: position, m, degree, acceleration, m/s^2.
OF_BRAHE = [
    ([6525919.0, 1710416.0, 2508886.0], 20, [-6.979262555192183, -1.8292834367109603, -2.6899896939796037]),
    ([6525919.0, 1710416.0, 2508886.0], 70, [-6.979260741072127, -1.8292848686608318, -2.6899853488036944]),
    ([-1234567.0, -5500000.0, 3900000.0], 36, [1.5266380170118692, 6.801291427347174, -4.836303054005283]),
    ([12345678.0, -23456789.0, -3456789.0], 8, [-0.25763642373171036, 0.48950972940736737, 0.07215152614465631]),
    ([100.0, -200.0, 6800000.0], 50, [-2.725827692942117e-05, 0.00022813634579440864, -8.595777781307076]),
]
HEAD = """product_type gravity_field
earth_gravity_constant 3.986004418D+14
radius 6.378E+06
max_degree {degree}
norm fully_normalized
key L M C S sigma
end_of_head ====================
gfc 0 0 1.0 0.0 0.0
"""


@pytest.fixture(scope="module")
def gradient_of() -> Any:
    """The gradient (3, 3) of the gravity at a position: traced and compiled once for all positions."""
    model = egm08.EGM08(12)
    return jax.jit(jax.jacfwd(lambda p: model.compute_field(p[0], p[1], p[2], 1.0)))


def points() -> st.SearchStrategy[np.ndarray[Any, Any]]:
    """Positions above the ground, also above the poles, m."""
    directions = st.tuples(*[st.floats(-1, 1)] * 3).filter(lambda v: np.linalg.norm(v) > 0.1)
    heights = st.floats(1.0, 7.0)
    return st.builds(lambda v, h: np.array(v) / np.linalg.norm(v) * h * 6378136.3, directions, heights)


@pytest.mark.parametrize(("position", "degree", "expected"), only(OF_BRAHE, 2, 3))
def test_the_field_is_that_of_another_library(position: list[float], degree: int, expected: list[float]) -> None:
    found = np.asarray(egm08.EGM08(degree).compute_field(position[0], position[1], position[2], 1.0))
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-13 * 9.8)


@settings(max_examples=20, deadline=None)
@given(points())
def test_the_field_has_neither_sources_nor_eddies(gradient_of: Any, position: np.ndarray[Any, Any]) -> None:
    """Above the Earth the gradient of gravity is symmetric, and its trace is zero (Laplace)."""
    gradient = np.asarray(gradient_of(jnp.asarray(position)))
    scale = np.abs(gradient).max()
    np.testing.assert_allclose(gradient, gradient.T, atol=1e-12 * scale)
    assert abs(np.trace(gradient)) < 1e-12 * scale


J2 = j2.J2()


def potential_of_j2(p: Any) -> Any:
    """U = mu / r (1 - J2 (R / r)^2 (3 sin^2 - 1) / 2): Montenbruck and Gill, Satellite Orbits, equation 3.13."""
    r = jnp.linalg.norm(p)
    return J2.mu_earth / r * (1 - J2.J2 * (J2.r_ref / r) ** 2 * (3 * (p[2] / r) ** 2 - 1) / 2)


PULL_OF_J2 = jax.jit(jax.grad(potential_of_j2))


@given(points(), st.floats(0.1, 1e4))
def test_j2_is_the_gradient_of_its_potential(position: np.ndarray[Any, Any], mass: float) -> None:
    expected = mass * np.asarray(PULL_OF_J2(jnp.asarray(position)))
    found = np.asarray(J2.compute_field(position[0], position[1], position[2], mass))
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12 * mass)


def test_a_file_with_the_second_zonal_harmonic_alone_gives_j2(tmp_path: Path) -> None:
    file = tmp_path / "j2.gfc"
    text = f"gfc 2 0 {-1.08262668e-3 / 5.0**0.5!r} 0.0 0.0\n".replace("e-", "d-")
    file.write_text(HEAD.format(degree=2) + text)
    of_file = egm08.EGM08(2, path=file)
    for position in ((7e6, 1e6, -2e6), (0.0, 1.0, 6.6e6)):
        expected = j2.J2().compute_field(*position, 3.0)
        np.testing.assert_allclose(of_file.compute_field(*position, 3.0), expected, rtol=1e-14)


def test_coefficients_in_the_cache_of_elodin_are_used(tmp_path: Path) -> None:
    c = np.zeros((4, 4))
    c[0, 0] = 2.0
    np.save(tmp_path / "C_normal.npy", c)
    np.save(tmp_path / "S_normal.npy", np.zeros((4, 4)))
    found = egm08.EGM08(3, cache_directory=tmp_path).compute_field(7e6, 0.0, 0.0, 1.0)
    np.testing.assert_allclose(found, [-2 * 3.986004415e14 / 7e6**2, 0.0, 0.0], rtol=1e-14)


@pytest.mark.parametrize("make", [lambda: egm08.EGM08(20, compat="elodin"), lambda: compat.egm08.EGM08(20)])
def test_elodins_numbers_are_given_on_request(make: Any) -> None:
    """By elodin 0.16.2 itself, with the coefficients of EGM2008 in its cache."""
    expected = [-6.979610494395848, -1.829399217834013, -2.690053737789153]
    np.testing.assert_allclose(make().compute_field(6525919.0, 1710416.0, 2508886.0, 1.0), expected, rtol=1e-14)


def test_worlds_of_compat_have_elodins_numbers() -> None:
    assert compat.World().compat == compat.World.from_file("cart_pole").compat == "elodin"
    assert compat.Body is el.Body


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "has no end_of_head"),
        (HEAD.format(degree=4).replace("fully_normalized", "unnormalized"), "norm is unnormalized"),
        (HEAD.format(degree=1), r"max_degree: 4; .*wrong\.gfc ends at 1"),
        (HEAD.format(degree=4) + "gfc 2 0 nothing", "line 9: 'gfc 2 0 nothing' is no coefficient"),
        (HEAD.format(degree=4).replace("radius", "diameter"), "has no radius"),
    ],
)
def test_a_wrong_file_is_one_error(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "wrong.gfc"
    file.write_text(text)
    with pytest.raises(el.EcsError, match=message) as error:
        egm08.EGM08(4, path=file)
    assert "test_gravity.py" in str(error.value)


def test_what_the_shipped_table_lacks_is_said() -> None:
    with pytest.raises(el.EcsError, match=r"max_degree: 71; egm2008_70\.npz ends at 70; more are in a \.gfc file"):
        egm08.EGM08(71)
    with pytest.raises(el.EcsError, match=r"max_degree: 2\.5 is not a whole number"):
        egm08.EGM08(2.5)  # type: ignore[arg-type]
    with pytest.raises(el.EcsError, match=r"no\.gfc"):
        egm08.EGM08(2, path="no.gfc")
