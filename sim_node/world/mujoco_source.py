"""Import of MuJoCo, and models as MuJoCo reads them."""

from __future__ import annotations

import importlib
import os
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from sim_node.packages import how_to_install, wrong_version
from sim_node.world.fields import compared
from sim_node.world.image_textures import TEXTURED, set_texture
from sim_node.world.problems import NOWHERE, Problem, Where, WorldError
from sim_node.world.readers.xml_elements import quoteattr

if TYPE_CHECKING:
    from mujoco import MjsBody, MjSpec

    from sim_node.world.readers.xml_elements import Element

# A geom group that is not drawn by default: MuJoCo draws groups 0 to 2.
HIDDEN_GROUP = 3
VARIABLE = "MUJOCO_GL"
# OpenGL back ends, headless ones first, and their packages in Debian and Ubuntu.
OPENGL = {"egl": "libegl1 libgl1-mesa-dri libopengl0", "osmesa": "libosmesa6", "glfw": "libglfw3"}
ALLOWED = f"{', '.join(OPENGL)}, off (no rendering), or unset"


def without_opengl(reason: str) -> str:
    """Return the message for a machine on which EGL, which rendering needs, cannot be loaded.

    reason: The message of its loader.
    """
    # PyOpenGL's message for a library that is not installed means nothing to users.
    detail = "" if "'NoneType' object has no attribute" in reason else f": {reason}"
    return f"rendering needs OpenGL through EGL{detail}; on Debian and Ubuntu: apt install {OPENGL['egl']}"


def mujoco_fault() -> str:
    """Return why MuJoCo cannot be used, to follow `bodies need MuJoCo, `; empty if it can.

    Call this before the first import of MuJoCo.
    """
    try:
        with _glfw_when_used():
            import mujoco
    except ImportError as error:
        return f"which cannot be imported: {how_to_install(error)}"
    except Exception as error:  # the back end in MUJOCO_GL may raise anything if a library is missing
        chosen = os.environ.get(VARIABLE, "")
        if not chosen:
            raise
        known = OPENGL.get(chosen.lower().strip())
        reason = f"its libraries cannot be loaded (apt install {known})" if known else str(error)
        return f"which cannot be imported with {VARIABLE}={chosen}: {reason}; allowed: {ALLOWED}"
    wrong = wrong_version("mujoco", mujoco.__version__)
    return f"but {wrong}" if wrong else ""


class _Glfw(ModuleType):
    """Proxy for the module glfw, which imports it on first use.

    MuJoCo imports glfw for windows, which are seldom opened. That takes 0.2 s: glfw starts a Python process for each
    library that it finds, only to read its version, and cffi creates a C parser.
    """

    def __getattr__(self, name: str) -> object:
        if name.startswith("__"):  # requested by the import system
            raise AttributeError(name)
        return getattr(importlib.import_module("glfw"), name)


@contextmanager
def _glfw_when_used() -> Iterator[None]:
    """Defer MuJoCo's import of glfw, unless MUJOCO_GL is set: then, whether its back end works is found out now."""
    if "glfw" in sys.modules or os.environ.get(VARIABLE):
        yield
        return
    stand_in = sys.modules["glfw"] = _Glfw("glfw")
    try:
        yield
    finally:
        if sys.modules.get("glfw") is stand_in:
            del sys.modules["glfw"]


def need_mujoco(source: str) -> None:
    """Raise WorldError if MuJoCo, which the bodies of a world need, cannot be imported."""
    if fault := mujoco_fault():
        raise WorldError([Problem(Where(source), "bodies", f"bodies need MuJoCo, {fault}")])


_LINE = re.compile(r",? line (\d+)(, column \d+)?")
_NAME = re.compile(r"name '([^']+)'")
_NOISE = re.compile(
    r"^(XML )?Error: |\nThe static bodies of the spec were fused.*|Element name '', id -?\d+", re.DOTALL
)


@compared
class ModelSource:
    """A model as MuJoCo reads it. MuJoCo opens no files: everything that the model refers to is contained here.

    text: MJCF or URDF with one line per element; places: location and name of the element on each line. includes:
    models in the model, by their names in the text; assets: meshes, textures and height fields, likewise.
    """

    text: str
    places: tuple[tuple[Where, str], ...]
    includes: Mapping[str, bytes]
    assets: Mapping[str, bytes]

    @classmethod
    def of(cls, root: Element, includes: Mapping[str, bytes], assets: Mapping[str, bytes]) -> ModelSource:
        """Return the source of an element and everything below it, as read."""
        places: list[tuple[Where, str]] = []
        text = "".join(_lines(root, places))
        return cls(text, tuple(places), includes, assets)

    @property
    def is_urdf(self) -> bool:
        """Whether the text is URDF."""
        return self.text.startswith("<robot")

    def problem(self, message: str) -> Problem:
        """Return a message of MuJoCo as a problem at the location that the message refers to."""
        where = self.places[0][0]
        line, name = _LINE.search(message), _NAME.search(message)
        if line and 0 < int(line[1]) <= len(self.places):
            where = self.places[int(line[1]) - 1][0]
        elif name:
            where = next((at for at, named in self.places if named == name[1]), where)
        return Problem(where, "", message_of(message))


