"""RunView: read access to a run at its current step."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from sim_node.simulation.columns import Columns
from sim_node.simulation.generation import Generation, observer_of
from sim_node.simulation.physics import BodyHandle, Engine, JointHandles
from sim_node.simulation.sensors.alteration import Alteration
from sim_node.simulation.sensors.measurements import SensorSubscription
from sim_node.simulation.sensors.truth import FrameState
from sim_node.simulation.snapshot import NO_COLUMNS, Snapshot
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.world.frame_table import FrameTable
from sim_node.world.model import World


class RunView:
    """Read access to a run at its current step. A change of the world replaces the generation that it reads."""

    bodies: Mapping[str, BodyHandle]
    joints: JointHandles
    _present: Generation

    @property
    def world(self) -> World:
        """The assembled world."""
        return self._present.world

    @property
    def frames(self) -> FrameTable:
        """The frames of the world."""
        return self._present.frames

    @property
    def columns(self) -> Columns:
        """The state of the run, as named arrays. A change of the world replaces it."""
        return self._present.columns

    @property
    def engines(self) -> Mapping[str, Engine]:
        """The engines that move frames, by name."""
        return self._present.engines

    @property
    def steps(self) -> int:
        """Steps since the start."""
        return self._present.steps

    @property
    def time_ns(self) -> int:
        """Simulation time in ns: exactly start + steps * step."""
        return self._present.time_ns

    @property
    def alterations(self) -> Mapping[str, Alteration]:
        """The current alterations of measurements, by name of the sensor."""
        return self._present.suite.alterations

    def subscribe(self, sensor: str) -> SensorSubscription:
        """Subscribe to the measurements of a sensor while the run steps.

        Args:
            sensor: Name of the sensor.

        Returns:
            The subscription.

        Raises:
            KeyError: There is no such sensor; the message names the nearest.
        """
        return self._present.suite.subscribe(sensor)

    def observer(self, names: Sequence[str]) -> Callable[[], FrameState]:
        """Return a function that returns the true motion of some frames at the current step.

        Args:
            names: Names of the frames.

        Returns:
            A function without arguments. It always returns the same FrameState, rewritten in place. It raises KeyError
            once a frame is gone.
        """
        return observer_of(lambda: self._present, names)

    def wind(self, positions: FloatArray) -> FloatArray:
        """Return the velocity of the air at the current step.

        Args:
            positions: Positions (S, 3) in the fixed frame, m.

        Returns:
            Velocities (S, 3) in the fixed frame, m/s.
        """
        return self._present.environment.wind(positions)

    def motion(self) -> tuple[FloatArray, FloatArray]:
        """Return the twists and accelerations of all frames relative to the fixed frame, in each frame's own axes.

        The twist is that of nav_msgs/Odometry: [vx vy vz wx wy wz] of the frame's origin (m/s, rad/s). Accelerations
        are its time derivative as seen from the fixed frame, without gravity. NaN for frames that keyframes move.

        Returns:
            Twists (N, 6) and accelerations (N, 6).
        """
        return self._present.motion()

    @property
    def pictures_dropped(self) -> int:
        """Number of camera images dropped since the last reset; see `step`."""
        return self._present.suite.dropped

    def present(self) -> Snapshot:
        """Return the current instant on the run's own arrays, valid until the next call. For sinks, which do not copy.

        Returns:
            A view of the current instant.
        """
        present = self._present
        return Snapshot(present.time_ns, present.present(), present.suite.published, present.columns)

    def snapshot(self, *columns: str) -> Snapshot:
        """Return a copy of the current instant.

        Args:
            columns: Names of further columns to copy.

        Returns:
            Poses, measurements and the named columns.
        """
        present = self._present
        poses = present.present().copy()
        kept = {name: np.array(present.columns[name]) for name in columns} if columns else NO_COLUMNS
        return Snapshot(present.time_ns, poses, present.suite.published, kept)
