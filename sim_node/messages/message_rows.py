"""Many messages of the same layout as rows of bytes, with numbers and stamps written and read as columns."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from sim_node.messages.encoding import BYTE
from sim_node.messages.layout import MessageLayout
from sim_node.messages.places import ByteRange

# The message begins 4 bytes into its memory, so that the body after the encapsulation header is aligned.
_FRONT, _BODY = 4, 8
_SECOND = 1_000_000_000


class StridedNumbers(NamedTuple):
    """Equal runs of numbers at equal distances in a message.

    Attributes:
        first: Index of the first run.
        runs: Number of runs.
        at: Position of the first run in the body.
        stride: Bytes from one run to the next.
    """

    first: int
    runs: int
    at: ByteRange
    stride: int


class MessageRows:
    """Lays out T messages of the same layout as a byte array (T, size), without an object per message.

    Args:
        layout: The message. Its strings and list lengths apply to all rows.

    Attributes:
        size: Size of a message including its encapsulation header, bytes.
    """

    def __init__(self, layout: MessageLayout) -> None:
        self._layout = layout
        self._template = layout.doubles.copy()
        self.size = len(layout)

    def columns(self, path: str, rows: int | None = None) -> list[StridedNumbers]:
        """Return the positions of a field's numbers.

        Args:
            path: Path of the field; with [] for the rows of a list, such as "transforms[].transform.translation".
            rows: Number of equal rows in the numbers of one field; one by default.

        Returns:
            Columns that together contain all its numbers, in order.

        Raises:
            LayoutFault: The field does not exist.
        """
        before, marked, after = path.partition("[]")
        if not marked:
            whole, count = self._layout.place(path), rows or 1
            size = whole.size // count
            return [StridedNumbers(0, count, whole._replace(size=size), size * whole.dtype.itemsize)]
        count = int(self._layout.length(before)[0])
        found = [self._layout.place(f"{before}[{row}]{after}") for row in range(count)]
        runs: list[StridedNumbers] = []
        for row, place in enumerate(found):
            last = runs[-1] if runs else None
            if last is not None:
                stride = last.stride if last.runs > 1 else place.start - last.at.start
                if place.start == last.at.start + stride * last.runs:
                    runs[-1] = last._replace(runs=last.runs + 1, stride=stride)
                    continue
            runs.append(StridedNumbers(row, 1, place, 0))
        return runs

    def memory(self, count: int) -> npt.NDArray[np.float64]:
        """Return memory for messages (T, words), initialised from the layout."""
        words = np.empty((count, len(self._template)))
        words[:] = self._template
        return words

    def loaded(self, messages: npt.NDArray[np.uint8]) -> npt.NDArray[np.float64]:
        """Return memory initialised from given messages (T, size)."""
        words = np.empty((len(messages), len(self._template)))
        self.messages(words)[:] = messages
        return words

    def messages(self, memory: npt.NDArray[np.float64]) -> npt.NDArray[np.uint8]:
        """Return the messages (T, size) in a memory, as a view."""
        raw: npt.NDArray[np.uint8] = memory.view(BYTE)[:, _FRONT : _FRONT + self.size]
        return raw

    def view(self, memory: npt.NDArray[np.float64], columns: StridedNumbers) -> npt.NDArray[Any]:
        """Return numbers in a memory as a view (T, count, size)."""
        if not len(memory):
            return np.empty((0, columns.runs, columns.at.size), columns.at.dtype)
        strides = (memory.strides[0], columns.stride, columns.at.dtype.itemsize)
        shape = (len(memory), columns.runs, columns.at.size)
        found: npt.NDArray[Any] = np.ndarray(shape, columns.at.dtype, memory.data, _BODY + columns.at.start, strides)
        return found

    def stamp(self, memory: npt.NDArray[np.float64], stamps_ns: npt.NDArray[np.int64]) -> None:
        """Write the stamps (T,), ns, of messages.

        Raises:
            OverflowError: A time does not fit into a stamp.
        """
        seconds = self._layout.stamps
        if not len(seconds) or not len(stamps_ns):
            return
        whole, rest = np.divmod(stamps_ns, _SECOND)
        if not -(2**31) <= int(whole.min()) <= int(whole.max()) < 2**31:
            raise OverflowError(f"stamps up to {int(whole.max())} s: seconds must fit into 32 bits")
        words = memory.view(np.int32)
        words[:, seconds] = whole[:, None]
        words[:, seconds + 1] = rest[:, None]
