"""Pictures of the results of a sweep: the distribution of each measure, and its scatter over each varied number."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from sim_node.extensions.sweep.dataset import DatasetFault, about_of, read
from sim_node.extensions.sweep.job import OWN
from sim_node.packages import how_to_install

NAME = "plot.png"
# Limits for legibility.
MAX_MEASURES, MAX_PATHS = 8, 5
BINS = 40
# Size of a diagram in inches, and pixels per inch.
SIZE, RESOLUTION = (3.2, 2.6), 110


def plot(folder: str | Path, file: str | Path | None = None) -> Path:
    """Draw the results of a sweep: a row of diagrams for each measure.

    Args:
        folder: The folder of the results.
        file: The picture: .png, .svg or .pdf; by default plot.png in the folder.

    Returns:
        The picture.

    Raises:
        DatasetFault: The results have no measures that are numbers, or matplotlib is not installed.
    """
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError as error:
        raise DatasetFault(f"--plot: {how_to_install(error)}") from None
    rows = read(folder)
    paths = [path for path in about_of(folder)["vary"] if path in rows.columns]
    numeric = [name for name in rows.columns if name not in (*OWN, *paths) and rows[name].dtype.is_numeric()]
    # Skip constant measures.
    measures = [name for name in numeric if rows[name].drop_nulls().n_unique() > 1][:MAX_MEASURES]
    if not measures:
        raise DatasetFault(f"{folder}: no measure has two different numbers to plot")
    shown = paths[:MAX_PATHS]
    size = SIZE[0] * (1 + len(shown)), SIZE[1] * len(measures)
    figure = Figure(figsize=size, layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots(len(measures), 1 + len(shown), squeeze=False)
    for line, measure in zip(axes, measures, strict=True):
        values = rows[measure].cast(float).to_numpy()
        finite = np.isfinite(values)
        line[0].hist(values[finite], bins=min(BINS, max(5, int(np.sqrt(finite.sum())))), color="tab:blue")
        line[0].set_xlabel(measure, fontsize="small")
        line[0].set_ylabel("cases", fontsize="small")
        for place, path in zip(line[1:], shown, strict=True):
            place.scatter(rows[path].to_numpy()[finite], values[finite], s=4, alpha=0.5, linewidths=0, rasterized=True)
            place.set_xlabel(path, fontsize="small")
            place.set_ylabel(measure, fontsize="small")
    out = Path(folder, NAME) if file is None else Path(file)
    try:
        figure.savefig(out, dpi=RESOLUTION)
    except (OSError, ValueError) as error:
        raise DatasetFault(f"{out} cannot be written: {error}") from None
    return out
