"""Resolution of URIs in SDF (model://, package://, file:// and relative paths) to files in the allowed folders."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote, unquote

from sim_node.text import did_you_mean
from sim_node.world.fetched import OPTION, fetched_folder
from sim_node.world.locate import LocateError
from sim_node.world.problems import quoted
from sim_node.world.readers.files import Roots, is_file, is_folder, read_text
from sim_node.world.readers.numbers import as_number
from sim_node.world.readers.report import Report
from sim_node.world.readers.xml_elements import compose_xml

# Search paths of Gazebo's releases. Their folders may be read, because the user has set them.
VARIABLES = ("GZ_SIM_RESOURCE_PATH", "SDF_PATH", "IGN_GAZEBO_RESOURCE_PATH", "GAZEBO_MODEL_PATH")
MANIFEST, MODEL = "model.config", "model.sdf"
# The URL of a model on Fuel, with an optional version and file.
_FUEL = re.compile(
    r"(?P<server>\w+://[^/]+)(/(?P<api>\d+\.\d+))?/(?P<owner>[^/]+)/models/(?P<name>[^/]+)"
    r"(/(?P<version>\d+|tip))?(/files)?(/(?P<inside>.+?))?/?$"
)
FETCHED = ("https://", "http://", "fuel://")


def find(uri: str, beside: Path, roots: Roots) -> Path:
    """Return the file or folder to which a URI in a file refers.

    Args:
        uri: The URI.
        beside: The file that contains it.
        roots: The folders that may be read, besides those of Gazebo's variables and of models beside the file's own.

    Raises:
        LocateError: There is none, or it may not be read.
    """
    try:
        return _find(uri.strip(), beside, roots)
    except (OSError, ValueError, RuntimeError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise LocateError(f"{quoted(uri)} cannot be read: {reason}") from None


def _find(uri: str, beside: Path, roots: Roots) -> Path:
    if uri.startswith(FETCHED):
        of_fuel = _FUEL.match(uri)
        name = unquote(of_fuel["name"] if of_fuel else uri.rstrip("/").rpartition("/")[2])
        known = _in_collections(name, unquote(of_fuel["inside"] or "") if of_fuel else "", beside, roots)
        if known is not None and known != beside.resolve().parent:
            return known
        if of_fuel is not None and (found := _fetched(of_fuel, roots)) is not None:
            return found
        asked = f"{OPTION} fetches it once; or " if of_fuel else ""
        raise LocateError(
            f"{quoted(name)} is on the network, which is not asked; {asked}download it to a folder {name} in one of "
            f"{VARIABLES[0]}, or beside the folder of this file"
        )
    scheme, separator, rest = uri.partition("://")
    if not separator:
        return _relative(uri, beside, roots)
    if scheme == "model":
        name, _, inside = unquote(rest).lstrip("/").partition("/")
        found = _in_collections(name, inside, beside, roots)
        if found is None:
            raise LocateError(f"no model {quoted(name)}{_near(name, beside, roots)}" if not inside else _no(uri))
        return found
    if scheme == "package":
        path = roots.path_of(uri, beside)
    elif scheme == "file" and not rest.startswith("/"):
        return _relative(unquote(rest), beside, roots)
    elif scheme == "file":
        path = (beside.resolve().parent / unquote(rest)).resolve()
        if not roots.allows(path) and not any(path.is_relative_to(folder) for folder in _variable_folders()):
            raise LocateError(
                f"{quoted(uri)} is outside the world's folder {roots.folders[0]}; allow its (--allow DIR)"
            )
    else:
        raise LocateError(f"{quoted(uri)} is no address that is read; allowed: model://, package://, file://, a path")
    if not path.exists():
        raise LocateError(_no(uri))
    return path


def _fetched(of_fuel: re.Match[str], roots: Roots) -> Path | None:
    """Return a file or the folder of a model on Fuel; None if it is not cached and must not be fetched.

    Fuel serves a model as a ZIP file below the URL of its version: gz-fuel-tools, FuelClient::DownloadModel.
    """
    name, inside = unquote(of_fuel["name"]), unquote(of_fuel["inside"] or "")
    if {"/", os.sep, "\0"} & {*name} or name in (".", ".."):
        raise LocateError(f"{quoted(name)} is no name of a model")
    owner, version = quote(unquote(of_fuel["owner"])), of_fuel["version"] or "tip"
    model = f"{of_fuel['api'] or '1.0'}/{owner}/models/{quote(name)}/{version}/{quote(name)}.zip"
    url = f"{of_fuel['server']}/{model}"
    try:
        folder = fetched_folder(url, allowed=roots.fetch)
    except LocateError:
        if not roots.fetch:
            return None
        raise
    path = (folder / inside).resolve()
    if not path.is_relative_to(folder.resolve()) or not path.exists():
        raise LocateError(f"the model {quoted(name)} of {of_fuel['server']} has no {inside}")
    return path


def _relative(uri: str, beside: Path, roots: Roots) -> Path:
    """Resolve a relative path: beside the file, or else in the folders of models."""
    path = beside.resolve().parent / uri
    own = roots.around(beside)
    # A model may read its own folder.
    if path.exists() and (own.allows(path) or _is_in_own_model(path, beside)):
        return path
    name, _, inside = uri.lstrip("/").partition("/")
    found = _in_collections(name, inside, beside, roots)
    if found is not None:
        return found
    if path.exists():
        own.path_of(uri, beside)  # raises with the folder to allow
    raise LocateError(_no(uri))


def _no(uri: str) -> str:
    return f"no file {quoted(uri)} (models are looked for beside that of this file, and in {', '.join(VARIABLES[:2])})"


def _near(name: str, beside: Path, roots: Roots) -> str:
    known = {
        *roots.packages,
        *(each.name for folder in _collections(beside, roots) if is_folder(folder) for each in folder.iterdir()),
    }
    looked = ", ".join(f"{each} ({'set' if os.environ.get(each) else 'not set'})" for each in VARIABLES[:2])
    return (
        f"{did_you_mean(name, known)}; models are looked for beside that of this file, in --allow DIR, and in {looked}"
    )


def _variable_folders() -> Iterator[Path]:
    for variable in VARIABLES:
        for folder in filter(None, os.environ.get(variable, "").split(os.pathsep)):
            yield Path(folder).expanduser().resolve()


def _collections(beside: Path, roots: Roots) -> Iterator[Path]:
    """Yield the folders in which models may be found by name."""
    yield from _variable_folders()
    own = beside.resolve().parent
    for folder in (*roots.folders, own, own.parent):
        yield folder
        yield folder / "models"


def _in_collections(name: str, inside: str, beside: Path, roots: Roots) -> Path | None:
    """Return a path in the folder of a model, or the folder; None if there is no such model, or it has no such file.

    Beside the file's own folder, which is not explicitly allowed, only folders with a manifest count as models.
    """
    if not name or name in (".", "..") or "/" in name or os.sep in name:
        return None
    if name in roots.packages:
        path = (roots.packages[name] / inside).resolve()
        return path if ".." not in Path(inside).parts and path.exists() else None
    allowed = {*_variable_folders(), *(each for folder in roots.folders for each in (folder, folder / "models"))}
    own = beside.resolve().parent
    if name == own.name:
        allowed.add(own.parent)
    for folder in dict.fromkeys(_collections(beside, roots)):
        model = folder / name
        if not is_folder(model) or (folder not in allowed and not is_file(model / MANIFEST)):
            continue
        path = (model / inside).resolve()
        # A symbolic link in a model may lead to files that its package installs, but `..` is not allowed.
        if ".." not in Path(inside).parts and path.exists():
            return path
    return None


def _is_in_own_model(path: Path, beside: Path) -> bool:
    """Return whether a path is in the folder of the model that contains a file, directly or one level below."""
    own = beside.resolve().parent
    folders = [folder for folder in (own, own.parent) if is_file(folder / MANIFEST)]
    return any(path.resolve().is_relative_to(folder) for folder in folders)


def model_file(folder: Path, report: Report) -> Path:
    """Return the model file in a folder: that of the newest format version in its manifest, or else model.sdf.

    Raises:
        LocateError: There is none.
    """
    named = Path(MODEL)
    if is_file(folder / MANIFEST):
        about = report.about(str(folder / MANIFEST))
        content = read_text(folder / MANIFEST, about)
        root = None if content is None else compose_xml(content, about)
        if root is not None:
            rows = [
                (_version(each.get("version")), each.text.text) for each in root.all("sdf") if each.text is not None
            ]
            named = Path(max(rows, default=((), MODEL))[1])
    path = folder / named
    if ".." in named.parts or named.is_absolute() or not is_file(path):
        raise LocateError(f"the folder {quoted(folder.name)} has no {named}")
    return path


def _version(words: str) -> tuple[float, ...]:
    return tuple(number if (number := as_number(word)) == number else 0.0 for word in words.split("."))
