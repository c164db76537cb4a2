"""Collisions and visuals of links as shapes of bodies: geometry, meshes, surfaces and appearance."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from sim_node.extensions.sdf import uris
from sim_node.extensions.sdf.document import part_pose
from sim_node.extensions.sdf.elements import (
    SdfReading,
    child,
    place_of,
    text,
    text_of,
)
from sim_node.extensions.sdf.friction import friction_of
from sim_node.extensions.sdf.scopes import ScopeEntry, SdfScope
from sim_node.formats.mesh_conversion import collada_parts, obj_part, stl_part
from sim_node.packages import how_to_install
from sim_node.spatial.geometry import poses
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.world.image_files import image_fault, mean_colour
from sim_node.world.locate import LocateError
from sim_node.world.mesh_files import MESHES, MESHES_SHOWN, mesh_fault
from sim_node.world.problems import quoted
from sim_node.world.readers.numbers import as_number
from sim_node.world.readers.xml_elements import Element
from sim_node.world.shapes import SHEET, Geometry
from sim_node.world.surfaces import DEFAULT_LAYER, Material, Surface
from sim_node.world.triangles import Triangles, hull_of

# The number of sides of a cone, which is a mesh here.
SIDES = 32
ALL_BITS = 0xFFFF
# The dimensions of shapes with a radius, and their defaults, m.
ROUND = {
    "sphere": {"radius": 1.0},
    "cylinder": {"radius": 1.0, "length": 1.0},
    "capsule": {"radius": 0.5, "length": 1.0},
}
# The colour in which Gazebo renders visuals without a material.
WHITE = np.array([1.0, 1.0, 1.0, 1.0])
# Colours of the Ogre scripts shipped with Gazebo Classic: media/materials/scripts/gazebo.material.
SCRIPTS = {
    "Grey": (0.7, 0.7, 0.7), "DarkGrey": (0.175, 0.175, 0.175), "White": (1.0, 1.0, 1.0), "Black": (0.0, 0.0, 0.0),
    "FlatBlack": (0.1, 0.1, 0.1), "Red": (1.0, 0.0, 0.0), "RedBright": (0.87, 0.26, 0.07), "Green": (0.0, 1.0, 0.0),
    "Blue": (0.0, 0.0, 1.0), "SkyBlue": (0.13, 0.44, 0.7), "Yellow": (1.0, 1.0, 0.0), "Orange": (1.0, 0.51, 0.13),
    "Purple": (1.0, 0.0, 1.0), "Turquoise": (0.0, 1.0, 1.0), "Gold": (0.8, 0.65, 0.0), "Wood": (0.71, 0.52, 0.33),
    "DarkYellow": (0.7, 0.7, 0.0), "LightWood": (0.78, 0.62, 0.44), "WhiteGlow": (1.0, 1.0, 1.0),
    "ZincYellow": (0.97, 0.95, 0.0), "Residential": (0.6, 0.6, 0.6), "Road": (0.3, 0.3, 0.3),
}  # fmt: skip


@dataclass
class SdfSolid:
    """A shape without appearance: its kind, size and pose in the element, and its mesh data, if any."""

    shape: str
    size: FloatArray
    pose: FloatArray = field(default_factory=lambda: np.array(poses.IDENTITY))
    file: Path | None = None
    triangles: Triangles | None = None
    colour: FloatArray | None = None
    cone: tuple[float, float] | None = None

    def placed(self, pose: FloatArray, **fields: Any) -> Geometry:
        """Return the shape for a body in which its element has a pose (7,)."""
        at = poses.compose(pose, self.pose)
        return Geometry(self.shape, self.size, pose=at, file=self.file, triangles=self.triangles, **fields)


class Submesh(NamedTuple):
    """The part of a mesh file: the name of its nodes or objects, empty for all; whether its bounding box is centred."""

    name: str = ""
    centred: bool = False


WHOLE = Submesh()
NAMED = (".dae", ".obj")


class Shapes:
    """Reads the geometries of files. Each mesh is read once."""

    def __init__(self, reading: SdfReading) -> None:
        self.reading = reading
        self._meshes: dict[tuple[Path, tuple[float, ...], bool, Submesh], list[SdfSolid]] = {}
        self._masks: dict[int, str] = {}

    def collisions(
        self, scope: SdfScope, entry: ScopeEntry, *, massive: bool
    ) -> Iterator[tuple[Element, Geometry, SdfSolid]]:
        """Yield the collision shapes of a link, each with its element and solid.

        `massive` tells whether the link moves, in which case infinite planes are not allowed.
        """
        for element in entry.element.all("collision"):
            pose = part_pose(self.reading, scope, entry, element)
            surface, touching = self._surface(element)
            for solid in self._solids(element, visual=False, moving=massive):
                if touching:
                    own = {"surface": surface, "only": "collision", "place": place_of(element)}
                    yield element, solid.placed(pose, **own), solid

    def visuals(self, scope: SdfScope, entry: ScopeEntry) -> Iterator[Geometry]:
        """Yield the visual shapes of a link."""
        for element in entry.element.all("visual"):
            pose = part_pose(self.reading, scope, entry, element)
            opacity = 1.0 - min(max(self.reading.number(element, "transparency", default=0.0), 0.0), 1.0)
            colour, material = self._look(element)
            if not self.reading.flag(element, "visible", default=True):
                for geometry in element.all("geometry"):
                    self.reading.ignore(geometry, "the visual is not visible")
                continue
            for solid in self._solids(element, visual=True, moving=True):
                own = colour if colour is not None else solid.colour if solid.colour is not None else WHITE
                own = np.array([*own[:3], own[3] * opacity])
                shown = solid.file is not None and solid.file.suffix.lower() in MESHES_SHOWN
                if own[3] <= 0.0:
                    continue
                yield solid.placed(
                    pose,
                    colour=None if shown else own,
                    material=None if shown or solid.shape == "mesh" else material,
                    only="" if shown else "visual",
                    place=place_of(element),
                )

    def skin(self, element: Element) -> Iterator[Geometry]:
        """Yield the visual shapes of an actor's skin in its bind pose, without animation."""
        name = child(element, "filename")
        if name is None or not text_of(name):
            self.reading.leave_out(element, "filename is missing; the skin is not drawn")
            return
        scale = np.full(3, self.reading.amount(element, "scale", default=1.0, positive=True))
        try:
            path = uris.find(text_of(name), self.reading.file_of(element), self.reading.roots)
            solids = self._file(path, scale, visual=True)
        except (ImportError, LocateError, OSError, ValueError) as error:
            self.reading.leave_out(element, f"{error}; the skin is not drawn")
            return
        self.reading.approximate(element, "an actor's skin moves as a whole here")
        for solid in solids:
            shown = solid.file is not None and solid.file.suffix.lower() in MESHES_SHOWN
            colour = WHITE if solid.colour is None else solid.colour
            yield solid.placed(
                poses.IDENTITY,
                colour=None if shown else colour,
                only="" if shown else "visual",
                place=place_of(element),
            )

    def _solids(self, element: Element, *, visual: bool, moving: bool) -> list[SdfSolid]:
        geometry = child(element, "geometry")
        if geometry is None:
            self.reading.leave_out(element, "it has no geometry")
            return []
        for each in geometry.children:
            make = GEOMETRIES.get(each.tag)
            if make is not None:
                each.read = True
                return make(self, each, visual, moving)
        found = ", ".join(f"<{each.tag}>" for each in geometry.children if each.tag != "empty")
        if found:
            self.reading.leave_out(geometry, f"{found} is no geometry that is read; allowed: {', '.join(GEOMETRIES)}")
        return []

    # Geometries

    def _sizes(self, element: Element, **usual: float) -> FloatArray:
        sizes = (self.reading.amount(element, key, default=each, positive=True) for key, each in usual.items())
        return np.array(list(sizes))

    def _of_radius(self, element: Element, visual: bool, moving: bool) -> list[SdfSolid]:
        return [SdfSolid(element.tag, self._sizes(element, **ROUND[element.tag]))]

    def _of_sizes(self, element: Element, visual: bool, moving: bool) -> list[SdfSolid]:
        key, noun = ("size", "sizes") if element.tag == "box" else ("radii", "radii")
        sizes = self.reading.vector(element, key, default=(1.0, 1.0, 1.0))
        if not (sizes > 0.0).all():
            self.reading.error(element, f"{noun} {sizes.tolist()} must be above zero")
            return []
        return [SdfSolid(element.tag, sizes)]

    def _cone(self, element: Element, visual: bool, moving: bool) -> list[SdfSolid]:
        radius, length = self._sizes(element, radius=0.5, length=1.0).tolist()
        turn = np.linspace(0.0, 2.0 * math.pi, SIDES, endpoint=False)
        rim = np.column_stack([radius * np.cos(turn), radius * np.sin(turn), np.full(SIDES, -length / 2.0)])
        mesh = hull_of(np.vstack([rim, [[0.0, 0.0, length / 2.0]]]))
        return [SdfSolid("mesh", np.ones(3), triangles=mesh, cone=(radius, length))]

    def _plane(self, element: Element, visual: bool, moving: bool) -> list[SdfSolid]:
        normal = self.reading.vector(element, "normal", default=(0.0, 0.0, 1.0))
        length = math.hypot(*normal)  # of large numbers, too
        if not 0.0 < length < math.inf:
            self.reading.error(element, "the normal has no direction")
            return []
        turn = z_along(normal / length)
        size = self.reading.vector(element, "size", default=(1.0, 1.0))
        if not moving:
            return [SdfSolid("plane", np.zeros(0), np.concatenate([np.zeros(3), turn]))]
        if not visual:
            self.reading.approximate(element, "a plane of a link that moves is a thin box here, of its size")
        if not (size > 0.0).all():
            return []
        sheet = np.concatenate([-0.5 * SHEET * normal / length, turn])
        return [SdfSolid("box", np.array([*size, SHEET]), sheet)]

    def _polyline(self, element: Element, visual: bool, moving: bool) -> list[SdfSolid]:
        height = self.reading.amount(element, "height", default=1.0, positive=True)
        points = [found for each in element.all("point") if (found := self.reading.numbers(each, 2)) is not None]
        if len(points) < 3:
            self.reading.error(element, f"a polyline needs three points, found {len(points)}")
            return []
        base = np.array([[*point, 0.0] for point in points])
        try:
            mesh = hull_of(np.vstack([base, base + [0.0, 0.0, height]]))
        except ValueError as error:
            self.reading.error(element, f"its points: {error}")
            return []
        self.reading.approximate(element, "a polyline is the convex hull of its points here")
        return [SdfSolid("mesh", np.ones(3), triangles=mesh)]

    def _heightmap(self, element: Element, visual: bool, moving: bool) -> list[SdfSolid]:
        if visual:
            self.reading.ignore(element, "the ground is drawn as the heightmap of the collision")
        else:
            self.reading.leave_out(element, "a heightmap is read only of a static model of a world")
        return []

    def _mesh(self, element: Element, visual: bool, moving: bool) -> list[SdfSolid]:
        reading = self.reading
        uri = child(element, "uri")
        scale = reading.vector(element, "scale", default=(1.0, 1.0, 1.0))
        submesh = child(element, "submesh")
        if uri is None or not text_of(uri):
            reading.error(element, "uri is missing")
            return []
        if not scale.all():
            reading.error(element, f"the scale {scale.tolist()} has a zero")
            return []
        try:
            path = uris.find(text_of(uri), reading.file_of(element), reading.roots)
            of = WHOLE
            if submesh is not None:
                of = Submesh(text(submesh, "name"), reading.flag(submesh, "center"))
                if of.name and path.suffix.lower() not in NAMED:
                    reading.approximate(submesh, f"a submesh of {path.suffix} stands for the whole mesh here")
                    of = WHOLE
            key = (path, tuple(scale.tolist()), visual, of)
            if key not in self._meshes:
                self._meshes[key] = self._file(path, scale, visual=visual, of=of)
            return self._meshes[key]
        except ImportError as error:
            fault = f"COLLADA needs pycollada, {how_to_install(error)}"
        except (LocateError, OSError, ValueError) as error:
            fault = str(error)
        if visual:
            reading.leave_out(element, f"{fault}; the visual is not drawn")
        else:
            reading.error(uri, fault)
        return []

    def _file(self, path: Path, scale: FloatArray, *, visual: bool, of: Submesh = WHOLE) -> list[SdfSolid]:
        """Return the solids of a mesh file or of its submesh. Raises ValueError, OSError, ImportError."""
        suffix = path.suffix.lower()
        allowed = (*MESHES, ".dae", *(MESHES_SHOWN if visual else ()))
        if suffix not in allowed:
            raise ValueError(f"{quoted(path.name)} is not a supported mesh; allowed: {', '.join(allowed)}")
        mirrored = bool((scale < 0.0).any())
        if suffix in MESHES_SHOWN or (suffix != ".dae" and not of.name and not mirrored and not mesh_fault(path)):
            self.reading.report.read.append(path)
            return [SdfSolid("mesh", np.abs(scale), file=path)]
        if suffix == ".dae":
            parts = collada_parts(path, lambda name: _texture(path.parent / name) if visual else None, of.name)
        elif of.name:
            parts = [obj_part(path.read_bytes(), of.name)]
        else:
            one = stl_part(path.read_bytes()) if suffix == ".stl" else None
            if one is None:
                raise ValueError(
                    mesh_fault(path) or f"{quoted(path.name)} cannot be mirrored; use STL in text, or COLLADA"
                )
            parts = [one]
        self.reading.report.read.append(path)
        middle = np.zeros(3)
        if of.centred and of.name:
            ends = [end for part in parts for end in (part.vertices.min(axis=0), part.vertices.max(axis=0))]
            middle = (np.min(ends, axis=0) + np.max(ends, axis=0)) / 2.0
        solids = []
        for part in parts:
            faces = part.faces[:, ::-1] if np.prod(scale) < 0.0 else part.faces
            vertices, rows = np.unique((part.vertices - middle) * scale, axis=0, return_inverse=True)
            mesh = Triangles(vertices, rows.reshape(-1)[faces])
            if not visual and not _is_solid(mesh):
                continue
            colour = None if part.colour is None else np.array(part.colour)
            solids.append(SdfSolid("mesh", np.ones(3), triangles=mesh, colour=colour))
        return solids

    # Surfaces and appearance

    def _surface(self, element: Element) -> tuple[Surface, bool]:
        """Return the surface of a collision, and whether it makes contact."""
        reading, surface = self.reading, child(element, "surface")
        if surface is None:
            return Surface(combine="smaller"), True
        given = {"combine": "smaller", **friction_of(reading, surface)}
        bounce = child(surface, "bounce")
        if bounce is not None:
            restitution = reading.number(bounce, "restitution_coefficient", default=0.0)
            if restitution > 0.0:
                if restitution > 0.95:
                    reading.approximate(bounce, "a bounce keeps at most 0.95 of the speed here")
                given["restitution"] = min(restitution, 0.95)
        contact = child(surface, "contact")
        touching = True
        if contact is not None:
            touching = not reading.flag(contact, "collide_without_contact")
            mask = child(contact, "collide_bitmask")
            if mask is not None:
                bits = int(as_number(text_of(mask))) if text_of(mask).isdecimal() else _hexadecimal(text_of(mask))
                if bits is None:
                    reading.error(mask, f"a whole number is needed, found {quoted(text_of(mask))}")
                elif bits & ALL_BITS != ALL_BITS:
                    given["layer"] = self._masks.setdefault(bits & ALL_BITS, f"bits_{bits & ALL_BITS:04x}")
        return Surface(**given), touching

    @property
    def masked(self) -> bool:
        """Whether any shape has a bit mask."""
        return bool(self._masks)

    def with_layers(self, shape: Geometry) -> Geometry:
        """Return a shape that collides with the layers whose bit masks share a bit with its own."""
        if shape.only == "visual":
            return shape
        layer = DEFAULT_LAYER if shape.surface is None else shape.surface.layer
        own = next((bits for bits, name in self._masks.items() if name == layer), ALL_BITS)
        others = {DEFAULT_LAYER: ALL_BITS, **{name: bits for bits, name in self._masks.items()}}
        touches = tuple(name for name, bits in others.items() if bits & own)
        return replace(shape, surface=replace(shape.surface or Surface(), touches=touches))

    def _look(self, element: Element) -> tuple[FloatArray | None, Material | None]:
        """Return the colour and the material of a visual; None for those of its mesh."""
        reading, material = self.reading, child(element, "material")
        if material is None:
            return None, None
        diffuse, ambient = reading.colour(material, "diffuse"), reading.colour(material, "ambient")
        colour = diffuse if diffuse is not None else ambient
        metal = child(material, "pbr", "metal") or child(material, "pbr", "specular")
        image = child(metal, "albedo_map") if metal is not None else None
        roughness = None
        if metal is not None and child(metal, "roughness") is not None:
            roughness = min(max(reading.number(metal, "roughness", default=0.5), 0.0), 1.0)
        texture = None
        if image is not None and text_of(image):
            try:
                texture = uris.find(text_of(image), reading.file_of(image), reading.roots)
                if fault := image_fault(texture):
                    raise ValueError(fault)
                reading.report.read.append(texture)
            except (LocateError, OSError, ValueError) as error:
                texture = None
                reading.leave_out(image, f"{error}; the texture is not drawn")
            if texture is not None and any(each.tag == "mesh" for g in element.all("geometry") for each in g.children):
                reading.approximate(image, "the texture of a mesh is its mean colour here, unless its file has it")
                return np.array(mean_colour(texture)), None
        script = child(material, "script")
        if script is not None and colour is None and texture is None:
            name = text(script, "name")
            known = SCRIPTS.get(name.removeprefix("Gazebo/"))
            for uri in script.all("uri"):
                text_of(uri)
            if known is None:
                reading.leave_out(
                    script, f"the material script {quoted(name)} is Ogre's; give <diffuse> or a PBR texture"
                )
            else:
                colour = np.array([*known, 1.0])
        elif script is not None:
            reading.ignore(script, "the colours of the material hold")
        if texture is None and roughness is None:
            return colour, None
        edge = 1.0
        sizes = [s for g in element.all("geometry") for p in g.all("plane") + g.all("box") for s in p.all("size")]
        if sizes and texture is not None and (found := reading.numbers(sizes[0], 2, 3)) is not None:
            edge = max(float(found[:2].max()), 1e-6)
        look: dict[str, Any] = {} if texture is None else {"texture": texture, "texture_size": edge}
        return colour, Material(**look, roughness=roughness)


