"""Whatever a file changes, the result or the report changes: every element of MJCF and of URDF."""

from __future__ import annotations

import re
import warnings
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import mujoco
import mujoco_schema as schema
import numpy as np
import numpy.typing as npt
import pytest
from mujoco_schema import Choice
from nightly import only, rows

from sim_node.simulation.physics.mujoco_model import compile_model
from sim_node.world import World, WorldError, lay_out, load, loads
from sim_node.world.models import Model

SECTIONS: dict[str, list[schema.Element]] = {}
for _element in schema.elements():
    SECTIONS.setdefault(_element.path[0], []).append(_element)
_AT = re.compile(r":\d+:\d+")
# What only names, and what MuJoCo's compiler does with memory, threads and files.
NAMES = {
    *("name", "class", "prefix", "content_type", "savecompiled", "savecanonical", "saveinertial", "passthrough"),
    *("memory", "usethread", "conflict"),
}
# Attributes that need others with them to count, such as the size of a history for a delay; a new one is to be tried.
UNTRIED = {
    "actuator/general": "actdim ffrange inheritrange input velrange",
    "actuator/intvelocity": "actlimited",
    "actuator/orientation": "delay forcelimited forcerange input",
    "actuator/pid": "ffrange imax input",
    "actuator/damper": "cranklength cranksite forcelimited refsite slidersite",
    "actuator/cylinder": "cranklength cranksite refsite slidersite",
    "actuator/muscle": "cranklength cranksite ctrllimited delay forcelimited joint jointinparent slidersite",
    "actuator/dcmotor": "controller cranklength cranksite ctrllimited delay input refsite slidersite",
    "actuator/plugin": "actdim actlimited actrange cranklength cranksite ctrllimited delay forcelimited slidersite",
    "asset/mesh": "builtin material maxhullvert",
    "asset/hfield": "file",
    "asset/skin": "file",
    "asset/skin/bone": "vertweight",
    "asset/texture": "embed gridlayout gridsize hflip vflip",
    "body": "fuse sleep",
    "body/inertial": "fullinertia",
    "body/attach": "body frame model",
    "body/site": "mesh",
    "body/light": "type",
    "body/composite": "curve type vertex",
    "body/composite/joint": "axis kind limited range solimpfix solreffix type",
    "body/composite/skin": "inflate",
    "body/composite/geom": "type",
    "body/composite/site": "mesh",
    "body/flexcomp": "cellcount element mesh origin",
    "body/flexcomp/edge": "stiffness",
    "body/flexcomp/elasticity": "section sectionsize",
    "body/flexcomp/contact": "margin passive",
    "body/flexcomp/plugin/config": "value",
    "compiler": "autolimits coordinate inertiagrouprange",
    "compiler/lengthrange": "inttotal mode tolrange useexisting uselimit",
    "deformable/flex": "cellcount dof element elemtexcoord node nodecoord",
    "deformable/flex/edge": "damping stiffness",
    "deformable/flex/elasticity": "damping poisson section sectionsize thickness young",
    "deformable/skin": "file",
    "deformable/skin/bone": "vertweight",
    "equality/flex": "flex",
    "equality/flexvert": "flex",
    "equality/flexstrain": "active cell flex solimp solref",
    "option/flag": "ipc",
    "sensor/camprojection": "delay",
    "sensor/rangefinder": "camera",
    "sensor/ballquat": "cutoff",
    "sensor/framequat": "cutoff",
    "sensor/framexaxis": "cutoff",
    "sensor/frameyaxis": "cutoff",
    "sensor/framezaxis": "cutoff",
    "sensor/insidesite": "delay",
    "sensor/contact": "reduce",
    "sensor/tactile": "delay mesh",
    "sensor/user": "datatype needstage objname objtype",
    "sensor/plugin": "objtype refname reftype",
}
_BLANK = mujoco.MjModel.from_xml_string("<mujoco/>")
# Names and paths are other ones in a world.
_ARRAYS = [
    name
    for name in dir(_BLANK)
    if not re.search(r"names|name_|path|buffer|^_", name) and isinstance(getattr(_BLANK, name), (np.ndarray, int))
]
_SETTINGS = [(of, name) for of in ("opt", "stat") for name in dir(getattr(_BLANK, of)) if name[0] != "_"]


class Read(NamedTuple):
    """What is made of a file: its world, the compiled model, and the report without the file and lines."""

    world: World
    model: mujoco.MjModel
    report: list[str]


