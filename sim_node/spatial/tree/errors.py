"""Exceptions of transforms and lookups, with the numbers as attributes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from sim_node.text import nearest, shown, shown_chain

# 2001-09-09: no simulation lasts that long, and no wall clock that has been set is earlier.
EARLIEST_WALL_TIME_NS = 10**18


class TransformError(Exception):
    """Base class of all errors of the transform tree. Its arguments are its attributes, so that it can be pickled."""


@dataclass(eq=False, repr=False)
class UnknownFrame(TransformError):
    """No transform from or to this frame was ever stored.

    Attributes:
        frame: The name that was looked up.
        nearest: Up to three similar names.
        known: Number of frames in the tree.
    """

    frame: str
    nearest: tuple[str, ...]
    known: int

    @classmethod
    def among(cls, frame: str, names: tuple[str, ...]) -> UnknownFrame:
        """Make the error with the nearest names. Leading slashes are ignored.

        Args:
            frame: The name that was looked up.
            names: The frames of the tree.

        Returns:
            The error.
        """
        return cls(frame, nearest(frame.lstrip("/"), names, limit=3), len(names))

    def __str__(self) -> str:
        near = " or ".join(map(shown, self.nearest))
        hint = f"; did you mean {near}?" if near else f" among {self.known} known frames"
        return f"frame '{shown(self.frame)}' does not exist{hint}"


@dataclass(eq=False, repr=False)
class Disconnected(TransformError):
    """The two frames have different roots.

    Attributes:
        target: The target frame of the lookup.
        source: The source frame of the lookup.
        target_root: The root of the target.
        source_root: The root of the source.
    """

    target: str
    source: str
    target_root: str
    source_root: str

    def __str__(self) -> str:
        return (
            f"'{shown(self.target)}' and '{shown(self.source)}' are not connected: the first hangs below the root "
            f"'{shown(self.target_root)}', the second below '{shown(self.source_root)}'"
        )


def is_wall_time(time_ns: int) -> bool:
    """Return whether a time (ns) is from the wall clock, as opposed to a simulation, which starts near zero."""
    return time_ns >= EARLIEST_WALL_TIME_NS


@dataclass(eq=False, repr=False)
class Extrapolation(TransformError):
    """The stamp lies outside the history of a frame in the chain by more than the tolerance.

    Attributes:
        target: The target frame of the lookup.
        source: The source frame of the lookup.
        frame: The frame whose history does not contain the stamp.
        requested_ns: The stamp.
        oldest_ns: Stamp of the oldest transform of `frame`.
        newest_ns: Stamp of the newest transform of `frame`.
        tolerance_ns: The tolerance of the lookup.
    """

    target: str
    source: str
    frame: str
    requested_ns: int
    oldest_ns: int
    newest_ns: int
    tolerance_ns: int

    @property
    def by_ns(self) -> int:
        """Distance between the stamp and the history, in nanoseconds, positive."""
        return max(self.oldest_ns - self.requested_ns, self.requested_ns - self.newest_ns)

    def __str__(self) -> str:
        past = self.requested_ns < self.oldest_ns
        nearest = self.oldest_ns if past else self.newest_ns
        if is_wall_time(self.requested_ns) != is_wall_time(nearest):
            return self._on_two_clocks(nearest)
        end = "before the oldest" if past else "after the newest"
        source, target = shown(self.source), shown(self.target)
        return (
            f"extrapolation into the {'past' if past else 'future'}: '{source}' in '{target}' at "
            f"{seconds(self.requested_ns)} is {seconds(self.by_ns)} {end} transform of '{shown(self.frame)}' "
            f"(history {seconds(self.oldest_ns)} to {seconds(self.newest_ns)}, "
            f"tolerance {seconds(self.tolerance_ns)})"
        )

    def _on_two_clocks(self, stamp_ns: int) -> str:
        clocks = ("simulation time", "the wall clock")
        own, other = (clocks[is_wall_time(each)] for each in (stamp_ns, self.requested_ns))
        source, target, frame = shown(self.source), shown(self.target), shown(self.frame)
        return (
            f"'{source}' in '{target}': transforms of '{frame}' are stamped by {own} ({seconds(stamp_ns)}), the lookup "
            f"is at {seconds(self.requested_ns)} of {other}; does a publisher lack use_sim_time?"
        )


class PastExtrapolation(Extrapolation):
    """The stamp lies before the oldest transform of `frame`."""


class FutureExtrapolation(Extrapolation):
    """The stamp lies after the newest transform of `frame`."""


class Refusal(NamedTuple):
    """A transform that was not stored.

    Attributes:
        row: Its row in the batch.
        parent: Its parent frame.
        child: Its child frame.
        stamp_ns: Its stamp.
        reason: Why it was not stored.
    """

    row: int
    parent: str
    child: str
    stamp_ns: int
    reason: str

    def __str__(self) -> str:
        return f"[{self.row}] {shown(self.parent)} -> {shown(self.child)} at {seconds(self.stamp_ns)}: {self.reason}"


@dataclass(eq=False, repr=False)
class InvalidTransform(TransformError, ValueError):
    """Transforms of a batch cannot be stored. The others were stored.

    Attributes:
        refusals: The transforms that were refused.
        of: Total number of transforms in the batch.
    """

    MAX_SHOWN = 5

    refusals: tuple[Refusal, ...]
    of: int

    def __str__(self) -> str:
        shown = "; ".join(str(refusal) for refusal in self.refusals[: self.MAX_SHOWN])
        more = len(self.refusals) - self.MAX_SHOWN
        return f"{len(self.refusals)} of {self.of} transforms refused: {shown}" + (f"; {more} more" if more > 0 else "")


@dataclass(eq=False, repr=False)
class CyclicTree(TransformError):
    """The parents of a frame at a time form a loop: the histories of several frames close it together.

    Attributes:
        frame: The frame.
        loop: The frames of the loop.
    """

    frame: str
    loop: tuple[str, ...]

    def __str__(self) -> str:
        return f"the parents of '{shown(self.frame)}' form a loop: {shown_chain(self.loop)}"


def seconds(nanoseconds: int) -> str:
    """Format nanoseconds as seconds, as in `12.345678901 s`: exact, without trailing zeros."""
    sign = "-" if nanoseconds < 0 else ""
    whole, rest = divmod(abs(int(nanoseconds)), 1_000_000_000)
    return f"{sign}{whole}.{rest:09d}".rstrip("0").rstrip(".") + " s"
