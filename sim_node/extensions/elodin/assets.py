"""Assets: the meshes, materials and models that represent entities in the viewer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from sim_node.extensions.elodin.archetypes import Archetype
from sim_node.extensions.elodin.components import Component
from sim_node.extensions.elodin.errors import EcsError, caller
from sim_node.extensions.elodin.jax_setup import jax
from sim_node.extensions.elodin.layouts import ComponentType


class Handle(int):
    """The number of an asset, given by World.insert_asset."""

    def __repr__(self) -> str:
        return f"Handle({int(self)})"


@dataclass(frozen=True)
class Mesh:
    """A shape.

    Attributes:
        kind: `cuboid` or `sphere`.
        size: Full lengths (x, y, z) of a cuboid, or the radius (r,) of a sphere, m.
    """

    kind: str
    size: tuple[float, ...]

    @classmethod
    def cuboid(cls, x: float, y: float, z: float) -> Mesh:
        """Return a cuboid.

        Args:
            x: Full length along its x axis, m.
            y: Full length along its y axis, m.
            z: Full length along its z axis, m.

        Returns:
            The mesh.

        Raises:
            EcsError: A length is not above zero.
        """
        return cls._checked("cuboid", x, y, z)

    @classmethod
    def sphere(cls, radius: float) -> Mesh:
        """Return a sphere.

        Args:
            radius: The radius, m.

        Returns:
            The mesh.

        Raises:
            EcsError: The radius is not above zero.
        """
        return cls._checked("sphere", radius)

    @classmethod
    def _checked(cls, kind: str, *size: float) -> Mesh:
        for length in size:
            if not 0 < float(length) < float("inf"):
                raise EcsError(f"{kind}: {length!r} is not a length above zero", caller(), "Mesh")
        return cls(kind, tuple(float(length) for length in size))


@dataclass(frozen=True)
class Material:
    """A colour.

    Attributes:
        rgb: Red, green and blue: 1 is full, more than 1 glows.
    """

    rgb: tuple[float, float, float]

    @classmethod
    def color(cls, r: float, g: float, b: float) -> Material:
        """Return a material of a colour.

        Args:
            r: Red: 1 is full, more than 1 glows.
            g: Green.
            b: Blue.

        Returns:
            The material.

        Raises:
            EcsError: A number is below zero.
        """
        for part in (r, g, b):
            if not 0 <= float(part) < float("inf"):
                raise EcsError(f"color: {part!r} is not a number of at least zero", caller(), "Material")
        return cls((float(r), float(g), float(b)))


@dataclass(frozen=True)
class Glb:
    """A model in a GLB file.

    Attributes:
        path: A path, package://PACKAGE/PATH, or a URL: https://...
        fetch: Whether the model of a URL may be fetched, once.
    """

    path: str
    fetch: bool = False


Asset = Mesh | Material | Glb
MeshHandle = Annotated[jax.Array, Component("mesh", ComponentType.U64, asset=True)]
MaterialHandle = Annotated[jax.Array, Component("material", ComponentType.U64, asset=True)]
GlbHandle = Annotated[jax.Array, Component("glb", ComponentType.U64, asset=True)]


@dataclass
class Shape(Archetype):
    """The mesh and material that an entity is shown as.

    Attributes:
        mesh: The handle of a Mesh.
        material: The handle of a Material.
    """

    mesh: MeshHandle
    material: MaterialHandle


@dataclass
class Scene(Archetype):
    """A model that an entity is shown as.

    Attributes:
        glb: The handle of a Glb.
    """

    glb: GlbHandle
