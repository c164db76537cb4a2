"""The JSON Schema of world files, tried with the validator of the jsonschema project."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft7Validator
from nightly import only

from sim_node.cli.main import main
from sim_node.messages.sensor_topics import lay_out_messages
from sim_node.world import World, WorldError
from sim_node.world.forces import FORCE_KEYS, FORCES
from sim_node.world.locate import shipped_vehicles, shipped_worlds
from sim_node.world.readers.yaml_section import SECTION_FORMS, SECTIONS
from sim_node.world.schema import vehicle_schema, world_schema

ROOT = Path(__file__).parents[2]
YAML_WORLDS = {name: path for name, path in shipped_worlds().items() if path.suffix == ".yaml"}
PARTS = sorted((ROOT / "config" / "worlds" / "parts").glob("*.yaml"))


class Core(yaml.SafeLoader):
    """YAML 1.2's numbers and truth values, as editors and sim_node have them; PyYAML's own are those of YAML 1.1."""


Core.yaml_implicit_resolvers = {}
for tag, pattern, first in (
    ("bool", r"true|True|TRUE|false|False|FALSE", "tTfF"),
    ("null", r"~|null|Null|NULL|", "~nN\0"),
    ("int", r"[-+]?[0-9]+", "-+0123456789"),
    ("float", r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?|[-+]?\.(inf|Inf|INF)|\.nan", "-+.0123456789"),
    ("merge", r"<<", "<"),
):
    Core.add_implicit_resolver(f"tag:yaml.org,2002:{tag}", re.compile(f"^(?:{pattern})$"), [*first, ""])


@lru_cache
def validator(kind: str = "world") -> Any:
    schema = {"world": world_schema, "vehicle": vehicle_schema}[kind]()
    Draft7Validator.check_schema(schema)
    return Draft7Validator(schema)


def faults(text: str, kind: str = "world") -> list[str]:
    return [error.message for error in validator(kind).iter_errors(yaml.load(text, Core))]


def test_it_is_json() -> None:
    assert json.loads(json.dumps(world_schema(), allow_nan=False)) == world_schema()


def test_every_shipped_section_says_what_it_holds() -> None:
    """A section without a form may be anything in an editor; plug-ins may leave it so."""
    assert [key for key in SECTIONS if SECTIONS.is_shipped(key) and not SECTION_FORMS.get(key)] == []
    assert [key for key in FORCES if FORCES.is_shipped(key) and key not in FORCE_KEYS] == []


@pytest.mark.parametrize("path", only([*YAML_WORLDS.values(), *PARTS], 1, 4, 7), ids=lambda path: path.stem)
def test_shipped_worlds_are_valid(path: Path) -> None:
    assert faults(path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("name", shipped_vehicles())
def test_shipped_vehicles_are_valid(name: str) -> None:
    assert faults(shipped_vehicles()[name].read_text(encoding="utf-8"), "vehicle") == []


def test_worlds_of_the_pages_are_valid() -> None:
    """Every example in docs/ that is a world: test_pages.py reads and runs them."""
    pages = [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
    texts = [
        text for page in pages for text in re.findall(r"^```yaml\n(.*?)^```", page.read_text("utf-8"), re.M | re.S)
    ]
    worlds = [text for text in texts if re.search(r"^world:", text, re.MULTILINE) and "environment:" not in text]
    assert len(worlds) > 30
    assert {text.partition("\n")[0]: found for text in worlds if (found := faults(text))} == {}


# A mistake, and where the reader finds it.
MISTAKES = {
    "unknown section": ("frams: []", "frams"),
    "a list for a mapping": ("time: []", "time"),
    "a mapping for a list": ("frames: {}", "frames"),
    "a number for a text": ("world: 7", "world"),
    "a text for a number": ("time: {step: fast}", "time.step"),
    "a number in quotes": ("time: {step: '0.1'}", "time.step"),
    "below the range": ("time: {step: 1e-9}", "time.step"),
    "above the range": ("origin: {latitude: 91, longitude: 0, altitude: 0}", "origin.latitude"),
    "a missing key": ("origin: {latitude: 1, longitude: 0}", "origin"),
    "an unknown key of a pose": ("frames: [{name: a, pose: {rpydeg: [0, 0, 0]}}]", "frames[0].pose.rpydeg"),
    "a short vector": ("frames: [{name: a, pose: {position: [1, 2]}}]", "frames[0].pose.position"),
    "a word in a vector": ("frames: [{name: a, pose: {position: [1, 2, up]}}]", "frames[0].pose.position[2]"),
    "two rotations": ("frames: [{name: a, pose: {rpy: [0, 0, 0], rpy_deg: [0, 0, 0]}}]", "frames[0].pose.rpy_deg"),
    "two angles": (
        "frames: [{name: a, pose: {axis_angle: {axis: [0, 0, 1], angle: 1, angle_deg: 1}}}]",
        "frames[0].pose.axis_angle",
    ),
    "a scale of zero": ("frames: [{name: a, pose: {scale: 0}}]", "frames[0].pose.scale"),
    "an empty name": ("frames: [{name: ''}]", "frames[0].name"),
    "an unknown convention": ("frames: [{name: a, pose: {convention: ESD}}]", "frames[0].pose.convention"),
    "an unknown interpolation": (
        "motions: [{frame: a, interpolation: cubic, keyframes: [{t: 0}]}]",
        "motions[0].interpolation",
    ),
    "no keyframes": ("motions: [{frame: a, keyframes: []}]", "motions[0].keyframes"),
    "a keyframe without a time": ("motions: [{frame: a, keyframes: [{}]}]", "motions[0].keyframes[0]"),
    "a sensor of no type": ("sensors: [{name: I, parent: map, type: imu_}]", "sensors[0].type"),
    "an unknown parameter": ("sensors: [{name: I, parent: map, type: imu, rates: 5}]", "sensors[0].rates"),
    "a parameter out of range": ("sensors: [{name: I, parent: map, type: imu, rate: -5}]", "sensors[0].rate"),
    "a parameter of a frame": ("sensors: [{name: I, rate: 5}]", "sensors[0].rate"),
    "noise that is a number": ("sensors: [{name: I, parent: map, type: imu, gyroscope: 1}]", "sensors[0].gyroscope"),
    "an unknown joint": ("bodies: [{name: a, joint: swivel}]", "bodies[0].joint"),
    "a joint without a type": ("bodies: [{name: a, joint: {damping: 1}}]", "bodies[0].joint"),
    "two shapes": ("bodies: [{name: a, geometry: [{box: [1, 1, 1], sphere: 1}]}]", "bodies[0].geometry[0]"),
    "no shape": ("bodies: [{name: a, geometry: [{mass: 1}]}]", "bodies[0].geometry[0]"),
    "a box of two sizes": ("bodies: [{name: a, geometry: [{box: [1, 1]}]}]", "bodies[0].geometry[0].box"),
    "mass and density": (
        "bodies: [{name: a, geometry: [{sphere: 1, mass: 1, density: 1}]}]",
        "bodies[0].geometry[0].density",
    ),
    "a colour of two parts": (
        "bodies: [{name: a, geometry: [{sphere: 1, color: [1, 0]}]}]",
        "bodies[0].geometry[0].color",
    ),
    "five moments of inertia": (
        "bodies: [{name: a, inertial: {mass: 1, inertia: [1, 1, 1, 0, 0]}}]",
        "bodies[0].inertial.inertia",
    ),
    "an unknown flag": ("physics: {flags: {gravity: true}}", "physics.flags.gravity"),
    "a word for a truth value": ("physics: {contact: maybe}", "physics.contact"),
    "half an iteration": ("physics: {iterations: 1.5}", "physics.iterations"),
    "an actuator of nothing": ("actuators: [{stiffness: 1}]", "actuators[0]"),
    "a gain by two names": ("actuators: [{joint: a, kp: -1}]", "actuators[0].kp"),
    "an unknown force": ("forces: [{type: lift, body: a}]", "forces[0].type"),
    "a force without a type": ("forces: [{body: a, force: [0, 0, 1]}]", "forces[0]"),
    "a force of nothing": ("forces: [{type: constant, body: a}]", "forces[0]"),
    "a second key of a wind": ("forces: [{type: wind, volume: 1}]", "forces[0].volume"),
    "a vehicle without a model": ("vehicles: [{name: a}]", "vehicles[0]"),
    "a vehicle with two ways to be": ("vehicles: [{name: a, body: b, model: iris}]", "vehicles[0].model"),
    "an unknown autopilot": (
        "vehicles: [{name: a, model: iris, autopilot: {type: inav}}]",
        "vehicles[0].autopilot.type",
    ),
    "an instance between two": (
        "vehicles: [{name: a, model: iris, autopilot: {type: px4, instance: 0.5}}]",
        "vehicles[0].autopilot.instance",
    ),
    "a ground of marble": ("ground: marble", "ground"),
    "a heightmap of two sources": (
        "ground: {heightmap: {size: [1, 1], file: a.png, heights: [[0]]}}",
        "ground.heightmap",
    ),
    "a light of an unknown kind": ("lights: [{type: laser}]", "lights[0].type"),
    "a mate of no kind": ("systems: [{name: s, mates: [{near: 1}]}]", "systems[0].mates[0]"),
    "a mate of three ends": ("systems: [{name: s, mates: [{hinge: [a, b, c]}]}]", "systems[0].mates[0].hinge"),
    "a mistake in an inner system": (
        "systems: [{name: s, systems: [{name: t, bodys: []}]}]",
        "systems[0].systems[0].bodys",
    ),
    "a process without a command": ("processes: {a: {cwd: .}}", "processes.a"),
    "an unknown restart": ("processes: {a: {command: b, restart: sometimes}}", "processes.a.restart"),
    "a limit of one": ("bodies: [{name: a, joint: {type: rz, limits: [1]}}]", "bodies[0].joint.limits"),
    "a base of no kind": ("bases: [{name: a, body: b, type: hover}]", "bases[0].type"),
    "a base without a body": ("bases: [{name: a, type: differential}]", "bases[0]"),
    "a dimension of another kind": (
        "bases: [{name: a, body: b, type: differential, wheel_radius: 0.1, track: 0.4, wheelbase: 1}]",
        "bases[0].wheelbase",
    ),
    "an include of nothing": ("include: [{prefix: a}]", "include[0]"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes_are_refused_by_schema_and_reader(mistake: str, read: Callable[..., World]) -> None:
    text, path = MISTAKES[mistake]
    assert faults(text) != []
    with pytest.raises(WorldError) as caught:
        lay_out_messages(read(text))
    assert path in [problem.key for problem in caught.value.problems], caught.value


def test_former_names_are_known() -> None:
    assert faults("drives: [{joint: a, kp: 1}]\nrecipes: {a: {command: b}}") == []
    assert faults("drives: [{joint: a, kp: 1, stifness: 1}]") != []


def test_the_command_writes_it(tmp_path: Path) -> None:
    path = tmp_path / "vehicle.schema.json"
    assert main(["schema", "vehicle", "-o", str(path)]) == 0
    assert json.loads(path.read_text(encoding="utf-8")) == vehicle_schema()
