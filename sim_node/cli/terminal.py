"""Terminal output of subcommands: warnings, poses, tables, and progress."""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Container, Sequence
from typing import TYPE_CHECKING, NoReturn, TextIO

import numpy as np

from sim_node.cli.bars import bar
from sim_node.cli.colours import coloured
from sim_node.names import convention
from sim_node.plugins import PluginWarning
from sim_node.spatial.geometry import quaternions
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.world.problems import WorldWarning

if TYPE_CHECKING:
    from tqdm import tqdm

    from sim_node.recording.player import Player
    from sim_node.simulation import Snapshot
    from sim_node.world import FrameTable, World


def print_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    """Print warnings about worlds and plug-ins as one line each, and others in Python's format."""
    if issubclass(category, (WorldWarning, PluginWarning)):
        print(f"{coloured('warning:', 'yellow', sys.stderr)} {message}", file=sys.stderr)
    else:
        print(warnings.formatwarning(message, category, filename, lineno, line), end="", file=sys.stderr)


def axes(target: str, source: str, roots: Container[str]) -> tuple[str, str]:
    """Return the axes of two frames. roots: the frames without a parent, which affect them."""
    along, of = (convention(name, is_root=name in roots) for name in (target, source))
    return along, of


def pose_lines(target: str, source: str, stamp_s: float | None, pose: FloatArray, roots: Container[str]) -> list[str]:
    """Return the pose (7,) of source in target as lines, in metres and degrees; without a stamp if it is constant.

    roots: the frames without a parent, which affect the axes of both frames.
    """
    along, of = axes(target, source, roots)
    rpy = np.degrees(quaternions.to_rpy(pose[3:]))
    return [
        f"{source} in {target}" + (" at all times" if stamp_s is None else f" at {stamp_s:.12g} s"),
        f"  translation [{', '.join(f'{part:.6f}' for part in np.round(pose[:3], 6) + 0.0)}] m",
        f"  rotation    [{', '.join(f'{part:.6f}' for part in np.round(pose[3:], 6) + 0.0)}] xyzw",
        f"  rpy         [{', '.join(f'{part:.3f}' for part in np.round(rpy, 3) + 0.0)}] degrees",
        f"  axes        {of} in {along}",
    ]


def pose_as_dict(
    target: str, source: str, pose: FloatArray, roots: Container[str], **stamps: float | None
) -> dict[str, object]:
    """Return the pose (7,) of source in target, the axes of both and its stamps, for JSON. roots: as in pose_lines."""
    along, of = axes(target, source, roots)
    tags = {"target_convention": along, "source_convention": of}
    return {"translation": pose[:3].tolist(), "rotation": pose[3:].tolist(), **tags, **stamps}


def short_pose(pose: FloatArray) -> str:
    """Return a pose (7,) on one line."""
    position = ", ".join(f"{part:.3f}" for part in np.round(pose[:3], 3) + 0.0)
    rpy = ", ".join(f"{part:.1f}" for part in np.round(np.degrees(quaternions.to_rpy(pose[3:])), 1) + 0.0)
    return f"position [{position}]  rpy_deg [{rpy}]"


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Format columns two spaces apart, with numbers aligned to the right."""
    lines = [header, *rows]
    columns = list(zip(*lines, strict=True))
    widths = [max(map(len, column)) for column in columns]
    to_the_right = [bool(rows) and all(_is_number(cell) for cell in column[1:]) for column in columns]
    first, *rest = (
        "  ".join(
            cell.rjust(width) if right else cell.ljust(width)
            for cell, width, right in zip(line, widths, to_the_right, strict=True)
        ).rstrip()
        for line in lines
    )
    return "\n".join((coloured(first, "", sys.stdout, bold=True), *rest))


def _is_number(cell: str) -> bool:
    return cell.replace(".", "", 1).isdigit() or cell in ("", "-")


LINE_EVERY_S = 10.0


class ProgressSink:
    """Shows the simulated time, as a fraction of `duration_ns` if given."""

    def __init__(self, duration_ns: int | None) -> None:
        self._total = None if duration_ns is None else duration_ns / 1e9
        self._bar: tqdm[NoReturn] | None = None
        self._start_ns = 0
        self._next_line = 0.0

    def open(self, world: World, frames: FrameTable) -> None:
        """Draw the bar at zero."""
        self._start_ns = world.time.start_ns
        self._next_line = time.monotonic() + LINE_EVERY_S
        if sys.stderr.isatty():
            with_total = "{l_bar}{bar}| {n:.1f}/{total:.1f} s simulated, {rate_fmt}{postfix}"
            layout = "{n:.1f} s simulated, {rate_fmt}{postfix}" if self._total is None else with_total
            self._bar = bar(total=self._total, desc=world.name, unit="x", bar_format=layout, mininterval=0.2)

    def write(self, snapshot: Snapshot) -> None:
        """Advance the bar to the snapshot's time, or print a line when one is due."""
        simulated = (snapshot.time_ns - self._start_ns) / 1e9
        if self._bar is not None:
            if simulated < self._bar.n:
                self._bar.reset()
            self._bar.update(simulated - self._bar.n)
        elif time.monotonic() >= self._next_line:
            self._next_line += LINE_EVERY_S
            print(f"{simulated:.1f} s simulated", file=sys.stderr, flush=True)

    def close(self) -> None:
        """Leave the bar as it is."""
        if self._bar is not None:
            self._bar.close()


class ReplayProgress:
    """Shows the position in the bag and the rate."""

    def __enter__(self) -> ReplayProgress:
        self._bar: tqdm[NoReturn] | None = None
        self._next_line = time.monotonic() + LINE_EVERY_S
        return self

    def __exit__(self, *of: object) -> None:
        if self._bar is not None:
            self._bar.close()

    def show(self, player: Player) -> None:
        """Show the current position."""
        position, total = player.position_ns / 1e9, (player.playback.stop_ns - player.playback.bag.start_ns) / 1e9
        if sys.stderr.isatty():
            if self._bar is None:
                layout = "{desc} {bar:30} {n:.1f}/{total:.1f} s{postfix}"
                self._bar = bar(total=total, bar_format=layout, mininterval=0.0)
            self._bar.n = position
            self._bar.set_description_str(player.status().partition(" ")[0], refresh=False)
            loops = f", loop {player.loops + 1}" if player.loops else ""
            self._bar.set_postfix_str(f"{player.pace().real_time_factor:.2f}x, {player.sent} messages{loops}")
        elif time.monotonic() >= self._next_line:
            self._next_line += LINE_EVERY_S
            print(f"{player.status()} of {total:.1f} s, {player.sent} messages", file=sys.stderr, flush=True)
