"""What can go wrong with a transform or a lookup, as exceptions with the numbers in them."""

from __future__ import annotations

from typing import NamedTuple

from sim_node.text import nearest


class TransformError(Exception):
    """Any refusal of the transform tree. The arguments are the attributes, so the exceptions can be pickled."""


class UnknownFrame(TransformError):
    """No transform from or to this frame was ever stored.

    frame: the name asked for; nearest: up to three known names that look like it; known: how many there are.
    """

    def __init__(self, frame: str, nearest: tuple[str, ...], known: int) -> None:
        super().__init__(frame, nearest, known)
        self.frame, self.nearest, self.known = frame, nearest, known

    @classmethod
    def among(cls, frame: str, names: tuple[str, ...]) -> UnknownFrame:
        """Find the nearest of the known names, slashes in front left aside."""
        return cls(frame, nearest(frame.lstrip("/"), names, limit=3), len(names))

    def __str__(self) -> str:
        hint = f"; did you mean {' or '.join(self.nearest)}?" if self.nearest else f" among {self.known} known frames"
        return f"frame '{self.frame}' does not exist{hint}"


class Disconnected(TransformError):
    """The two frames hang below different roots, target_root and source_root."""

    def __init__(self, target: str, source: str, target_root: str, source_root: str) -> None:
        super().__init__(target, source, target_root, source_root)
        self.target, self.source, self.target_root, self.source_root = target, source, target_root, source_root

    def __str__(self) -> str:
        return (
            f"'{self.target}' and '{self.source}' are not connected: the first hangs below the root "
            f"'{self.target_root}', the second below '{self.source_root}'"
        )


class Extrapolation(TransformError):
    """The stamp lies outside the history of a frame on the way, and further than the tolerance.

    target, source: what was looked up; frame: the frame whose history ends; requested_ns, oldest_ns, newest_ns:
    the stamp and the ends of that history; tolerance_ns: what would have been accepted; by_ns: how far outside.
    """

    def __init__(
        self,
        target: str,
        source: str,
        frame: str,
        requested_ns: int,
        oldest_ns: int,
        newest_ns: int,
        tolerance_ns: int,
    ) -> None:
        super().__init__(target, source, frame, requested_ns, oldest_ns, newest_ns, tolerance_ns)
        self.target, self.source, self.frame = target, source, frame
        self.requested_ns, self.oldest_ns, self.newest_ns = requested_ns, oldest_ns, newest_ns
        self.tolerance_ns = tolerance_ns

    @property
    def by_ns(self) -> int:
        """How far outside the history the stamp lies, in nanoseconds, above zero."""
        return max(self.oldest_ns - self.requested_ns, self.requested_ns - self.newest_ns)

    def __str__(self) -> str:
        past = self.requested_ns < self.oldest_ns
        end = "before the oldest" if past else "after the newest"
        return (
            f"extrapolation into the {'past' if past else 'future'}: '{self.source}' in '{self.target}' at "
            f"{seconds(self.requested_ns)} is {seconds(self.by_ns)} {end} transform of '{self.frame}' "
            f"(history {seconds(self.oldest_ns)} to {seconds(self.newest_ns)}, "
            f"tolerance {seconds(self.tolerance_ns)})"
        )


class PastExtrapolation(Extrapolation):
    """The stamp lies before the oldest transform of `frame`."""


class FutureExtrapolation(Extrapolation):
    """The stamp lies after the newest transform of `frame`."""


class Refusal(NamedTuple):
    """A transform that was not stored: its row in the batch, what it was, and why in words."""

    row: int
    parent: str
    child: str
    stamp_ns: int
    reason: str

    def __str__(self) -> str:
        return f"[{self.row}] {self.parent} -> {self.child} at {seconds(self.stamp_ns)}: {self.reason}"


class InvalidTransform(TransformError, ValueError):
    """Transforms that cannot be stored, or frames that turned out to form a loop.

    refusals: what was refused and why; of: how many transforms came in the batch. The others were stored.
    """

    MAX_SHOWN = 5

    def __init__(self, refusals: tuple[Refusal, ...], of: int) -> None:
        super().__init__(refusals, of)
        self.refusals, self.of = refusals, of

    def __str__(self) -> str:
        shown = "; ".join(str(refusal) for refusal in self.refusals[: self.MAX_SHOWN])
        more = len(self.refusals) - self.MAX_SHOWN
        return f"{len(self.refusals)} of {self.of} transforms refused: {shown}" + (f"; {more} more" if more > 0 else "")


class CyclicTree(TransformError):
    """Following the parents of `frame` at that time does not end: histories of several frames close a loop."""

    def __init__(self, frame: str, loop: tuple[str, ...]) -> None:
        super().__init__(frame, loop)
        self.frame, self.loop = frame, loop

    def __str__(self) -> str:
        return f"the parents of '{self.frame}' form a loop: {' -> '.join(self.loop)}"


def seconds(nanoseconds: int) -> str:
    """`12.345678901 s` without the zeros at the end; exact, as a float is not at today's dates."""
    sign = "-" if nanoseconds < 0 else ""
    whole, rest = divmod(abs(int(nanoseconds)), 1_000_000_000)
    return f"{sign}{whole}.{rest:09d}".rstrip("0").rstrip(".") + " s"
