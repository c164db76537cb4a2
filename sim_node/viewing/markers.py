"""The groups of markers that show a world. To add a group, write a function with one `@marker_group` entry."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

import numpy as np

from sim_node.messages.marker_messages import FrameMarker, MarkerType
from sim_node.registry import Registry
from sim_node.simulation.physics.keyframes import Motions
from sim_node.spatial.geometry import poses
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.viewing.meshes import MOVING, PLAIN, READ_BY_RVIZ, DrawnShape, parts_of, uri
from sim_node.viewing.robots import robots_of
from sim_node.viewing.shapes import shapes_of
from sim_node.viewing.urdf import in_urdf
from sim_node.world import FrameTable, World
from sim_node.world.model import CURVED, STILL, Motion
from sim_node.world.problems import WorldWarning
from sim_node.world.shapes import SHEET, Geometry

# Creates the markers of an assembled world, in their own frames.
Marks = Callable[[World, FrameTable], Iterable[FrameMarker]]
# By the namespaces of the markers, as listed by rviz.
MARKER_GROUPS: Registry[str, Marks] = Registry(
    "group of markers",
    shipped=("sim_node.viewing.markers", "sim_node.viewing.sensor_marks"),
    group="sim_node.markers",
)
# Registers a function that creates the markers of some namespaces.
marker_group = MARKER_GROUPS.add


def all_marks(world: World, frames: FrameTable) -> Iterator[FrameMarker]:
    """Yield the markers of all groups. Raises PluginFault for invalid markers of a plug-in."""
    made: list[Marks] = []
    for name, marks in MARKER_GROUPS.items():
        if marks in made:
            continue  # one function may create several groups
        made.append(marks)
        for marker in marks(world, frames):
            MARKER_GROUPS.expect(name, marker, FrameMarker, "a Marker")
            if marker.group not in MARKER_GROUPS:
                MARKER_GROUPS.refuse(name, f"created a marker of the group {marker.group!r}, which it does not declare")
            yield marker


# The namespaces of markers, as listed by rviz. Those of ROBOTS are also shown by robot_description.
SHAPES, ROBOTS, PATHS, MISSIONS = "shapes", "robots", "keyframes", "missions"
# Half the edge of an infinite plane, m, unless the world is larger.
_PLANE = 25.0
_GROUND = (0.57, 0.59, 0.58, 1.0)
_LINE, _PATH, _MISSION = 0.02, (0.95, 0.65, 0.15, 0.9), (0.35, 0.75, 0.95, 0.9)
# Maximum number of vertices of a curve between two keyframes, and of a whole path.
_SMOOTH, _MAX_VERTICES = 24, 4000


def markers_of(world: World, frames: FrameTable, prefix: str = "") -> list[FrameMarker]:
    """Return all markers of an assembled world. prefix: prefix of all frame ids except the fixed frame's."""
    fixed, markers = world.fixed_frame, all_marks(world, frames)
    return [each if each.frame == fixed else replace(each, frame=prefix + each.frame) for each in markers]


@marker_group(SHAPES, ROBOTS)
def _shapes(world: World, frames: FrameTable) -> Iterator[FrameMarker]:
    own, whole = _described(world, frames)
    files = {frames.index(body.name) for body in world.bodies if any(part.file is not None for part in body.geometry)}
    for shape in shapes_of(world, frames):
        if shape.kind == "mesh" and shape.row in files:
            continue  # rviz reads the file itself, see below
        group = ROBOTS if shape.row in whole or (shape.row in own and in_urdf(shape)) else SHAPES
        yield from _solid(frames.names[shape.row], group, shape)
    for body in world.bodies:
        for part in body.shapes:
            row = frames.index(body.name)
            if part.only != "collision" and (part.triangles is not None or part.file is not None):
                group, otherwise = ROBOTS if row in own else SHAPES, PLAIN if frames.still[row] else MOVING
                yield from _mesh(body.name, group, part, otherwise, beside_files=row in files)


def _mesh(
    frame: str, group: str, part: Geometry, otherwise: tuple[float, ...], *, beside_files: bool
) -> Iterator[FrameMarker]:
    """Yield the mesh of a part: its file, which rviz reads itself, or its triangles, if the body has files, too."""
    colour = otherwise if part.colour is None else tuple(part.colour.tolist())
    size = np.broadcast_to(part.size, (3,))
    if part.triangles is not None and beside_files:
        corners = part.triangles.vertices[part.triangles.faces].reshape(-1, 3)
        yield FrameMarker(frame, SHAPES, MarkerType.TRIANGLE_LIST, part.pose, size, colour, corners)
    if part.file is not None and not part.is_shown_only:
        yield FrameMarker(frame, group, MarkerType.MESH_RESOURCE, part.pose, size, colour, mesh=uri(part.file))


