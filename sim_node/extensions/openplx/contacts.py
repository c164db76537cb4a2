"""Contacts in a model: conversion of collision groups to layers, and of contact models to contact materials."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import product
from typing import Any

from sim_node.extensions.openplx.interactions import above, damping_of, is_interaction, relaxation_of
from sim_node.extensions.openplx.models import Fault
from sim_node.extensions.openplx.objects import Object
from sim_node.extensions.openplx.parts import line_of, place_of, value_of
from sim_node.extensions.openplx.tree import BODY
from sim_node.extensions.openplx.values import OPAQUE, Undefined, with_article
from sim_node.world.contact_materials import MAX_STIFFNESS, ContactMaterial
from sim_node.world.loops import ContactExclusion
from sim_node.world.physics import MAX_TIMESTEP_NS
from sim_node.world.surfaces import COEFFICIENT, DEFAULT_CONTACT_TIME, DEFAULT_LAYER, RESTITUTION, largest_timestep

# Beyond this number of pairs of bodies, layers are used. MuJoCo has few layers, but each may hold any number of shapes.
MAX_EXCLUSIONS = 1000


@dataclass
class CollisionGroups:
    """The pairs of groups that do not collide in one model.

    Attributes:
        geometries: The geometries of each body and system.
        name: Returns the name of an object in the world.
        exclusions: Pairs of bodies without contacts.
        layers: The collision layer of each geometry that needs one, and the layers that it collides with.
    """

    geometries: dict[Object, list[Object]]
    name: Callable[[Object], str]
    exclusions: list[ContactExclusion] = field(default_factory=list)
    layers: dict[Object, tuple[str, tuple[str, ...]]] = field(default_factory=dict)

    def keep_apart(self, pairs: Iterable[Object]) -> None:
        """Add all pairs of groups. Groups of whole bodies become exclusions, all others become layers."""
        # The groups of each geometry that needs a layer, and the pairs of groups among them.
        member_of: dict[Object, dict[str, None]] = {}
        apart: set[frozenset[str]] = set()
        for pair in pairs:
            groups = pair.value("group1"), pair.value("group2")
            members = [self._members(group) for group in groups]
            first, second = map(self._whole, members)
            if first is not None and second is not None and len(first) * len(second) <= MAX_EXCLUSIONS:
                self._exclude(first, second)
            elif all(members):
                names = [self.name(group) for group in groups]
                apart.add(frozenset(names))
                for name, geometries in zip(names, members, strict=True):
                    for geometry in geometries:
                        member_of.setdefault(geometry, {})[name] = None
        self._set_layers(member_of, apart)

    def _exclude(self, first: Iterable[Object], second: Iterable[Object]) -> None:
        seen = {frozenset(each) for each in self.exclusions}
        for one, other in product(map(self.name, first), map(self.name, second)):
            if one != other and frozenset((one, other)) not in seen:
                seen.add(frozenset((one, other)))
                self.exclusions.append(ContactExclusion(one, other))

    def _set_layers(self, member_of: dict[Object, dict[str, None]], apart: set[frozenset[str]]) -> None:
        """Assign one layer to geometries in the same groups, which collides with all groups that are not kept apart."""
        kinds = dict.fromkeys(tuple(groups) for groups in member_of.values())
        called = {groups: "+".join(groups) for groups in kinds}
        touched = {
            groups: (
                DEFAULT_LAYER,
                *(
                    layer
                    for others, layer in called.items()
                    if not any(frozenset(each) in apart for each in product(groups, others))
                ),
            )
            for groups in kinds
        }
        for geometry, found in member_of.items():
            groups = tuple(found)
            self.layers[geometry] = called[groups], touched[groups]

    def _members(self, group: Any) -> list[Object]:
        """Return the geometries of a group: its own, those of its bodies, and those of all bodies in its systems."""
        if not isinstance(group, Object):
            return []
        found = dict.fromkeys(group.objects("geometries"))
        for body in group.objects("bodies"):
            found |= dict.fromkeys(self.geometries.get(body, ()))
        systems = set(group.objects("systems"))
        for owner in self.geometries if systems else ():
            if owner.is_a(BODY) and systems.intersection(owner.owners()):
                found |= dict.fromkeys(self.geometries[owner])
        return list(found)

    def _whole(self, members: list[Object]) -> list[Object] | None:
        """Return the bodies that have exactly these geometries; None if a body also has others."""
        owners = list(dict.fromkeys(each.owner for each in members if each.owner is not None))
        return owners if sum(len(self.geometries.get(owner, ())) for owner in owners) == len(members) else None


ELASTIC = "Physics.Geometries.LinearElasticMaterial"
# The relaxation time of a contact without a dissipation, s. It is the default of AGX Dynamics.
RELAXATION = 4.5 / 60.0
# As stiff as the timestep allows, N/m.
RIGID = 1e12

_PHYSICS, _TRAITS = "Physics.Interactions.", "Physics3D.Interactions.SurfaceContact.Traits."
_DRY = f"{_PHYSICS}Dissipation.DefaultDryFriction"
# Friction whose limit does not depend on the force in the contact.
OTHER_FRICTION = tuple(f"{_PHYSICS}Dissipation.{name}" for name in ("DryConstantNormalForceFriction", "DryBoxFriction"))
PYRAMID = f"{_PHYSICS}Dissipation.DryScaleBoxFriction"
UNSIMULATED_TRAITS = {
    f"{_TRAITS}OrientedFriction": "friction is the same in all directions",
    f"{_PHYSICS}SurfaceContact.Traits.SurfaceViscosity": "friction does not depend on the speed",
}
Note = Callable[[Object, str], None]


def contact_materials(
    models: Iterable[Object], made_of: dict[Object, Object], name: Callable[[Object], str], note: Note
) -> tuple[tuple[ContactMaterial, ...], dict[Object, str]]:
    """Return the contact materials of contact models, and the material names of the geometries that they affect.

    Materials with the same `unique_name` are the same material.

    Args:
        models: The enabled contact models.
        made_of: The material of each geometry.
        name: Returns the name of an object in the world.
        note: Reports where the simulation differs from an object's specification.

    Raises:
        Fault: A number is out of range, or two models concern the same materials.
    """
    named = {material: _name(material, name) for material in dict.fromkeys(made_of.values())}
    present = set(named.values())
    found: dict[frozenset[str], ContactMaterial] = {}
    for model in models:
        ends = model.value("material_1"), model.value("material_2")
        if not all(isinstance(end, Object) for end in ends):
            note(model, f"{with_article(model.kind)} has no material_1 or no material_2; it is ignored")
            continue
        between = (_name(ends[0], name), _name(ends[1], name))
        if not present.issuperset(between):
            absent = between[between[0] in present]
            note(model, f"no geometry is of {absent}, so that {with_article(model.kind)} has no effect")
            continue
        made = ContactMaterial(between, **_fields(model, ends, note), place=place_of(model))
        before = found.setdefault(made.pair, made)
        if before is not made:
            message = f"a second contact model of {' and '.join(between)}; the first is at {before.place.where}"
            raise Fault(place_of(model), message)
    concerned = {each for material in found.values() for each in material.between}
    for material, called in named.items():
        if called not in concerned and material.is_a(ELASTIC) and _given(material.value("youngs_modulus")):
            note(material, "no contact model is about this material, so that its youngs_modulus has no effect")
    return tuple(found.values()), {
        geometry: named[material] for geometry, material in made_of.items() if named[material] in concerned
    }


def _name(material: Object, name: Callable[[Object], str]) -> str:
    unique = material.get("unique_name", "")
    if isinstance(unique, str) and unique:
        return unique
    return material.kind if material.owner is None else name(material)


def _fields(model: Object, materials: tuple[Any, ...], note: Note) -> dict[str, Any]:
    """Return the friction and elasticity of a contact model, as fields of a ContactMaterial."""
    fields: dict[str, Any] = {"sliding": _friction(model, note)}
    for key, default in (("adhesion", "DefaultAdhesion"), ("clearance", "DefaultClearance")):
        part = model.value(key)
        if isinstance(part, Object) and part.model.short_name != default:
            part.reported = True
            note(part, f"{with_article(part.kind)} of a contact is not simulated; it is ignored")
    if model.given("tangential_restitution") and value_of(model, "tangential_restitution") != 0.0:
        note(model, "contacts have no tangential_restitution; it is ignored")
    stiffness = _stiffness(model, materials, note)
    restitution = _restitution(model, note)
    if stiffness is not None:
        fields["stiffness"] = min(stiffness, MAX_STIFFNESS)
    if restitution is None:
        return fields if stiffness is None else fields | {"damping": _damping(model, materials, stiffness)}
    if relaxation_of(model, "dissipation") is not None:
        note(model, "normal_restitution determines the damping; dissipation is ignored")
    shortest = MAX_TIMESTEP_NS / 1e9 / largest_timestep(restitution, 1.0, "rk4")
    return fields | {"restitution": restitution, "contact_time": max(DEFAULT_CONTACT_TIME, shortest)}


def _friction(model: Object, note: Note) -> float | None:
    friction = model.value("friction")
    if not isinstance(friction, Object) or friction.kind == f"{_PHYSICS}Dissipation.DefaultFriction":
        return None
    if not friction.is_a(_DRY) or any(map(friction.is_a, OTHER_FRICTION)):
        note(model, f"{with_article(friction.kind)} of a contact is not simulated; the default friction applies")
        return None
    if friction.is_a(PYRAMID):
        note(model, f"{with_article(friction.kind)} is a cone of friction here, the same in all directions")
    for trait, why in UNSIMULATED_TRAITS.items():
        if friction.is_a(trait):
            note(model, f"{trait.rpartition('.')[2]} is ignored; {why}")
    coefficient = above(friction, "coefficient")
    if coefficient > COEFFICIENT.high:
        allowed = COEFFICIENT.allowed()
        raise Fault(line_of(friction, "coefficient"), f"{coefficient:g} is out of range; allowed: {allowed}")
    return coefficient


def _restitution(model: Object, note: Note) -> float | None:
    if not model.given("normal_restitution"):
        return None
    restitution = float(value_of(model, "normal_restitution"))
    if not 0.0 <= restitution <= 1.0:
        raise Fault(line_of(model, "normal_restitution"), f"{restitution:g} is out of range; allowed: 0 to 1")
    most = RESTITUTION.high
    if restitution > most:
        note(model, f"normal_restitution {restitution:g} becomes {most:g}, the largest that is simulated")
    return min(restitution, most) or None


def _stiffness(model: Object, materials: tuple[Any, ...], note: Note) -> float | None:
    """Return the stiffness of a contact point, N/m.

    If the model does not specify it, two elastic materials give half of the harmonic mean of their Young's moduli; see
    PointwiseElasticityDryFrictionModel of OpenPLX.
    """
    flexibility = model.value("normal_flexibility")
    elastic = is_interaction(flexibility, "Flexibility.LinearElastic")
    if is_interaction(flexibility, "Flexibility.Rigid"):
        return RIGID
    if is_interaction(flexibility, "SurfaceContact.PatchElasticity"):
        kind = with_article(flexibility.kind)
        note(model, f"{kind} gives its stiffness to each contact point, as a PointwiseElasticity")
    if elastic and flexibility.given("stiffness"):
        return _positive(flexibility, "stiffness")
    if all(each.is_a(ELASTIC) and _given(each.value("youngs_modulus")) for each in materials):
        first, second = (_positive(each, "youngs_modulus") for each in materials)
        return first * second / (first + second)
    return _positive(flexibility, "stiffness") if elastic else None


def _damping(model: Object, materials: tuple[Any, ...], stiffness: float) -> float:
    """Return the damping of a contact point, N s/m; by default from the largest relaxation time of its materials."""
    if relaxation_of(model, "dissipation") is not None:
        return damping_of(model, "dissipation", stiffness)
    found = [relaxation_of(each, "dissipation") for each in materials if each.is_a(ELASTIC)]
    times = [each[1] for each in found if each is not None]
    return stiffness * max(times, default=RELAXATION)


def _positive(of: Object, name: str) -> float:
    number = above(of, name)
    if number == 0.0:
        raise Fault(line_of(of, name), f"{name} 0 must be above zero")
    return number


def _given(value: Any) -> bool:
    return not isinstance(value, Undefined) and value is not OPAQUE
