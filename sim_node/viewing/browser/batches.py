"""Shapes with the same look, rendered as one batch."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from hashlib import blake2b
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import trimesh

from sim_node.spatial.geometry import poses as pose_math
from sim_node.spatial.geometry.arrays import BoolArray, FloatArray
from sim_node.viewing.browser.textured import textured_glb
from sim_node.viewing.extent import bounds_of
from sim_node.viewing.meshes import DrawnShape, TriangleMesh, linear


@cache
def solid(kind: str) -> TriangleMesh:
    """Return a cube of edge 1, a sphere of radius 1, or a cylinder of radius 1 and length 1 along z."""
    if kind == "box":
        made = trimesh.creation.box((1.0, 1.0, 1.0))
    elif kind == "sphere":
        made = trimesh.creation.icosphere(subdivisions=3, radius=1.0)
    else:
        made = trimesh.creation.cylinder(radius=1.0, height=1.0, sections=32)
    # Sharp edges need separate normals, so each face of a box and each lid has its own vertices.
    if kind != "sphere":
        made.unmerge_vertices()
    return TriangleMesh(np.asarray(made.vertices, dtype=np.float32), np.asarray(made.faces, dtype=np.uint32))


# Maximum number of moving frames with separate nodes: each takes two messages per instant.
MAX_NODES = 64
# Scale factor of hidden shapes.
_HIDDEN = 1e-6
# Prefix of the node names of floor sheets, by which night.js finds them.
FLOOR = "floor"
# Indices of viser's [w, x, y, z] quaternion in a pose.
WXYZ = [6, 3, 4, 5]
# Maximum number of walls, each of which is a separate object on the page.
MAX_WALLS = 40
# The node of a wall, and its bounding box: centre, quaternion (w first) and half extents, m.
Wall = tuple[str, list[float], list[float], list[float]]


class _Batch(NamedTuple):
    """A batch on the page: its number, its handle, and its contents besides the rows of the shapes."""

    number: int
    handle: Any
    made_of: tuple[bytes, ...]


class Batches:
    """The shapes of a scene, below a node. Shapes on static frames are sent once.

    When shapes change, only their batches are sent again. Up to MAX_NODES moving frames get separate batches that move
    as nodes. The page applies a node's pose immediately but the content of a batch one picture later, so only nodes
    stay aligned with labels and frustums.

    Args:
        scene: viser's scene.
        node: The node.
        shapes: The shapes.
        still: Mask (N,) of the frames that do not move.
        in_root: Poses (N, 7) of all frames in the fixed frame, m.
        apart: Whether moving frames may have separate batches.
        alone: Shapes that get a batch of their own.
    """

    def __init__(
        self,
        scene: Any,
        node: str,
        shapes: Sequence[DrawnShape],
        still: BoolArray,
        in_root: FloatArray,
        *,
        apart: bool = True,
        alone: Sequence[DrawnShape] = (),
    ) -> None:
        self._scene, self._node, self._may_be_apart = scene, node, apart
        self._batches: dict[Any, _Batch] = {}
        # The shapes of each batch by its number, and the callback for clicks on shapes.
        self._members: dict[int, list[DrawnShape]] = {}
        self._pick: Callable[[DrawnShape], None] | None = None
        self._floors: Sequence[float] | None = None
        self.change(shapes, still, in_root, alone)

    def change(
        self, shapes: Sequence[DrawnShape], still: BoolArray, in_root: FloatArray, alone: Sequence[DrawnShape] = ()
    ) -> None:
        """Replace the shapes, given the poses (N, 7) of all frames in the fixed frame. alone: as in the constructor."""
        self._alone = {id(shape): number for number, shape in enumerate(alone)}
        groups = self._grouped([shape for shape in shapes if shape.kind != "plane"], still)
        for form in [form for form in self._batches if form not in groups]:
            self._batches.pop(form).handle.remove()
        used = {batch.number for batch in self._batches.values()}
        free = (number for number in count() if number not in used)
        self._moving: list[tuple[Any, slice]] = []
        self._nodes: list[tuple[Any, int]] = []
        moving: list[DrawnShape] = []
        for form, members in groups.items():
            stands, row = form[:2]
            rows, locals_ = _placed(members)
            placed = locals_ if row is not None else pose_math.compose(in_root[rows], locals_)
            batch = self._sent(form, members, placed, free, moves=not stands and row is None)
            self._members[batch.number] = members
            if row is not None:
                self._nodes.append((batch.handle, row))
            elif not stands:
                self._moving.append((batch.handle, slice(len(moving), len(moving) + len(members))))
                moving += members
        self._rows, self._locals = _placed(moving)
        self._shown = np.full_like(in_root, np.nan)
        self._show_nodes(in_root)

    def _grouped(self, shapes: Sequence[DrawnShape], still: BoolArray) -> dict[Any, list[DrawnShape]]:
        """Group the shapes into batches by whether they are static, their row if separate, and their look."""
        groups: dict[Any, list[DrawnShape]] = {}
        digests: dict[int, bytes] = {}
        apart = self._may_be_apart and len({shape.row for shape in shapes if not still[shape.row]}) <= MAX_NODES
        for shape in shapes:
            stands = bool(still[shape.row])
            row = shape.row if apart and not stands else None
            alone = self._alone.get(id(shape))
            groups.setdefault((stands, row, alone, shape.colour[3] < 1.0, *_form(shape, digests)), []).append(shape)
        return groups

    def _sent(
        self, form: Any, members: Sequence[DrawnShape], placed: FloatArray, free: Iterator[int], *, moves: bool
    ) -> _Batch:
        """Return a batch, sending it if it is new or changed. Poses of moving shapes are sent by `show`."""
        looks = np.array([(*shape.scale, *shape.colour) for shape in members]).tobytes()
        made_of = looks, b"" if moves else placed.tobytes()
        batch = self._batches.get(form)
        if batch is None or batch.made_of != made_of:
            number = next(free) if batch is None else batch.number
            # A node replaces an existing one of the same name.
            name = FLOOR if members[0].sheet else ""
            handle = _add(self._scene, f"{self._node}/{name}{number}", members, placed, self._colours(members))
            batch = self._batches[form] = _Batch(number, handle, made_of)
            self._listen(batch)
        return batch

    def on_pick(self, pick: Callable[[DrawnShape], None]) -> None:
        """Set the callback for clicks on shapes."""
        self._pick = pick
        for batch in self._batches.values():
            self._listen(batch)

    def _listen(self, batch: _Batch) -> None:
        if self._pick is not None:
            batch.handle.on_click(lambda event: self._clicked(batch.number, event.instance_index))

    def _clicked(self, number: int, instance: int | None) -> None:
        members = self._members.get(number, [])
        if self._pick is not None and instance is not None and instance < len(members):
            self._pick(members[instance])

    def hide(self, hidden: BoolArray) -> None:
        """Hide the shapes of some frames, given a mask (N,), by scaling them down, and show the others."""
        for batch in self._batches.values():
            members = self._members[batch.number]
            scales = np.array([shape.scale for shape in members], dtype=np.float32)
            scales[hidden[[shape.row for shape in members]]] = _HIDDEN
            batch.handle.batched_scales = scales

    def paint_floors(self, colour: Sequence[float] | None) -> None:
        """Give all sheets a colour in sRGB, 0 to 1, now and when they come; None: their own.

        Those with textures keep these.
        """
        self._floors = colour
        for batch in self._batches.values():
            members = self._members[batch.number]
            if members[0].sheet and members[0].finish is None:
                batch.handle.batched_colors = self._colours(members)

    def _colours(self, members: Sequence[DrawnShape]) -> npt.NDArray[np.uint8]:
        """Return the colours (n, 3) of the shapes of a batch, as viser has them."""
        floors = self._floors if members[0].sheet else None
        return linear(np.array([(floors or shape.colour)[:3] for shape in members]))

    def nodes(self) -> list[tuple[str, DrawnShape]]:
        """Return the nodes of the shapes that have a batch of their own."""
        members = ((number, shapes[0]) for number, shapes in self._members.items() if len(shapes) == 1)
        return [(f"{self._node}/{number}", shape) for number, shape in members if id(shape) in self._alone]

    def walls(self, in_root: FloatArray) -> list[Wall]:
        """Return the bounding boxes of these shapes, for JSON, given all frames' poses (N, 7) in the fixed frame."""
        found = []
        for node, shape in self.nodes():
            low, high = bounds_of(shape)
            pose = pose_math.compose(in_root[shape.row], shape.pose)
            centre = pose_math.apply(pose, 0.5 * (low + high))
            parts = centre, pose[WXYZ], 0.5 * (high - low)
            found.append((node, *(each.round(6).tolist() for each in parts)))
        return found

    def handles(self) -> list[Any]:
        """Return viser's handle of each batch."""
        return [batch.handle for batch in self._batches.values()]

    def show(self, in_root: FloatArray) -> None:
        """Send the poses of moving shapes, given the poses (N, 7) of all frames in the fixed frame."""
        self._show_nodes(in_root)
        if self._moving:
            placed = pose_math.compose(in_root[self._rows], self._locals).astype(np.float32)
            positions, wxyzs = placed[:, :3], placed[:, WXYZ]
            for handle, members in self._moving:
                # viser skips unchanged values.
                handle.batched_positions = positions[members]
                handle.batched_wxyzs = wxyzs[members]

    def _show_nodes(self, in_root: FloatArray) -> None:
        for handle, row in self._nodes:
            if not np.array_equal(in_root[row], self._shown[row]):
                place(handle, in_root[row])
        self._shown = np.array(in_root)


