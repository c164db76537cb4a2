"""Conversion of meshes that MuJoCo cannot read, COLLADA and some STL, to its own binary format."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from sim_node.spatial.geometry.arrays import FloatArray, IntArray
from sim_node.text import did_you_mean
from sim_node.world.image_files import Colour, mean_colour
from sim_node.world.image_textures import downwards
from sim_node.world.problems import quoted, shown_key

# Maximum number of faces that MuJoCo reads from a binary STL file.
MAX_STL_FACES = 200_000
STL_HEADER, STL_FACE = 84, 50
_VERTEX = re.compile(rb"^\s*vertex\s+(\S+)\s+(\S+)\s+(\S+)", re.MULTILINE)
_TEXCOORD = re.compile(rb"^\s*vt\s", re.MULTILINE)
# m^2; MuJoCo rejects a mesh without area.
_NO_AREA = 1e-14


@dataclass(frozen=True, eq=False)
class MeshPart:
    """Triangles with the same look.

    Attributes:
        vertices: Vertices (V, 3) in the file's axes, in metres for COLLADA, otherwise in the file's units.
        faces: Vertex indices of each triangle (F, 3).
        colour: Red, green, blue and opacity, 0 to 1, or None.
        uv: Texture coordinates of each vertex (V, 2), right and up, or None.
        texture: The image file, whose mean is the colour, or None.
    """

    vertices: FloatArray
    faces: IntArray
    colour: Colour | None = None
    uv: FloatArray | None = None
    texture: Path | None = None

    def area(self) -> float:
        """Return the total area of the triangles, m^2."""
        a, b, c = (self.vertices[self.faces[:, k]] for k in range(3))
        return float(0.5 * np.linalg.norm(np.cross(b - a, c - a), axis=1).sum())


def as_msh(part: MeshPart) -> bytes:
    """Convert triangles to MuJoCo's .msh: four counts, vertices and texture coordinates as float32, faces as int32."""
    uv = np.zeros((0, 2)) if part.uv is None else downwards(part.uv)
    counts = np.array([len(part.vertices), 0, len(uv), len(part.faces)], dtype="<i4")
    numbers = part.vertices.astype("<f4").tobytes() + uv.astype("<f4").tobytes()
    return counts.tobytes() + numbers + part.faces.astype("<i4").tobytes()


def has_texcoords(name: str, data: bytes) -> bool:
    """Return whether the content of a mesh file readable by MuJoCo has texture coordinates."""
    if name.endswith(".msh"):
        return int.from_bytes(data[8:12], "little") > 0
    return name.endswith(".obj") and _TEXCOORD.search(data) is not None


def joined(parts: list[MeshPart]) -> MeshPart:
    """Merge all triangles into one part."""
    first = np.cumsum([0, *(len(part.vertices) for part in parts)])
    faces = [part.faces + at for part, at in zip(parts, first, strict=False)]
    uv = [part.uv for part in parts if part.uv is not None]
    together = np.concatenate(uv) if uv and len(uv) == len(parts) else None
    return MeshPart(np.concatenate([part.vertices for part in parts]), np.concatenate(faces), uv=together)


def stl_part(data: bytes) -> MeshPart | None:
    """Return the triangles of an STL file that MuJoCo cannot read: one in ASCII, or with too many faces.

    Raises:
        ValueError: The text is not STL.
    """
    count = int.from_bytes(data[80:STL_HEADER], "little")
    if len(data) == STL_HEADER + STL_FACE * count:
        if count <= MAX_STL_FACES:
            return None
        rows = np.frombuffer(data, dtype=np.dtype((np.void, STL_FACE)), offset=STL_HEADER)
        numbers = np.frombuffer(rows.tobytes(), dtype="<f4,<f4,<f4,(9,)<f4,<u2")["f3"]
        return _merged(numbers.reshape(-1, 3).astype(np.float64))
    if not data.lstrip().lower().startswith(b"solid"):
        return None  # MuJoCo reports the error
    corners = _VERTEX.findall(data)
    if not corners or len(corners) % 3:
        raise ValueError(f"{len(corners)} vertices are not triangles")
    return _merged(np.array(corners).astype(np.float64))


def obj_part(data: bytes, name: str) -> MeshPart:
    """Return the triangles of the objects and groups with a name in an OBJ file, with polygons as fans.

    Raises:
        ValueError: The file is damaged, or the name does not exist.
    """
    vertices: list[list[float]] = []
    faces: list[list[int]] = []
    names, current = [""], ""
    for line in data.decode("utf-8", "replace").splitlines():
        key, *words = line.split() or [""]
        if key == "v":
            vertices.append([float(word) for word in words[:3]])
        elif key in ("o", "g"):
            current = " ".join(words)
            names.append(current)
        elif key == "f" and current == name:
            corners = [int(word.partition("/")[0]) for word in words]
            rows = [corner - 1 if corner > 0 else len(vertices) + corner for corner in corners]
            faces += [[rows[0], *pair] for pair in pairwise(rows[1:])]
    if not faces:
        raise ValueError(no_submesh(name, names))
    used, rows_used = np.unique(np.array(faces), return_inverse=True)
    if used[0] < 0 or used[-1] >= len(vertices):
        raise ValueError(f"no vertex {used[0] if used[0] < 0 else used[-1]}; there are {len(vertices)}")
    return MeshPart(np.array(vertices).reshape(-1, 3)[used], rows_used.reshape(-1, 3))