def message_of(message: str) -> str:
    """Return a message of MuJoCo on one line, without its own locations."""
    text = _NOISE.sub("", _LINE.sub("", message).strip())
    return "MuJoCo: " + "; ".join(filter(None, map(str.strip, text.splitlines())))


def spec_of(source: ModelSource) -> MjSpec:
    """Return MuJoCo's specification of a model, with a name for every body, joint, actuator and equality constraint.

    A joint without a name gets that of its body. Raises WorldError with MuJoCo's message at its location.
    """
    import mujoco

    with refusals(source):
        spec = mujoco.MjSpec.from_string(source.text, include=dict(source.includes), assets=dict(source.assets))
    if source.is_urdf:
        _complete_urdf(spec, source.assets)
    if spec.compiler.settotalmass > 0.0:
        _scale_masses(spec)
    if spec.compiler.fitaabb or "<lengthrange" in source.text:
        with refusals(source):
            _settle(spec)
    for kind, elements in (("body", spec.bodies), ("actuator", spec.actuators), ("equality", spec.equalities)):
        names = {element.name for element in elements}
        for index, element in enumerate(elements):
            element.name = element.name or _unused(f"{kind}{index}", names)
    joints = {joint.name for joint in spec.joints}
    for body in spec.bodies:
        for joint in body.joints:
            joint.name = joint.name or _unused(body.name, joints)
    return spec


def _complete_urdf(spec: MjSpec, assets: Mapping[str, bytes]) -> None:
    """Set what MuJoCo does not read from URDF: the inertia of meshes, what is drawn, and textures."""
    import mujoco

    for mesh in spec.meshes:
        # Links define their own inertia, and visual meshes need not be closed.
        mesh.inertia = mujoco.mjtMeshInertia.mjMESH_INERTIA_SHELL
    for body in spec.bodies:
        _hide_covered(body)
    for geom in spec.geoms:
        if geom.name.startswith(TEXTURED):
            set_texture(spec, geom, assets)


def _hide_covered(body: MjsBody) -> None:
    """Hide the collision shapes of a link that has visual shapes."""
    touching = [geom for geom in body.geoms if geom.contype or geom.conaffinity]
    if len(touching) < len(body.geoms):
        for geom in touching:
            geom.group = HIDDEN_GROUP


def _settle(spec: MjSpec) -> None:
    """Set what depends on the model's own compiler settings: shapes fitted to meshes, and length ranges of actuators.

    As part of another model, it is compiled with the settings of that model.
    """
    import mujoco

    found = spec.copy()
    compiled = found.compile()
    for geom, like in zip(spec.geoms, found.geoms, strict=True):
        if geom.meshname and geom.type not in (mujoco.mjtGeom.mjGEOM_MESH, mujoco.mjtGeom.mjGEOM_SDF):
            geom.meshname = ""
            geom.size, geom.pos = compiled.geom_size[like.id], compiled.geom_pos[like.id]
            geom.quat = compiled.geom_quat[like.id]
    for actuator, like in zip(spec.actuators, found.actuators, strict=True):
        actuator.lengthrange = compiled.actuator_lengthrange[like.id]


def _scale_masses(spec: MjSpec) -> None:
    """Scale the masses of a model to its `settotalmass`, so that it also applies as part of another model."""
    total = spec.compiler.settotalmass
    spec.compiler.settotalmass = -1.0
    factor = total / float(spec.copy().compile().body_mass.sum())
    for geom in spec.geoms:
        if np.isnan(geom.mass):
            geom.density *= factor
        else:
            geom.mass *= factor
    for body in spec.bodies:
        if body.explicitinertial:
            body.mass *= factor
            body.inertia *= factor
            body.fullinertia *= factor


@contextmanager
def refusals(source: ModelSource) -> Iterator[None]:
    """Convert exceptions of MuJoCo to WorldError."""
    import mujoco

    try:
        yield
    except (ValueError, TypeError, OverflowError, MemoryError, mujoco.FatalError) as error:
        raise WorldError([source.problem(str(error) or type(error).__name__)]) from None


def default_options() -> dict[str, Any]:
    """Return MuJoCo's default options by name."""
    import mujoco

    option = mujoco.MjSpec().option
    names = (name for name in dir(option) if not name.startswith("_"))
    return {name: np.array(value) if np.ndim(value := getattr(option, name)) else value for name in names}


def integrator_number(name: str) -> int:
    """Return the value of an integrator in MuJoCo's enumeration."""
    import mujoco

    return int(getattr(mujoco.mjtIntegrator, f"mjINT_{name.upper()}"))


def _unused(name: str, used: set[str]) -> str:
    """Return the name, with a number appended if it is in use, and mark the result as used."""
    free, number = name, 1
    while free in used:
        number += 1
        free = f"{name}#{number}"
    used.add(free)
    return free


def _lines(root: Element, places: list[tuple[Where, str]]) -> Iterator[str]:
    # MuJoCo names URDF meshes after their files.
    name = root.get("name") or root.get("filename").partition(".")[0]
    places.append((Where(root.file, *root.at) if root.file else NOWHERE, name))
    for value in root.attributes.values():
        value.read = True
    attributes = "".join(f" {key}={quoteattr(value.text)}" for key, value in root.attributes.items())
    yield f"<{root.tag}{attributes}>"
    for child in root.children:
        yield "\n"
        yield from _lines(child, places)
    yield f"</{root.tag}>"
