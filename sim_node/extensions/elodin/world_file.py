"""A world file's bodies, frames, joints and sensors as entities of a world in Python."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, Protocol

import numpy as np
import numpy.typing as npt

from sim_node.extensions.elodin.components import Carrier, Component, carrier_of
from sim_node.extensions.elodin.conversions import swapped, transforms_of
from sim_node.extensions.elodin.entities import Entities
from sim_node.extensions.elodin.jax_setup import jax
from sim_node.extensions.elodin.layouts import ComponentType, PrimitiveType
from sim_node.extensions.elodin.standard import Force, Inertia, WorldPos, WorldVel
from sim_node.simulation.physics.engine import Engine
from sim_node.simulation.physics.handles import BodyHandle
from sim_node.simulation.physics.joint_handles import JointHandle, JointHandles
from sim_node.simulation.sensors import SensorType
from sim_node.simulation.sensors.truth import FrameState
from sim_node.world.frame_table import FrameTable
from sim_node.world.model import World

Array = npt.NDArray[Any]
_NUMBER = ComponentType(PrimitiveType.F64)
# Of joints with one number: hinges and slides.
JointPosition = Annotated[jax.Array, Component("joint_position", _NUMBER)]
JointVelocity = Annotated[jax.Array, Component("joint_velocity", _NUMBER)]
# What systems set: the target of a joint's actuator, and the effort (N, N m) on a joint without one.
JointTarget = Annotated[jax.Array, Component("joint_target", _NUMBER)]
JointEffort = Annotated[jax.Array, Component("joint_effort", _NUMBER)]


class SensorReadings(Protocol):
    """The newest measurement of a sensor of a run."""

    @property
    def type(self) -> str:
        """Its type, as in world files."""

    @property
    def sensor(self) -> SensorType:
        """Its parameters."""

    @property
    def channels(self) -> tuple[str, ...]:
        """Names of the numbers of a measurement."""

    def newest_by(self, step: int) -> Array | None:
        """Return the newest values that are due by a step; None before the first."""


class FileRun(Protocol):
    """A run of a world from a file: what systems need of a Simulation."""

    bodies: Mapping[str, BodyHandle]
    joints: JointHandles
    sensors: Mapping[str, Any]

    @property
    def world(self) -> World:
        """The assembled world."""

    @property
    def frames(self) -> FrameTable:
        """The frames of the world."""

    @property
    def engines(self) -> Mapping[str, Engine]:
        """The engines that move frames, by name."""

    def observer(self, names: Sequence[str]) -> Callable[[], FrameState]:
        """Return a function that gives the true motion of frames."""


@dataclass(frozen=True)
class ReadComponent:
    """A component that follows the run: its name, and what returns its values (n, *shape) at the present step."""

    name: str
    read: Callable[[int], Array]


@dataclass(frozen=True)
class WrittenComponent:
    """A component that systems write: its name, and what gives its values (n, *shape) to the run."""

    name: str
    write: Callable[[Array], None]


@dataclass(frozen=True)
class Bound:
    """How components and a run are connected.

    Attributes:
        readings: Components that are set from the run before each tick.
        orders: Components that are given to the run after each tick.
        cleared: Components that are zero before each tick.
    """

    readings: tuple[ReadComponent, ...]
    orders: tuple[WrittenComponent, ...]
    cleared: tuple[str, ...]


@dataclass(frozen=True)
class _Value:
    """The values of one component of one entity, for Entities.spawn."""

    carrier: Carrier
    value: Any

    def values(self) -> Iterator[tuple[Carrier, Any]]:
        yield self.carrier, self.value


def spawn_all(run: FileRun, entities: Entities) -> Bound:
    """Spawn an entity for each frame, body, joint and sensor of a run, by its name, and connect them to the run.

    Frames have WorldPos; bodies WorldVel, Inertia and Force, too. Joints of one number have JointPosition,
    JointVelocity and JointTarget, or JointEffort where they have no actuator. A sensor is its frame's entity, with a
    component of the name of its type. A joint of a body's name is the body's entity.

    Args:
        run: The run.
        entities: Where to spawn.

    Returns:
        The connections.
    """
    given: dict[str, list[_Value]] = {}
    readings: list[ReadComponent] = []
    orders: list[WrittenComponent] = []
    cleared: list[str] = []

    def add(annotation: Any, names: Sequence[str], values: Array) -> str:
        carrier = carrier_of(annotation)
        for name, value in zip(names, values, strict=True):
            given.setdefault(name, []).append(_Value(carrier, value))
        return carrier.component.name

    frames = [name for name in run.frames.names if name != run.world.fixed_frame]
    observe = run.observer(frames)
    if frames:
        name = add(WorldPos, frames, transforms_of(np.nan_to_num(observe().pose)))
        readings.append(ReadComponent(name, lambda step: np.asarray(transforms_of(observe().pose))))
    bodies = [body for body in run.bodies if _pushed(run.bodies[body])]
    if bodies:
        rows = np.array([frames.index(body) for body in bodies])
        handles = [run.bodies[body] for body in bodies]
        wrenches = [handle.wrench for handle in handles]
        readings.append(
            ReadComponent(
                add(WorldVel, bodies, swapped(observe().twist[rows])), lambda step: swapped(observe().twist[rows])
            )
        )
        add(Inertia, bodies, _inertias(run, bodies))

        def push(forces: Array) -> None:
            for wrench, force in zip(wrenches, swapped(forces), strict=True):
                wrench[:] = force

        orders.append(WrittenComponent(add(Force, bodies, np.zeros((len(bodies), 6))), push))
        cleared.append(orders[-1].name)
    _add_joints(run, add, readings, orders)
    _add_sensors(run, add, readings)
    for name, values in given.items():
        entities.spawn(values, name)
    return Bound(tuple(readings), tuple(orders), tuple(cleared))


def _add_joints(
    run: FileRun,
    add: Callable[[Any, Sequence[str], Array], str],
    readings: list[ReadComponent],
    orders: list[WrittenComponent],
) -> None:
    names = run.joints.scalar
    if not names:
        return
    joints = run.joints
    readings.append(ReadComponent(add(JointPosition, names, joints.positions), lambda step: joints.positions))
    readings.append(ReadComponent(add(JointVelocity, names, joints.velocities), lambda step: joints.velocities))
    driven = [joints[name] for name in names if joints[name].targets]
    free = [joints[name] for name in names if not joints[name].targets]

    def aim(handles: Sequence[JointHandle], key: str) -> Callable[[Array], None]:
        def write(values: Array) -> None:
            for handle, value in zip(handles, values.tolist(), strict=True):
                setattr(handle, key, value)

        return write

    if driven:
        targets = np.array([joint.target[0] for joint in driven])
        orders.append(
            WrittenComponent(add(JointTarget, [joint.name for joint in driven], targets), aim(driven, "target"))
        )
    if free:
        name = add(JointEffort, [joint.name for joint in free], np.zeros(len(free)))
        orders.append(WrittenComponent(name, aim(free, "effort")))


def _add_sensors(run: FileRun, add: Callable[[Any, Sequence[str], Array], str], readings: list[ReadComponent]) -> None:
    """Add a component for each type of sensor; where shapes differ, the further ones are TYPE_2, TYPE_3 and so on."""
    shapes: dict[tuple[str, tuple[int, ...]], list[str]] = {}
    for name, sensor in run.sensors.items():
        shapes.setdefault((sensor.type, sensor.sensor.shape()), []).append(name)
    seen: dict[str, int] = {}
    for (kind, shape), names in shapes.items():
        seen[kind] = seen.get(kind, 0) + 1
        label = kind if seen[kind] == 1 else f"{kind}_{seen[kind]}"
        channels = run.sensors[names[0]].channels
        metadata = {"element_names": ",".join(channels)} if shape == (len(channels),) else {}
        component = Component(label, ComponentType(PrimitiveType.F64, shape), metadata=metadata)
        read = partial(_newest, [run.sensors[name] for name in names], shape)
        readings.append(ReadComponent(add(Annotated[jax.Array, component], names, read(0)), read))


def _newest(sensors: Sequence[SensorReadings], shape: tuple[int, ...], step: int) -> Array:
    """Return the newest values (n, *shape) of sensors; NaN for those that have not measured yet."""
    found: Array = np.full((len(sensors), *shape), np.nan)
    for row, sensor in enumerate(sensors):
        values = sensor.newest_by(step)
        if values is not None:
            found[row] = values
    return found


def _pushed(body: BodyHandle) -> bool:
    """Return whether a force can move a body."""
    try:
        body.wrench  # noqa: B018  raises for one that none can move
    except ValueError:
        return False
    return True


def _inertias(run: FileRun, bodies: Sequence[str]) -> Array:
    """Return principal moments and masses (n, 7) of bodies, as SpatialInertia has them."""
    model: Any = next(engine for name, engine in run.engines.items() if name == "rigid_bodies")
    rows = [model.model.body(body) for body in bodies]
    return np.array([[*row.inertia, 0.0, 0.0, 0.0, float(row.mass[0])] for row in rows])
