"""Markers, handled as in rviz: added, replaced and deleted by namespace and id."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from sim_node.spatial.geometry import poses as pose_math
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.viewing.markers import SHAPES, is_plane
from sim_node.viewing.meshes import DrawnShape, TriangleMesh
from sim_node.viewing.messages.drawing import Colours, Drawing, Item, Lines, Points, Solids, TextLabel, strip
from sim_node.viewing.messages.mesh_files import mesh_shapes
from sim_node.viewing.messages.readers import Read, ReaderContext, reader
from sim_node.viewing.messages.stamped_poses import pose_of

# visualization_msgs/Marker
_ARROW, _CUBE, _SPHERE, _CYLINDER, _STRIP, _LINES, _CUBES, _SPHERES, _POINTS, _TEXT, _MESH, _TRIANGLES = range(12)
_DELETE, _DELETE_ALL = 2, 3
_SOLIDS = {_CUBE: "box", _SPHERE: "sphere", _CYLINDER: "cylinder", _CUBES: "box", _SPHERES: "sphere"}
# rviz's arrow of scale (1, 1, 1): the length of its head, and the width of the shaft.
_HEAD = 0.23
_MOST = 10_000


@reader("visualization_msgs/msg/MarkerArray", "visualization_msgs/msg/Marker", every=True)
def markers(scope: ReaderContext) -> Read:
    """Read visualization_msgs/MarkerArray and Marker. Raises ValueError for markers that cannot be shown."""
    kept: dict[tuple[str, int], tuple[int, tuple[Item, ...]]] = {}

    def read(message: Any) -> Drawing:
        arrived = list(getattr(message, "markers", (message,)))
        for marker in arrived:
            is_shown = marker.ns in scope.left_out or (marker.ns == SHAPES and marker.header.frame_id in scope.drawn)
            if is_shown and marker.action != _DELETE_ALL:
                continue
            key, stamp = (marker.ns, marker.id), marker.header.stamp
            now = stamp.sec * 10**9 + stamp.nanosec
            for gone in [each for each, (until, _) in kept.items() if until and until < now]:
                del kept[gone]
            if marker.action == _DELETE_ALL:
                for gone in [each for each in kept if not marker.ns or each[0] == marker.ns]:
                    del kept[gone]
            elif marker.action == _DELETE:
                kept.pop(key, None)
            else:
                if len(kept) >= _MOST and key not in kept:
                    raise ValueError(f"more than {_MOST} markers")
                lifetime = marker.lifetime.sec * 10**9 + marker.lifetime.nanosec
                kept[key] = now + lifetime if lifetime else 0, tuple(items_of(marker))
        items = tuple(item for _, parts in kept.values() for item in parts)
        return Drawing(next((item.frame for item in items), ""), items)

    return read


def items_of(marker: Any) -> Iterator[Item]:
    """Yield the parts of a marker, in its frame. Raises ValueError."""
    frame, kind, pose = marker.header.frame_id, marker.type, pose_of(marker.pose)
    scale = np.array([marker.scale.x, marker.scale.y, marker.scale.z])
    colour = tuple(np.clip(_rgba(marker.color), 0.0, 1.0).tolist())
    points = pose_math.apply(pose, np.array([[each.x, each.y, each.z] for each in marker.points]).reshape(-1, 3))
    if not (np.isfinite(points).all() and np.isfinite(scale).all()):
        raise ValueError(f"marker {marker.ns}/{marker.id} is not finite")
    look, follows = DrawnShape(0, "mesh", pose, colour=colour), bool(marker.frame_locked)
    if kind in (_CUBE, _SPHERE, _CYLINDER):
        solid = _sized(look, _SOLIDS[kind], scale)
        if kind == _CUBE and is_plane(marker.ns, scale):
            solid = replace(solid, sheet=True)
        yield Solids(frame, (solid,), follows)
    elif kind in (_CUBES, _SPHERES):
        rgba = _colours(marker, len(points)) / 255.0
        turned = np.concatenate([points, np.tile(pose[3:], (len(points), 1))], axis=1)
        solids = [replace(look, pose=at, colour=tuple(each)) for at, each in zip(turned, rgba.tolist(), strict=True)]
        yield Solids(frame, tuple(_sized(each, _SOLIDS[kind], scale) for each in solids), follows)
    elif kind in (_STRIP, _LINES):
        colours = _colours(marker, len(points))[:, :3]
        if kind == _LINES:
            even = len(points) - len(points) % 2
            yield Lines(frame, points[:even].reshape(-1, 2, 3), colours[:even].reshape(-1, 2, 3))
        elif len(points) > 1:
            yield Lines(frame, strip(points), np.stack([colours[:-1], colours[1:]], axis=1))
    elif kind == _POINTS:
        yield Points(frame, points, _colours(marker, len(points))[:, :3])
    elif kind == _TEXT:
        yield TextLabel(frame, pose[:3], marker.text)
    elif kind == _ARROW:
        yield Solids(frame, tuple(_arrow(look, points, scale)), follows)
    elif kind == _TRIANGLES:
        whole = len(points) - len(points) % 3
        mesh = TriangleMesh(points[:whole].astype(np.float32), np.arange(whole, dtype=np.uint32).reshape(-1, 3))
        if whole:
            rgba = _colours(marker, len(points)).mean(axis=0) / 255.0
            yield Solids(frame, (replace(look, mesh=mesh, pose=pose_math.IDENTITY, colour=tuple(rgba)),), follows)
    elif kind == _MESH:
        # rviz treats an all-zero colour as unset.
        own = bool(marker.mesh_use_embedded_materials) or not any(colour)
        yield Solids(frame, tuple(mesh_shapes(marker.mesh_resource, look, scale, own_colours=own)), follows)
    else:
        raise ValueError(f"a marker of type {kind}; known: 0 to {_TRIANGLES}")


def _sized(look: DrawnShape, kind: str, scale: FloatArray) -> DrawnShape:
    """Return a solid with given edges or diameters."""
    factor = {"box": (1.0, 1.0, 1.0), "sphere": (0.5, 0.5, 0.5), "cylinder": (0.5, 0.5, 1.0)}[kind]
    return replace(look, kind=kind, scale=scale * factor)


def _arrow(look: DrawnShape, points: FloatArray, scale: FloatArray) -> Iterator[DrawnShape]:
    """Yield shaft and head: along x of the pose, or from the first point to the second."""
    if len(points) >= 2:
        begin, along = points[0], points[1] - points[0]
        length = float(np.linalg.norm(along))
        shaft, head = float(scale[0]), float(scale[1])
        tip = float(scale[2]) or 0.23 * length
    else:
        begin, length = look.pose[:3], float(scale[0])
        along = pose_math.apply(look.pose, np.array([1.0, 0.0, 0.0])) - begin
        shaft, head, tip = 0.5 * float(scale[1]), float(scale[1]), _HEAD * length
    if length <= 0.0:
        return
    along = along / np.linalg.norm(along)
    turn = _from_z(along)
    body = max(length - tip, 0.0)
    for start, extent, width, kind in ((0.0, body, shaft, "cylinder"), (body, length - body, head, "mesh")):
        middle = begin + (start + (0.5 * extent if kind == "cylinder" else 0.0)) * along
        size = np.array([0.5 * width, 0.5 * width, extent])
        mesh = None if kind == "cylinder" else _cone()
        yield replace(look, kind=kind, pose=np.concatenate([middle, turn]), scale=size, mesh=mesh)


def _from_z(direction: FloatArray) -> FloatArray:
    """Return the shortest rotation (4,) from z to a unit vector."""
    x, y, z = direction
    if z < -1.0 + 1e-12:
        return np.array([1.0, 0.0, 0.0, 0.0])
    quaternion = np.array([-y, x, 0.0, 1.0 + z])
    return np.asarray(quaternion / np.linalg.norm(quaternion))


def _cone() -> TriangleMesh:
    """Return a cone of radius 1 and height 1 along z."""
    turn = np.linspace(0.0, 2.0 * np.pi, 24, endpoint=False)
    rim = np.stack([np.cos(turn), np.sin(turn), np.zeros(len(turn))], axis=-1)
    vertices = np.concatenate([rim, [[0.0, 0.0, 1.0], [0.0, 0.0, 0.0]]]).astype(np.float32)
    here, following = np.arange(24), np.roll(np.arange(24), -1)
    sides = np.stack([here, following, np.full(24, 24)], axis=-1)
    base = np.stack([following, here, np.full(24, 25)], axis=-1)
    return TriangleMesh(vertices, np.concatenate([sides, base]).astype(np.uint32))


def _rgba(colour: Any) -> FloatArray:
    return np.array([colour.r, colour.g, colour.b, colour.a])


def _colours(marker: Any, count: int) -> Colours:
    """Return the colours (count, 4) of points: their own, or the marker's."""
    if len(marker.colors) == count and count:
        rgba = np.array([_rgba(each) for each in marker.colors])
    else:
        rgba = np.tile(_rgba(marker.color), (count, 1))
    return np.asarray(np.round(255.0 * np.clip(rgba, 0.0, 1.0)), dtype=np.uint8)
