"""URDF models. Inertias are adapted to MuJoCo: impossible ones are balanced, and massless links are carried along."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from sim_node.formats.assets import Assets
from sim_node.formats.mjcf import FIXED_FRAME, model_of
from sim_node.formats.urdf_meshes import MeshReader, TextureReader, mesh_folder
from sim_node.formats.xml_roots import XmlFile, xml_reader
from sim_node.spatial.geometry import quaternions
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.text import did_you_mean
from sim_node.world.locate import LocateError
from sim_node.world.massless import CARRIER_MASS, undefined_joints
from sim_node.world.model import World
from sim_node.world.models import Model
from sim_node.world.mujoco_source import ModelSource, mujoco_fault
from sim_node.world.problems import Problem, WorldError, quoted, refuse_any
from sim_node.world.readers.files import Roots
from sim_node.world.readers.numbers import as_number, to_euler
from sim_node.world.readers.report import Report
from sim_node.world.readers.xml_elements import Element, XmlAttribute, compose_xml, escape, unescape

if TYPE_CHECKING:
    from mujoco import MjSpec

_FILENAME = re.compile(r"(\bfilename\s*=\s*)([\"'])(.*?)\2", re.DOTALL)


def with_uris(text: str, path: Path, roots: Roots, folder: str = "") -> str:
    """Return a URDF text with relative file names, below `folder` beside the model at `path`, replaced by file:// URIs.

    package:// URIs and names that do not resolve to a file, such as the library of a plugin, are unchanged.
    """

    def found(match: re.Match[str]) -> str:
        reference = unescape(match[3])
        if "://" in reference:
            return match[0]
        try:
            file = roots.resolve(f"{folder}/{reference}" if folder else reference, path)
        except LocateError:
            return match[0]
        return f"{match[1]}{match[2]}{escape(file.resolve().as_uri())}{match[2]}"

    return _FILENAME.sub(found, text)


MOMENTS, PRODUCTS = ("ixx", "iyy", "izz"), ("ixy", "ixz", "iyz")
# Relative to the largest moment, because files contain rounded numbers.
_ROUNDING = 1e-6
# Maximum number of links in a message.
_NAMED = 5
# The parts of URDF that MuJoCo uses: the attributes of each element, and its children. Transmissions, plugins and the
# like are for other programs. Textures of materials are read here.
USED: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "robot": (("name",), ("mujoco", "material", "link", "joint")),
    "material": (("name",), ("color",)),
    "color": (("rgba",), ()),
    "link": (("name",), ("inertial", "visual", "collision")),
    "inertial": ((), ("origin", "mass", "inertia")),
    "origin": (("xyz", "rpy"), ()),
    "mass": (("value",), ()),
    "inertia": ((*MOMENTS, *PRODUCTS), ()),
    "visual": (("name",), ("origin", "geometry", "material")),
    "collision": ((), ("origin", "geometry")),
    "geometry": ((), ("box", "sphere", "cylinder", "capsule", "mesh")),
    "box": (("size",), ()),
    "sphere": (("radius",), ()),
    "cylinder": (("radius", "length"), ()),
    "capsule": (("radius", "length"), ()),
    "mesh": (("filename", "scale"), ()),
    "joint": (("name", "type"), ("origin", "parent", "child", "axis", "limit", "dynamics", "mimic")),
    "mimic": (("joint", "multiplier", "offset"), ()),
    "parent": (("link",), ()),
    "child": (("link",), ()),
    "axis": (("xyz",), ()),
    "limit": (("lower", "upper", "effort"), ()),
    "dynamics": (("damping", "friction"), ()),
}
# Children of joints that have no meaning for some joint types, and attributes of a limit.
_WITHOUT = {"fixed": ("axis", "limit", "dynamics"), "floating": ("axis", "limit", "dynamics")}
_ENDS = ("lower", "upper")
# Supported versions: 1.1 adds quat_xyzw.
_VERSIONS = ("1.0", "1.1", "1.2")
# As in ROS: fixed links stay frames, visuals are kept, and a link without <inertial> has no mass.
COMPILER = {"fusestatic": "false", "discardvisual": "false", "inertiafromgeom": "false"}


@xml_reader("robot")
def read_urdf(file: XmlFile) -> World | None:
    """Return the world of a URDF file with a fixed root link. If it is invalid, report the errors and return None."""
    if fault := mujoco_fault():
        file.report.error(f"models need MuJoCo, {fault}")
        return None
    errors = len(file.report.errors)
    root = Element("robot", file.root.at, dict(file.root.attributes), file=file.root.file)
    root.children = [_compiler(file.root), *(part for part in file.root.children if part.tag in USED["robot"][1][1:])]
    for element in file.root.descendants():
        if element.tag.startswith("xacro:"):
            message = f"<{element.tag}>: this is a xacro file; name it {file.path.stem}.urdf.xacro"
            file.report.error(f"{message}, and it is expanded where xacro is installed", element.at)
            return None
    for element in root.descendants():
        # Geoms have no names in sim_node, and MuJoCo prints a line for each duplicate name.
        if element.tag in ("visual", "collision") and (name := element.attributes.pop("name", None)) is not None:
            name.read = True
    _turn_origins(root, file)
    assets = Assets(file)
    textures = TextureReader(file, assets, mesh_folder(file))
    meshes = MeshReader(file, assets, textures)
    for link in root.all("link"):
        meshes.read(link)
        textures.read(link)
    balance = file.balance_inertia
    if balance is None:
        given = [each.get("balanceinertia") for part in root.all("mujoco") for each in part.all("compiler")]
        balance = {"true": True, "false": False}.get(given[-1])
    carriers = mend_inertials(root, file.report, balance=balance)
    for element in root.descendants():
        # MuJoCo gets no other files, such as meshes in places where URDF has none.
        named = element.attributes.get("filename")
        if named is not None and named.text not in assets.contents:
            del element.attributes["filename"]
    _refuse_ambiguous(root, file)
    mimics, speeds = tuple(_mimics(root, file.report)), tuple(_speeds(root))
    _leave_out_unused(root)
    if len(file.report.errors) > errors:
        return None
    try:
        model, spec = model_of(root, file, assets, {})
        refuse_undefined(spec, model.source, carriers)
    except WorldError as error:
        file.report.errors.extend(error.problems)
        return None
    text = with_uris(file.text, file.path, file.roots, mesh_folder(file))
    model = replace(model, mimics=mimics, speeds=speeds, shown=tuple(meshes.shown), options={}, urdf=text)
    return World(
        name=file.root.get("name") or file.path.stem, fixed_frame=FIXED_FRAME, models=(model,), source=str(file.shown)
    )


def stays(model: Model) -> bool:
    """Return whether a URDF model is static, by the rules of Gazebo.

    It is if its root link is `world`, or if it contains <gazebo><static>true</static></gazebo>.
    """
    root = compose_xml(model.urdf, Report(""))
    assert root is not None
    children = {child.get("link") for joint in root.all("joint") for child in joint.all("child")}
    if "world" in {link.get("name") for link in root.all("link")} - children:
        return True
    of_robot = [gazebo for gazebo in root.all("gazebo") if not gazebo.get("reference")]
    words = [each.text.text for gazebo in of_robot for each in gazebo.all("static") if each.text is not None]
    return not {"true", "1"}.isdisjoint(words)


def _compiler(root: Element) -> Element:
    """Return the robot's <mujoco> extension with a complete <compiler>."""
    given = {key: a for part in root.all("mujoco") for c in part.all("compiler") for key, a in c.attributes.items()}
    for key in ("meshdir", "texturedir", "assetdir", "strippath"):
        given.pop(key, None)
    wanted = {key: XmlAttribute(text, root.at) for key, text in COMPILER.items()}
    wanted.update({key: value for key, value in given.items() if key != "fusestatic"})
    return Element("mujoco", root.at, {}, [Element("compiler", root.at, wanted, file=root.file)], file=root.file)


