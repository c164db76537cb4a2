"""Open bags: a folder with or without metadata.yaml, or a single file of any storage."""

from __future__ import annotations

import re
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from sim_node.recording.bag import Bag, BagError, opener, suffixes
from sim_node.recording.decompression import MAX_BYTES, ZSTD_MAGIC, BrokenContent, decompress_file, message_of
from sim_node.recording.metadata import FILE, Metadata, UnreadableMetadata, read_metadata
from sim_node.recording.split_bag import Decompress, SplitBag
from sim_node.text import nearest, shown
from sim_node.world.locate import special
from sim_node.world.problems import quoted_path

_COMPRESSED = (".zstd", ".zst")
# The number of a file: run_12.mcap.
_NUMBERED = re.compile(r"_(\d{1,9})(?=\.)")


def open_bag(path: str | Path, max_bytes: int = MAX_BYTES) -> SplitBag:
    """Open the bag at `path`. Use it in a `with` statement, or close it after use.

    Args:
        path: A folder, or one .mcap or .db3 file.
        max_bytes: Memory limit of a chunk, or of an individually compressed message.

    Returns:
        The open bag.

    Raises:
        BagError: The bag cannot be opened. The message gives the file, the reason and a remedy.
    """
    path = Path(path)
    try:
        return _opened_at(path, max_bytes)
    except OSError as error:  # also raised for names that no file system accepts
        raise BagError(f"{quoted_path(str(path))}: cannot be read: {error.strerror}") from None


def _opened_at(path: Path, max_bytes: int) -> SplitBag:
    if not path.exists():
        raise BagError(f"{path}: does not exist{_bag_beside(path)}")
    if not path.is_dir():
        if not path.is_file():
            raise BagError(f"{path}: is {special(path)}, not a bag")
        return _opened([path], None, path, max_bytes)
    if (path / FILE).is_file():
        metadata = read_metadata(path / FILE)
        listed = [path / name for name in metadata.files]
        later = _later_than(listed)
        faults = {file: _fault(file, metadata.storage, max_bytes) for file in later}
        bag = _opened([*listed, *(file for file in later if not faults[file])], metadata, path, max_bytes)
        for fault in filter(None, faults.values()):
            bag.note(fault)
        if later or (metadata.count is not None and metadata.count < bag.count):
            bag.note(f"{path / FILE}: states {metadata.count or 0} of {bag.count} messages: its writer was stopped")
        return bag
    files = _files_in(path)
    if not files:
        raise BagError(f"{path}: is not a bag: it contains neither {FILE} nor .mcap or .db3 files")
    return _opened(files, None, path, max_bytes)


def open_to_repair(path: Path, max_bytes: int = MAX_BYTES) -> SplitBag:
    """Open a bag like `open_bag`. If its metadata.yaml is unreadable, ignore it and list it as damage.

    Individually compressed messages are then recognised by their first bytes, since CDR does not begin like zstd.
    """
    try:
        return open_bag(path, max_bytes)
    except UnreadableMetadata as unreadable:
        files = _files_in(path)
        if not files:
            raise
        bag = _opened(files, None, path, max_bytes)
        bag.decompress = lambda data: message_of(data, max_bytes) if data.startswith(ZSTD_MAGIC) else data
        bag.note(str(unreadable))
        return bag


def _files_in(folder: Path) -> list[Path]:
    """Return the files of a bag without metadata.yaml, ordered by number."""
    files = (file for file in folder.iterdir() if _suffix(file) in suffixes())
    return sorted(files, key=lambda file: (_NUMBERED.sub("", file.name), _number(file), file.name))


def _number(file: Path) -> int:
    found = _NUMBERED.search(file.name)
    return int(found[1]) if found else -1


