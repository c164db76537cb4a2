"""The plug-in of test/plugin, where set-up has installed it, and copies of it with a mistake."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from importlib.metadata import Distribution
from pathlib import Path

import pytest

CONVEYOR = "sim-node-conveyor"
# Where set-up has pip install it: off the path, so that only tests that ask for it see it.
SITE = Path(sys.prefix) / "plugins"
SOURCE = Path(__file__).parents[1] / "plugin" / "conveyor"
# A parcel that a belt takes along, free of all other forces, and a gauge on a pallet that sees a reflector.
HALL = """\
world: hall
time: {step: 0.01}
physics: {gravity: [0, 0, 0]}
belts:
  - {name: infeed, pose: {position: [0, 0, 0.8]}, length: 2.0, speed: 0.5, pallets: 4}
sensors:
  - {name: infeed/gauge, parent: infeed/pallet_0, type: reflector, at: {x: 5.0, z: 0.8}, noise: {deviation: 0}}
bodies:
  - {name: parcel, joint: free, geometry: [{box: [0.2, 0.2, 0.2], mass: 2.0}]}
forces:
  - {type: belt_drive, body: parcel, velocity: [0.5, 0, 0], coefficient: 8.0}
"""


def conveyor() -> Distribution:
    """The installed plug-in; fails a test where there is none."""
    found = next(iter(Distribution.discover(name=CONVEYOR, path=[str(SITE)])), None)
    return found or pytest.fail(f"{CONVEYOR} is not in {SITE}: make test installs test/plugin there")


def with_mistake(folder: Path, file: str, old: str, new: str) -> tuple[Path, int]:
    """Lay out a copy of the plug-in below a folder, with one replacement; its path, and the line of that."""
    package = folder / "site" / "conveyor"
    shutil.copytree(SOURCE, package, ignore=shutil.ignore_patterns("__pycache__"))
    text = (package / file).read_text()
    assert text.count(old) == 1, f"{file}: {old!r} stands {text.count(old)} times"
    (package / file).write_text(text.replace(old, new))
    install(folder / "site", conveyor())
    return package / file, text[: text.index(old)].count("\n") + 1


def install(site: Path, of: Distribution) -> None:
    """Have a folder offer what a distribution offers."""
    info = site / f"{of.name.replace('-', '_')}-{of.version}.dist-info"
    info.mkdir()
    for name in ("METADATA", "entry_points.txt"):
        (info / name).write_text(of.read_text(name) or "")


def command(folder: Path, *words: str | Path, site: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run sim_node to its end in a folder. site: a folder of packages that come before the installed ones."""
    return python(folder, "-m", "sim_node.cli.main", *words, site=site)


def python(folder: Path, *words: str | Path, site: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run Python to its end in a folder; see `command`."""
    paths = (str(site or ""), os.environ.get("PYTHONPATH", ""))
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, paths))}
    called = [sys.executable, *map(str, words)]
    return subprocess.run(called, env=environment, capture_output=True, text=True, check=False, cwd=folder)
