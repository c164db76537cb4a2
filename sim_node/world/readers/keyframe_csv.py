"""Keyframes from CSV: a header line that names the columns, then a row per keyframe."""

from __future__ import annotations

import csv
import math
from collections.abc import Callable
from decimal import InvalidOperation
from pathlib import Path

import numpy as np

from sim_node.geometry import quaternions
from sim_node.geometry.arrays import FloatArray, IntArray
from sim_node.world.problems import Problem, Where, did_you_mean
from sim_node.world.readers.yaml_poses import MENDED, SILENT
from sim_node.world.readers.yaml_values import LATEST_NS, Report, seconds_to_ns

POSITION = ("x", "y", "z")
QUATERNION = ("qx", "qy", "qz", "qw")
RPY, RPY_DEG = ("roll", "pitch", "yaw"), ("roll_deg", "pitch_deg", "yaw_deg")
KNOWN = ("t", *POSITION, *QUATERNION, *RPY, *RPY_DEG)


def read_keyframes(path: Path, shown: str, report: Report) -> tuple[IntArray, FloatArray, list[int]]:
    """times_ns (K,), poses (K, 7) as written, and the line of each; faults go to `report`.

    Columns, in any order: t (seconds), x y z (metres), and qx qy qz qw, or roll pitch yaw (radians), or
    roll_deg pitch_deg yaw_deg. A missing position is 0 0 0, a missing rotation none.
    """

    errors = len(report.errors)

    def fault(line: int, column: int, key: str, message: str) -> None:
        report.errors.append(Problem(Where(shown, line, column), key, message))

    with path.open(newline="", encoding="utf-8-sig", errors="replace") as file:
        rows = csv.reader(file, skipinitialspace=True)
        header = [name.strip() for name in next(rows, [])]
        if not _header_fits(header, fault):
            return _nothing()
        times: list[int] = []
        numbers: list[list[float]] = []
        lines: list[int] = []
        for row in rows:
            if not any(cell.strip() for cell in row):
                continue
            line = rows.line_num
            if len(row) != len(header):
                fault(line, len(row), "", f"{len(row)} columns, the header names {len(header)}")
                continue
            parsed: list[float] = []
            for column, (name, cell) in enumerate(zip(header, row, strict=True), start=1):
                try:
                    number = float(cell)
                except ValueError:
                    number = math.nan
                if not math.isfinite(number):
                    fault(line, column, name, f"a finite number is needed, found {cell.strip()!r}")
                parsed.append(number)
            try:
                time_ns = seconds_to_ns(row[header.index("t")].strip())
            except (InvalidOperation, ValueError, OverflowError):
                continue
            if abs(time_ns) > LATEST_NS:
                fault(line, header.index("t") + 1, "t", f"{row[header.index('t')]} s is out of range")
                continue
            times.append(time_ns)
            numbers.append(parsed)
            lines.append(line)
    if not times and len(report.errors) == errors:
        fault(1, 1, "", "no keyframes below the header")
    if len(report.errors) > errors:
        return _nothing()
    table = dict(zip(header, np.array(numbers).T, strict=True))
    return np.array(times, dtype=np.int64), _poses(table, shown, lines, report), lines


def _header_fits(header: list[str], fault: Callable[[int, int, str, str], None]) -> bool:
    faults = 0
    for column, name in enumerate(header, start=1):
        if name not in KNOWN or name in header[: column - 1]:
            what = "stands twice" if name in KNOWN else f"unknown column{did_you_mean(name, KNOWN)}"
            fault(1, column, name, f"{what} (known: {', '.join(KNOWN)})")
            faults += 1
    if "t" not in header and not faults:
        fault(1, 1, "t", f"the header names no column t (known: {', '.join(KNOWN)})")
        faults += 1
    for group in (POSITION, QUATERNION, RPY, RPY_DEG):
        there = [name for name in group if name in header]
        if there and len(there) < len(group) and not faults:
            fault(1, header.index(there[0]) + 1, there[0], f"columns {', '.join(group)} go together")
            faults += 1
    rotations = [group[0] for group in (QUATERNION, RPY, RPY_DEG) if group[0] in header]
    if len(rotations) > 1 and not faults:
        fault(1, header.index(rotations[1]) + 1, rotations[1], f"a second rotation beside {rotations[0]}")
        faults += 1
    return not faults


def _poses(table: dict[str, FloatArray], shown: str, lines: list[int], report: Report) -> FloatArray:
    poses = np.zeros((len(lines), 7))
    poses[:, 6] = 1.0
    if "x" in table:
        poses[:, :3] = np.stack([table[name] for name in POSITION], axis=1)
    if "qx" in table:
        poses[:, 3:] = np.stack([table[name] for name in QUATERNION], axis=1)
        norms = np.linalg.norm(poses[:, 3:], axis=1)
        column = list(table).index("qx") + 1
        for row in np.flatnonzero(np.abs(norms - 1.0) > MENDED):
            where = Where(shown, lines[row], column)
            report.errors.append(Problem(where, "qx", f"norm is {norms[row]:.4g}, a rotation needs 1"))
        mended = np.flatnonzero((np.abs(norms - 1.0) > SILENT) & (np.abs(norms - 1.0) <= MENDED))
        if len(mended):
            where = Where(shown, lines[mended[0]], column)
            message = f"norm is {norms[mended[0]]:.7g}; normalised to 1, as in {len(mended)} rows"
            report.warnings.append(Problem(where, "qx", message))
        poses[:, 3:] /= np.where(norms > 0.0, norms, 1.0)[:, None]
    elif "roll" in table:
        poses[:, 3:] = quaternions.from_rpy(np.stack([table[name] for name in RPY], axis=1))
    elif "roll_deg" in table:
        poses[:, 3:] = quaternions.from_rpy(np.radians(np.stack([table[name] for name in RPY_DEG], axis=1)))
    return poses


def _nothing() -> tuple[IntArray, FloatArray, list[int]]:
    return np.empty(0, dtype=np.int64), np.empty((0, 7)), []
