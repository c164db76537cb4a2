"""Earth gravity from the spherical harmonics of EGM2008, or of another model in a file.

Pavlis et al., The development and evaluation of the Earth Gravitational Model 2008, J. Geophys. Res. 117, 2012. The
shipped coefficients are the first 70 degrees of the tide-free, public-domain model of the NGA.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from sim_node.extensions.elodin.errors import EcsError, caller
from sim_node.extensions.elodin.jax_setup import jax, jnp

Array = npt.NDArray[np.float64]
SHIPPED = Path(__file__).with_name("egm2008_70.npz")
# The files of Elodin's cache: coefficients (n, n) by degree and order.
C_FILE, S_FILE = "C_normal.npy", "S_normal.npy"


def _get_cache_dir() -> str:
    """Return the folder where Elodin keeps downloads, such as its coefficients. It may not exist."""
    return str(Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "elodin-cli")


class _Harmonics(NamedTuple):
    """Fully normalized coefficients of a gravity field.

    Attributes:
        mu: Gravitational parameter, m^3/s^2.
        radius: Reference radius, m.
        c: Coefficients (n, n) of cosines, by degree and order.
        s: Coefficients (n, n) of sines.
    """

    mu: float
    radius: float
    c: Array
    s: Array


class EGM08:
    """Earth gravity up to a given degree of its spherical harmonics, in Earth-fixed axes.

    Args:
        max_degree: The highest degree and order; at most 70 without a file.
        cache_directory: A folder that may have `C_normal.npy` and `S_normal.npy`, the coefficients for Elodin. Nothing
            is downloaded.
        path: A model in a file of ICGEM's format (.gfc), with its own constants.
        compat: "elodin" to reproduce Elodin 0.16, whose sum is wrong in the terms that depend on longitude and omits
            the highest degree.

    Raises:
        EcsError: The degree is not a whole number of at least 0 or exceeds the coefficients, or a file is invalid.
    """

    def __init__(
        self,
        max_degree: int,
        cache_directory: str | os.PathLike[str] = "",
        path: str | os.PathLike[str] | None = None,
        compat: str | None = None,
    ) -> None:
        if isinstance(max_degree, bool) or max_degree != int(max_degree) or max_degree < 0:
            raise EcsError(f"max_degree: {max_degree!r} is not a whole number of at least 0", caller(), "EGM08")
        if compat not in (None, "elodin"):
            raise EcsError(f"compat: {compat!r} is unknown; known: elodin", caller(), "EGM08")
        self.max_degree = degree = int(max_degree)
        model, source = _read(Path(cache_directory or "."), None if path is None else Path(path), degree)
        if min(len(model.c), len(model.s)) <= degree:
            message = f"max_degree: {degree}; {source} ends at {len(model.c) - 1}"
            more = f"; more are in a .gfc file (path=), or {C_FILE} and {S_FILE} in the cache_directory"
            raise EcsError(message + (more if source == SHIPPED.name else ""), caller(), "EGM08")
        size = degree + 1
        self._c, self._s = model.c[:size, :size], model.s[:size, :size]
        self.mu_earth, self.r_ref = model.mu, model.radius
        self._last, self._weights = degree, _Weights.of(size)
        if compat == "elodin":
            self.mu_earth, self.r_ref = 3.986004418e14, 6.378e6
            self._last = degree - 1
            self._weights = self._weights.of_elodin()

    def compute_field(self, x: Any, y: Any, z: Any, mass: Any) -> Any:
        """Return the force of gravity on a mass.

        Pines, Uniform representation of the gravitational potential and its derivatives, AIAA J. 11, 1973: there is no
        singularity at the poles.

        Args:
            x: Earth-centred, Earth-fixed position towards the Greenwich meridian, m.
            y: Position towards 90 degrees east, m.
            z: Position towards the north pole, m.
            mass: The mass, kg.

        Returns:
            The force (3,), N.
        """
        r = jnp.sqrt(x**2 + y**2 + z**2)
        s, t, u = x / r, y / r, z / r
        legendre, size, weights = self._legendre(u), self.max_degree + 1, self._weights
        powers = jnp.concatenate([jnp.ones(1), jnp.cumprod(jnp.full(self.max_degree, s + 1j * t))])
        real, imaginary = powers.real, powers.imag
        real_1, imaginary_1 = (jnp.concatenate([jnp.zeros(1), each[:-1]]) for each in (real, imaginary))
        degrees = np.arange(size)
        scale = jnp.where(degrees <= self._last, self.mu_earth / r**2 * (self.r_ref / r) ** degrees, 0.0)[:, None]
        plain, above, next_above = legendre[:-1, :-1], legendre[:-1, 1:], legendre[1:, 1:]
        longitude = self._c * real + self._s * imaginary
        a_1 = jnp.sum(scale * plain * weights.order * (self._c * real_1 + self._s * imaginary_1))
        a_2 = jnp.sum(scale * plain * weights.order * (self._s * real_1 - self._c * imaginary_1))
        a_3 = jnp.sum(scale * above * weights.up * longitude)
        a_4 = -jnp.sum(scale * next_above * weights.out * longitude)
        return mass * jnp.stack([a_1 + s * a_4, a_2 + t * a_4, a_3 + u * a_4])

    def _legendre(self, u: Any) -> Any:
        """Return the normalized derived Legendre functions (n + 1, n + 1) for degrees and orders up to n."""
        weights = self._weights

        def row(before: tuple[Any, Any], of: tuple[Any, ...]) -> tuple[tuple[Any, Any], Any]:
            diagonal, first, second = of
            this = diagonal + u * first * before[0] - second * before[1]
            return (this, before[0]), this

        none = jnp.zeros(self.max_degree + 2)
        _, rows = jax.lax.scan(row, (none, none), (weights.diagonal, weights.first, weights.second))
        return rows


class _Weights(NamedTuple):
    """Factors of the recursion (n + 1, n + 1) and of the sums (n, n), by degree and order."""

    diagonal: Array
    first: Array
    second: Array
    order: Array
    up: Array
    out: Array

    @classmethod
    def of(cls, size: int) -> _Weights:
        """Return the factors for degrees below a size."""
        degree, order = np.meshgrid(np.arange(size + 1.0), np.arange(size + 1.0), indexing="ij")
        each = np.arange(1.0, size + 1.0)
        double = np.where(order == 0, 1.0, 2.0)
        below = degree > order
        with np.errstate(divide="ignore", invalid="ignore"):
            first = np.sqrt((2 * degree + 1) * (2 * degree - 1) / ((degree + order) * (degree - order)))
            second = (degree + order - 1) * (degree - order - 1) * (2 * degree + 1)
            second = np.sqrt(second / ((2 * degree - 3) * (degree + order) * (degree - order)))
        diagonal = np.cumprod([1.0, *np.sqrt((2 * each + 1) / (2 * each) * np.where(each == 1, 2.0, 1.0))])
        up = np.sqrt(np.maximum((degree - order) * (degree + order + 1), 0.0) * double / 2.0)
        out = np.sqrt((degree + order + 2) * (degree + order + 1) * (2 * degree + 1) / (2 * degree + 3) * double / 2.0)
        inside = (slice(size), slice(size))
        return cls(
            np.diag(diagonal),
            np.where(below, first, 0.0),
            np.where(degree > order + 1, second, 0.0),
            *(each[inside] for each in (order, up, out)),
        )

    def of_elodin(self) -> _Weights:
        """Return the factors of Elodin, which count orders from 1 and omit the highest."""
        wrong = np.where(self.order < len(self.order) - 1, self.order + 1.0, 0.0)
        return self._replace(order=wrong, up=self.up * wrong, out=self.out * wrong)


def _read(folder: Path, path: Path | None, degree: int) -> tuple[_Harmonics, str]:
    """Return the coefficients up to at least a degree, if available, and their source. Raises EcsError."""
    mu, radius = 3.986004415e14, 6378136.3
    source: Path = path or folder / C_FILE
    try:
        if path is not None:
            return _gfc(path, degree), str(path)
        if source.is_file():
            c, s = (np.load(folder / name).astype(np.float64) for name in (C_FILE, S_FILE))
            return _Harmonics(mu, radius, c, s), str(source)
        source = SHIPPED
        with np.load(SHIPPED) as shipped:
            return _Harmonics(mu, radius, shipped["c"], shipped["s"]), SHIPPED.name
    except KeyError as error:
        raise EcsError(f"{source}: has no {error.args[0]}", caller(), "EGM08") from None
    except (OSError, ValueError) as error:
        raise EcsError(f"{source}: {error}", caller(), "EGM08") from None


def _gfc(path: Path, degree: int) -> _Harmonics:
    """Read the ICGEM format: Barthelmes and Foerste, The ICGEM-format, 2011. Raises OSError, ValueError, KeyError."""
    words: dict[str, str] = {}
    with path.open(encoding="utf-8", errors="replace") as file:
        lines = enumerate(file, 1)
        for _, line in lines:
            parts = line.split()
            if parts[:1] == ["end_of_head"]:
                break
            if len(parts) >= 2:
                words[parts[0]] = parts[1]
        else:
            raise ValueError("has no end_of_head, as files of ICGEM's format have")
        if words.get("norm", "fully_normalized") != "fully_normalized":
            raise ValueError(f"norm is {words['norm']}; allowed: fully_normalized")
        highest = min(int(words["max_degree"]), degree)
        c, s = np.zeros((2, highest + 1, highest + 1))
        for number, line in lines:
            parts = line.replace("D", "e").replace("d", "e").split()
            if not parts or parts[0] not in ("gfc", "gfct"):
                continue
            try:
                row, column = int(parts[1]), int(parts[2])
                if row <= highest and column <= row:
                    c[row, column], s[row, column] = float(parts[3]), float(parts[4])
            except (IndexError, ValueError):
                raise ValueError(f"line {number}: {line.strip()[:60]!r} is no coefficient") from None
    numbers = {
        name: float(words[name].replace("D", "e").replace("d", "e")) for name in ("earth_gravity_constant", "radius")
    }
    return _Harmonics(numbers["earth_gravity_constant"], numbers["radius"], c, s)
