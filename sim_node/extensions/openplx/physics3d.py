"""Conversion of objects of the Physics3D bundle to the systems of a World."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from sim_node.extensions.openplx.contacts import CollisionGroups, contact_materials
from sim_node.extensions.openplx.drives import RANGE, SHAFT, SHAFT_ACTUATOR, ModelDrives
from sim_node.extensions.openplx.models import Fault
from sim_node.extensions.openplx.objects import Object, objects_in
from sim_node.extensions.openplx.parts import (
    SHAPES,
    connector_of,
    contact_geometry,
    inertial,
    initial_speed,
    line_of,
    material_of,
    place_of,
    pose_of,
    target_of,
    value_of,
)
from sim_node.extensions.openplx.signals import (
    INPUT,
    OUTPUT,
    declared,
    has_motion_signals,
    shifts,
    signals_of,
    source_of,
)
from sim_node.extensions.openplx.tree import (
    BODY,
    COLLISION_PAIR,
    CONNECTOR,
    CONTACT_MODEL,
    GEOMETRY,
    INTERACTION,
    MATE,
    REDIRECTED,
    SYSTEM,
    VACUUM_GRIPPER,
    VISUAL,
    owned_of,
    path_below,
)
from sim_node.extensions.openplx.values import OPAQUE, Undefined, with_article
from sim_node.extensions.openplx.visuals import mesh_notes, visual_of
from sim_node.spatial.geometry import poses
from sim_node.world.contact_materials import ContactMaterial
from sim_node.world.mates import Mate, MateConnector, RedirectedMateConnector
from sim_node.world.problems import Place
from sim_node.world.readers.report import Report
from sim_node.world.signals import NamedSignal
from sim_node.world.surfaces import DEFAULT_LAYER, Surface
from sim_node.world.systems import ContactGeometry, RigidBody, System


@dataclass
class Part:
    """A system under construction; mates of nested systems may be moved into it."""

    of: Object
    systems: list[Part] = field(default_factory=list)
    bodies: list[RigidBody] = field(default_factory=list)
    geometries: list[ContactGeometry] = field(default_factory=list)
    connectors: list[MateConnector] = field(default_factory=list)
    mates: list[Mate] = field(default_factory=list)

    def surface(self, surfaces: dict[str, Surface]) -> None:
        """Assign surfaces to geometries by the paths of their objects, unless they already have a surface."""
        self.geometries = [_on(surfaces, each) for each in self.geometries]
        self.bodies = [
            replace(body, geometries=tuple(_on(surfaces, each) for each in body.geometries)) for body in self.bodies
        ]

    def system(self) -> System:
        """The resulting System."""
        return System(
            self.of.name,
            pose_of(self.of, "local_transform"),
            tuple(part.system() for part in self.systems),
            tuple(self.bodies),
            tuple(self.geometries),
            tuple(self.connectors),
            tuple(self.mates),
            place=place_of(self.of),
        )


def _on(surfaces: dict[str, Surface], of: ContactGeometry) -> ContactGeometry:
    surface = surfaces.get(of.place.key)
    if surface is None or of.geometry.surface is not None:
        return of
    return replace(of, geometry=replace(of.geometry, surface=surface))


ORIGIN = "Physics3D.Interactions.World"
# A suction cup has two joints, of which only one should hold at a time.
CUP_JOINT, COLLAPSED = "Robotics.EndEffectors.SixDofSuctionCupJoint", "collapsed_joint"
# The kind of mate of each type, and the attributes of its initial values, in the order of the mate's coordinates.
MATES: dict[str, tuple[str, tuple[str, ...]]] = {
    "Physics3D.Interactions.Lock": ("lock", ()),
    "Physics3D.Interactions.Hinge": ("hinge", ("initial_angle",)),
    "Physics3D.Interactions.Prismatic": ("prismatic", ("initial_position",)),
    "Physics3D.Interactions.Cylindrical": ("cylindrical", ("initial_position", "initial_angle")),
    "Physics3D.Interactions.Ball": ("ball", ()),
    "Physics3D.Interactions.Distance": ("distance", ("initial_distance",)),
}


def mechanism_of(root: Object, report: Report) -> dict[str, tuple[Any, ...]]:
    """Return the system of a Physics3D.System object, with all its contents and drives, by kind of part. Raises Fault.

    A single body becomes a body in a system of the same name.
    """
    if root.is_a(BODY):
        body = _Gathering(root, report).body()
        return {"systems": (System(root.name, bodies=(body,), place=place_of(root)),)}
    return _Gathering(root, report).mechanism()


class _Gathering:
    """Collects the systems, mates and interactions of a root object while its tree is walked."""

    def __init__(self, root: Object, report: Report) -> None:
        self._report = report
        self._root = Part(root)
        self._parts: dict[Object, Part] = {root: self._root}
        self._mates: list[Object] = []
        self._interactions: list[Object] = []
        # The geometries of each system and body.
        self._shapes: dict[Object, list[Object]] = {}
        self._apart: list[Object] = []
        self._contacts: list[Object] = []
        self._shaft_actuators: list[Object] = []
        self._grippers: list[Object] = []
        self._drives = ModelDrives(root.name, self._ignore, self._note)
        self._redirected: list[tuple[Part, Object]] = []
        self._static: set[Object] = set()
        # The static bodies that nothing moves.
        self._still: set[Object] = set()
        # All signals, and those that the model declares explicitly.
        self._signals: list[Object] = []
        self._stated: set[Object] = set()
        self._origin: Object | None = None
        self._warned: set[tuple[str, Place]] = set()

    def mechanism(self) -> dict[str, tuple[Any, ...]]:
        """Return the System of the root, and its drives."""
        self._walk(self._root)
        for part, redirected in self._redirected:
            self._redirect(part, redirected)
        for mate in self._mates:
            self._mate(mate)
        self._drives.refuse_ranges()
        for of in self._shaft_actuators:
            self._drives.add_shaft_actuator(of)
        for of in self._grippers:
            self._drives.add_gripper(of)
        self._drives.shifted = {box for of in self._signals if (box := shifts(of)) is not None}
        for of in self._interactions:
            self._drives.add(of)
        groups = CollisionGroups(self._shapes, self._drives.name)
        groups.keep_apart(self._apart)
        materials = self._touch(groups)
        return {
            "systems": (self._root.system(),),
            "actuators": tuple(self._drives.actuators),
            "transmissions": tuple(self._drives.transmissions),
            "suction": tuple(self._drives.suction),
            "contact_exclusions": tuple(groups.exclusions),
            "signals": tuple(self._found_signals()),
            "contact_materials": materials,
        }

    def body(self) -> RigidBody:
        """Return the root as a body, by default at the origin."""
        found = self._body(self._root.of)
        return replace(found, pose=np.array(poses.IDENTITY)) if found.pose is None else found

    def _touch(self, groups: CollisionGroups) -> tuple[ContactMaterial, ...]:
        """Assign contact materials and collision layers to the geometries. Return the contact materials."""
        made_of = {}
        for geometry in (each for owned in self._shapes.values() for each in owned) if self._contacts else ():
            material = material_of(geometry)
            if material is not None:
                made_of[geometry] = material
        materials, named = contact_materials(self._contacts, made_of, self._drives.name, self._note)
        surfaces: dict[str, Surface] = {}
        for geometry in {**groups.layers, **named}:
            layer, touches = groups.layers.get(geometry, (DEFAULT_LAYER, None))
            surfaces[geometry.path] = Surface(layer=layer, touches=touches, contact_material=named.get(geometry, ""))
        for part in self._parts.values() if surfaces else ():
            part.surface(surfaces)
        return materials

    def _walk(self, part: Part) -> None:
        listed = part.of.value("kinematically_controlled")
        self._static.update(listed if isinstance(listed, list) else [])
        owned = list(owned_of(part.of))
        for of in owned:
            if of.is_a(SYSTEM):
                self._check_name(of)
                inner = self._parts[of] = Part(of)
                part.systems.append(inner)
                self._walk(inner)
        for of in owned:
            self._take_signals(of)
            next((enter for kind, enter in _ENTERED if of.is_a(kind)), _Gathering._enter_other)(self, part, of)

    def _enter_body(self, part: Part, of: Object) -> None:
        self._check_name(of)
        part.bodies.append(self._body(of))

    def _enter_geometry(self, part: Part, of: Object) -> None:
        part.geometries += self._geometry(of)

    def _enter_visual(self, part: Part, of: Object) -> None:
        part.geometries += self._visual(of)

    def _enter_redirected(self, part: Part, of: Object) -> None:
        self._redirected.append((part, of))

    def _enter_connector(self, part: Part, of: Object) -> None:
        part.connectors.append(connector_of(of))

    def _enter_mate(self, part: Part, of: Object) -> None:
        if of.name == COLLAPSED and of.is_a(CUP_JOINT):
            of.reported = True
            self._note(of, "a joint of a collapsed cup, which keeps its resting shape here; it is ignored")
            return
        self._mates.append(of)
        for one in owned_of(of):
            self._take_signals(one)
            self._interaction(one)

    def _enter_gripper(self, part: Part, of: Object) -> None:
        self._grippers.append(of)

    def _enter_shaft(self, part: Part, of: Object) -> None:
        shaft, bearing, hinge = self._drives.add_shaft(of)
        part.bodies.append(shaft)
        part.connectors.append(bearing)
        part.mates.append(hinge)

    def _enter_contact_model(self, part: Part, of: Object) -> None:
        of.reported = of.value("enabled") is False  # the model itself says so
        if not of.reported:
            self._contacts.append(of)

    def _enter_other(self, part: Part, of: Object) -> None:
        if of.is_a(SHAFT_ACTUATOR):
            self._shaft_actuators.append(of)
        elif of.is_a(COLLISION_PAIR):
            self._apart.append(of)
        elif of.is_a(INTERACTION):
            self._interaction(of)
        elif of.is_a(INPUT) or (of.is_a(OUTPUT) and of.value("enabled") is True):
            self._signals.append(of)
            self._stated.add(of)
        elif not (of.is_a(SYSTEM) or of.is_a(OUTPUT)):
            self._ignore(of, f"{with_article(of.kind)} has no effect here")

    def _take_signals(self, of: Object) -> None:
        """Add the inputs that the type of an object declares, and its enabled outputs."""
        self._signals += declared(of, INPUT)
        self._signals += declared(of, OUTPUT)

    def _found_signals(self) -> Iterator[NamedSignal]:
        """Yield all signals. Inputs without an effect that only a type declares are omitted without a warning."""
        for of in self._signals:
            found = [] if source_of(of) in self._still else signals_of(of, self._drives)
            yield from found
            if not found and (of in self._stated or of.is_a(OUTPUT) or of.given("reference_id")):
                stated = "enabled" if of.is_a(OUTPUT) else "reference_id"
                place = place_of(of) if of in self._stated else line_of(of, stated)
                self._warn(f"{with_article(of.kind)} has no effect here; it is ignored", place)

    def _interaction(self, of: Object) -> None:
        if of.is_a(RANGE):
            self._drives.add_range(of)
        elif of.is_a(INTERACTION):
            self._interactions.append(of)

    def _body(self, of: Object) -> RigidBody:
        owned = list(owned_of(of))
        for one in owned:
            if one.is_a(REDIRECTED) or not any(map(one.is_a, (GEOMETRY, CONNECTOR, VISUAL))):
                self._ignore(one, f"{with_article(one.kind)} cannot be owned by a body")
        kinematics = of.value("kinematics")
        transform = pose_of(kinematics, "local_transform") if isinstance(kinematics, Object) else None
        mass, centre, inertia = inertial(of)
        controlled = of in self._static or of.get("is_dynamic") is False
        speed = initial_speed(of)
        moves = (speed is not None and bool(speed.any())) or (controlled and has_motion_signals(of))
        if controlled and not moves:
            self._still.add(of)
        return RigidBody(
            of.name,
            transform,
            self._shapes_of(owned),
            tuple(connector_of(one) for one in owned if one.is_a(CONNECTOR) and not one.is_a(REDIRECTED)),
            mass,
            centre,
            inertia,
            static=controlled and not moves,
            kinematic=controlled and moves,
            speed=None if controlled and not moves else speed,
            place=place_of(of),
        )

    def _shapes_of(self, owned: list[Object]) -> tuple[ContactGeometry, ...]:
        """Return the shapes among the objects that a body owns."""
        geometries = [geometry for one in owned if one.is_a(GEOMETRY) for geometry in self._geometry(one)]
        visuals = [visual for one in owned if one.is_a(VISUAL) for visual in self._visual(one)]
        if visuals:  # these are rendered instead
            geometries = [replace(each, geometry=replace(each.geometry, only="collision")) for each in geometries]
        return (*geometries, *visuals)

    def _geometry(self, of: Object) -> list[ContactGeometry]:
        found = contact_geometry(of)
        if found is None and of.kind != GEOMETRY:  # a placeholder that more specific models replace
            known = ", ".join(name for name in SHAPES if name.startswith("Physics3D."))
            self._ignore(of, f"{with_article(of.kind)} has no shape here; known: {known}")
        if found is None:
            return []
        if found.geometry.shape == "mesh":
            for note in mesh_notes(found.geometry, massive=found.massive):
                self._note(of, note)
        assert of.owner is not None
        self._shapes.setdefault(of.owner, []).append(of)
        return [found]

    def _visual(self, of: Object) -> list[ContactGeometry]:
        found = visual_of(of, self._note)
        if found is None and of.kind != VISUAL:
            self._ignore(of, f"{with_article(of.kind)} is not drawn")
        return [] if found is None else [found]

    def _redirect(self, part: Part, of: Object) -> None:
        body = of.value("redirected_parent")
        if not isinstance(body, Object):
            self._ignore(of, f"the redirected_parent of {with_article(of.kind)} is not a body")
            return
        below = path_below(body, part.of)
        if below is None or not body.is_a(BODY):
            where = part.of.path or part.of.name
            raise Fault(
                line_of(of, "redirected_parent"),
                f"{body.path or body.name} is not a body in {where}, which owns the connector",
            )
        plain = connector_of(of)
        part.connectors.append(
            RedirectedMateConnector(
                plain.name, plain.position, plain.main_axis, plain.normal, plain.place, plain.adaptive, below
            )
        )

    def _mate(self, of: Object) -> None:
        kind, attributes = next(
            (MATES[model.name] for model in reversed(of.model.lineage) if model.name in MATES), ("", ())
        )
        if not kind:
            self._ignore(of, f"{with_article(of.kind)} does not define a constraint; known: {', '.join(MATES)}")
            return
        given = of.value("connectors")
        if isinstance(given, Undefined) or given is OPAQUE or len(objects_in(given)) != len(given):
            self._ignore(of, f"{with_article(of.kind)} has missing connectors")
            return
        connectors = objects_in(given)
        if len(connectors) != 2:
            raise Fault(line_of(of, "connectors"), f"a mate has 2 connectors, found {len(connectors)}")
        for why, place, giving in unsimulated(of):
            giving.reported = True
            self._warn(why, place)
        pair = tuple(connectors)
        connectors = [self._in_the_tree(connector, of) for connector in connectors]
        owner = self._common([of, *connectors])
        paths = [path_below(connector, owner.of) for connector in connectors]
        assert paths[0] is not None
        assert paths[1] is not None
        values = [value_of(of, name) if of.given(name) else None for name in attributes]
        place = line_of(of, "connectors")
        name = (path_below(of, owner.of) or of.name).replace("/", ".")
        self._drives.add_mate(of, kind, f"{self._drives.name(owner.of)}/{name}", pair)
        owner.mates.append(
            Mate(
                name,
                kind,
                (paths[0], paths[1]),
                None if all(value is None for value in values) else tuple(values),
                **self._drives.motion(of, kind, pair),
                enabled=of.value("enabled") is not False,
                snap=of.value("enable_snap") is not False,
                target=target_of(of),
                place=place_of(of),
                connector_places=(place, place),
            )
        )

    def _in_the_tree(self, connector: Object, mate: Object) -> Object:
        """Return a connector of a system or body below the root. The world's origin is added to the root on demand."""
        if connector.is_a(ORIGIN):
            if self._origin is None:
                self._origin = Object(
                    connector.instances, connector.model, self._root.of, self._free_name(), {}, connector.place
                )
                self._root.connectors.append(connector_of(self._origin))
            return self._origin
        owner = connector.owner
        inside = owner in self._parts or (owner is not None and owner.is_a(BODY) and owner.owner in self._parts)
        if not inside or not connector.is_a(CONNECTOR):
            name = connector.path or connector.name
            raise Fault(
                line_of(mate, "connectors"), f"{name} is not a connector of a system or body in {self._root.of.name}"
            )
        return connector

    def _free_name(self) -> str:
        name = "world"
        while self._root.of.has(name):
            name += "_"
        return name

    def _common(self, objects: list[Object]) -> Part:
        """Return the innermost system that contains all of them."""
        above = [list(of.owners()) for of in objects]
        return next(self._parts[of] for of in above[0] if of in self._parts and all(of in others for others in above))

    def _check_name(self, of: Object) -> None:
        if len(of.path) > 200:
            raise Fault(place_of(of), f"a path of {len(of.path)} characters is too long for a frame")

    def _ignore(self, of: Object, why: str) -> None:
        of.reported = True
        self._note(of, f"{why}; it is ignored")

    def _note(self, of: Object, message: str) -> None:
        self._warn(message, place_of(of))

    def _warn(self, message: str, place: Place) -> None:
        if (message, place) in self._warned:  # for example, for a connector of two mates
            return
        self._warned.add((message, place))
        self._report.about(place.where.file).warning(message, place.where[1:], place.key)