def _described(world: World, frames: FrameTable) -> tuple[set[int], set[int]]:
    """Return the rows that URDF can describe, and those that their own model's text describes."""
    own: set[int] = set()
    whole: set[int] = set()
    for robot in robots_of(world, frames):
        (whole if robot.urdf else own).update(robot.rows)
    return own, whole


def _solid(frame: str, group: str, shape: DrawnShape) -> Iterator[FrameMarker]:
    scale = shape.scale
    if shape.kind == "box":
        yield FrameMarker(frame, group, MarkerType.CUBE, shape.pose, scale, shape.colour)
    elif shape.kind == "sphere":
        yield FrameMarker(frame, group, MarkerType.SPHERE, shape.pose, 2.0 * scale, shape.colour)
    elif shape.kind == "cylinder":
        size = scale * (2.0, 2.0, 1.0)
        yield FrameMarker(frame, group, MarkerType.CYLINDER, shape.pose, size, shape.colour)
    elif shape.kind == "plane":
        # A thin box whose upper side is the plane
        size = np.array([*np.where(scale[:2] > 0.0, scale[:2], 2.0 * _PLANE), SHEET])
        below = poses.compose(shape.pose, [0.0, 0.0, -0.5 * SHEET, 0.0, 0.0, 0.0, 1.0])
        colour = _GROUND if shape.colour == PLAIN else shape.colour
        yield FrameMarker(frame, group, MarkerType.CUBE, below, size, colour)
    elif shape.mesh is not None:
        corners = shape.mesh.vertices[shape.mesh.faces].reshape(-1, 3).astype(np.float64)
        yield FrameMarker(frame, group, MarkerType.TRIANGLE_LIST, shape.pose, scale, shape.colour, corners)
    elif shape.file is not None and shape.file.suffix.lower() in READ_BY_RVIZ:
        mesh = uri(shape.file)
        # Without a colour, so that the file's is used
        yield FrameMarker(frame, group, MarkerType.MESH_RESOURCE, shape.pose, scale, (0.0, 0.0, 0.0, 0.0), mesh=mesh)
    elif shape.file is not None:
        try:
            parts = list(parts_of(shape.file))
        except Exception as error:  # any error of a library
            warnings.warn(WorldWarning(f"{shape.file}: not among the markers: {error}"), stacklevel=2)
            return
        for vertices, faces, colour, *_ in parts:
            corners = vertices[faces].reshape(-1, 3)
            drawn = colour if shape.colour == PLAIN else shape.colour
            yield FrameMarker(frame, group, MarkerType.TRIANGLE_LIST, shape.pose, scale, drawn, corners)


def is_plane(group: str, scale: FloatArray) -> bool:
    """Return whether a box in a group, with edges (3,), m, represents a plane in these markers."""
    return group == SHAPES and float(scale[2]) == SHEET


@marker_group(PATHS)
def _paths(world: World, frames: FrameTable) -> Iterator[FrameMarker]:
    return (_path(motion) for motion in world.motions if np.ptp(motion.poses[:, :3], axis=0).max() > STILL)


def _path(motion: Motion) -> FrameMarker:
    """Return the path of a frame through its keyframes, in its parent."""
    times_ns = motion.times_ns
    if motion.interpolation in CURVED:
        between = np.linspace(times_ns[:-1], times_ns[1:], _SMOOTH, endpoint=False, axis=1).ravel()
        times_ns = np.concatenate([np.rint(between).astype(np.int64), times_ns[-1:]])
    every = -(-len(times_ns) // _MAX_VERTICES)
    times_ns = np.concatenate([times_ns[:-1:every], times_ns[-1:]])
    path = Motions([motion]).at(times_ns)[:, 0, :3]
    line = np.array([_LINE, 0.0, 0.0])
    return FrameMarker(motion.parent, PATHS, MarkerType.LINE_STRIP, scale=line, colour=_PATH, points=path)


@marker_group(MISSIONS)
def _missions(world: World, frames: FrameTable) -> Iterator[FrameMarker]:
    """Yield the waypoints of pilots, in the parent frame of their vehicle."""
    for vehicle in world.vehicles:
        if vehicle.pilot is not None and vehicle.pilot.waypoints:
            body = next(body for body in world.bodies if body.name == vehicle.body)
            points = np.array([waypoint.position for waypoint in vehicle.pilot.waypoints])
            ends = points[:1] if vehicle.pilot.after == "loop" else points[:0]
            line = np.array([_LINE, 0.0, 0.0])
            path = np.concatenate([points, ends])
            if len(path) > 1:
                yield FrameMarker(
                    body.parent, MISSIONS, MarkerType.LINE_STRIP, scale=line, colour=_MISSION, points=path
                )
            for point, waypoint in zip(points, vehicle.pilot.waypoints, strict=True):
                at = np.concatenate([point, [0.0, 0.0, 0.0, 1.0]])
                colour = (*_MISSION[:3], 0.25)
                radius = np.full(3, 2.0 * waypoint.radius)
                yield FrameMarker(body.parent, MISSIONS, MarkerType.SPHERE, at, radius, colour)
