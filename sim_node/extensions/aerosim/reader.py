"""The readers of JSON: for standalone files, and for files that other worlds include, with their assets."""

from __future__ import annotations

from pathlib import Path

from sim_node.extensions.aerosim.options import EFFECTOR_CONVENTIONS, ROOTS, Asset, Options
from sim_node.world.mesh_files import MESHES, MESHES_SHOWN, mesh_fault
from sim_node.world.model import World
from sim_node.world.problems import counted, quoted
from sim_node.world.readers.files import Roots
from sim_node.world.readers.keys import Keys, by_name, choice, flag, text
from sim_node.world.readers.registry import read_file, reader
from sim_node.world.readers.report import Report
from sim_node.world.readers.yaml_include import include_reader
from sim_node.world.readers.yaml_section import Context
from sim_node.world.readers.yaml_values import Table, Value

MODELS = (".urdf", ".xml", ".mjcf")
# Not supported, because it would need usd-core, a wheel of 29 MB with its own licence.
USD = (".usd", ".usda", ".usdc", ".usdz")


@reader(".json")
def read_json(path: Path, shown: Path, roots: Roots, report: Report, including: tuple[Path, ...] = ()) -> World | None:
    """Return the world of a scene graph, or None with the faults in `report`."""
    from sim_node.extensions.aerosim.json_worlds import read_world  # here, because most worlds are not JSON

    return read_world(path, shown, roots, report, Options())


@include_reader(
    ".json",
    keys=Keys(
        {
            "convention": choice("Axes of a scene graph's root.", ROOTS),
            "effectors": choice("Axes of a scene graph's effectors.", EFFECTOR_CONVENTIONS),
            "scaled_children": flag("Whether the scale of an entity is that of what is below it, too."),
            "assets": by_name("Meshes and models by the names of a scene graph's assets.", text("A file.")),
        }
    ),
)
def read_included(path: Path, shown: Path, report: Report, table: Table, context: Context) -> World | None:
    """Return the world of an included scene graph, with the conventions and assets of the include."""
    from sim_node.extensions.aerosim.json_worlds import read_world

    options = Options(
        convention=table.choice("convention", ROOTS, "NED"),
        effectors="" if table.get("effectors") is None else table.choice("effectors", EFFECTOR_CONVENTIONS, "FRD"),
        assets=_assets(table.get("assets"), context),
        scaled_children=False if (scaled := table.get("scaled_children")) is None else scaled.flag(False),
    )
    return read_world(path, shown, context.roots, report, options)


def _assets(value: Value | None, context: Context) -> dict[str, Asset]:
    """Read the table of assets: meshes and models by the names of assets, beside the world file."""
    assets: dict[str, Asset] = {}
    if value is None:
        return assets
    for name, _, each in value.named("of assets to files"):
        found = context.find(each)
        if found is None:
            continue
        path, shown = found
        suffix = path.suffix.lower()
        if suffix in MODELS:
            roots = context.roots.around(path)
            world = read_file(path, shown, roots, context.report, (*context.including, path.resolve()))
            if world is not None and len(world.models) != 1:
                each.error(f"{quoted(path.name)} has {counted(len(world.models), 'model')}; an asset is one")
            elif world is not None:
                assets[name] = Asset(path, world, each.place)
        elif suffix not in (*MESHES, *MESHES_SHOWN):
            allowed = ", ".join((*MESHES, *MESHES_SHOWN, *MODELS))
            hint = "; USD is not read: export it as .glb, for instance from Blender" if suffix in USD else ""
            each.error(f"{quoted(path.name)} cannot stand for an asset; allowed: {allowed}{hint}")
        elif fault := mesh_fault(path):
            each.error(fault)
        else:
            context.report.read.append(path)
            assets[name] = Asset(path, None, each.place)
    return assets
