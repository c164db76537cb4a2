"""Export a bag as a Rerun recording (.rrd): transforms, shapes of the recorded world, and drawings of topics."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import rerun as rr

from sim_node.messages.tf_message_reader import TfMessageReader, Unreadable
from sim_node.recording.bag import Bag, BagMessage
from sim_node.recording.changes import recorded_worlds
from sim_node.recording.frames import BagFrames
from sim_node.recording.transforms import TYPE, WALL_CLOCK_NS
from sim_node.session.bag_drawings import BagDrawings
from sim_node.session.bag_world import shapes_on
from sim_node.spatial.geometry import poses as pose_math
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.viewing.meshes import DrawnShape
from sim_node.viewing.messages.drawing import (
    FIXED,
    Attitude,
    Drawing,
    Lines,
    Picture,
    Points,
    Poses,
    Raster,
    Solids,
    TextLabel,
)
from sim_node.viewing.messages.frames import without_transforms
from sim_node.world import FrameTable

# The timeline: seconds for a simulation that begins near zero, otherwise a date.
TIMELINE = "bag_time"
_AXIS, _LINE, _POINT = 0.3, -1.5, -2.0  # m; negative radii are in screen points
_COLOURS = np.array([[230, 60, 60], [60, 170, 90], [60, 110, 240]], dtype=np.uint8)


def export_rrd(
    bag: Bag,
    read: Callable[[Collection[str]], Iterable[BagMessage]],
    path: Path,
    unreadable: Unreadable,
    report: Callable[[str], None],
    topics: Sequence[str] | None = None,
) -> Path:
    """Write a bag to `path`, replacing an existing file. If the export fails, no partial file remains.

    Each frame is an entity below its parents. Its shapes are below it at `shapes`; the drawings of a topic are at the
    topic's name. The recording's id depends only on the bag's name.

    Args:
        bag: The bag.
        read: Returns the messages of topics.
        path: The file.
        unreadable: Counts the messages that are skipped.
        report: Called with messages for the user.
        topics: The topics to draw; None for all that can be drawn. Transforms are always written.

    Raises:
        BagError: The bag has neither transforms nor topics that can be drawn.
        WorldError: The recorded world is no longer valid.
        OSError: The file cannot be written.
    """
    partial = path.with_name(f".{path.name}.partial")
    number = hashlib.sha256(path.stem.encode()).hexdigest()[:32]
    with recorded_worlds(bag) as worlds:
        world = worlds[0]
        drawings = BagDrawings(bag, unreadable, report, world)

        def placed(parents: Mapping[str, str], fixed: str) -> Mapping[str, tuple[str, FloatArray]]:
            found = without_transforms(drawings.frames, parents, fixed)
            for each in found.values():
                report(each.remark)
            return {name: (each.parent, each.pose) for name, each in found.items()}

        frames = BagFrames(bag, unreadable, placed)
        if len(worlds) > 1:
            report("the world changed: the shapes are those of its beginning")
        wanted = [name for name in drawings.types if topics is None or name in topics]
        recording = rr.RecordingStream("sim_node", recording_id=number, send_properties=False)
        try:
            partial.touch()  # raises OSError if the file cannot be written; Rerun would raise RuntimeError
            recording.save(partial)
            recording.send_recording_name(path.stem)
            recording.set_log_time_enabled(False)
            recording.set_log_tick_enabled(False)
            writer = _Writer(recording, frames.table, frames.poses, dated=frames.first_ns >= WALL_CLOCK_NS)
            shapes = shapes_on(world, frames.table)
            writer.shapes((*shapes, *drawings.robots(frames.table, {shape.row for shape in shapes})))
            transforms = {row for row, topic in enumerate(bag.topics) if topic.type == TYPE}
            reader = TfMessageReader()
            for message in read([*(bag.topics[row].name for row in transforms), *wanted]):
                if message.topic in transforms:
                    try:
                        writer.transforms(message.time_ns, reader.read(message.data))
                    except ValueError:  # already counted when the frames were read
                        continue
                elif (drawing := drawings.read(message.topic, message.data, frames.table)) is not None:
                    writer.drawing(message.time_ns, bag.topics[message.topic].name, drawing)
            recording.disconnect()
            partial.replace(path)
        finally:
            recording.disconnect()
            partial.unlink(missing_ok=True)
    return path


class _Writer:
    """Writes frames, initially at poses (N, 7) in their parents, and their contents. dated: whether times are dates."""

    def __init__(self, recording: rr.RecordingStream, frames: FrameTable, poses: FloatArray, *, dated: bool) -> None:
        self._to, self._frames, self._poses, self._dated = recording, frames, np.array(poses), dated
        # Number of entities for each part of a drawing, to clear the excess ones when there are fewer.
        self._numbered: dict[str, int] = {}
        self._parts: dict[tuple[str, str, type], str] = {}
        self._paths = {name: rr.new_entity_path(frames.path(name).split("/")) for name in frames.names}
        self._fixed = self._paths[frames.names[0]]
        recording.log("/", rr.ViewCoordinates.RIGHT_HAND_Z_UP, static=True)
        for row, name in enumerate(frames.names):
            if frames.static[row]:
                recording.log(self._paths[name], _transform(poses[row]), static=True)

    def transforms(self, time_ns: int, batch: Any) -> None:
        """Write the transforms of moving frames."""
        names, _, poses = batch
        self._at(time_ns)
        for child, pose in zip(names.children, poses, strict=True):
            if child in self._paths and not self._frames.static[row := self._frames.index(child)]:
                self._poses[row] = pose
                self._to.log(self._paths[child], _transform(pose))

    def shapes(self, shapes: Sequence[DrawnShape]) -> None:
        """Write static shapes on their frames."""
        for number, shape in enumerate(shapes):
            name = self._frames.names[shape.row]
            self._shape(f"{self._paths[name]}/shapes/{number}", shape, static=True)

    def drawing(self, time_ns: int, topic: str, drawing: Drawing) -> None:
        """Write the drawing of a topic, each kind of part below its frame."""
        self._at(time_ns)
        by_frame: dict[tuple[str, type], list[Any]] = {}
        for item in drawing.items:
            shown = self._in_fixed(item) if isinstance(item, Attitude) else item
            by_frame.setdefault((shown.frame, type(shown)), []).append(shown)
        kept = {(topic, *key) for key in by_frame}
        for gone in [key for key in self._parts if key[0] == topic and key not in kept]:
            self._to.log(self._parts.pop(gone), rr.Clear(recursive=True))
        for (frame, kind), items in by_frame.items():
            place = rr.new_entity_path([*topic.strip("/").split("/"), kind.__name__.lower()])
            path = self._parts[topic, frame, kind] = f"{self._paths.get(frame, self._fixed)}{place}"
            self._items(path, kind, items)

    def _items(self, path: str, kind: type, items: list[Any]) -> None:
        if kind in _NUMBERED:
            for number, each in enumerate(items):
                self._to.log(f"{path}/{number}", *_NUMBERED[kind](each))
        elif kind is Lines:
            ends = np.concatenate([each.ends for each in items])
            colours = np.concatenate([each.colours[:, 0] for each in items])
            self._to.log(path, rr.LineStrips3D(ends, colors=colours, radii=_LINE))
        elif kind is Poses:
            self._to.log(path, _axes(np.concatenate([each.poses for each in items])))
        elif kind is Solids:
            shapes = [shape for each in items for shape in each.shapes]
            for number, shape in enumerate(shapes):
                self._shape(f"{path}/{number}", shape)
            for number in range(len(shapes), self._numbered.get(path, 0)):
                self._to.log(f"{path}/{number}", rr.Clear(recursive=True))
            self._numbered[path] = len(shapes)
        elif kind is TextLabel:
            labels = [each.text for each in items]
            self._to.log(path, rr.Points3D([each.position for each in items], labels=labels, radii=_POINT))

    def _in_fixed(self, attitude: Attitude) -> Poses:
        """Return the axes of an attitude in the fixed frame, at the present position of its frame."""
        pose = self._frames.lookup(self._poses, self._frames.names[0], attitude.frame)
        return Poses(FIXED, np.concatenate([pose[:3], attitude.quaternion])[None])

    def _shape(self, path: str, shape: DrawnShape, static: bool = False) -> None:
        quaternion, colour = [shape.pose[3:]], (np.array(shape.colour) * 255.0).round().astype(np.uint8)
        common = {"centers": [shape.pose[:3]], "quaternions": quaternion, "colors": [colour], "fill_mode": "solid"}
        if shape.kind == "box":
            self._to.log(path, rr.Boxes3D(half_sizes=[0.5 * shape.scale], **common), static=static)
        elif shape.kind == "sphere":
            self._to.log(path, rr.Ellipsoids3D(half_sizes=[shape.scale], **common), static=static)
        elif shape.kind == "cylinder":
            solid = rr.Cylinders3D(lengths=[shape.scale[2]], radii=[shape.scale[0]], **common)
            self._to.log(path, solid, static=static)
        elif shape.mesh is not None:
            vertices = pose_math.apply(shape.pose, shape.mesh.vertices * shape.scale)
            mesh = rr.Mesh3D(vertex_positions=vertices, triangle_indices=shape.mesh.faces, albedo_factor=colour)
            self._to.log(path, mesh, static=static)
        elif shape.file is not None:
            placed = rr.Transform3D(translation=shape.pose[:3], quaternion=shape.pose[3:], scale=shape.scale)
            self._to.log(path, placed, rr.Asset3D(path=shape.file), static=static)

    def _at(self, time_ns: int) -> None:
        if self._dated:
            self._to.set_time(TIMELINE, timestamp=np.datetime64(time_ns, "ns"))
        else:
            self._to.set_time(TIMELINE, duration=np.timedelta64(time_ns, "ns"))


def _transform(pose: FloatArray) -> Any:
    return rr.Transform3D(translation=pose[:3], quaternion=pose[3:])


def _axes(poses: FloatArray) -> Any:
    """Return red, green and blue arrows at poses (k, 7)."""
    tips = [pose_math.apply(pose, _AXIS * np.eye(3)) - pose[:3] for pose in poses]
    vectors, origins = np.array(tips).reshape(-1, 3), np.repeat(poses[:, :3], 3, axis=0)
    return rr.Arrows3D(vectors=vectors, origins=origins, colors=np.tile(_COLOURS, (len(poses), 1)))


def _points(points: Points) -> tuple[Any, ...]:
    return (rr.Points3D(points.positions, colors=points.colours, radii=_POINT),)


def _picture(picture: Picture) -> tuple[Any, ...]:
    """Return the pinhole of a camera, and its image if there is one."""
    tangents = np.tan(0.5 * np.array(picture.fov))
    pixels = picture.pixels
    size = 1000.0 * tangents / tangents.max() if pixels is None else np.array(pixels.shape[1::-1], dtype=float)
    lens = rr.Pinhole(focal_length=0.5 * size / tangents, resolution=size, image_plane_distance=0.5)
    if pixels is None:
        return (lens,)
    return lens, rr.DepthImage(pixels, meter=1.0) if pixels.ndim == 2 else rr.Image(pixels)


def _raster(raster: Raster) -> tuple[Any, ...]:
    """Return a textured rectangle, with row 0 at y = 0."""
    rows, columns = raster.cells.shape[:2]
    corners = np.array([[0, 0, 0], [columns, 0, 0], [columns, rows, 0], [0, rows, 0]]) * raster.size
    texture = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
    return (
        rr.Mesh3D(
            vertex_positions=pose_math.apply(raster.pose, corners),
            triangle_indices=[[0, 1, 2], [0, 2, 3]],
            vertex_texcoords=texture,
            albedo_texture=raster.cells,
        ),
    )


# For these kinds, each item is a separate entity.
_NUMBERED: Mapping[type, Callable[[Any], tuple[Any, ...]]] = {Points: _points, Picture: _picture, Raster: _raster}
