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
    return tuple(
        name for row, link in layout.links if above in layout.frames.chain(row) for name in _scalar_joints(link)
    )


def _scalar_joints(link: Body | ModelLink) -> list[str]:
    if isinstance(link, Body):
        if not all(joint.is_scalar for joint in link.joints):
            return []
        if len(link.joints) == 1:
            return [link.name]
    return [joint.name for joint in link.joints if joint.is_scalar]
