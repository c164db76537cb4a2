"""The initial state of an included world: positions and velocities of joints, keyframes, free bases."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from sim_node.spatial.geometry import quaternions
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.world.bodies import Body
from sim_node.world.bounds import MAX_DISTANCE
from sim_node.world.joints import Q_SIZES, QD_SIZES
from sim_node.world.mates import Mate
from sim_node.world.model import World
from sim_node.world.models import Model, Start
from sim_node.world.mujoco_source import ModelSource, refusals, spec_of
from sim_node.world.problems import WorldError, refuse
from sim_node.world.readers.keys import Keys, by_name, either, flag, listing, number, text
from sim_node.world.readers.model_links import followers_of, links_in
from sim_node.world.readers.report import Report
from sim_node.world.readers.xml_elements import Element, compose_xml
from sim_node.world.readers.yaml_nodes import Scalar
from sim_node.world.readers.yaml_poses import NORMALISED, ROUNDING
from sim_node.world.readers.yaml_values import Table, Value
from sim_node.world.systems import System

_NUMBERS = either("", number("", -MAX_DISTANCE, MAX_DISTANCE), listing("", number("")))
START_KEYS = Keys(
    {
        "q": by_name("Initial positions by joint, body or mate, m or rad.", _NUMBERS),
        "qd": by_name("Initial velocities by joint, body or mate, m/s or rad/s.", _NUMBERS),
        "keyframe": text("The keyframe that an MJCF model starts in."),
        "free": flag("Whether the base of an MJCF or URDF model is on a free joint."),
    }
)


class _Joint(NamedTuple):
    """A joint or mate with positions: sizes of q and qd, starts of quaternions in q, and limits (low, high) or None."""

    noun: str
    q_size: int
    qd_size: int
    quaternions: tuple[int, ...] = ()
    limits: tuple[float, float] | None = None


def read_start(world: World, table: Table) -> World:
    """Return the included world with the initial state given by the keys of the entry."""
    values = {key: value for key in START_KEYS if (value := table.get(key)) is not None}
    if not values:
        return world
    models = world.models
    for key in ("keyframe", "free"):
        if key in values and len(models) != 1:
            values[key].error("applies only to MJCF and URDF models")
            return world
    if "free" in values:
        models = (_freed(models[0], values["free"]),)
    if "keyframe" in values:
        models = (replace(models[0], start=_keyframe(values["keyframe"], models[0])),)
    world = replace(world, models=models)
    joints = dict(_joints(world))
    q, qd = (_read(values[key], joints, key) if key in values else {} for key in ("q", "qd"))
    return replace(
        world,
        models=tuple(_started(model, q, qd, values.get("q")) for model in world.models),
        bodies=tuple(_placed(body, q, qd) for body in world.bodies),
        systems=tuple(_assembled(system, system.name, q, qd) for system in world.systems),
    )


def _freed(model: Model, value: Value) -> Model:
    try:
        return set_floating(model, value.flag(False))
    except WorldError as error:
        for problem in error.problems:
            value.error(problem.message)
        return model


def _keyframe(value: Value, model: Model) -> Start:
    if not model.keyframes:
        value.error("the model has no keyframes")
        return model.start
    return model.keyframes[value.choice(model.keyframes, next(iter(model.keyframes)))]


def _joints(world: World) -> Iterator[tuple[str, _Joint]]:
    """Yield everything with positions, by name: joints of models, bodies on joints, and mates of systems."""
    for model in world.models:
        for joint in model.joints():
            size = Q_SIZES[joint.kind]
            at = (size - 4,) if size >= 4 else ()
            yield model.full_name(joint.name), _Joint(joint.kind, size, QD_SIZES[joint.kind], at, joint.limits)
    for body in world.bodies:
        kind = body.type
        if kind.parts:
            firsts = np.cumsum([0, *(part.q_size for part in kind.parts)]).tolist()
            at = tuple(first for first, part in zip(firsts, kind.parts, strict=False) if part.kind == "ball")
            limits = None if body.limits is None or kind.q_size != 1 else tuple(body.limits[0].tolist())
            yield body.name, _Joint(kind.name, kind.q_size, kind.qd_size, at, limits)
    for system in world.systems:
        yield from _mates(system, system.name)


def _mates(system: System, path: str) -> Iterator[tuple[str, _Joint]]:
    for mate in system.mates:
        if mate.type.values:
            yield f"{path}/{mate.name}", _Joint(mate.kind, len(mate.type.values), len(mate.type.values))
    for inner in system.systems:
        yield from _mates(inner, f"{path}/{inner.name}")


def _read(value: Value, joints: Mapping[str, _Joint], key: str) -> dict[str, FloatArray]:
    """Read positions or velocities by name: a number or a list for each."""
    table = value.table(tuple(joints))
    found = {}
    for name, joint in joints.items():
        given = table.get(name)
        numbers = None if given is None else _position(given, joint) if key == "q" else _vector(given, joint.qd_size)
        if numbers is not None:
            found[name] = numbers
    return found


def _vector(value: Value, size: int) -> FloatArray | None:
    if size != 1:
        numbers = value.vector(size, MAX_DISTANCE)
        return None if numbers is None else np.array(numbers)
    if isinstance(value.node, Scalar):
        errors = len(value.report.errors)
        given = value.number(-MAX_DISTANCE, MAX_DISTANCE)
        return np.array([given]) if len(value.report.errors) == errors else None
    value.error(f"a number is needed, found {value.found()}")
    return None


def _position(value: Value, joint: _Joint) -> FloatArray | None:
    if joint.q_size == 1 and not isinstance(value.node, Scalar):
        value.error(f"a number is needed for a {joint.noun} joint, found {value.found()}")
        return None
    q = _vector(value, joint.q_size)
    if q is None:
        return None
    if joint.limits is not None and not joint.limits[0] <= q[0] <= joint.limits[1]:
        low, high = joint.limits
        value.warning(f"{q[0]:g} is beyond the joint's limits, {low:g} to {high:g}")
    for at in joint.quaternions:
        norm = float(np.linalg.norm(q[at : at + 4]))
        if abs(norm - 1.0) > NORMALISED:
            value.error(f"the quaternion's norm is {norm:.7g}, a rotation needs 1")
            return None
        if abs(norm - 1.0) > ROUNDING:
            q[at : at + 4] = quaternions.normalise(q[at : at + 4])
    return q


def _started(model: Model, q: Mapping[str, FloatArray], qd: Mapping[str, FloatArray], place: Value | None) -> Model:
    names = {model.full_name(joint.name): joint.name for joint in model.joints()}
    start = model.start
    for field, given in (("q", q), ("qd", qd)):
        mine = {names[name]: value for name, value in given.items() if name in names}
        if mine:
            changed: dict[str, Any] = {field: {**getattr(start, field), **mine}}
            if field == "q" and place is not None:
                try:
                    changed["followers"] = followers_of(model, mine)
                except ValueError as error:
                    place.error(str(error))
            start = replace(start, **changed)
    return model if start is model.start else replace(model, start=start)


def _placed(body: Body, q: Mapping[str, FloatArray], qd: Mapping[str, FloatArray]) -> Body:
    given: dict[str, Any] = {
        field: values[body.name] for field, values in (("q", q), ("qd", qd)) if body.name in values
    }
    return replace(body, **given) if given else body


def _assembled(system: System, path: str, q: Mapping[str, FloatArray], qd: Mapping[str, FloatArray]) -> System:
    def moved(mate: Mate) -> Mate:
        name = f"{path}/{mate.name}"
        given: dict[str, Any] = {
            field: tuple(values[name].tolist()) for field, values in (("values", q), ("speeds", qd)) if name in values
        }
        return replace(mate, **given) if given else mate

    if not q and not qd:
        return system
    return replace(
        system,
        mates=tuple(map(moved, system.mates)),
        systems=tuple(_assembled(inner, f"{path}/{inner.name}", q, qd) for inner in system.systems),
    )


def set_floating(model: Model, wanted: bool) -> Model:
    """Return the model with its base on a free joint or fixed. Raises WorldError if it does not have exactly one base.

    The free joint has the name of the body that it moves, unless the model's file names it.
    """
    if model.floats() == wanted:
        return model
    root = _elements(model.source)
    EDITS[root.tag](root, wanted)
    source = ModelSource.of(root, model.source.includes, model.source.assets)
    with refusals(source):
        compiled = spec_of(source).compile()
    links = links_in(compiled, source, joint_frames=root.tag == "mujoco")
    return replace(model, source=source, links=links)


def _elements(source: ModelSource) -> Element:
    """Return the elements of a source, with their locations in the files."""
    report = Report("")
    root = compose_xml(source.text, report)
    assert root is not None, report.errors
    for element in root.descendants():
        where, _ = source.places[element.at[0] - 1]
        element.file, element.at = where.file, (where.line, where.column)
    return root


def _mjcf(root: Element, wanted: bool) -> None:
    # Remove keyframes, whose sizes would be wrong. They have been read already.
    root.children[:] = [child for child in root.children if child.tag != "keyframe"]
    bodies = [body for world in root.all("worldbody") for body in _top_bodies(world)]
    if not wanted:
        for body in bodies:
            body.children[:] = [child for child in body.children if not _is_free_joint(child)]
        return
    bases = [body for body in bodies if not any(child.tag in ("joint", "freejoint") for child in body.children)]
    if len(bases) != 1:
        refuse("", f"a free model needs one body without a joint at its top, found {len(bases)}")
    bases[0].children.insert(0, bases[0].beside("freejoint"))


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
        refuse("", "a free model needs one root link other than world")
    base, name = bases[0], bases[0].get("name")
    ends = base.beside("parent", link="world"), base.beside("child", link=name)
    root.children += [base.beside("link", name="world"), base.beside("joint", *ends, name=name, type="floating")]


EDITS: dict[str, Callable[[Element, bool], None]] = {"mujoco": _mjcf, "robot": _urdf}
