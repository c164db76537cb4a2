"""Worlds from x_xy XML, the models of the RING toolbox (github.com/simon-bachhuber/ring).

An x_xy quaternion is [w x y z] and passive: it maps the parent's coordinates into the child. A cylinder is along x.
Invalid values are reported and replaced, so that reading continues.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from sim_node.formats.xml_roots import XmlFile, xml_reader
from sim_node.spatial.geometry import poses, quaternions
from sim_node.spatial.geometry.arrays import FloatArray, IntArray
from sim_node.text import did_you_mean
from sim_node.world.bodies import Body, Marker
from sim_node.world.bounds import MAX_DISTANCE, MAX_STAMP_NS
from sim_node.world.joint_fields import balls
from sim_node.world.joints import JOINTS, JointType
from sim_node.world.model import MIN_STEP_NS, TimeGrid, World
from sim_node.world.physics import Physics
from sim_node.world.problems import Place, Where, counted, quoted
from sim_node.world.readers import numbers
from sim_node.world.readers.numbers import as_nanoseconds, as_number
from sim_node.world.readers.report import LineColumn, Report, Setting
from sim_node.world.readers.xml_elements import Element, XmlAttribute
from sim_node.world.readers.yaml_poses import NORMALISED, SILENT
from sim_node.world.shapes import Geometry

FIXED_FRAME = "world"
# The body of geometry that has no body of its own.
WORLD_BODY = "worldbody"
DEFAULT_DT_NS = 10_000_000
DEFAULT_GRAVITY = (0.0, 0.0, 9.81)
# The armature that the toolbox's engine adds to the mass matrix.
ARMATURE = 1e-6
# Limit of the second rotation of rr_imp, rad, as in the toolbox's register_rr_imp_joint.
IMPERFECTION = np.radians(7.5)
SHAPES = ("box", "sphere", "cylinder", "capsule", "xyz")
# From the axes of an x_xy cylinder, along x, to those of sim_node, along z.
_LYING = np.array([0.0, 0.0, 0.0, 0.0, np.sqrt(0.5), 0.0, np.sqrt(0.5)])

COLOURS: dict[str, tuple[float, float, float]] = {
    "black": (0.0, 0.0, 0.0),
    "white": (1.0, 1.0, 1.0),
    "gray": (0.5, 0.5, 0.5),
    "grey": (0.5, 0.5, 0.5),
    "silver": (0.75, 0.75, 0.75),
    "red": (1.0, 0.0, 0.0),
    "green": (0.0, 0.5, 0.0),
    "lime": (0.0, 1.0, 0.0),
    "blue": (0.0, 0.0, 1.0),
    "navy": (0.0, 0.0, 0.5),
    "yellow": (1.0, 1.0, 0.0),
    "orange": (1.0, 0.647, 0.0),
    "gold": (1.0, 0.843, 0.0),
    "brown": (0.647, 0.165, 0.165),
    "purple": (0.5, 0.0, 0.5),
    "pink": (1.0, 0.753, 0.796),
    "magenta": (1.0, 0.0, 1.0),
    "cyan": (0.0, 1.0, 1.0),
    "teal": (0.0, 0.5, 0.5),
    "olive": (0.5, 0.5, 0.0),
    "maroon": (0.5, 0.0, 0.0),
}

_ROTATIONS = ("euler", "quat")
# Joint attributes with one number per degree of freedom.
PER_DOF = ("damping", "armature", "spring_stiff")
BODY = ("name", "joint", "pos", *_ROTATIONS, "pos_min", "pos_max", *PER_DOF, "spring_zero")
GEOM = ("type", "mass", "dim", "pos", *_ROTATIONS, "color", "edge_color")
# Allowed content of each element: attributes, children that may occur once, and children that may be repeated.
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


def joint_names() -> tuple[str, ...]:
    """Return the joint types that files may use: all that need no axis from the body."""
    return tuple(name for name, joint in JOINTS.items() if joint.draw is not None or not joint.open_axes)


def quaternion_from_x_xy(quaternion: FloatArray) -> FloatArray:
    """Convert a passive [w x y z] to [x y z w]."""
    w, x, y, z = quaternion
    return np.array([-x, -y, -z, w])


def quaternion_to_x_xy(quaternion: FloatArray) -> FloatArray:
    """Convert [x y z w] to a passive [w x y z]."""
    x, y, z, w = quaternion
    return np.array([w, -x, -y, -z])


def shape_pose_from_x_xy(shape: str, pose: FloatArray) -> FloatArray:
    """Convert the pose (7,) of a shape whose cylinders are along x to one whose cylinders are along z."""
    return poses.compose(pose, _LYING) if shape in ("cylinder", "capsule") else pose


def shape_pose_to_x_xy(shape: str, pose: FloatArray) -> FloatArray:
    """Convert the pose (7,) of a shape whose cylinders are along z to one whose cylinders are along x."""
    return poses.compose(pose, poses.invert(_LYING)) if shape in ("cylinder", "capsule") else pose


def velocities_from_x_xy(joint: JointType, values: FloatArray) -> FloatArray:
    """Reorder values per degree of freedom (qd_size,) from the order of a joint's parts in files."""
    found = np.empty_like(values)
    found[_places(joint, [part.qd_size for part in joint.parts])] = values
    return found