def _turn_origins(root: Element, file: XmlFile) -> None:
    """Replace quat_xyzw of origins, which exists since URDF 1.1, by rpy. In older versions, it is left unread."""
    version = root.attributes.get("version")
    if version is None or not as_number(version.text) >= 1.1:
        return
    for origin in root.descendants():
        given = origin.attributes.pop("quat_xyzw", None) if origin.tag == "origin" else None
        if given is None:
            continue
        given.read = True
        report, numbers = file.report.about(origin.file), [as_number(word) for word in given.text.split()]
        if "rpy" in origin.attributes:
            report.error("cannot be combined with rpy; give one of them", given.at, "origin.quat_xyzw")
        elif len(numbers) != 4 or not 0.0 < math.hypot(*numbers) < math.inf:
            message = f"a rotation [x y z w] is needed, found {quoted(given.text)}"
            report.error(message, given.at, "origin.quat_xyzw")
        else:
            angles = to_euler(quaternions.normalise(np.array(numbers)))
            origin.attributes["rpy"] = XmlAttribute(" ".join(map(repr, angles)), given.at)


def _refuse_ambiguous(root: Element, file: XmlFile) -> None:
    """Report values that MuJoCo interprets differently from URDF."""
    for joint in root.all("joint"):
        name = joint.get("name")
        unused = _WITHOUT.get(joint.get("type"), ())
        joint.children[:] = [child for child in joint.children if child.tag not in unused]
        for axis in joint.all("axis"):
            numbers = [as_number(word) for word in axis.get("xyz").split()]
            if len(numbers) == 3 and not math.hypot(*numbers) > 0.0:
                file.report.error("an axis needs a direction", axis.at, f"{name}.axis")
        if joint.get("type") in ("revolute", "prismatic"):
            limit = next(iter(joint.all("limit")), None)
            if limit is None:
                message = f"a {joint.get('type')} joint needs <limit>; use type continuous for a joint without limits"
                file.report.error(message, joint.at, name)
            elif as_number(limit.get("lower", "0")) > as_number(limit.get("upper", "0")):
                message = f"lower {limit.get('lower', '0')} is above upper {limit.get('upper', '0')}"
                file.report.error(message, limit.at, f"{name}.limit")


