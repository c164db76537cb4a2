"""URDF source files: xacro is expanded first, and an include may specify the locations of packages."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping as AnyMapping
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from sim_node.formats.xml_roots import world_of_text
from sim_node.packages import missing_message
from sim_node.world.locate import LocateError
from sim_node.world.model import World
from sim_node.world.models import Model
from sim_node.world.problems import quoted_path
from sim_node.world.readers.files import Roots, is_folder, read_text
from sim_node.world.readers.keys import Keys, by_name, either, flag, number, text, word
from sim_node.world.readers.registry import reader
from sim_node.world.readers.report import Report
from sim_node.world.readers.yaml_include import include_reader
from sim_node.world.readers.yaml_nodes import Mapping, Scalar
from sim_node.world.readers.yaml_section import Context
from sim_node.world.readers.yaml_values import Table, Value, boolean

XACRO = ".xacro"
URDF_KEYS = Keys(
    {
        "balance_inertia": flag("Whether inertias of URDF links that no body has are replaced by their mean."),
        "packages": by_name("Folders of packages and models that a file refers to.", text("A folder.")),
        "arguments": by_name(
            "Values of a xacro file's arguments.", either("", text(""), number(""), word("", True, False))
        ),
    }
)

# Timeout of a separate process: xacro keeps state in globals, and a file with an endless macro must not hang.
TIMEOUT_S = 60.0
_PROGRAM = """
import json, sys, types
import xacro
from sim_node.world.locate import share

path, arguments, packages = sys.argv[1], *map(json.loads, sys.argv[2:])

def find(name):
    folder = packages.get(name) or share(name)
    if folder is None:
        raise LookupError(f"no package {name!r} is installed")
    return str(folder)

# What $(find) asks; it knows no table, and is not there without a ROS 2.
found = types.ModuleType("ament_index_python.packages")
found.get_package_share_directory = find
sys.modules.update({"ament_index_python": types.ModuleType("ament_index_python"), found.__name__: found})
document = xacro.process_file(path, mappings=arguments)
json.dump([document.toxml(), sorted(set(xacro.all_includes))], sys.stdout)
"""


@reader(XACRO)
def read_xacro(path: Path, shown: Path, roots: Roots, report: Report, including: tuple[Path, ...] = ()) -> World | None:
    """Return the world of a xacro file. If it is invalid, report the errors and return None."""
    return _read(path, shown, roots, report, {}, None)


@include_reader(".urdf", XACRO, keys=URDF_KEYS)
def read_included(path: Path, shown: Path, report: Report, table: Table, context: Context) -> World | None:
    """Return the world of an included URDF or xacro file, with the keys of the include."""
    errors = len(report.errors)
    packages = packages_of(table.get("packages"), context)
    arguments = _texts(table.get("arguments"))
    if arguments and path.suffix.lower() != XACRO and (value := table.get("arguments")) is not None:
        value.error(f"applies only to {XACRO} files")
    balance = boolean(table, "balance_inertia", True) if "balance_inertia" in table else None
    if len(report.errors) > errors:
        return None
    roots = context.roots.around(path)
    roots = replace(roots, packages={**roots.packages, **packages})
    world = _read(path, shown, roots, report, arguments, balance)
    keys: dict[str, Any] = {
        **({} if balance is None else {"balance_inertia": balance}),
        **({"packages": {name: str(folder) for name, folder in packages.items()}} if packages else {}),
        **({"arguments": arguments} if arguments else {}),
    }
    if world is None or not keys:
        return world
    return replace(world, models=tuple(replace(model, read_with=keys) for model in world.of(Model)))


def _read(
    path: Path, shown: Path, roots: Roots, report: Report, arguments: AnyMapping[str, str], balance: bool | None
) -> World | None:
    before = len(report.read)
    content = read_text(path, report)
    if content is None:
        return None
    if path.suffix.lower() == XACRO:
        try:
            content, files = expanded(path, arguments, roots)
        except ValueError as error:
            report.error(str(error))
            return None
        report.read.extend(files)
        # Locations refer to xacro's output for the file.
        report = report.about(f"{shown} (expanded)")
    return world_of_text(content, path, shown, roots, report, before, balance_inertia=balance)


def packages_of(value: Value | None, context: Context) -> dict[str, Path]:
    """Read a table of packages: their folders, relative to the world file."""
    folders: dict[str, Path] = {}
    for name, each in _entries(value):
        given = each.text_or_none()
        if given is None:
            continue
        try:
            folder = context.roots.path_of(given, context.path)
        except LocateError as error:
            each.error(str(error))
            continue
        if is_folder(folder):
            folders[name] = folder.resolve()
        else:
            each.error(f"no folder {given!r} beside {context.path.name}")
    return folders


def _texts(value: Value | None) -> dict[str, str]:
    """Read a mapping of names to strings, numbers or booleans, as accepted by xacro."""
    found = {}
    for name, each in _entries(value):
        if isinstance(each.node, Scalar):
            found[name] = each.node.text
        else:
            each.error(f"a text or a number is needed, found {each.found()}")
    return found


def _entries(value: Value | None) -> list[tuple[str, Value]]:
    if value is None:
        return []
    if not isinstance(value.node, Mapping):
        value.error(f"a mapping is needed, found {value.found()}")
        return []
    return [(name, Value(node, value.report, name, value)) for name, (_, node) in value.node.entries.items()]


def expanded(path: Path, arguments: AnyMapping[str, str], roots: Roots) -> tuple[str, list[Path]]:
    """Return the URDF text of a xacro file, and the files that it includes.

    Args:
        path: The file.
        arguments: Values of its arguments by name.
        roots: The folders that it may include files from, in addition to installed packages, which $(find) locates.

    Raises:
        ValueError: Xacro is not installed or reports an error, or an included file is elsewhere.
    """
    if find_spec("xacro") is None:
        raise ValueError(f"this is a xacro file, and {missing_message('xacro')}")
    packages = {name: str(folder) for name, folder in roots.packages.items()}
    command = [sys.executable, "-c", _PROGRAM, str(path.resolve()), json.dumps(dict(arguments)), json.dumps(packages)]
    try:
        done = subprocess.run(command, capture_output=True, timeout=TIMEOUT_S, check=False)
    except subprocess.TimeoutExpired:
        raise ValueError(f"xacro does not come to an end within {TIMEOUT_S:g} s") from None
    if done.returncode != 0:
        raise ValueError(f"xacro: {_reason(done.stderr.decode(errors='replace'))}")
    text, included = json.loads(done.stdout)
    files = [Path(name) for name in included]
    for file in files:
        if not roots.allows(file):
            raise ValueError(
                f"it includes {quoted_path(str(file))}, outside the world's folder (--allow DIR allows it)"
            )
    return text, files


def _reason(stderr: str) -> str:
    """Return the last line of a traceback, without the type of the exception."""
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    last = lines[-1] if lines else "it failed without a message"
    head, colon, rest = last.partition(": ")
    return rest if colon and " " not in head else last
