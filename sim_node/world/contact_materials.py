"""Contact materials: contact properties of shapes of two materials. Frozen data and checks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from sim_node.text import did_you_mean
from sim_node.world.declared import declared, faults, given, place_of, places_of
from sim_node.world.model import World
from sim_node.world.part import Kind, Rename, part
from sim_node.world.physics import timestep_fault
from sim_node.world.problems import NO_PLACE, Place, Problem, quoted
from sim_node.world.quantities import Number, Pair
from sim_node.world.readers.yaml_section import listed
from sim_node.world.surfaces import COEFFICIENT, CONTACT_TIME, DEFAULT_CONTACT_TIME, FRICTION, MADE_OF, RESTITUTION

MAX_STIFFNESS = 1e15  # N/m
# With a restitution, the stiffness determines the duration of a bounce.
STIFFNESS, DAMPING = Number(high=MAX_STIFFNESS, above=0.0), Number(0.0, MAX_STIFFNESS)
# Maximum number of pairs of shapes for contact materials; MuJoCo tests each pair in every timestep.
MAX_PAIRS = 20_000


@declared(spread={"friction": FRICTION})
class ContactMaterial:
    """Friction and elasticity between shapes of two materials. It overrides what their surfaces give."""

    between: tuple[str, str] = given(Pair(MADE_OF, noun="materials"), "The two materials, as shapes have them")
    sliding: float | None = given(COEFFICIENT, "Coefficient of sliding friction; usually 1", default=None)
    torsional: float | None = given(COEFFICIENT, "Torque per force against turning on the spot", "m", default=None)
    rolling: float | None = given(COEFFICIENT, "Torque per force against rolling", "m", default=None)
    restitution: float | None = given(RESTITUTION, "Share of the speed that a bounce keeps", default=None)
    # Of one without a stiffness.
    contact_time: float = given(CONTACT_TIME, "Duration of a bounce", "s", default=DEFAULT_CONTACT_TIME, omit=True)
    stiffness: float | None = given(STIFFNESS, "Stiffness of each contact point", "N/m", default=None)
    # Critical damping if not given.
    damping: float | None = given(DAMPING, "Damping of each contact point", "N s/m", default=None)
    places: Mapping[str, Place] = places_of()
    place: Place = place_of(default=NO_PLACE)

    @property
    def pair(self) -> frozenset[str]:
        """The set of the two materials, with a single element if both are the same."""
        return frozenset(self.between)


def _faults(world: World, of: ContactMaterial) -> Iterator[tuple[str, str]]:
    wrong = list(faults(of))
    yield from wrong
    if wrong:
        return
    if of.damping is not None and of.stiffness is None:
        yield "damping", "has no effect without stiffness"
    if of.damping is not None and of.restitution is not None:
        yield "damping", "cannot be combined with restitution, which determines the damping; give one of them"
    if "contact_time" in of.places and (of.restitution is None or of.stiffness is not None):
        yield "contact_time", "has an effect only with a restitution and without a stiffness"
    bounce = (of.restitution, of.contact_time)
    if of.stiffness is None and (message := timestep_fault(world.physics, world.time.step_ns, *bounce)):
        yield "restitution", message


@part("contact_materials", ContactMaterial)
class ContactMaterials(Kind[ContactMaterial]):
    """Contact materials. Like layers, materials are shared by all included files."""

    def problems(self, world: World) -> Iterator[Problem]:
        """Return every fault of names, numbers and timesteps."""
        materials: tuple[ContactMaterial, ...] = self.parts(world)
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
            # Materials of systems are known on bodies only after assembly.
            for name in each.between if not world.systems else ():
                if name not in count:
                    yield problem("between", f"no shape is of {quoted(name)}{did_you_mean(name, count)}")
            yield from (problem(*fault) for fault in _faults(world, each))
            one, other = (count[name] for name in each.between)
            pairs = one * (one - 1) // 2 if len(each.pair) == 1 else one * other
            if pairs > MAX_PAIRS:
                message = (
                    f"it pairs {pairs} shapes with each other, each a contact pair of MuJoCo; allowed: {MAX_PAIRS}"
                )
                yield problem("between", f"{message}. Give shapes friction and restitution of their own instead")

    def renamed(self, part: ContactMaterial, rename: Rename) -> ContactMaterial:
        """Return the part unchanged."""
        return part


listed("contact_materials", "What shapes of two materials do where they touch.", ContactMaterial)
