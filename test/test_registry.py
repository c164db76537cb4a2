"""Registries: an explicit order, one entry per name, copies, and entries of other packages."""

from __future__ import annotations

import itertools
import os
import pickle
import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from nightly import only

import sim_node
from sim_node.cli.doctor import groups, registries_of
from sim_node.plugins import PluginWarning
from sim_node.registry import Registry

FORCES = ("forces", "vehicles", "actuators")
# A stone that sinks through water in the wind, pushed, with a rotor: force elements whose sums depend on their order.
RUN = """
import hashlib, importlib, pickle, sys
for module in {modules!r}:
    importlib.import_module("sim_node.simulation.physics." + module)
from sim_node.simulation import Simulation
from sim_node.world import load
simulation = Simulation(load({world!r}), seed=3)
state = sys.stdin.buffer.read()
if state:
    simulation.restore(pickle.loads(state))
else:
    simulation.step(40)
saved = pickle.dumps(simulation.state)
simulation.step(40)
print(hashlib.sha256(simulation.snapshot().poses.tobytes()).hexdigest(), saved.hex())
"""
WORLD = """\
world: sinking
time: {step: 0.01}
bodies:
  - name: stone
    joint: free
    pose: {position: [0.1, 0.2, -0.3], rpy_deg: [10, 20, 30]}
    geometry: [{box: [0.31, 0.17, 0.23], mass: 13.7}]
vehicles:
  - name: stone
    body: stone
    drag: {linear: [0.13, 0.11, 0.17], quadratic: [0.7, 0.3, 0.9]}
    rotors: [{position: [0.1, 0, 0.1], spin: ccw, thrust_coefficient: 1.0e-5, moment_coefficient: 0.01, max_speed: 900}]
forces:
  - {type: wind, velocity: [3.1, 1.7, 0.3], gusts: {intensity: 0.7, scale_length: 11.0}}
  - {type: drag, body: stone, linear: 0.37, quadratic: [1.1, 0.7, 0.9]}
  - {type: constant, body: stone, force: [0.3, 0.1, 7.7], point: [0.1, 0.03, 0.07]}
  - {type: buoyancy, body: stone, volume: 0.0121, height: 0.23, density: 1025.0, surface: 0.1}
"""


def run(modules: tuple[str, ...], world: Path, state: bytes = b"") -> tuple[str, bytes]:
    code = RUN.format(modules=modules, world=str(world))
    done = subprocess.run([sys.executable, "-c", code], input=state, capture_output=True, check=True)
    digest, saved = done.stdout.decode().split()
    return digest, bytes.fromhex(saved)


@pytest.mark.nightly
def test_results_do_not_depend_on_the_order_of_imports(tmp_path: Path) -> None:
    world = tmp_path / "sinking.yaml"
    world.write_text(WORLD)
    runs = [run(order, world) for order in itertools.islice(itertools.permutations(FORCES), 0, 6, 2)]
    assert len({digest for digest, _ in runs}) == 1


# Takes seconds: make test has states that are pickled in test/simulation/test_simulation.py, and plug-ins that are
# found.
@pytest.mark.nightly
def test_a_pickled_state_is_restored_in_a_process_that_imported_in_another_order(tmp_path: Path) -> None:
    world = tmp_path / "sinking.yaml"
    world.write_text(WORLD)
    digest, saved = run(FORCES, world)
    assert run(FORCES[::-1], world, saved)[0] == digest
    assert pickle.loads(saved).columns["qpos"].size


def letters() -> Registry[str, int]:
    registry: Registry[str, int] = Registry("letter")
    registry.add("b", module="m")(2)
    registry.add("a", module="m")(1)
    return registry


def test_within_a_module_entries_keep_the_order_of_the_file() -> None:
    assert list(letters().items()) == [("b", 2), ("a", 1)]


def test_a_name_that_is_taken_is_refused_and_both_modules_are_named() -> None:
    registry = letters()
    with pytest.raises(ValueError, match=r"letter 'a': both m and other"):
        registry.add("c", "a", module="other")(3)
    assert list(registry) == ["b", "a"]


def test_a_copy_is_isolated() -> None:
    registry = letters()
    copied = registry.copy()
    copied.add("c")(3)
    assert list(copied) == ["b", "a", "c"]
    assert list(registry) == ["b", "a"]


def test_an_extension_ends_with_its_block() -> None:
    registry = letters()
    with registry.extended({"c": 3}):
        assert registry["c"] == 3
        registry.add("d")(4)
    assert list(registry) == ["b", "a"]


def test_an_extension_with_a_name_that_is_taken_leaves_nothing_behind() -> None:
    registry = letters()
    with pytest.raises(ValueError, match="letter 'a': both m and"), registry.extended({"c": 3, "a": 4}):
        pass
    assert dict(registry) == {"b": 2, "a": 1}


# Packages of other people, on the path of a process of their own


def package(folder: Path, name: str, code: str, points: dict[str, str]) -> None:
    """An installed distribution, as pip lays it out."""
    (folder / f"{name}.py").write_text(code)
    info = folder / f"{name}-1.2.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.2\n")
    lines = [f"[{group}]\n{point} = {name}\n" for group, point in points.items()]
    (info / "entry_points.txt").write_text("\n".join(lines))