def velocities_to_x_xy(joint: JointType, values: FloatArray) -> FloatArray:
    """Reorder values per degree of freedom (qd_size,) to the order of a joint's parts in files."""
    return values[_places(joint, [part.qd_size for part in joint.parts])]


def positions_from_x_xy(joint: JointType, values: FloatArray) -> FloatArray:
    """Convert q (q_size,) from a file: order and quaternions."""
    found = np.empty_like(values)
    found[_places(joint, [part.q_size for part in joint.parts])] = values
    for at in balls(joint):
        found[at : at + 4] = quaternion_from_x_xy(found[at : at + 4])
    return found


def positions_to_x_xy(joint: JointType, values: FloatArray) -> FloatArray:
    """Convert q (q_size,) to that of a file: order and quaternions."""
    turned = np.array(values)
    for at in balls(joint):
        turned[at : at + 4] = quaternion_to_x_xy(turned[at : at + 4])
    return turned[_places(joint, [part.q_size for part in joint.parts])]


def _places(joint: JointType, sizes: Sequence[int]) -> IntArray:
    """Return the indices of a file's numbers among those of all parts of a joint, given the sizes of the parts."""
    ends = np.cumsum(sizes, dtype=np.int64)
    order = joint.x_xy_order or range(len(sizes))
    return np.concatenate([np.zeros(0, dtype=np.int64), *(np.arange(ends[k] - sizes[k], ends[k]) for k in order)])


def default_limits(joint: JointType, spring_stiff: FloatArray | None) -> FloatArray | None:
    """Return the default limits (P, 2) of a joint: those of rr_imp, whose second rotation is a hinge's imperfection.

    The toolbox draws it within 7.5 degrees. A joint with its own spring is kept small by that instead.
    """
    if joint.name != "rr_imp" or (spring_stiff is not None and spring_stiff[1] > 0.0):
        return None
    return np.array([[-np.inf, np.inf], [-IMPERFECTION, IMPERFECTION]])


