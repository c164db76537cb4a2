"""The sources of models: the file that is read, its imports, and bundles on the search path."""

from __future__ import annotations

import contextlib
import itertools
import os
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from sim_node.extensions.openplx import syntax
from sim_node.extensions.openplx.parse import parse
from sim_node.extensions.openplx.renamed import TYPES
from sim_node.text import did_you_mean
from sim_node.world.locate import LocateError
from sim_node.world.problems import Place, Where, quoted
from sim_node.world.readers.files import Roots, is_file, is_folder, read_text
from sim_node.world.readers.report import LineColumn, Report

SUFFIX = ".openplx"
CONFIG = "config.openplx"
# Folders with bundles, separated as in PATH.
SEARCH_PATH = "OPENPLX_BUNDLE_PATH"
# The supported built-in types of Physics3D, Math and other bundles.
BUILT_IN = Path(__file__).parent / "bundles"
# File types that other programs can import into models.
FOREIGN = {
    **dict.fromkeys((".png", ".jpg", ".jpeg"), "an image"),
    **dict.fromkeys((".dae", ".glb", ".gltf"), "a mesh"),
    ".agx": "an archive of AGX Dynamics",
    ".urdf": "a URDF model (a world file can include it)",
}
# Mesh files, which become models of visuals.
MESHES = (".obj", ".stl")
MAX_IMPORT_DEPTH, MAX_FILES = 32, 5000


@dataclass(frozen=True, eq=False)
class Source:
    """A file of models. `scope` has the namespaces in which its names are looked up, the nearest first."""

    path: Path
    shown: str
    scope: tuple[Namespace, ...]
    imported: dict[str, Namespace] = field(default_factory=dict)
    found: dict[tuple[str, ...], tuple[Definition, tuple[str, ...]]] = field(default_factory=dict)

    def place(self, at: LineColumn, key: str = "") -> Place:
        """Return a place in it."""
        return Place(Where(self.shown, *at), key)


@dataclass(frozen=True, eq=False)
class Definition:
    """A model or a constant at the top of a file."""

    name: str
    statement: syntax.Declaration
    source: Source

    @property
    def place(self) -> Place:
        """Return the location of its name."""
        return self.source.place(self.statement.at, self.name)


@dataclass(eq=False)
class Namespace:
    """A folder of a bundle, or the models of one file outside of bundles.

    Attributes:
        definitions: The definitions of the files read so far.
        shipped: Whether it belongs to the shipped substitute for a bundle that was not found; the original bundle may
            then have names that it lacks.
    """

    name: str
    library: Library
    folder: Path | None = None
    shown: Path = Path()
    parents: tuple[Namespace, ...] = ()
    shipped: bool = False
    definitions: dict[str, Definition] = field(default_factory=dict)
    files_read: set[str] = field(default_factory=set)
    _inner: dict[str, Namespace | None] = field(default_factory=dict)

    def __repr__(self) -> str:
        # A full repr would include the whole library, which pytest would print.
        return f"<Namespace {self.name}>"

    def inner(self, name: str) -> Namespace | None:
        """Return the nested namespace with a given name."""
        if name not in self._inner:
            self._inner[name] = None
            if (folder := self._entry(name, is_folder)) is not None:
                full, shown, parents = f"{self.name}.{name}", self.shown / name, (self, *self.parents)
                self._inner[name] = Namespace(full, self.library, folder, shown, parents, self.shipped)
        return self._inner[name]

    def definition(self, name: str, *, anywhere: bool = False) -> Definition | None:
        """Return the definition of a name from the file of that name or, if `anywhere`, from any file of the folder."""
        found = self.definitions.get(name)
        if found is None and self.folder is not None:
            self._read_file(f"{name}{SUFFIX}")
            if anywhere and name not in self.definitions:
                for file in self.files():
                    self._read_file(file)
            found = self.definitions.get(name)
        return found

    def files(self) -> list[str]:
        """Return the names of the files in its folder."""
        if self.folder is None:
            return []
        return sorted(entry.name for entry in self.folder.iterdir() if entry.suffix == SUFFIX and entry.name != CONFIG)

    def names(self) -> set[str]:
        """Return the names known without reading further files."""
        inner = {entry.name for entry in self.folder.iterdir() if entry.is_dir()} if self.folder is not None else set()
        return {*self.definitions, *(Path(file).stem for file in self.files()), *inner}

    def _read_file(self, file: str) -> None:
        if file in self.files_read:
            return
        self.files_read.add(file)
        if (path := self._entry(file, is_file)) is not None:
            self.library.read(path, self.shown / file, self)

    def _entry(self, name: str, is_there: Callable[[Path], bool]) -> Path | None:
        """Return a file or folder in its folder; None if it is outside, by `..` or by a symbolic link."""
        if self.folder is None or (self.shipped and name not in _shipped_names(self.folder)):
            return None
        path = self.folder / name
        return path if is_there(path) and (self.shipped or _inside(path, self.folder)) else None