def no_submesh(name: str, names: Iterable[str]) -> str:
    """Return the error message for a name that no part of a mesh file has."""
    known = sorted(set(filter(None, names)))
    listed = f"{', '.join(map(shown_key, known[:10]))}{', ...' if len(known) > 10 else ''}" or "none"
    return f"no submesh {quoted(name)}{did_you_mean(name, known)} (known: {listed})"


def collada_parts(path: Path, image: Callable[[str], Path | None], node: str = "") -> list[MeshPart]:
    """Return the triangles of a COLLADA file by look, as in rviz: in metres, ignoring the up axis.

    Args:
        path: The file.
        image: Returns the file of a texture, or None if there is none.
        node: The name of the nodes to return; empty for all.

    Raises:
        ImportError: pycollada is not installed.
        ValueError: The file is damaged, has no triangles, or the node does not exist.
    """
    import collada
    from defusedxml.ElementTree import fromstring

    try:
        fromstring(path.read_bytes(), forbid_dtd=True)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            scene = collada.Collada(str(path), ignore=[collada.DaeError])
            drawn = list(_drawn(scene))
            wanted = [bound for name, bound in drawn if node in ("", name)]
            found = list(_primitives(scene, wanted, image))
    except (ImportError, OSError):
        raise
    except Exception as error:  # the parsers may raise anything for damaged files
        raise ValueError(" ".join(str(error).split()) or type(error).__name__) from None
    if not wanted and node:
        raise ValueError(no_submesh(node, [name for name, _ in drawn]))
    by_look: dict[Any, list[MeshPart]] = {}
    for part in found:
        by_look.setdefault((part.colour, part.texture, part.uv is None), []).append(part)
    parts = [
        replace(whole, colour=colour, texture=texture)
        for (colour, texture, _), same in by_look.items()
        if (whole := joined(same)).area() > _NO_AREA
    ]
    if not parts:
        raise ValueError("it has no triangles")
    return parts


def _drawn(scene: Any) -> Iterator[tuple[str, Any]]:
    """Yield the drawn objects of a COLLADA scene, each with its node's name or that of the nearest named ancestor."""
    from collada.controller import BoundSkin
    from collada.scene import Node, NodeNode

    def below(node: Any, kind: str, name: str, matrix: Any) -> Iterator[tuple[str, Any]]:
        while isinstance(node, NodeNode):
            node = node.node
        if isinstance(node, Node):
            name = node.xmlnode.get("name") or name
            matrix = node.matrix if matrix is None else matrix @ node.matrix
            for each in node.children:
                yield from below(each, kind, name, matrix)
        else:
            yield from ((name, each) for each in node.objects(kind, matrix))

    for root in () if scene.scene is None else scene.scene.nodes:
        yield from below(root, "geometry", "", None)
    for root in () if scene.scene is None else scene.scene.nodes:
        for name, each in below(root, "controller", "", None):
            if isinstance(each, BoundSkin):  # drawn in its bind pose, in which no joint has moved
                yield name, each.geometry


def _primitives(scene: Any, drawn: list[Any], image: Callable[[str], Path | None]) -> Iterator[MeshPart]:
    """Yield the triangles of the drawn objects of a COLLADA scene, in metres."""
    import collada

    metre = float(scene.assetInfo.unitmeter or 1.0) if scene.assetInfo is not None else 1.0
    for bound in drawn:
        for primitive in bound.primitives():
            if isinstance(primitive, collada.polylist.BoundPolylist | collada.polygons.BoundPolygons):
                primitive = primitive.triangleset()
            if not isinstance(primitive, collada.triangleset.BoundTriangleSet) or primitive.vertex is None:
                continue
            faces = np.asarray(primitive.vertex_index, dtype=np.int64).reshape(-1, 3)
            if not len(faces):
                continue
            texture, colour = _look(primitive.material, image)
            corners = faces.reshape(-1, 1)
            if len(primitive.texcoordset):
                corners = np.column_stack([corners, np.asarray(primitive.texcoord_indexset[0]).reshape(-1)])
            # A vertex with two texture coordinates becomes two vertices.
            used, rows = np.unique(corners, axis=0, return_inverse=True)
            vertices = np.asarray(primitive.vertex, dtype=np.float64)[used[:, 0]] * metre
            uv = None
            if len(primitive.texcoordset):
                uv = np.asarray(primitive.texcoordset[0], dtype=np.float64)[used[:, 1], :2]
            if not np.isfinite(vertices).all() or not (uv is None or np.isfinite(uv).all()):
                raise ValueError("a vertex is not finite")
            yield MeshPart(vertices, rows.reshape(-1, 3), colour, uv, None if uv is None else texture)


def _look(material: Any, image: Callable[[str], Path | None]) -> tuple[Path | None, Colour | None]:
    """Return the texture of a material, or None, and its diffuse colour or the mean of the texture.

    Transparency is ignored, because exporters disagree about whether 0 or 1 is opaque.
    """
    diffuse = getattr(getattr(material, "effect", None), "diffuse", None)
    if isinstance(diffuse, tuple | list) and len(diffuse) >= 3:
        red, green, blue = (min(max(float(each), 0.0), 1.0) for each in diffuse[:3])
        return None, (red, green, blue, 1.0)
    name = getattr(getattr(getattr(getattr(diffuse, "sampler", None), "surface", None), "image", None), "path", None)
    file = image(name) if name else None
    return file, None if file is None else mean_colour(file)


def _merged(corners: npt.NDArray[np.float64]) -> MeshPart:
    """Return triangles given by their corners (3 F, 3), with equal corners merged."""
    if not np.isfinite(corners).all():
        raise ValueError("a vertex is not finite")
    vertices, rows = np.unique(corners, axis=0, return_inverse=True)
    return MeshPart(vertices, rows.reshape(-1, 3))