class Attributes:
    """The attributes of an element, with the file's defaults. owner: the body, for messages."""

    def __init__(self, element: Element, owner: str, report: Report, defaults: Mapping[str, XmlAttribute]) -> None:
        self._element = element
        self._owner = owner
        self._report = report
        own = element.attributes
        # An element's own rotation replaces a default one in any representation.
        hidden = _ROTATIONS if any(key in own for key in _ROTATIONS) else ()
        self._attributes = {**{key: value for key, value in defaults.items() if key not in hidden}, **own}

    def __contains__(self, name: str) -> bool:
        return name in self._attributes

    @property
    def where(self) -> Where:
        """The location of the element."""
        return Where(self._report.file, *self._element.at)

    def key(self, name: str) -> str:
        """Return the name of an attribute in messages, as in pendulum.geom.dim."""
        tag = "" if self._element.tag == "body" else self._element.tag
        return ".".join(part for part in (self._owner, tag, name) if part)

    def at(self, name: str) -> LineColumn:
        """Return the location of an attribute, or of the element if it has no such attribute."""
        return self._attributes[name].at if name in self._attributes else self._element.at

    def error(self, name: str, message: str) -> None:
        """Report an error of an attribute."""
        self._report.error(message, self.at(name), self.key(name))

    def warning(self, name: str, message: str) -> None:
        """Report something that was corrected."""
        self._report.warning(message, self.at(name), self.key(name))

    def missing(self, name: str) -> None:
        """Report a missing attribute."""
        self._report.error(f"{name} is missing", self._element.at, self.key("") or self._element.tag)

    def text(self, name: str) -> str:
        """Return the text of an attribute and mark it as read; empty if it is missing."""
        found = self._attributes.get(name)
        if found is None:
            return ""
        found.read = True
        return found.text.strip()

    def choice(self, name: str, allowed: Iterable[str], default: str, *, required: bool = False) -> str:
        """Return one of the allowed words."""
        allowed = list(allowed)
        if name not in self._attributes:
            if required:
                self.missing(name)
            return default
        word = self.text(name)
        if word in allowed:
            return word
        self.error(name, f"found {quoted(word)}; allowed: {', '.join(allowed)}{did_you_mean(word, allowed)}")
        return default

    def vector_or_none(self, name: str, size: int, low: float = -MAX_DISTANCE) -> FloatArray | None:
        """Return `size` numbers in [low, MAX_DISTANCE], separated by spaces; None if they are missing or invalid."""
        if name not in self._attributes:
            return None
        words = self.text(name).split()
        if len(words) != size:
            self.error(name, f"{counted(size, 'number')} {'is' if size == 1 else 'are'} needed, found {len(words)}")
            return None
        numbers = [as_number(word) for word in words]
        for word, number in zip(words, numbers, strict=True):
            if math.isnan(number):
                self.error(name, f"a number is needed, found {quoted(word)}")
                return None
            if not low <= number <= MAX_DISTANCE:
                self.error(name, f"{word} is out of range; allowed: {low:g} to {MAX_DISTANCE:g}")
                return None
        return np.array(numbers)

    def vector(self, name: str, size: int, default: FloatArray, low: float = -MAX_DISTANCE) -> FloatArray:
        """Return numbers as vector_or_none does, or the default."""
        found = self.vector_or_none(name, size, low)
        return default if found is None else found

    def nanoseconds(self, name: str, default: int, low_ns: int) -> int:
        """Return decimal seconds as whole nanoseconds."""
        if self.vector_or_none(name, 1) is None:
            return default
        nanoseconds = as_nanoseconds(self.text(name))
        if nanoseconds is None or not low_ns <= nanoseconds <= MAX_STAMP_NS:
            allowed = f"{low_ns / 1e9:g} to {MAX_STAMP_NS // 1_000_000_000}"
            self.error(name, f"{self.text(name)} s is out of range; allowed: {allowed} s")
            return default
        return nanoseconds

    def pose(self) -> FloatArray:
        """Return pos with euler (degrees, about the parent's x, then y, then z) or quat (passive [w x y z])."""
        pose = np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0])
        pose[:3] = self.vector("pos", 3, pose[:3])
        if all(key in self._element.attributes for key in _ROTATIONS):
            self.error("quat", "cannot be combined with euler; give one of them")
        degrees, quaternion = self.vector_or_none("euler", 3), self.vector_or_none("quat", 4)
        if quaternion is not None:
            pose[3:] = self._rotation(quaternion)
        elif degrees is not None:
            pose[3:] = numbers.from_euler(np.radians(degrees))
        return pose

    def _rotation(self, quaternion: FloatArray) -> FloatArray:
        norm = float(np.linalg.norm(quaternion))
        if norm == 0.0 or abs(norm - 1.0) > NORMALISED:
            self.error("quat", f"norm is {norm:.4g}, a rotation needs 1")
            return np.array([0.0, 0.0, 0.0, 1.0])
        if abs(norm - 1.0) > SILENT:
            self.warning("quat", f"norm is {norm:.7g}; normalised to 1")
        return quaternions.normalise(quaternion_from_x_xy(quaternion))

    def position_range(self) -> FloatArray | None:
        """Return pos_min and pos_max (2, 3), which must differ. A missing one is replaced by pos."""
        given = [key for key in ("pos_min", "pos_max") if key in self._attributes]
        if not given:
            return None
        pos = self._vector_silently("pos")
        lowest, highest = (self.vector_or_none(key, 3) if key in given else pos for key in ("pos_min", "pos_max"))
        if lowest is None or highest is None:
            return None
        if np.array_equal(lowest, highest):
            self.error(given[-1], f"equals {'pos_min' if len(given) == 2 else 'pos'}; use pos for a fixed position")
        elif np.any(lowest > highest):
            below = "is below pos_min" if len(given) == 2 else "is below pos"
            self.error(given[-1], "is above pos" if given == ["pos_min"] else below)
        return np.array([lowest, highest])

    def _vector_silently(self, name: str) -> FloatArray:
        """Return three numbers; zeros if they are missing or invalid, which is reported elsewhere."""
        numbers = np.array([as_number(word) for word in self.text(name).split()])
        return numbers if len(numbers) == 3 and np.isfinite(numbers).all() else np.zeros(3)

    def colour(self, name: str) -> FloatArray | None:
        """Return a named colour, or red, green, blue in 0 to 1. An unknown name is ignored with a warning."""
        text = self.text(name)
        if not text:
            return None
        if math.isnan(as_number(text.split()[0])):
            # The toolbox's own examples use names of an experiment.
            rgb = COLOURS.get(text.lower().removeprefix("dustin_exp_"))
            if rgb is None:
                self.warning(name, f"unknown colour {quoted(text)}{did_you_mean(text, COLOURS)}; it is ignored")
                return None
        else:
            found = self.vector_or_none(name, 4 if len(text.split()) == 4 else 3)
            if found is None:
                return None
            if not all(0.0 <= part <= 1.0 for part in found.tolist()):
                self.error(name, f"{text} is out of range; allowed: 0 to 1")
                return None
            rgb = tuple(found.tolist())
        return np.array([*rgb, 1.0][:4])


