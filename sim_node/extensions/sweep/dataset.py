"""The dataset of a sweep: a folder of Parquet files with a row for each case, appended while the sweep runs."""

from __future__ import annotations

import fcntl
import json
import os
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from sim_node.extensions.sweep.job import OWN, Outcome
from sim_node.packages import how_to_install

if TYPE_CHECKING:
    import polars

ABOUT, ROWS, CASES, LOCK = "sweep.json", "rows", "cases", ".lock"
# Rows are written after they have waited for this time (s), or this fraction of the sweep's run time, so that the
# number of files grows only with the logarithm of the time.
MIN_WAIT_S, WAIT_PART = 1.0, 0.02
MAX_WAITING = 20_000


class DatasetFault(Exception):
    """A folder of results cannot be used. The message is for the user."""


class RowWriter:
    """Writer of the rows of a sweep, for the only process that appends to them.

    Args:
        folder: The folder.
        about: The contents of sweep.json; None to continue with existing results.

    Attributes:
        folder: The folder.
        done: Mask (runs,) of the cases that have a row.

    Raises:
        DatasetFault: The folder has other contents, or another sweep is writing to it.
    """

    def __init__(self, folder: Path, about: Mapping[str, Any] | None, runs: int) -> None:
        polars_module()
        self.folder = folder
        self._waiting: list[Outcome] = []
        try:
            if about is not None:
                _create(folder, about)
            self._lock = _locked(folder)
            self._next_part = self._swept()
        except OSError as error:
            raise DatasetFault(f"{folder} cannot be written: {error.strerror or error}") from None
        self.done = np.zeros(runs, dtype=bool)
        self.done[cases_in(folder)] = True
        self._began = self._written = time.monotonic()

    def add(self, outcomes: Iterable[Outcome]) -> None:
        """Add outcomes. They are written soon, at the latest by `close`.

        Args:
            outcomes: The outcomes. A case that has a row is skipped.
        """
        for outcome in outcomes:
            number = outcome.case.number
            if self.done[number]:
                continue
            for name, data in outcome.files.items():
                _put(self.folder / CASES / f"{number:06}" / name, data)
            self.done[number] = True
            self._waiting.append(outcome._replace(files={}))
        now = time.monotonic()
        if now - self._written >= max(MIN_WAIT_S, WAIT_PART * (now - self._began)) or len(self._waiting) >= MAX_WAITING:
            self.flush()

    def flush(self) -> None:
        """Write the pending rows to a new file, which appears atomically."""
        self._written = time.monotonic()
        if not self._waiting:
            return
        frame = frame_of(self._waiting)
        part = self.folder / ROWS / f"part-{self._next_part:06}.parquet"
        being_written = part.with_suffix(".tmp")
        with being_written.open("wb") as file:
            frame.write_parquet(file)
            file.flush()
            os.fsync(file.fileno())
        # If this is interrupted after the next line, a second flush writes the same rows to the same file.
        being_written.replace(part)
        self._waiting, self._next_part = [], self._next_part + 1

    def close(self) -> None:
        """Write the pending rows, and release the lock."""
        try:
            self.flush()
        finally:
            os.close(self._lock)

    def _swept(self) -> int:
        """Remove incomplete files of a sweep that was killed. Return the number of the next part."""
        for left in (self.folder / ROWS).glob("*.tmp"):
            left.unlink()
        numbers = [int(path.stem.rpartition("-")[2]) for path in (self.folder / ROWS).glob("part-*.parquet")]
        return max(numbers, default=-1) + 1


def polars_module() -> Any:
    """Return polars. Raises DatasetFault if it is not installed."""
    try:
        import polars
    except ImportError as error:
        raise DatasetFault(f"sweeps need polars: {how_to_install(error)}") from None
    return polars


