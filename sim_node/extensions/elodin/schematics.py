"""The schematic of a world in Python: its panels, the shapes of its entities, and its KDL texts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from sim_node.extensions.elodin.assets import Asset, Glb, Material, Mesh
from sim_node.extensions.elodin.components import EntityId
from sim_node.extensions.elodin.errors import EcsError, shown_path
from sim_node.extensions.elodin.frame_names import WORLD_POS, Reference
from sim_node.extensions.elodin.scenery import Scenery
from sim_node.viewing.schematic.eql import Formula, NameNode
from sim_node.viewing.schematic.model import (
    GREY,
    Colour,
    Drawn,
    GlbModel,
    Object3d,
    Panel,
    Schematic,
    Solid,
    Split,
    Viewport,
)
from sim_node.viewing.schematic.reader import read_schematic
from sim_node.world.locate import LocateError
from sim_node.world.problems import Where
from sim_node.world.readers.files import Roots
from sim_node.world.readers.report import Report

_KINDS = {"cuboid": "box", "sphere": "sphere"}


def schematic_of(
    scenery: Scenery, script: Path, roots: Roots, report: Report, reference: Reference
) -> Schematic | None:
    """Return the schematic of a world in Python, or None if it has none.

    Args:
        scenery: Its entities.
        script: The script; paths are relative to it.
        roots: The folders that may be read.
        report: Where faults are recorded.
        reference: The frame in which its poses are expressed, and formulas that name no axes.
    """
    axes = reference.axes
    texts = [
        read_schematic(
            text, file, path=path, roots=replace(roots, fetch=roots.fetch or fetch), report=report, frame=axes
        )
        for text, file, path, fetch in _texts(scenery, script)
    ]
    panels = tuple(_in_axes(panel.drawn(scenery.names), axes) for panel in scenery.panels)
    objects = tuple(replace(each, frame=axes) for each in _objects(scenery, script, roots))
    located = next((each for each in texts if each.origin is not None), Schematic())
    found = Schematic(
        (*panels, *(panel for each in texts for panel in each.panels)),
        (*objects, *(thing for each in texts for thing in each.objects)),
        tuple(marker for each in texts for marker in each.markers),
        next((each.dark for each in texts if each.dark is not None), None),
        located.origin,
        "" if reference.is_root else reference.name,
        origin_place=located.origin_place,
    )
    return found if found.panels or found.objects or found.markers else None


def _in_axes(panel: Panel, axes: str) -> Panel:
    """Return a panel whose viewports use the given axes."""
    if isinstance(panel, Viewport):
        return replace(panel, frame=axes)
    if isinstance(panel, Split):
        return replace(panel, panels=tuple(_in_axes(each, axes) for each in panel.panels))
    return panel


def _texts(scenery: Scenery, script: Path) -> Iterator[tuple[str, str, Path, bool]]:
    """Yield the KDL texts, their files for messages and for paths, and whether URLs in them may be fetched.

    A file that exists replaces its text.
    """
    for text, name, where, fetch in scenery.schematics:
        path = None if name is None else script.parent / name
        if path is not None and path.is_file():
            yield path.read_text(encoding="utf-8"), shown_path(str(path)), path, fetch
        else:
            yield text, f"{where.file}:{where.line}: schematic", script, fetch


def _objects(scenery: Scenery, script: Path, roots: Roots) -> Iterator[Object3d]:
    tables = scenery.tables()
    placed = set(tables[WORLD_POS].entities) if WORLD_POS in tables else set()
    shown: dict[EntityId, list[Asset]] = {}
    for name in ("mesh", "material", "glb"):
        table = tables.get(name)
        for entity, value in zip(table.entities, table.values.tolist(), strict=True) if table else ():
            shown.setdefault(entity, []).append(scenery.assets[value])
    for entity, assets in shown.items():
        where = scenery.places[entity]
        if entity not in placed:
            raise EcsError("is shown, but has no WorldPos", where, scenery.names[entity])
        tree = NameNode((scenery.names[entity], WORLD_POS))
        for drawn in _drawn(assets, script, roots, where):
            yield Object3d(Formula(str(tree), tree, where), drawn)


def _drawn(assets: list[Asset], script: Path, roots: Roots, where: Where) -> Iterator[Drawn]:
    colour = next((_colour(each) for each in assets if isinstance(each, Material)), GREY)
    for each in assets:
        if isinstance(each, Mesh):
            yield Solid(_KINDS[each.kind], each.size, colour)
        elif isinstance(each, Glb):
            try:
                yield GlbModel(replace(roots, fetch=roots.fetch or each.fetch).model(each.path, script))
            except LocateError as error:
                raise EcsError(str(error), where, "glb") from None


def _colour(material: Material) -> Colour:
    """Return the colour of a material; if it glows, that of its light."""
    red, green, blue = (part / max(1.0, *material.rgb) for part in material.rgb)
    return red, green, blue, 1.0