def python(code: str, path: Path) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, (str(path), os.environ.get("PYTHONPATH"))))}
    return subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)


SENSOR = "from sim_node.simulation.sensors import sensor, SensorType\n@sensor({name!r})\nclass Its(SensorType): ...\n"
LISTED = "from sim_node.simulation.sensors import SENSORS\nprint(*SENSORS)\nprint(*SENSORS.plugins(), sep='\\n')"


def test_entries_of_other_packages_come_after_the_shipped_ones_by_package_name(tmp_path: Path) -> None:
    package(tmp_path, "zebra", SENSOR.format(name="stripes"), {"sim_node.sensors": "zebra"})
    package(tmp_path, "aardvark", SENSOR.format(name="tongue"), {"sim_node.sensors": "aardvark"})
    for first in ("", "import zebra\n", "import sim_node.simulation.sensors.rangefinder\n"):
        done = python(first + LISTED, tmp_path)
        names = done.stdout.splitlines()[0].split()
        assert names[0] == "airspeed", done.stderr
        assert names[-2:] == ["tongue", "stripes"]
    assert "zebra 1.2 (sim_node.sensors: zebra = zebra)" in done.stdout


@pytest.mark.parametrize("layout", only(["folder", "egg-info", "egg", "archive"], 0))
def test_packages_are_found_however_they_are_installed(tmp_path: Path, layout: str) -> None:
    """As importlib.metadata finds them, which is not asked where no folder of the path has entry points of ours."""
    package(tmp_path, "zebra", SENSOR.format(name="stripes"), {"sim_node.sensors": "zebra"})
    info, path = tmp_path / "zebra-1.2.dist-info", tmp_path
    if layout != "folder":
        (info / "METADATA").rename(info / "PKG-INFO")
    if layout == "egg-info":
        info.rename(tmp_path / "zebra.egg-info")
    elif layout == "egg":
        path = tmp_path / "zebra-1.2-py3.egg"
        path.mkdir()
        info.rename(path / "EGG-INFO")
        (tmp_path / "zebra.py").rename(path / "zebra.py")
    elif layout == "archive":
        (info / "PKG-INFO").rename(info / "METADATA")
        path = Path(shutil.make_archive(str(tmp_path.parent / tmp_path.name), "zip", tmp_path))
    done = python(LISTED, path)
    assert "stripes" in done.stdout.split(), done.stderr
    assert "zebra 1.2 (sim_node.sensors: zebra = zebra)" in done.stdout


def test_without_plugins_the_metadata_of_packages_are_not_parsed(tmp_path: Path) -> None:
    package(tmp_path, "lion", "", {"console_scripts": "lion"})
    done = python(
        "import sys\nfrom sim_node.simulation.sensors import SENSORS\n"
        "print(*SENSORS, 'importlib.metadata' in sys.modules)",
        tmp_path,
    )
    assert done.stdout.split()[0] == "airspeed", done.stderr
    assert done.stdout.split()[-1] == "False"


def test_a_plugin_that_cannot_be_loaded_is_warned_about_and_the_others_stay(tmp_path: Path) -> None:
    package(tmp_path, "broken", "import there_is_no_such_module\n", {"sim_node.sensors": "broken"})
    package(tmp_path, "thief", SENSOR.format(name="imu"), {"sim_node.sensors": "thief"})
    done = python(LISTED, tmp_path)
    assert done.returncode == 0, done.stderr
    assert "imu" in done.stdout.split()
    assert PluginWarning.__name__ in done.stderr
    assert "plug-in broken 1.2 (sim_node.sensors: broken = broken) cannot be loaded: ModuleNotFoundError" in done.stderr
    assert "sensor 'imu': both sim_node.simulation.sensors.imu and thief" in done.stderr


# Takes seconds: make test has states that are pickled in test/simulation/test_simulation.py, and plug-ins that are
# found.
@pytest.mark.nightly
def test_doctor_lists_what_other_packages_add_and_what_they_cannot(tmp_path: Path) -> None:
    package(tmp_path, "zebra", SENSOR.format(name="stripes"), {"sim_node.sensors": "zebra", "sim_node.sensor": "typo"})
    package(tmp_path, "broken", "1 / 0\n", {"sim_node.engines": "broken"})
    done = python("from sim_node.cli.main import main\nmain(['doctor'])", tmp_path)
    assert "zebra 1.2 (sim_node.sensors: zebra = zebra): sensor stripes" in done.stdout, done.stderr
    assert "(sim_node.sensor: typo = zebra): no such group; did you mean sim_node.sensors?" in done.stdout
    assert "broken = broken): cannot be loaded: ZeroDivisionError: division by zero" in done.stdout
    assert "Traceback" not in done.stderr


def test_doctor_knows_every_registry_that_is_open_to_other_packages() -> None:
    source = Path(sim_node.__file__).parent
    declared = Counter(
        group for file in source.rglob("*.py") for group in re.findall(r'group="(sim_node\.\w+)"', file.read_text())
    )
    assert declared == {group: len(registries_of(group)) for group in groups()}
