"""Scenic 3: places entities of a world, steps its run, and lets behaviors act on it. Runs in the environment of Scenic.

A Scenic program begins with `param world = "field.yaml"` and `model sim_node.extensions.scenario.adapters.model`.
"""

from __future__ import annotations

import math
from typing import Any

from scenic.core.dynamics import Action
from scenic.core.simulators import Simulation, SimulationCreationError, Simulator
from scenic.core.vectors import Orientation, Vector

from sim_node.extensions.scenario.adapters.client import SteppedRun, SteppedRunFault

# Scenic's bodies look along y and have x at their right; ROS's look along x. Both are [x y z w].
_HALF = math.sqrt(0.5)
_AHEAD = Orientation.fromQuaternion([0.0, 0.0, -_HALF, _HALF])
_LEFT = Orientation.fromQuaternion([0.0, 0.0, _HALF, _HALF])


class SimNodeSimulator(Simulator):
    """Makes runs of a world.

    Args:
        world: The path of the world, or the name of a shipped one.
        seed: The seed of the first run; each run has the next one.
    """

    def __init__(self, world: str, seed: int = 0) -> None:
        super().__init__()
        self._world, self._seed = world, seed

    def createSimulation(self, scene: Any, *, timestep: float | None = None, **more: Any) -> SimNodeSimulation:
        """Return a simulation of a scene, whose steps take `timestep`, 0.1 s by default."""
        self._seed += 1
        step_s = 0.1 if timestep is None else timestep
        return SimNodeSimulation(scene, world=self._world, seed=self._seed - 1, timestep=step_s, **more)


class SimNodeSimulation(Simulation):
    """A run of a scene.

    Attributes:
        run: The run.
        verdict: At the end, the verdict of the world's expectations, and why it is not a pass; None if it has none.
    """

    def __init__(self, scene: Any, *, world: str, seed: int, **more: Any) -> None:
        try:
            self.run = SteppedRun(world, seed)
        except SteppedRunFault as fault:
            raise SimulationCreationError(str(fault)) from None
        self.verdict: tuple[str, str] | None = None
        super().__init__(scene, **more)

    def createObjectInSimulator(self, obj: Any) -> None:
        """Put an entity of the world where the scene has it; spawn it before if it names a file."""
        if obj.entity is None:
            return
        x, y, z, w = (obj.orientation * _LEFT).q.tolist() if hasattr(obj.orientation, "q") else _xyzw(obj)
        pose = [*(float(each) for each in obj.position), x, y, z, w]
        try:
            if obj.file is not None:
                self.run.ask("spawn", file=obj.file, name=obj.entity, pose=pose)
            else:
                self.run.ask("set", what=[obj.entity], pose=pose)
        except SteppedRunFault as fault:
            raise SimulationCreationError(f"{obj.entity}: {fault}") from None

    def step(self) -> None:
        """Let a step pass."""
        self.run.step(self.timestep)

    def getProperties(self, obj: Any, properties: set[str]) -> dict[str, Any]:
        """Return the pose and the velocities of an entity. Others stay as they are."""
        if obj.entity is None:
            return {name: getattr(obj, name) for name in properties}
        pose, twist = self.run.state(obj.frame or obj.entity)
        orientation = Orientation.fromQuaternion(pose[3:]) * _AHEAD
        yaw, pitch, roll = obj.parentOrientation.localAnglesFor(orientation)
        velocity, angular = Vector(*twist[:3]), Vector(*twist[3:])
        found = {
            **{"position": Vector(*pose[:3]), "yaw": yaw, "pitch": pitch, "roll": roll},
            **{"velocity": velocity, "speed": velocity.norm()},
            **{"angularVelocity": angular, "angularSpeed": angular.norm()},
        }
        return {name: found.get(name, getattr(obj, name, None)) for name in properties}

    def destroy(self) -> None:
        """Ask for the verdict, and end the run."""
        try:
            self.verdict = self.run.verdict()
        except SteppedRunFault:  # the world expects nothing
            self.verdict = None
        self.run.close()


def _xyzw(obj: Any) -> list[float]:
    """Return the quaternion of an object as ROS has it."""
    return [float(each) for each in (obj.orientation * _LEFT).getRotation().as_quat()]


class Do(Action):
    """An action of sim_node's scenarios, as `take Do("push", body="ball", force=[0, 0, 40], seconds=0.1)`.

    Args:
        action: Its name.
        arguments: Its arguments.
    """

    def __init__(self, action: str, **arguments: Any) -> None:
        self._action, self._arguments = action, arguments

    def applyTo(self, agent: Any, simulation: SimNodeSimulation) -> None:
        """Do it. Raises SteppedRunFault if it fails."""
        simulation.run.ask(self._action, **self._arguments)
