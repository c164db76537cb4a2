"""How a world in Python is shown: its meshes, materials, models and schematics."""

from __future__ import annotations

import numpy as np

from sim_node.ecs.assets import Asset, Glb, Handle, Material, Mesh, Scene, Shape
from sim_node.ecs.entities import Entities
from sim_node.ecs.errors import EcsError, caller


class Scenery(Entities):
    """Entities with what they look like.

    Attributes:
        assets: What insert_asset was given; handles are indices.
        schematics: Texts of `schematic`, with the paths that were given.
    """

    def __init__(self) -> None:
        super().__init__()
        self.assets: list[Asset] = []
        self.schematics: list[tuple[str, str | None]] = []

    def insert_asset(self, asset: Asset) -> Handle:
        """Add a mesh, a material or a model.

        Args:
            asset: A Mesh, a Material or a Glb.

        Returns:
            Its handle, for Shape and Scene. It can be used many times.

        Raises:
            EcsError: It is something else.
        """
        if not isinstance(asset, (Mesh, Material, Glb)):
            message = f"{type(asset).__name__} is not an asset: a Mesh, a Material or a Glb"
            raise EcsError(message, caller(), "insert_asset")
        self.assets.append(asset)
        return Handle(len(self.assets) - 1)

    def shape(self, mesh: Mesh | Handle, material: Material | Handle) -> Shape:
        """Return the archetype of an entity that is shown as a mesh.

        Args:
            mesh: The mesh, or its handle.
            material: The material, or its handle.

        Returns:
            The archetype, to be spawned with the entity.

        Raises:
            EcsError: One is something else.
        """
        handles = (each if isinstance(each, Handle) else self.insert_asset(each) for each in (mesh, material))
        return Shape(*map(np.uint64, handles))

    def glb(self, url: str) -> Scene:
        """Return the archetype of an entity that is shown as a model.

        Args:
            url: The path of a GLB file, or package://PACKAGE/PATH. Nothing is loaded from the network.

        Returns:
            The archetype, to be spawned with the entity.

        Raises:
            EcsError: It is another URL.
        """
        return Scene(np.uint64(self.insert_asset(Glb(str(url)))))

    def schematic(self, default_content: str = "", path: str | None = None) -> None:
        """Keep the text of a schematic, which says how the world is shown.

        Args:
            default_content: The text, in KDL.
            path: A file that replaces the text if it exists.
        """
        self.schematics.append((default_content, path))
