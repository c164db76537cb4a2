"""From objects of the Physics3D bundle to the systems of a World."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sim_node.geometry import poses, quaternions
from sim_node.geometry.arrays import FloatArray
from sim_node.registry import registering
from sim_node.world.bodies import Geometry
from sim_node.world.problems import Place
from sim_node.world.readers.openplx.models import Entry, Fault
from sim_node.world.readers.openplx.objects import Object
from sim_node.world.readers.openplx.values import OPAQUE, AffineTransform, Undefined, components
from sim_node.world.readers.report import Report
from sim_node.world.systems import (
    ContactGeometry,
    Mate,
    MateConnector,
    RedirectedMateConnector,
    RigidBody,
    System,
    axes_fault,
)

SYSTEM, BODY = "Physics3D.System", "Physics3D.Bodies.Body"
GEOMETRY = "Physics3D.Geometries.ContactGeometry"
CONNECTOR, REDIRECTED = "Physics3D.Interactions.MateConnector", "Physics3D.Interactions.RedirectedMateConnector"
MATE, INTERACTION = "Physics3D.Interactions.Mate", "Physics.Interactions.Interaction"
MOTOR = "Physics3D.Interactions.VelocityMotor"
ORIGIN = "Physics3D.Interactions.World"
# The kind of mate of each type, and the attributes that hold its initial values, in the order of that kind.
MATES: dict[str, tuple[str, tuple[str, ...]]] = {
    "Physics3D.Interactions.Lock": ("lock", ()),
    "Physics3D.Interactions.Hinge": ("hinge", ("initial_angle",)),
    "Physics3D.Interactions.Prismatic": ("prismatic", ("initial_position",)),
    "Physics3D.Interactions.Cylindrical": ("cylindrical", ("initial_position", "initial_angle")),
    "Physics3D.Interactions.Ball": ("ball", ()),
    "Physics3D.Interactions.Distance": ("distance", ("initial_distance",)),
}
# Cylinders and capsules lie along y in OpenPLX, along z in a World.
ALONG_Y = poses.pose(np.zeros(3), quaternions.from_axis_angle([1.0, 0.0, 0.0], -np.pi / 2))

Shape = Callable[[Object], Geometry]
SHAPES: dict[str, Shape] = {}


def shape(name: str) -> Callable[[Shape], Shape]:
    """Registers what makes a Geometry, without its pose in the owner, of a type of contact geometry."""
    return registering(SHAPES, "shape", f"Physics3D.Geometries.{name}")


@shape("Box")
def _box(of: Object) -> Geometry:
    return Geometry("box", np.array(components(_value(of, "size"))))


@shape("Sphere")
def _sphere(of: Object) -> Geometry:
    return Geometry("sphere", np.array([_value(of, "radius")]))


@shape("Cylinder")
def _cylinder(of: Object) -> Geometry:
    return Geometry("cylinder", np.array([_value(of, "radius"), _value(of, "height")]), pose=ALONG_Y)


@shape("Capsule")
def _capsule(of: Object) -> Geometry:
    return Geometry("capsule", np.array([_value(of, "radius"), _value(of, "height")]), pose=ALONG_Y)


@dataclass
class _Part:
    """A system while it is gathered; mates of systems within it may come to stand in it."""

    of: Object
    systems: list[_Part] = field(default_factory=list)
    bodies: list[RigidBody] = field(default_factory=list)
    geometries: list[ContactGeometry] = field(default_factory=list)
    connectors: list[MateConnector] = field(default_factory=list)
    mates: list[Mate] = field(default_factory=list)

    def system(self) -> System:
        """The System that it has come to."""
        return System(
            self.of.name,
            _transform(self.of, "local_transform"),
            tuple(part.system() for part in self.systems),
            tuple(self.bodies),
            tuple(self.geometries),
            tuple(self.connectors),
            tuple(self.mates),
            place=_placed(self.of),
        )


def system_of(root: Object, report: Report) -> System:
    """The system that an object of a Physics3D.System says, with all that is in it. Raises Fault."""
    return _Gathering(root, report).system()


class _Gathering:
    """The systems, mates and motors of one root while its tree is walked."""

    def __init__(self, root: Object, report: Report) -> None:
        self._report = report
        self._root = _Part(root)
        self._parts: dict[Object, _Part] = {root: self._root}
        self._mates: list[Object] = []
        self._motors: dict[tuple[Object, ...], tuple[str, float]] = {}
        self._redirected: list[tuple[_Part, Object]] = []
        self._static: set[Object] = set()
        self._origin: Object | None = None

    def system(self) -> System:
        """The root's System."""
        self._walk(self._root)
        for part, connector in self._redirected:
            self._redirect(part, connector)
        for mate in self._mates:
            self._mate(mate)
        return self._root.system()

    def _walk(self, part: _Part) -> None:
        listed = part.of.value("kinematically_controlled")
        self._static.update(listed if isinstance(listed, list) else [])
        owned = list(_owned(part.of))
        for of in owned:
            if of.is_a(SYSTEM):
                self._check_name(of)
                inner = self._parts[of] = _Part(of)
                part.systems.append(inner)
                self._walk(inner)
        for of in owned:
            if of.is_a(BODY):
                self._check_name(of)
                part.bodies.append(self._body(of))
            elif of.is_a(GEOMETRY):
                part.geometries += self._geometry(of)
            elif of.is_a(REDIRECTED):
                self._redirected.append((part, of))
            elif of.is_a(CONNECTOR):
                part.connectors.append(_connector(of))
            elif of.is_a(MATE):
                self._mates.append(of)
                for motor in _owned(of):
                    if motor.is_a(MOTOR):
                        self._motor(motor)
            elif of.is_a(MOTOR):
                self._motor(of)
            elif of.is_a(INTERACTION):
                self._left_out(of, f"a {of.kind} is not simulated")

    def _body(self, of: Object) -> RigidBody:
        owned = list(_owned(of))
        kinematics = of.value("kinematics")
        transform = _transform(kinematics, "local_transform") if isinstance(kinematics, Object) else None
        mass, centre, inertia = _inertial(of)
        dynamic = of.value("is_dynamic") if of.has("is_dynamic") else True
        return RigidBody(
            of.name,
            transform,
            tuple(geometry for one in owned if one.is_a(GEOMETRY) for geometry in self._geometry(one)),
            tuple(_connector(one) for one in owned if one.is_a(CONNECTOR) and not one.is_a(REDIRECTED)),
            mass,
            centre,
            inertia,
            static=dynamic is False or of in self._static,
            speed=_speed(of),
            place=_placed(of),
        )

    def _geometry(self, of: Object) -> list[ContactGeometry]:
        make = next((SHAPES[model.name] for model in reversed(of.model.lineage) if model.name in SHAPES), None)
        if make is None:
            if of.kind != GEOMETRY:  # a place for one that a more special model names
                self._left_out(of, f"a {of.kind} has no shape here; known: {', '.join(SHAPES)}")
            return []
        made = make(of)
        if not all(0.0 < size < 1e9 for size in made.size.tolist()):
            raise Fault(_line(of, "size", "radius", "height"), f"sizes {made.size.tolist()} must be above zero")
        transform = _transform(of, "local_transform")
        pose = made.pose if transform is None else poses.compose(transform, made.pose)
        material = of.value("material")
        density = _value(material, "density") if isinstance(material, Object) else 1000.0
        massive = of.value("include_in_mass_properties") is not False
        geometry = Geometry(made.shape, made.size, pose=pose, place=_placed(of))
        return [ContactGeometry(of.name, geometry, density, massive, _placed(of))]

    def _redirect(self, part: _Part, of: Object) -> None:
        body = of.value("redirected_parent")
        if not isinstance(body, Object):
            self._left_out(of, "its redirected_parent is no body")
            return
        below = _path(body, part.of)
        if below is None or not body.is_a(BODY):
            where = part.of.path or part.of.name
            raise Fault(
                _line(of, "redirected_parent"),
                f"{body.path or body.name} is no body in {where}, which owns the connector",
            )
        plain = _connector(of)
        part.connectors.append(
            RedirectedMateConnector(plain.name, plain.position, plain.main_axis, plain.normal, plain.place, below)
        )

    def _motor(self, of: Object) -> None:
        """A motor's target is the speed at which its mate starts; nothing keeps it there."""
        connectors = _objects(of.value("connectors"))
        speed = _value(of, "target_speed")
        if of.value("enabled") is not False and len(connectors) == 2 and speed:
            self._motors[tuple(connectors)] = (of.name, speed)

    def _mate(self, of: Object) -> None:
        kind, attributes = next(
            (MATES[model.name] for model in reversed(of.model.lineage) if model.name in MATES), ("", ())
        )
        if not kind:
            self._left_out(of, f"a {of.kind} says not what it holds; known: {', '.join(MATES)}")
            return
        given = of.value("connectors")
        if isinstance(given, Undefined) or given is OPAQUE or len(_objects(given)) != len(given):
            self._left_out(of, "its connectors are not all there")
            return
        connectors = _objects(given)
        if len(connectors) != 2:
            raise Fault(_line(of, "connectors"), f"a mate has 2 connectors, found {len(connectors)}")
        connectors = [self._in_the_tree(connector, of) for connector in connectors]
        owner = self._common([of, *connectors])
        paths = [_path(connector, owner.of) for connector in connectors]
        assert paths[0] is not None
        assert paths[1] is not None
        values = [_value(of, name) if of.given(name) else None for name in attributes]
        _, speed = self._motors.get(tuple(connectors), ("", 0.0))
        place = _line(of, "connectors")
        owner.mates.append(
            Mate(
                (_path(of, owner.of) or of.name).replace("/", "."),
                kind,
                (paths[0], paths[1]),
                None if all(value is None for value in values) else tuple(values),
                speeds=(speed,) if speed and len(attributes) == 1 and kind != "distance" else None,
                enabled=of.value("enabled") is not False,
                snap=of.value("enable_snap") is not False,
                place=_placed(of),
                connector_places=(place, place),
            )
        )

    def _in_the_tree(self, connector: Object, mate: Object) -> Object:
        """The connector, if it belongs to a system or body below the root; the world's origin comes to stand in it."""
        if connector.is_a(ORIGIN):
            if self._origin is None:
                self._origin = Object(
                    connector.instances, connector.model, self._root.of, self._free_name(), {}, connector.place
                )
                self._root.connectors.append(_connector(self._origin))
            return self._origin
        owner = connector.owner
        inside = owner in self._parts or (owner is not None and owner.is_a(BODY) and owner.owner in self._parts)
        if not inside or not connector.is_a(CONNECTOR):
            name = connector.path or connector.name
            raise Fault(
                _line(mate, "connectors"), f"{name} is no connector of a system or body in {self._root.of.name}"
            )
        return connector

    def _free_name(self) -> str:
        name = "world"
        while self._root.of.has(name):
            name += "_"
        return name

    def _common(self, objects: list[Object]) -> _Part:
        """The innermost system that all of them are in."""
        above = [list(_owners(of)) for of in objects]
        return next(self._parts[of] for of in above[0] if of in self._parts and all(of in others for others in above))

    def _check_name(self, of: Object) -> None:
        if len(of.path) > 200:
            raise Fault(_placed(of), f"a path of {len(of.path)} characters is too long for a frame")

    def _left_out(self, of: Object, why: str) -> None:
        place = _placed(of)
        message = f"{why}; left out" if why.startswith("a ") else f"{why}; the {of.kind} is left out"
        self._report.about(place.where.file).warning(message, (place.where.line, place.where.column), place.key)


