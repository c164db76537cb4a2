"""The set-up: what it refuses and how it says so, what it pins, and that `make run` starts afterwards."""

from __future__ import annotations

import ast
import importlib.util
import os
import re
import shutil
import signal
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from types import ModuleType

import pytest
from catkin_pkg.package import parse_package
from importing import imported
from installing import ROOT, run
from processes import program
from waiting import PATIENCE

BOOTSTRAP = ROOT / "tools" / "bootstrap.py"
# What a module is called in package.xml: keys of rosdep's python.yaml, ROS packages as themselves.
KEYS = {
    "numpy": "python3-numpy",
    "numba": "python3-numba",
    "transforms3d": "python3-transforms3d",
    "yaml": "python3-yaml",
    "defusedxml": "python3-defusedxml",
    "tqdm": "python3-tqdm",
    "lark": "python3-lark-parser",
    "scipy": "python3-scipy",
    "serial": "python3-serial",
    "matplotlib": "python3-matplotlib",
    "PIL": "python3-pil",
    "mujoco": "python3-mujoco-pip",
    "pymavlink": "python3-pymavlink-pip",
    "rosbags": "python3-rosbags-pip",
    "trimesh": "python3-trimesh-pip",
    "collada": "python3-collada",
}
# What makes do without, and rosdep does not know.
OPTIONAL = {"egm96", "fastcrc", "pygeomag"} | {"jax", "polars", "typing_extensions"} | {"cmaes", "gymnasium", "ray"}
OPTIONAL |= {"fmpy", "foxglove", "rerun"} | {"shtab", "termcolor"}
OPTIONAL |= {"mcp", "anyio", "pydantic", "starlette", "uvicorn"}
OPTIONAL |= (
    {"ardupilot_msgs", "mavros_msgs", "px4_msgs", "pytest"}
    | {"lz4", "mcap", "pyarrow", "re2", "zstandard"}
    | {"av", "msgspec", "rich", "viser", "websockets"}
)


