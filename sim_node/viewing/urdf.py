"""Write URDF of a robot of a world, or of the whole world."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

import numpy as np

from sim_node.spatial.geometry import poses, quaternions
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.viewing.meshes import MOVING, PLAIN, DrawnShape, uri
from sim_node.viewing.robots import Robot, robots_of
from sim_node.viewing.shapes import ARROWS, DISC, shapes_of
from sim_node.world import FrameTable, World
from sim_node.world.bodies import Body
from sim_node.world.layout import Layout, lay_out
from sim_node.world.models import ModelLink
from sim_node.world.mujoco_source import need_mujoco
from sim_node.world.readers.xml_elements import quoteattr
from sim_node.world.shapes import Geometry


def in_urdf(shape: DrawnShape) -> bool:
    """Return whether URDF supports a shape: no planes, ellipsoids, meshes without a file, or model-only files."""
    if shape.kind == "sphere":
        return bool(shape.scale.max() == shape.scale.min())
    if shape.kind == "cylinder":
        return bool(shape.scale[0] == shape.scale[1])
    return shape.kind == "box"


def urdf_geometry(shape: DrawnShape) -> tuple[str, dict[str, str]]:
    """Return the name and the attributes of the element for a shape that `in_urdf` accepts."""
    x, y, z = (f"{size:.17g}" for size in shape.scale)
    if shape.kind == "sphere":
        return "sphere", {"radius": x}
    if shape.kind == "cylinder":
        return "cylinder", {"radius": x, "length": z}
    return "box", {"size": f"{x} {y} {z}"}


def urdf_mesh(part: Geometry) -> tuple[str, dict[str, str]]:
    """Return the element for a body's mesh file."""
    assert part.file is not None
    return "mesh", {"filename": uri(part.file), "scale": numbers(part.size)}


def numbers(values: FloatArray) -> str:
    """Format numbers with full precision, without negative zeros."""
    return " ".join(f"{value + 0.0:.17g}" for value in values)


# URDF requires limits for slides. These mean no limit: m, N, m/s.
_FAR, _STRONG, _FAST = 1e4, 1e9, 1e4
# Visual-only groups.
_DECORATION = (DISC, *ARROWS)

_Attributes = dict[str, str]
# Geometry of a link: element name, attributes, pose, colour, and the enclosing elements.
_Part = tuple[str, _Attributes, FloatArray, tuple[float, ...], tuple[str, ...]]
_USES = {"": ("visual", "collision"), "visual": ("visual",), "collision": ("collision",)}
# Type, name, pose of the child at position zero, and additional elements.
_Joint = tuple[str, str, FloatArray, list[str]]
# Mass (kg), centre of mass (3,) and inertia about it (3, 3), in the link's axes.
_Inertial = tuple[float, FloatArray, FloatArray]


class UrdfWriter:
    """Writes parts of an assembled world as URDF.

    Args:
        world: The world.
        frames: Its frames.
        numbers: Numbers of frames, used in the names of materials; by default their rows.
    """

    def __init__(self, world: World, frames: FrameTable, numbers: Mapping[str, int] | None = None) -> None:
        self._numbers = {name: row for row, name in enumerate(frames.names)} if numbers is None else numbers
        self._world, self._frames = world, frames
        self._layout: Layout = lay_out(world)
        self._links = dict(self._layout.links)
        self._inertials = _inertials(world, self._layout)
        self._parts: dict[int, list[_Part]] = {}
        for row, part in _parts(world, frames):
            self._parts.setdefault(row, []).append(part)

    def robot(self, robot: Robot) -> str:
        """Return the description of a robot; for an attached URDF model, its file's text with meshes resolved."""
        return robot.urdf or self._text(robot.name, robot.rows, robot.link)

    def whole(self) -> str:
        """Return the whole world, with the fixed frame as the root link. Links are named like frames."""
        return self._text(self._world.name, range(len(self._frames)), lambda frame: frame)

    def _text(self, name: str, rows: Iterable[int], link: Callable[[str], str]) -> str:
        root, *rest = rows
        lines = ['<?xml version="1.0"?>', f"<robot name={quoteattr(name)}>"]
        for row in (root, *rest):
            lines += self._link(row, link(self._frames.names[row]))
        for row in rest:
            lines += self._joint(row, link(self._frames.names[self._frames.parents[row]]), link)
        return "\n".join([*lines, "</robot>", ""])

    def _link(self, row: int, name: str) -> Iterator[str]:
        inside = [
            *_inertial(self._inertials.get(row)),
            *_drawn(self._parts.get(row, ()), self._numbers[self._frames.names[row]]),
        ]
        if not inside:
            yield f"  <link name={quoteattr(name)}/>"
            return
        yield f"  <link name={quoteattr(name)}>"
        yield from inside
        yield "  </link>"

    def _joint(self, row: int, parent: str, link: Callable[[str], str]) -> Iterator[str]:
        frame = self._frames.names[row]
        joint: _Joint | None = None
        if self._frames.static[row]:
            joint = "fixed", f"{frame}_fixed", self._layout.poses[row], []
        elif row in self._links:
            joint = _scalar_joint(self._links[row])
        kind, name, pose, inside = joint or ("floating", f"{frame}_floating", self._layout.poses[row], [])
        yield f'  <joint name={quoteattr(name)} type="{kind}">'
        yield f"    <parent link={quoteattr(parent)}/>"
        yield f"    <child link={quoteattr(link(frame))}/>"
        yield f"    {_origin(pose)}"
        yield from (f"    {line}" for line in inside)
        yield "  </joint>"


