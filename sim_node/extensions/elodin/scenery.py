"""How a world in Python is shown: its meshes, materials, models and schematics."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from sim_node.extensions.elodin.assets import Asset, Glb, Handle, Material, Mesh, Scene, Shape
from sim_node.extensions.elodin.components import EntityId
from sim_node.extensions.elodin.entities import Entities, Values
from sim_node.extensions.elodin.errors import EcsError, caller
from sim_node.extensions.elodin.panels import Panel
from sim_node.extensions.elodin.sensor_cameras import SensorCamera
from sim_node.world.problems import Where


class Scenery(Entities):
    """Entities with what they look like.

    Attributes:
        assets: What insert_asset was given; handles are indices.
        panels: The panels that were spawned.
        cameras: What `sensor_camera` added, by `entity.camera`.
        schematics: Texts of `schematic`, with the paths that were given, where, and whether URLs may be fetched.
    """

    def __init__(self) -> None:
        super().__init__()
        self.assets: list[Asset] = []
        self.panels: list[Panel] = []
        self.cameras: dict[str, SensorCamera] = {}
        self.schematics: list[tuple[str, str | None, Where, bool]] = []

    def spawn(self, given: Values | Iterable[Values], name: str | None = None, id: int | None = None) -> EntityId:
        """Add an entity, or a panel. See Entities.spawn."""
        several = [given] if isinstance(given, Panel) or not isinstance(given, Iterable) else list(given)
        entity = super().spawn(several, name, id)
        self.panels += [each for each in several if isinstance(each, Panel)]
        return entity

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

    def glb(self, url: str, fetch: bool = False) -> Scene:
        """Return the archetype of an entity that is shown as a model.

        Args:
            url: The path of a GLB file, package://PACKAGE/PATH, or https://...
            fetch: Whether the model of a URL may be fetched, once; the option --allow-fetch of commands says the same.

        Returns:
            The archetype, to be spawned with the entity.
        """
        return Scene(np.uint64(self.insert_asset(Glb(str(url), fetch))))

    def schematic(self, default_content: str = "", path: str | None = None, fetch: bool = False) -> None:
        """Add a schematic, which says what is drawn of the world, and from where.

        Args:
            default_content: The text, in KDL.
            path: A file that replaces the text if it exists, relative to the script.
            fetch: Whether models that it names by URLs may be fetched, once.
        """
        self.schematics.append((default_content, path, caller(), fetch))

    def sensor_camera(
        self,
        entity: int,
        name: str,
        width: int,
        height: int,
        fov: float = 90.0,
        near: float = 0.01,
        far: float = 1000.0,
        pos_offset: Sequence[float] = (0.0, 0.0, 0.0),
        look_at_offset: Sequence[float] = (0.0, 0.0, -1.0),
        format: str = "rgba",
        effect: str = "normal",
        effect_params: Mapping[str, float] | None = None,
    ) -> None:
        """Add a camera to an entity with a WorldPos. Callbacks render it: `ctx.render_camera("entity.name")`.

        It sees the world's shapes and what schematics draw, upright, as `sim_node render` draws them.

        Args:
            entity: The entity.
            name: Its name, without white space.
            width: Width of a frame, pixels.
            height: Height of a frame, pixels.
            fov: Vertical field of view, degrees.
            near: Distance of the nearest thing that is seen, m.
            far: Distance of the farthest, m.
            pos_offset: Where it is, in the axes of the entity, m.
            look_at_offset: The point that it looks at, in the axes of the entity, m.
            format: "rgba", four bytes for each pixel; or "gray", one.
            effect: "normal", "thermal", "night_vision" or "depth", which is the brightness.
            effect_params: `contrast` and `noise_sigma` of thermal; `gain` and `noise_sigma` of night_vision.

        Raises:
            EcsError: There is no such entity, the name is in use, or an argument is not allowed.
        """
        where = caller()
        if entity not in self.names:
            raise EcsError(f"there is no entity {entity}; spawn it before", where, "sensor_camera")
        of = self.names[EntityId(entity)]
        camera = SensorCamera(
            of,
            f"{of}.{name}",
            (width, height),
            math.radians(fov),
            near,
            far,
            tuple(map(float, pos_offset)),
            tuple(map(float, look_at_offset)),
            format,
            effect,
            dict(effect_params or {}),
            where,
        )
        if camera.name in self.cameras:
            raise EcsError(f"there is a camera {camera.name!r} already", where, "sensor_camera")
        self.cameras[camera.name] = camera
