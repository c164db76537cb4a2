"""Opens bags: a folder with or without its metadata.yaml, or a single file of any storage."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

from sim_node.recording.bag import Bag, BagError, opener, suffixes
from sim_node.recording.decompression import MAX_BYTES, BrokenContent, decompress_file, message_of
from sim_node.recording.metadata import FILE, Metadata, read_metadata
from sim_node.recording.split_bag import Decompress, SplitBag
from sim_node.world.problems import quoted_path

_COMPRESSED = (".zstd", ".zst")


def open_bag(path: str | Path, max_bytes: int = MAX_BYTES) -> SplitBag:
    """The bag at `path`: a folder, or one .mcap or .db3 file. Close it after use.

    max_bytes: what a chunk, or a message that is compressed by itself, may take in memory.

    Raises BagError: what is wrong with which file, and what to try.
    """
    path = Path(path)
    try:
        return _opened_at(path, max_bytes)
    except OSError as error:  # of names that no file system takes, too
        raise BagError(f"{quoted_path(str(path))}: cannot be read: {error.strerror}") from None


def _opened_at(path: Path, max_bytes: int) -> SplitBag:
    if not path.exists():
        raise BagError(f"{path}: does not exist")
    if not path.is_dir():
        return _opened([path], None, path, max_bytes)
    if (path / FILE).is_file():
        metadata = read_metadata(path / FILE)
        return _opened([path / name for name in metadata.files], metadata, path, max_bytes)
    files = sorted(file for file in path.iterdir() if _suffix(file) in suffixes())
    if not files:
        raise BagError(f"{path}: is no bag: there is no {FILE} in it, and no .mcap or .db3 file")
    return _opened(files, None, path, max_bytes)


def kept_in(path: Path) -> tuple[int, str]:
    """How many messages a reader finds in a bag, and what it says is broken."""
    try:
        with open_bag(path) as bag:
            return bag.count, "; ".join(bag.damage)
    except BagError as error:
        return 0, str(error)


def is_bag(path: str | Path) -> bool:
    """Whether `path` looks like a bag, which no world does."""
    path = Path(path)
    try:
        if path.is_dir():
            return (path / FILE).is_file() or any(_suffix(file) in suffixes() for file in path.iterdir())
    except OSError:  # whoever reads it tells why it cannot be
        return False
    return _suffix(path) in suffixes()


def _suffix(path: Path) -> str:
    """The storage's suffix: .db3 of run_0.db3.zstd."""
    return Path(path.stem).suffix if path.suffix in _COMPRESSED else path.suffix


def _opened(files: list[Path], metadata: Metadata | None, bag_path: Path, most: int) -> SplitBag:
    missing = [file for file in files if not file.is_file()]
    there = [file for file in files if file.is_file()]
    if not there:
        what = f"{FILE} names {missing[0].name}, which is not there" if missing else f"{FILE} names no file"
        raise BagError(f"{bag_path}: {what}")
    damage = [f"{file}: is missing, though {FILE} names it" for file in missing]
    with ExitStack() as owned:
        bags: list[Bag] = []
        for file in there:
            name = metadata.storage if metadata else _suffix(file)
            open_file = opener(name, file)
            try:
                bag = open_file(_plain(file, owned, most), most)
            except OSError as error:
                raise BagError(f"{file}: cannot be read: {error.strerror}") from None
            owned.callback(bag.close)
            bags.append(bag)
        decompress = _decompressor(metadata, bag_path, most)
        return SplitBag(bags, owned.pop_all(), metadata, decompress, damage)


def _plain(file: Path, owned: ExitStack, most: int) -> Path:
    """The file, or where it is compressed as a whole, a copy of what is in it that goes with the bag."""
    if file.suffix not in _COMPRESSED:
        return file
    folder = owned.enter_context(TemporaryDirectory(prefix="sim_node_bag_"))
    copy = Path(folder, file.stem)
    try:
        decompress_file(file, copy, most)
    except BrokenContent as broken:
        raise BagError(f"{file}: cannot be decompressed: {broken}") from None
    return copy


def _decompressor(metadata: Metadata | None, where: Path, most: int) -> Decompress | None:
    if metadata is None or metadata.compression_mode != "message":
        return None
    if metadata.compression_format != "zstd":
        raise BagError(f"{where}: messages are compressed with {metadata.compression_format!r}; known: zstd")
    return lambda data: message_of(data, most)