@dataclass(eq=False)
class Library:
    """All definitions that names may refer to while a world is read."""

    roots: Roots
    report: Report
    _bundles: dict[str, Namespace | None] = field(default_factory=dict)
    _sources: dict[Path, Source | None] = field(default_factory=dict)
    _reading: list[Path] = field(default_factory=list)
    # The bundles in each folder, by the names in their configs.
    _configured: dict[Path, dict[str, Path]] = field(default_factory=dict)

    def open(self, path: Path, shown: Path) -> tuple[Source | None, Namespace]:
        """Read the file that a user names. Return it and the namespace of its models."""
        home = _bundle_folder(path.resolve().parent)
        if home is None:
            namespace = Namespace("", self)
            return self.read(path, shown, namespace), namespace
        inside = path.resolve().parent.relative_to(home)
        shown_home = shown.parent
        for _ in inside.parts:
            shown_home = shown_home.parent
        namespace = self._bundles[home.name] = Namespace(home.name, self, home, shown_home)
        for part in inside.parts:
            inner = namespace.inner(part)
            assert inner is not None
            namespace = inner
        namespace.files_read.add(path.name)
        return self.read(path, shown, namespace), namespace

    def read(self, path: Path, shown: Path, namespace: Namespace) -> Source | None:
        """Read the models of a file into a namespace, once. Report errors and return None if it is invalid."""
        key = path if namespace.shipped else path.resolve()
        if key in self._sources:
            return self._sources[key]
        self._sources[key] = None
        report = self.report.about(str(shown))
        if len(self._sources) > MAX_FILES:
            report.error(f"too many files; a world may have at most {MAX_FILES}")
            return None
        document = _shipped(path) if namespace.shipped else _document(path, report)
        if document is None:
            return None
        source = self._sources[key] = Source(path, str(shown), (namespace, *namespace.parents))
        self._reading.append(key)
        for statement in document.statements:
            self._take_in(statement, source, namespace, report)
        self._reading.pop()
        return source

    def _take_in(self, statement: syntax.Statement, source: Source, namespace: Namespace, report: Report) -> None:
        if isinstance(statement, syntax.Import):
            self._import(statement, source, namespace, report)
        elif isinstance(statement, syntax.Assignment):
            # A bare name, or a name with a block, is a model without a base.
            model = syntax.Declaration(
                frozenset(), statement.path, False, (), False, (), statement.value, statement.block
            )
            self._define(model, source, namespace, report)
        elif isinstance(statement, syntax.Declaration):
            self._define(statement, source, namespace, report)
        elif isinstance(statement, syntax.With):
            report.error("a trait belongs in a model; indent it below one", statement.at, "with")

    def _define(self, model: syntax.Declaration, source: Source, namespace: Namespace, report: Report) -> None:
        name = str(model.path)
        if len(model.path.parts) > 1:
            report.error("the name of a model has no dots; indent its contents below it", model.at, name)
        elif model.value is not None and not model.types:
            report.error(
                "a value outside of a model; indent it below one, or say its type: NAME is TYPE: VALUE", model.at, name
            )
        elif name in namespace.definitions:
            before = namespace.definitions[name].place.where
            report.error(f"defined twice; first at {before}", model.at, name)
        else:
            full = f"{namespace.name}.{name}" if namespace.name else name
            namespace.definitions[name] = Definition(full, model, source)

    def _import(self, statement: syntax.Import, source: Source, namespace: Namespace, report: Report) -> None:
        key = "import"
        if len(self._reading) > MAX_IMPORT_DEPTH:
            report.error(f"imports within imports more than {MAX_IMPORT_DEPTH} deep", statement.at, key)
            return
        suffix = Path(statement.file).suffix.lower()
        if suffix in FOREIGN:
            kind = f"{quoted(statement.file)} is {FOREIGN[suffix]}"
            report.error(f"{kind}, which is not imported; OpenPLX files and bundles are", statement.at, key)
            return
        if suffix in MESHES:
            self._define_mesh(statement, source, namespace, report)
            return
        try:
            path, shown = self._imported_file(statement, source)
        except LocateError as error:
            report.error(str(error), statement.at, key)
            return
        if path.name == CONFIG:
            bundle = self._add_bundle(path.parent, shown.parent)
            source.imported[str(statement.name or bundle.name)] = bundle
            return
        if path.resolve() in self._reading:
            report.error(f"{quoted(statement.file)} imports this file", statement.at, key)
            return
        read = self.read(path, shown, Namespace(namespace.name, self))
        if read is None:
            return
        imported = read.scope[0]
        if statement.name is not None:
            source.imported[str(statement.name)] = imported
            return
        for name, definition in imported.definitions.items():
            if namespace.definitions.setdefault(name, definition) is not definition:
                message = f"{quoted(statement.file)} also has a model {name}; import it `as` another name"
                report.error(message, statement.at, key)

    def _define_mesh(self, statement: syntax.Import, source: Source, namespace: Namespace, report: Report) -> None:
        """Define the model of a visual from a mesh file, by default with the name of the file."""
        name = str(statement.name or Path(statement.file).stem)
        before = "\n" * (statement.at[0] - 1)
        text = f'{before}{name} is Visuals.Geometries.ExternalTriMeshGeometry:\n    path: @"{statement.file}"\n'
        document = parse(text, report)
        if document is not None:
            self._take_in(document.statements[0], source, namespace, report)

    def _imported_file(self, statement: syntax.Import, source: Source) -> tuple[Path, Path]:
        """Return the file of an import, or the config of an imported bundle. Raises LocateError."""
        if statement.bundles:
            for folder in self._search():
                for name in (statement.file, f"{statement.file}/{CONFIG}"):
                    path = folder / name
                    if is_file(path) and _inside(path, folder):
                        return path, path
            raise LocateError(f"no {quoted(statement.file)} on the search path of bundles ({SEARCH_PATH})")
        name = statement.file if statement.file.endswith(SUFFIX) else f"{statement.file.rstrip('/')}/{CONFIG}"
        return self.roots.resolve(name, source.path), Path(source.shown).parent / name

    def _by_config(self, folder: Path, name: str) -> Path | None:
        """Return the folder of a bundle within a folder: the one with its name, or one whose config names it."""
        if is_file(folder / name / CONFIG) and _inside(folder / name, folder):
            return folder / name
        if folder not in self._configured:
            configs = [each for each in sorted(folder.glob(f"*/{CONFIG}")) if _inside(each, folder)]
            self._configured[folder] = {_name_in(config): config.parent for config in configs}
        return self._configured[folder].get(name)

    def _add_bundle(self, folder: Path, shown: Path) -> Namespace:
        name = folder.resolve().name
        found = self._bundles.get(name)
        if found is None or found.folder is None or found.folder.resolve() != folder.resolve():
            found = self._bundles[name] = Namespace(name, self, folder, shown)
        return found

    def bundle(self, name: str) -> Namespace | None:
        """Return the bundle with a given name from the search path, or the built-in one."""
        if name not in self._bundles:
            self._bundles[name] = None
            for folder in self._search():
                if (found := self._by_config(folder, name)) is not None:
                    self._bundles[name] = Namespace(name, self, found, found)
                    break
            else:
                if is_folder(BUILT_IN / name):
                    self._bundles[name] = Namespace(name, self, BUILT_IN / name, BUILT_IN / name, shipped=True)
        return self._bundles[name]

    def bundle_names(self) -> set[str]:
        """Return the names of all bundles."""
        found = {entry.parent.name for folder in self._search() for entry in folder.glob(f"*/{CONFIG}")}
        return found | {entry.name for entry in BUILT_IN.iterdir() if entry.is_dir()}

    def _search(self) -> list[Path]:
        """Return the folders that may contain bundles: those that the world may read, then those of the search path."""
        return [*self.roots.folders, *map(Path, filter(None, os.environ.get(SEARCH_PATH, "").split(os.pathsep)))]


