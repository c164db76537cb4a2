"""What an included file says of the whole world is not used, and that is told where it stands."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path

import pytest

from sim_node.cli.main import main
from sim_node.world import World, load
from sim_node.world.part import PARTS

PART = """\
world: part
fixed_frame: odom
origin: {latitude: 47, longitude: 8, altitude: 400}
time: {start: 5.0, step: 0.02}
physics: {gravity: [0, 0, -1.62], timestep: 0.001, integrator: euler, contact: false, armature: 0.5}
bodies: [{name: ball, geometry: [{sphere: 0.1, mass: 1}], joint: {type: free}}]
forces: [{type: wind, velocity: [3, 0, 0]}]
"""
XXY = """<x_xy model="x"><options gravity="0 0 9.81" dt="0.002"/>
<worldbody><body name="a" joint="px"><geom type="sphere" mass="1" dim="0.1"/></body></worldbody></x_xy>"""


def reported(path: Path) -> list[str]:
    """The warnings of a world, with the folder of its files left out."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        load(path)
    return [str(each.message).replace(f"{path.parent}/", "") for each in caught]


def test_each_setting_is_reported_once_at_its_place(write: Callable[..., Path]) -> None:
    write(PART, "part.yaml")
    path = write("include: [{file: part.yaml, prefix: a}, {file: part.yaml, prefix: b}]\n")
    unused = "is not used in an included file; w.yaml has"
    assert reported(path) == [
        f"part.yaml:3:9: origin: {unused} none",
        f"part.yaml:4:15: time.start: {unused} 0 s",
        f"part.yaml:4:26: time.step: {unused} 0.01 s",
        f"part.yaml:5:20: physics.gravity: {unused} [0, 0, -9.81]",
        f"part.yaml:5:45: physics.timestep: {unused} none",
        f"part.yaml:5:64: physics.integrator: {unused} rk4",
        f"part.yaml:5:80: physics.contact: {unused} true",
        f"part.yaml:5:97: physics.armature: {unused} 0",
        f"part.yaml:7:10: forces[0]: {unused} none",
    ]


def test_what_both_say_alike_is_not_reported(write: Callable[..., Path]) -> None:
    """The sections of the including file may stand before or behind its include."""
    write(PART, "part.yaml")
    body = PART.replace("world: part\n", "").replace("bodies: [", "include: [{file: part.yaml, prefix: a}]\nframes: [")
    body = body.replace(", geometry: [{sphere: 0.1, mass: 1}], joint: {type: free}", "")
    assert reported(write(body)) == []
    assert reported(write(body.replace("altitude: 400", "altitude: 0"))) == [
        "part.yaml:3:9: origin: is not used in an included file; w.yaml has another"
    ]


def test_the_file_that_is_run_counts_for_all_below_it(write: Callable[..., Path]) -> None:
    write("time: {step: 0.02}\n", "inner.yaml")
    write("time: {step: 0.05}\ninclude: [inner.yaml]\n", "middle.yaml")
    unused = "is not used in an included file; w.yaml has"
    assert reported(write("time: {step: 0.02}\ninclude: [middle.yaml]\n")) == [
        f"middle.yaml:1:14: time.step: {unused} 0.02 s"
    ]


def test_files_of_other_formats_are_reported_too(write: Callable[..., Path]) -> None:
    write(XXY, "m.xml")
    assert reported(write("include: [m.xml]\n")) == [
        "m.xml:1:45: options.dt: is not used in an included file; w.yaml has 0.01 s"
    ]
    assert reported(write(XXY, "m.xml")) == []


def test_check_prints_them_with_their_places(write: Callable[..., Path], capsys: pytest.CaptureFixture[str]) -> None:
    write("time: {step: 0.02}\n", "part.yaml")
    path = write("include: [part.yaml]\n")
    assert main(["check", str(path)]) == 0
    reported = "part.yaml:1:14: time.step: is not used in an included file; w.yaml has 0.01 s"
    assert capsys.readouterr().err == f"warning: {reported}\n"


# Of all that a World has: what an include takes over, what it tells of, and what is not a file's to say.
TAKEN = {
    "frames",
    "sensors",
    "motions",
    "bodies",
    "forces",
    "vehicles",
    "bases",
    "systems",
    "attachments",
    "models",
    "actuators",
    "transmissions",
    "contact_materials",
    "suction",
    "signals",
    "triggers",
    "joint_commands",
    "body_commands",
    "vehicle_commands",
    "actors",
    "resources",
}
TOLD = {
    "origin",
    "time",
    "physics",
    "wind",
    "gravity_fields",
    "processes",
    "fmus",
    "fmu_frames",
    "ground",
    "lights",
    "sky",
    "camera",
    "schematic",
    "expect",
    "scenario",
}
OWN = {"name", "fixed_frame", "static_patterns", "source", "files"}  # docs/world-files.md says what becomes of these
# Worlds in Python are not included.
OWN |= {"python"}
ASSEMBLED = {"loop_closures", "contact_exclusions"}


def test_nothing_of_a_world_is_dropped_in_silence() -> None:
    """A new field of World, and a new kind of part, has to find its place here, and in `include`."""
    assert {each.name for each in fields(World)} - {"parts"} | PARTS.keys() == TAKEN | TOLD | OWN | ASSEMBLED
