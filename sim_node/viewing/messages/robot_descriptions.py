"""Robot descriptions: the visual elements of URDF, on the frames of their links."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree.ElementTree import Element, ParseError

import numpy as np

from sim_node.spatial.geometry import poses as pose_math
from sim_node.spatial.geometry import quaternions
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.viewing.meshes import PLAIN, DrawnShape, capsule
from sim_node.viewing.messages.mesh_files import finish_of, image_path, mesh_shapes
from sim_node.world import FrameTable
from sim_node.world.image_files import mean_colour

TYPE = "std_msgs/msg/String"
_NAME = "robot_description"


class Described(NamedTuple):
    """The shapes of links by name, with row 0; and the reasons why others are not shown."""

    links: dict[str, tuple[DrawnShape, ...]]
    faults: tuple[str, ...]


def is_description(topic: str, type_: str) -> bool:
    """Return whether a topic contains robot descriptions, judging by its name and type."""
    return type_ == TYPE and topic.rpartition("/")[2] == _NAME


def described(text: str) -> Described:
    """Read the visual elements of a URDF text. Raises ValueError if it is not URDF."""
    from defusedxml import DefusedXmlException
    from defusedxml.ElementTree import fromstring

    try:
        root = fromstring(text)
    except (ParseError, DefusedXmlException, ValueError) as fault:
        raise ValueError(f"not a robot description: {fault}") from None
    if root.tag != "robot":
        raise ValueError(f"not a robot description: it begins with <{root.tag}>")
    materials: dict[str, Element] = {}
    for material in filter(_looks, root.iter("material")):
        materials.setdefault(material.get("name", ""), material)
    links: dict[str, tuple[DrawnShape, ...]] = {}
    faults: list[str] = []
    for link in root.findall("link"):
        name, shapes = link.get("name", ""), list[DrawnShape]()
        for visual in link.findall("visual"):
            try:
                image = _image(visual, materials)
            except ValueError as fault:
                image = None
                faults.append(f"link {name}: {fault}; the texture is not drawn")
            try:
                shapes += _visual(visual, materials, image)
            except ValueError as fault:
                faults.append(f"link {name}: {fault}")
        links[name] = tuple(shapes)
    return Described(links, tuple(faults))


def robot_shapes(
    robots: Mapping[str, Mapping[str, tuple[DrawnShape, ...]]],
    frames: FrameTable,
    drawn: Collection[int] = (),
    report: Callable[[str, str], None] = lambda topic, why: None,
) -> tuple[DrawnShape, ...]:
    """Return the shapes of robots on the rows of their links.

    Args:
        robots: Shapes by topic and link.
        frames: The frames.
        drawn: Rows whose shapes come from elsewhere; links on them are left out.
        report: Called with a topic and the reason why one of its links is not shown.

    Returns:
        The shapes.
    """
    found: list[DrawnShape] = []
    for topic, links in robots.items():
        for link, shapes in links.items():
            frame = frame_of(link, topic, frames.names)
            if frame is None and shapes:
                report(topic, f"link {link!r} has no transform")
            elif frame is not None and (row := frames.index(frame)) not in drawn:
                found += [replace(shape, row=row) for shape in shapes]
    return tuple(found)


def frame_of(link: str, topic: str, frames: Collection[str]) -> str | None:
    """Return the frame of a link: with the link's name, or below the namespace of its topic (rviz's TF prefix)."""
    namespace = topic.rpartition("/")[0].strip("/")
    return next((each for each in (f"{namespace}/{link}", link) if each in frames), None)


def _visual(visual: Element, materials: Mapping[str, Element], image: Path | None) -> Iterator[DrawnShape]:
    material = _material(visual, materials)
    own: tuple[float, ...] | None = None
    if image is not None:
        own = mean_colour(image)
    elif material is not None:
        own = _rgba(material)
    look = DrawnShape(0, "mesh", _origin(visual.find("origin")), colour=own or PLAIN)
    geometry = visual.find("geometry")
    for part in () if geometry is None else geometry:
        finish = None if image is None else finish_of(image, image.stat().st_mtime_ns, is_flat=part.tag != "box")
        drawn = replace(look, finish=finish)
        if part.tag == "box":
            yield replace(drawn, kind="box", scale=_numbers(part, "size", 3))
        elif part.tag == "sphere":
            yield replace(drawn, kind="sphere", scale=np.full(3, _numbers(part, "radius", 1)))
        elif part.tag in ("cylinder", "capsule"):
            radius, length = float(_numbers(part, "radius", 1)[0]), float(_numbers(part, "length", 1)[0])
            if part.tag == "cylinder":
                yield replace(drawn, kind="cylinder", scale=np.array([radius, radius, length]))
            else:
                yield from capsule(drawn, radius, length)
        elif part.tag == "mesh":
            scale = _numbers(part, "scale", 3) if part.get("scale") else np.ones(3)
            yield from mesh_shapes(part.get("filename", ""), drawn, scale, own_colours=own is None)
        else:
            raise ValueError(f"a geometry <{part.tag}>; known: box, sphere, cylinder, capsule, mesh")


def _looks(material: Element) -> bool:
    """Return whether a material defines its look; otherwise it refers by name to a material defined elsewhere."""
    return material.find("color") is not None or material.find("texture") is not None


def _material(visual: Element, materials: Mapping[str, Element]) -> Element | None:
    material = visual.find("material")
    return material if material is None or _looks(material) else materials.get(material.get("name", ""))


def _image(visual: Element, materials: Mapping[str, Element]) -> Path | None:
    """Return the image of a visual's texture, which replaces its colour, as in rviz. Raises ValueError."""
    material = _material(visual, materials)
    texture = None if material is None else material.find("texture")
    return None if texture is None or not texture.get("filename") else image_path(texture.get("filename", ""))


def _origin(element: Element | None) -> FloatArray:
    if element is None:
        return np.array(pose_math.IDENTITY)
    xyz = _numbers(element, "xyz", 3) if element.get("xyz") else np.zeros(3)
    roll, pitch, yaw = _numbers(element, "rpy", 3) if element.get("rpy") else np.zeros(3)
    turns = [
        quaternions.from_axis_angle(axis, angle) for axis, angle in zip(np.eye(3), (roll, pitch, yaw), strict=True)
    ]
    return pose_math.pose(xyz, quaternions.multiply(turns[2], quaternions.multiply(turns[1], turns[0])))


def _rgba(material: Any) -> tuple[float, ...] | None:
    colour = material.find("color")
    return None if colour is None else tuple(np.clip(_numbers(colour, "rgba", 4), 0.0, 1.0).tolist())


def _numbers(element: Element, attribute: str, count: int) -> FloatArray:
    text = element.get(attribute, "")
    try:
        numbers = np.array([float(word) for word in text.split()])
    except ValueError:
        numbers = np.zeros(0)
    if len(numbers) != count or not np.isfinite(numbers).all():
        raise ValueError(f"<{element.tag} {attribute}={text!r}>; {count} numbers are needed")
    return numbers