def walls_of(shapes: Iterable[DrawnShape]) -> list[DrawnShape]:
    """Return the largest static shapes. Pages make those transparent that hide what the camera looks at."""
    solid = [shape for shape in shapes if not shape.is_ground]
    return sorted(solid, key=_size, reverse=True)[:MAX_WALLS]


def _size(shape: DrawnShape) -> float:
    low, high = bounds_of(shape)
    return float((high - low).max())


def place(node: Any, pose: FloatArray) -> None:
    """Move a node of the page to a pose (7,)."""
    node.position = pose[:3]
    node.wxyz = pose[WXYZ]


def _form(shape: DrawnShape, digests: dict[int, bytes]) -> tuple[Any, ...]:
    """Return what the shapes of a batch share besides size, colour and frame. digests: mesh digests so far, by id."""
    mesh = shape.mesh
    if mesh is None:
        return shape.kind, shape.sheet, shape.file, *_finish(shape, digests)
    if id(mesh) not in digests:
        hashed = blake2b(np.ascontiguousarray(mesh.vertices).data)
        hashed.update(np.ascontiguousarray(mesh.faces).data)
        digests[id(mesh)] = hashed.digest()
    return shape.kind, digests[id(mesh)], *_finish(shape, digests)


def _finish(shape: DrawnShape, digests: dict[int, bytes]) -> tuple[Any, ...]:
    """Return what shapes with a finish share: the tint, and the size if the texture is metric."""
    finish = shape.finish
    if finish is None:
        return ()
    look: tuple[Any, ...] = finish.tint, finish.metallic, finish.roughness
    texture = finish.texture
    if texture is None:
        return look
    if id(texture) not in digests:
        digests[id(texture)] = blake2b(np.ascontiguousarray(texture.pixels).data).digest()
    size = tuple(shape.scale.tolist()) if texture.is_metric else ()
    return *look, digests[id(texture)], texture.is_cube, texture.repeat, texture.offset, texture.halves, size