def read(path: Path) -> Read:
    """Return what is made of a file."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        world = load(path)
        found = compile_model(world, lay_out(world))
    report = sorted(_AT.sub("", str(each.message)).partition(": ")[2] for each in caught)
    return Read(world, found.model, report)


def arrays_of(model: mujoco.MjModel) -> dict[str, npt.NDArray[Any]]:
    """Return the arrays and settings of a model by their names."""
    found = {name: np.asarray(getattr(model, name)) for name in _ARRAYS}
    return found | {f"{of}.{name}": np.asarray(getattr(getattr(model, of), name)) for of, name in _SETTINGS}


def differing(one: mujoco.MjModel, other: mujoco.MjModel) -> set[str]:
    """Return the names of the arrays that differ, by more than rounding."""
    left, right = arrays_of(one), arrays_of(other)
    return {
        name
        for name, value in left.items()
        if value.shape != right[name].shape or not np.allclose(value, right[name], 1e-12, 1e-15, equal_nan=True)
    }


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A file beside those that models refer to."""
    for name, content in schema.files().items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(content)
    return tmp_path / "model.xml"


def told(choice: Choice, report: Sequence[str]) -> bool:
    """Return whether a report names an attribute, or an element that it is in."""
    keys = {
        f"mujoco.{choice.path[0]}",
        f"{choice.path[-1]}.{choice.key}",
        *(f"{holder}.{tag}" for holder, tag in pairwise(choice.path)),
    }
    return any(line.partition(":")[0] in keys for line in report)


def silent(choices: Sequence[Choice], path: Path, usual: set[str]) -> list[Choice]:
    """Return the choices of which a world has not what MuJoCo makes of them, and that it does not report.

    usual: arrays that differ in any case.
    """
    text = schema.text_of(choices)
    theirs, found = schema.compiled(text), None
    if theirs is not None:
        path.write_text(text)
        try:
            found = read(path)
        except WorldError:
            if len(choices) == 1:  # which says what is wrong
                return []
    if theirs is not None and found is not None:
        if not differing(theirs, found.model) - usual or all(told(each, found.report) for each in choices):
            return []
        if len(choices) == 1:
            return list(choices)
    if len(choices) == 1:  # a default class that MuJoCo refuses
        assert choices[0].path[0] == "default", choices
        return []
    half = len(choices) // 2
    return [*silent(choices[:half], path, usual), *silent(choices[half:], path, usual)]


def choices_of(section: str) -> tuple[list[Choice], list[str]]:
    """Return an attribute each of a section's elements, with those of their default classes, and those left over."""
    chooser = schema.Chooser()
    found: dict[tuple[tuple[str, ...], str], Choice] = {}
    others = []
    for element in SECTIONS[section]:
        for key in element.attributes:
            where = "/".join(element.path)
            if key in NAMES or key in UNTRIED.get(where, "").split():
                continue
            if "plugin" in element.path and key in schema.OF_PLUGINS:
                continue
            choice = chooser.choice(element.path, key)
            if choice is None:
                others.append(f"{where}.{key}")
            else:
                found[element.path, key] = choice
    by_class = [
        same._replace(path=element.path)
        for element in SECTIONS["default"]
        for key in element.attributes
        if (same := found.get((schema.shown_by(element.path), key))) is not None and len(element.path) == 2
    ]
    return [*found.values(), *by_class], others


# The sections with most attributes, which take the most time, are left to the night: all are read by the same code.
NIGHTLY = {
    *("actuator", "asset", "body", "compiler", "contact", "deformable"),
    *("equality", "option", "sensor", "tendon", "visual"),
}


@pytest.mark.parametrize(
    "section", rows(sections := sorted(SECTIONS.keys() - {"default", "keyframe"}), usual={*sections} - NIGHTLY)
)
def test_whatever_mujoco_knows_counts_or_is_reported(section: str, path: Path) -> None:
    """The schema is MuJoCo's own, and so is what each attribute changes: the arrays of the compiled model."""
    choices, others = choices_of(section)
    assert others == []
    path.write_text(text := schema.text_of([]))
    theirs = schema.compiled(text)
    assert theirs is not None
    usual = differing(theirs, read(path).model)
    assert usual <= {"opt.disableflags"}, "which has autoreset"
    lost = silent(choices, path, usual)
    assert [f"{'/'.join(each.path)} {each.key}={each.value}" for each in lost] == []