@xml_reader("x_xy")
def read_x_xy(file: XmlFile) -> World:
    """Return the world of an x_xy file. Errors are reported.

    It is simulated as in the toolbox: semi-implicit Euler at the file's dt, an armature of 1e-6, no contacts.
    """
    _check_schema(file.root, file.report)
    return _Model(file.root, file.report).world(file.path, file.shown)


def _check_schema(element: Element, report: Report) -> None:
    """Report every attribute and child that an element must not have."""
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
    """A file being read: its defaults, the bodies so far, and the random axes of its joints."""

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
            fixed_frame=FIXED_FRAME,
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
        acceleration = np.array(DEFAULT_GRAVITY)
        step_ns = DEFAULT_DT_NS
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
        physics = Physics(step_ns, "euler", 0.0 - acceleration, contact=False, armature=ARMATURE, place=place)
        fields = {"gravity": ("physics", "gravity"), "dt": ("time", "step_ns")}
        for name, attribute in (element.attributes if element else {}).items():
            if name in fields:
                at = Place(Where(self._report.file, *attribute.at), f"options.{name}")
                value = physics.gravity if name == "gravity" else step_ns
                self._report.settings.append(Setting(at, fields[name], value))
        return TimeGrid(step_ns=step_ns), physics

    def _read_worldbody(self, element: Element) -> None:
        geometry = self._geometry(element, WORLD_BODY)
        if geometry:
            place = Place(Where(self._report.file, *element.at), WORLD_BODY)
            self._bodies.append(Body(WORLD_BODY, FIXED_FRAME, geometry=geometry, place=place, parent_place=place))
        for child in element.all("body"):
            self._read_body(child, FIXED_FRAME)

    def _read_body(self, element: Element, parent: str) -> None:
        name = self._of(element, "").text("name")
        body = self._of(element, name, self._defaults["body"])
        if not name:
            body.missing("name")
            name = "body/{}/{}".format(*element.at)  # so that its contents can be checked
        joint = JOINTS[body.choice("joint", joint_names(), "frozen", required=True)]
        axes = joint.draw(self._random) if joint.draw is not None else np.zeros((0, 3))
        per_dof: dict[str, Any] = {}
        for key in PER_DOF:
            values = body.vector_or_none(key, joint.qd_size, low=0.0)
            per_dof[key] = None if values is None else velocities_from_x_xy(joint, values)
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
                spring_zero=None if zero is None else positions_from_x_xy(joint, zero),
                position_range=body.position_range(),
                limits=default_limits(joint, per_dof["spring_stiff"]),
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
        shape = geom.choice("type", SHAPES, "box", required=True)
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
        pose = shape_pose_from_x_xy(shape, geom.pose())
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
