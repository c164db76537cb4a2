"""Unpacking of ZIP files from the network, with limits on size and number, and nothing outside of the folder."""

from __future__ import annotations

import io
import os
import stat
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

MAX_FILES, MAX_BYTES = 2000, 256 * 1024 * 1024
_CHUNK = 1 << 16
_BROKEN = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, OSError, ValueError)


def check_zip(data: bytes) -> None:
    """Raise ValueError, with the reason, if data is not a ZIP file that `unpack` supports."""
    for _, _ in _contents(data):
        pass


def unpack(data: bytes, folder: Path) -> None:
    """Unpack a ZIP file to a folder, unless the folder already has exactly its files.

    Args:
        data: The content of the ZIP file.
        folder: The folder, which is replaced as a whole.

    Raises:
        ValueError: It is damaged, encrypted or too large, or has names that refer outside of the folder.
        OSError: The folder cannot be written.
    """
    if _has_all(data, folder):
        return
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".part-") as part:
        whole = Path(part) / "whole"
        whole.mkdir()
        for name, content in _contents(data):
            path = whole / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        if folder.exists():
            os.replace(folder, Path(part) / "former")
        try:
            os.replace(whole, folder)
        except OSError:
            if not _has_all(data, folder):  # otherwise, another process has unpacked it
                raise


def _has_all(data: bytes, folder: Path) -> bool:
    """Return whether a folder has the files of an archive, unchanged, and no others."""
    if folder.is_symlink() or not folder.is_dir():
        return False
    wanted = {each.filename: (each.file_size, each.CRC) for each in _entries(data)}
    found = {}
    for path in folder.rglob("*"):
        if path.is_symlink():
            return False
        if path.is_file():
            content = path.read_bytes()
            found[path.relative_to(folder).as_posix()] = len(content), zlib.crc32(content)
    return found == wanted


def _entries(data: bytes) -> list[zipfile.ZipInfo]:
    """Return the files of an archive. Raises ValueError."""
    try:
        entries = [each for each in zipfile.ZipFile(io.BytesIO(data)).infolist() if not each.is_dir()]
    except _BROKEN as error:
        raise ValueError(f"it is not a ZIP file: {error}") from None
    if len(entries) > MAX_FILES:
        raise ValueError(f"it has {len(entries)} files; allowed: up to {MAX_FILES}")
    if sum(each.file_size for each in entries) > MAX_BYTES:
        raise _too_large()
    seen: set[str] = set()
    for each in entries:
        name = each.filename
        parts = PurePosixPath(name).parts
        is_plain = name == "/".join(parts) and not {"..", "."} & {*parts} and not set(name) & {"\\", ":", "\0"}
        if not name or name.startswith("/") or not is_plain or stat.S_ISLNK(each.external_attr >> 16):
            raise ValueError(f"it has a file {name[:60]!r}, which is no name of a file in its folder")
        if name.casefold() in seen:
            raise ValueError(f"it has two files {name[:60]!r}")
        seen.add(name.casefold())
    return entries


def _contents(data: bytes) -> Iterator[tuple[str, bytes]]:
    """Yield the names and contents of the files of an archive, regardless of its stated sizes. Raises ValueError."""
    left, entries = MAX_BYTES, _entries(data)
    archive = zipfile.ZipFile(io.BytesIO(data))
    for each in entries:
        content = bytearray()
        try:
            with archive.open(each) as file:
                while chunk := file.read(_CHUNK):
                    content += chunk
                    if len(content) > left:
                        break
        except _BROKEN as error:
            raise ValueError(f"its file {each.filename[:60]!r} cannot be unpacked: {error}") from None
        left -= len(content)
        if left < 0:
            raise _too_large()
        yield each.filename, bytes(content)


def _too_large() -> ValueError:
    return ValueError(f"it is larger than {MAX_BYTES // 1024**2} MB when it is unpacked")
