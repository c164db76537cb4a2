"""Bodies: pushed, and moved along paths."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Annotated

import numpy as np

from sim_node.extensions.scenario.acting import JointEffect, action, begin, lasting
from sim_node.extensions.scenario.effects import Effect, Lasting, effect
from sim_node.simulation import Simulation
from sim_node.simulation.requests import BodyName, Floats
from sim_node.spatial.geometry import quaternions
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.world.quantities import Number

MAX_POINTS = 100


@effect("push")
class _Push(JointEffect):
    """Wrenches on a body: all that last are added up."""

    kinds = ("push",)

    def act(self, run: Simulation, of: Lasting, every: Sequence[Lasting]) -> None:
        """Set the wrench of the next step."""
        body = of.arguments["body"]
        wrenches = [each.arguments["wrench"] for each in every if each.arguments["body"] == body]
        run.bodies[body].wrench = np.sum([np.zeros(6), *wrenches], axis=0)


@action("push")
def push(
    run: Simulation,
    /,
    body: BodyName,
    force: Annotated[
        list[float], Floats((3, 6), "FX,FY,FZ in N, or with TX,TY,TZ in N m, along the fixed frame's axes")
    ],
    *,
    seconds: Annotated[float, Number(above=0.0, high=1e9)] = 0.1,
) -> str:
    """Push a body of a running node, at its centre of mass.

    Args:
        run: The run.
        body: The body.
        force: The wrench.
        seconds: How long it acts, s.
    """
    wrench = [*force, 0.0, 0.0, 0.0][:6]
    begin(run, "push", f"{body} {run.steps}", seconds, body=body, wrench=wrench)
    return f"{body} is pushed by {math.hypot(*wrench[:3]):g} N{lasting(seconds)}"


@effect("move")
class _Move(Effect):
    """A body that floats free and is led along a path, whatever is in its way."""

    def apply(self, run: Simulation, lasting: Lasting) -> None:
        """Put it where it is now, with the velocity that leads on."""
        handle = run.bodies[lasting.arguments["body"]]
        points, speed = np.array(lasting.arguments["points"]), lasting.arguments["speed"]
        position, velocity = along(points, speed * (run.steps - lasting.since) * run.world.time.step_ns * 1e-9, speed)
        turn = np.asarray(lasting.arguments["attitude"])
        if lasting.arguments["heading"] and velocity[:2].any():
            turn = quaternions.exp(np.array([0.0, 0.0, math.atan2(velocity[1], velocity[0])]))
        handle.pose = np.concatenate([position, turn])
        handle.twist = np.concatenate([velocity, np.zeros(3)])

    def end(self, run: Simulation, lasting: Lasting) -> None:
        """Let it be at the end of the path, at rest."""
        handle = run.bodies[lasting.arguments["body"]]
        handle.twist = np.zeros(6)


def along(points: FloatArray, distance: float, speed: float) -> tuple[FloatArray, FloatArray]:
    """Return where a path leads, and the velocity there.

    Args:
        points: Its corners (P, 3), m.
        distance: Along the path, m.
        speed: m/s.

    Returns:
        Position (3,) and velocity (3,), which is zero from the end on.
    """
    ways = np.diff(points, axis=0)
    lengths = np.linalg.norm(ways, axis=1)
    for start, way, length in zip(points[:-1], ways, lengths, strict=True):
        if distance < length:
            return start + way * (distance / length), way * (speed / length)
        distance -= float(length)
    return points[-1], np.zeros(3)


@action("move")
def move(
    run: Simulation,
    /,
    body: BodyName,
    path: Annotated[
        list[float], Floats(tuple(range(3, 3 * MAX_POINTS + 1, 3)), "X,Y,Z, X,Y,Z, ... in the fixed frame, m")
    ],
    *,
    speed: Annotated[float, Number(above=0.0, high=1e4)] = 1.0,
    heading: bool = False,
    stay: bool = False,
) -> str:
    """Lead a body of a running node that floats free along a path, from where it is.

    Args:
        run: The run.
        body: The body.
        path: The corners of the path.
        speed: Its speed, m/s.
        heading: Whether it looks where it goes.
        stay: Whether it is held at the end of the path, until it is moved on.
    """
    pose = run.bodies[body].pose
    points = [pose[:3].tolist(), *np.reshape(path, (-1, 3)).tolist()]
    length = float(np.linalg.norm(np.diff(points, axis=0), axis=1).sum())
    if not length:
        raise ValueError(f"{body!r} is at the end of its path already")
    arguments = {"body": body, "points": points, "speed": speed, "attitude": pose[3:].tolist(), "heading": heading}
    begin(run, "move", body, 0.0 if stay else length / speed, **arguments)
    return f"{body} moves {length:g} m at {speed:g} m/s"
