"""Forces of a World on its bodies, and the wind that it has; frozen data."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from sim_node.geometry.arrays import FloatArray
from sim_node.world.fields import floats, same
from sim_node.world.problems import NO_PLACE, Place
from sim_node.world.writers.values import seconds

# Whose axes a constant force keeps to.
AXES = ("fixed", "body")
# How much of a body is under at a depth: that of an upright box (or cylinder), or of a sphere.
SUBMERGED = ("box", "sphere")
FRESH_WATER = 1000.0


def _zeros() -> FloatArray:
    return np.zeros(3)


@dataclass(frozen=True, slots=True, eq=False)
class Force:
    """What pushes one body. place: where a file names that body."""

    body: str
    place: Place = field(default=NO_PLACE, kw_only=True)

    def __eq__(self, other: object) -> bool:
        return same(self, other)

    __hash__ = None  # type: ignore[assignment]

    def data(self) -> dict[str, Any]:
        """Return what a world file says of it: its type, and the fields that are not None.

        Raises NotImplementedError for a type that has no words in world files.
        """
        raise NotImplementedError

    def _set(self, *keys: str) -> None:
        """Keeps vectors (3,) read-only; None stays."""
        for key in keys:
            value: npt.ArrayLike | None = getattr(self, key)
            if value is not None:
                object.__setattr__(self, key, floats(value, (3,), self.body, key))


@dataclass(frozen=True, slots=True, eq=False)
class ConstantForce(Force):
    """A force (3,) in N at a point of the body, and a torque (3,) in N m. Raises ValueError for another shape.

    axes: one of AXES, in which both keep still; point (3,): in the body, m; None is its centre of mass. It acts in
    the timesteps that begin from start_ns on and before end_ns; None is from the start, and for ever.
    """

    force: FloatArray = field(default_factory=_zeros)
    torque: FloatArray = field(default_factory=_zeros)
    point: FloatArray | None = None
    axes: str = "fixed"
    start_ns: int | None = None
    end_ns: int | None = None

    def __post_init__(self) -> None:
        self._set("force", "torque", "point")

    def data(self) -> dict[str, Any]:
        """Return the words of a constant force."""
        times = {"from": self.start_ns, "until": self.end_ns}
        return {
            **_words("constant", self, "force", "torque", "point", "axes"),
            **{key: seconds(time_ns) for key, time_ns in times.items() if time_ns is not None},
        }


@dataclass(frozen=True, slots=True, eq=False)
class Drag(Force):
    """Resistance of the air, or of another fluid. Raises ValueError for arrays of another shape.

    The force is -(linear + quadratic |v|) v, the torque -(angular_linear + angular_quadratic |w|) w, axis by axis of
    the body: v is the velocity of `center` relative to the wind, w the body's rate of turn; coefficients (3,) in
    N s/m, N s^2/m^2, N m s/rad, N m s^2/rad^2. center (3,): in the body, m; None is its centre of mass.
    """

    linear: FloatArray = field(default_factory=_zeros)
    quadratic: FloatArray = field(default_factory=_zeros)
    angular_linear: FloatArray = field(default_factory=_zeros)
    angular_quadratic: FloatArray = field(default_factory=_zeros)
    center: FloatArray | None = None

    def __post_init__(self) -> None:
        self._set("linear", "quadratic", "angular_linear", "angular_quadratic", "center")

    def data(self) -> dict[str, Any]:
        """Return the words of drag."""
        return _words("drag", self, "linear", "quadratic", "angular_linear", "angular_quadratic", "center")


@dataclass(frozen=True, slots=True, eq=False)
class Buoyancy(Force):
    """The weight of the fluid that a body displaces, upwards. Raises ValueError for a centre of another shape.

    volume (m^3), density of the fluid (kg/m^3), surface: its height in the fixed frame (m). center (3,): of buoyancy,
    in the body (m); None is its centre of mass. height (m): from where the body is all under to where it is all out,
    about the centre; shape: one of SUBMERGED, how much of it is under in between.
    """

    volume: float = 0.0
    height: float = 1.0
    density: float = FRESH_WATER
    surface: float = 0.0
    center: FloatArray | None = None
    shape: str = "box"

    def __post_init__(self) -> None:
        self._set("center")

    def data(self) -> dict[str, Any]:
        """Return the words of buoyancy."""
        return _words("buoyancy", self, "volume", "height", "density", "surface", "center", "shape")


def _words(kind: str, force: Force, *keys: str) -> dict[str, Any]:
    return {"type": kind, "body": force.body, **{key: getattr(force, key) for key in keys}}


@dataclass(frozen=True, slots=True, eq=False)
class Gusts:
    """Turbulence of the Dryden model, MIL-F-8785C. Raises ValueError for arrays of another shape.

    intensity (3,): standard deviations along the mean wind, across it and upwards, m/s; scale_length (3,): L_u, L_v,
    L_w, m; speed: at which the turbulence is met, m/s: its correlation times are scale_length / speed.
    """

    intensity: FloatArray
    scale_length: FloatArray
    speed: float

    def __post_init__(self) -> None:
        for key in ("intensity", "scale_length"):
            object.__setattr__(self, key, floats(getattr(self, key), (3,), "gusts", key))

    def __eq__(self, other: object) -> bool:
        return same(self, other)

    __hash__ = None  # type: ignore[assignment]


@dataclass(frozen=True, slots=True, eq=False)
class Wind:
    """Air that moves. Raises ValueError for a velocity of another shape.

    velocity (3,): the mean, in the fixed frame, m/s, at `reference_height` (m, of the fixed frame); elsewhere it is
    that times (z / reference_height)^exponent (the power law of the boundary layer, 0 for the same everywhere), and
    none below 0. Gusts are the same everywhere.
    """

    velocity: FloatArray
    exponent: float = 0.0
    reference_height: float = 10.0
    gusts: Gusts | None = None
    place: Place = NO_PLACE

    def __post_init__(self) -> None:
        object.__setattr__(self, "velocity", floats(self.velocity, (3,), "wind", "velocity"))

    def __eq__(self, other: object) -> bool:
        return same(self, other)

    __hash__ = None  # type: ignore[assignment]
