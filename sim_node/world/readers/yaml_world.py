"""World files in YAML: the sections of one file, one after the other."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

# Registers the sections; they are read in this order, whatever the order in the file.
from sim_node.world.readers import yaml_frames, yaml_include, yaml_motions  # isort: skip  # noqa: F401
from sim_node.world.model import World
from sim_node.world.names import enclosing
from sim_node.world.problems import Problem, Where, WorldError
from sim_node.world.readers.files import Roots
from sim_node.world.readers.registry import reader
from sim_node.world.readers.yaml_nodes import compose
from sim_node.world.readers.yaml_section import SECTIONS, Context
from sim_node.world.readers.yaml_values import Report, Value

LARGEST = 256 * 1024 * 1024


@reader(".yaml", ".yml")
def read_yaml(path: Path, shown: Path, roots: Roots, report: Report, including: tuple[Path, ...] = ()) -> World | None:
    """The world of one YAML file, or None with the faults in `report`."""

    def refuse(message: str) -> None:
        report.errors.append(Problem(Where(str(shown)), "", message))

    try:
        if path.stat().st_size > LARGEST:
            refuse(f"is larger than {LARGEST // 1024**2} MB")
            return None
        data = path.read_bytes()
        root = compose(data.decode("utf-8-sig"), str(shown))
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        column = error.start - data.rfind(b"\n", 0, error.start)
        where = Where(str(shown), line, column)
        report.errors.append(Problem(where, "", f"not UTF-8: byte 0x{data[error.start]:02x}"))
        return None
    except OSError as error:
        refuse(f"cannot be read: {error.strerror}")
        return None
    except WorldError as error:
        report.errors.extend(error.problems)
        return None
    if root is None:
        refuse("is empty; a world has at least frames or motions")
        return None
    local = Report(str(shown), report.errors, report.warnings)
    context = Context(path, shown, roots, local, (*including, path.resolve()))
    table = Value(root, local).table(tuple(SECTIONS))
    for key, read in SECTIONS.items():
        value = table.get(key)
        if value is not None:
            read(value, context)
    return with_default_parents(context.world())


def with_default_parents(world: World) -> World:
    """Every frame without a parent gets the frame that its name lies below, else the fixed frame."""
    known = {frame.name for frame in (*world.frames, *world.sensors)} | {m.frame for m in world.motions}

    def parent(name: str) -> str:
        return next((above for above in enclosing(name) if above in known), world.fixed_frame)

    return replace(
        world,
        frames=tuple(f if f.parent else replace(f, parent=parent(f.name)) for f in world.frames),
        motions=tuple(m if m.parent else replace(m, parent=parent(m.frame)) for m in world.motions),
    )
