"""The keyframes of a motion in world files, inline or from CSV."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from sim_node.spatial.geometry import quaternions
from sim_node.spatial.geometry.arrays import FloatArray, IntArray
from sim_node.text import did_you_mean
from sim_node.world.bounds import MAX_DISTANCE, MAX_STAMP_NS
from sim_node.world.declared import Spread
from sim_node.world.problems import counted, quoted, shown_key
from sim_node.world.readers import numbers
from sim_node.world.readers.files import read_text
from sim_node.world.readers.keys import Keys, either, listing, number, text
from sim_node.world.readers.numbers import as_nanoseconds, as_number
from sim_node.world.readers.report import LineColumn, Report
from sim_node.world.readers.yaml_nodes import Mapping, Scalar, Sequence
from sim_node.world.readers.yaml_poses import (
    CONVENTION,
    CONVENTIONS,
    NORMALISED,
    POSITION,
    ROTATION_FORMS,
    ROTATIONS,
    SILENT,
    pose_of,
)
from sim_node.world.readers.yaml_values import Value
from sim_node.world.writers.values import pose_data, seconds

KEYFRAME_KEYS = Keys(
    {
        "t": number("Time, s. Times increase.", -MAX_STAMP_NS / 1e9, MAX_STAMP_NS / 1e9),
        "position": POSITION,
        **ROTATION_FORMS,
        "convention": CONVENTION,
    },
    required=("t",),
    at_most_one=(ROTATIONS,),
    about="The frame's pose at a time.",
    define="keyframe",
)
CSV_KEYS = Keys({"csv": text("A table of keyframes, relative to this file.")}, required=("csv",))

XYZ = ("x", "y", "z")
QUATERNION = ("qx", "qy", "qz", "qw")
RPY, RPY_DEG = ("roll", "pitch", "yaw"), ("roll_deg", "pitch_deg", "yaw_deg")
# Maximum number of faults of one kind that are reported in a file: usually, one change corrects all of them.
MAX_FAULTS = 100
Table = dict[str, FloatArray]  # column by name, a row per keyframe
Place = Callable[[int, str], LineColumn]  # of a row's cell in the column of that name
KNOWN = ("t", *XYZ, *QUATERNION, *RPY, *RPY_DEG)


def _keyframes(value: Value, context: Any) -> dict[str, Any]:
    """Read keyframes in the convention of their motion; return nothing if there are faults, which are recorded."""
    given = value.holder.get("convention") if value.holder is not None else None
    word = given.node.text if given is not None and isinstance(given.node, Scalar) else ""
    convention = word if word in CONVENTIONS else "ENU"
    return _from_csv(value, context, convention) if isinstance(value.node, Mapping) else _inline(value, convention)


def _inline(value: Value, convention: str) -> dict[str, Any]:
    times_ns: list[int] = []
    poses: list[FloatArray] = []
    for entry in value.items():
        table = entry.table(KEYFRAME_KEYS)
        poses.append(pose_of(table, convention))
        time = table.get("t")
        time_ns = None if time is None else time.nanoseconds(-MAX_STAMP_NS)
        if time is None or time_ns is None:
            continue
        if times_ns and time_ns <= times_ns[-1]:
            what = "the same time as" if time_ns == times_ns[-1] else "earlier than"
            time.error(f"{what} the keyframe before it ({times_ns[-1] / 1e9:.10g} s); times must increase")
        times_ns.append(time_ns)
    if not poses and isinstance(value.node, Sequence):
        value.error("no keyframes; a motion needs at least one")
    return {"times_ns": np.array(times_ns, dtype=np.int64), "poses": np.array(poses)}


def _from_csv(value: Value, context: Any, convention: str) -> dict[str, Any]:
    reference = value.table(CSV_KEYS).get("csv")
    found = None if reference is None else context.find(reference)
    keyframes = None if found is None else read_keyframes(found[0], context.report.about(str(found[1])))
    return {} if keyframes is None else {"times_ns": keyframes[0], "poses": CONVENTIONS[convention](keyframes[1])}


def _data(motion: Any) -> list[dict[str, Any]]:
    instants = zip(motion.times_ns.tolist(), motion.poses, strict=True)
    return [{"t": seconds(time_ns), **pose_data(pose)} for time_ns, pose in instants]


KEYFRAMES = Spread(
    ("times_ns", "poses"),
    either("The poses over time.", listing("", KEYFRAME_KEYS, least=1), CSV_KEYS),
    _keyframes,
    _data,
    needed=True,
)


def _default_convention(value: Value, context: Any) -> dict[str, Any]:
    """Check the convention, which keyframes look up."""
    value.choice(CONVENTIONS, "")
    return {}


# The default convention of keyframes.
CONVENTION_OF_ALL = Spread((), CONVENTION, _default_convention, lambda motion: None)


def read_keyframes(path: Path, report: Report) -> tuple[IntArray, FloatArray] | None:
    """Return times_ns (K,) and poses (K, 7) as written, or None with the faults in `report`.

    Columns, in any order: t (seconds), x y z (metres), and qx qy qz qw, or roll pitch yaw (radians), or
    roll_deg pitch_deg yaw_deg. A missing position is 0 0 0, a missing rotation the identity.
    """
    text = read_text(path, report)
    if text is None:
        return None
    errors = len(report.errors)
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    header = _cells(lines[0])
    if not _header_fits(lines[0], report):
        return None
    time_column = header.index("t")
    rows: list[list[float]] = []
    times_ns: list[int] = []
    of_line: list[int] = []
    for at, line in enumerate(lines[1:], start=2):
        if len(report.errors) - errors >= MAX_FAULTS:
            left = len(lines) + 1 - at - (not lines[-1])
            report.error(f"{MAX_FAULTS} faults so far; the remaining {counted(left, 'line')} were not checked", (at, 1))
            return None
        cells = _cells(line)
        if not any(cells):
            continue
        if len(cells) != len(header):
            report.error(f"{len(cells)} columns, the header names {len(header)}", (at, 1))
            continue
        row = list(map(as_number, cells))
        time_ns = as_nanoseconds(cells[time_column])
        if time_ns is None or not all(map(math.isfinite, row)):
            _report_cells(header, line, at, report)
            continue
        if times_ns and time_ns <= times_ns[-1]:
            what = "the same time as" if time_ns == times_ns[-1] else "earlier than"
            message = f"{what} the line before it ({times_ns[-1] / 1e9:.10g} s); times must increase"
            report.error(message, (at, _column(line, time_column)), "t")
        rows.append(row)
        times_ns.append(time_ns)
        of_line.append(at)
    if not rows and len(report.errors) == errors:
        report.error("no keyframes below the header", (1, 1))
    if not rows:
        return None
    table = dict(zip(header, np.array(rows).T, strict=True))

    def place(row: int, name: str) -> LineColumn:
        line = of_line[row]
        return line, _column(lines[line - 1], header.index(name))

    _check_positions(table, place, report)
    _check_norms(table, place, report)
    if len(report.errors) > errors:
        return None
    return np.array(times_ns, dtype=np.int64), _poses(table)


def _cells(line: str) -> list[str]:
    """Return the cells of a line, without white space and quotes around them.

    Columns of numbers do not need more of CSV.
    """
    return [cell.strip(' \t"') for cell in line.split(",")]


def _column(line: str, index: int) -> int:
    """Return the column of the line, from 1, where cell `index` begins."""
    cells = line.split(",")
    return sum(len(cell) + 1 for cell in cells[:index]) + len(cells[index]) - len(cells[index].lstrip()) + 1


def _header_fits(line: str, report: Report) -> bool:
    errors = len(report.errors)
    header = _cells(line)
    known = f"(known: {', '.join(KNOWN)})"

    def fault(name: str, message: str) -> None:
        report.error(message, (1, _column(line, header.index(name))), shown_key(name))

    if len(header) == 1 and (";" in line or "\t" in line):
        report.error("columns must be separated by commas, found semicolons or tabs", (1, 1))
        return False
    for index, name in enumerate(header):
        if name not in KNOWN:
            fault(name, f"unknown column{did_you_mean(name, KNOWN)} {known}")
        elif name in header[:index]:
            report.error("is a duplicate", (1, _column(line, index)), name)
    if len(report.errors) > errors:
        return False
    if "t" not in header:
        report.error(f"the header has no column t {known}", (1, 1), "t")
    for group in (XYZ, QUATERNION, RPY, RPY_DEG):
        there = [name for name in group if name in header]
        if there and len(there) < len(group):
            fault(there[0], f"columns {', '.join(group)} go together")
    rotations = [group[0] for group in (QUATERNION, RPY, RPY_DEG) if group[0] in header]
    for second in rotations[1:]:
        fault(second, f"cannot be combined with {rotations[0]}")
    return len(report.errors) == errors


def _report_cells(header: list[str], line: str, number: int, report: Report) -> None:
    """Report each invalid cell of a line."""
    for index, (name, cell) in enumerate(zip(header, _cells(line), strict=True)):
        found = as_number(cell)
        if not math.isfinite(found):
            report.error(f"a finite number is needed, found {quoted(cell)}", (number, _column(line, index)), name)
        elif name == "t" and as_nanoseconds(cell) is None:
            message = f"{found:g} s is out of range; allowed: up to {MAX_STAMP_NS // 1_000_000_000} s"
            report.error(message, (number, _column(line, index)), name)


def _check_positions(table: Table, place: Place, report: Report) -> None:
    for name in set(XYZ) & set(table):
        for row in np.flatnonzero(np.abs(table[name]) > MAX_DISTANCE)[:MAX_FAULTS].tolist():
            message = f"{table[name][row]:g} is out of range; allowed: {-MAX_DISTANCE:g} to {MAX_DISTANCE:g}"
            report.error(message, place(row, name), name)


def _check_norms(table: Table, place: Place, report: Report) -> None:
    """Report each invalid quaternion, and once those that are normalised."""
    if "qx" not in table:
        return
    with np.errstate(over="ignore"):  # an infinite norm is reported, too
        norms = np.linalg.norm(np.stack([table[name] for name in QUATERNION]), axis=0)
    off = np.abs(norms - 1.0)
    for row in np.flatnonzero(off > NORMALISED)[:MAX_FAULTS].tolist():
        report.error(f"norm is {norms[row]:.4g}, a rotation needs 1", place(row, "qx"), "qx")
    mended = np.flatnonzero((off > SILENT) & (off <= NORMALISED)).tolist()
    if mended:
        more = f", as in {len(mended) - 1} more lines" if len(mended) > 1 else ""
        report.warning(f"norm is {norms[mended[0]]:.7g}; normalised to 1{more}", place(mended[0], "qx"), "qx")


def _poses(table: Table) -> FloatArray:
    poses = np.zeros((len(table["t"]), 7))
    poses[:, 6] = 1.0
    if "x" in table:
        poses[:, :3] = np.stack([table[name] for name in XYZ], axis=1)
    if "qx" in table:
        poses[:, 3:] = quaternions.normalise(np.stack([table[name] for name in QUATERNION], axis=1))
    elif "roll" in table:
        poses[:, 3:] = numbers.from_euler(np.stack([table[name] for name in RPY], axis=1))
    elif "roll_deg" in table:
        poses[:, 3:] = numbers.from_euler(np.radians(np.stack([table[name] for name in RPY_DEG], axis=1)))
    return poses
