"""The engine of worlds in Python: their systems move the frames of entities."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from sim_node.extensions.elodin.component_columns import declare_components
from sim_node.extensions.elodin.conversions import swapped, unit_poses
from sim_node.extensions.elodin.frame_names import WORLD_POS
from sim_node.extensions.elodin.part import PythonWorld
from sim_node.simulation.columns import Array, Column, Columns
from sim_node.simulation.physics.engine import Engine, engine
from sim_node.simulation.sensors.truth import FrameState
from sim_node.spatial.geometry import poses as pose_math
from sim_node.spatial.geometry import quaternions
from sim_node.spatial.geometry.arrays import FloatArray, IntArray
from sim_node.world.layout import Layout
from sim_node.world.model import World
from sim_node.world.problems import Diverged, Problem, Where, WorldError

if TYPE_CHECKING:
    from sim_node.extensions.elodin.step_context import Stepper

VELOCITY, ACCELERATION = "world_vel", "world_accel"
# Ticks that are run between two checks for signals.
IN_ONE_GO = 1000


@engine("ecs")
def open_ecs(world: World, layout: Layout, columns: Columns) -> Engine | None:
    """Return the engine of a world in Python, or None for any other world. Raises WorldError if JAX is missing."""
    of: PythonWorld | None = world.python
    if of is None:
        return None
    from sim_node.extensions.elodin.errors import MissingJax

    try:
        if of.captured.source is not None:
            from sim_node.extensions.elodin.coupling import FileSystems

            return FileSystems(of, world, columns)
        return EcsEngine(of, world, layout, columns)
    except MissingJax as error:
        raise WorldError([Problem(Where(world.source), "", str(error))]) from None


class EcsEngine:
    """Runs the systems and callbacks of a world in Python. Each component is a column of state.

    Args:
        of: The world in Python.
        world: The world, assembled.
        layout: The layout of its frames.
        columns: The columns of the run, in which the components are declared and the entities' rows of `pose` claimed.

    Attributes:
        live: The state of the program.
        stop_recipes: Asks the processes of recipes to end; does nothing unless the run has started them.
    """

    def __init__(self, of: PythonWorld, world: World, layout: Layout, columns: Columns) -> None:
        from sim_node.extensions.elodin.live import Live
        from sim_node.extensions.elodin.sensor_cameras import CameraFrames

        self.live = Live(of.captured.program)
        self._camera_frames = CameraFrames(of.captured.cameras, self.live, lambda: world)
        self.stop_recipes: Callable[[], None] = lambda: None
        self._of, self._time = of, world.time
        self._names = [frame.name for frame in of.frames]
        self._rows = columns.claim("pose", self._names)
        self._declare(columns)
        self._velocities = self._rows_of(VELOCITY)
        self._accelerations = self._rows_of(ACCELERATION)
        self._moves = np.flatnonzero(self._velocities >= 0)
        self._carriers, self._offsets = self._carried_by(layout)

    def reset(self, seed: int) -> None:
        """Reset to the start. The seed of the run is not used: a script has its own seeds."""
        self.live.reset()
        self._camera_frames.clear()
        self._stepper = self._new_stepper()

    def step(self, steps: int) -> None:
        """Advance by ticks, with the script's callbacks before and after each.

        Raises:
            RunFailed: The script's own code failed; the message has its line.
        """
        from sim_node.extensions.elodin.script import running  # here: every world imports this module

        with running(self._of.script):
            if self._stepper is not None:
                for _ in range(steps):
                    self._stepper.step()
                return
            for done in range(0, steps, IN_ONE_GO):
                self.live.advance(min(steps - done, IN_ONE_GO))
                self.live.block()

    def write(self, poses: FloatArray, ahead_ns: int) -> None:
        """Write the pose of each entity to its row of poses (N, 7).

        Between two ticks, poses are extrapolated with `world_vel`: in a straight line, at constant angular velocity.

        Raises:
            Diverged: A pose is not finite, or its quaternion is zero.
        """
        if not self._names:
            return
        now = unit_poses(self.live.get(WORLD_POS))
        self._check_finite(now)
        moves = self._moves
        if ahead_ns and len(moves):
            ahead = self.live.get(VELOCITY)[self._velocities[moves]] * (ahead_ns * 1e-9)
            now[moves, :3] += ahead[:, 3:]
            now[moves, 3:] = quaternions.multiply(quaternions.exp(ahead[:, :3]), now[moves, 3:])
            self._check_finite(now)
        poses[self._rows] = now

    @property
    def carried(self) -> IntArray:
        """The rows (K,) of entities with `world_vel` and `world_accel`, and of the frames fixed to them."""
        return np.flatnonzero(self._carriers >= 0)

    def observer(self, rows: IntArray, state: FrameState, places: IntArray) -> Callable[[], None]:
        """Return a function that writes the motion of frames at the current tick.

        Accelerations are those of `world_accel`, from the last evaluation of the equations of motion.

        Args:
            rows: Rows (K,) of the frames, all of them in `carried`.
            state: The state to write to, in the fixed frame.
            places: The rows (K,) of `state` to write, in the order of `rows`.

        Returns:
            The function; it takes no arguments and writes pose, twist and acceleration.
        """
        on, offsets = self._carriers[rows], self._offsets[rows]
        base = None if self._of.captured.reference.is_root else FrameState.at_rest(len(rows))
        if base is not None:
            base.pose[:] = self._of.captured.reference.pose
        velocities, accelerations = self._velocities[on], self._accelerations[on]

        def observe() -> None:
            entities = FrameState(
                unit_poses(self.live.get(WORLD_POS)[on]),
                swapped(self.live.get(VELOCITY)[velocities]),
                swapped(self.live.get(ACCELERATION)[accelerations]),
            )
            there = (entities if base is None else base.carrying(entities)).at(offsets)
            state.pose[places], state.twist[places] = there.pose, there.twist
            state.acceleration[places] = there.acceleration

        return observe

    def _new_stepper(self) -> Stepper | None:
        """Return the stepper that runs the callbacks, or None if there are none, to run many ticks in one call."""
        captured = self._of.captured
        if captured.pre_step is None and captured.post_step is None and not self._camera_frames.has_rates:
            return None
        from sim_node.extensions.elodin.step_context import Stepper

        # Only callbacks see a start before 1970.
        start_us = self._time.start_ns // 1000 + min(captured.start_us, 0)
        return Stepper(
            self.live,
            captured.pre_step,
            captured.post_step,
            start_us,
            lambda: self.stop_recipes(),
            frames=self._camera_frames,
        )

    def _declare(self, columns: Columns) -> None:
        """Declare each component, and the number of ticks, as a state column."""
        declare_components(self.live, columns)
        ticks = Column(
            "ecs/ticks", ("run", "callbacks"), dtype=np.int64, meaning="ticks of the run, next one of callbacks"
        )
        columns.compute(ticks, self._get_ticks, self._put_ticks)

    def _get_ticks(self) -> Sequence[Array]:
        return (np.array([self.live.ticks, 0 if self._stepper is None else self._stepper.tick]),)

    def _put_ticks(self, kept: Sequence[Array]) -> None:
        self.live.ticks, tick = kept[0].tolist()
        if self._stepper is not None:
            self._stepper.go_on_at(tick)

    def _rows_of(self, name: str) -> IntArray:
        """Return, for each entity with a frame, its row in a motion component, or -1 if it does not have it."""
        from sim_node.extensions.elodin.components import layout_of
        from sim_node.extensions.elodin.layouts import ComponentType

        structure = self.live.program.structure
        entities = structure.entities[WORLD_POS] if self._names else ()
        found = structure.components.get(name)
        fits = found is not None and layout_of(found) == ComponentType.SpatialMotionF64
        at = {entity: row for row, entity in enumerate(structure.entities[name] if fits else ())}
        return np.array([at.get(entity, -1) for entity in entities], dtype=np.int64)

    def _carried_by(self, layout: Layout) -> tuple[IntArray, FloatArray]:
        """Return, for each frame (N,), the entity that carries it (-1 for none) and its pose (N, 7) in that entity."""
        frames = layout.frames
        carriers = np.full(len(frames), -1, dtype=np.int64)
        offsets = np.tile(pose_math.IDENTITY, (len(frames), 1))
        known = (self._velocities >= 0) & (self._accelerations >= 0)
        carriers[self._rows[known]] = np.flatnonzero(known)
        for row, parent in enumerate(frames.parents.tolist()):
            if parent >= 0 and frames.static[row] and carriers[parent] >= 0:
                carriers[row] = carriers[parent]
                offsets[row] = pose_math.compose(offsets[parent], layout.poses[row])
        return carriers, offsets

    def _check_finite(self, poses: FloatArray) -> None:
        fits = np.isfinite(poses).all(axis=1) & poses[:, 3:].any(axis=1)
        if not fits.all():
            name, seconds = self._names[int(np.argmin(fits))], self.live.ticks * self._time.step_ns * 1e-9
            raise Diverged(
                f"{name}: world_pos is not finite any more after {seconds:g} s of the run; a shorter sim_time_step, or "
                "more damping, may help"
            )
