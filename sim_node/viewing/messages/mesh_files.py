"""Meshes and images that messages refer to: package:// and file:// URIs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from urllib.parse import unquote, urlsplit

import numpy as np

from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.viewing.finishes import Finish, Texture
from sim_node.viewing.meshes import DrawnShape, FilePart, TriangleMesh, parts_of
from sim_node.world.image_files import TEXTURES, colours_of, image_fault
from sim_node.world.image_textures import downwards, on_sides
from sim_node.world.locate import LocateError, package_path

# Allowed suffixes, because messages come from other nodes and may name any file.
_SUFFIXES = (".stl", ".obj", ".dae", ".glb", ".gltf", ".ply")
_MAX_BYTES = 256 * 1024**2
_WHITE = (1.0, 1.0, 1.0, 1.0)


def mesh_shapes(uri: str, look: DrawnShape, scale: FloatArray, *, own_colours: bool) -> Iterator[DrawnShape]:
    """Yield the parts of a mesh file with the pose and the colour of `look`, or with the file's own colours.

    Raises ValueError if the file is not found or cannot be read.
    """
    path = mesh_path(uri)
    for mesh, colour, finish in _parts(path, path.stat().st_mtime_ns):
        if own_colours:
            yield replace(look, mesh=mesh, scale=scale, colour=colour, finish=finish)
        else:
            yield replace(look, mesh=mesh, scale=scale, finish=None if mesh.uv is None else look.finish)


def mesh_path(uri: str) -> Path:
    """Return the file of a mesh URI. Raises ValueError if it is not a mesh."""
    return _path(uri, "mesh", _SUFFIXES)


def image_path(uri: str) -> Path:
    """Return the file of an image URI. Raises ValueError if it is not a readable image."""
    path = _path(uri, "texture", TEXTURES)
    if fault := image_fault(path):
        raise ValueError(fault)
    return path


def _path(uri: str, what: str, suffixes: tuple[str, ...]) -> Path:
    try:
        if uri.startswith("package://"):
            path = package_path(uri)
        elif uri.startswith("file://"):
            path = Path(unquote(urlsplit(uri).path))
        else:
            raise ValueError(f"the {what} {uri!r}; package:// and file:// URIs are read")
        if path.suffix.lower() not in suffixes:
            raise ValueError(f"the {what} {path.name}; known: {', '.join(suffixes)}")
        size = path.stat().st_size
    except LocateError as fault:
        raise ValueError(str(fault)) from None
    except OSError as fault:
        raise ValueError(f"the {what} {uri}: {fault.strerror}") from None
    if size > _MAX_BYTES:
        raise ValueError(f"the {what} {path.name} has {size} bytes; at most {_MAX_BYTES}")
    return path


@lru_cache(maxsize=16)
def finish_of(path: Path, changed_ns: int, *, is_flat: bool) -> Finish:
    """Return the finish for an image, mapped flat or onto the sides of a cube. Cached until the file changes."""
    return Finish(_WHITE, Texture(colours_of(path) if is_flat else on_sides(path), not is_flat))


@lru_cache(maxsize=256)
def _parts(path: Path, changed_ns: int) -> tuple[tuple[TriangleMesh, tuple[float, ...], Finish | None], ...]:
    """Return the parts of a file. Cached until the file changes."""
    try:
        return tuple((_mesh(part), part.colour, _finish(part)) for part in parts_of(path))
    except Exception as fault:  # any error of trimesh and its readers
        raise ValueError(f"the mesh {path.name} cannot be read: {fault}") from None


def _mesh(part: FilePart) -> TriangleMesh:
    uv = None if part.uv is None else downwards(part.uv)[part.faces].astype(np.float32)
    return TriangleMesh(np.asarray(part.vertices, dtype=np.float32), np.asarray(part.faces, dtype=np.uint32), uv)


def _finish(part: FilePart) -> Finish | None:
    return None if part.image is None else Finish(_WHITE, Texture(np.asarray(part.image.convert("RGB"))))