def find(parts: tuple[str, ...], source: Source, library: Library) -> tuple[Definition, tuple[str, ...]] | None:
    """Return the definition that matches most of a dotted name, as seen from a file, and the rest of the name."""
    known = source.found.get(parts)
    if known is None and (known := _found(parts, source, library)) is not None:
        source.found[parts] = known
    return known


def _found(parts: tuple[str, ...], source: Source, library: Library) -> tuple[Definition, tuple[str, ...]] | None:
    for anywhere in (False, True):
        inside = (_within(namespace, parts, anywhere) for namespace in source.scope)
        start = known_bundle(parts, source, library) if len(parts) > 1 else None
        outside = (_within(namespace, parts[1:], anywhere) for namespace in (start,) if namespace is not None)
        # Searching reads whole folders, so start with the one in the name.
        for found in itertools.chain(outside, inside) if anywhere else itertools.chain(inside, outside):
            if found is not None:
                return found
    new = TYPES.get(".".join(parts))
    return None if new is None else find(tuple(new.split(".")), source, library)


def known_bundle(parts: tuple[str, ...], source: Source, library: Library) -> Namespace | None:
    """Return the bundle that a dotted name begins with."""
    return source.imported.get(parts[0]) or library.bundle(parts[0])


def nearest(parts: tuple[str, ...], source: Source, library: Library) -> str:
    """Return `; did you mean NAME?` for an unknown dotted name."""
    bundle = known_bundle(parts, source, library)
    if bundle is None or len(parts) == 1:
        names = {name for namespace in source.scope for name in namespace.names()} | set(source.imported)
        if len(parts) > 1:
            names |= library.bundle_names()
        return "" if parts[0] in names else did_you_mean(parts[0], names)
    at, before = bundle, [parts[0]]
    for part in parts[1:]:
        inner = at.inner(part)
        if inner is None:
            hint = did_you_mean(part, at.names())
            return hint.replace("did you mean ", f"did you mean {'.'.join(before)}.") if hint else ""
        at = inner
        before.append(part)
    return ""


