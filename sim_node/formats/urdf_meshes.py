"""Meshes and textures of URDF models: read by MuJoCo, converted for it, or only drawn; or replaced by a mean colour."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from sim_node.formats.assets import Assets
from sim_node.formats.mesh_conversion import MeshPart, as_msh, collada_parts, has_texcoords, joined, stl_part
from sim_node.formats.xml_roots import XmlFile
from sim_node.packages import how_to_install
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.world.image_files import Colour, image_fault, mean_colour
from sim_node.world.image_textures import TEXTURED
from sim_node.world.locate import LocateError
from sim_node.world.mesh_files import MESHES, MESHES_SHOWN
from sim_node.world.problems import quoted
from sim_node.world.readers import numbers
from sim_node.world.readers.numbers import as_number
from sim_node.world.readers.unread import mark
from sim_node.world.readers.xml_elements import Element, XmlAttribute
from sim_node.world.shapes import Geometry

COLLADA = ".dae"
READ = (*MESHES, COLLADA)


def mesh_folder(file: XmlFile) -> str:
    """Return the folder of meshes beside the file, which the <mujoco> extension may specify."""
    return next((c.get("meshdir") for part in file.root.all("mujoco") for c in part.all("compiler")), "")


class MeshReader:
    """Reads the meshes of a robot's links.

    A missing mesh of a visual causes a warning, as in rviz. That of a collision is an error, since the robot would
    otherwise fall through other objects.
    """

    def __init__(self, file: XmlFile, assets: Assets, textures: TextureReader) -> None:
        self._file, self._textures = file, textures
        self._assets = assets
        self._folder = mesh_folder(file)
        self._made: dict[tuple[Path, bool], list[MeshPart]] = {}
        self.shown: list[tuple[str, Geometry]] = []

    def read(self, link: Element) -> None:
        """Read the meshes of a link. Replace converted meshes, and move those that are only drawn to `shown`."""
        for part in list(link.children):
            for mesh in [m for g in part.all("geometry") for m in g.all("mesh") if "filename" in m.attributes]:
                self._read(link, part, mesh)

    def _read(self, link: Element, part: Element, mesh: Element) -> None:
        suffix = Path(mesh.get("filename")).suffix.lower()
        if suffix not in (*READ, *MESHES_SHOWN):
            message = f"{quoted(mesh.get('filename'))} is not a supported mesh; allowed: {', '.join(READ)}"
            self._fault(link, part, mesh, message)
            return
        path = self._find(link, part, mesh)
        if path is None:
            return
        if suffix in MESHES_SHOWN:
            self.shown.append((link.get("name"), _shown(part, mesh, path)))
            link.children.remove(part)
            if part.tag == "collision":
                message = f"a {suffix} mesh is shown, but has no contacts; use STL, OBJ or COLLADA for contacts"
                self._file.report.warning(message, mesh.attributes["filename"].at, link.get("name"))
            return
        try:
            parts = self._parts(mesh, path, suffix, coloured=part.tag == "visual")
        except ImportError as error:
            self._fault(link, part, mesh, f"{quoted(path.name)} needs pycollada, {how_to_install(error)}")
        except (OSError, ValueError) as error:
            self._fault(link, part, mesh, f"{quoted(path.name)}: {error}")
        else:
            if parts:
                self._replace(link, part, mesh, path, parts)
            else:
                self._assets.read(mesh, "filename", self._folder, key=mesh.get("scale"))

    def _find(self, link: Element, part: Element, mesh: Element) -> Path | None:
        if part.tag != "visual":
            return self._assets.find(mesh, "filename", self._folder)
        try:
            return self._file.find(mesh.get("filename"), self._folder)
        except LocateError as error:
            self._fault(link, part, mesh, str(error))
            return None

    def _fault(self, link: Element, part: Element, mesh: Element, message: str) -> None:
        at = mesh.attributes["filename"].at
        if part.tag == "visual":
            self._file.report.warning(f"{message}; it is not drawn", at, f"{link.get('name')}.visual")
            mark(part)
            link.children.remove(part)
        else:
            self._file.report.error(message, at, f"{link.get('name')}.{part.tag}")

    def _parts(self, mesh: Element, path: Path, suffix: str, *, coloured: bool) -> list[MeshPart]:
        """Return the converted parts of a mesh; none if MuJoCo reads it itself. Raises as `mesh_conversion` does."""
        if (path, coloured) not in self._made:
            data = self._assets.bytes_of(mesh, "filename", path)
            parts = []
            if data is not None and suffix == COLLADA:
                parts = collada_parts(path, lambda name: self._image(mesh, name, path) if coloured else None)
            elif data is not None and suffix == ".stl" and (one := stl_part(data)) is not None:
                parts = [one]
            self._made[path, coloured] = parts if coloured or not parts else [joined(parts)]
        return self._made[path, coloured]

    def _image(self, mesh: Element, name: str, beside: Path) -> Path | None:
        found = self._textures.find(name, beside)
        if isinstance(found, Path):
            return found
        message = f"{quoted(beside.name)}: {found}; the texture is not drawn"
        self._file.report.warning(message, mesh.attributes["filename"].at, "mesh.filename")
        return None

    def _replace(self, link: Element, part: Element, mesh: Element, path: Path, parts: list[MeshPart]) -> None:
        """Replace a visual or collision by one for each part of its mesh."""
        at = link.children.index(part)
        copies = []
        for number, each in enumerate(parts):
            key = f"{mesh.get('scale')} {part.tag if len(parts) == 1 else number}"
            name = self._assets.names.get((path, key)) or self._assets.add(path, key, ".msh", as_msh(each))
            copy = _copy(part, mesh, name, each.colour, f"sim_node/{len(self._assets.names)}/{number}")
            if each.texture is not None:
                self._textures.put(copy, each.texture, mesh, "filename")
            copies.append(copy)
        link.children[at : at + 1] = copies


def _copy(part: Element, mesh: Element, name: str, colour: Colour | None, material: str) -> Element:
    """Return a copy of a visual or collision with another mesh file, and its colour, if any."""
    renamed = replace(
        mesh, attributes={**mesh.attributes, "filename": XmlAttribute(name, mesh.attributes["filename"].at)}
    )
    children = [
        replace(child, children=[renamed if each is mesh else each for each in child.children])
        for child in part.children
        if colour is None or child.tag != "material"
    ]
    if colour is not None:
        children.append(material_of(part, colour, material))
    return replace(part, attributes=dict(part.attributes), children=children)


def _shown(part: Element, mesh: Element, path: Path) -> Geometry:
    origin = next(iter(part.all("origin")), None)
    position, rpy = (_numbers(origin, key, 0.0) for key in ("xyz", "rpy"))
    pose = np.concatenate([position, numbers.from_euler(rpy)])
    return Geometry("mesh", _numbers(mesh, "scale", 1.0), pose=pose, file=path)


def _numbers(element: Element | None, key: str, default: float) -> FloatArray:
    """Read three numbers. Return the default if they are missing or invalid."""
    words = element.get(key).split() if element is not None else []
    numbers = np.array([as_number(word) for word in words])
    return numbers if len(numbers) == 3 and np.isfinite(numbers).all() else np.full(3, default)


class TextureReader:
    """Reads the textures of a robot's materials.

    As in rviz, a texture replaces the colour of its material. A missing one causes a warning, and the colour stays.

    Args:
        file: The file. Its materials are known by name wherever they are defined.
        assets: The files of the model.
        folder: Folder of the files beside the model.
    """

    def __init__(self, file: XmlFile, assets: Assets, folder: str) -> None:
        self._file, self._assets, self._folder = file, assets, folder
        self._named: dict[str, Element] = {}
        for element in file.root.descendants():
            if element.tag == "material" and _looks(element):
                self._named.setdefault(element.get("name"), element)
        self._found: dict[int, Path | None] = {}
        self._untextured: set[str] = set()
        self._count = 0

    def read(self, link: Element) -> None:
        """Put textures on the visuals of a link whose meshes have been read."""
        for part in link.all("visual"):
            look, texture = self._texture_of(part)
            path = None if texture is None else self._path_of(texture)
            if look is not None and texture is not None and path is not None:
                for colour in look.all("color"):  # which is invisible
                    colour.read = False
                    look.children.remove(colour)
                self._put_on(part, texture, path)

    def put(self, part: Element, path: Path, owner: Element, attribute: str) -> None:
        """Put a valid image on a visual. An unreadable file is an error of the attribute."""
        name = self._assets.names.get((path, ""))
        data = None if name is not None else self._assets.bytes_of(owner, attribute, path)
        if data is not None:
            name = self._assets.add(path, "", path.suffix.lower(), data)
        if name is not None:
            self._count += 1
            part.attributes["name"] = XmlAttribute(f"{TEXTURED}{self._count}/{name}", part.at)

    def find(self, reference: str, beside: Path, folder: str = "") -> Path | str:
        """Return the file of an image, or the reason why there is none."""
        try:
            path = self._file.find(reference, folder, beside)
        except LocateError as error:
            return str(error)
        return image_fault(path) or path

    def _texture_of(self, part: Element) -> tuple[Element | None, Element | None]:
        """Return the material that defines the look of a visual, and its texture, if any."""
        for material in part.all("material"):
            look = material if _looks(material) else self._named.get(material.get("name"))
            return look, next((each for each in look.all("texture") if each.get("filename")), None) if look else None
        return None, None

    def _path_of(self, texture: Element) -> Path | None:
        """Return the file of a texture; None, with one warning, if it is not found."""
        if id(texture) not in self._found:
            found = self.find(texture.get("filename"), self._file.path, self._folder)
            self._found[id(texture)] = found if isinstance(found, Path) else None
            if isinstance(found, str):
                self._warn(texture, f"{found}; the texture is not drawn")
        return self._found[id(texture)]

    def _put_on(self, part: Element, texture: Element, path: Path) -> None:
        mesh = next((m.get("filename") for g in part.all("geometry") for m in g.all("mesh")), "")
        if not mesh or has_texcoords(mesh, self._assets.contents.get(mesh, b"")):
            self.put(part, path, texture, "filename")
            return
        for material in part.all("material"):
            mark(material)  # its look is represented by the mean colour
            part.children.remove(material)
        part.children.append(material_of(part, mean_colour(path), f"{TEXTURED}{mesh}"))
        if mesh not in self._untextured:
            self._untextured.add(mesh)
            original = mesh.partition("_")[2]
            self._warn(texture, f"{quoted(original)} has no texture coordinates; it has the texture's mean colour")

    def _warn(self, texture: Element, message: str) -> None:
        self._file.report.about(texture.file).warning(message, texture.attributes["filename"].at, "texture.filename")


def material_of(part: Element, colour: Colour, name: str) -> Element:
    """Return a material for a visual, with a unique name."""
    rgba = " ".join(f"{value:.6g}" for value in colour)
    return part.beside("material", part.beside("color", rgba=rgba), name=name)


def _looks(material: Element) -> bool:
    """Return whether a material defines its look; otherwise it refers by name to a material defined elsewhere."""
    return bool(material.all("color") or material.all("texture"))
