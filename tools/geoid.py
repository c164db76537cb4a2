"""Write sim_node/spatial/frames/egm96_15.npz, the EGM96 geoid at 15 arc minutes, from the PyPI package egm96.

The heights are NGA's, in the public domain: EGM96, evaluated at 5 arc minutes. Every third one is kept, rounded to a
decimetre. Rows go from the north pole down, columns eastward from 0. Both are stored as differences, which deflate to a
sixth of the size.

Run from the repository with Python 3.12 or newer: pip install 'egm96>=0.3'; python tools/geoid.py
"""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import egm96  # type: ignore[import-not-found, unused-ignore]
import numpy as np

STEP = 0.25  # degrees
OUT = Path(__file__).parents[1] / "sim_node" / "spatial" / "frames" / "egm96_15.npz"


def main() -> None:
    latitudes = np.arange(90.0, -90.0 - STEP / 2, -STEP)
    longitudes = np.arange(0.0, 360.0, STEP)
    heights = egm96.undulation(latitudes[:, None], longitudes[None, :])
    decimetres = np.round(10.0 * np.asarray(heights)).astype(np.int64)
    differences = np.diff(np.diff(decimetres, axis=0, prepend=0), axis=1, prepend=0)
    stored = differences.astype("<i2")
    assert (stored == differences).all()
    array = io.BytesIO()
    np.lib.format.write_array(array, stored)
    # Without a time stamp, so that the same grid is the same file.
    with zipfile.ZipFile(OUT, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        archive.writestr(zipfile.ZipInfo("differences.npy"), array.getvalue(), zipfile.ZIP_DEFLATED, 9)
    print(f"{OUT}: {OUT.stat().st_size} bytes")


if __name__ == "__main__":
    main()
