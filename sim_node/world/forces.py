"""Forces of a World on its bodies, and its wind, as frozen data."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from sim_node.geometry.arrays import FloatArray
from sim_node.world.fields import floats, same
from sim_node.world.problems import NO_PLACE, Place
from sim_node.world.writers.values import seconds

# The frames in which a constant force may be constant.
AXES = ("fixed", "body")
# How the submerged volume depends on depth: as for an upright box (or cylinder), or as for a sphere.
SUBMERGED = ("box", "sphere")
FRESH_WATER = 1000.0


def _zeros() -> FloatArray:
    return np.zeros(3)


@dataclass(frozen=True, slots=True, eq=False)
class Force:
    """Base class of forces on a body.

    Attributes:
        body: The name of the body.
        place: Where the file names the body.
    """

    body: str
    place: Place = field(default=NO_PLACE, kw_only=True)

    def __eq__(self, other: object) -> bool:
        return same(self, other)

    __hash__ = None  # type: ignore[assignment]

    def data(self) -> dict[str, Any]:
        """Return the force as data of a world file.

        Returns:
            Its type, and its fields. None stands for a missing one.

        Raises:
            NotImplementedError: World files cannot express this type.
        """
        raise NotImplementedError

    def _set(self, *keys: str) -> None:
        """Make vectors (3,) read-only. None stays None."""
        for key in keys:
            value: npt.ArrayLike | None = getattr(self, key)
            if value is not None:
                object.__setattr__(self, key, floats(value, (3,), self.body, key))


@dataclass(frozen=True, slots=True, eq=False)
class ConstantForce(Force):
    """A constant force and torque, in the timesteps that begin from `start_ns` on and before `end_ns`.

    Attributes:
        body: The name of the body.
        place: Where the file names the body.
        force: Force (3,), N.
        torque: Torque (3,), N m.
        point: Point of application (3,) in the body, m; None for the centre of mass.
        axes: Whose axes force and torque are along; one of AXES.
        start_ns: Start (ns); None for the start of the run.
        end_ns: End (ns); None for no end.

    Raises:
        ValueError: An array has the wrong shape.
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
        """Return the data of a constant force."""
        times = {"from": self.start_ns, "until": self.end_ns}
        return {
            **_fields("constant", self, "force", "torque", "point", "axes"),
            **{key: seconds(time_ns) for key, time_ns in times.items() if time_ns is not None},
        }


@dataclass(frozen=True, slots=True, eq=False)
class Drag(Force):
    """Resistance of the air, or of another fluid.

    The force is -(linear + quadratic |v|) v, the torque is -(angular_linear + angular_quadratic |w|) w, for each axis
    of the body. v is the velocity of `center` relative to the wind, w the angular velocity of the body.

    Attributes:
        body: The name of the body.
        place: Where the file names the body.
        linear: Coefficients (3,), N s/m.
        quadratic: Coefficients (3,), N s^2/m^2.
        angular_linear: Coefficients (3,), N m s/rad.
        angular_quadratic: Coefficients (3,), N m s^2/rad^2.
        center: Where the force acts (3,) in the body, m; None for the centre of mass.

    Raises:
        ValueError: An array has the wrong shape.
    """

    linear: FloatArray = field(default_factory=_zeros)
    quadratic: FloatArray = field(default_factory=_zeros)
    angular_linear: FloatArray = field(default_factory=_zeros)
    angular_quadratic: FloatArray = field(default_factory=_zeros)
    center: FloatArray | None = None

    def __post_init__(self) -> None:
        self._set("linear", "quadratic", "angular_linear", "angular_quadratic", "center")

    def data(self) -> dict[str, Any]:
        """Return the data of drag."""
        return _fields("drag", self, "linear", "quadratic", "angular_linear", "angular_quadratic", "center")


@dataclass(frozen=True, slots=True, eq=False)
class Buoyancy(Force):
    """The weight of the fluid that a body displaces, upwards.

    Attributes:
        body: The name of the body.
        place: Where the file names the body.
        volume: m^3.
        height: Vertical distance, about the centre, between completely submerged and completely out of the fluid (m).
        density: Of the fluid (kg/m^3).
        surface: Height of the surface in the fixed frame (m).
        center: Centre of buoyancy (3,) in the body, m; None for the centre of mass.
        shape: How the submerged volume depends on depth; one of SUBMERGED.

    Raises:
        ValueError: `center` has the wrong shape.
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
        """Return the data of buoyancy."""
        return _fields("buoyancy", self, "volume", "height", "density", "surface", "center", "shape")


def _fields(kind: str, force: Force, *keys: str) -> dict[str, Any]:
    return {"type": kind, "body": force.body, **{key: getattr(force, key) for key in keys}}


@dataclass(frozen=True, slots=True, eq=False)
class Gusts:
    """Turbulence of the Dryden model, MIL-F-8785C.

    Attributes:
        intensity: Standard deviations (3,) along the mean wind, across it and upwards, m/s.
        scale_length: L_u, L_v, L_w (3,), m.
        speed: Speed at which the vehicle flies through the turbulence (m/s): its correlation times are
            scale_length / speed.

    Raises:
        ValueError: An array has the wrong shape.
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
    """Moving air.

    The mean velocity at height z is velocity (z / reference_height)^exponent (the power law of the boundary layer), and
    zero below 0. Gusts are the same everywhere.

    Attributes:
        velocity: Mean velocity (3,) at `reference_height`, in the fixed frame, m/s.
        exponent: 0 for the same velocity everywhere.
        reference_height: In the fixed frame (m).
        gusts: Turbulence, or None.
        place: Where the file describes the wind.

    Raises:
        ValueError: `velocity` has the wrong shape.
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
