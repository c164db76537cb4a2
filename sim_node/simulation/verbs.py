"""Methods that change a world while it runs, common to Simulation and Loop."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from sim_node.simulation import changes
from sim_node.simulation.generation import Generation
from sim_node.simulation.physics.engine import Merging, records_of
from sim_node.simulation.removal import without
from sim_node.simulation.run_view import RunView
from sim_node.simulation.sensors.truth import FrameState
from sim_node.spatial.geometry import poses
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.world.load import load
from sim_node.world.model import World
from sim_node.world.problems import refuse

# Sets the motion of changed parts, given the generations before and after the change; kept state is in the latter.
Motion = Callable[[Generation, Generation], None]


class Edit(NamedTuple):
    """A change of a run.

    Attributes:
        world: The next world.
        motion: Sets the motion of changed parts, or None. If it raises, nothing has changed.
    """

    world: World
    motion: Motion | None = None


class Verbs(ABC):
    """Methods that change a world while it runs. If a call raises, nothing has changed.

    Calls take effect between two steps. Everything that a change does not concern keeps its state, time continues, and
    handles, subscriptions and histories follow. See `change`.
    """

    @abstractmethod
    def edit(self, make: Callable[[RunView], Edit | None]) -> None:
        """Change the run.

        Args:
            make: Returns the change, or None if it has already changed the run itself.

        Raises:
            WorldError: The next world is invalid.
            ValueError: The world cannot become this one while it runs.
            Diverged: The next step would not be finite; the message names the bodies.
            Refused: The call comes from within a step or a tick, or a sink cannot follow.
        """

    @abstractmethod
    def load(self, world: World | str | Path) -> None:
        """Replace the world of the run by another one, at its start. Nothing is kept; `reset` goes back to this world.

        Args:
            world: The world. Its time grid and its fixed frame may differ.

        Raises:
            WorldError: The world is invalid.
            ValueError: Systems of a Python script exchange data with this world, or with the next one.
            Refused: The call comes from within a step or a tick, or a sink cannot follow.
        """

    def change(self, world: World | str | Path) -> None:
        """Replace the world. Entities with the same name keep their state.

        Bodies, joints, vehicles and sensors with the name of earlier ones keep poses, velocities, actuators, applied
        wrenches, clocks and random streams. New ones start as the world states; others are removed.

        Args:
            world: The next world, usually the present one with some parts replaced.

        Raises:
            WorldError: The world is invalid.
            ValueError: The world has another time grid or fixed frame, or cannot change while it runs.
            Refused: The call comes from within a step or a tick, or a sink cannot follow.
        """
        self.edit(lambda run: Edit(world if isinstance(world, World) else load(world)))

    def add(self, *parts: object) -> None:
        """Add parts of any kind: frames, bodies, sensors, vehicles, forces, models, a ground, ...

        Args:
            parts: The parts. A frame without a parent gets the default one.

        Raises:
            WorldError: A name is in use, a parent does not exist, or a part is invalid.
            TypeError: An argument is not a part of a world.
        """
        self.edit(lambda run: Edit(changes.with_part(run.world, *parts)))

    def include(
        self,
        file: str | Path | World,
        prefix: str = "",
        pose: npt.ArrayLike | None = None,
        *,
        parent: str = "",
        allow: Iterable[str | Path] = (),
        start: Mapping[str, Any] | None = None,
    ) -> None:
        """Add the world or the model of a file: YAML, MJCF, URDF, x_xy, OpenPLX, ...

        Args:
            file: A path, a package:// URI, the name of a shipped world, or a World.
            prefix: Goes before all names of the file.
            pose: Pose (7,) of its fixed frame in `parent`, m; None for the identity.
            parent: The frame below which it is added; empty for the fixed frame.
            allow: Folders that the file may refer to, in addition to its own.
            start: How a MJCF or URDF model starts: free, keyframe and q, as in an include of a world file.

        Raises:
            WorldError: The file is invalid, a Python program, or does not fit the world.
        """

        def make(run: RunView) -> Edit:
            if isinstance(file, World):
                return Edit(changes.with_world(run.world, file, prefix, pose, parent=parent, start=start))
            return Edit(changes.with_include(run.world, file, prefix, pose, parent=parent, allow=allow, start=start))

        self.edit(make)

    def remove(self, name: str) -> None:
        """Remove what has a name or is in its namespace, and everything that depends on it.

        Args:
            name: A frame, a body, a vehicle, a model (by its prefix or its name), a prefix of included names, or a loop
                closure.

        Raises:
            WorldError: There is no such name, it is the fixed frame, or a link of a model, which is removed as a whole.
        """
        self.edit(lambda run: Edit(without(run.world, name)))

    def attach(self, child: str, parent: str, pose: npt.ArrayLike | None = None) -> None:
        """Fix a free-floating body to a frame.

        Both then move as one and conserve their total momentum, as in a plastic impact.

        Args:
            child: The body, such as a payload.
            parent: The frame, such as a gripper.
            pose: Pose (7,) of the body in the frame, m; None keeps the present one.

        Raises:
            WorldError: There is no such body or frame, the body does not float free, or the frame is below the body.
        """
        self.edit(lambda run: _attached(run, child, parent, pose))

    def detach(self, name: str) -> None:
        """Release a body that is fixed to a frame. It floats free from its current pose, with its current twist.

        Args:
            name: The body.

        Raises:
            WorldError: There is no such body, or it is not fixed to a frame.
        """
        self.edit(lambda run: _detached(run, name))

    def set_pose(self, name: str, pose: npt.ArrayLike) -> None:
        """Set the pose of a free-floating body, or move a frame, sensor or body that no joint moves.

        Args:
            name: The frame.
            pose: Pose (7,) [x y z qx qy qz qw] in the fixed frame, m.

        Raises:
            WorldError: There is no such frame, or keyframes or a model's file determine its pose.
            ValueError: The pose is invalid, or a joint determines it.
        """
        self.edit(lambda run: _placed(run, name, pose))

    def set_twist(self, name: str, twist: npt.ArrayLike) -> None:
        """Set the twist of a free-floating body.

        Args:
            name: The body.
            twist: Twist (6,) [vx vy vz wx wy wz] of its origin, along the fixed frame's axes, m/s and rad/s.

        Raises:
            KeyError: There is no such body.
            ValueError: The twist is invalid, or the body does not float free.
        """

        def make(run: RunView) -> None:
            run.bodies[name].twist = np.asarray(twist, dtype=np.float64)

        self.edit(make)

    def set_joint_positions(self, positions: Mapping[str, npt.ArrayLike]) -> None:
        """Set the positions of joints. Coupled joints follow.

        Args:
            positions: The position of each joint by name, as in `JointHandle.position`, m or rad.

        Raises:
            KeyError: There is no such joint. No position has changed.
            ValueError: A position is invalid, or positions contradict the couplings. No position has changed.
        """

        def make(run: RunView) -> None:
            run.joints.set_positions(positions)

        self.edit(make)

    def set_numbers(self, values: Mapping[str, float | int | Decimal]) -> None:
        """Set numbers of the world by key path, such as bodies[ball].inertial.mass; see `World.with_values`.

        They are part of the world, so later changes keep them. Initial states take effect at a restart.

        Args:
            values: The numbers by key path.

        Raises:
            WorldError: A path does not lead to a number, or a number is out of range.
        """
        self.edit(lambda run: Edit(run.world.with_values(values)))


def _attached(run: RunView, child: str, parent: str, pose: npt.ArrayLike | None) -> Edit:
    world = run.world
    if pose is None:
        known = run.frames.names
        if child in known and parent in known:  # otherwise the world says what is missing
            pose = run.frames.lookup(run.present().poses, parent, child)
    after = changes.attached(world, child, parent, pose)

    def merge(before: Generation, generation: Generation) -> None:
        for name, engine in generation.engines.items():
            if isinstance(engine, Merging):
                engine.merge(before.engines[name], child)

    return Edit(after, merge)


def _detached(run: RunView, name: str) -> Edit:
    frames = run.frames
    pose = frames.lookup(run.present().poses, run.world.fixed_frame, name) if name in frames.names else None
    after = changes.detached(run.world, name, pose)

    def release(before: Generation, generation: Generation) -> None:
        records_of(generation.engines, "bodies")[name].set_twist(_twist(before, name))

    return Edit(after, release)


def _twist(generation: Generation, name: str) -> FloatArray:
    """Return the twist (6,) of a frame in the fixed frame; zeros if no engine provides it."""
    state = FrameState.at_rest(1, generation.gravity)
    generation.truth_of([name], state).observe(generation.time_ns, begins=generation.steps == 0)
    return np.asarray(np.nan_to_num(state.twist[0]))


def _placed(run: RunView, name: str, pose: npt.ArrayLike) -> Edit | None:
    body = next((body for body in run.world.bodies if body.name == name), None)
    if name in run.bodies and (body is None or body.joint != "frozen"):
        run.bodies[name].pose = np.asarray(pose, dtype=np.float64)
        return None
    frames, given = run.frames, np.asarray(pose, dtype=np.float64)
    if given.shape != (7,) or not np.isfinite(given).all():
        refuse(name, f"a pose needs 7 finite numbers, found {pose!r:.60}")
    if name not in frames.names:
        return Edit(changes.placed(run.world, name, given))  # says what is nearest
    parent = int(frames.parents[frames.index(name)])
    if parent < 0:
        refuse(name, "is the fixed frame, which has no pose")
    above = frames.lookup(run.present().poses, run.world.fixed_frame, frames.names[parent])
    return Edit(changes.placed(run.world, name, poses.relative(above, given)))