def _leave_out_unused(robot: Element) -> None:
    """Remove the parts of a robot that MuJoCo does not use, so that they are not marked as read."""
    for key, attribute in robot.attributes.items():
        # Namespace declarations, and supported URDF versions
        attribute.read = key.startswith("xmlns") or (key == "version" and attribute.text in _VERSIONS)
    robot.attributes = {key: value for key, value in robot.attributes.items() if key in USED["robot"][0]}
    named = {m.get("name") for link in robot.all("link") for part in link.all("visual") for m in part.all("material")}
    robot.children[:] = [c for c in robot.children if c.tag != "material" or c.attributes["name"].text in named]
    for joint in robot.all("joint"):
        for limit in joint.all("limit") if joint.get("type") in ("continuous", "planar") else ():
            # MuJoCo would apply these limits.
            limit.attributes = {key: value for key, value in limit.attributes.items() if key not in _ENDS}
    for child in robot.children:
        if child.tag != "mujoco":
            _keep_used(child)


def _keep_used(element: Element) -> None:
    attributes, children = USED[element.tag]
    element.attributes = {key: value for key, value in element.attributes.items() if key in attributes}
    element.children[:] = [child for child in element.children if child.tag in children]
    for child in element.children:
        _keep_used(child)


def _speeds(root: Element) -> Iterator[tuple[str, float]]:
    """Yield the joints with a velocity limit, which MuJoCo does not read; 0 and invalid numbers mean no limit."""
    for joint in root.all("joint"):
        for limit in joint.all("limit"):
            given = limit.attributes.get("velocity")
            if given is not None and 0.0 < as_number(given.text) < math.inf:
                given.read = True
                yield joint.get("name"), as_number(given.text)


def _mimics(root: Element, report: Report) -> list[tuple[str, str, float, float]]:
    found = []
    joints = [joint.get("name") for joint in root.all("joint")]
    for joint in root.all("joint"):
        for mimic in joint.all("mimic"):
            if mimic.get("joint") not in joints:
                message = f"no joint {quoted(mimic.get('joint'))}{did_you_mean(mimic.get('joint'), joints)}"
                report.warning(f"{message}; it follows none", mimic.at, f"{joint.get('name')}.mimic")
                continue
            multiplier, offset = as_number(mimic.get("multiplier", "1")), as_number(mimic.get("offset", "0"))
            found.append((joint.get("name"), mimic.get("joint"), multiplier, offset))
    return found