def _owned(of: Object) -> Iterator[Object]:
    """The objects that it owns and that a physics tree can hold, in their order."""
    for name in of.names():
        type_ = of.slot_type(name)
        if type_ is None or type_.array or not _physical(type_.kinds):
            continue
        value = of.value(name)
        if isinstance(value, Object) and value.owner is of and value.name == name:
            _refuse_itself(value)
            yield value


def _physical(kinds: tuple[Any, ...]) -> bool:
    return any(
        getattr(kind, "ancestors", frozenset()) & {SYSTEM, BODY, GEOMETRY, CONNECTOR, INTERACTION} for kind in kinds
    )


def _refuse_itself(of: Object) -> None:
    if any(owner.model is of.model for owner in _owners(of) if owner is not of):
        raise Fault(of.place, f"a {of.kind} within a {of.kind}, and so on without end")


def _owners(of: Object) -> Iterator[Object]:
    at: Object | None = of
    while at is not None:
        yield at
        at = at.owner


def _path(of: Object, root: Object) -> str | None:
    """The names from a system down to what is in it."""
    names: list[str] = []
    for at in _owners(of):
        if at is root:
            return "/".join(reversed(names))
        names.append(at.name)
    return None


def _objects(found: Any) -> list[Object]:
    return [item for item in found if isinstance(item, Object)] if isinstance(found, list) else []


