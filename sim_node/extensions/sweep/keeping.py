"""The data kept of a case besides its row: columns over time, a picture of its end, a bag of its topics."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from sim_node.extensions.sweep.dataset import polars_module
from sim_node.extensions.sweep.job import Keep
from sim_node.simulation import Simulation
from sim_node.simulation.history import History
from sim_node.text import did_you_mean
from sim_node.world import World
from sim_node.world.autopilots import autopiloted

COLUMNS, PICTURE, BAG = "columns", "end.png", "bag"


def check_kept(keep: Keep, simulation: Simulation) -> Iterator[str]:
    """Yield problems with the requested data."""
    for name in keep.columns:
        if name not in simulation.columns:
            yield f"no column {name!r}{did_you_mean(name, simulation.columns)}"
        elif simulation.columns.column(name).entities is None:
            yield f"column {name!r} has no fixed rows"
    if keep.topics:
        from sim_node.recording.settings import RecordingSettings, SettingsFault

        try:
            RecordingSettings(topics=keep.topics)
        except SettingsFault as error:
            yield str(error)
    if keep.picture:
        from sim_node.world.mujoco_source import mujoco_fault

        if fault := mujoco_fault():
            yield f"pictures need MuJoCo, {fault}"


def needs_session(world: World, keep: Keep) -> bool:
    """Return whether cases need more than a Simulation: autopilots, or a recording."""
    return bool(keep.topics) or bool(autopiloted(world))


def kept_of(keep: Keep, simulation: Simulation, history: History | None) -> Mapping[str, bytes]:
    """Return the files of a finished case, except its bag."""
    files: dict[str, bytes] = {}
    for name in keep.columns:
        assert history is not None
        entities = simulation.columns.column(name).entities or ()
        files[f"{COLUMNS}/{name}.parquet"] = table(history.times_ns, history[name], entities)
    if keep.picture:
        files[PICTURE] = _picture(simulation)
    return files


def table(times_ns: np.ndarray, column: np.ndarray, entities: tuple[str, ...]) -> bytes:
    """Return a column (T, rows, ...) over time as Parquet: `time`, and an array for each entity."""
    pl = polars_module()
    rows = {entity: column[:, row] for row, entity in enumerate(entities)}
    frame = pl.DataFrame({"time": times_ns * 1e-9, **{name: _flat(values) for name, values in rows.items()}})
    into = io.BytesIO()
    frame.write_parquet(into)
    return into.getvalue()


def _flat(values: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(values.reshape(len(values), -1) if values.ndim > 1 else values)


def _picture(simulation: Simulation) -> bytes:
    """Return a picture of the current state of a simulation."""
    from sim_node.viewing.pictures import write_picture
    from sim_node.viewing.render_requests import RenderRequest, render_source, source_of_run

    now = simulation.snapshot()
    source = source_of_run(simulation.world, simulation.seed, lambda other, time_ns: now)
    with TemporaryDirectory(prefix="sim_node_picture_") as folder:
        path = Path(folder, PICTURE)
        pictures = render_source(source, RenderRequest(), [now.time_ns], lambda times_ns, what: times_ns)
        write_picture(next(pictures), path)
        pictures.close()
        return path.read_bytes()
