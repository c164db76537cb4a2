"""The core without its extensions: all taken away at once, and each alone."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from waiting import PATIENCE

import sim_node

ROOT = Path(sim_node.__file__).parent
EXTENSIONS = sorted(path.parent.name for path in ROOT.glob("extensions/*/__init__.py"))
# Rooms of the core, whose tests need no extension.
TESTS = ("assembly", "control", "frames", "geometry", "physics", "sensors", "simulation", "tree", "wire")

# First what is used, so that it imports what it needs by itself.
USE_AND_IMPORT_ALL = """
import importlib, pkgutil
from sim_node.cli.main import main
for words, expected in {orders}:
    code = main(words)
    assert code == expected, (words, code)
import sim_node
for found in pkgutil.walk_packages(sim_node.__path__, "sim_node.", lambda name: None):
    if not found.name.startswith(("sim_node.extensions", "sim_node.__main__")):
        try:
            importlib.import_module(found.name)
        except ModuleNotFoundError as missing:
            if missing.name not in ("ardupilot_msgs", "mavros_msgs", "px4_msgs"):  # `sim_node build` makes them
                raise
"""

# Of the installed package: what it needs is in messages, and where it adds to registries.
PRINT_METADATA = """
import importlib.metadata, json
found = importlib.metadata.distribution("sim_node")
print(json.dumps([found.read_text(name) for name in ("METADATA", "entry_points.txt")]))
"""


def without(tmp_path: Path, *gone: str) -> dict[str, str]:
    """Return the environment of a tree without some extensions, and without their entry points."""
    shutil.copytree(ROOT, tmp_path / "sim_node", copy_function=os.link)  # with compiled kernels
    for name in ("config", "package.xml"):
        (tmp_path / name).symlink_to(ROOT.parent / name)
    for name in gone:
        shutil.rmtree(tmp_path / "sim_node" / "extensions" / name)
    metadata = tmp_path / "sim_node-0.1.0.dist-info"
    metadata.mkdir()
    about, entries = json.loads(subprocess.check_output([sys.executable, "-c", PRINT_METADATA], text=True))
    (metadata / "METADATA").write_text(about)
    kept = [line for line in entries.splitlines() if not any(f".extensions.{name}" in line for name in gone)]
    (metadata / "entry_points.txt").write_text("\n".join(kept))
    return {**os.environ, "PYTHONPATH": str(tmp_path)}


def test_every_room_of_the_core_is_imported_and_used_without_any_extension(tmp_path: Path) -> None:
    bag = str(tmp_path / "bag")
    orders = [
        (["check", "quadrotor", "lidar_room", "arm"], 0),
        (["run", "quadrotor", "--no-ros", "--speed", "max", "--duration", "0.2", "--record", bag], 0),
        (["info", bag], 0),
        (["doctor"], 0),
        (["check", "a.openplx"], 2),
    ]
    done = subprocess.run(
        [sys.executable, "-c", USE_AND_IMPORT_ALL.format(orders=orders)],
        env=without(tmp_path, *EXTENSIONS),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert done.returncode == 0, done.stderr
    assert "quadrotor: valid" in done.stdout
    assert "plug-ins" not in done.stdout, "the shipped entry points of extensions are not those of others"
    assert "Traceback" not in done.stderr


@pytest.mark.nightly
@pytest.mark.parametrize("name", [*EXTENSIONS, "all"])
def test_the_tests_of_the_core_pass_without_an_extension(name: str, tmp_path: Path) -> None:
    environment = without(tmp_path, *(EXTENSIONS if name == "all" else [name]))
    folders = [str(ROOT.parent / "test" / folder) for folder in TESTS]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-x", "-n", "2", *folders], env=environment, cwd=ROOT.parent, check=False
    )
    assert done.returncode == 0
