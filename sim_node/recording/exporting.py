"""Export bags as tables: one file per topic, one row per message, one column per number."""

from __future__ import annotations

import json
import re
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, reduce
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from sim_node.messages.tf_message_reader import Unreadable
from sim_node.packages import how_to_install
from sim_node.recording.bag import Bag, BagError, BagMessage, BagTopic
from sim_node.recording.decoding import PLACEHOLDER, Decoder, decoded, field_names, is_message, plain
from sim_node.recording.message_fields import TIME, ColumnTypes, column_name, column_type, leaves_of

# A sequence whose first value is longer (an image, a point cloud) becomes a single CSV cell, a JSON list.
_MAX_COLUMNS = 64
# Maximum number of elements that get columns, in sequences of messages or in sequences that were shorter before.
_MAX_ELEMENTS = 1024
# Number of elements and bytes processed at once, and maximum number of open files.
_PART, _PART_BYTES, _MAX_OPEN = 4096, 1 << 20, 64
_QUOTED = re.compile(r'[",\r\n]')
# Characters not used in file names, because topic names may contain anything.
_NO_NAME = re.compile(r"[^\w-]")
_MAX_NAME = 200
# Rows per topic, and bytes of messages, that are buffered before they are written to Parquet.
_ROWS, _BYTES = 5000, 16 << 20


class _Table(Protocol):
    def add(self, message: BagMessage, decoded: Any) -> None: ...

    def pause(self) -> None: ...

    def close(self) -> None: ...


def export_csv(bag: Bag, messages: Iterable[BagMessage], folder: Path, unreadable: Unreadable) -> list[Path]:
    """Write `folder`/TOPIC.csv for each topic that has messages, and return the paths. Uses bounded memory.

    The first column is time_ns, the recording time. Sequences have a column per element, such as ranges[0]. A message
    field time_ns is written to the column time_ns_.

    Args:
        bag: The bag.
        messages: The messages to export.
        folder: Where to write.
        unreadable: Counts the messages that are skipped.

    Returns:
        The files.
    """
    return _export(bag, messages, folder, unreadable, ".csv", _CsvTable)


def export_parquet(bag: Bag, messages: Iterable[BagMessage], folder: Path, unreadable: Unreadable) -> list[Path]:
    """Like `export_csv`, with sequences as lists. Raises BagError without pyarrow."""
    try:
        import pyarrow.parquet  # noqa: F401
    except ImportError as error:
        raise BagError(f"--parquet needs a package: {how_to_install(error)}; or use --csv") from None
    return _export(bag, messages, folder, unreadable, ".parquet", _ParquetTable)


def _export(
    bag: Bag,
    messages: Iterable[BagMessage],
    folder: Path,
    unreadable: Unreadable,
    suffix: str,
    kind: Callable[[Path, Decoder], _Table],
) -> list[Path]:
    tables: dict[int, _Table] = {}
    decoder_of = cache(lambda place: Decoder(bag.topics[place]))
    # The most recently written table is last.
    open_tables: OrderedDict[int, None] = OrderedDict()
    names = _file_names(bag.topics)
    paths = [folder / f"{name}{suffix}" for name in names]
    parts = [folder / f".{name}{suffix}.part" for name in names]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for message, content in decoded(messages, decoder_of, unreadable):
            place = message.topic
            if place not in tables:
                tables[place] = kind(parts[place], decoder_of(place))
            tables[place].add(message, content)
            open_tables[place] = None
            open_tables.move_to_end(place)
            if len(open_tables) > _MAX_OPEN:
                tables[open_tables.popitem(last=False)[0]].pause()
        for place, table in tables.items():
            table.close()
            parts[place].replace(paths[place])
    except OSError as error:
        raise BagError(f"{error.filename or folder}: cannot be written: {error.strerror}") from None
    finally:
        for part in parts:
            part.unlink(missing_ok=True)
    return [paths[place] for place in sorted(tables)]


def _file_names(topics: Sequence[BagTopic]) -> list[str]:
    """Return file names such as `drone_imu_data` for /drone/imu/data; duplicates are numbered."""
    names: dict[str, None] = {}
    last: dict[str, int] = {}
    for topic in topics:
        name = plain = _NO_NAME.sub("_", topic.name.strip("/"))[:_MAX_NAME] or "root"
        while name in names:
            last[plain] = last.get(plain, 1) + 1
            name = f"{plain}_{last[plain]}"
        names[name] = None
    return list(names)


