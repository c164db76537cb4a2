"""The definitions that `make simulation-interfaces` builds: those of the standard, and all of them."""

from __future__ import annotations

import hashlib
import importlib
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
# Of the tag 1.5.1 of ros-simulation/simulation_interfaces: its files sorted by path, each after a line `## msg/Name`,
# without comments and empty lines, single spaces between words and none around `=`.
STANDARD = "f45647b23fc3aa8edd27f629123bc22dbd1d8e8b6c4d7e13db462c9d829d541c"


@pytest.fixture
def tool(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    return importlib.import_module("build_simulation_interfaces")


def test_they_are_those_of_the_standard(tool: Any) -> None:
    found = tool.definitions()
    digest = hashlib.sha256()
    for name in sorted(found, key=lambda name: f"{name}.{name.partition('/')[0]}"):
        digest.update(f"## {name}\n{found[name]}".encode())
    assert len(found) == 38
    assert digest.hexdigest() == STANDARD


def test_each_becomes_a_file(tool: Any, tmp_path: Path) -> None:
    tool.lay_out(str(tmp_path / "source"))
    files = {path.relative_to(tmp_path / "source").as_posix() for path in (tmp_path / "source").rglob("*.*")}
    assert {
        "CMakeLists.txt",
        "package.xml",
        "msg/Bounds.msg",
        "srv/GetEntities.srv",
        "action/SimulateSteps.action",
    } <= files
    assert (tmp_path / "source/srv/StepSimulation.srv").read_text() == "uint64 steps 1\n---\nResult result\n"
