"""Messages laid out once from their definitions; then numbers are rewritten in place, by name of field."""

from __future__ import annotations

import struct
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from sim_node.wire.cdr import ENCAPSULATION, STAMP, stamp
from sim_node.wire.encoding import BYTE, CODES, LayoutFault, MessageBody
from sim_node.wire.places import ByteRange

# Gives the bytes for a stamp (ns) and the values that change, in their order.
Pack = Callable[[int, Sequence[float]], bytes]


class MessageLayout:
    """The plain CDR (little endian) of a message whose texts and lengths do not change.

    type: package/msg/Name. fields: numbers, texts, lists of texts and lists of mappings like this one, by paths of
    fields ("pose.covariance", "header.frame_id"); what is not named has the definition's default, zero or empty.
    A field that is a message of equal numbers takes them as one array, a list of such messages an array with a row for
    each; arrays go into lists of bytes as their memory; a Time takes nanoseconds. times: paths of Times that `write`
    sets beside the stamps of headers, which it sets unless they are named. doubles: the message's memory, for
    `places_of`. Raises LayoutFault.
    """

    def __init__(self, type: str, fields: Mapping[str, Any], times: Collection[str] = ()) -> None:
        self.type = type
        self._body = body = MessageBody(type, fields, times)
        # Padded in front, so that the body behind the encapsulation header is aligned in memory.
        self.doubles = np.zeros(-(-(len(body.data) + 8) // 8))
        raw = self.doubles.view(BYTE)
        raw[4:8] = np.frombuffer(ENCAPSULATION, BYTE)
        raw[8 : 8 + len(body.data)] = np.frombuffer(bytes(body.data), BYTE)
        self._buffer = memoryview(raw.data)
        self._message = self._buffer[4 : 8 + len(body.data)]
        self._words = self.doubles.view(np.int32)
        self._stamps = np.array(body.stamps, np.intp) // 4 + 2
        self._nanoseconds = self._stamps + 1
        self._only_stamp = 8 + body.stamps[0] if len(body.stamps) == 1 else None

    def __len__(self) -> int:
        """Return the number of bytes of the message."""
        return len(self._message)

    def at(self, path: str, like: npt.NDArray[Any] | None = None) -> npt.NDArray[Any]:
        """Return the numbers of a field, a view of the message to write to.

        like: has the view's shape, and in lists of bytes its type; by default the view is (size,).
        Raises LayoutFault.
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
        """Return the length of a list, a view (1,): a shorter one makes the message end earlier, see `end`."""
        view: npt.NDArray[np.uint32] = np.ndarray((1,), "<u4", self._buffer, 8 + self._body.length(path))
        return view

    def end(self, path: str) -> int:
        """Return how many bytes of the message a field and all before it take."""
        return 4 + self._body.place(path).end

    def has_doubles(self, view: npt.NDArray[Any]) -> bool:
        """Return whether an array is a row of one or more float64 of this message, and not a copy of them."""
        return view.ndim == 1 and view.size > 0 and view.dtype == float and np.may_share_memory(view, self.doubles)

    def places_of(self, view: npt.NDArray[np.float64]) -> npt.NDArray[np.intp]:
        """Return where in `doubles` the numbers (n,) of a view from `at` are: several are written fastest at once."""
        first, memory = (array.__array_interface__["data"][0] for array in (view, self.doubles))
        places: npt.NDArray[np.intp] = (first - memory + view.strides[0] * np.arange(len(view))) // 8
        return places

    def rows(self, path: str) -> tuple[npt.NDArray[Any], npt.NDArray[np.intp]]:
        """Return (memory, places): `memory[places] = numbers` writes a field of each of N messages of a list at once.

        path: with [] for the row, as in "transforms[].transform". places: (N, size), (0, 0) for an empty list.
        Raises LayoutFault.
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
        """Return the message as it stands, at a time. Raises OverflowError beyond what stamps hold."""
        if self._only_stamp is not None:
            STAMP.pack_into(self._buffer, self._only_stamp, *stamp(stamp_ns))
        elif len(self._stamps):
            seconds, nanoseconds = stamp(stamp_ns)
            self._words[self._stamps] = seconds
            self._words[self._nanoseconds] = nanoseconds
        return self._message.tobytes()

    def packer(self, *paths: str) -> Pack:
        """Return what writes a copy of this message, from a stamp (ns) and the numbers of these fields one by one.

        For a handful of floats this is several times as fast as writing to views. Raises LayoutFault.
        """
        message = bytearray(self._message)
        parts: list[tuple[Callable[..., None], int, slice]] = []
        count = 0
        for place in _joined([self._body.place(path) for path in paths]):
            pack_into = struct.Struct(f"<{place.size}{CODES[place.dtype.str]}").pack_into
            parts.append((pack_into, len(ENCAPSULATION) + place.start, slice(count, count + place.size)))
            count += place.size
        stamps, stamp_into = [len(ENCAPSULATION) + at for at in self._body.stamps], STAMP.pack_into
        if len(stamps) != 1:

            def pack(stamp_ns: int, values: Sequence[float]) -> bytes:
                for at in stamps:
                    stamp_into(message, at, *stamp(stamp_ns))
                for pack_into, at, part in parts:
                    pack_into(message, at, *values[part])
                return bytes(message)

            return pack
        # The same without loops over one: nearly all messages have one header.
        [stamp_at] = stamps
        if len(parts) == 1:
            [(pack_only, only_at, _)] = parts

            def pack_run(stamp_ns: int, values: Sequence[float]) -> bytes:
                stamp_into(message, stamp_at, *stamp(stamp_ns))
                pack_only(message, only_at, *values)
                return bytes(message)

            return pack_run

        def pack_runs(stamp_ns: int, values: Sequence[float]) -> bytes:
            stamp_into(message, stamp_at, *stamp(stamp_ns))
            for pack_into, at, part in parts:
                pack_into(message, at, *values[part])
            return bytes(message)

        return pack_runs


def _joined(places: Sequence[ByteRange]) -> list[ByteRange]:
    """Places of one type that follow each other without a gap, as one."""
    joined: list[ByteRange] = []
    for place in places:
        if joined and joined[-1].dtype == place.dtype and joined[-1].end == place.start:
            last = joined.pop()
            place = ByteRange(last.start, last.dtype, last.size + place.size)
        joined.append(place)
    return joined