def _later_than(listed: list[Path]) -> list[Path]:
    """Return files with numbers after those in metadata.yaml, which remain if the writer was killed."""
    last = max(listed, key=_number, default=None)
    if last is None or _number(last) < 0 or not last.parent.is_dir():
        return []
    series = _NUMBERED.sub("", last.name)
    return [
        file
        for file in _files_in(last.parent)
        if _NUMBERED.sub("", file.name) == series and _number(file) > _number(last)
    ]


def _fault(file: Path, storage: str, limit: int) -> str:
    """Return why a file cannot be opened; empty if it can. A writer may be killed before its first bytes."""
    try:
        with ExitStack() as owned:
            _opened_file(file, storage, limit, owned)
    except BagError as error:
        return str(error)
    return ""


def kept_in(path: Path) -> tuple[int, str]:
    """Return the number of messages that a reader finds in a bag, and the damage it reports."""
    try:
        with open_bag(path) as bag:
            return bag.count, "; ".join(bag.damage)
    except BagError as error:
        return 0, str(error)


def _bag_beside(path: Path) -> str:
    """Return a question that suggests the bag with the nearest name in the same folder, or an empty string."""
    names = [each.name for each in path.parent.iterdir()] if path.parent.is_dir() else []
    bags = (each for name in nearest(path.name, names, 3) if is_bag(each := path.with_name(name)))
    found = next(bags, None)
    return "" if found is None else f"; did you mean {shown(str(found))}?"


def is_bag(path: str | Path) -> bool:
    """Return whether a path looks like a bag. No world does.

    Args:
        path: Any path.

    Returns:
        True for a bag folder or file.
    """
    path = Path(path)
    try:
        if path.is_dir():
            return (path / FILE).is_file() or any(_suffix(file) in suffixes() for file in path.iterdir())
    except OSError:  # reported when it is read
        return False
    return _suffix(path) in suffixes()


def _suffix(path: Path) -> str:
    """Return the storage's suffix: .db3 for run_0.db3.zstd."""
    return Path(path.stem).suffix if path.suffix in _COMPRESSED else path.suffix


def _opened(files: list[Path], metadata: Metadata | None, bag_path: Path, limit: int) -> SplitBag:
    there = [file for file in files if file.is_file()]
    missing = [file for file in files if not file.is_file()]
    if not there:
        what = f"{FILE} names {missing[0].name}, which is missing" if missing else f"{FILE} names no file"
        raise BagError(f"{bag_path}: {what}")
    damage = [f"{file}: is missing, though {FILE} names it" for file in missing]
    once = dict.fromkeys(there)
    if len(once) < len(there):
        damage.append(f"{bag_path}: {FILE} names {len(there)} files, but {len(once)} different ones")
    opens = [partial(_opened_file, file, metadata.storage if metadata else _suffix(file), limit) for file in once]
    return SplitBag(opens, metadata, _decompressor(metadata, bag_path, limit), damage, limit)


def _opened_file(file: Path, storage: str, limit: int, owned: ExitStack) -> Bag:
    open_file = opener(storage, file)
    try:
        bag = open_file(_plain(file, owned, limit), limit)
    except OSError as error:
        raise BagError(f"{file}: cannot be read: {error.strerror}") from None
    owned.callback(bag.close)
    return bag


def _plain(file: Path, owned: ExitStack, limit: int) -> Path:
    """Return the file; if it is compressed as a whole, return a decompressed copy that is deleted with the bag."""
    if file.suffix not in _COMPRESSED:
        return file
    folder = owned.enter_context(TemporaryDirectory(prefix="sim_node_bag_"))
    copy = Path(folder, file.stem)
    try:
        decompress_file(file, copy, limit)
    except BrokenContent as broken:
        raise BagError(f"{file}: cannot be decompressed: {broken}") from None
    return copy


def _decompressor(metadata: Metadata | None, where: Path, limit: int) -> Decompress | None:
    if metadata is None or metadata.compression_mode != "message":
        return None
    if metadata.compression_format != "zstd":
        raise BagError(f"{where}: messages are compressed with {metadata.compression_format!r}; known: zstd")
    return lambda data: message_of(data, limit)
