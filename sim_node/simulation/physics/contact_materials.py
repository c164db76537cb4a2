"""Contact materials as MuJoCo contact pairs, with stiffness in N/m and damping in N s/m for each contact point."""

from __future__ import annotations

import math
from collections.abc import Iterable
from itertools import combinations, product

import mujoco

from sim_node.simulation.physics.drives import MAX_PHASE, integrator_of
from sim_node.simulation.physics.surfaces import friction_of
from sim_node.world.bases import Base
from sim_node.world.contact_materials import ContactMaterial
from sim_node.world.layers import filter_of
from sim_node.world.layout import Layout
from sim_node.world.model import World
from sim_node.world.surfaces import IMPEDANCE, Surface, largest_timestep, solref

Touching = tuple[mujoco.MjsGeom, Surface | None]
# MuJoCo's bounds on impedance.
LEAST, MOST = mujoco.mjMINIMP, mujoco.mjMAXIMP
_GEOM, _PAIR = "sim_node/contact_geom/", "sim_node/contact_pair/"


def add_contact_pairs(spec: mujoco.MjSpec, world: World, touching: Iterable[Touching]) -> None:
    """Add a contact pair for every two shapes that may touch and whose materials have a contact material.

    Args:
        spec: The specification, with all exclusions.
        world: The world.
        touching: Each colliding geom of the world, and its surface.
    """
    of_material: dict[str, list[tuple[mujoco.MjsGeom, Surface]]] = {}
    for geom, surface in touching if world.contact_materials else ():
        if surface is not None and surface.contact_material:
            geom.name = f"{_GEOM}{sum(map(len, of_material.values()))}"
            of_material.setdefault(surface.contact_material, []).append((geom, surface))
    filters = ContactFilter(spec)
    for index, material in enumerate(world.contact_materials):
        one, other = (of_material.get(name, []) for name in material.between)
        pairs = combinations(one, 2) if len(material.pair) == 1 else product(one, other)
        for count, (first, second) in enumerate(pairs):
            if filters.meet(first, second):
                geoms = first[0].name, second[0].name
                pair = spec.add_pair(name=f"{_PAIR}{index}/{count}", geomname1=geoms[0], geomname2=geoms[1])
                (sliding, torsional, rolling), pair.condim = friction_of(material)
                pair.friction = [sliding, sliding, torsional, rolling, rolling]


class ContactFilter:
    """Collision filters for contact pairs, to which MuJoCo does not apply its own filters."""

    def __init__(self, spec: mujoco.MjSpec) -> None:
        self._excluded = {frozenset((each.bodyname1, each.bodyname2)) for each in spec.excludes}
        self._parents = not spec.option.disableflags & mujoco.mjtDisableBit.mjDSBL_FILTERPARENT

    def meet(self, one: Touching, other: Touching) -> bool:
        """Return whether two shapes may touch: on different rigid parts, not excluded, and on layers that touch."""
        bodies = one[0].parent, other[0].parent
        if frozenset(body.name for body in bodies) in self._excluded or not filter_of(one[1]).meets(
            filter_of(other[1])
        ):
            return False
        return not _is_filtered(*bodies, parents=self._parents)


def set_contact_pairs(model: mujoco.MjModel, world: World) -> None:
    """Set the stiffness and damping of contact pairs, which depend on the compiled masses of both bodies."""
    integrator = integrator_of(world)
    for pair in range(model.npair if world.contact_materials else 0):
        name = model.pair(pair).name
        if not name.startswith(_PAIR):
            continue
        material = world.contact_materials[int(name.split("/")[2])]
        bodies = model.geom_bodyid[[model.pair_geom1[pair], model.pair_geom2[pair]]]
        mobility = float(model.body_invweight0[bodies, 0].sum())
        if material.restitution is not None:
            bounce = solref(material.restitution, _contact_time(material, mobility, model, integrator))
            model.pair_solref[pair], model.pair_solimp[pair, :2] = bounce, IMPEDANCE
        elif material.stiffness is not None:
            reference, impedance = spring(material.stiffness, material.damping, mobility, model.opt.timestep)
            model.pair_solref[pair], model.pair_solimp[pair, :2] = reference, impedance


