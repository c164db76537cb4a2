"""The section `forces`: forces on bodies, the wind, and gravity towards points. A new type is one entry."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import cache, partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import numpy as np

from sim_node.registry import Registry, calling_module
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.text import did_you_mean
from sim_node.world.bounds import MAX_DISTANCE, MAX_FORCE
from sim_node.world.declared import (
    BAD,
    Fault,
    Spread,
    data_of,
    declared,
    faults,
    given,
    keys_of,
    place_of,
    plan_of,
    read,
    read_fields,
    rule,
)
from sim_node.world.fields import same
from sim_node.world.model import World
from sim_node.world.part import PARTS, Kind, Refer, Rename, part
from sim_node.world.problems import NO_PLACE, Place, Problem, quoted, shown_key
from sim_node.world.quantities import ORIGIN, POINT, FrameName, Number, PartOf, PerAxis, Time, Vector, Word
from sim_node.world.readers import keys
from sim_node.world.readers.keys import ANYTHING, Form, Keys, by_key, listing, word
from sim_node.world.readers.yaml_section import Context, section
from sim_node.world.readers.yaml_values import Table, Value
from sim_node.world.writers.values import given as not_none

if TYPE_CHECKING:
    from typing_extensions import Self

# The axes along which a constant force may be constant.
AXES = ("fixed", "body")
# How the submerged volume depends on depth: as for an upright box or cylinder, or as for a sphere.
SUBMERGED = ("box", "sphere")
FRESH_WATER = 1000.0
MAX_WIND_SPEED = 1e3  # m/s
MIN_GUST_SPEED = 1e-2  # m/s
MAX_MU = 1e21  # m^3/s^2; the sun has 1.3e20
MAX_ACCELERATION = 1e4  # m/s^2
_FORCE, _COEFFICIENT = Vector(3, MAX_FORCE), PerAxis(3, MAX_FORCE, 0.0)
_WIND = Vector(3, MAX_WIND_SPEED)
_ALONG = "along the body's axes: one number for all three, or three"


@declared
class Force:
    """Base class of forces on a body."""

    # The name of the type in files; empty if they cannot express it.
    type: ClassVar[str] = ""
    # Whether MuJoCo's solver finds the force, between mj_step1 and mj_step2, which rk4 does not support.
    solved: ClassVar[bool] = False
    # Fields besides `body` that name a body, or a joint by its body; their values may be empty.
    refers: ClassVar[tuple[str, ...]] = ()

    body: str = given(FrameName(), "The body that it acts on")
    place: Place = place_of("body", default=NO_PLACE, kw_only=True)

    def __eq__(self, other: object) -> bool:
        return same(self, other)

    __hash__ = None  # type: ignore[assignment]

    def renamed(self, rename: Rename) -> Self:
        """Return the force on the same bodies, in a world that includes its own.

        Args:
            rename: How names of its own world are changed.

        Returns:
            The force.
        """
        names = ((field, getattr(self, field)) for field in ("body", *self.refers))
        changes: dict[str, Any] = {field: rename.frame(name) for field, name in names if name}
        return replace(self, **changes)

    def data(self) -> dict[str, Any]:
        """Return the force as data of a world file.

        Returns:
            Its type and its fields; None for a missing field.

        Raises:
            NotImplementedError: World files cannot express this type.
        """
        if not self.type:
            raise NotImplementedError
        return {"type": self.type, **data_of(self)}


@declared(needs={"a force or a torque is needed": ("force", "torque")})
class ConstantForce(Force):
    """A constant force and torque, in the timesteps that begin from `start_ns` on and before `end_ns`.

    Raises:
        ValueError: An array has the wrong shape.
    """

    type = "constant"

    force: FloatArray = given(_FORCE, "Force", "N", default=ORIGIN)
    torque: FloatArray = given(_FORCE, "Torque", "N m", default=ORIGIN)
    point: FloatArray | None = given(
        POINT, "Where the force acts, in the body; the centre of mass if not given", "m", default=None
    )
    axes: str = given(Word(AXES), "Whose axes force and torque are along", default="fixed")
    start_ns: int | None = given(Time(), "When it begins; at the start if not given", "s", default=None, key="from")
    end_ns: int | None = given(Time(), "When it ends; never if not given", "s", default=None, key="until")

    @rule
    def ends_after_its_start(self) -> Iterator[Fault]:
        """Yield a fault if it ends before it starts."""
        if self.start_ns is not None and self.end_ns is not None and self.end_ns <= self.start_ns:
            yield "until", f"{self.end_ns / 1e9:.10g} s is not after from, {self.start_ns / 1e9:.10g} s"


COEFFICIENTS = ("linear", "quadratic", "angular_linear", "angular_quadratic")


@declared(needs={f"a coefficient is needed: {', '.join(COEFFICIENTS)}": COEFFICIENTS})
class Drag(Force):
    """Resistance of the air, or of another fluid.

    The force is -(linear + quadratic |v|) v, the torque is -(angular_linear + angular_quadratic |w|) w, for each axis
    of the body. v is the velocity of `center` relative to the wind, w the angular velocity of the body.

    Raises:
        ValueError: An array has the wrong shape.
    """

    type = "drag"

    linear: FloatArray = given(_COEFFICIENT, f"Linear {_ALONG}", "N s/m", default=ORIGIN)
    quadratic: FloatArray = given(_COEFFICIENT, f"Quadratic {_ALONG}", "N s^2/m^2", default=ORIGIN)
    angular_linear: FloatArray = given(_COEFFICIENT, f"Linear {_ALONG}", "N m s/rad", default=ORIGIN)
    angular_quadratic: FloatArray = given(_COEFFICIENT, f"Quadratic {_ALONG}", "N m s^2/rad^2", default=ORIGIN)
    center: FloatArray | None = given(
        POINT, "Where it acts, in the body; the centre of mass if not given", "m", default=None
    )


@declared(needs={"volume is missing": ("volume",), "height is missing": ("height",)})
class Buoyancy(Force):
    """The weight of the fluid that a body displaces, upwards.

    Raises:
        ValueError: `center` has the wrong shape.
    """

    type = "buoyancy"

    volume: float = given(Number(0.0, 1e9), "Volume", "m^3", default=0.0)
    # Vertical distance, about the centre, between completely submerged and completely out of the fluid.
    height: float = given(Number(high=MAX_DISTANCE, above=0.0), "Height of the volume", "m", default=1.0)
    density: float = given(Number(0.0, 1e6), "Density of the fluid", "kg/m^3", default=FRESH_WATER)
    surface: float = given(
        Number(-MAX_DISTANCE, MAX_DISTANCE), "Height of the surface in the fixed frame", "m", default=0.0
    )
    center: FloatArray | None = given(
        POINT, "Centre of the volume, in the body; the centre of mass if not given", "m", default=None
    )
    shape: str = given(Word(SUBMERGED), "How the submerged volume depends on depth", default="box")


@declared
class Gusts:
    """Turbulence of the Dryden model, MIL-F-8785C.

    Its correlation times are scale_length / speed.

    Raises:
        ValueError: An array has the wrong shape.
    """

    intensity: FloatArray = given(
        PerAxis(3, MAX_WIND_SPEED, 0.0), "Standard deviations along the mean wind, across it and upwards", "m/s"
    )
    scale_length: FloatArray = given(PerAxis(3, MAX_DISTANCE, 1e-2), "Scale lengths L_u, L_v, L_w", "m")
    speed: float = given(
        Number(MIN_GUST_SPEED, MAX_WIND_SPEED), "Speed at which the vehicle flies through the turbulence", "m/s"
    )


class _GustsLater(PartOf):
    """Gusts. Their speed is by default that of the mean wind, so they are read after it."""

    def form(self, about: str) -> keys.Form:
        """Return the form of gusts, in which the speed is optional."""
        known = keys_of(Gusts)
        return keys.Keys(known, required=("intensity", "scale_length"), about=known.about)

    def read(self, value: Value, context: Any) -> Any:
        """Return the value itself."""
        return value


@declared(
    spread={
        # For sweeps: it leaves the direction of `velocity`.
        "speed": Spread(
            (),
            keys.number("Magnitude of the mean, m/s; `velocity` is its direction only then.", 0.0, MAX_WIND_SPEED),
            lambda value, context: {},
            lambda wind: None,
        )
    }
)
class Wind:
    """Moving air.

    The mean velocity at height z is velocity (z / reference_height)^exponent (the power law of the boundary layer), and
    zero below 0. Gusts are the same everywhere.

    Raises:
        ValueError: `velocity` has the wrong shape.
    """

    velocity: FloatArray = given(_WIND, "Mean velocity at the reference height", "m/s", default=ORIGIN)
    exponent: float = given(Number(0.0, 2.0), "Exponent of the profile over height; 0 for none", default=0.0)
    reference_height: float = given(
        Number(high=MAX_DISTANCE, above=0.0), "Height at which the velocity holds", "m", default=10.0
    )
    gusts: Gusts | None = given(_GustsLater(Gusts), "Turbulence, or None", default=None)
    place: Place = place_of(default=NO_PLACE)

    @staticmethod
    def _derive(found: dict[str, Any], table: Table) -> None:
        """Scale the velocity to `speed`, and read the gusts."""
        speed, mean = table.get("speed"), found.get("velocity", np.zeros(3))
        if speed is not None:
            wanted, along = speed.number(0.0, MAX_WIND_SPEED), float(np.linalg.norm(mean))
            found["velocity"] = mean = wanted * (mean / along if along else np.array([1.0, 0.0, 0.0]))
        if (value := found.pop("gusts", None)) is not None:
            of = value.table(_GustsLater(Gusts).form(""))
            gusts, along = read_fields(Gusts, of), float(np.linalg.norm(mean))
            if "speed" not in of and along < MIN_GUST_SPEED:
                value.error("without a mean wind, give the speed at which the vehicle meets the gusts: speed, in m/s")
            if {"intensity", "scale_length"} <= gusts.keys():
                found["gusts"] = Gusts(**{"speed": max(along, MIN_GUST_SPEED), **gusts})


FORCE_TYPES: Mapping[str, type[Force]] = {each.type: each for each in (ConstantForce, Drag, Buoyancy)}


@part("forces", Force)
class Forces(Kind[Force]):
    """Forces on bodies."""

    def data(self, part: Force, refer: Refer) -> dict[str, Any]:
        """Return the data of the force."""
        return not_none(part.data())

    def problems(self, world: World) -> Iterator[Problem]:
        """Return every problem of forces: unknown bodies, and numbers."""
        bodies = {body.name for body in world.bodies}
        for force in self.parts(world):
            if force.body not in bodies:
                message = f"no body {quoted(force.body)}{did_you_mean(force.body, bodies)}"
                yield Problem(force.place.where, force.place.key or "forces", message)
            owner = force.place.key.removesuffix(".body") or f"forces: {shown_key(force.body)}"
            for key, message in faults(force):
                yield Problem(force.place.where, f"{owner}.{key}", message)

    def renamed(self, part: Force, rename: Rename) -> Force:
        """Return the force on the same bodies."""
        return part.renamed(rename)


@part("wind", Wind)
class TheWind(Kind[Wind]):
    """The wind, at most one in a world."""

    single = True
    section = "forces"
    blank = MappingProxyType({"type": "wind"})

    def data(self, part: Wind, refer: Refer) -> dict[str, Any]:
        """Return the part as a type of force, as in world files."""
        return {"type": "wind", **data_of(part)}

    def renamed(self, part: Wind, rename: Rename) -> None:
        """Return None: the wind of the including world applies."""


@declared(needs={"mu (m^3/s^2) or acceleration (m/s^2) is needed": ("mu", "acceleration")})
class PointGravity:
    """A centre that attracts all bodies. At a distance r, bodies fall towards it with mu / r^2 + acceleration.

    The first term is Newton's law of gravitation, with the standard gravitational parameter mu = G M; the second is the
    same everywhere. Negative values repel.

    Raises:
        ValueError: `center` has the wrong shape.
    """

    center: FloatArray = given(POINT, "What attracts all bodies, in the fixed frame", "m", default=ORIGIN)
    mu: float = given(Number(-MAX_MU, MAX_MU), "Standard gravitational parameter G M", "m^3/s^2", default=0.0)
    acceleration: float = given(
        Number(-MAX_ACCELERATION, MAX_ACCELERATION), "Acceleration at any distance", "m/s^2", default=0.0, omit=True
    )
    place: Place = place_of(default=NO_PLACE)


def free_fall(world: World, uniform: FloatArray) -> Callable[[FloatArray], FloatArray] | None:
    """Return a function from positions (S, 3) in the fixed frame to free-fall accelerations (S, 3), m/s^2.

    Args:
        world: The world.
        uniform: Its uniform gravity (3,), m/s^2.

    Returns:
        The function; None if gravity is uniform.
    """
    fields: tuple[PointGravity, ...] = world.parts.get("gravity_fields", ())
    if not fields:
        return None

    def fall(positions: FloatArray) -> FloatArray:
        total = np.tile(np.asarray(uniform, dtype=np.float64), (len(positions), 1))
        for each in fields:
            away = each.center - positions
            r = np.linalg.norm(away, axis=1, keepdims=True)
            # The direction is undefined at the centre itself.
            r[r == 0.0] = math.inf
            total += away / r * (each.mu / r**2 + each.acceleration)
        return total

    return fall


@part("gravity_fields", PointGravity)
class GravityFields(Kind[PointGravity]):
    """Centres that attract all bodies."""

    section = "forces"

    def data(self, part: PointGravity, refer: Refer) -> dict[str, Any]:
        """Return the part as a type of force, as in world files."""
        return {"type": "gravity", **data_of(part)}

    def renamed(self, part: PointGravity, rename: Rename) -> None:
        """Return None: like the uniform gravity, that of the including world applies."""


# Reads an entry of a type into the context.
ForceReader = Callable[[Value, Context], None]
FORCES: Registry[str, ForceReader] = Registry(
    "type of force", shipped=("sim_node.world.forces",), group="sim_node.forces"
)
# Returns the keys of a type, for the JSON Schema. A type without such a function accepts any keys.
FORCE_KEYS: dict[str, Callable[[], Keys]] = {}
F = TypeVar("F", bound=ForceReader)


def force(type: str, keys: Keys | Callable[[], Keys] | None = None) -> Callable[[F], F]:
    """Return a decorator that registers the reader of a type of force.

    Args:
        type: The name of the type in world files.
        keys: The keys of an entry, or a function that returns them, for the JSON Schema; None for any keys.

    Returns:
        The decorator for a function that reads an entry and adds the force to the context.
    """
    module = calling_module()

    def enter(read: F) -> F:
        FORCES.add(type, module=module)(read)
        if keys is not None:
            FORCE_KEYS[type] = (lambda: keys) if isinstance(keys, Keys) else keys
        return read

    return enter


def _force_keys() -> dict[str, Form]:
    return {name: FORCE_KEYS[name]() if name in FORCE_KEYS else ANYTHING for name in FORCES}


@section("forces", listing("Forces on bodies, and the wind.", by_key("A force.", "type", _force_keys)))
def read_forces(value: Value, context: Context) -> None:
    """Read a list of forces, each with a type."""
    for entry in value.items():
        kind = entry.get("type")
        if kind is None:
            entry.error(f"a mapping with a type is needed ({', '.join(FORCES)}), found {entry.found()}")
            continue
        errors = len(entry.report.errors)
        word = kind.choice(FORCES, "")
        if len(entry.report.errors) == errors:
            FORCES[word](entry, context)


def _typed(type: str, kind: type[Any]) -> Keys:
    """Return the keys of a declared class, together with the type."""
    own = keys_of(kind)
    return Keys({"type": word("", type), **own}, required=own.required, at_least_one=plan_of(kind).needs.values())


def declared_force(type: str, kind: Callable[[], type[Any]], sets: str = "") -> None:
    """Register a type of force with declared fields, from which its format in files follows.

    Args:
        type: The name of the type in world files.
        kind: Returns the class. Called only if a file has such a force, so that its module is not imported otherwise.
        sets: The kind of part, if parts of this kind in included files have no effect; empty for a force on a body.
    """
    known = cache(lambda: _typed(type, kind()))

    def read_force(entry: Value, context: Context) -> None:
        single = bool(sets) and PARTS[sets].single
        if single and (first := context.of(kind())):
            entry.error(f"a second {sets}, the first is at {first[0].place.where}")
        elif (found := read(kind(), entry, context, known=known())) is not BAD:
            context.add(found)
            if sets:
                entry.sets(found if single else (found,), sets)

    force(type, known)(read_force)


for _name in FORCE_TYPES:
    declared_force(_name, partial(FORCE_TYPES.__getitem__, _name))
declared_force("wind", lambda: Wind, "wind")
declared_force("gravity", lambda: PointGravity, "gravity_fields")
