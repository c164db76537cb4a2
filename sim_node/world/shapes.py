"""Shapes of bodies and their masses: fields, their format in files, and rules."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from sim_node.spatial.geometry import poses, quaternions
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.world.bounds import MAX_DISTANCE, MAX_MASS
from sim_node.world.declared import BAD, Fault, Refer, Spread, declared, given, place_of, rule, settle
from sim_node.world.fields import floats
from sim_node.world.mesh_files import MESHES_SHOWN, mesh_fault, triangles_of
from sim_node.world.problems import NO_PLACE, Place
from sim_node.world.quantities import ORIGIN, POINT, Colour, FileOf, Inlined, Number, PartOf, Plain, Word
from sim_node.world.readers.keys import Form, Keys, either, listing, number, one_or_each, text, vector, word
from sim_node.world.readers.yaml_nodes import Mapping, Scalar, Sequence
from sim_node.world.readers.yaml_poses import SCALE, UNMOVED, Pose, scale_of
from sim_node.world.readers.yaml_values import TRUE, Table, Value
from sim_node.world.surfaces import ONLY, Material, Surface
from sim_node.world.triangles import Triangles, hull_of, solid_of
from sim_node.world.writers.values import one_or_more, plain

# Names of the sizes of each shape (m; full lengths). Cylinders and capsules are along z, as is the normal of a plane.
SHAPES: dict[str, tuple[str, ...]] = {
    "box": ("length_x", "length_y", "length_z"),
    "sphere": ("radius",),
    "cylinder": ("radius", "length"),
    "capsule": ("radius", "length without the caps"),
    "ellipsoid": ("radius_x", "radius_y", "radius_z"),
    "plane": (),
    # The triangles of a file, in its own units times these factors.
    "mesh": ("scale_x", "scale_y", "scale_z"),
    # Three arrows that show a frame, without mass and contact.
    "xyz": ("length",),
}
SHAPES_WITHOUT_MASS = ("plane", "xyz")
# Volume, m^3, as a function of the sizes of a shape in order.
VOLUMES: dict[str, Callable[..., float]] = {
    "box": lambda x, y, z: x * y * z,
    "sphere": lambda r: 4.0 / 3.0 * math.pi * r**3,
    "cylinder": lambda r, length: math.pi * r**2 * length,
    "capsule": lambda r, length: math.pi * r**2 * (length + 4.0 / 3.0 * r),
    "ellipsoid": lambda x, y, z: 4.0 / 3.0 * math.pi * x * y * z,
}
# Minimum size, m: half of a denormal number may be zero, which MuJoCo rejects.
MIN_SIZE = 1e-12
MASS = Number(0.0, MAX_MASS)
TRIANGLE_KEYS = Keys(
    {
        "vertices": listing("Positions [x, y, z], m.", vector("", 3, MAX_DISTANCE)),
        "faces": listing("Three vertices each, from 0, counterclockwise seen from outside.", vector("", 3)),
    },
    required=("vertices", "faces"),
)

# Thickness of a box that represents a finite plane, m.
SHEET = 1e-3


class Mesh(FileOf):
    """The file of a mesh, or its triangles."""

    def form(self, about: str) -> Form:
        """Return the form of a path, or of a mapping."""
        return either(about, text(""), TRIANGLE_KEYS)

    def read(self, value: Value, context: Any) -> Any:
        """Read a file, or vertices and faces."""
        return _triangles(value) if isinstance(value.node, Mapping) else super().read(value, context)

    def data(self, found: Any, refer: Refer) -> Any:
        """Return the reference to the file, or the triangles."""
        return plain(found) if isinstance(found, Triangles) else refer(found)


def _triangles(value: Value) -> Triangles:
    """Read vertices and faces."""
    table = value.table(TRIANGLE_KEYS)
    errors = len(value.report.errors)
    given = [each for key in TRIANGLE_KEYS if (each := table.get(key)) is not None]
    rows = [[row.vector(3) for row in each.items()] for each in given]
    if len(rows) < len(TRIANGLE_KEYS) or len(value.report.errors) > errors:
        return BAD  # type: ignore[no-any-return]
    vertices, faces = (np.array(each, dtype=np.float64).reshape(-1, 3) for each in rows)
    if not np.array_equal(faces, np.round(faces)):
        given[1].error("faces are whole numbers, the rows of vertices")
        return BAD  # type: ignore[no-any-return]
    try:
        triangles = Triangles(vertices, faces.astype(np.int64))
        hull_of(triangles.vertices)
    except ValueError as error:
        value.error(str(error))
        return BAD  # type: ignore[no-any-return]
    return triangles


def _form(shape: str) -> Form:
    """Return the form of the sizes of a shape."""
    names = SHAPES[shape]
    if not names:
        return word("An endless plane that faces z.", True)
    about, size = f"Sizes, m: {', '.join(names)}.", number("", high=MAX_DISTANCE, above=0.0)
    return one_or_each(about, size, 1) if len(names) == 1 else listing(about, size, len(names), len(names))


def _read(shape: str, value: Value, context: Any) -> dict[str, Any]:
    """Read lengths and radii in the order of their names. A single one may be a plain number."""
    names = SHAPES[shape]
    listed = isinstance(value.node, Sequence)
    values = list(value.items()) if listed else [value]
    if not names:
        if not (isinstance(value.node, Scalar) and value.node.text in TRUE):
            value.error(f"has no sizes; write `true`, found {value.found()}")
        values = []
    elif len(values) != len(names) or not (listed or len(names) == 1):
        value.error(f"needs a list of sizes in m, [{', '.join(names)}]; found {value.found()}")
        return {}
    sizes = [size.number(0.0, MAX_DISTANCE) for size in values]
    for size, length in zip(values, sizes, strict=True):
        if length == 0.0 and isinstance(size.node, Scalar) and size.node.text.strip("0.+-") == "":
            size.error("a size must be above zero")
    return {"shape": shape, "size": np.array(sizes)}


def _data(shape: str, of: Geometry) -> Any:
    """Return the sizes of a shape; None if it has another one."""
    return None if of.shape != shape else one_or_more(of.size) if len(of.size) else True


def _given_otherwise(value: Value, context: Any) -> dict[str, Any]:
    """Return no fields: `_derive` reads the sizes when the shape is known."""
    return {}


@declared(
    define="shape",
    one_of={f"one shape is needed ({', '.join(SHAPES)}), found {{found}}": tuple(SHAPES)},
    at_most_one=(("mass", "density"),),
    spread={
        **{
            shape: Spread(("shape", "size"), _form(shape), partial(_read, shape), partial(_data, shape))
            for shape in SHAPES
            if shape != "mesh"
        },
        "scale": Spread(
            (),
            {**SCALE, "description": "Scale of a mesh."},
            _given_otherwise,
            lambda of: of.size.tolist() if of.shape == "mesh" else None,
        ),
        "density": Spread((), MASS.form("Density, kg/m^3, instead of a mass."), _given_otherwise, lambda of: None),
    },
)
class Geometry:
    """A shape.

    Its sizes are those of SHAPES, in their order.

    Raises:
        ValueError: An array has the wrong shape.
    """

    shape: str = given(None, "One of SHAPES")
    size: FloatArray = given(None, "The sizes of the shape in their order", "m")
    mass: float = given(MASS, "Mass, uniformly distributed", "kg", default=0.0)
    pose: FloatArray = given(Pose(), "Pose in the body", default=UNMOVED)
    colour: FloatArray | None = given(Colour(), "Colour", default=None, key="color")
    edge_colour: str | None = given(None, "Colour of the outline as the file gives it, or None", default=None)
    # Both have the same key, which is read as that of the triangles.
    file: Path | None = given(Mesh(mesh_fault), "The file of a mesh", default=None, key="mesh")
    place: Place = place_of(default=NO_PLACE)
    surface: Surface | None = given(Inlined(Surface), "What it does where it touches others", default=None)
    material: Material | None = given(PartOf(Material), "How it looks besides its colour", default=None)
    only: str = given(Word(ONLY), "Whether the shape is only seen, or only makes contact", default="", omit=True)
    triangles: Triangles | None = given(Mesh(mesh_fault), "A mesh: a file or its triangles", default=None, key="mesh")

    def __post_init__(self) -> None:
        object.__setattr__(self, "size", floats(self.size, (-1,), self.shape, "size"))
        settle(self)

    @staticmethod
    def _derive(found: dict[str, Any], table: Table) -> None:
        """Complete a mesh, and set the mass of a shape from its density."""
        if isinstance(found.get("triangles"), Path):
            found["file"] = found.pop("triangles")
        if "mesh" in table:
            scale = scale_of(table)
            found |= {"shape": "mesh", "size": np.ones(3) if scale is None else scale}
        elif "scale" in table and "shape" in found:
            table.value.error(f"only meshes have a scale; set the sizes of the {found['shape']}")
        density = table.get("density")
        if density is None or "mass" in table or ("size" not in found):
            return
        keys = ("shape", "size", "file", "triangles")
        try:
            volume = volume_of(Geometry(**{key: found[key] for key in keys if key in found}))
        except ValueError as error:
            density.error(str(error))
            return
        found["mass"] = density.number(MASS.low, MASS.high) * volume
        if found["mass"] > MAX_MASS:
            density.error(f"results in {found['mass']:.4g} kg; allowed: up to {MAX_MASS:g} kg")

    @rule
    def has_its_sizes(self) -> Iterator[Fault]:
        """Yield a fault if there is no such shape, or if it has other sizes."""
        sizes = SHAPES.get(self.shape)
        if sizes is None:
            yield "", f"no shape {self.shape!r}; allowed: {', '.join(SHAPES)}"
            return
        if len(self.size) != len(sizes):
            yield "", f"a {self.shape} has {len(sizes)} sizes ({', '.join(sizes)}), found {len(self.size)}"
        if not all(MIN_SIZE <= size < 1e9 for size in self.size.tolist()):
            yield "", f"sizes {self.size.tolist()} must be above zero"
        if (self.file is not None) + (self.triangles is not None) != (self.shape == "mesh"):
            yield "file", "a mesh needs a file or triangles, and other shapes have none"
        elif (self.is_shown_only or self.only == "visual") and self.mass > 0.0:
            yield (
                "mass",
                "a shape that is only shown has no mass; give the mass to another shape, or the body an inertial",
            )

    @rule
    def is_shown_or_touched(self) -> Iterator[Fault]:
        """Yield contact properties of a shape that is only visual, and visual properties of one that is not shown."""
        if self.is_shown_only and self.only == "collision":
            yield "only", f"a {self.shape} of this kind makes no contact; leave out only"
        if self.is_shown_only and self.material is not None:
            yield "material", "has no effect: arrows have none, and a GLB brings its own"
        if self.surface is not None and (self.is_shown_only or self.only == "visual"):
            for key in self.surface.stated():
                yield key, f"a shape that is only shown makes no contact; leave out {key}"
        if self.only == "collision":
            for key, look in (("color", self.colour), ("material", self.material)):
                if look is not None:
                    yield key, f"a shape with `only: collision` is not drawn; leave out {key}"

    @property
    def is_shown_only(self) -> bool:
        """Whether it is not part of the simulated model: arrows, and meshes that MuJoCo cannot read."""
        return self.shape == "xyz" or (self.file is not None and self.file.suffix.lower() in MESHES_SHOWN)

    def scale_fault(self, factors: FloatArray) -> str:
        """Return why the shape cannot be scaled; empty if it can.

        Args:
            factors: Factors (3,) along the axes of the body.

        Returns:
            The reason: different factors along its axes would change the type of shape.
        """
        x, y, z = factors.tolist()
        if x == y == z:
            return ""
        if self.shape in ("plane", "xyz", "capsule") or (self.shape == "cylinder" and x != y):
            return f"different factors {[x, y, z]} do not suit a {self.shape}"
        if not np.array_equal(np.abs(self.pose[3:]), poses.IDENTITY[3:]):
            return f"different factors {[x, y, z]} would skew a turned {self.shape}"
        return ""

    def scaled(self, factors: FloatArray) -> Geometry:
        """Return the shape scaled about the body's origin; its mass stays.

        Args:
            factors: Factors (3,) along the axes of the body, which `scale_fault` accepts.

        Returns:
            The scaled shape; a sphere may become an ellipsoid.
        """
        pose = np.concatenate([self.pose[:3] * factors, self.pose[3:]])
        if self.shape == "sphere" and np.ptp(factors) > 0.0:
            return replace(self, shape="ellipsoid", size=self.size * factors, pose=pose)
        sizes = {"cylinder": factors[[0, 2]], "plane": factors[:0]}.get(self.shape, factors[: len(self.size)])
        return replace(self, size=self.size * sizes, pose=pose)


def principal_moments(inertia: FloatArray) -> list[float]:
    """Return the principal moments of a symmetric inertia (3, 3), the least first, kg m^2."""
    (xx, xy, xz), (_, yy, yz), (_, _, zz) = inertia.tolist()
    # For most bodies, they are along its axes.
    return np.linalg.eigvalsh(inertia).tolist() if xy or xz or yz else sorted((xx, yy, zz))


class Inertia(Plain):
    """Moments and products of inertia: a read-only symmetric array (3, 3)."""

    is_array = True

    def form(self, about: str) -> Form:
        """Return the form of three or six numbers."""
        spelled = "[ixx, iyy, izz] or [ixx, iyy, izz, ixy, ixz, iyz]"
        return either(f"{about.rstrip('.')}: {spelled}.", vector("", 3), vector("", 6))

    def read(self, value: Value, context: Any) -> FloatArray:
        """Read the moments, and the products if they are given."""
        moments = value.vector(6 if isinstance(value.node, Sequence) and len(value.node.items) == 6 else 3)
        if moments is None:
            return BAD  # type: ignore[no-any-return]
        xx, yy, zz, xy, xz, yz = (*moments, 0.0, 0.0, 0.0)[:6]
        return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])

    def settled(self, found: Any, owner: str, key: str) -> FloatArray:
        """Return a read-only array."""
        return floats(found, (3, 3), owner, key)

    def faults(self, found: Any) -> Iterator[Fault]:
        """Yield a fault if no body can have such an inertia."""
        symmetric = (found == found.T).all() or np.allclose(found, found.T, rtol=1e-9, atol=0.0)
        if not np.isfinite(found).all() or not symmetric:
            yield "", f"{found.tolist()} must be finite and symmetric"
            return
        least, middle, most = principal_moments(found)
        if least <= 0.0:
            yield "", f"its smallest principal moment is {least:.4g} kg m^2, needs one above zero"
        elif most > (least + middle) * (1.0 + 1e-9):
            moments = f"{least:.4g}, {middle:.4g}, {most:.4g}"
            yield "", f"principal moments {moments}: the sum of two must be at least the third"

    def data(self, found: Any, refer: Refer) -> list[float]:
        """Return the three moments, and the three products unless all are zero."""
        (xx, xy, xz), (_, yy, yz), (_, _, zz) = found.tolist()
        return [xx, yy, zz, *((xy, xz, yz) if any((xy, xz, yz)) else ())]


@declared
class Inertial:
    """Mass, centre of mass and inertia.

    Raises:
        ValueError: An array has the wrong shape.
    """

    mass: float = given(Number(high=MAX_MASS, above=0.0), "Mass", "kg")
    inertia: FloatArray = given(Inertia(), "Inertia about the centre of mass, in the axes of the body, kg m^2")
    centre: FloatArray = given(POINT, "Centre of mass in the body", "m", default=ORIGIN, key="center")


def volume_of(shape: Geometry) -> float:
    """Return the volume of a shape, m^3. Raises ValueError for shapes without one."""
    if shape.shape == "mesh":
        return solid_mesh(shape)[0]
    if shape.shape not in VOLUMES:
        raise ValueError(f"a {shape.shape} has no volume; those with one are {', '.join(VOLUMES)}, mesh")
    return VOLUMES[shape.shape](*shape.size.tolist())


def solid_mesh(shape: Geometry) -> tuple[float, FloatArray, FloatArray]:
    """Return volume (m^3), centre (3,) and inertia (3, 3) about it per kg (m^2) of a mesh, in its own axes.

    They are those of its convex hull if the triangles are not closed.

    Raises:
        ValueError: It has no volume, or its file cannot be read.
        ImportError: The file needs MuJoCo.
    """
    found = scaled_triangles(shape)
    try:
        return solid_of(found if found.is_closed() else hull_of(found.vertices))
    except ValueError:  # inside out
        return solid_of(hull_of(found.vertices))


def scaled_triangles(shape: Geometry) -> Triangles:
    """Return the triangles of a mesh in metres. Raises as `solid_mesh` does."""
    if shape.triangles is not None:
        return shape.triangles.scaled(shape.size)
    if shape.file is None or shape.is_shown_only:
        raise ValueError("a mesh that is only shown has no volume")
    return triangles_of(shape.file).scaled(shape.size)


# Extent of a shape from its centre in a direction (3,), m, as a function of its sizes.
_REACHES: dict[str, Callable[[FloatArray, FloatArray], float]] = {
    "box": lambda size, to: 0.5 * float(size @ np.abs(to)),
    "sphere": lambda size, to: float(size[0]),
    "cylinder": lambda size, to: float(size[0] * np.hypot(to[0], to[1]) + 0.5 * size[1] * abs(to[2])),
    "capsule": lambda size, to: float(size[0] + 0.5 * size[1] * abs(to[2])),
    "ellipsoid": lambda size, to: float(np.linalg.norm(size * to)),
}


def depth_below(geometry: Iterable[Geometry]) -> float:
    """Return how far the lowest point of colliding shapes is below the origin of the body, m; 0 if none is below.

    Raises:
        ValueError: A mesh cannot be read.
        ImportError: A mesh needs MuJoCo.
    """
    solid = [each for each in geometry if each.only != "visual" and not each.is_shown_only]
    return max((_depth(each) for each in solid if each.shape not in SHAPES_WITHOUT_MASS), default=0.0)


def _depth(shape: Geometry) -> float:
    if shape.shape == "mesh":
        return -float(poses.apply(shape.pose, scaled_triangles(shape).vertices)[:, 2].min())
    down = -quaternions.to_matrix(shape.pose[3:])[2]
    return _REACHES[shape.shape](shape.size, down) - float(shape.pose[2])
