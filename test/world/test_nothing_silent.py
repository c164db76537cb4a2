"""Whatever a file changes, the result or the report changes: every element of MJCF and of URDF."""

from __future__ import annotations

import re
import warnings
from typing import Any

import mujoco
import mujoco_schema as schema
import numpy as np
import pytest

from sim_node.physics.mujoco_model import compile_model
from sim_node.world import WorldError, lay_out, loads
from sim_node.world.models import Model

ELEMENTS = list(schema.elements())
_AT = re.compile(r":\d+:\d+")


def result_of(text: str, suffix: str) -> tuple[dict[str, Any], list[str]]:
    """Return the compiled model of a text with its names and starts, and the report without lines."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        world = loads(text, suffix)
        found = compile_model(world, lay_out(world))
    (model,) = world.of(Model)
    names = world.name, model.name, model.mimics, model.speeds, [link.name for link in model.links]
    more = {"qpos": found.qpos, "starts": np.array(repr(model.keyframes)), "names of all": np.array(repr(names))}
    return schema.arrays_of(found.model) | more, sorted(_AT.sub("", str(each.message)) for each in caught)


def silent(element: schema.Element, needs: str, attributes: dict[str, str]) -> bool:
    """Return whether a world has nothing of what attributes change in MuJoCo, and does not report them."""
    before, after = (schema.compiled(schema.text_with(element, each, needs)) for each in ({}, attributes))
    assert before is not None
    assert after is not None
    try:
        base, _ = result_of(schema.text_with(element, {}, needs), ".xml")
        made, report = result_of(schema.text_with(element, attributes, needs), ".xml")
    except WorldError:  # which says what is wrong
        return False
    changed = schema.differing(base, made)
    missing = {
        name
        for name in schema.differing(before, after) - changed
        if name[0] != "_"
        and base[name].shape == before[name].shape
        and not (name[:4] == "key_" and "starts" in changed)
    }
    holder, tag = element.path[-2:]
    told = [f"mujoco.{element.path[1]}:", f"{holder}.{tag}:", *(f"{tag}.{key}:" for key in attributes)]
    return bool(missing) and not any(each in line for line in report for each in told)


@pytest.mark.parametrize("holder", sorted({element.path[1] for element in ELEMENTS}))
def test_whatever_mujoco_knows_counts_or_is_reported(holder: str) -> None:
    """The schema is MuJoCo's own, and so is what each attribute changes: the arrays of the compiled model."""
    tried = 0
    for element in (each for each in ELEMENTS if each.path[1] == holder):
        found = schema.changes(element)
        if found is None:
            continue
        needs, attributes = found
        tried += len(attributes)
        together = schema.compiled(schema.text_with(element, attributes, needs)) is not None
        if attributes and (not together or silent(element, needs, attributes)):
            lost = [key for key, value in attributes.items() if silent(element, needs, {key: value})]
            assert lost == [], "/".join(element.path)
    assert tried


def test_most_of_the_schema_is_tried() -> None:
    assert len(ELEMENTS) > 90
    assert {"joint", "geom", "site", "camera", "light", "pair", "spatial", "weld", "motor", "gyro", "key"} <= {
        element.path[-1] for element in ELEMENTS
    }


# The elements of URDF, as urdfdom's schema has them, in a robot in which each counts.
URDF = """<robot name="r" version="1.0">
<material name="m"><color rgba="1 0 0 1"/></material>
<link name="base"/>
<link name="a" type="t"><inertial><origin xyz="0 0 0.1" rpy="0.1 0 0"/><mass value="1"/>
<inertia ixx="1.1" ixy="0.01" ixz="0.02" iyy="1.2" iyz="0.03" izz="1.3"/></inertial>
<visual name="v"><origin xyz="0 0.1 0" rpy="0 0.1 0"/><geometry><box size="1 1 2"/></geometry>
<material name="m"/></visual>
<collision name="c" verbose="x"><origin xyz="0.1 0 0" rpy="0 0 0.1"/>
<geometry><cylinder radius="0.1" length="0.3"/></geometry>
</collision><collision><geometry><sphere radius="0.2"/></geometry>
<contact_coefficients mu="1" kp="2"/></collision></link>
<link name="b"><inertial><mass value="2"/>
<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link>
<joint name="i" type="revolute"><parent link="base"/><child link="a"/><axis xyz="0 0 1"/>
<limit lower="-1" upper="1"/></joint>
<joint name="j" type="{}"><parent link="a"/><child link="b"/><origin xyz="0 0.2 0" rpy="0 0.2 0"/><axis xyz="1 0 0"/>
<limit lower="-1" upper="1" effort="5" velocity="2"/><dynamics damping="0.1" friction="0.2"/>
<calibration rising="0.5" falling="0.3"/>
<safety_controller soft_lower_limit="-2" soft_upper_limit="2" k_position="3" k_velocity="4"/>
{}</joint>
<transmission name="x"><type>y</type></transmission><gazebo reference="a"><mu1>1</mu1></gazebo>
<sensor name="s" update_rate="10"><parent link="a"/></sensor>
</robot>"""
MIMIC = '<mimic joint="i" multiplier="2" offset="0.1"/>'
# Other spellings of values: of the types of joints, and of what refers to links.
OTHER = {
    "revolute": "continuous",
    "continuous": "revolute",
    "fixed": "revolute",
    "planar": "revolute",
    "prismatic": "revolute",
}


@pytest.mark.parametrize("kind", ["revolute", "continuous", "prismatic", "planar", "fixed"])
def test_whatever_a_urdf_says_counts_or_is_reported(kind: str) -> None:
    text = URDF.format(kind, MIMIC if kind == "revolute" else "")
    base, report = result_of(text, ".urdf")
    for found in re.finditer(r'(\w+)="([^"]*)"', text):
        tag = re.findall(r"<(\w+)[^<]*$", text[: found.start()])[-1]
        above = re.findall(r"<(\w+)[^<>/]*>", text[: found.start()])
        value = found[2]
        if (kind, tag, found[1], value) == ("fixed", "joint", "name", "j"):
            continue  # which URDF demands, and nothing refers to
        if (tag, found[1]) in (("visual", "name"), ("collision", "name")):
            continue  # which only name
        try:
            changed = " ".join(str(float(word) + 0.25) for word in value.split())
        except ValueError:
            changed = OTHER.get(value, f"{value}q")
        other = text[: found.start(2)] + changed + text[found.end(2) :]
        try:
            made, told = result_of(other, ".urdf")
        except WorldError:
            continue
        same = not schema.differing(base, made)
        parts = {f"{tag}.{found[1]}:", *(f"{each}.{tag}:" for each in above), f"robot.{tag}:"}
        inside = {f"robot.{each}:" for each in above if each in ("transmission", "gazebo", "sensor")}
        reported = any(part in line for line in told for part in parts | inside)
        assert not same or told != report or reported, f"{tag}.{found[1]}"


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


def test_actuators_with_several_controls_are_refused() -> None:
    body = '<worldbody><body><joint name="j"/><geom size="0.1"/></body></worldbody>'
    assert (
        mujoco.MjModel.from_xml_string(f'<mujoco>{body}<actuator><pid joint="j" kp="1"/></actuator></mujoco>').nu == 2
    )
    with pytest.raises(WorldError, match="several controls"):
        loads(f'<mujoco>{body}<actuator><pid joint="j" kp="1"/></actuator></mujoco>', ".xml")