def _placed(shapes: Sequence[DrawnShape]) -> tuple[np.ndarray[tuple[int], np.dtype[np.intp]], FloatArray]:
    rows = np.array([shape.row for shape in shapes], dtype=np.intp)
    return rows, np.array([shape.pose for shape in shapes]).reshape(-1, 7)


def _add(
    scene: Any, name: str, shapes: Sequence[DrawnShape], placed: FloatArray, colours: npt.NDArray[np.uint8]
) -> Any:
    first = shapes[0]
    common = {
        "batched_positions": placed[:, :3],
        "batched_wxyzs": placed[:, WXYZ],
        "batched_scales": np.array([shape.scale for shape in shapes], dtype=np.float32),
        "lod": "off",
        # The shadow of a transparent shape would be as dark as any other.
        "cast_shadow": first.colour[3] == 1.0,
        "receive_shadow": True,
    }
    if first.finish is not None:
        return scene.add_batched_glb(name, glb_data=textured_glb(first), **common)
    if first.kind == "glb":
        assert first.file is not None
        return scene.add_batched_glb(name, glb_data=_glb(first.file), **common)
    mesh: TriangleMesh = first.mesh or solid(first.kind)
    opacities = np.array([shape.colour[3] for shape in shapes], dtype=np.float32)
    see_through = bool(opacities[0] < 1.0)
    return scene.add_batched_meshes_simple(
        name,
        mesh.vertices,
        mesh.faces,
        batched_colors=colours,
        batched_opacities=opacities if see_through else None,
        opacity=1.0 if see_through else None,
        side="double" if first.mesh else "front",
        **common,
    )


def _glb(file: Path) -> bytes:
    """Return a file as GLB, converting it if needed."""
    if file.suffix.lower() == ".glb":
        return file.read_bytes()
    import trimesh

    exported: bytes = trimesh.load_scene(file).export(file_type="glb")
    return exported