class _CsvTable:
    """Writes rows as they arrive. Columns that appear later are added to the header and to all rows at the end.

    A sequence has a column for each element. A sequence that is long at first, or later exceeds the maximum number of
    columns, is a single cell, a JSON list, which is written in parts.
    """

    def __init__(self, path: Path, decoder: Decoder) -> None:
        self._path = path
        self._file = path.open("w", encoding="utf-8", newline="")
        self._columns: dict[str, int] = {TIME: 0}
        self._header_columns = 0
        # Number of columns from each row on
        self._rows, self._widths = 0, [(0, 0)]
        self._whole: set[str] = set()
        self._split: set[str] = set()

    def add(self, message: BagMessage, decoded: Any) -> None:
        row: dict[str, Any] = {TIME: message.time_ns}
        row.update((column_name(path), value) for path, value in self._cells(decoded))
        for column in row:
            self._columns.setdefault(column, len(self._columns))
        if not self._header_columns:
            self._file.write(",".join(map(_cell, self._columns)) + "\r\n")
            self._header_columns = len(self._columns)
        if self._file.closed:
            self._file = self._path.open("a", encoding="utf-8", newline="")
        end = 0
        for place, column in enumerate(self._columns):
            if column in row:
                self._file.write("," * (place - end))
                for part in _cell_parts(row[column]):
                    self._file.write(part)
                end = place
        self._file.write("," * (len(self._columns) - 1 - end) + "\r\n")
        if self._widths[-1][1] < len(self._columns):
            self._widths.append((self._rows, len(self._columns)))
        self._rows += 1

    def pause(self) -> None:
        """Close the file until the next row."""
        self._file.close()

    def close(self) -> None:
        self._file.close()
        if len(self._columns) > self._header_columns:
            self._widen()

    def _cells(self, message: Any, path: str = "") -> Iterator[tuple[str, Any]]:
        """Yield the columns of a message and their values; lists and arrays for whole sequences."""
        for name in field_names(message):
            value = getattr(message, name)
            below = f"{path}.{name}" if path else name
            if is_message(value):
                yield from self._cells(value, below)
            elif not isinstance(value, np.ndarray | list):
                if name != PLACEHOLDER:
                    yield below, value
            elif self._is_whole(below, value):
                yield below, value
            else:
                for i, each in enumerate(value if isinstance(value, list) else value.tolist()):
                    if is_message(each):
                        yield from self._cells(each, f"{below}[{i}]")
                    else:
                        yield f"{below}[{i}]", each

    def _is_whole(self, path: str, value: Any) -> bool:
        if path in self._whole or not len(value):
            return path in self._whole
        of_messages = is_message(value[0])
        if path not in self._split and len(value) > (_MAX_ELEMENTS if of_messages else _MAX_COLUMNS):
            self._whole.add(path)
            return True
        self._split.add(path)
        return len(value) > _MAX_ELEMENTS

    def _widen(self) -> None:
        """Rewrite the header, and add empty cells to the shorter rows."""
        narrow = self._path.with_name(f"{self._path.name}.narrow")
        self._path.rename(narrow)
        try:
            with narrow.open("rb") as source, self._path.open("wb") as target:
                source.readline()  # the header, in which names contain no line ends
                target.write(",".join(map(_cell, self._columns)).encode() + b"\r\n")
                row, inside, widths = 0, False, deque(self._widths)
                while part := source.readline(_PART_BYTES):
                    if part.endswith(b"\r"):
                        part += source.read(1)
                    inside ^= part.count(b'"') % 2 == 1
                    if inside or not part.endswith(b"\r\n"):
                        target.write(part)
                        continue
                    while len(widths) > 1 and widths[1][0] <= row:
                        widths.popleft()
                    target.write(part[:-2] + b"," * (len(self._columns) - widths[0][1]) + b"\r\n")
                    row += 1
        finally:
            narrow.unlink()


class _ParquetTable:
    """Writes columns with names and types from the message definition."""

    def __init__(self, path: Path, decoder: Decoder) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        self._pa = pa
        types = ColumnTypes(lambda name: getattr(pa, "bool_" if name == "bool" else name)(), pa.struct, pa.list_)
        columns = {steps: column_type(decoder, found, types) for steps, found in leaves_of(decoder, decoder.topic.type)}
        self._steps = list(columns)
        named = ((column_name(".".join(steps)), kind) for steps, kind in columns.items())
        self._schema = pa.schema([(TIME, pa.int64()), *named])
        self._writer = pq.ParquetWriter(path, self._schema, compression="zstd")
        self._times: list[int] = []
        self._values: list[list[Any]] = [[] for _ in columns]
        self._bytes = 0

    def add(self, message: BagMessage, decoded: Any) -> None:
        self._times.append(message.time_ns)
        for steps, values in zip(self._steps, self._values, strict=True):
            values.append(plain(reduce(getattr, steps, decoded)))
        self._bytes += len(message.data)
        if len(self._times) >= _ROWS or self._bytes > _BYTES:
            self._write()

    def pause(self) -> None:
        """Write buffered rows. Parquet keeps its file open until the end."""
        self._write()

    def close(self) -> None:
        self._write()
        self._writer.close()

    def _write(self) -> None:
        if not self._times:
            return
        columns = zip([self._times, *self._values], self._schema, strict=True)
        arrays = [self._pa.array(values, field.type) for values, field in columns]
        self._writer.write_table(self._pa.Table.from_arrays(arrays, schema=self._schema))
        self._times.clear()
        for values in self._values:
            values.clear()
        self._bytes = 0


def _cell(value: Any) -> str:
    """Format a cell like the csv module."""
    text = "" if value is None else str(value)
    return f'"{text.replace(chr(34), 2 * chr(34))}"' if _QUOTED.search(text) else text


def _cell_parts(value: Any) -> Iterator[str]:
    """Yield the parts of a cell. A sequence, which becomes a JSON list, is formatted a few elements at a time."""
    if not isinstance(value, np.ndarray | list):
        yield _cell(value)
        return
    yield '"['
    for at in range(0, len(value), _PART):
        part = value[at : at + _PART]
        elements = part.tolist() if isinstance(part, np.ndarray) else [plain(each) for each in part]
        text = json.dumps(elements, default=np.ndarray.tolist)[1:-1].replace('"', '""')
        yield f"{', ' if at else ''}{text}"
    yield ']"'
