"""Names on the wire of a world in Python: frames of entities and topics of components, valid in ROS and unique."""

from __future__ import annotations

from collections.abc import Iterable

from sim_node import names
from sim_node.extensions.elodin.errors import EcsError
from sim_node.extensions.elodin.frame_names import FIXED_FRAME, WORLD_POS, frame_name
from sim_node.messages.sensor_topics import ros_name

# rmw's limit of a topic with its prefix of 8 characters.
MAX_LENGTH = 247


def topic_name(component: str, entity: str = "") -> str:
    """Return the topic of a component, in characters that ROS allows.

    Capital letters of entities become small; characters other than ASCII letters, digits and slashes become `_`; a part
    that begins with a digit gets a `_` in front. `mass` of `Saturn V/1st stage` is on `/saturn_v/_1st_stage/mass`.

    Args:
        component: The component.
        entity: The entity, or nothing for a topic that several share.
    """
    last = ros_name(frame_name(component))
    return f"/{ros_name(frame_name(entity).lower())}/{last}" if entity else f"/{last}"


def frames_of(entities: Iterable[str], fixed_frame: str = FIXED_FRAME) -> list[str]:
    """Return the frames of entities.

    Raises:
        EcsError: Two would have the same frame, or one that of the world, or a name is too long.
    """
    used = {fixed_frame: "the world"}
    found = []
    for entity in entities:
        frame = frame_name(entity)
        fault = names.fault(frame)
        if fault is not None:
            raise EcsError(f"the frame of entity {entity!r} {fault}", key=WORLD_POS)
        if frame in used:
            raise EcsError(
                f"entity {entity!r} and {used[frame]} have the same frame, {frame}; rename the entity", key=WORLD_POS
            )
        used[frame] = f"entity {entity!r}"
        found.append(frame)
    return found


def claimed(used: dict[str, str], name: str, owner: str) -> str:
    """Return a topic after noting its owner. Raises EcsError if another one has it, or if it is too long."""
    if name in used:
        raise EcsError(f"{owner} and {used[name]} would both be on the topic {name}; rename one", key="topics")
    if len(name) > MAX_LENGTH:
        raise EcsError(f"{owner}: its topic has {len(name)} characters; allowed: up to {MAX_LENGTH}", key="topics")
    used[name] = owner
    return name