def _connector(of: Object) -> MateConnector:
    position, axis = (np.array(components(_value(of, name))) for name in ("position", "main_axis"))
    normal = np.array(components(_value(of, "normal"))) if of.given("normal") else None
    fault = axes_fault(axis.tolist(), None if normal is None else normal.tolist())
    if fault:
        raise Fault(_line(of, "normal" if fault.startswith("normal") else "main_axis"), fault)
    return MateConnector(of.name, position, axis, normal, _placed(of))


def _inertial(of: Object) -> tuple[float | None, FloatArray | None, FloatArray | None]:
    """The mass, the centre and the inertia in the body's axes, as far as they are given."""
    mass = float(_value(of.value("inertia"), "mass")) if of.given("inertia", "mass") else None
    if mass is not None and mass <= 0.0:
        raise Fault(_line(of.value("inertia"), "mass"), f"a mass of {mass:g} kg; a body's is above zero")
    centre = None
    turn = np.eye(3)
    if of.given("kinematics", "local_cm_transform"):
        transform: AffineTransform = _value(of.value("kinematics"), "local_cm_transform")
        centre = np.array(components(transform.position))
        turn = quaternions.to_matrix(components(transform.rotation.normal()))
    inertia = None
    if of.given("inertia", "tensor"):
        inertia = turn @ _value(of.value("inertia"), "tensor").array() @ turn.T
    return mass, centre, inertia


