"""Worlds from x_xy XML, the models of the RING toolbox (github.com/simon-bachhuber/ring)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from sim_node.formats.x_xy_attributes import Attributes
from sim_node.formats.xml_roots import XmlFile, xml_reader
from sim_node.text import did_you_mean
from sim_node.world import x_xy
from sim_node.world.bodies import Body, Marker
from sim_node.world.joints import JOINTS
from sim_node.world.model import MIN_STEP_NS, TimeGrid, World
from sim_node.world.physics import Physics
from sim_node.world.problems import Place, Where, quoted
from sim_node.world.readers.report import Report, Setting
from sim_node.world.readers.xml_elements import Element, XmlAttribute
from sim_node.world.shapes import Geometry

BODY = (
    ("name", "joint", "pos", "euler", "quat", "pos_min", "pos_max")
    + ("damping", "armature", "spring_stiff", "spring_zero")
)  # fmt: skip
GEOM = ("type", "mass", "dim", "pos", "euler", "quat", "color", "edge_color")
# What each element may have: attributes, children that are allowed once, and children that are allowed repeatedly.
SCHEMA: dict[str, tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]] = {
    "x_xy": (("model", "name"), ("options", "defaults", "worldbody"), ()),
    "options": (("gravity", "dt"), (), ()),
    "defaults": ((), ("geom", "body"), ()),
    "worldbody": ((), (), ("body", "geom")),
    "body": (BODY, ("omc",), ("body", "geom")),
    "geom": (GEOM, (), ()),
    "omc": (("name", "pos_marker", "pos"), (), ()),
}
DIM_SIZES = {"box": 3, "sphere": 1, "cylinder": 2, "capsule": 2, "xyz": 1}
AXES_SEED = 1


@xml_reader("x_xy")
def read_x_xy(file: XmlFile) -> World:
    """Return the world of an x_xy file. Faults go to the report.

    It is simulated as in the toolbox: semi-implicit Euler at the file's dt, an armature of 1e-6, no contacts.
    """
    _check_schema(file.root, file.report)
    return _Model(file.root, file.report).world(file.path, file.shown)


def _check_schema(element: Element, report: Report) -> None:
    """Report every attribute and child that an element cannot have."""
    attributes, once, often = SCHEMA[element.tag]
    if element.text is not None:
        report.error(f"text between elements: {quoted(element.text.text)}", element.text.at)
    for name, attribute in list(element.attributes.items()):
        if (element.tag, name) == ("geom", "size") and "dim" not in element.attributes:
            report.warning("its name in x_xy is dim, as which it is read", attribute.at, "geom.size")
            element.attributes["dim"] = element.attributes.pop("size")
        elif name not in attributes:
            is_size = (element.tag, name) == ("geom", "size")
            hint = "; its name in x_xy is dim" if is_size else did_you_mean(name, attributes)
            known = f"known: {', '.join(attributes)}" if attributes else "it has none"
            report.error(f"unknown attribute{hint} ({known})", attribute.at, f"{element.tag}.{name}")
    seen: set[str] = set()
    for child in element.children:
        if child.tag not in (*once, *often):
            known = f"known: {', '.join((*once, *often))}" if once or often else "it has none"
            hint = did_you_mean(child.tag, (*once, *often))
            report.error(f"unknown element <{child.tag}>{hint} ({known})", child.at, element.tag)
            continue
        if child.tag in once and child.tag in seen:
            report.error(f"a second <{child.tag}>", child.at, element.tag)
        seen.add(child.tag)
        _check_schema(child, report)


class _Model:
    """A file while it is read: its defaults, the bodies so far, and the random axes of its joints."""

    def __init__(self, root: Element, report: Report) -> None:
        self._root = root
        self._report = report
        defaults = {"geom": _first(root, "defaults", "geom"), "body": _first(root, "defaults", "body")}
        self._defaults = {tag: found.attributes if found else {} for tag, found in defaults.items()}
        self._random = np.random.default_rng(AXES_SEED)
        self._bodies: list[Body] = []

    def world(self, path: Path, shown: Path) -> World:
        """Return the world of the file."""
        root = self._of(self._root, "")
        if "name" in root and "model" in root:
            root.error("name", "cannot be combined with model, which has the same meaning")
        name = root.text("model") or root.text("name")
        if not name:
            root.missing("model")
        time, physics = self._options()
        worldbody = _first(self._root, "worldbody")
        if worldbody is None:
            self._report.error("worldbody is missing", self._root.at, "x_xy")
        else:
            self._read_worldbody(worldbody)
        return World(
            name=name or path.stem,
            fixed_frame=x_xy.FIXED_FRAME,
            time=time,
            physics=physics,
            bodies=tuple(self._bodies),
            source=str(shown),
        )

    def _of(self, element: Element, owner: str, defaults: Mapping[str, XmlAttribute] | None = None) -> Attributes:
        return Attributes(element, owner, self._report, defaults or {})

    def _options(self) -> tuple[TimeGrid, Physics]:
        """Read dt and gravity. In x_xy, gravity is the acceleration that bodies at rest measure: its negative."""
        element = _first(self._root, "options")
        options = self._of(element, "") if element else None
        acceleration = np.array(x_xy.DEFAULT_GRAVITY)
        step_ns = x_xy.DEFAULT_DT_NS
        if options is not None:
            acceleration = options.vector("gravity", 3, acceleration)
            step_ns = options.nanoseconds("dt", step_ns, MIN_STEP_NS)
            if acceleration[2] < 0.0:
                options.warning(
                    "gravity",
                    "points up: x_xy files give the acceleration that bodies at rest measure, 0 0 9.81; change it, "
                    "or set physics.gravity in a world that includes this file",
                )
        place = Place(Where(self._report.file, *(element.at if element else self._root.at)), "options")
        physics = Physics(step_ns, "euler", 0.0 - acceleration, contact=False, armature=x_xy.ARMATURE, place=place)
        fields = {"gravity": ("physics", "gravity"), "dt": ("time", "step_ns")}
        for name, attribute in (element.attributes if element else {}).items():
            if name in fields:
                at = Place(Where(self._report.file, *attribute.at), f"options.{name}")
                value = physics.gravity if name == "gravity" else step_ns
                self._report.settings.append(Setting(at, fields[name], value))
        return TimeGrid(step_ns=step_ns), physics

    def _read_worldbody(self, element: Element) -> None:
        geometry = self._geometry(element, x_xy.WORLD_BODY)
        if geometry:
            place = Place(Where(self._report.file, *element.at), x_xy.WORLD_BODY)
            self._bodies.append(
                Body(x_xy.WORLD_BODY, x_xy.FIXED_FRAME, geometry=geometry, place=place, parent_place=place)
            )
        for child in element.all("body"):
            self._read_body(child, x_xy.FIXED_FRAME)

    def _read_body(self, element: Element, parent: str) -> None:
        name = self._of(element, "").text("name")
        body = self._of(element, name, self._defaults["body"])
        if not name:
            body.missing("name")
            name = "body/{}/{}".format(*element.at)  # so that its contents can be checked
        joint = JOINTS[body.choice("joint", x_xy.joint_names(), "frozen", required=True)]
        axes = joint.draw(self._random) if joint.draw is not None else np.zeros((0, 3))
        per_dof: dict[str, Any] = {}
        for key in ("damping", "armature", "spring_stiff"):
            values = body.vector_or_none(key, joint.qd_size, low=0.0)
            per_dof[key] = None if values is None else x_xy.velocities_from_x_xy(joint, values)
        zero = body.vector_or_none("spring_zero", joint.q_size)
        place = Place(Where(self._report.file, *body.at("name")), f"{name}.name")
        self._bodies.append(
            Body(
                name,
                parent,
                joint.name,
                body.pose(),
                axes,
                self._geometry(element, name),
                spring_zero=None if zero is None else x_xy.positions_from_x_xy(joint, zero),
                position_range=body.position_range(),
                limits=x_xy.default_limits(joint, per_dof["spring_stiff"]),
                draws_axes=joint.draw is not None,
                marker=self._marker(element, name),
                place=place,
                parent_place=place,
                **per_dof,
            )
        )
        for child in element.all("body"):
            self._read_body(child, name)

    def _geometry(self, element: Element, owner: str) -> tuple[Geometry, ...]:
        found = (self._shape(self._of(child, owner, self._defaults["geom"])) for child in element.all("geom"))
        return tuple(shape for shape in found if shape is not None)

    def _shape(self, geom: Attributes) -> Geometry | None:
        errors = len(self._report.errors)
        shape = geom.choice("type", x_xy.SHAPES, "box", required=True)
        size = geom.vector_or_none("dim", DIM_SIZES[shape], low=0.0) if len(self._report.errors) == errors else None
        if "dim" not in geom and shape == "xyz":
            size = np.ones(1)
        elif "dim" not in geom:
            geom.missing("dim")
        elif size is not None and not size.all():
            geom.error("dim", "a size must be above zero")
        mass = 0.0
        if shape != "xyz":
            mass = float(geom.vector("mass", 1, np.zeros(1), low=0.0)[0])
            if "mass" not in geom:
                geom.missing("mass")
        pose = x_xy.shape_pose_from_x_xy(shape, geom.pose())
        colour, edge = geom.colour("color"), geom.text("edge_color") or None
        place = Place(geom.where, geom.key(""))
        if len(self._report.errors) > errors or size is None:
            return None
        return Geometry(shape, size, mass, pose, colour, edge, place=place)

    def _marker(self, element: Element, owner: str) -> Marker | None:
        found = _first(element, "omc")
        if found is None:
            return None
        omc = self._of(found, owner)
        number = omc.vector("pos_marker", 1, np.zeros(1), low=0.0)[0]
        for key in ("name", "pos_marker"):
            if key not in omc:
                omc.missing(key)
        if number % 1.0:
            omc.error("pos_marker", f"a whole number is needed, found {number:g}")
        x, y, z = omc.vector("pos", 3, np.zeros(3)).tolist()
        return Marker(omc.text("name"), int(number), (x, y, z))


def _first(element: Element, *tags: str) -> Element | None:
    """Return the first child with the first tag, its first child with the second tag, and so on."""
    for tag in tags:
        found = element.all(tag)
        if not found:
            return None
        element = found[0]
    return element
