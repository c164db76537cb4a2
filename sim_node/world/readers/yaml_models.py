"""Free bases of included models: a free joint put into the model, or taken out of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from sim_node.world.models import Model
from sim_node.world.mujoco_source import ModelSource, refusals, spec_of
from sim_node.world.problems import NOWHERE, Problem, WorldError
from sim_node.world.readers.model_links import links_in
from sim_node.world.readers.report import Report
from sim_node.world.readers.xml_elements import Element, compose_xml


def set_floating(model: Model, wanted: bool) -> Model:
    """Return the model with its base on a free joint, or without one. Raises WorldError if it does not have one base.

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
        _refuse("a free model needs one root link other than world")
    base, name = bases[0], bases[0].get("name")
    ends = base.beside("parent", link="world"), base.beside("child", link=name)
    root.children += [base.beside("link", name="world"), base.beside("joint", *ends, name=name, type="floating")]


def _refuse(message: str) -> None:
    raise WorldError([Problem(NOWHERE, "", message)])


EDITS: dict[str, Callable[[Element, bool], None]] = {"mujoco": _mjcf, "robot": _urdf}