def described_rows(world: World, frames: FrameTable) -> frozenset[int]:
    """Return the rows whose transforms robot_state_publisher publishes from the robots' descriptions.

    These are the links below each robot's root that are attached by a fixed joint, a hinge or a slide. It does not
    publish floating joints.

    Args:
        world: The assembled world.
        frames: Its frames.

    Returns:
        The rows.
    """
    links = dict(lay_out(world).links)
    below = (row for robot in robots_of(world, frames) for row in robot.rows[1:])
    return frozenset(row for row in below if frames.static[row] or (row in links and _scalar_joint(links[row])))


def _scalar_joint(link: Body | ModelLink) -> _Joint | None:
    """Return the hinge or slide of a link at the link's origin; None if URDF has no such joint."""
    if len(link.joints) != 1 or not link.joints[0].is_scalar:
        return None
    joint = link.joints[0]
    name = link.name if isinstance(link, Body) else joint.name
    # The pose at q = 0, which may differ from the drawn one in MuJoCo
    pose = poses.IDENTITY if isinstance(link, Body) else link.link.at({link.link.joints[0].name: np.zeros(1)})
    if joint.kind == "slide":
        return "prismatic", name, pose, [_axis(joint.axis), _limit(*(joint.limits or (-_FAR, _FAR)))]
    if joint.anchor.any():
        return None
    if joint.limits is None:
        return "continuous", name, pose, [_axis(joint.axis)]
    return "revolute", name, pose, [_axis(joint.axis), _limit(*joint.limits)]


def _parts(world: World, frames: FrameTable) -> Iterator[tuple[int, _Part]]:
    """Yield the geometry of each row that URDF supports: visual, collision or both."""
    collision = []
    if any(part.only == "collision" for body in world.bodies for part in body.geometry):
        need_mujoco(world.source)
        from sim_node.viewing.mujoco_shapes import collision_geoms_of

        collision = [(shape, _USES["collision"]) for shape in collision_geoms_of(world, lay_out(world))]
    shown = [(shape, _USES["" if _collides(shape) else "visual"]) for shape in shapes_of(world, frames)]
    for shape, uses in (*shown, *collision):
        if in_urdf(shape):
            yield shape.row, (*urdf_geometry(shape), shape.pose, shape.colour, uses)
    for body in world.bodies:
        for part in body.shapes:
            if part.file is not None and not part.is_shown_only:
                row = frames.index(body.name)
                colour = _colour(part, PLAIN if frames.still[row] else MOVING)
                yield row, (*urdf_mesh(part), part.pose, colour, _USES[part.only])


def _collides(shape: DrawnShape) -> bool:
    return shape.collides and shape.colour not in _DECORATION


def _colour(part: Geometry, otherwise: tuple[float, ...]) -> tuple[float, ...]:
    return otherwise if part.colour is None else tuple(part.colour.tolist())


def _drawn(parts: Iterable[_Part], frame: int) -> Iterator[str]:
    for number, (tag, attributes, pose, colour, uses) in enumerate(parts):
        shape = f"<{tag}{''.join(f' {key}={quoteattr(value)}' for key, value in attributes.items())}/>"
        lines = [f"      {_origin(pose)}", f"      <geometry>{shape}</geometry>"]
        rgba = " ".join(f"{part:g}" for part in colour)
        if "visual" in uses:
            yield "    <visual>"
            yield from lines
            yield f'      <material name="{frame}_{number}"><color rgba="{rgba}"/></material>'
            yield "    </visual>"
        if "collision" in uses:
            yield from ("    <collision>", *lines, "    </collision>")


def _inertial(inertial: _Inertial | None) -> Iterator[str]:
    if inertial is None:
        return
    mass, centre, tensor = inertial
    upper = {"ixx": (0, 0), "ixy": (0, 1), "ixz": (0, 2), "iyy": (1, 1), "iyz": (1, 2), "izz": (2, 2)}
    moments = " ".join(f'{key}="{tensor[at] + 0.0:.17g}"' for key, at in upper.items())
    yield "    <inertial>"
    yield f'      <origin xyz="{numbers(centre)}" rpy="0 0 0"/>'
    yield f'      <mass value="{mass:.17g}"/>'
    yield f"      <inertia {moments}/>"
    yield "    </inertial>"


def _inertials(world: World, layout: Layout) -> dict[int, _Inertial]:
    """Return the inertia of each row that is a body, as compiled by MuJoCo from shapes and world file."""
    if not world.bodies and not world.models:
        return {}
    need_mujoco(world.source)
    from sim_node.simulation.physics.mujoco_model import compile_model

    model = compile_model(world, layout).model
    found = {}
    for row, link in layout.links:
        body = model.body(link.name).id
        if model.body_mass[body] > 0.0:
            turn = quaternions.to_matrix(model.body_iquat[body][[1, 2, 3, 0]])
            tensor = (turn * model.body_inertia[body]) @ turn.T
            found[row] = float(model.body_mass[body]), np.array(model.body_ipos[body]), (tensor + tensor.T) / 2.0
    return found


def _origin(pose: FloatArray) -> str:
    return f'<origin xyz="{numbers(pose[:3])}" rpy="{numbers(quaternions.to_rpy(pose[3:]))}"/>'


def _axis(axis: FloatArray) -> str:
    return f'<axis xyz="{numbers(axis)}"/>'


def _limit(low: float, high: float) -> str:
    low, high = max(low, -_FAR), min(high, _FAR)  # one of them may be infinite
    return f'<limit lower="{low:.17g}" upper="{high:.17g}" effort="{_STRONG:g}" velocity="{_FAST:g}"/>'