def _within(namespace: Namespace, parts: tuple[str, ...], anywhere: bool) -> tuple[Definition, tuple[str, ...]] | None:
    if len(parts) > 1:
        inner = namespace.inner(parts[0])
        found = None if inner is None else _within(inner, parts[1:], anywhere)
        if found is not None:
            return found
    definition = namespace.definition(parts[0], anywhere=anywhere)
    return None if definition is None else (definition, parts[1:])


def _name_in(config: Path) -> str:
    """Return the name in the config of a bundle, or the name of its folder if the config has none."""
    with contextlib.suppress(OSError, UnicodeDecodeError):
        found = re.search(r'^\s*name\s*:\s*"([^"]+)"', config.read_text(encoding="utf-8")[:100_000], re.MULTILINE)
        if found is not None:
            return found[1]
    return config.parent.name


def _bundle_folder(folder: Path) -> Path | None:
    """Return the root folder of the bundle that contains a folder."""
    return next((above for above in (folder, *list(folder.parents)[:15]) if (above / CONFIG).is_file()), None)


def _inside(path: Path, folder: Path) -> bool:
    return path.resolve().is_relative_to(folder.resolve())


def _document(path: Path, report: Report) -> syntax.Document | None:
    text = read_text(path, report)
    report.files.append(path)
    return None if text is None else parse(text, report)


@cache
def _shipped_names(folder: Path) -> frozenset[str]:
    return frozenset(os.listdir(folder))


@cache
def _shipped(path: Path) -> syntax.Document | None:
    return parse(path.read_text(encoding="utf-8"), Report(str(path)))