def loaded(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("bootstrap", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def bootstrap() -> ModuleType:
    return loaded(BOOTSTRAP)


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A clone as far as the set-up looks at it, without .venv."""
    for name in ("Makefile", "setup.py"):
        shutil.copy2(ROOT / name, tmp_path / name)
    for name in ("tools", "requirements", "interfaces"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path


# What it refuses


def test_an_old_interpreter_can_read_it() -> None:
    """Debian 10 has Python 3.7, Ubuntu 18.04 3.6: they must get as far as the message."""
    ast.parse(BOOTSTRAP.read_text(encoding="utf-8"), feature_version=(3, 6))


def test_the_oldest_and_the_newest_python(bootstrap: ModuleType) -> None:
    """CPython 3.10 to 3.14 have wheels of rclpy and numba."""
    versions = [(2, 7), (3, 9, 18), (3, 10, 0), (3, 14, 2), (3, 15, 0), (4, 0)]
    assert [bootstrap.is_suitable(version) for version in versions] == [False, False, True, True, False, False]


def test_rclpy_has_wheels_for_glibc_on_x86_64(bootstrap: ModuleType) -> None:
    bootstrap.require_wheel_platform("linux", "x86_64", ("glibc", "2.28"))
    bootstrap.require_wheel_platform("linux", "x86_64", ("glibc", "2.41"))


@pytest.mark.parametrize(
    ("platform", "words"),
    [
        (("linux", "aarch64", ("glibc", "2.39")), "on aarch64; install ROS 2 Jazzy, source its setup.bash"),
        (("darwin", "arm64", ("", "")), "this is darwin on arm64"),
        (("linux", "x86_64", ("", "")), "glibc alone"),
        (("linux", "x86_64", ("glibc", "2.27")), "glibc 2.28 or newer is needed"),
    ],
    ids=["arm", "mac", "musl", "old"],
)
def test_another_platform_is_reported_what_to_do(bootstrap: ModuleType, platform: tuple[str, ...], words: str) -> None:
    with pytest.raises(bootstrap.Stop, match=re.escape(words)) as reported:
        bootstrap.require_wheel_platform(*platform)
    assert "\n" not in str(reported.value)


def stopped(checkout: Path, python: str, **environment: str) -> str:
    """The one line that a set-up ends with that cannot be done here; it leaves nothing behind."""
    (checkout / "empty").mkdir()
    ran = subprocess.run(
        [python, "tools/bootstrap.py"],
        cwd=checkout,
        env={"PATH": str(checkout / "empty"), **environment},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert ran.returncode == 1
    assert not (checkout / ".venv").exists()
    [line] = ran.stderr.splitlines()
    assert line.startswith("sim_node set-up: ")
    return line


@pytest.mark.skipif("ROS_DISTRO" in os.environ, reason="with a sourced ROS 2 no compiler is needed")
def test_without_a_compiler_it_says_what_to_install(checkout: Path) -> None:
    assert "g++" in stopped(checkout, sys.executable)


def test_a_ros_that_this_python_cannot_import_is_reported(checkout: Path) -> None:
    """Mixing that ROS with wheels would fail much later, and in C."""
    reported = stopped(checkout, sys.executable, ROS_DISTRO="rolling")
    assert "ROS 2 rolling is set up in this shell" in reported
    assert "cannot import its rclpy" in reported


def test_an_old_interpreter_says_which_is_needed(checkout: Path) -> None:
    for minor in (6, 7, 8, 9):
        old = shutil.which(f"python3.{minor}")
        if old and subprocess.call([old, "-c", ""], stderr=subprocess.DEVNULL) == 0:
            executable = subprocess.check_output([old, "-c", "import sys; print(sys.executable)"], text=True).strip()
            assert "Python 3.10 to 3.14 is needed" in stopped(checkout, executable)
            return
    pytest.skip("no Python older than 3.10 is here")


# What it pins


@pytest.mark.parametrize(
    "part", ["uv", "core", "ros", "elodin", "learn", "mcp", "test", "numpy1", "elodin1", "coverage"]
)
def test_every_requirement_is_pinned_with_its_hashes(bootstrap: ModuleType, part: str) -> None:
    wanted = (ROOT / "requirements" / f"{part}.in").read_text(encoding="utf-8")
    names = {bootstrap_name(line) for line in wanted.splitlines() if line and not line.startswith("#")}
    entries = bootstrap.lock_entries(str(ROOT / "requirements" / f"{part}.lock"))
    assert names <= {bootstrap_name(entry) for entry in entries}
    assert all(re.match(r"[\w.-]+==[\w.]+", entry) and "--hash=sha256:" in entry for entry in entries)


def bootstrap_name(requirement: str) -> str:
    """The name of a distribution as PEP 503 normalises it."""
    name = re.match(r"[\w.-]+", requirement)
    assert name is not None
    return re.sub(r"[-_.]+", "-", name[0]).lower()


def test_locks_agree_with_each_other(bootstrap: ModuleType) -> None:
    """Otherwise the part that is installed last would win."""
    pinned: dict[str, str] = {}
    for part in ("core", "ros", "elodin", "learn", "mcp", "test"):
        for entry in bootstrap.lock_entries(str(ROOT / "requirements" / f"{part}.lock")):
            requirement = entry.splitlines()[0].rstrip(" \\")
            name, _, rest = requirement.partition("==")
            _, _, marker = rest.partition(" ; ")
            assert pinned.setdefault(f"{name} {marker}", requirement) == requirement


def test_core_pins_what_the_package_requires() -> None:
    required = metadata.requires("sim_node") or []
    core = (ROOT / "requirements" / "core.in").read_text(encoding="utf-8")
    assert {bootstrap_name(line) for line in required if "extra ==" not in line} <= {
        bootstrap_name(line) for line in core.splitlines() if not line.startswith("#")
    }


@pytest.mark.parametrize(
    ("there", "kept", "old_jax"), [("1.26.4", True, True), ("2.3.0", True, False), ("1.21.5", False, True)]
)
def test_a_sourced_ros_keeps_its_numpy(checkout: Path, there: str, kept: bool, old_jax: bool) -> None:
    """Ubuntu 24.04 has numpy 1.26.4 for Jazzy; 22.04 has 1.21.5 for Humble, which numba cannot use.

    JAX needs numpy 2 from 0.7 on.
    """
    (checkout / "numpy.py").write_text(f"__version__ = {there!r}\n", encoding="utf-8")
    python = checkout / ".venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text(f'#!/bin/sh\nPYTHONPATH="{checkout}" exec {sys.executable} "$@"\n', encoding="utf-8")
    python.chmod(0o755)
    copy = loaded(checkout / "tools" / "bootstrap.py")
    [lock] = copy.with_numpy_of_ros(["core", "elodin"])
    entries = copy.lock_entries(lock)
    numpys = [entry.split()[0] for entry in entries if entry.startswith("numpy==")]
    assert numpys == ([] if kept else ["numpy==1.26.4"])
    assert any(entry.startswith("transforms3d==") for entry in entries)
    jaxes = {entry.split()[0] for entry in entries if entry.startswith("jax==")}
    assert (jaxes == {"jax==0.6.2"}) is old_jax


# package.xml


# Takes seconds: make test has the requirements of the package in test/test_packages.py.
@pytest.mark.nightly
def test_package_xml_names_what_is_imported() -> None:
    package = parse_package(str(ROOT / "package.xml"))
    warnings: list[str] = []
    package.validate(warnings)
    assert not warnings
    assert package.package_format == 3
    assert package.version == metadata.version("sim_node")
    assert [export.content for export in package.exports if export.tagname == "build_type"] == ["ament_python"]

    named = {dependency.name for dependency in package.exec_depends}
    assert {"rviz2", "tf2_ros_py"} <= named, "started or imported by launch files and users, not by the package"
    assert {"rclpy", "tf2_ros", "tf2_msgs", "geometry_msgs", "sensor_msgs", "python3-numpy"} <= named
    missing = {KEYS.get(module, module) for module in imported(ROOT / "sim_node") - OPTIONAL} - named
    assert not missing


# make


def test_make_run_passes_on_the_world_and_the_arguments() -> None:
    words = ["make", "--no-print-directory", "-n", "run", "WORLD=my worlds/yard.yaml", "ARGS=--duration 3 --seed 7"]
    command = 'exec .venv/bin/sim_node run "my worlds/yard.yaml" '
    assert run(words, cwd=ROOT).splitlines()[-1] == command + "--view --duration 3 --seed 7"
    for mine in ("--no-view", "--view 8090", "--view=8090"):
        assert run([*words[:-1], f"ARGS={mine}"], cwd=ROOT).splitlines()[-1] == command + " " + mine


def test_a_venv_of_another_folder_or_another_ros_is_made_anew(checkout: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if name not in ("ROS_DISTRO", "MAKEFLAGS")}

    def is_ready(**more: str) -> bool:
        return subprocess.call(["make", "-q", "setup"], cwd=checkout, env={**environment, **more}) == 0

    assert not is_ready()
    (checkout / ".venv").mkdir()
    made_for = checkout / ".venv" / ".made-for"
    made_for.write_text(f"{checkout}\n", encoding="utf-8")
    (checkout / ".venv" / ".ready").touch()
    assert is_ready()
    assert not is_ready(ROS_DISTRO="jazzy")
    made_for.write_text(f"{checkout} jazzy\n", encoding="utf-8")
    assert is_ready(ROS_DISTRO="jazzy")
    assert not is_ready()
    made_for.write_text("/home/me/elsewhere\n", encoding="utf-8")
    assert not is_ready()


@pytest.mark.usefixtures("ros_domain")
def test_make_run_starts_and_ends_quietly_on_ctrl_c() -> None:
    if subprocess.call(["make", "-q", "setup"], cwd=ROOT) != 0:
        pytest.skip("`make setup` has something to do first")
    # Also below a `make test ARGS=...`, whose variables are not for this one.
    with program(["make", "-C", ROOT, "run", "WORLD=orbit", "ARGS="], MAKEFLAGS="", MAKEOVERRIDES="") as running:
        running.wait_for("Ctrl-C")
        os.killpg(running.process.pid, signal.SIGINT)
        running.wait()
        assert "Traceback" not in running.output
        assert "Error" not in running.output
