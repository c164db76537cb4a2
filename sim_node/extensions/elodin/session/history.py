"""Histories of runs, and data frames of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sim_node.extensions.elodin.errors import EcsError, caller
from sim_node.extensions.elodin.pairs import Pairs
from sim_node.extensions.elodin.program import Array, CompiledProgram
from sim_node.session.errors import needing

if TYPE_CHECKING:
    import polars

# Names of formats, and the suffix of their files.
FORMATS = {"arrow": "arrow", "arrow_ipc": "arrow", "parquet": "parquet", "pq": "parquet", "csv": "csv"}


class ComponentHistory:
    """What a program's components were after each tick.

    Args:
        program: The compiled world.
        changing: The names of the components that are added; the others stay as they are.
        batch: How many worlds are run at once, or None for one.
    """

    def __init__(self, program: CompiledProgram, changing: Sequence[str], batch: int | None = None) -> None:
        self._program, self._changing, self._batch = program, tuple(changing), batch
        self._pairs = Pairs(program.structure)
        self._chunks: list[Mapping[str, Array]] = [{name: program.start[name][None] for name in changing}]
        self.rows = 1

    def add(self, chunk: Mapping[str, Array]) -> None:
        """Append components (T, n, *shape) that changed."""
        self._chunks.append(chunk)
        self.rows += len(next(iter(chunk.values())))

    def names(self) -> list[str]:
        """Return the names of all pairs, `entity.component`."""
        return list(self._pairs)

    def values(self, name: str) -> Array:
        """Return the values (N + 1, *shape) of a pair; (N + 1, batch, *shape) of a batch. Raises KeyError."""
        pair = self._pairs[name]
        row = pair.row if self._batch is None else (slice(None), pair.row)
        if pair.component not in self._changing:
            start = self._program.start[pair.component][row]
            return np.broadcast_to(start, (self.rows, *start.shape))
        if len(self._chunks) > 1:  # joined once: a later call must not join each tick again
            joined = {name: np.concatenate([each[name] for each in self._chunks]) for name in self._changing}
            self._chunks = [joined]
        array = self._chunks[0][pair.component]
        return array[:, pair.row] if self._batch is None else array[:, :, pair.row]

    def frame(self, components: str | Sequence[str]) -> polars.DataFrame:
        """Return pairs as a data frame.

        Args:
            components: The names of pairs, `entity.component`.

        Returns:
            The column `time`, for a batch also `batch`, and one of each pair: numbers, or arrays of the flattened
            values. One row of the start, and one after each tick; the worlds of a batch one after the other.

        Raises:
            EcsError: There is no such pair.
            TypeError: Something else than names was given.
            MissingExtra: Polars is not installed.
        """
        with needing("the history of a world"):
            import polars
        names = [components] if isinstance(components, str) else list(components)
        if not all(isinstance(name, str) for name in names):
            raise TypeError(
                f"history: expected a name or a list of names, such as 'ball.world_pos'; found {components!r}"
            )
        structure = self._program.structure
        micros = structure.numerics.microseconds(structure.step, np.arange(self.rows))
        worlds = self._batch or 1
        columns: list[Any] = []
        if self._batch is not None:
            columns.append(polars.Series("batch", np.repeat(np.arange(worlds), self.rows)))
        time = polars.Series("time", np.tile(micros, worlds))
        columns.append(time.cast(polars.Datetime("us")))
        for name in dict.fromkeys(names):
            try:
                array = self.values(name)
            except KeyError as error:
                raise EcsError(error.args[0], caller(), "history") from None
            if self._batch is not None:
                array = np.swapaxes(array, 0, 1)
                array = array.reshape(-1, *array.shape[2:])
            flat = np.ascontiguousarray(array if array.ndim == 1 else array.reshape(len(array), -1))
            columns.append(polars.Series(name, flat))
        return polars.DataFrame(columns)

    def save(self, folder: str | Path, format: str) -> None:
        """Write one file of each pair: its time and its values.

        Args:
            folder: Where the files go; it is made if it does not exist.
            format: `arrow`, `parquet` or `csv`. A csv file has one column for each number.

        Raises:
            EcsError: The format is unknown.
            MissingExtra: Polars is not installed.
        """
        suffix = FORMATS.get(format)
        if suffix is None:
            raise EcsError(f"unknown format {format!r}; known: {', '.join(FORMATS)}", caller(), "save_archive")
        into = Path(folder)
        into.mkdir(parents=True, exist_ok=True)
        for name in self.names():
            frame = self.frame(name)
            file = into / f"{name.replace('/', '_')}.{suffix}"
            if suffix == "arrow":
                frame.write_ipc(file)
            elif suffix == "parquet":
                frame.write_parquet(file)
            else:
                _numbers(frame, name).write_csv(file)


def _numbers(frame: polars.DataFrame, name: str) -> polars.DataFrame:
    """Return a frame whose column of arrays is one column for each number."""
    import polars

    kind = frame.schema[name]
    if not isinstance(kind, polars.Array):
        return frame
    parts = [frame[name].arr.get(at).alias(f"{name}[{at}]") for at in range(kind.size)]
    return frame.drop(name).with_columns(parts)
