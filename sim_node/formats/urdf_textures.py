"""Textures of URDF materials: on the visuals of links, or as their mean colour."""

from __future__ import annotations

from pathlib import Path

from sim_node.formats.assets import Assets
from sim_node.formats.mesh_conversion import has_texcoords
from sim_node.formats.xml_roots import XmlFile
from sim_node.world.image_files import Colour, image_fault, mean_colour
from sim_node.world.image_textures import TEXTURED
from sim_node.world.locate import LocateError
from sim_node.world.problems import quoted
from sim_node.world.readers.unread import mark
from sim_node.world.readers.xml_elements import Element, XmlAttribute


class TextureReader:
    """Reads the textures of a robot's materials.

    As in rviz, a texture replaces the colour of its material. What is missing is warned of, and the colour stays.

    Args:
        file: The file, whose materials are known by name wherever they are defined.
        assets: The files of the model.
        folder: Of the files beside the model.
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
        """Put textures on the visuals of a link, whose meshes are read."""
        for part in link.all("visual"):
            look, texture = self._texture_of(part)
            path = None if texture is None else self._path_of(texture)
            if look is not None and texture is not None and path is not None:
                for colour in look.all("color"):  # of which nothing is seen
                    colour.read = False
                    look.children.remove(colour)
                self._put_on(part, texture, path)

    def put(self, part: Element, path: Path, owner: Element, attribute: str) -> None:
        """Put an image, which is no faulty one, on a visual. A file that cannot be read is a fault of the attribute."""
        name = self._assets.names.get((path, ""))
        data = None if name is not None else self._assets.bytes_of(owner, attribute, path)
        if data is not None:
            name = self._assets.add(path, "", path.suffix.lower(), data)
        if name is not None:
            self._count += 1
            part.attributes["name"] = XmlAttribute(f"{TEXTURED}{self._count}/{name}", part.at)

    def find(self, reference: str, beside: Path, folder: str = "") -> Path | str:
        """Return the file of an image, or why there is none."""
        try:
            path = self._file.find(reference, folder, beside)
        except LocateError as error:
            return str(error)
        return image_fault(path) or path

    def _texture_of(self, part: Element) -> tuple[Element | None, Element | None]:
        """Return the material that says how a visual looks, and its texture, as far as there are any."""
        for material in part.all("material"):
            look = material if _looks(material) else self._named.get(material.get("name"))
            return look, next((each for each in look.all("texture") if each.get("filename")), None) if look else None
        return None, None

    def _path_of(self, texture: Element) -> Path | None:
        """Return the file of a texture, or None with a warning, once."""
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
            mark(material)  # what it shows is shown by its mean
            part.children.remove(material)
        part.children.append(material_of(part, mean_colour(path), f"{TEXTURED}{mesh}"))
        if mesh not in self._untextured:
            self._untextured.add(mesh)
            original = mesh.partition("_")[2]
            self._warn(texture, f"{quoted(original)} has no texture coordinates; it has the texture's mean colour")

    def _warn(self, texture: Element, message: str) -> None:
        self._file.report.about(texture.file).warning(message, texture.attributes["filename"].at, "texture.filename")


def material_of(part: Element, colour: Colour, name: str) -> Element:
    """Return a material for a visual, of a name that no other has."""
    rgba = " ".join(f"{value:.6g}" for value in colour)
    return part.beside("material", part.beside("color", rgba=rgba), name=name)


def _looks(material: Element) -> bool:
    """Return whether a material says how it looks; otherwise it is one of another place by its name."""
    return bool(material.all("color") or material.all("texture"))
