"""Convert positions between ENU, NED, FLU, FRD, ECEF and LLA."""

from __future__ import annotations

import argparse
import csv
import json
import math
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import chain
from typing import TextIO

import numpy as np

from sim_node.cli.arguments import UsageError
from sim_node.cli.commands import command
from sim_node.spatial.frames import AttitudeRequired, Frame, InvalidCoordinates, OriginRequired, convert_position
from sim_node.spatial.geometry.arrays import FloatArray

# Decimals for a resolution of one micrometre
_DECIMALS = {"deg": 11, "m": 6, "m above the WGS84 ellipsoid": 6}

# Other names of axes in header lines, besides their first letter and x, y, z.
_OTHER_NAMES = {"latitude": {"lat"}, "longitude": {"lon", "lng", "long"}, "altitude": {"alt", "height"}}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `sim_node convert`."""
    # The pattern of Python 3.14. Earlier versions of argparse treat -33.8,151.2,5 as an option.
    parser._negative_number_matcher = re.compile(r"-\.?\d")
    frames = ", ".join(Frame.__members__)
    parser.add_argument("--from", dest="source", required=True, metavar="FRAME", help=f"one of {frames}")
    parser.add_argument("--to", dest="target", required=True, metavar="FRAME", help="likewise")
    parser.add_argument(
        "--origin",
        metavar="LAT,LON,ALT",
        help="where ENU or NED lies on Earth: degrees, degrees, metres above the WGS84 ellipsoid",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object with every digit")
    parser.add_argument(
        "points",
        nargs="*",
        metavar="A,B,C",
        help="positions in the order of the frame's name; '-' or none reads CSV lines from standard input, "
        "with or without a header line that names the columns",
    )


@command("convert", add_arguments)
def run(arguments: argparse.Namespace) -> int:
    """Print the converted points. Return 2, after the last line, if a line of standard input was invalid."""
    source, target = _frame(arguments.source, "--from"), _frame(arguments.target, "--to")
    origin = None if arguments.origin is None else _numbers(arguments.origin.split(","), "--origin")
    _check(source, target, origin)
    convert = partial(_converted, source=source, target=target, origin=origin)
    refused: list[str] = []
    if arguments.points in ([], ["-"]):
        header, rows = _csv_rows(_standard_input())
        columns = _columns(header, source) if header else None
        points = _those_that_are_points(rows, partial(convert, columns=columns), refused)
    else:
        # Convert all points before printing any, so that a usage error prints nothing else.
        header, points = None, iter([convert(f"point {text}", text.split(",")) for text in arguments.points])
    if arguments.json:
        _print_json(points, source, target, origin)
    else:
        _print_csv(points, target, header is not None)
    return 2 if refused else 0


_Row = tuple[str, list[str]]  # location, for error messages, and cells


def _standard_input() -> TextIO:
    """Reopen standard input for csv: without a byte order mark, and accepting any bytes."""
    return open(sys.stdin.fileno(), encoding="utf-8-sig", errors="backslashreplace", newline="", closefd=False)


def _csv_rows(lines: Iterable[str]) -> tuple[_Row | None, Iterator[_Row]]:
    """Return the first row if it is a header (a row without numbers), and the other rows."""
    reader = csv.reader(lines)
    rows = ((f"line {reader.line_num}", row) for row in reader if any(cell.strip() for cell in row))
    first = next(rows, None)
    if first is None or any(_is_number(cell) for cell in first[1]):
        return None, chain([first] if first else [], rows)
    return first, rows


def _columns(header: _Row, frame: Frame) -> list[int]:
    """Return the columns of the frame's axes from a header, so that lon,lat,alt is not read as lat,lon,alt."""
    where, cells = header
    names = [cell.strip().lower() for cell in cells]
    columns = []
    for axis, letter in zip(frame.axes, "xyz", strict=True):
        known = _OTHER_NAMES.get(axis, {axis[0], letter}) | {axis}
        found = [i for i, name in enumerate(names) if name in known]
        if len(found) != 1:
            count = "no" if not found else "more than one"
            raise UsageError(f"{where}: header '{','.join(cells)}' has {count} column for {axis}")
        columns.append(found[0])
    return columns


def _those_that_are_points(
    rows: Iterable[_Row], convert: Callable[[str, list[str]], FloatArray], refused: list[str]
) -> Iterator[FloatArray]:
    """Convert row by row. Report invalid rows on standard error and in `refused`."""
    for where, cells in rows:
        try:
            yield convert(where, cells)
        except UsageError as error:  # noqa: PERF203 - each row by itself is the point
            refused.append(where)
            print(f"sim_node: {error}", file=sys.stderr)


def _converted(
    where: str,
    cells: list[str],
    source: Frame,
    target: Frame,
    origin: list[float] | None,
    columns: list[int] | None = None,
) -> FloatArray:
    try:
        return convert_position(_numbers(cells, where, columns), source, target, origin)
    except InvalidCoordinates as error:
        raise UsageError(f"{where}: {error}") from None


def _print_csv(points: Iterator[FloatArray], target: Frame, header: bool) -> None:
    decimals = [_DECIMALS[unit] for unit in target.value.units]
    if header:
        print(",".join(target.axes))
    for point in points:
        # Adding 0.0 removes the sign of negative zeros.
        print(",".join(f"{round(float(x), n) + 0.0:.{n}f}" for x, n in zip(point, decimals, strict=True)))


def _print_json(points: Iterator[FloatArray], source: Frame, target: Frame, origin: list[float] | None) -> None:
    rows = [dict(zip(target.axes, point.tolist(), strict=True)) for point in points]
    units = dict(zip(target.axes, target.value.units, strict=True))
    header = {"from": source.name, "to": target.name, "origin": origin, "units": units}
    print(json.dumps({**header, "points": rows}))


def _frame(name: str, option: str) -> Frame:
    try:
        return Frame.named(name)
    except ValueError as error:
        raise UsageError(f"{option}: {error}") from None


def _check(source: Frame, target: Frame, origin: list[float] | None) -> None:
    """Report errors that affect all points before converting the first one."""
    try:
        convert_position(np.empty((0, 3)), source, target, origin)
    except OriginRequired:
        raise UsageError(f"{source} to {target} needs --origin LAT,LON,ALT of the local frame") from None
    except (AttitudeRequired, InvalidCoordinates) as error:
        raise UsageError(str(error)) from None


def _numbers(cells: list[str], where: str, columns: list[int] | None = None) -> list[float]:
    """Return the cells in `columns`, or all three."""
    if columns is None and len(cells) != 3:
        raise UsageError(f"{where}: {len(cells)} values, needs 3 with commas between them")
    numbers = []
    for column in columns or range(3):
        cell = cells[column].strip() if column < len(cells) else ""
        if not _is_number(cell):
            found = f"'{cell}' is not a finite number" if cell else "missing"
            raise UsageError(f"{where}, column {column + 1}: {found}")
        numbers.append(float(cell))
    return numbers


def _is_number(cell: str) -> bool:
    try:
        return math.isfinite(float(cell))
    except ValueError:
        return False
