"""How a world in Python is shown: its meshes, materials, models and schematics."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from sim_node.extensions.elodin.assets import Asset, Glb, Handle, Material, Mesh, Scene, Shape
from sim_node.extensions.elodin.components import Carrier, Component, EntityId, ShapeIndexer, is_component, layout_of
from sim_node.extensions.elodin.entities import Entities, Values
from sim_node.extensions.elodin.errors import EcsError, caller
from sim_node.extensions.elodin.sensor_cameras import SensorCamera
from sim_node.text import did_you_mean
from sim_node.viewing.schematic.eql import CallNode as Applied
from sim_node.viewing.schematic.eql import Formula, IndexNode, NameNode, NumberNode, RowNode, Sum, Tree, written
from sim_node.viewing.schematic.model import GraphPanel, Split, Viewport
from sim_node.viewing.schematic.model import Panel as DrawnPanel
from sim_node.world.problems import Place, Where

# Makes a panel from the names of entities.
_Made = Callable[[Mapping[EntityId, str]], DrawnPanel]


class GraphEntity:
    """Curves of the components of an entity.

    Args:
        entity_id: The entity.
        *components: What to draw: X for a whole component, or Component.index(X)[...] for some of its elements.

    Raises:
        EcsError: Something else is given.
    """

    def __init__(self, entity_id: int, *components: Any) -> None:
        where = caller()
        if not components or not all(isinstance(each, ShapeIndexer) or is_component(each) for each in components):
            message = "needs the entity and what to draw of it, as in Component.index(WorldPos)[4:]"
            raise EcsError(message, where, "GraphEntity")
        self.entity = EntityId(entity_id)
        self.components = tuple(
            each if isinstance(each, ShapeIndexer) else Component.index(each) for each in components
        )

    def formulas(self, names: Mapping[EntityId, str], where: Where) -> tuple[Formula, ...]:
        """Return the formulas of its curves.

        Args:
            names: The names of the entities.
            where: Where the graph is written.

        Returns:
            The formulas, one for each element that is drawn on its own.
        """
        found: list[Formula] = []
        for each in self.components:
            of = NameNode((_named(self.entity, names, where), each.component.name))
            positions = each.positions.ravel().tolist()
            parts: Sequence[Tree] = (of,)
            if positions != list(range(layout_of(each.component).size)):
                parts = [IndexNode(of, position) for position in positions]
            found += [Formula(written(part), part, where) for part in parts]
        return tuple(found)


class Panel:
    """A panel of the viewer page, to be spawned in a world.

    Args:
        made: Makes the panel from the names of entities.
        where: Where it is written.
    """

    def __init__(self, made: _Made, where: Where) -> None:
        self._made, self.where = made, where

    @staticmethod
    def viewport(
        track_entity: int | None = None,
        track_rotation: bool = True,
        fov: float = 45.0,
        active: bool = False,
        pos: Sequence[float] | None = None,
        looking_at: Sequence[float] | None = None,
        show_grid: bool = False,
        hdr: bool = False,
        name: str | None = None,
    ) -> Panel:
        """Return a view of the scene with a camera of its own.

        Args:
            track_entity: The entity that the camera moves with; None for a camera that stays.
            track_rotation: Whether it also turns with the entity.
            fov: Vertical field of view, degrees.
            active: Whether its tab is in front.
            pos: Position (3,) of the camera, relative to the entity that it moves with, m.
            looking_at: The point (3,) that it looks at, in the same axes, m.
            show_grid: Whether the grid is drawn.
            hdr: No effect.
            name: Its name.

        Returns:
            The panel.

        Raises:
            EcsError: A number is missing or out of range.
        """
        where = caller()
        if not isinstance(fov, (int, float)) or not 1.0 <= fov <= 170.0:
            raise EcsError(f"fov: found {fov!r}; allowed: 1 to 170 degrees", where, "Panel.viewport")
        points = [_point(each, key, where) for key, each in (("pos", pos), ("looking_at", looking_at))]

        def made(names: Mapping[EntityId, str]) -> DrawnPanel:
            owner = None if track_entity is None else _named(EntityId(track_entity), names, where)
            eye, target = points
            if owner is not None and eye is None:
                eye = (0.0, 0.0, 0.0)
            return Viewport(
                name=name or "",
                pos=None if eye is None else _placed(eye, owner, where, turning=track_rotation),
                look_at=None if target is None else _placed(target, owner, where, turning=track_rotation),
                rolls=owner is not None and track_rotation,
                fov=float(fov),
                show_grid=bool(show_grid),
                active=bool(active),
                place=Place(where, "Panel.viewport"),
            )

        return Panel(made, where)

    @staticmethod
    def graph(*entities: GraphEntity, name: str | None = None) -> Panel:
        """Return a plot of curves over time.

        Args:
            *entities: What to draw.
            name: Its name.

        Returns:
            The panel.

        Raises:
            EcsError: An argument is not a GraphEntity.
        """
        where = caller()
        for each in entities:
            if not isinstance(each, GraphEntity):
                raise EcsError(f"{type(each).__name__} is not a GraphEntity", where, "Panel.graph")

        def made(names: Mapping[EntityId, str]) -> DrawnPanel:
            curves = tuple(formula for each in entities for formula in each.formulas(names, where))
            return GraphPanel(name=name or "", curves=curves, place=Place(where, "Panel.graph"))

        return Panel(made, where)

    @staticmethod
    def vsplit(*panels: Panel, active: bool = False) -> Panel:
        """Return a panel with panels one below the other.

        Args:
            *panels: The panels.
            active: Whether its tab is in front.

        Returns:
            The panel.

        Raises:
            EcsError: An argument is not a panel.
        """
        return _split(panels, active, horizontal=False)

    @staticmethod
    def hsplit(*panels: Panel, active: bool = False) -> Panel:
        """Return a panel with panels side by side.

        Args:
            *panels: The panels.
            active: Whether its tab is in front.

        Returns:
            The panel.

        Raises:
            EcsError: An argument is not a panel.
        """
        return _split(panels, active, horizontal=True)

    def drawn(self, names: Mapping[EntityId, str]) -> DrawnPanel:
        """Return the panel as data.

        Args:
            names: The names of the entities.

        Returns:
            The panel.

        Raises:
            EcsError: It names an entity that does not exist.
        """
        return self._made(names)

    def values(self) -> Iterator[tuple[Carrier, Any]]:
        """Yield nothing: a panel has no components."""
        return iter(())


def _split(panels: tuple[Panel, ...], active: bool, *, horizontal: bool) -> Panel:
    where = caller()
    key = f"Panel.{'hsplit' if horizontal else 'vsplit'}"
    for each in panels:
        if not isinstance(each, Panel):
            raise EcsError(f"{type(each).__name__} is not a Panel", where, key)

    def made(names: Mapping[EntityId, str]) -> DrawnPanel:
        drawn = tuple(each.drawn(names) for each in panels)
        return Split(horizontal, drawn, active=bool(active), place=Place(where, key))

    return Panel(made, where)


def _named(entity: EntityId, names: Mapping[EntityId, str], where: Where) -> str:
    if entity not in names:
        raise EcsError(f"there is no entity {int(entity)}", where, "Panel")
    return names[entity]


def _point(given: Sequence[float] | None, key: str, where: Where) -> tuple[float, float, float] | None:
    if given is None:
        return None
    try:
        x, y, z = (float(each) for each in given)
    except (TypeError, ValueError):
        raise EcsError(f"{key}: three numbers are needed, found {given!r}", where, "Panel.viewport") from None
    if not all(map(math.isfinite, (x, y, z))):
        raise EcsError(f"{key}: {given!r} is not finite", where, "Panel.viewport")
    return x, y, z


def _placed(point: tuple[float, float, float], owner: str | None, where: Where, *, turning: bool) -> Formula:
    """Return the formula of the pose of a point that moves with an entity and, optionally, turns with it."""
    numbers = tuple(NumberNode(each) for each in point)
    upright = RowNode((NumberNode(0.0), NumberNode(0.0), NumberNode(0.0), NumberNode(1.0), *numbers))
    tree: Tree = upright
    if owner is not None:
        of = NameNode((owner, "world_pos"))
        tree = Applied(of, "translate", numbers) if turning else Sum(upright, "+", of)
    return Formula(written(tree), tree, where)


# Arguments of Elodin's sensor cameras that only affect its editor.
OVERLAY = frozenset({"create_frustum", "show_ellipsoids", "frustums_color", "projection_color", "frustums_thickness"})


class Scenery(Entities):
    """Entities with their appearance.

    Attributes:
        assets: The assets added by `insert_asset`; handles are indices.
        panels: The spawned panels.
        cameras: The cameras added by `sensor_camera`, by `entity.camera`.
        schematics: The arguments of each call of `schematic`: text, path, where, and whether URLs may be fetched.
    """

    def __init__(self) -> None:
        super().__init__()
        self.assets: list[Asset] = []
        self.panels: list[Panel] = []
        self.cameras: dict[str, SensorCamera] = {}
        self.schematics: list[tuple[str, str | None, Where, bool]] = []

    def spawn(self, archetypes: Values | Iterable[Values], name: str | None = None, id: int | None = None) -> EntityId:
        """Add an entity, or a panel. See Entities.spawn."""
        several = (
            [archetypes] if isinstance(archetypes, Panel) or not isinstance(archetypes, Iterable) else [*archetypes]
        )
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
            EcsError: The argument is something else.
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
            EcsError: An argument is something else.
        """
        handles = (each if isinstance(each, Handle) else self.insert_asset(each) for each in (mesh, material))
        return Shape(*map(np.uint64, handles))

    def glb(self, url: str, fetch: bool = False) -> Scene:
        """Return the archetype of an entity that is shown as a model.

        Args:
            url: The path of a GLB file, package://PACKAGE/PATH, or https://...
            fetch: Whether the model of a URL may be fetched, once; same as the option --allow-fetch of commands.

        Returns:
            The archetype, to be spawned with the entity.
        """
        return Scene(np.uint64(self.insert_asset(Glb(str(url), fetch))))

    def schematic(self, default_content: str = "", path: str | None = None, fetch: bool = False) -> None:
        """Add a schematic, which defines what is drawn of the world, and from which viewpoints.

        Args:
            default_content: The text, in KDL.
            path: A file that replaces the text if it exists, relative to the script.
            fetch: Whether models that it names by URL may be fetched, once.
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
        rot_offset: Sequence[float] | None = None,
        fps: float | None = None,
        **overlay: Any,
    ) -> None:
        """Add a camera to an entity with a WorldPos. Callbacks render it: `ctx.render_camera("entity.name")`.

        It sees the shapes of the world and what schematics draw, as `sim_node render` draws them, and is kept upright.

        Args:
            entity: The entity.
            name: Its name, without white space.
            width: Width of a frame, pixels.
            height: Height of a frame, pixels.
            fov: Vertical field of view, degrees.
            near: Distance of the near clipping plane, m.
            far: Distance of the far clipping plane, m.
            pos_offset: Its position (3,) in the axes of the entity, m.
            look_at_offset: The point (3,) that it looks at, in the axes of the entity, m.
            format: "rgba", four bytes per pixel; or "gray", one.
            effect: "normal", "thermal", "night_vision" or "depth", which is the brightness.
            effect_params: `contrast` and `noise_sigma` of thermal; `gain` and `noise_sigma` of night_vision.
            rot_offset: Instead of a point to look at: intrinsic rotations (3,) about the entity's x, y and z axes,
                degrees. With zeros it looks along x, and z is up.
            fps: Frames per simulated second (Hz) that are rendered automatically; None to render only on request.
            **overlay: Accepted without effect: create_frustum, show_ellipsoids, frustums_color, projection_color and
                frustums_thickness.

        Raises:
            EcsError: There is no such entity, the name is in use, or an argument is not allowed.
        """
        where = caller()
        for unknown in overlay.keys() - OVERLAY:
            known = did_you_mean(unknown, (*OVERLAY, "rot_offset", "fps", "look_at_offset", "effect_params"))
            raise EcsError(f"unknown argument {unknown!r}{known}", where, "sensor_camera")
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
            None if rot_offset is None else tuple(map(float, rot_offset)),
            fps,
        )
        if camera.name in self.cameras:
            raise EcsError(f"there is a camera {camera.name!r} already", where, "sensor_camera")
        self.cameras[camera.name] = camera
