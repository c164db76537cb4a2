"""The joints of a world that one number each describes, as sensor_msgs/JointState has them."""

from __future__ import annotations

from sim_node.world.bodies import Body
from sim_node.world.layout import lay_out
from sim_node.world.model import World
from sim_node.world.models import ModelLink


def joints_below(world: World, frame: str) -> tuple[str, ...]:
    """The names of the joints of a frame and of all frames below it, parents first.

    Hinges and slides; joints that float or turn every way have no such numbers. A joint of a body is named as its body,
    and where it has several parts as the body, # and the part's place: saddle#0, saddle#1; one of a model by its own
    name, under the model's prefix.
    """
    layout = lay_out(world)
    above = layout.frames.index(frame)
    joints = [
        *((row, _joints_of(body)) for row, body in layout.bodies),
        *((row, _joints_of_link(link)) for row, link in layout.links),
    ]
    joints.sort(key=lambda each: each[0])
    return tuple(name for row, names in joints if above in layout.frames.chain(row) for name in names)


def _joints_of(body: Body) -> list[str]:
    parts = body.type.parts
    if any(part.kind == "ball" for part in parts):
        return []
    return [body.name] if len(parts) == 1 else [f"{body.name}#{k}" for k in range(len(parts))]


def _joints_of_link(link: ModelLink) -> list[str]:
    return [link.model.full_name(joint.name) for joint in link.link.joints if joint.kind in ("hinge", "slide")]