# The elements of URDF and their attributes: xsd/urdf.xsd of urdfdom (14f6db1), and capsules and limits that are newer.
# Then MuJoCo's extension, of which balanceinertia is tried in test_urdf_lenient.py, what is read of Gazebo's, and
# sensors, which only URDF's wiki has.
_POSE, _NAME = "xyz rpy quat_xyzw", "name"
URDF_ELEMENTS: dict[str, str] = {
    "robot": "name version",
    "robot/material": _NAME,
    "robot/material/color": "rgba",
    "robot/material/texture": "filename",
    "robot/link": "name type",
    "robot/link/inertial/origin": _POSE,
    "robot/link/inertial/mass": "value",
    "robot/link/inertial/inertia": "ixx ixy ixz iyy iyz izz",
    "robot/link/visual": _NAME,
    "robot/link/visual/origin": _POSE,
    "robot/link/visual/material": _NAME,
    "robot/link/visual/material/color": "rgba",
    "robot/link/visual/material/texture": "filename",
    "robot/link/collision": _NAME,
    "robot/link/collision/origin": _POSE,
    "robot/link/collision/verbose": "value",
    **{
        f"robot/link/{holder}/geometry/{tag}": keys
        for holder in ("visual", "collision")
        for tag, keys in (
            *(("box", "size"), ("cylinder", "radius length"), ("sphere", "radius"), ("mesh", "filename scale")),
            ("capsule", "radius length"),
        )
    },
    "robot/joint": "name type",
    "robot/joint/origin": _POSE,
    "robot/joint/parent": "link",
    "robot/joint/child": "link",
    "robot/joint/axis": "xyz",
    "robot/joint/calibration": "reference_position rising falling",
    "robot/joint/dynamics": "damping friction",
    "robot/joint/limit": "lower upper effort velocity acceleration deceleration jerk",
    "robot/joint/safety_controller": "soft_lower_limit soft_upper_limit k_position k_velocity",
    "robot/joint/mimic": "joint multiplier offset",
    "robot/transmission": "name type",
    **{
        f"robot/transmission/{tag}": "name mechanicalReduction"
        for tag in ("leftActuator", "rightActuator", "flexJoint", "rollJoint")
    },
    "robot/transmission/gap_joint": "L0 a b gear_ratio h mechanical_reduction name phi0 r screw_reduction t0 theta0",
    "robot/transmission/passive_joint": _NAME,
    "robot/transmission/actuator": _NAME,
    "robot/transmission/joint": _NAME,
    "robot/transmission/use_simulated_gripper_joint": "",
    "robot/transmission/mechanicalReduction": "",
    "robot/mujoco/compiler": "boundmass boundinertia",
    "robot/gazebo": "reference",
    "robot/gazebo/static": "",
    "robot/sensor": "name update_rate",
    "robot/sensor/parent": "link",
    "robot/sensor/origin": "xyz rpy",
    "robot/sensor/camera/image": "width height format hfov near far",
    **{f"robot/sensor/ray/{axis}": "samples resolution min_angle max_angle" for axis in ("horizontal", "vertical")},
}
# A robot in which all of them count; the words in braces are those of the joint that is tried.
URDF = """<robot name="r" version="1.1">
<mujoco><compiler boundmass="1.1" boundinertia="1.15"/></mujoco>
<material name="m"><color rgba="1 0 0 1"/><texture filename="t.png"/></material>
<link name="base"/>
<link name="a" type="t"><inertial><origin xyz="0 0 0.1" rpy="0.1 0 0"/><mass value="1"/>
<inertia ixx="1.1" ixy="0.01" ixz="0.02" iyy="1.2" iyz="0.03" izz="1.3"/></inertial>
<visual name="v"><origin xyz="0 0.1 0" rpy="0 0.1 0"/><geometry><box size="1 1 2"/></geometry>
<material name="m"/></visual>
<visual><origin quat_xyzw="0.6 0 0 0.8"/><geometry><cylinder radius="0.1" length="0.3"/></geometry>
<material name="n"><color rgba="0 1 0 1"/></material></visual>
<visual><geometry><sphere radius="0.4"/></geometry><material name="o"><texture filename="u.png"/></material></visual>
<visual><geometry><mesh filename="x.obj" scale="1 2 3"/></geometry></visual>
<visual><geometry><capsule radius="0.3" length="0.2"/></geometry></visual>
<collision name="c"><origin xyz="0.1 0 0" rpy="0 0 0.1"/>
<geometry><cylinder radius="0.1" length="0.3"/></geometry><verbose value="x"/></collision>
<collision><origin quat_xyzw="0 0.6 0 0.8"/><geometry><box size="0.1 0.2 0.3"/></geometry></collision>
<collision><geometry><mesh filename="y.obj" scale="3 2 1"/></geometry></collision>
<collision><geometry><capsule radius="0.3" length="0.2"/></geometry></collision>
<collision><geometry><sphere radius="0.2"/></geometry>
<contact_coefficients mu="1" kp="2"/></collision></link>
<link name="b"><inertial><origin quat_xyzw="0 0 0.6 0.8"/><mass value="2"/>
<inertia ixx="1" ixy="0" ixz="0" iyy="1.5" iyz="0" izz="2"/></inertial></link>
<link name="c"/>
<joint name="i" type="revolute"><parent link="base"/><child link="a"/><axis xyz="0 0 1"/>
<limit lower="-1" upper="1"/></joint>
<joint name="w" type="fixed"><parent link="a"/><child link="c"/><origin quat_xyzw="0 0 0.6 0.8"/></joint>
<!-- --><joint name="j" type="{}"><parent link="a"/><child link="b"/><origin xyz="0 0.2 0" rpy="0 0.2 0"/>
<axis xyz="1 0 0"/>
<limit lower="-1" upper="1" effort="5" velocity="2" acceleration="3" deceleration="4" jerk="6"/>
<dynamics damping="0.1" friction="0.2"/>
<calibration reference_position="0.1" rising="0.5" falling="0.3"/>
<safety_controller soft_lower_limit="-2" soft_upper_limit="2" k_position="3" k_velocity="4"/>
{}</joint><!-- -->
<transmission name="x" type="y"><leftActuator name="l" mechanicalReduction="2"/>
<rightActuator name="k" mechanicalReduction="2"/><flexJoint name="f" mechanicalReduction="2"/>
<rollJoint name="o" mechanicalReduction="2"/><gap_joint L0="1" a="1" b="1" gear_ratio="1" h="1"
 mechanical_reduction="1" name="g" phi0="1" r="1" screw_reduction="1" t0="1" theta0="1"/>
<passive_joint name="p"/><actuator name="q"/><joint name="j"/><use_simulated_gripper_joint/>
<mechanicalReduction>2</mechanicalReduction></transmission>
<gazebo reference="a"><mu1>1</mu1></gazebo><gazebo><static>false</static></gazebo>
<sensor name="s" update_rate="10"><parent link="a"/><origin xyz="1 0 0" rpy="0 0 1"/>
<camera><image width="4" height="3" format="RGB8" hfov="1" near="0.1" far="9"/></camera></sensor>
<sensor name="l" update_rate="10"><parent link="a"/><ray>
<horizontal samples="4" resolution="1" min_angle="-1" max_angle="1"/>
<vertical samples="4" resolution="1" min_angle="-1" max_angle="1"/></ray></sensor>
</robot>"""
MIMIC = '<mimic joint="i" multiplier="2" offset="0.1"/>'
# Names to which nothing refers: of materials, and of a joint that is fixed.
OWN = (("material", "n"), ("material", "o"), ("joint", "w"))
# Other values of words: types of joints, files.
OTHER = {
    "revolute": "continuous",
    **dict.fromkeys(("continuous", "fixed", "planar", "prismatic"), "revolute"),
    **{"true": "false", "false": "true"},
    **{"x.obj": "y.obj", "y.obj": "x.obj", "t.png": "u.png", "u.png": "t.png"},
}


