"""Models from the network: fetched only if the user asks for it, and cached by their content."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from urllib.parse import unquote

from sim_node.world.locate import LocateError
from sim_node.world.problems import quoted

SUFFIX, ARCHIVE = ".glb", ".zip"
OPTION = "--allow-fetch"


def is_url(reference: str) -> bool:
    """Return whether a reference is a URL, other than package://PACKAGE/PATH."""
    scheme, found, _ = reference.partition("://")
    return bool(found) and scheme.lower() != "package"


def cache_folder() -> Path:
    """Return the folder of fetched models: `sim_node/models` in the user's cache."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "sim_node" / "models"


def fetched(url: str, folders: Iterable[Path] = (), *, allowed: bool = False) -> Path:
    """Return the file of a model at a URL, fetching it if it has not been fetched before.

    A file is named after the SHA-256 of its URL and that of its content, which is verified. Recordings store it under
    the same name beside their world.

    Args:
        url: URL of a binary glTF file, .glb: https://, or http:// to the loopback address.
        folders: Folders that may have the file, besides the cache.
        allowed: Whether it may be fetched.

    Returns:
        The file.

    Raises:
        LocateError: The file does not exist locally, and fetching is not allowed or fails.
    """
    return _file_of(url, SUFFIX, folders, allowed)


def fetched_folder(url: str, *, allowed: bool = False) -> Path:
    """Return the unpacked folder of a ZIP file at a URL, fetching it if it has not been fetched before.

    If the files in the folder differ from those in the ZIP file, it is unpacked again.

    Args:
        url: URL of a ZIP file, .zip, as in `fetched`.
        allowed: Whether it may be fetched.

    Returns:
        The folder in the cache, with the name of the ZIP file in the URL.

    Raises:
        LocateError: The file does not exist locally, and fetching is not allowed or fails.
    """
    from sim_node.world.unpacking import unpack

    archive = _file_of(url, ARCHIVE, (), allowed)
    folder = archive.with_suffix("") / unquote(url.rpartition("/")[2]).removesuffix(ARCHIVE)
    try:
        unpack(archive.read_bytes(), folder)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else error
        raise LocateError(f"{quoted(url)} cannot be unpacked in {folder.parent}: {reason}") from None
    return folder


def _file_of(url: str, suffix: str, folders: Iterable[Path], allowed: bool) -> Path:
    from sim_node.world.fetching import check_url, download  # imported here: few worlds need it

    shown = quoted(url)
    try:
        check_url(url)
        if not url.partition("?")[0].lower().endswith(suffix):
            raise ValueError(f"does not end in {suffix}, the only format that is fetched")
    except ValueError as error:
        raise LocateError(f"{shown} {error}") from None
    cache = cache_folder()
    for folder in (*folders, cache):
        if (found := _kept(url, folder, suffix)) is not None:
            return found
    if not allowed:
        raise LocateError(
            f"{shown} is not fetched from the network unless asked to: {OPTION} (in Python, fetch=True) fetches it "
            "once; or download it, and give its path"
        )
    try:
        data = download(url, suffix)
    except ValueError as error:
        raise LocateError(f"{shown} was not fetched: {error}") from None
    return _keep(url, data, cache, suffix)


def _prefix(url: str) -> str:
    return hashlib.sha256(url.encode()).hexdigest()[:32]


def _kept(url: str, folder: Path, suffix: str) -> Path | None:
    """Return the file of a URL in a folder; None if it is missing or its content does not match its name."""
    with suppress(OSError):
        for path in sorted(folder.glob(f"{_prefix(url)}-*{suffix}")):
            content = re.fullmatch(rf"[0-9a-f]+-([0-9a-f]{{64}}){re.escape(suffix)}", path.name)
            if content is not None and hashlib.sha256(path.read_bytes()).hexdigest() == content[1]:
                return path
    return None


def _keep(url: str, data: bytes, folder: Path, suffix: str) -> Path:
    path = folder / f"{_prefix(url)}-{hashlib.sha256(data).hexdigest()}{suffix}"
    part = folder / f".{path.name}.{os.getpid()}.part"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        part.write_bytes(data)
        part.replace(path)
    except OSError as error:
        with suppress(OSError):
            part.unlink(missing_ok=True)
        raise LocateError(
            f"{quoted(url)} cannot be kept in {folder}: {error.strerror or error}; "
            "XDG_CACHE_HOME names another folder for caches"
        ) from None
    return path