def spring(stiffness: float, damping: float | None, mobility: float, timestep: float) -> tuple[list[float], float]:
    """Return the solref and the constant impedance with which a constraint acts as a spring K and a damper B.

    MuJoCo solves R f + a = -b v - k r for the force f, with R = (1 - d) / d times the mobility, k = -solref[0] / d and
    b = -solref[1] / d for a constant impedance d (MuJoCo, Computation, Constraint model). A spring and damper that are
    implicit in the timestep h, f = -K (r + h (v + h a)) - B (v + h a), have that form with R = 1 / (K h^2 + B h),
    k = K R and b = (K h + B) R. If sqrt(K mobility) h is small, the terms K h are left out: they would add damping.

    Args:
        stiffness: K, N/m or N m/rad.
        damping: B, N s/m or N m s/rad; None for critical damping.
        mobility: MuJoCo's approximate inverse mass at the constraint, 1/kg or 1/(kg m^2).
        timestep: h, s.

    Returns:
        solref and the impedance. Stiffness and damping are clipped to what MuJoCo's largest impedance allows.
    """
    mobility = max(mobility, mujoco.mjMINVAL)
    if damping is None:
        damping = 2.0 * math.sqrt(stiffness / mobility)
    ahead = timestep if stiffness * mobility * timestep**2 > MAX_PHASE**2 else 0.0
    most = MOST / (1.0 - MOST) / mobility
    stiffness = min(stiffness, most / timestep**2)
    damping = min(damping, max(most - stiffness * ahead * timestep, 0.0) / timestep)
    held = (stiffness * ahead + damping) * timestep * mobility
    impedance = min(max(held / (1.0 + held), LEAST), MOST)
    give = (1.0 - impedance) / impedance * mobility
    return [-impedance * stiffness * give, -impedance * (stiffness * ahead + damping) * give], impedance


def _contact_time(material: ContactMaterial, mobility: float, model: mujoco.MjModel, integrator: str) -> float:
    """Return the duration of a bounce, s: half a period of the mass on the spring, or the shortest that is resolved."""
    assert material.restitution is not None
    if material.stiffness is None:
        return material.contact_time
    shortest = float(model.opt.timestep) / largest_timestep(material.restitution, 1.0, integrator)
    return max(math.pi / math.sqrt(material.stiffness * max(mobility, mujoco.mjMINVAL)), shortest)


def _is_filtered(first: mujoco.MjsBody, second: mujoco.MjsBody, *, parents: bool) -> bool:
    """Return whether MuJoCo filters contacts of two bodies: parts of one rigid body, or parent and child of a joint."""
    one, other = _rigid(first), _rigid(second)
    if one.name == other.name:
        return True
    if not parents or _is_fixed(one) or _is_fixed(other):
        return False
    return bool(_rigid(one.parent).name == other.name or _rigid(other.parent).name == one.name)


def _rigid(body: mujoco.MjsBody) -> mujoco.MjsBody:
    """Return the topmost body that a body is rigidly attached to."""
    while not (_is_fixed(body) or body.joints or body.mocap):
        body = body.parent
    return body


def _is_fixed(body: mujoco.MjsBody) -> bool:
    """Return whether a body is the world body: before a specification is compiled, no other has an id."""
    return int(body.id) == 0


def exclude_scenery(spec: mujoco.MjSpec, world: World, layout: Layout) -> None:
    """Exclude contacts that could not stop kinematic bases and bodies.

    These are contacts of kinematic bases, with everything that they carry, with static shapes; and contacts of
    kinematic bodies, with everything that is fixed to them, with static shapes and with each other.
    """
    frames = layout.frames
    bases = {frames.index(base.body) for base in world.of(Base) if base.drive == "kinematic"}
    bodies = {row for row, body in layout.bodies if body.kinematic}
    if not bases and not bodies:
        return
    still = ["world", *(frames.names[row] for row, _ in layout.links if frames.still[row])]
    jointed = {row for row, link in layout.links if link.joints}
    by_themselves: dict[int, list[str]] = {row: [] for row in bodies}
    for row, _ in layout.links:
        above = list(frames.chain(row))
        carrier = next((each for each in above if each in jointed), 0)
        if carrier in by_themselves:
            by_themselves[carrier].append(frames.names[row])
        if carrier in by_themselves or bases.intersection(above):
            for scenery in still:
                spec.add_exclude(bodyname1=frames.names[row], bodyname2=scenery)
    for some, others in combinations(by_themselves.values(), 2):
        for one, other in product(some, others):
            spec.add_exclude(bodyname1=one, bodyname2=other)
