"""URDF models."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from pathlib import Path

import numpy as np

from sim_node.formats.assets import Assets
from sim_node.formats.mjcf import FIXED_FRAME, model_of
from sim_node.formats.xml_roots import XmlFile, xml_reader
from sim_node.geometry.arrays import FloatArray
from sim_node.world.bodies import MESHES, MESHES_SHOWN, Geometry
from sim_node.world.locate import LocateError
from sim_node.world.model import World
from sim_node.world.mujoco_source import mujoco_fault
from sim_node.world.problems import WorldError, quoted
from sim_node.world.readers import numbers
from sim_node.world.readers.files import Roots
from sim_node.world.readers.numbers import as_number
from sim_node.world.readers.xml_elements import Attribute, Element, escape, unescape

_FILENAME = re.compile(r"(\bfilename\s*=\s*)([\"'])(.*?)\2", re.DOTALL)


def with_uris(text: str, path: Path, roots: Roots, folder: str = "") -> str:
    """A URDF text whose relative file names, below `folder` beside the model at `path`, are file:// URIs.

    package:// URIs stay, and so does what leads to no file, as the library of a plugin.
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


# Of a robot, what moves, weighs and touches: transmissions, plugins and the like are for others.
PARTS = ("link", "joint", "material")
SHOWN_ONLY = (*MESHES_SHOWN, ".dae")
# Links that are fixed stay frames, what is drawn is kept, and a link without <inertial> weighs nothing, as in ROS.
COMPILER = {"fusestatic": "false", "discardvisual": "false", "inertiafromgeom": "false"}


@xml_reader("robot")
def read_urdf(file: XmlFile) -> World | None:
    """The world of one URDF file: its root link stands still in the fixed frame; None with the faults in the report."""
    if fault := mujoco_fault():
        file.report.error(f"models need MuJoCo, {fault}")
        return None
    errors = len(file.report.errors)
    root = Element("robot", file.root.at, dict(file.root.attributes), file=file.root.file)
    root.children = [_compiler(file.root), *(part for part in file.root.children if part.tag in PARTS)]
    _refuse_xacro(file)
    assets = Assets(file)
    shown = _take_meshes(root, file, assets)
    for element in root.descendants():
        # Textures, and what stands where URDF has no mesh: MuJoCo is told of no file but those.
        if element.get("filename") not in assets.contents:
            element.attributes.pop("filename", None)
    _refuse_unmeant(root, file)
    if len(file.report.errors) > errors:
        return None
    try:
        model, _ = model_of(root, file, assets, {})
    except WorldError as error:
        file.report.errors.extend(error.problems)
        return None
    text = with_uris(file.path.read_text(encoding="utf-8-sig"), file.path, file.roots, _mesh_folder(file))
    model = replace(model, mimics=tuple(_mimics(root)), shown=tuple(shown), options={}, urdf=text)
    return World(
        name=file.root.get("name") or file.path.stem, fixed_frame=FIXED_FRAME, models=(model,), source=str(file.shown)
    )


def _compiler(root: Element) -> Element:
    """The robot's <mujoco> extension, its <compiler> completed."""
    given = {key: a for part in root.all("mujoco") for c in part.all("compiler") for key, a in c.attributes.items()}
    for key in ("meshdir", "texturedir", "assetdir", "strippath"):
        given.pop(key, None)
    wanted = {key: Attribute(text, root.at) for key, text in COMPILER.items()}
    wanted.update({key: value for key, value in given.items() if key != "fusestatic"})
    return Element("mujoco", root.at, {}, [Element("compiler", root.at, wanted, file=root.file)], file=root.file)


def _refuse_xacro(file: XmlFile) -> None:
    for element in file.root.descendants():
        if element.tag.startswith("xacro:"):
            message = f"<{element.tag}>: this is a xacro file; write it out first: xacro {file.path.name} > robot.urdf"
            file.report.error(message, element.at)
            return


def _take_meshes(root: Element, file: XmlFile, assets: Assets) -> list[tuple[str, Geometry]]:
    """Reads the meshes that MuJoCo takes; those that can only be shown go from the elements to the list returned."""
    folder = _mesh_folder(file)
    shown: list[tuple[str, Geometry]] = []
    for link in root.all("link"):
        for part in list(link.children):
            for mesh in [
                m for geometry in part.all("geometry") for m in geometry.all("mesh") if "filename" in m.attributes
            ]:
                suffix = Path(mesh.get("filename")).suffix.lower()
                if suffix in MESHES:
                    assets.take(mesh, "filename", folder, key=mesh.get("scale"))
                elif suffix in SHOWN_ONLY and (part.tag == "visual" or suffix != ".dae"):
                    path = assets.find(mesh, "filename", folder)
                    if path is not None:
                        shown.append((link.get("name"), _shown(part, mesh, path)))
                        if part.tag == "collision":
                            message = f"a {suffix} mesh is shown and not collided; STL and OBJ are"
                            file.report.warning(message, mesh.attributes["filename"].at, link.get("name"))
                    link.children.remove(part)
                else:
                    message = f"{quoted(mesh.get('filename'))} cannot be collided; allowed: {', '.join(MESHES)}"
                    file.report.error(message, mesh.attributes["filename"].at, f"{link.get('name')}.{part.tag}")
    return shown


def _mesh_folder(file: XmlFile) -> str:
    return next((c.get("meshdir") for part in file.root.all("mujoco") for c in part.all("compiler")), "")


def _shown(part: Element, mesh: Element, path: Path) -> Geometry:
    origin = next(iter(part.all("origin")), None)
    position, rpy = (_numbers(origin, key, 0.0) for key in ("xyz", "rpy"))
    pose = np.concatenate([position, numbers.from_euler(rpy)])
    return Geometry("mesh", _numbers(mesh, "scale", 1.0), pose=pose, file=path)


def _numbers(element: Element | None, key: str, default: float) -> FloatArray:
    """Three numbers; the default where there are none."""
    words = element.get(key).split() if element is not None else []
    numbers = np.array([as_number(word) for word in words])
    return numbers if len(numbers) == 3 and np.isfinite(numbers).all() else np.full(3, default)


def _refuse_unmeant(root: Element, file: XmlFile) -> None:
    """What MuJoCo would take for something else than URDF means."""
    for joint in root.all("joint"):
        name = joint.get("name")
        for axis in joint.all("axis"):
            numbers = [as_number(word) for word in axis.get("xyz").split()]
            if len(numbers) == 3 and not math.hypot(*numbers) > 0.0:
                file.report.error("an axis needs a direction", axis.at, f"{name}.axis")
        if joint.get("type") in ("revolute", "prismatic"):
            limit = next(iter(joint.all("limit")), None)
            if limit is None:
                message = f"a {joint.get('type')} joint needs <limit>; a joint without is continuous"
                file.report.error(message, joint.at, name)
            elif as_number(limit.get("lower", "0")) > as_number(limit.get("upper", "0")):
                message = f"lower {limit.get('lower', '0')} is above upper {limit.get('upper', '0')}"
                file.report.error(message, limit.at, f"{name}.limit")


def _mimics(root: Element) -> list[tuple[str, str, float, float]]:
    found = []
    for joint in root.all("joint"):
        for mimic in joint.all("mimic"):
            multiplier, offset = as_number(mimic.get("multiplier", "1")), as_number(mimic.get("offset", "0"))
            found.append((joint.get("name"), mimic.get("joint"), multiplier, offset))
    return found
