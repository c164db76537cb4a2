"""The table of requests to a run. To add one, add a function here or in a module of an entry point."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np

from sim_node.session.entities import rejecting
from sim_node.simulation.requests import Content, File, NameOf, Pose, Twist, Words, carry_out, request
from sim_node.spatial.frames import Frame, convert_transform, convert_velocity
from sim_node.world.quantities import Whole

if TYPE_CHECKING:
    from sim_node.session.entity_requests import EntityRequests
    from sim_node.session.run_requests import RunRequests
    from sim_node.session.structure_requests import StructureRequests
    from sim_node.simulation import Loop

_SCOPES = {"all": 0, "time": 1, "state": 2, "spawned": 4}


@dataclass(frozen=True)
class RequestContext:
    """What requests operate on.

    Attributes:
        entities: The entities of the run.
        run: The state of the run.
        structure: Changes the world of the run.
        loop: The run loop.
    """

    entities: EntityRequests
    run: RunRequests
    structure: StructureRequests
    loop: Loop

    def ask(self, name: str, /, **given: Any) -> str:
        """Carry out a request; see `sim_node.simulation.requests.carry_out`."""
        return carry_out(self, name, given)

    def push(self, name: str, velocity: Sequence[float]) -> None:
        """Add a velocity (3,) in the fixed frame, m/s, to that of a free-floating body. Raises ValueError."""

        def add() -> None:
            body = self.loop.simulation.bodies[name]
            body.twist = body.twist + np.array([*velocity, 0.0, 0.0, 0.0])

        self.loop.call(add)

    def named(self, holds: NameOf) -> Sequence[str]:
        """Return the names of a kind in the present world."""
        return holds.names(self.loop.simulation.world)

    def loose(self) -> Sequence[str]:
        """Return the frames of the free-floating bodies in the present world."""
        world = self.loop.simulation.world
        bodies = [body.name for body in world.bodies if body.joint == "free"]
        links = [
            model.full_name(link.name)
            for model in world.models
            for link in model.links
            if any(joint.kind == "free" for joint in link.joints)
        ]
        return (*bodies, *links)


# Axis conventions of poses from outside.
Axes = Literal["ENU", "NED"]
NED_FRD, ENU_FLU = (Frame.NED, Frame.FRD), (Frame.ENU, Frame.FLU)


@request("spawn")
def spawn(
    context: RequestContext,
    /,
    file: File = "",
    *,
    text: Content = "",
    name: str = "",
    namespace: str = "",
    pose: Pose | None = None,
    frame: str = "",
    convention: Axes = "ENU",
    allow_renaming: bool = False,
    static: bool = False,
) -> str:
    """Add a file, such as a world or a model, to the world of a running node.

    The node reads the file, from the folder of its world, from packages and below `run --allow DIR`.

    Args:
        context: The run.
        file: A path, a package:// URI, or the name of a shipped vehicle, model or world.
        text: The content of the file.
        name: Name of the entity (default: that in the file).
        namespace: Goes before the name.
        pose: Where it is put (default: the origin).
        frame: Frame of the pose (default: the fixed frame).
        convention: Axes of the pose: ENU with the entity FLU, or NED with it FRD; in a FRAME, FLU or FRD of that.
        allow_renaming: Give it another name if this one is taken.
        static: Fix a URDF model where it is put (default: it floats free, as in Gazebo, unless its root link is world).
    """
    given = _in_our_axes(pose, frame, convention) or [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0]
    named = context.structure.spawn(
        name,
        uri=file,
        text=text,
        namespace=namespace,
        frame=frame,
        pose=(given[:3], given[3:]),
        allow_renaming=allow_renaming,
        static=static,
    )
    return f"spawned {named}"


@request("remove")
def remove(context: RequestContext, /, name: str) -> str:
    """Remove an entity from the world of a running node, with all that hangs on it.

    Args:
        context: The run.
        name: An entity: what was spawned under this name, a vehicle, a model, or a body.
    """
    context.structure.delete(name)
    return f"removed {name}"


@request("attach")
def attach(context: RequestContext, /, name: str, parent: str, *, pose: Pose | None = None) -> str:
    """Fix a body that floats free to a frame, in the world of a running node: a payload, a grasped part.

    Args:
        context: The run.
        name: An entity or a body that floats free.
        parent: An entity or a frame.
        pose: Pose in PARENT (default: where it is).
    """
    frame_of = context.entities.frame_of
    with rejecting():
        context.loop.attach(frame_of(name), frame_of(parent), pose)
    return f"attached {name} to {parent}"


@request("detach")
def detach(context: RequestContext, /, name: str) -> str:
    """Let a body that is attached float free again, in the world of a running node.

    Args:
        context: The run.
        name: A body that is attached.
    """
    with rejecting():
        context.loop.detach(context.entities.frame_of(name))
    return f"detached {name}"


def _in_our_axes(pose: Pose | None, frame: str, convention: str) -> Pose | None:
    """Convert a pose, relative to the fixed frame or to a frame, to ENU and FLU."""
    if pose is None or convention == "ENU":
        return pose
    given, ours = ((Frame.FRD, Frame.FRD), (Frame.FLU, Frame.FLU)) if frame else (NED_FRD, ENU_FLU)
    return [float(x) for x in convert_transform(pose, given, ours)]


def _parts_of(what: Sequence[str], *, is_moved: bool) -> tuple[str, dict[str, float]]:
    """Parse words into an entity, and values by joint or path. Raises ValueError."""
    pairs = [(word, *word.rpartition("=")) for word in what]
    names = [word for word, _, equals, _ in pairs if not equals]
    if len(names) != int(is_moved) or not what:
        needed = "one entity goes with pose and twist" if is_moved else "KEY=VALUE, or NAME with pose or twist"
        raise ValueError(f"found {' '.join(map(repr, names)) or 'no entity'}; {needed}")
    try:
        return names[0] if names else "", {key: float(number) for _, key, equals, number in pairs if equals}
    except ValueError as error:
        raise ValueError(f"{str(error).partition(': ')[2]} is not a number") from None


def _check_set(given: Mapping[str, Any]) -> None:
    _parts_of(given["what"], is_moved="pose" in given or "twist" in given)


@request("set", _check_set)
def set_values(
    context: RequestContext,
    /,
    what: Words,
    *,
    pose: Pose | None = None,
    frame: str = "",
    twist: Twist | None = None,
    convention: Axes = "ENU",
) -> str:
    """Set the pose or the twist of an entity, positions of joints, or numbers of the world of a running node.

    A pose without a twist stops the entity. Numbers are addressed as in messages about world files.

    Args:
        context: The run.
        what: NAME of an entity, or of its frame, for pose and twist; JOINT=VALUE (m or rad); or PATH=VALUE such as
            bodies[ball].damping=2.
        pose: Pose of the entity.
        frame: Frame of the pose (default: the fixed frame).
        twist: Velocities of the entity along the frame's axes.
        convention: Axes of pose and twist: ENU with the entity FLU, or NED with it FRD; in a FRAME, FLU or FRD of that.
    """
    pose = _in_our_axes(pose, frame, convention)
    if twist is not None and convention == "NED":
        source, target = (Frame.FRD, Frame.FLU) if frame else (Frame.NED, Frame.ENU)
        twist = [float(x) for part in (twist[:3], twist[3:]) for x in convert_velocity(part, source, target)]
    name, values = _parts_of(what, is_moved=pose is not None or twist is not None)
    loop, entities = context.loop, context.entities

    def place() -> None:
        known = entities.present().entities
        entity = name if name in known else next((each.name for each in known.values() if each.frame == name), name)
        stopped = twist or (None if pose is None else (0.0,) * 6)
        entities.set_state(entity, frame, None if pose is None else (pose[:3], pose[3:]), stopped)

    def set_numbers() -> None:
        joints = {key: value for key, value in values.items() if key in loop.simulation.joints}
        if paths := {key: value for key, value in values.items() if key not in joints}:
            loop.set_numbers(paths)
        if joints:
            loop.set_joint_positions(joints)

    if name:
        loop.call(place)
    with rejecting():
        loop.call(set_numbers)
    return "set " + ", ".join([*([name] if name else []), *values])


@request("pause")
def pause(context: RequestContext, /) -> str:
    """Pause the simulation of a running node."""
    context.loop.pause()
    return _moment(context)


@request("resume")
def resume(context: RequestContext, /) -> str:
    """Let the simulation of a running node go on."""
    context.loop.resume()
    return _moment(context)


@request("step")
def step(context: RequestContext, /, steps: Annotated[int, Whole(1, 100_000)] = 1) -> str:
    """Advance the paused simulation of a running node by steps of its world's time.

    Args:
        context: The run.
        steps: How many steps (default: 1).
    """
    context.run.check_paused()
    for part in context.run.stepping(steps):
        context.loop.call(part)
    return _moment(context)


@request("reset")
def reset(context: RequestContext, /, scope: Literal["all", "time", "state", "spawned"] = "all") -> str:
    """Go back to the start of the world of a running node.

    The simulation stays running or paused.

    Args:
        context: The run.
        scope: What goes back: the time, the state, what was spawned, or all of them (default: all).
    """
    context.run.reset(_SCOPES[scope])
    return _moment(context)


@request("load")
def load(context: RequestContext, /, file: File = "", *, text: Content = "") -> str:
    """Replace the world of a running node by another one, and pause at its start.

    The node reads the file, from the folder of its world, from packages and below `run --allow DIR`.

    Args:
        context: The run.
        file: A path, a package:// URI, or the name of a shipped world.
        text: The content of the file.
    """
    named, _ = context.structure.load(context.run, file, text)
    return f"loaded {named}"


@request("unload")
def unload(context: RequestContext, /) -> str:
    """Replace the world of a running node by an empty one."""
    context.structure.unload(context.run)
    return "unloaded the world"


def _moment(context: RequestContext) -> str:
    def look() -> str:
        state = "paused" if context.loop.paused else "running"
        return f"{state} at {context.loop.simulation.time_ns / 1e9:.9g} s"

    return context.loop.call(look)