def _speed(of: Object) -> FloatArray | None:
    names = ("initial_local_linear_velocity", "initial_local_angular_velocity")
    if not any(of.given("kinematics", name) for name in names):
        return None
    return np.concatenate([components(_value(of.value("kinematics"), name)) for name in names])


def _transform(of: Object, name: str) -> FloatArray | None:
    """A transform as a pose (7,); None where nothing says it. Raises Fault."""
    if not of.given(name):
        return None
    try:
        pose: FloatArray = _value(of, name).pose()
    except ValueError as error:
        raise Fault(_line(of, name), str(error)) from None
    return pose


def _value(of: Object, name: str) -> Any:
    """A value that has to be there, of finite numbers. Raises Fault."""
    value = of.value(name)
    if isinstance(value, Undefined):
        raise Fault(
            _line(of, name), f"{value.of} has no value" if of.lines(name)[-1][0].value else f"{name} has no value"
        )
    if value is OPAQUE:
        raise Fault(_line(of, name), f"{name} depends on something that is not known here")
    parts = value.pose() if isinstance(value, AffineTransform) else components(value) or (value,)
    if not np.all(np.isfinite(np.array(parts, dtype=np.float64))):
        raise Fault(_line(of, name), f"{name} is not finite: {value}")
    return value


def _line(of: Object, *names: str) -> Place:
    """Where the first of some attributes is said last; the object where none is."""
    for name in names:
        said: list[Entry] = [entry for entry, _, _ in of.lines(name) if entry.value is not None]
        if said:
            return said[-1].place()
    return _placed(of)


def _placed(of: Object) -> Place:
    return Place(of.place.where, of.path or of.name)