def mend_inertials(root: Element, report: Report, *, balance: bool | None) -> list[str]:
    """Adapt the inertials of a robot's links so that MuJoCo accepts them.

    The principal moments of a body are positive, and none exceeds the sum of the others. If this is violated, all three
    are replaced by their mean, as with MuJoCo's balanceinertia. A point mass, and a massless link that is moved by a
    joint, get nearly no inertia. A mass of zero without inertia counts as no inertial.

    Args:
        root: The robot.
        report: Receives the errors.
        balance: Whether to replace impossible inertias; None replaces them with a warning.

    Returns:
        The massless links that joints move.
    """
    moved = {
        child.get("link") for joint in root.all("joint") if joint.get("type") != "fixed" for child in joint.all("child")
    }
    carriers: list[str] = []
    balanced: list[Element] = []
    for link in root.all("link"):
        for inertial in link.all("inertial"):
            inertia = next(iter(inertial.all("inertia")), None)
            matrix = None if inertia is None else _matrix(inertia)
            if inertia is None or matrix is None:
                continue
            mass = next((as_number(each.get("value")) for each in inertial.all("mass")), 0.0)
            if not matrix.any():
                if mass == 0.0:
                    link.children.remove(inertial)
                else:
                    _set_moments(inertia, CARRIER_MASS)
            elif not _is_of_a_body(matrix):
                _set_moments(inertia, max(float(np.trace(matrix)) / 3.0, CARRIER_MASS))
                balanced.append(link)
        if link.get("name") in moved and not link.all("inertial"):
            link.children.append(_carrier(link))
            carriers.append(link.get("name"))
    if balanced and not balance:
        names = ", ".join(link.get("name") for link in balanced[:_NAMED])
        names += f" and {len(balanced) - _NAMED} more" if len(balanced) > _NAMED else ""
        message = f"the inertia of {names} is that of no body: each principal moment is at most the sum of the others"
        at = balanced[0].all("inertial")[0].at
        if balance is None:
            report.warning(f"{message}; all three are set to their mean (balance_inertia)", at, "inertia")
        else:
            report.error(f"{message}; mend it, or allow balance_inertia", at, "inertia")
    return carriers


def refuse_undefined(spec: MjSpec, source: ModelSource, carriers: list[str]) -> None:
    """Raise WorldError if the motion of massless links is not determined by what they carry."""
    if not carriers:
        return
    model = spec.compile()
    bodies = [model.body(name).id for name in carriers]
    problems = []
    for joint in undefined_joints(model, model.qpos0, bodies):
        link = model.body(int(model.jnt_bodyid[joint])).name
        message = (
            f"{link}: it has no mass, and nothing that it carries defines how its joint {model.joint(joint).name} "
            "moves; give it an <inertial>, or make the joint fixed"
        )
        where = next((at for at, name in source.places if name == link), source.places[0][0])
        problems.append(Problem(where, "", message))
    refuse_any(problems)


def _matrix(inertia: Element) -> FloatArray | None:
    """Return the inertia (3, 3) of an element, or None if a number is invalid, which MuJoCo reports."""
    xx, yy, zz = (as_number(inertia.get(key, "0")) for key in MOMENTS)
    xy, xz, yz = (as_number(inertia.get(key, "0")) for key in PRODUCTS)
    matrix = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    return matrix if np.isfinite(matrix).all() else None


def _is_of_a_body(matrix: FloatArray) -> bool:
    least, middle, most = np.linalg.eigvalsh(matrix).tolist()
    return bool(least > 0.0 and most <= (least + middle) * (1.0 + _ROUNDING))


def _set_moments(inertia: Element, moment: float) -> None:
    for key in (*MOMENTS, *PRODUCTS):
        at = inertia.attributes[key].at if key in inertia.attributes else inertia.at
        inertia.attributes[key] = XmlAttribute(repr(moment) if key in MOMENTS else "0", at)


def _carrier(link: Element) -> Element:
    moments = {**dict.fromkeys(MOMENTS, repr(CARRIER_MASS)), **dict.fromkeys(PRODUCTS, "0")}
    mass = link.beside("mass", value=repr(CARRIER_MASS))
    return link.beside("inertial", mass, link.beside("inertia", **moments))
