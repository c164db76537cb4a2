"""convert_position beside PROJ and pymap3d, each direction, at 1, 1000 and 1,000,000 points.

Run from the repository: python -m bench.frames [--out bench/results/frames.json]

Each library gets its points as it likes them best: PROJ and pymap3d three separate arrays (floats at one point)
and PROJ a transformer that was built beforehand, convert_position one (n, 3) array. Exit code 1 where a target is
missed: as fast as the faster of the two at 1000 and 1,000,000 points, a third of its speed at one.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pymap3d
from pyproj import Transformer
from pyproj.enums import TransformDirection

from bench.pairs import Pairs
from sim_node.spatial.frames import Frame, convert_position
from sim_node.spatial.geometry.arrays import FloatArray

ORIGIN = (47.397742, 8.545594, 488.0)
TOPOCENTRIC = f"+proj=topocentric +ellps=WGS84 +lat_0={ORIGIN[0]} +lon_0={ORIGIN[1]} +h_0={ORIGIN[2]}"
PIPELINES = {
    (Frame.LLA, Frame.ECEF): "+proj=cart +ellps=WGS84",
    (Frame.ECEF, Frame.ENU): TOPOCENTRIC,
    (Frame.LLA, Frame.ENU): f"+proj=pipeline +step +proj=cart +ellps=WGS84 +step {TOPOCENTRIC}",
    (Frame.LLA, Frame.NED): f"+proj=pipeline +step +proj=cart +ellps=WGS84 +step {TOPOCENTRIC}"
    " +step +proj=axisswap +order=2,1,-3",
    (Frame.ENU, Frame.NED): "+proj=axisswap +order=2,1,-3",
}
PYMAP3D: dict[tuple[Frame, Frame], Callable[..., object]] = {
    (Frame.LLA, Frame.ECEF): pymap3d.geodetic2ecef,
    (Frame.ECEF, Frame.LLA): pymap3d.ecef2geodetic,
    (Frame.ECEF, Frame.ENU): lambda *xyz: pymap3d.ecef2enu(*xyz, *ORIGIN),
    (Frame.ENU, Frame.ECEF): lambda *xyz: pymap3d.enu2ecef(*xyz, *ORIGIN),
    (Frame.LLA, Frame.ENU): lambda *xyz: pymap3d.geodetic2enu(*xyz, *ORIGIN),
    (Frame.ENU, Frame.LLA): lambda *xyz: pymap3d.enu2geodetic(*xyz, *ORIGIN),
    (Frame.LLA, Frame.NED): lambda *xyz: pymap3d.geodetic2ned(*xyz, *ORIGIN),
    (Frame.NED, Frame.LLA): lambda *xyz: pymap3d.ned2geodetic(*xyz, *ORIGIN),
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--out", type=Path, default=Path("bench/results/frames.json"))
    arguments = parser.parse_args()
    pairs = Pairs()
    for count in (1, 1000, 1_000_000):
        places = np.random.default_rng(1).uniform((46.4, 7.5, 0.0), (48.4, 9.5, 1000.0), (count, 3))
        for source, target in PIPELINES:
            measure(pairs, places, source, target)
            measure(pairs, places, target, source)
    pairs.save(arguments.out)
    print(f"rows in {arguments.out}" + (f"; missed: {', '.join(pairs.missed)}" if pairs.missed else ""))
    return 1 if pairs.missed else 0


def measure(pairs: Pairs, places: FloatArray, source: Frame, target: Frame) -> None:
    count = len(places)
    points = convert_position(places, Frame.LLA, source, ORIGIN)
    arguments: list[Any] = [np.ascontiguousarray(column) for column in points.T]
    if count == 1:
        points, arguments = points[0], points[0].tolist()
    theirs: dict[str, Callable[[], object]] = {"pyproj": proj(arguments, source, target)}
    if (source, target) in PYMAP3D:
        theirs["pymap3d"] = partial(PYMAP3D[source, target], *arguments)
    pairs.measure(
        f"{source} to {target}, {count} point{'s' if count > 1 else ''}",
        partial(convert_position, points, source, target, ORIGIN),
        theirs,
        target=1 / 3 if count == 1 else 1.0,
        rounds=9 if count == 1_000_000 else 15,
    )


def proj(columns: list[Any], source: Frame, target: Frame) -> Callable[[], object]:
    """PROJ takes longitude before latitude; its pipelines run both ways."""
    backwards = (source, target) not in PIPELINES
    transformer = Transformer.from_pipeline(PIPELINES[(target, source) if backwards else (source, target)])
    if source is Frame.LLA:
        columns = [columns[1], columns[0], columns[2]]
    if backwards:
        return partial(transformer.transform, *columns, direction=TransformDirection.INVERSE)
    return partial(transformer.transform, *columns)


if __name__ == "__main__":
    sys.exit(main())