def test_the_robot_has_all_that_urdf_has() -> None:
    found: dict[str, set[str]] = {}
    stack = [("robot", ET.fromstring(URDF.format("revolute", MIMIC)))]
    while stack:
        where, element = stack.pop()
        found.setdefault(where, set()).update(element.attrib)
        stack += [(f"{where}/{inner.tag}", inner) for inner in element]
    lacking = {where: {*keys.split()} - found.get(where, set()) for where, keys in URDF_ELEMENTS.items()}
    assert not any(lacking.values()), lacking


SHAPES, TEXTURE = re.compile(r"<(visual|collision).*?</\1>", re.DOTALL), re.compile("<texture[^>]*/>")
MATERIAL = re.compile(r"<material [^>]*/>|<material.*?</material>", re.DOTALL)
JOINT = re.compile(r"<!-- -->.*<!-- -->", re.DOTALL)
# An attribute, or the text of an element.
VALUE = re.compile(r'(\w+)="([^"]*)"|(?<=\w)()>([^<>\s]+)</')


def parts_of(case: str) -> tuple[str, list[tuple[int, int]]]:
    """Return a robot, as small as it can be, and the spans that are tried: of shapes, textures, or a type of joint."""
    text = URDF.format("revolute", MIMIC)
    if case == "textures":
        return text, [found.span() for found in MATERIAL.finditer(text)]
    text = TEXTURE.sub("", text)
    if case == "shapes":
        return text, [found.span() for found in SHAPES.finditer(text)]
    text = MATERIAL.sub("", SHAPES.sub("", URDF.format(case, MIMIC if case == "revolute" else "")))
    return text, [(0, len(text))] if case == "revolute" else [found.span() for found in JOINT.finditer(text)]


