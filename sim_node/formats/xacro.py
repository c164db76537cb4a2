"""Xacro files: URDF with macros, expanded by ROS's own xacro where that is installed."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path

from sim_node.packages import missing_message
from sim_node.world.problems import quoted_path
from sim_node.world.readers.files import Roots

# A process of its own: xacro keeps its state in globals, and a file with an endless macro must end, too.
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


def expanded(path: Path, arguments: Mapping[str, str], roots: Roots) -> tuple[str, list[Path]]:
    """Return the URDF text of a xacro file, and the files that it includes.

    Args:
        path: The file.
        arguments: Values of its arguments by name.
        roots: What it may include: files in these folders, and in installed packages, which it finds by $(find).

    Raises:
        ValueError: Xacro is not installed or reports a fault, or an included file lies elsewhere.
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
