"""What a release is made of: one version, extras that add up, archives without gaps, no address forgotten."""

from __future__ import annotations

import importlib.util
import re
import subprocess
from importlib import metadata
from pathlib import Path

import pytest
import yaml
from importing import imported
from packaging.requirements import Requirement
from test_setup import bootstrap_name

ROOT = Path(__file__).parents[2]
PLACEHOLDER = re.compile(r"github\.com/sim-node/sim_node|maintainers@sim-node\.example")
PAGE = ROOT / "docs" / "releasing.md"
EXTRAS = ROOT / "docs" / "installation.md"


def tracked() -> list[Path]:
    names = subprocess.check_output(["git", "ls-files", "-z"], cwd=ROOT, text=True).split("\0")
    return [ROOT / name for name in names if name]


def test_the_version_stands_in_one_place() -> None:
    version = re.escape(metadata.version("sim_node"))
    stating = re.compile(rf"version\W+{version}\b", re.IGNORECASE)
    files = ("package.xml", "setup.py", "pyproject.toml", "CITATION.cff", "sim_node/__init__.py", "Dockerfile")
    assert [name for name in files if stating.search((ROOT / name).read_text(encoding="utf-8"))] == ["package.xml"]


def needs(extra: str) -> set[str]:
    """What an extra installs, beside what the package itself needs."""
    found = (Requirement(line) for line in metadata.requires("sim_node") or [])
    return {
        f"{bootstrap_name(each.name)}{each.specifier}"
        for each in found
        if each.marker is not None and f'extra == "{extra}"' in str(each.marker)
    }


def test_all_is_the_sum_of_the_extras() -> None:
    extras = set(metadata.metadata("sim_node").get_all("Provides-Extra") or [])
    parts = extras - {"all", "ros"}
    assert needs("all") == set().union(*map(needs, parts))
    table = EXTRAS.read_text(encoding="utf-8").partition("## Extras")[2].partition("## ")[0]
    rows = [row.split("|")[1] for row in table.splitlines() if row.startswith("| `")]
    assert {name for row in rows for name in re.findall(r"`(\w+)`", row)} == extras


def test_every_package_that_ros_needs_is_in_the_extra() -> None:
    """requirements/ros.in has it too, for make setup, with what building tf2_msgs takes."""
    pins = (ROOT / "requirements" / "ros.in").read_text(encoding="utf-8")
    wanted = {re.sub(r"\[.*\]", "", line) for line in pins.splitlines() if not line.startswith("#")}
    assert {re.sub("^cmake.*", "cmake", line) for line in needs("ros")} == wanted


def test_placeholders_are_listed() -> None:
    found: dict[str, set[str]] = {}
    for path in tracked():
        name = str(path.relative_to(ROOT))
        if path.suffix in (".png", ".npz", ".bin", ".tlog", ".svg") or path in (PAGE, Path(__file__)):
            continue
        for address in PLACEHOLDER.findall(path.read_text(encoding="utf-8", errors="replace")):
            found.setdefault(address, set()).add(name)
    rows = re.findall(r"^\| `([^`]+)` \| [^|]+ \| ([^|]+) \|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert {address: set(files.split(", ")) for address, files in rows} == found


def test_the_citation_can_be_read() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert {"cff-version", "title", "message", "authors"} <= citation.keys(), "the format's required keys"
    assert citation["license"] == metadata.metadata("sim_node")["License"]


def test_bags_belong_to_the_core() -> None:
    """What the room imports comes with the packages that an installation without extras has, or is an option."""
    options = {"matplotlib", "polars", "pyarrow"}
    lines = [Requirement(line) for line in metadata.requires("sim_node") or ()]
    wanted = {each.name.lower() for each in lines if each.marker is None or "extra" not in str(each.marker)}
    installed: set[str] = set()
    while wanted:
        name = wanted.pop()
        installed.add(name)
        required = (Requirement(line) for line in metadata.requires(name) or ())
        plain = (each for each in required if each.marker is None or each.marker.evaluate({"extra": ""}))
        wanted |= {each.name.lower() for each in plain} - installed
    by_module = metadata.packages_distributions()
    for module in imported(ROOT / "sim_node" / "recording") - options - {"sim_node"}:
        assert installed & {name.lower() for name in by_module[module]}, module


def test_every_file_of_a_package_is_in_the_wheel(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    importlib.import_module("setuptools")  # It brings distutils, on each Python.
    distribution = importlib.import_module("distutils.core").run_setup("setup.py", stop_after="init")
    build = distribution.get_command_obj("build_py")
    build.ensure_finalized()
    packed = {ROOT / folder / name for _, folder, _, names in build.data_files for name in names}
    packed |= {ROOT / file for _, _, file in build.find_all_modules()}
    assert {path for path in tracked() if path.is_relative_to(ROOT / "sim_node")} <= packed


def test_every_entry_point_is_a_module_or_an_object() -> None:
    """Entry points in setup.py name modules by text, which a move of a module does not change."""
    points = [point for point in metadata.distribution("sim_node").entry_points if point.group != "console_scripts"]
    assert {point.group for point in points} >= {"sim_node.readers", "sim_node.commands", "sim_node.registries"}
    for point in points:
        assert importlib.util.find_spec(point.module) is not None, point
        # Those for scenario-execution import it, and nobody else looks for them.
        assert not point.attr or point.group.startswith("scenario_execution.") or point.load() is not None


@pytest.mark.peers
def test_make_dist(tmp_path: Path) -> None:
    """check-manifest, build and twine, each in its own right; then the wheel in an environment of its own."""
    copy = tmp_path / "sim_node"
    subprocess.run(["git", "clone", "-q", str(ROOT), str(copy)], check=True)
    subprocess.run(["make", "dist"], cwd=copy, check=True)
    wheel, sdist = sorted((copy / "dist").iterdir(), key=lambda path: path.suffix, reverse=True)
    assert (wheel.suffix, sdist.suffixes[-2:]) == (".whl", [".tar", ".gz"])
    python = tmp_path / "env" / "bin" / "python"
    subprocess.run(["python3", "-m", "venv", str(tmp_path / "env")], check=True)
    subprocess.run([python, "-m", "pip", "install", "-q", str(wheel)], check=True)
    command = python.parent / "sim_node"
    assert metadata.version("sim_node") in subprocess.check_output([command, "--version"], text=True)
    made = ["check", "orbit"], ["worlds"], ["new", "plugin", "kite"], ["schema", "-o", "world.json"], ["tree", "orbit"]
    recorded = ["run", "orbit", "--no-ros", "--duration", "1", "--speed", "max", "--record", "bag"]
    for words in (*made, recorded, ["info", "bag"], ["tree", "bag"], ["lookup", "bag", "map", "drone/base_link"]):
        subprocess.run([command, *words], cwd=tmp_path, check=True)
