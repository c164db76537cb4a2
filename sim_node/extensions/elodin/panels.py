"""Panels of worlds in Python: viewports, graphs and splits, as Elodin's scripts spawn them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from sim_node.extensions.elodin.components import Carrier, Component, EntityId, ShapeIndexer, is_component, layout_of
from sim_node.extensions.elodin.errors import EcsError, caller
from sim_node.viewing.schematic.eql import CallNode as Applied
from sim_node.viewing.schematic.eql import Formula, IndexNode, NameNode, NumberNode, RowNode, Sum, Tree, written
from sim_node.viewing.schematic.model import GraphPanel, Split, Viewport
from sim_node.viewing.schematic.model import Panel as DrawnPanel
from sim_node.world.problems import Place, Where

# Returns a panel from the names of entities.
_Made = Callable[[Mapping[EntityId, str]], DrawnPanel]


class GraphEntity:
    """Curves of an entity's components.

    Args:
        entity_id: The entity.
        *components: What to draw: Component.index(X), a part of it, or X for all of it.

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
            The formulas, one for each number that is drawn alone.
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
    """A panel of the page, to be spawned.

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
            pos: Position (3,) of the camera, m: relative to the entity that it moves with.
            looking_at: What (3,) it looks at, in the same axes.
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
        """Return curves over time.

        Args:
            *entities: What to draw.
            name: Its name.

        Returns:
            The panel.

        Raises:
            EcsError: Something else than a GraphEntity is given.
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
        """Return panels one below the other.

        Args:
            *panels: The panels.
            active: Whether its tab is in front.

        Returns:
            The panel.

        Raises:
            EcsError: Something else than a panel is given.
        """
        return _split(panels, active, horizontal=False)

    @staticmethod
    def hsplit(*panels: Panel, active: bool = False) -> Panel:
        """Return panels side by side.

        Args:
            *panels: The panels.
            active: Whether its tab is in front.

        Returns:
            The panel.

        Raises:
            EcsError: Something else than a panel is given.
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
    """Return the pose of a point that moves with an entity, and turns with it or not."""
    numbers = tuple(NumberNode(each) for each in point)
    upright = RowNode((NumberNode(0.0), NumberNode(0.0), NumberNode(0.0), NumberNode(1.0), *numbers))
    tree: Tree = upright
    if owner is not None:
        of = NameNode((owner, "world_pos"))
        tree = Applied(of, "translate", numbers) if turning else Sum(upright, "+", of)
    return Formula(written(tree), tree, where)
