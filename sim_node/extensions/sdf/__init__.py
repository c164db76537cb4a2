"""Worlds and models from SDFormat, Gazebo's format (sdformat.org)."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from sim_node.formats.urdf_files import URDF_KEYS, packages_of
from sim_node.formats.xml_roots import XmlFile, xml_reader
from sim_node.world.locate import manifest
from sim_node.world.model import World
from sim_node.world.quantities import OrNone, Word
from sim_node.world.readers.files import Roots
from sim_node.world.readers.keys import Keys
from sim_node.world.readers.registry import reader
from sim_node.world.readers.report import Report
from sim_node.world.readers.unread import mark
from sim_node.world.readers.yaml_include import include_reader
from sim_node.world.readers.yaml_section import Context
from sim_node.world.readers.yaml_values import Table
from sim_node.world.vehicles import Autopilot, Multirotor, Pilot

__all__ = ["read_sdf"]


@manifest("model.config")
def model_in(folder: Path) -> Path:
    """Return the model file of a folder with a model.config. Raises LocateError."""
    from sim_node.extensions.sdf.uris import model_file

    return model_file(folder, Report(str(folder)))


FLOWN = {"pilot": OrNone(Pilot), "autopilot": OrNone(Autopilot)}
ABOUT = {"pilot": "What flies the model of an SDF file.", "autopilot": "The autopilot of the model of an SDF file."}
SUFFIXES = (".sdf", ".world")
TOPICS = Word(("ours", "gazebo"))
SDF_KEYS = Keys(
    {
        **{key: form.form(ABOUT[key]) for key, form in FLOWN.items()},
        "packages": URDF_KEYS["packages"],
        "topics": TOPICS.form("Who names the topics of an SDF file's sensors."),
    }
)


@reader(*SUFFIXES)
def read_sdf(path: Path, shown: Path, roots: Roots, report: Report, including: tuple[Path, ...] = ()) -> World | None:
    """Return the world of an SDF file: its first world, or a world around its model.

    Args:
        path: The file.
        shown: The path in messages.
        roots: The folders that it may refer to.
        report: Where faults are recorded.
        including: The files that include this one.

    Returns:
        The world, or None with the faults in `report`.
    """
    # Imported here, so that other worlds are read without loading it.
    from sim_node.extensions.sdf.reader import read_world

    return read_world(path, shown, roots, report, included=bool(including))


@xml_reader("sdf")
def read_sdf_xml(file: XmlFile) -> World | None:
    """Return the world of SDF content in a file with another suffix, or in a string."""
    mark(file.root)
    file.report.roots.remove(file.root)
    return read_sdf(file.path, file.shown, file.roots, file.report)


@include_reader(*SUFFIXES, keys=SDF_KEYS)
def read_included(path: Path, shown: Path, report: Report, table: Table, context: Context) -> World | None:
    """Return the world of an included SDF file, with the settings of the include applied."""
    from sim_node.extensions.sdf.elements import NAMER

    topics, roots, packages = table.get("topics"), context.roots.around(path), table.get("packages")
    roots = replace(roots, packages={**roots.packages, **packages_of(packages, context)})
    token = NAMER.set(NAMER.get() if topics is None else TOPICS.read(topics, context) or NAMER.get())
    try:
        world = read_sdf(path, shown, roots, report, context.including)
    finally:
        NAMER.reset(token)
    errors = len(report.errors)
    given = {key: form.read(value, context) for key, form in FLOWN.items() if (value := table.get(key)) is not None}
    if world is None or not given or len(report.errors) > errors:
        return world
    if len(world.vehicles) != 1:
        table.value.error(f"{', '.join(given)}: needs one model that flies in {path.name}, found {len(world.vehicles)}")
        return world
    # The rotors of a vehicle with an autopilot or a pilot have no command topics.
    return replace(world, vehicles=(_flown(world.vehicles[0], given),), vehicle_commands=())


def _flown(vehicle: Multirotor, given: dict[str, Any]) -> Multirotor:
    """Return a vehicle flown by the pilot and autopilot of its include instead of the autopilot in its file."""
    own, wanted = vehicle.autopilot, given.get("autopilot")
    if own is None or wanted is None or own.type != wanted.type:
        return replace(vehicle, **{"autopilot": None, **given}, servos=())
    default = Autopilot(own.type)
    kept = {key: getattr(own, key) for key in ("channels", "pulses") if getattr(wanted, key) == getattr(default, key)}
    return replace(vehicle, **{**given, "autopilot": replace(wanted, **kept)})
