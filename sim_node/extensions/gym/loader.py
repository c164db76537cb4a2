"""Reader of datasets: runs, or windows of runs, as arrays by signal name, for PyTorch's DataLoader and others."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from sim_node.extensions.gym.dataset import ABOUT, RUNS, SAMPLES, Array32
from sim_node.session.errors import needing


class Dataset:
    """A dataset that `write_dataset` wrote: a sequence of runs, or of windows of equal length.

    An item is a mapping from signal names to float32 arrays (T, K). The class has the interface of PyTorch's map-style
    datasets, so `torch.utils.data.DataLoader(Dataset(folder, window=500), batch_size=32, shuffle=True)` gives tensors
    (32, 500, K). PyTorch is not imported here. Runs that diverged are omitted.

    Args:
        folder: The folder.
        window: Samples of an item; None for whole runs.
        stride: Samples from one window to the next; None for windows that do not overlap.
        signals: The signals to read; None for all.

    Attributes:
        runs: A polars.DataFrame with a row for each run: run, seed, status, samples, and the drawn numbers by key path.
        signals: The columns of each signal, by name.
        rate: Samples per simulated second, Hz.

    Raises:
        FileNotFoundError: There is no complete dataset in the folder.
        KeyError: There is no such signal.
        ValueError: The window or the stride is less than 1, or no run is as long as the window.
        MissingExtra: Polars is not installed.
    """

    def __init__(
        self,
        folder: str | Path,
        window: int | None = None,
        stride: int | None = None,
        signals: tuple[str, ...] | None = None,
    ) -> None:
        with needing("datasets"):
            import polars
        self.folder = Path(folder)
        if not (self.folder / RUNS).is_file():
            raise FileNotFoundError(f"{self.folder} has no complete dataset: {RUNS} is missing")
        about = json.loads((self.folder / ABOUT).read_text(encoding="utf-8"))
        self.rate: float = about["rate"]
        self.signals: dict[str, list[str]] = about["signals"]
        if signals is not None:
            if unknown := [name for name in signals if name not in self.signals]:
                raise KeyError(f"no signal {', '.join(unknown)} (known: {', '.join(self.signals)})")
            self.signals = {name: self.signals[name] for name in signals}
        if (window is not None and window < 1) or (stride is not None and stride < 1):
            raise ValueError(f"window {window} and stride {stride} must be 1 or more")
        self.runs: Any = polars.read_parquet(self.folder / RUNS)
        good = self.runs.filter(polars.col("status") == "ok").select("run", "samples").rows()
        self._items: list[tuple[int, int, int]] = []
        for run, samples in good:
            size = window or samples
            self._items += [(run, first, size) for first in range(0, samples - size + 1, stride or size)]
        if not self._items:
            raise ValueError(f"no run is as long as a window of {window} samples" if good else "every run diverged")
        self._firsts = sorted(int(path.stem) for path in (self.folder / SAMPLES).glob("*.parquet"))
        self._file = lru_cache(maxsize=8)(self._read)

    def __len__(self) -> int:
        return len(self._items)

    def __getitem__(self, index: int) -> dict[str, Array32]:
        """Return an item: arrays (T, K) by signal name. Raises IndexError."""
        run, first, size = self._items[index]
        starts, table = self._file(self._firsts[bisect_right(self._firsts, run) - 1])
        rows = slice(starts[run] + first, starts[run] + first + size)
        return {
            name: np.stack([table[column][rows] for column in columns], axis=1)
            for name, columns in self.signals.items()
        }

    def __iter__(self) -> Iterator[dict[str, Array32]]:
        """Iterate over the items."""
        return map(self.__getitem__, range(len(self)))

    def run_of(self, index: int) -> int:
        """Return the number of the run of an item.

        Args:
            index: Number of the item.

        Returns:
            The number of the run, as in the column `run`.
        """
        return self._items[index][0]

    def _read(self, first: int) -> tuple[dict[int, int], dict[str, Array32]]:
        """Return where the runs of a file begin, and its columns."""
        import polars

        wanted = [column for columns in self.signals.values() for column in columns]
        table = polars.read_parquet(self.folder / SAMPLES / f"{first:07d}.parquet", columns=["run", *wanted])
        runs, starts = np.unique(table["run"].to_numpy(), return_index=True)
        columns = {column: table[column].to_numpy().astype(np.float32) for column in wanted}
        return dict(zip(runs.tolist(), starts.tolist(), strict=True)), columns

    def __getstate__(self) -> dict[str, Any]:
        # Workers of a loader open the files themselves.
        return {name: value for name, value in vars(self).items() if name != "_file"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._file = lru_cache(maxsize=8)(self._read)
