"""Find the robots among the frames of a world: vehicles, and frames connected by joints."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sim_node.world import FrameTable, World
from sim_node.world.layout import Layout, lay_out
from sim_node.world.models import Model

_JOINT = "/joint"


@dataclass(frozen=True)
class Robot:
    """A subtree of frames that one robot_description describes.

    Attributes:
        name: Its name.
        rows: Rows of the frame table, root first, parents before children.
        model: The attached model of its root.
        frame_prefix: Prefix of all frames on the graph.
        tf_prefix: Prefix of its frames on the graph, without the slash: the frame of a link is TF_PREFIX/LINK, as in
            rviz and robot_state_publisher; empty for no prefix.
    """

    name: str
    rows: tuple[int, ...]
    tf_prefix: str
    frame_prefix: str = ""
    model: Model | None = None

    def link(self, frame: str) -> str:
        """Return the name of a world frame in the description."""
        published = self.frame_prefix + frame
        return published[len(self.tf_prefix) + 1 :] if self.tf_prefix else published

    @property
    def urdf(self) -> str:
        """Return the text of its URDF model if the link names are the same; otherwise an empty string."""
        if self.model is None or not self.model.urdf or len(self.rows) != len(self.model.links):
            return ""
        same = all(self.link(self.model.full_name(link.name)) == link.name for link in self.model.links)
        return self.model.urdf if same else ""


def robots_of(world: World, frames: FrameTable, prefix: str = "") -> tuple[Robot, ...]:
    """Return the robots of an assembled world, in frame order. prefix: prefix of all frame names on the graph.

    A robot starts at the frame to which its first joint is fixed. If that is the fixed frame, which has no prefix, or
    if the robot floats, it starts at the moving frame. Fixed links of its model above that frame belong to it. A robot
    from a URDF model consists of the model's links, without anything mounted on them. A single floating body is a robot
    only if it is a vehicle.
    """
    layout = lay_out(world)
    kinds = {row: body.joint for row, body in layout.bodies if body.type.parts}
    kinds |= {
        row: "free" if any(joint.kind == "free" for joint in link.link.joints) else "joint"
        for row, link in layout.model_links
        if link.link.joints
    }
    links = dict(layout.model_links)
    vehicles = {frames.index(vehicle.body): vehicle.name for vehicle in world.vehicles}
    robots = []
    for root in _roots(kinds, layout, frames):
        rows = _subtree(root, frames.parents.tolist())
        articulated = any(kinds.get(row, "free") != "free" for row in rows)
        if articulated or root in vehicles:
            model = links[root].model if root in links else None
            if model is not None and model.urdf and frames.names[root] == model.full_name(model.links[0].name):
                rows = tuple(sorted(frames.index(model.full_name(link.name)) for link in model.links))
            name = vehicles.get(root) or _name(frames.names[root], model)
            robots.append(Robot(name, rows, _tf_prefix(name, rows, frames, prefix), prefix, model))
    return tuple(robots)


def _roots(kinds: Mapping[int, str], layout: Layout, frames: FrameTable) -> list[int]:
    """Return the rows at which robots start, given the kinds of joints by row."""
    links, parents = dict(layout.model_links), frames.parents.tolist()
    roots: dict[int, None] = {}
    for row in sorted(kinds):
        if not any(above in kinds for above in frames.chain(row)[1:]):
            root = row if kinds[row] == "free" else _holding(row, layout, parents)
            while root in links and parents[root] in links and links[parents[root]].model is links[root].model:
                root = parents[root]
            roots[root] = None
    return list(roots)


def _holding(row: int, layout: Layout, parents: list[int]) -> int:
    """Return the body or frame that a joint is attached to, or else the frame that the joint moves."""
    body = next((body for at, body in layout.bodies if at == row), None)
    holder = parents[row]
    if body is not None and body.joint_frame != body.parent and parents[holder] > 0:
        holder = parents[holder]
    return holder if holder > 0 else row


def _subtree(root: int, parents: list[int]) -> tuple[int, ...]:
    """Return the rows of a frame and its descendants: frames are laid out depth first."""
    end = next((row for row in range(root + 1, len(parents)) if parents[row] < root), len(parents))
    return tuple(range(root, end))


def _name(root: str, model: Model | None) -> str:
    """Return the model's name if the robot starts where a model does; otherwise its root's name."""
    if model is not None and root == model.full_name(model.links[0].name):
        return model.prefix.strip("/") or model.name
    return root.removesuffix(_JOINT)


def _tf_prefix(name: str, rows: tuple[int, ...], frames: FrameTable, prefix: str) -> str:
    common = prefix + (f"{name}/" if all(frames.names[row].startswith(f"{name}/") for row in rows) else "")
    return common.rpartition("/")[0]
