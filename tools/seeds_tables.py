"""Write the tables of docs/seeds.md from the tables of the readers: `python tools/seeds_tables.py`."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from sim_node.extensions import elodin
from sim_node.extensions.aerosim.graph import GROUPS
from sim_node.extensions.aerosim.options import ROOTS
from sim_node.extensions.aerosim.reading import COORDINATES
from sim_node.extensions.aerosim.sensor_types import OF_BODIES as SENSORS_OF_BODIES
from sim_node.extensions.aerosim.sensor_types import TYPES
from sim_node.extensions.aerosim.writing import DIALECTS
from sim_node.extensions.fmu.description import TYPES as FMI_TYPES
from sim_node.extensions.fmu.description import VERSIONS
from sim_node.extensions.openplx import contacts, physics3d, signals
from sim_node.extensions.openplx.drives import MOTIONS, SHAFT, SHAFT_ACTUATOR
from sim_node.extensions.openplx.interactions import LAWS
from sim_node.extensions.openplx.parts import SHAPES as OPENPLX_SHAPES
from sim_node.extensions.openplx.tree import INERT, VACUUM_GRIPPER
from sim_node.extensions.sdf.effects import WITHOUT_EFFECT
from sim_node.extensions.sdf.joints import TYPES as SDF_JOINTS
from sim_node.extensions.sdf.plugins import MISSING, SYSTEMS
from sim_node.extensions.sdf.sensors import MISSING as SDF_SENSORS_MISSING
from sim_node.extensions.sdf.sensors import TYPES as SDF_SENSORS
from sim_node.extensions.sdf.shapes import GEOMETRIES
from sim_node.extensions.sweep import campaign_files, plans
from sim_node.formats import x_xy, x_xy_writer
from sim_node.names import SENSOR_PATTERNS, conventions
from sim_node.spatial.frames import Frame
from sim_node.viewing.schematic.formulas import FORMULAS
from sim_node.viewing.schematic.model import AXES
from sim_node.viewing.schematic.objects import DRAWN
from sim_node.viewing.schematic.objects import WITHOUT_EFFECT as OBJECTS_WITHOUT_EFFECT
from sim_node.viewing.schematic.reader import NOT_DRAWN, PANELS, TOP, VIEWPORT_WITHOUT_EFFECT
from sim_node.world.readers.registry import READERS

PAGE = Path(__file__).resolve().parents[1] / "docs" / "seeds.md"
START, END = "<!-- {} -->", "<!-- end of {} -->"
_HEAD = "| | |\n|---|---|\n"


def tables() -> dict[str, str]:
    """Return the tables by name, in Markdown."""
    return {"suffixes": _words(READERS) + "\n", **dict(zip(_NAMES, map(_table, _ROWS), strict=True))}


def _short(names: Iterable[str]) -> str:
    """Return the last parts of dotted names, once each."""
    return _words(dict.fromkeys(name.rpartition(".")[2] for name in names))


def _words(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _table(rows: dict[str, str]) -> str:
    return _HEAD + "".join(f"| {name} | {value} |\n" for name, value in rows.items())


_X_XY = {
    "Elements": _words(x_xy.SCHEMA),
    "Attributes of `body`": _words(x_xy.BODY),
    "Attributes of `geom`": _words(x_xy.GEOM),
    "Joints": _words(x_xy.joint_names()),
    "Shapes": _words(x_xy.SHAPES),
    "Written": f"worlds of bodies; not {_words(x_xy_writer.OF_BODIES)} of bodies, {_words(x_xy_writer.OF_SHAPES)} of "
    "shapes, other shapes, and other kinds of parts, which are named in an error",
    "Approximated": "axes of `rr`, `rr_imp` and `rsaddle` are drawn by another generator than the toolbox's",
}
_OPENPLX = {
    "Mates": _short(physics3d.MATES),
    "Motors, springs, gears, clutches, brakes": _short(LAWS),
    "Shafts": _short((SHAFT, SHAFT_ACTUATOR)),
    "Shapes": _short(OPENPLX_SHAPES),
    "Grippers": _short((VACUUM_GRIPPER,)),
    "Signals of mates, shafts and drives": _words(
        [*signals.MEASURED, *(f"{name}Input" for name in signals.TARGETS), *sum(signals.ENGAGEMENTS.values(), ())]
    ),
    "Signals of several numbers": _short((*signals.PARTS, *signals.OF_BODIES, *signals.SELECTIONS)),
    "Written": "nothing",
    "Approximated": f"{_short((contacts.PYRAMID,))} as a cone; mates are rigid, whatever their "
    f"{_words(physics3d.COMPLIANCE)}",
    "Left out, with a warning": f"{_short((*contacts.UNSIMULATED_TRAITS, *contacts.OTHER_FRICTION))}; everything in "
    f"{_words(name.rstrip('.') for name in INERT if not name.startswith('Physics'))}; friction of mates other than "
    f"{_words(sorted({friction for motions in MOTIONS.values() for _, friction in motions}))}",
}
_AEROSIM = {
    "Files": "scene graphs, configurations of a simulation, scenarios of aerosim-scenarios",
    "Component groups": f"{_words(GROUPS)}; others are kept",
    "World coordinates": _words((*COORDINATES, "ellipsoid")),
    "Axes": _words(ROOTS),
    "Sensors": _words(TYPES),
    "FMUs of configurations": f"co-simulation, FMI {_words(VERSIONS)}",
    "Written": f"any world or bag, in the dialects {_words(DIALECTS)}",
    "Approximated": "nothing",
    "Left out, with a warning": f"{_words(SENSORS_OF_BODIES)} sensors, the orchestrator of a configuration, "
    "and the clock of one without FMUs, weather and time of day of a scenario; "
    "USD assets, unless the include maps them to files",
}
_SDF = {
    "Joints": _words(name for name, (kind, _) in SDF_JOINTS.items() if kind),
    "Shapes": _words(GEOMETRIES),
    "Sensors": _words(SDF_SENSORS),
    "Systems": _words(name for name, each in SYSTEMS.items() if each.add is not None),
    "Written": "nothing",
    "Left out, with a warning": _words(
        [*sorted(MISSING), *sorted(SDF_SENSORS_MISSING), *(name for name, (kind, _) in SDF_JOINTS.items() if not kind)]
    ),
    "Elements without effect": _words(sorted(WITHOUT_EFFECT)),
}
_ELODIN = {
    "Names in Python": _words(name for name in vars(elodin)["__all__"] if not name.startswith("_")),
    "Campaigns": f"plans, specifications with {_words(plans.DISTRIBUTIONS)}, and hooks",
    "Panels of KDL": _words(PANELS),
    "Other nodes": f"{_words(TOP)}; in `object_3d`: {_words(DRAWN)}",
    "Axes": _words(AXES),
    "Formulas": _words(FORMULAS),
    "Written": "the layout of pages, as KDL",
    "Approximated": "nothing: where its numbers differ from ours, `compat` has them",
    "Left out, with a warning": f"{_words(NOT_DRAWN)}; of viewports {_words(VIEWPORT_WITHOUT_EFFECT)}; of `object_3d` "
    f"{_words(sorted(OBJECTS_WITHOUT_EFFECT))}; of campaigns "
    f"{_words(name for names in campaign_files.WITHOUT_EFFECT.values() for name in names)}",
}
_FMI = {
    "Versions": f"co-simulation, FMI {_words(VERSIONS)}",
    "Types with values": _words(FMI_TYPES),
    "Written": "nothing",
    "Approximated": "nothing",
    "Left out": "model exchange, scheduled execution, clocks, binaries",
}
_FRAMES = {
    "Frames of data": _words(frame.name for frame in Frame),
    "Axes by the names of frames": _words(f"{name} ({axes})" for name, axes in conventions().items()),
    "Static beside `base_link`": _words(SENSOR_PATTERNS),
}
_NAMES = ("elodin", "x_xy", "openplx", "aerosim", "fmi", "sdf", "frames")
_ROWS = (_ELODIN, _X_XY, _OPENPLX, _AEROSIM, _FMI, _SDF, _FRAMES)


def written(page: str) -> str:
    """Return the page with the present tables."""
    for name, table in tables().items():
        start, end = START.format(name), END.format(name)
        head, _, rest = page.partition(start)
        _, _, tail = rest.partition(end)
        page = f"{head}{start}\n{table}{end}{tail}"
    return page


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