def frame_of(outcomes: Iterable[Outcome]) -> polars.DataFrame:
    """Return the rows of outcomes.

    Numbers and booleans of measures are float64, whatever type a function returns.
    """
    pl = polars_module()
    outcomes = list(outcomes)
    columns: dict[str, Any] = {
        "case": pl.Series("case", [each.case.number for each in outcomes], pl.Int64),
        "seed": pl.Series("seed", [each.case.seed for each in outcomes], pl.Int64),
    }
    for path in dict.fromkeys(path for each in outcomes for path in each.case.values):
        columns[path] = pl.Series(path, [each.case.values[path] for each in outcomes], pl.Float64)
    for name in dict.fromkeys(name for each in outcomes for name in each.measures):
        columns[name] = _series(pl, name, [each.measures.get(name) for each in outcomes])
    columns["status"] = pl.Series("status", [each.status for each in outcomes], pl.String)
    columns["error"] = pl.Series("error", [each.error for each in outcomes], pl.String)
    columns["wall_s"] = pl.Series("wall_s", [each.wall_s for each in outcomes], pl.Float64)
    return pl.DataFrame(columns)


def read(folder: str | Path) -> polars.DataFrame:
    """Return the rows of a sweep that have been written so far.

    Args:
        folder: The folder of the results.

    Returns:
        A row for each case, in the order of the cases: `case`, `seed`, a column for each varied path and each measure,
        `status`, `error` and `wall_s`.

    Raises:
        DatasetFault: It is not a folder of results.
    """
    pl = polars_module()
    about_of(folder)
    parts = parts_of(Path(folder))
    if not parts:
        return frame_of([])
    frame = pl.concat([_read(pl, part) for part in parts], how="diagonal_relaxed").sort("case")
    order = [*_ordered(about_of(folder), [name for name in frame.columns if name not in OWN])]
    return frame.select("case", "seed", *order, "status", "error", "wall_s")


def about_of(folder: str | Path) -> dict[str, Any]:
    """Return the description of a sweep from its sweep.json. Raises DatasetFault."""
    path = Path(folder, ABOUT)
    try:
        about = json.loads(path.read_text(encoding="utf-8"))
    except OSError:
        raise DatasetFault(f"{folder} has no results of a sweep: it contains no {ABOUT}") from None
    except ValueError as error:
        raise DatasetFault(f"{path} is not JSON: {error}") from None
    if not isinstance(about, dict) or not {"world", "runs", "duration", "vary"} <= about.keys():
        raise DatasetFault(f"{path} does not describe a sweep")
    return about


def parts_of(folder: Path) -> list[Path]:
    """Return the files with rows, in the order of writing."""
    return sorted((folder / ROWS).glob("part-*.parquet"))


def cases_in(folder: Path) -> npt.NDArray[np.int64]:
    """Return the numbers of the cases that have rows. Raises DatasetFault for a damaged file."""
    pl = polars_module()
    found = [_read(pl, part, ["case"])["case"].to_numpy() for part in parts_of(folder)]
    return np.concatenate(found) if found else np.zeros(0, dtype=np.int64)


def _read(pl: Any, part: Path, columns: list[str] | None = None) -> polars.DataFrame:
    """Return the rows of a file. Raises DatasetFault if it is damaged."""
    try:
        frame: polars.DataFrame = pl.read_parquet(part, columns=columns)
    except (OSError, pl.exceptions.PolarsError) as error:
        reason = str(error).splitlines()[0]
        raise DatasetFault(f"{part} cannot be read: {reason}; remove it to run its cases again") from None
    return frame


def _ordered(about: Mapping[str, Any], names: list[str]) -> Iterator[str]:
    paths = [path for path in about["vary"] if path in names]
    yield from paths
    yield from (name for name in names if name not in paths)


def _series(pl: Any, name: str, values: list[Any]) -> Any:
    if any(isinstance(value, str) for value in values):
        return pl.Series(name, [None if value is None else str(value) for value in values], pl.String)
    return pl.Series(name, [None if value is None else float(value) for value in values], pl.Float64)


def _create(folder: Path, about: Mapping[str, Any]) -> None:
    if (folder / ABOUT).exists():
        raise DatasetFault(f"{folder} has results already; choose another folder, or go on with --resume {folder}")
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise DatasetFault(f"{folder} is not an empty folder")
    (folder / ROWS).mkdir(parents=True)
    _put(folder / ABOUT, json.dumps(about, indent=2).encode() + b"\n")


def _locked(folder: Path) -> int:
    file = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(file)
        raise DatasetFault(f"{folder}: another sweep is writing to it") from None
    return file


def _put(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    being_written = path.with_name(f"{path.name}.tmp")
    being_written.write_bytes(data)
    being_written.replace(path)
