"""The joints of a world that one number each describes, as sensor_msgs/JointState has them."""

from __future__ import annotations

from sim_node.world.bodies import Body
from sim_node.world.layout import lay_out
from sim_node.world.model import World


def joints_below(world: World, frame: str) -> tuple[str, ...]:
    """The names of the joints of a frame and of all frames below it, parents first.

    Hinges and slides; joints that float or turn every way have no such numbers. A joint is named as its body, and
    where it has several parts as the body, # and the part's place: saddle#0, saddle#1.
    """
    layout = lay_out(world)
    above = layout.frames.index(frame)
    return tuple(name for row, body in layout.bodies if above in layout.frames.chain(row) for name in _joints_of(body))


def _joints_of(body: Body) -> list[str]:
    parts = body.type.parts
    if any(part.kind == "ball" for part in parts):
        return []
    return [body.name] if len(parts) == 1 else [f"{body.name}#{k}" for k in range(len(parts))]
