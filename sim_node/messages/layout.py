"""Messages that are laid out once from their definitions, and then rewritten in place by field name."""

from __future__ import annotations

import struct
from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from sim_node.messages.cdr import ENCAPSULATION, STAMP, stamp
from sim_node.messages.encoding import BYTE, CODES, LayoutFault, MessageBody
from sim_node.messages.places import ByteRange

# Returns the bytes for a stamp (ns) and the changing values, in order.
Pack = Callable[[int, Sequence[float]], bytes]


class MessageLayout:
    """Plain CDR (little endian) of a message whose strings and lengths do not change.

    Values are given by field path ("pose.covariance", "header.frame_id"): numbers, strings, lists of strings, and lists
    of mappings like this one. Missing fields have the definition's default, zero or empty. A field that is a message of
    equal numbers takes one array; a list of such messages takes an array with one row per message. Arrays are copied
    into byte lists as raw memory. A Time takes nanoseconds.

    Args:
        type: package/msg/Name.
        fields: Values by field path.
        times: Paths of Times that `write` sets, in addition to header stamps that are not given.

    Attributes:
        type: package/msg/Name.
        doubles: The message's memory as float64, for `places_of`.
        stamps: Indices of the seconds of all stamps that are not given, in `doubles` as int32, followed by nanoseconds.

    Raises:
        LayoutFault: A field does not exist or a value does not fit.
        UnknownMessage: The definition of the type is not known.
    """

    def __init__(self, type: str, fields: Mapping[str, Any], times: Collection[str] = ()) -> None:
        self.type = type
        self._body = body = MessageBody(type, fields, times)
        # Padded in front so that the body after the encapsulation header is aligned in memory
        self.doubles = np.zeros(-(-(len(body.data) + 8) // 8))
        raw = self.doubles.view(BYTE)
        raw[4:8] = np.frombuffer(ENCAPSULATION, BYTE)
        raw[8 : 8 + len(body.data)] = np.frombuffer(bytes(body.data), BYTE)
        self._buffer = memoryview(raw.data)
        self._message = self._buffer[4 : 8 + len(body.data)]
        self._words = self.doubles.view(np.int32)
        self.stamps = np.array(body.stamps, np.intp) // 4 + 2
        self._nanoseconds = self.stamps + 1
        self._only_stamp = 8 + body.stamps[0] if len(body.stamps) == 1 else None

    def __len__(self) -> int:
        """Return the number of bytes of the message."""
        return len(self._message)

    def at(self, path: str, like: npt.NDArray[Any] | None = None) -> npt.NDArray[Any]:
        """Return the numbers of a field as a writable view of the message.

        Args:
            path: Path of the field.
            like: Array that determines the view's shape and, for byte lists, its dtype; by default (size,).

        Returns:
            The view.

        Raises:
            LayoutFault: The field does not exist, or its size does not fit.
        """
        place = self._body.place(path)
        shape, dtype = (place.size,) if like is None else like.shape, place.dtype
        if like is not None:
            if dtype == BYTE:
                dtype, size = like.dtype, like.nbytes
            else:
                size = like.size * dtype.itemsize
            if size != place.end - place.start:
                raise LayoutFault(f"{self.type}: {path} has {place.size} numbers, found an array of {like.shape}")
        view: npt.NDArray[Any] = np.ndarray(shape, dtype, self._buffer, 8 + place.start)
        return view

    def length(self, path: str) -> npt.NDArray[np.uint32]:
        """Return the length of a list as a view (1,). With a smaller value, the message ends earlier; see `end`.

        Args:
            path: Path of the list.

        Returns:
            The view.
        """
        view: npt.NDArray[np.uint32] = np.ndarray((1,), "<u4", self._buffer, 8 + self._body.length(path))
        return view

    def end(self, path: str) -> int:
        """Return the number of bytes up to the end of a field.

        Args:
            path: Path of the field.

        Returns:
            Bytes from the start of the message.
        """
        return 4 + self._body.place(path).end

    def place(self, path: str) -> ByteRange:
        """Return the position of a field's numbers in the body, which begins 8 bytes into `doubles`.

        Args:
            path: Path of the field.

        Returns:
            The byte range.

        Raises:
            LayoutFault: The field does not exist.
        """
        return self._body.place(path)

    def has_doubles(self, view: npt.NDArray[Any]) -> bool:
        """Return whether an array is a view of one or more float64 of this message, not a copy.

        Args:
            view: The array.

        Returns:
            Whether writing to it changes the message.
        """
        return view.ndim == 1 and view.size > 0 and view.dtype == float and np.may_share_memory(view, self.doubles)

    def places_of(self, view: npt.NDArray[np.float64]) -> npt.NDArray[np.intp]:
        """Return the indices in `doubles` of the numbers of a view, to write several views at once.

        Args:
            view: A view (n,) from `at`.

        Returns:
            Indices (n,) into `doubles`.
        """
        first, memory = (array.__array_interface__["data"][0] for array in (view, self.doubles))
        places: npt.NDArray[np.intp] = (first - memory + view.strides[0] * np.arange(len(view))) // 8
        return places

    def rows(self, path: str) -> tuple[npt.NDArray[Any], npt.NDArray[np.intp]]:
        """Return arrays to write a field of all messages in a list at once: `memory[places] = numbers`.

        Args:
            path: Path with [] for the row, such as "transforms[].transform".

        Returns:
            The memory, and the indices (N, size) in it; (0, 0) for an empty list.

        Raises:
            LayoutFault: The field does not exist.
        """
        before, _, after = path.partition("[]")
        found = [self._body.place(f"{before}[{row}]{after}") for row in range(int(self.length(before)[0]))]
        if not found:
            return self.doubles, np.empty((0, 0), np.intp)
        dtype = found[0].dtype
        first: npt.NDArray[np.intp] = np.array([each.start for each in found], np.intp) // dtype.itemsize
        # The body begins 8 bytes into the memory.
        return self.doubles.view(dtype), (first + 8 // dtype.itemsize)[:, None] + np.arange(found[0].size)

    def write(self, stamp_ns: int) -> bytes:
        """Return the message with the current values.

        Args:
            stamp_ns: Value of all stamps that are not given.

        Returns:
            The CDR of the message.

        Raises:
            OverflowError: The time does not fit into a stamp.
        """
        if self._only_stamp is not None:
            STAMP.pack_into(self._buffer, self._only_stamp, *stamp(stamp_ns))
        elif len(self.stamps):
            seconds, nanoseconds = stamp(stamp_ns)
            self._words[self.stamps] = seconds
            self._words[self._nanoseconds] = nanoseconds
        return self._message.tobytes()

    def packer(self, *paths: str) -> Pack:
        """Return a function that packs a copy of this message from a stamp (ns) and the values of some fields.

        For a few floats, this is several times as fast as writing to views.

        Args:
            paths: Paths of the fields, in the order of the values.

        Returns:
            The function.

        Raises:
            LayoutFault: The field does not exist.
        """
        message, first = bytes(self._message), len(ENCAPSULATION)
        runs = _joined([self._body.place(path) for path in paths])
        stamps = [first + at for at in self._body.stamps]
        ends = [first + run.end for run in runs]
        if len(stamps) != 1 or sorted([stamps[0], *ends]) != [stamps[0], *ends]:
            return self._scattered_packer(stamps, runs)
        # With a single header in front, as in nearly all messages, one call writes all, including constant parts.
        starts = [first + run.start for run in runs]
        numbers_at = stamps[0] + STAMP.size
        between = [message[end:start] for end, start in zip([numbers_at, *ends], [*starts, len(message)], strict=True)]
        codes = [f"{len(gap)}s{run.size}{CODES[run.dtype.str]}" for gap, run in zip(between, runs, strict=False)]
        pack_all = struct.Struct(f"<{stamps[0]}siI{''.join(codes)}{len(between[-1])}s").pack
        before, after = message[: stamps[0]], between.pop()
        if len(runs) == 1:
            [gap] = between

            def pack_run(stamp_ns: int, values: Sequence[float]) -> bytes:
                seconds, nanoseconds = stamp(stamp_ns)
                return pack_all(before, seconds, nanoseconds, gap, *values, after)

            return pack_run
        counts = np.cumsum([0, *(run.size for run in runs)]).tolist()
        parts = [(gap, slice(*part)) for gap, part in zip(between, pairwise(counts), strict=True)]

        def pack_runs(stamp_ns: int, values: Sequence[float]) -> bytes:
            numbers: list[float | bytes] = [before, *stamp(stamp_ns)]
            for gap, part in parts:
                numbers.append(gap)
                numbers += values[part]
            return pack_all(*numbers, after)

        return pack_runs

    def _scattered_packer(self, stamps: Sequence[int], runs: Sequence[ByteRange]) -> Pack:
        """Return a function like `packer`, for any number of stamps and any order of fields."""
        message, stamp_into = bytearray(self._message), STAMP.pack_into
        parts: list[tuple[Callable[..., None], int, slice]] = []
        count = 0
        for run in runs:
            pack_into = struct.Struct(f"<{run.size}{CODES[run.dtype.str]}").pack_into
            parts.append((pack_into, len(ENCAPSULATION) + run.start, slice(count, count + run.size)))
            count += run.size

        def pack(stamp_ns: int, values: Sequence[float]) -> bytes:
            for at in stamps:
                stamp_into(message, at, *stamp(stamp_ns))
            for pack_into, at, part in parts:
                pack_into(message, at, *values[part])
            return bytes(message)

        return pack


def _joined(places: Sequence[ByteRange]) -> list[ByteRange]:
    """Merge adjacent ranges of the same type."""
    joined: list[ByteRange] = []
    for place in places:
        if joined and joined[-1].dtype == place.dtype and joined[-1].end == place.start:
            last = joined.pop()
            place = ByteRange(last.start, last.dtype, last.size + place.size)
        joined.append(place)
    return joined
