"""Models from the network: fetched only where the user asks for it, and kept by their content."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from sim_node.world.locate import LocateError
from sim_node.world.problems import quoted

SUFFIX = ".glb"
OPTION = "--allow-fetch"


def is_url(reference: str) -> bool:
    """Return whether a reference is a URL, other than package://PACKAGE/PATH."""
    scheme, found, _ = reference.partition("://")
    return bool(found) and scheme.lower() != "package"


def cache_folder() -> Path:
    """Return the folder of what was fetched: `sim_node/models` below the user's cache."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "sim_node" / "models"


def fetched(url: str, folders: Iterable[Path] = (), *, allowed: bool = False) -> Path:
    """Return the file of a model that a URL names: one that was fetched before, or one that is fetched now.

    A file is named after the SHA-256 of its URL and that of its content, which must agree with it. Recordings have it
    under the same name beside their world.

    Args:
        url: https://, or http:// to this machine's loopback; a binary glTF file, .glb.
        folders: Folders that may have it, besides the cache.
        allowed: Whether it may be fetched.

    Returns:
        The file.

    Raises:
        LocateError: It is not there and must not be fetched, or cannot be.
    """
    from sim_node.world.fetching import check_url, download  # here: few worlds need what it imports

    shown = quoted(url)
    try:
        check_url(url)
        if not url.partition("?")[0].lower().endswith(SUFFIX):
            raise ValueError(f"does not end in {SUFFIX}, the only format that is fetched")
    except ValueError as error:
        raise LocateError(f"{shown} {error}") from None
    cache = cache_folder()
    for folder in (*folders, cache):
        if (found := _kept(url, folder)) is not None:
            return found
    if not allowed:
        raise LocateError(
            f"{shown} is not fetched from the network unless asked to: {OPTION} (in Python, fetch=True) fetches it "
            "once; or download it, and give its path"
        )
    try:
        data = download(url)
    except ValueError as error:
        raise LocateError(f"{shown} was not fetched: {error}") from None
    return _keep(url, data, cache)


def _prefix(url: str) -> str:
    return hashlib.sha256(url.encode()).hexdigest()[:32]


def _kept(url: str, folder: Path) -> Path | None:
    """Return the file of a URL in a folder; None if it is not there, or is not what its name says."""
    with suppress(OSError):
        for path in sorted(folder.glob(f"{_prefix(url)}-*{SUFFIX}")):
            content = re.fullmatch(r"[0-9a-f]+-([0-9a-f]{64})\.glb", path.name)
            if content is not None and hashlib.sha256(path.read_bytes()).hexdigest() == content[1]:
                return path
    return None


def _keep(url: str, data: bytes, folder: Path) -> Path:
    path = folder / f"{_prefix(url)}-{hashlib.sha256(data).hexdigest()}{SUFFIX}"
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
