"""The file format: worlds as tables of belts, one line each, with the suffix .belts."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np

from conveyor.belt import Belt
from sim_node.formats import read_text, reader
from sim_node.spatial.geometry import quaternions
from sim_node.world import Place, Where, World
from sim_node.world.readers.files import Roots
from sim_node.world.readers.report import Report

COLUMNS = ("name", "x", "y", "z", "yaw_deg", "length", "speed", "pallets")


@reader(".belts")
def read_table(path: Path, shown: Path, roots: Roots, report: Report, including: tuple[Path, ...] = ()) -> World | None:
    """The world of one file, or None with the faults in `report`."""
    text = read_text(path, report)
    if text is None:
        return None
    rows = csv.reader(text.splitlines())
    head = next(rows, [])
    if tuple(head) != COLUMNS:
        report.error(f"the columns {','.join(COLUMNS)} are needed, found {','.join(head) or 'none'}", (1, 1))
        return None
    belts = []
    for row in rows:
        line = (rows.line_num, 1)
        try:
            name, x, y, z, yaw, length, speed, pallets = row
            rotation = quaternions.from_axis_angle([0.0, 0.0, 1.0], np.radians(float(yaw)))
            pose = np.array([float(x), float(y), float(z), *rotation])
            place = Place(Where(report.file, *line), name)
            belt = Belt(name, "map", pose, None, place, place, float(length), float(speed), int(pallets))
        except ValueError as error:
            report.error(str(error), line)
        else:
            belts.append(belt)
    return World(path.stem, belts=belts, source=str(shown))