# The handlers of objects that a system owns. The first matching type applies.
_ENTERED: tuple[tuple[str, Callable[[_Gathering, Part, Object], None]], ...] = (
    (BODY, _Gathering._enter_body),
    (GEOMETRY, _Gathering._enter_geometry),
    (VISUAL, _Gathering._enter_visual),
    (REDIRECTED, _Gathering._enter_redirected),
    (CONNECTOR, _Gathering._enter_connector),
    (MATE, _Gathering._enter_mate),
    (SHAFT, _Gathering._enter_shaft),
    (VACUUM_GRIPPER, _Gathering._enter_gripper),
    (CONTACT_MODEL, _Gathering._enter_contact_model),
)


# The attributes of a mate's compliance along its constrained axes. Each is an object with one attribute per axis.
COMPLIANCE = ("flexibility", "dissipation", "toughness", "clearance")
RIGID_KINDS = ("Rigid", "Unbreakable")


class Unsimulated(NamedTuple):
    """An attribute of a mate that is not simulated, with the reason and its location."""

    why: str
    place: Place
    given: Object


def unsimulated(mate: Object) -> Iterator[Unsimulated]:
    """Yield the given attributes of a mate that have no effect: its compliance."""
    for name in COMPLIANCE:
        if not mate.has(name) or mate.learn("rigid", name, partial(_is_rigid, mate, name)):
            continue
        given = mate.value(name)
        if isinstance(given, Object) and (axis := _yielding_axis(given)):
            why = f"{with_article(mate.kind)} is rigid here; its {name}, {with_article(axis.kind)}, is ignored"
            yield Unsimulated(why, place_of(axis if _is_default(given) else given), given)


def _is_rigid(mate: Object, name: str) -> bool:
    given = mate.value(name)
    return not isinstance(given, Object) or _yielding_axis(given) is None


def _yielding_axis(given: Object) -> Object | None:
    """Return the value for the first axis that is compliant, or None if all axes are rigid."""
    parts = (given.value(name) for name in given.names())
    return next((axis for axis in parts if isinstance(axis, Object) and not _is_default(axis)), None)


def _is_default(of: Object) -> bool:
    kind = of.kind.rpartition(".")[2]
    return kind.startswith("Default") or kind in RIGID_KINDS
