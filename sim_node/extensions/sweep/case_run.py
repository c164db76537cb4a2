"""CaseRun: a finished case of a sweep, as measures see it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from sim_node.extensions.sweep.signals import RowSignal
from sim_node.extensions.sweep.signals import signal as signal_of
from sim_node.simulation import Simulation
from sim_node.spatial.geometry.arrays import FloatArray


class Recorded(Protocol):
    """Columns over time: a History, or a part of a batch."""

    @property
    def times_ns(self) -> npt.NDArray[np.int64]:
        """Simulation time (T,), ns."""

    def __getitem__(self, column: str) -> npt.NDArray[Any]:
        """Return a column (T, rows, ...). Raises KeyError."""


class CaseRun:
    """A finished case of a sweep.

    Args:
        simulation: The run at its end; for a world in Python that ran in a batch, a run at its start.
        seed: Seed of the run.
        values: The varied numbers by path.
        history: The recorded columns.
        poses: Returns the pose (7,) of a frame in the fixed frame at the end; None to ask the simulation.

    Attributes:
        simulation: As given.
        seed: As given.
        values: As given.
        diverged_at: Time (s) since the start by which the run had diverged, or None.
    """

    def __init__(
        self,
        simulation: Simulation,
        seed: int,
        values: Mapping[str, float],
        history: Recorded | None,
        poses: Callable[[str], FloatArray] | None = None,
    ) -> None:
        self.simulation, self.seed, self.values = simulation, seed, values
        self.diverged_at: float | None = None
        self._history, self._poses = history, poses

    @property
    def times(self) -> FloatArray:
        """Simulation times (T,) of the recorded instants, s."""
        return np.asarray(self._recorded().times_ns * 1e-9)

    def column(self, name: str) -> npt.NDArray[Any]:
        """Return a recorded column (T, rows, ...).

        Args:
            name: The column. A measure declares the columns that it reads with the decorator `records`.

        Returns:
            The column over time.

        Raises:
            KeyError: The column was not recorded.
        """
        return self._recorded()[name]

    def signal(self, signal: RowSignal | str) -> FloatArray:
        """Return one number of a recorded column over time.

        Args:
            signal: The signal, as in "pose[ball].z".

        Returns:
            Its values (T,).

        Raises:
            KeyError: The column was not recorded.
            MeasureFault: The run has no such signal.
        """
        of = signal_of(signal) if isinstance(signal, str) else signal
        return of.reader(self.simulation.columns)(self.column(of.column))

    def final_pose(self, frame: str) -> FloatArray:
        """Return the pose of a frame at the end.

        Args:
            frame: Name of the frame.

        Returns:
            Pose (7,) [x y z qx qy qz qw] in the fixed frame, m.

        Raises:
            KeyError: There is no such frame.
        """
        if self._poses is not None:
            return self._poses(frame)
        from sim_node.spatial.geometry import poses

        frames, snapshot = self.simulation.frames, self.simulation.present()
        row = frames.index(frame)
        pose = np.array(snapshot.poses[row])
        while (row := int(frames.parents[row])) > 0:
            pose = poses.compose(snapshot.poses[row], pose)
        return pose

    def _recorded(self) -> Recorded:
        if self._history is None:
            raise KeyError("nothing was recorded; decorate the function with @records(COLUMN)")
        return self._history