@pytest.mark.parametrize(
    "case", only(["shapes", "textures", "revolute", "continuous", "prismatic", "planar", "fixed"], 4)
)
def test_whatever_a_urdf_says_counts_or_is_reported(case: str, path: Path) -> None:
    """Each value, of everything once and of the joint for each of its types."""
    path = path.with_suffix(".urdf")
    text, spans = parts_of(case)
    assert spans
    path.write_text(text)
    before = read(path)
    for found in (each for span in spans for each in VALUE.finditer(text, *span)):
        tag = re.findall(r"<(\w+)[^<]*$", text[: found.start()])[-1]
        above = re.findall(r"<(\w+)[^<>/]*>", text[: found.start()])
        part = 2 if found[1] else 4
        value = found[part]
        if (case, tag, found[1], value) == ("fixed", "joint", "name", "j"):
            continue  # which URDF demands, and nothing refers to
        if (tag, found[1]) in (("visual", "name"), ("collision", "name")) or (tag, value) in OWN:
            continue  # which only name
        try:
            changed = " ".join(str(float(word) + 0.25) for word in value.split())
        except ValueError:
            changed = OTHER.get(value, f"{value}q")
        path.write_text(text[: found.start(part)] + changed + text[found.end(part) :])
        try:
            after = read(path)
        except WorldError:
            continue
        same = not differing(before.model, after.model) and words_of(before.world) == words_of(after.world)
        parts = {f"{tag}.{found[1]}:", *(f"{each}.{tag}:" for each in above), f"robot.{tag}:"}
        inside = {f"robot.{each}:" for each in above if each in ("transmission", "gazebo", "sensor")}
        reported = any(line.startswith(part) for line in after.report for part in parts | inside)
        assert not same or after.report != before.report or reported, f"{tag}.{found[1]}"


def words_of(world: World) -> Any:
    """Return what is made of a model besides its numbers in MuJoCo."""
    (model,) = world.of(Model)
    names = [link.name for link in model.links]
    return world.name, model.name, model.mimics, model.speeds, names, repr(model.keyframes), repr(model.shown)


def test_parts_of_models_that_only_mujoco_uses_are_reported_where_they_are() -> None:
    text = """<mujoco>
  <visual><map zfar="3"/></visual>
  <worldbody><body name="a"><joint/><geom size="0.1"/></body></worldbody>
  <keyframe><key name="k" time="2" qpos="0.1"/><key name="l" time="3" qpos="0.2"/></keyframe>
</mujoco>"""
    with pytest.warns(match="<text>") as caught:
        loads(text, ".xml")
    assert [str(each.message) for each in caught] == [
        "<text>:2:3: mujoco.visual: has no effect here",
        "<text>:4:27: key.time: has no effect here (1 more like it)",
    ]


def test_defaults_of_classes_that_nothing_has_are_reported_where_they_are() -> None:
    text = """<mujoco>
  <default><geom density="500"/><default class="outer"><geom rgba="1 0 0 1"/>
    <default class="inner"><joint damping="3"/></default></default>
    <default class="other"><geom size="2"/><default class="its"><site size="3"/></default></default>
  </default>
  <worldbody><body name="a" childclass="inner"><joint/><geom size="0.1"/></body></worldbody>
</mujoco>"""
    with pytest.warns(match="<text>") as caught:
        loads(text, ".xml")
    assert [str(each.message) for each in caught] == ["<text>:4:5: default.default: has no effect here"]


def test_actuators_with_several_controls_are_refused() -> None:
    body = '<worldbody><body><joint name="j"/><geom size="0.1"/></body></worldbody>'
    assert (
        mujoco.MjModel.from_xml_string(f'<mujoco>{body}<actuator><pid joint="j" kp="1"/></actuator></mujoco>').nu == 2
    )
    with pytest.raises(WorldError, match="several controls"):
        loads(f'<mujoco>{body}<actuator><pid joint="j" kp="1"/></actuator></mujoco>', ".xml")
