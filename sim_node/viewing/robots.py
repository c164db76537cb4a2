"""Which frames of a world are robots: its vehicles, and what hangs together by joints."""

from __future__ import annotations

from dataclasses import dataclass

from sim_node.world import FrameTable, World
from sim_node.world.layout import Layout, lay_out
from sim_node.world.models import Model

_JOINT = "/joint"


@dataclass(frozen=True)
class Robot:
    """A subtree of frames that one robot_description describes.

    rows: of the frame table, the root's first, parents before children. prefix: what all their names begin with,
    up to a slash, which is left out of the names of links; empty for none. model: an attached model that is this robot.
    """

    name: str
    rows: tuple[int, ...]
    prefix: str
    model: Model | None = None

    def link(self, frame: str) -> str:
        """What the description calls a frame."""
        return frame[len(self.prefix) + 1 :] if self.prefix else frame


def robots_of(world: World, frames: FrameTable) -> tuple[Robot, ...]:
    """The robots of an assembled world, in the order of their frames.

    A robot begins at what its first joint is fixed to; of what floats free or hangs on the fixed frame itself, which
    has no prefix, at what moves. Fixed links of its model above that are part of it. A single body that floats is none,
    unless it is a vehicle.
    """
    layout = lay_out(world)
    kinds = {row: body.joint for row, body in layout.bodies if body.type.parts}
    kinds |= {
        row: "free" if any(joint.kind == "free" for joint in link.link.joints) else "joint"
        for row, link in layout.links
        if link.link.joints
    }
    links = dict(layout.links)
    vehicles = {frames.index(vehicle.body): vehicle.name for vehicle in world.vehicles}
    parents = frames.parents.tolist()
    roots: list[int] = []
    for row in sorted(kinds):
        if not any(above in kinds for above in frames.chain(row)[1:]):
            root = row if kinds[row] == "free" else _holding(row, layout, parents)
            while root in links and parents[root] in links and links[parents[root]].model is links[root].model:
                root = parents[root]
            if root not in roots:
                roots.append(root)
    robots = []
    for root in roots:
        rows = tuple(row for row in range(root, len(frames)) if root in frames.chain(row))
        articulated = any(kinds.get(row, "free") != "free" for row in rows)
        if articulated or root in vehicles:
            robots.append(_robot(root, rows, frames, vehicles, links[root].model if root in links else None))
    return tuple(robots)


def _holding(row: int, layout: Layout, parents: list[int]) -> int:
    """What a joint hangs on: a body or a frame, beyond the joint's own frame; what it moves where that is all."""
    body = next((body for at, body in layout.bodies if at == row), None)
    holder = parents[row]
    if body is not None and body.joint_frame != body.parent and parents[holder] > 0:
        holder = parents[holder]
    return holder if holder > 0 else row


def _robot(
    root: int, rows: tuple[int, ...], frames: FrameTable, vehicles: dict[int, str], model: Model | None
) -> Robot:
    name = frames.names[root].removesuffix(_JOINT)
    if root in vehicles:
        name = vehicles[root]
    elif model is not None and frames.names[root] == next(model.full_name(link.name) for link in model.links):
        name = model.prefix.strip("/") or model.name
    prefix = name if all(frames.names[row].startswith(f"{name}/") for row in rows) else ""
    return Robot(name, rows, prefix, model)


def has_all_of(robot: Robot, frames: FrameTable) -> bool:
    """Whether a robot that is a model has all links of the model."""
    assert robot.model is not None
    own = {frames.names[row] for row in robot.rows}
    return all(robot.model.full_name(link.name) in own for link in robot.model.links)
