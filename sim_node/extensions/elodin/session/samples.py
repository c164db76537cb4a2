"""The recorded data of a run: the components of its ticks, gathered into chunks, and the writes of callbacks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Protocol

import numpy as np
import numpy.typing as npt

from sim_node.extensions.elodin.capture import Captured
from sim_node.extensions.elodin.live import Live
from sim_node.extensions.elodin.pairs import ComponentPair, is_own
from sim_node.extensions.elodin.program import Array
from sim_node.extensions.elodin.sensor_cameras import Pixels, SensorCamera
from sim_node.extensions.elodin.session.settings import RunSettings


class SampleSink(Protocol):
    """A recorder of a run. See `sim_node.extensions.elodin.session.recording.Recording`."""

    def write(self, first_tick: int, stamps_ns: npt.NDArray[np.int64], arrays: Mapping[str, Array]) -> None:
        """Record components (T, n, *shape) by name, as they are before some ticks."""

    def write_at(self, component: str, entity: int, value: Array, stamp_ns: int) -> None:
        """Record a value of a component that only callbacks write, for the entity in a row."""

    def write_frame(self, camera: SensorCamera, stamp_ns: int, frame: Pixels) -> None:
        """Record a frame of a camera."""

    def truncate(self) -> None:
        """Discard everything recorded so far."""

    def flush(self) -> None:
        """Write everything received so far to the disk."""

    def close(self) -> None:
        """End the recording."""


class Samples:
    """The components of a run, gathered into chunks of ticks for a sink.

    Each tick has the components that ticks change, and those that callbacks have written so far. The state after tick k
    is the state before tick k + 1 and has the time of the latter. Components with the metadata `external_control` are
    recorded as they are written. Bags cannot have times before 1970: if a run starts earlier, its times count from
    the start.

    Args:
        live: The state of the run.
        start_us: The start time, us.
        sink: Makes the recorder, given the start time in the recording, us.
    """

    def __init__(self, live: Live, start_us: int, sink: Callable[[int], SampleSink]) -> None:
        self._start_us = max(start_us, 0)
        self._later_us = self._start_us - start_us
        self._live, self._sink = live, sink(self._start_us)
        program = live.program
        self._own = {name for name, component in program.structure.components.items() if is_own(component)}
        self._names = [name for name in program.changing if name not in self._own]
        self._outside = 0
        # The first of the gathered ticks, and their number.
        self._first = self._count = 0
        self._rows: dict[str, list[Array]] = {}
        self._truncated = False

    def all(self, tick: int) -> None:
        """Record all components before a tick."""
        self._write(tick, 1, {name: self._live.get(name)[None] for name in self._live.program.start})

    def before(self, tick: int) -> None:
        """Record the state before a tick."""
        if self._truncated:
            self._truncated = False
            self.all(tick)
            return
        if len(self._live.outside) != self._outside:
            self._outside = len(self._live.outside)
            self.flush()
            self._names = list(dict.fromkeys([*self._names, *(self._live.outside - self._own)]))
        if not self._count:
            self._first = tick
        self._count += 1
        for name in self._names:
            self._rows.setdefault(name, []).append(self._live.get(name))
        if self._count >= self._live.program.chunk:
            self.flush()

    def chunk(self, tick: int, values: Mapping[str, Array]) -> None:
        """Record the components (T, n, *shape) before each of T ticks, beginning with a given tick."""
        self._write(tick, len(next(iter(values.values()))), {name: values[name] for name in self._names})

    def written(self, pair: ComponentPair, stamp_us: int, value: Array) -> None:
        """Record a value that a callback wrote to a component with `external_control`."""
        self._sink.write_at(pair.component, pair.row, value, (stamp_us + self._later_us) * 1000)

    def frame(self, camera: SensorCamera, stamp_us: int, frame: Pixels) -> None:
        """Record a frame of a camera."""
        self._sink.write_frame(camera, (stamp_us + self._later_us) * 1000, frame)

    def truncate(self) -> None:
        """Discard everything recorded so far."""
        self._count, self._rows, self._truncated = 0, {}, True
        self._sink.truncate()

    def flush(self) -> None:
        """Pass the gathered ticks to the sink."""
        if self._count:
            self._write(self._first, self._count, {name: np.stack(arrays) for name, arrays in self._rows.items()})
            self._count, self._rows = 0, {}

    def close(self) -> None:
        """End the recording."""
        self.flush()
        self._sink.close()

    def _write(self, first: int, count: int, arrays: Mapping[str, Array]) -> None:
        structure = self._live.program.structure
        micros = structure.numerics.microseconds(structure.step, np.arange(first, first + count))
        self._sink.write(first, (self._start_us + micros) * 1000, arrays)


def recording(captured: Captured, settings: RunSettings, script: str, start_us: int) -> SampleSink:
    """Return the recorder of a run, whose module is imported only here.

    Args:
        captured: The world.
        settings: The settings of the run.
        script: The file that runs it, which is stored in the recording.
        start_us: The start time, us.
    """
    from sim_node.extensions.elodin.session.recording import Recording

    assert settings.db_path is not None
    program, structure = captured.program, captured.program.structure
    constant = [name for name in program.start if name not in program.changing]
    made_by = script if Path(script).is_file() else None
    every = settings.record_every
    cameras = tuple(captured.cameras.values())
    path, step = settings.db_path, structure.step
    at = captured.reference
    return Recording(path, structure, start_us, step, every, made_by, constant=constant, cameras=cameras, reference=at)