def _is_solid(mesh: Triangles) -> bool:
    """Return whether the vertices of a mesh are not coplanar."""
    return bool(np.linalg.matrix_rank(mesh.vertices - mesh.vertices[0], tol=1e-9 * np.ptp(mesh.vertices)) == 3)


def _hexadecimal(word: str) -> int | None:
    try:
        return int(word, 16)
    except ValueError:
        return None


def _texture(path: Path) -> Path | None:
    return path if path.is_file() and not image_fault(path) else None


def z_along(normal: FloatArray) -> FloatArray:
    """Return the shortest rotation [x y z w] from z to a unit vector."""
    if normal[2] < -1.0 + 1e-12:
        return np.array([1.0, 0.0, 0.0, 0.0])
    turn = np.array([-normal[1], normal[0], 0.0, 1.0 + normal[2]])
    return np.asarray(turn / np.linalg.norm(turn))


GEOMETRIES: dict[str, Callable[[Shapes, Element, bool, bool], list[SdfSolid]]] = {
    "box": Shapes._of_sizes,
    "sphere": Shapes._of_radius,
    "cylinder": Shapes._of_radius,
    "capsule": Shapes._of_radius,
    "ellipsoid": Shapes._of_sizes,
    "cone": Shapes._cone,
    "plane": Shapes._plane,
    "polyline": Shapes._polyline,
    "heightmap": Shapes._heightmap,
    "mesh": Shapes._mesh,
}
