"""The parents that a world's files leave to be understood."""

from __future__ import annotations

from dataclasses import replace

from sim_node.names import BASE_LINK, enclosing, last, prefixed
from sim_node.world.model import World


def with_default_parents(world: World) -> World:
    """Every frame without a parent gets one.

    A sensor's is the nearest base_link at or above its namespace. Any other frame's is the nearest frame that
    its name lies below (`drone` for `drone/mast`), else the fixed frame.
    """
    known = {frame.name for frame in (*world.frames, *world.sensors)} | {m.frame for m in world.motions}
    known |= {body.name for body in world.bodies}
    known |= {path for system in world.systems for path, _ in system.frames()}
    known |= {model.full_name(link.name) for model in world.models for link in model.links}
    known.add(world.fixed_frame)

    def parent(name: str) -> str:
        return next((above for above in enclosing(name) if above in known), world.fixed_frame)

    return replace(
        world,
        frames=tuple(f if f.parent else replace(f, parent=parent(f.name)) for f in world.frames),
        sensors=tuple(s if s.parent else replace(s, parent=_base_link(s.name, known)) for s in world.sensors),
        motions=tuple(m if m.parent else replace(m, parent=parent(m.frame)) for m in world.motions),
        bodies=tuple(b if b.parent else replace(b, parent=parent(b.name)) for b in world.bodies),
        systems=tuple(s if s.parent else replace(s, parent=parent(s.name)) for s in world.systems),
    )


def _base_link(sensor: str, known: set[str]) -> str:
    """The base_link that a sensor is mounted on; where there is none, the one that its namespace should have."""
    namespaces = [*enclosing(sensor), ""]
    candidates = [space if last(space) == BASE_LINK else prefixed(space, BASE_LINK) for space in namespaces]
    return next((name for name in candidates if name in known), candidates[0])
