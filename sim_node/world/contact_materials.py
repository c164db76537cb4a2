"""Contact materials: what shapes of two materials do where they touch. Frozen data and checks."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from sim_node.text import did_you_mean
from sim_node.world.model import World
from sim_node.world.problems import NO_PLACE, Place, Problem, quoted
from sim_node.world.surfaces import DEFAULT_CONTACT_TIME, RANGES
from sim_node.world.timestep_checks import timestep_fault

MAX_STIFFNESS = 1e15  # N/m
# Shapes that a contact material may pair; MuJoCo tests each pair in every timestep.
MAX_PAIRS = 20_000


@dataclass(frozen=True, slots=True)
class ContactMaterial:
    """Friction and elasticity between shapes of two materials. It overrides what their surfaces give.

    Attributes:
        between: The names of the two materials, as shapes have them in `Surface.contact_material`.
        sliding: Coefficient of friction against sliding; None for MuJoCo's default.
        torsional: Friction against turning about the contact's normal (m): torque per force. None for none.
        rolling: Friction against rolling (m): torque per force. None for none.
        restitution: Speed after a bounce as a fraction of the speed before it; None for none.
        contact_time: Duration of a bounce without a stiffness, s.
        stiffness: Of each contact point, N/m; None for MuJoCo's default contact. With a restitution it determines how
            long a bounce lasts.
        damping: Of each contact point, N s/m; None for critical damping of what touches.
        places: Where the file gives each key.
        place: Where the file describes it.
    """

    between: tuple[str, str]
    sliding: float | None = None
    torsional: float | None = None
    rolling: float | None = None
    restitution: float | None = None
    contact_time: float = DEFAULT_CONTACT_TIME
    stiffness: float | None = None
    damping: float | None = None
    places: Mapping[str, Place] = field(default_factory=dict, compare=False)
    place: Place = field(default=NO_PLACE, compare=False)

    @property
    def pair(self) -> frozenset[str]:
        """The two materials in no order; one if both are the same."""
        return frozenset(self.between)


def contact_material_problems(world: World) -> Iterator[Problem]:
    """Yield every fault of a world's contact materials: of names, numbers, timesteps, and too many pairs of shapes."""
    materials: tuple[ContactMaterial, ...] = world.parts.get("contact_materials", ())
    if not materials:
        return
    shapes = [shape for body in world.bodies for shape in body.geometry]
    if world.ground is not None:
        shapes.append(world.ground.shape)
    count = Counter(shape.surface.contact_material for shape in shapes if shape.surface is not None)
    del count[""]
    first: dict[frozenset[str], ContactMaterial] = {}
    for index, each in enumerate(materials):
        key = each.place.key or f"contact_materials[{index}]"

        def problem(name: str, message: str, key: str = key, of: ContactMaterial = each) -> Problem:
            place = of.places.get(name, of.place)
            return Problem(place.where, place.key if name in of.places else f"{key}.{name}", message)

        before = first.setdefault(each.pair, each)
        if before is not each:
            pair = " and ".join(map(quoted, each.between))
            yield problem("between", f"a second contact material of {pair}; the first is at {before.place.where}")
        # Materials of systems reach the bodies when they are assembled.
        for name in each.between if not world.systems else ():
            if name not in count:
                yield problem("between", f"no shape is of {quoted(name)}{did_you_mean(name, count)}")
        faults = list(_number_faults(world, each))
        yield from (problem(*fault) for fault in faults)
        one, other = (count[name] for name in each.between)
        pairs = one * (one - 1) // 2 if len(each.pair) == 1 else one * other
        if pairs > MAX_PAIRS:
            message = f"it pairs {pairs} shapes with each other, each a contact pair of MuJoCo; allowed: {MAX_PAIRS}"
            yield problem("between", f"{message}. Give shapes friction and restitution of their own instead")


def _number_faults(world: World, of: ContactMaterial) -> Iterator[tuple[str, str]]:
    for key in ("sliding", "torsional", "rolling", "restitution", "contact_time"):
        value = getattr(of, key)
        low, high, unit = RANGES[key]
        if value is not None and not low <= value <= high:
            yield key, f"{value:g} is out of range; allowed: {low:g} to {high:g}{f' {unit}' if unit else ''}"
            return
    if of.stiffness is not None and not 0.0 < of.stiffness <= MAX_STIFFNESS:
        yield "stiffness", f"{of.stiffness:g} is out of range; allowed: above 0, up to {MAX_STIFFNESS:g} N/m"
        return
    if of.damping is not None and not 0.0 <= of.damping < math.inf:
        yield "damping", f"{of.damping:g} is out of range; it must be zero or more, and finite"
    if of.damping is not None and of.stiffness is None:
        yield "damping", "has no effect without stiffness"
    if of.damping is not None and of.restitution is not None:
        yield "damping", "cannot be combined with restitution, which determines the damping; give one of them"
    if "contact_time" in of.places and (of.restitution is None or of.stiffness is not None):
        yield "contact_time", "has an effect only with a restitution and without a stiffness"
    if of.stiffness is None and (message := timestep_fault(world, of.restitution, of.contact_time)):
        yield "restitution", message
