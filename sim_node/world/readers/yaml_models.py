"""Joints in world files: initial positions of included models, and free bases."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from sim_node.geometry import quaternions
from sim_node.geometry.arrays import FloatArray
from sim_node.world.joints import Q_SIZES, LinkJoint
from sim_node.world.model import MAX_DISTANCE, World
from sim_node.world.models import Model, Start
from sim_node.world.mujoco_source import Source, refusals, spec_of
from sim_node.world.problems import NOWHERE, Problem, WorldError
from sim_node.world.readers.keys import Keys, by_name, either, flag, listing, number, text
from sim_node.world.readers.model_links import links_in
from sim_node.world.readers.report import Report
from sim_node.world.readers.xml_elements import Attribute, Element, compose_xml
from sim_node.world.readers.yaml_nodes import Scalar
from sim_node.world.readers.yaml_poses import NORMALISED, ROUNDING
from sim_node.world.readers.yaml_values import FALSE, TRUE, Table, Value


def set_floating(model: Model, wanted: bool) -> Model:
    """Return the model with its base on a free joint, or without one. Raises WorldError if it does not have one base.

    The free joint has the name of the body that it moves, unless the model's file names it.
    """
    if model.floats() == wanted:
        return model
    root = _elements(model.source)
    EDITS[root.tag](root, wanted)
    source = Source.of(root, model.source.includes, model.source.assets)
    with refusals(source):
        compiled = spec_of(source).compile()
    links = links_in(compiled, source, joint_frames=root.tag == "mujoco")
    return replace(model, source=source, links=links)


def _elements(source: Source) -> Element:
    """Return the elements of a source, with their locations in the files."""
    report = Report("")
    root = compose_xml(source.text, report)
    assert root is not None, report.errors
    for element in root.descendants():
        where, _ = source.places[element.at[0] - 1]
        element.file, element.at = where.file, (where.line, where.column)
    return root


def _mjcf(root: Element, wanted: bool) -> None:
    # Keyframes have been read already. Their sizes would be wrong.
    root.children[:] = [child for child in root.children if child.tag != "keyframe"]
    bodies = [body for world in root.all("worldbody") for body in _top_bodies(world)]
    if not wanted:
        for body in bodies:
            body.children[:] = [child for child in body.children if not _is_free_joint(child)]
        return
    bases = [body for body in bodies if not any(child.tag in ("joint", "freejoint") for child in body.children)]
    if len(bases) != 1:
        _refuse(f"a free model needs one body without a joint at its top, found {len(bases)}")
    bases[0].children.insert(0, Element("freejoint", bases[0].at, file=bases[0].file))


def _top_bodies(element: Element) -> Iterator[Element]:
    for child in element.children:
        if child.tag == "body":
            yield child
        elif child.tag in ("frame", "replicate"):
            yield from _top_bodies(child)


def _is_free_joint(element: Element) -> bool:
    return element.tag == "freejoint" or (element.tag == "joint" and element.get("type") == "free")


def _urdf(root: Element, wanted: bool) -> None:
    if not wanted:
        for joint in root.all("joint"):
            if joint.get("type") == "floating":
                joint.attributes["type"].text = "fixed"
        return
    children = {child.get("link") for joint in root.all("joint") for child in joint.all("child")}
    bases = [link for link in root.all("link") if link.get("name") not in children]
    if len(bases) != 1 or bases[0].get("name") == "world":
        _refuse("a free model needs one root link other than world")
    at, file, name = bases[0].at, bases[0].file, bases[0].get("name")
    root.children.append(_element("link", at, file, name="world"))
    joint = _element("joint", at, file, name=name, type="floating")
    joint.children += [_element("parent", at, file, link="world"), _element("child", at, file, link=name)]
    root.children.append(joint)


def _element(tag: str, at: tuple[int, int], file: str, **attributes: str) -> Element:
    return Element(tag, at, {key: Attribute(text, at) for key, text in attributes.items()}, file=file)


def _refuse(message: str) -> None:
    raise WorldError([Problem(NOWHERE, "", message)])


EDITS: dict[str, Callable[[Element, bool], None]] = {"mujoco": _mjcf, "robot": _urdf}


MODEL_KEYS = Keys(
    {
        "q": by_name(
            "Initial joint positions of an MJCF or URDF model by joint, m or rad.",
            either("", number("", -MAX_DISTANCE, MAX_DISTANCE), listing("", number(""))),
        ),
        "keyframe": text("The keyframe that an MJCF model starts in."),
        "free": flag("Whether the base of an MJCF or URDF model is on a free joint."),
    }
)


def read_start(world: World, table: Table) -> World:
    """Return the included world, with its model changed by the keys of the entry."""
    values = [value for key in MODEL_KEYS if (value := table.get(key)) is not None]
    if not values:
        return world
    if len(world.models) != 1:
        values[0].error("applies only to MJCF and URDF models")
        return world
    model = world.models[0]
    free, keyframe, q = table.get("free"), table.get("keyframe"), table.get("q")
    if free is not None:
        wanted = free.choice((*TRUE, *FALSE), "false") in TRUE
        try:
            model = set_floating(model, wanted)
        except WorldError as error:
            for problem in error.problems:
                free.error(problem.message)
    if keyframe is not None:
        model = replace(model, start=_keyframe(keyframe, model))
    if q is not None:
        model = replace(model, start=replace(model.start, q={**model.start.q, **_positions(q, model)}))
    return replace(world, models=(model,))


def _keyframe(value: Value, model: Model) -> Start:
    if not model.keyframes:
        value.error("the model has no keyframes")
        return model.start
    return model.keyframes[value.choice(model.keyframes, next(iter(model.keyframes)))]


def _positions(value: Value, model: Model) -> dict[str, FloatArray]:
    """Read q by joint: a number for a slide or hinge, lists for the others."""
    joints = {joint.name: joint for joint in model.joints()}
    table = value.table(tuple(joints))
    found = {}
    for name, joint in joints.items():
        given = table.get(name)
        q = None if given is None else _position(given, joint)
        if q is not None:
            found[name] = q
    return found


def _position(value: Value, joint: LinkJoint) -> FloatArray | None:
    size = Q_SIZES[joint.kind]
    if size == 1:
        number = value.number(-MAX_DISTANCE, MAX_DISTANCE) if isinstance(value.node, Scalar) else None
        if number is None:
            value.error(f"a number is needed for a {joint.kind} joint, found {value.found()}")
            return None
        if joint.limits is not None and not joint.limits[0] <= number <= joint.limits[1]:
            low, high = joint.limits
            value.warning(f"{number:g} is beyond the joint's limits, {low:g} to {high:g}")
        return np.array([number])
    numbers = value.vector(size, MAX_DISTANCE)
    if numbers is None:
        return None
    q = np.array(numbers)
    norm = float(np.linalg.norm(q[-4:]))
    if abs(norm - 1.0) > NORMALISED:
        value.error(f"the quaternion's norm is {norm:.7g}, a rotation needs 1")
        return None
    if abs(norm - 1.0) > ROUNDING:
        q[-4:] = quaternions.normalise(q[-4:])
    return q
