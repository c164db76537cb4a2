"""The bodies, frames, joints and sensors of a world file as entities of a world in Python."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt

from sim_node.extensions.elodin.components import Carrier, Component, carrier_of
from sim_node.extensions.elodin.conversions import swapped, transforms_of
from sim_node.extensions.elodin.entities import Entities
from sim_node.extensions.elodin.jax_setup import jax
from sim_node.extensions.elodin.layouts import ComponentType, PrimitiveType
from sim_node.extensions.elodin.standard import Force, Inertia, WorldPos, WorldVel
from sim_node.simulation import Simulation
from sim_node.simulation.handles import SensorHandle
from sim_node.simulation.physics.handles import BodyHandle
from sim_node.simulation.physics.joint_handles import JointHandle

Array = npt.NDArray[Any]
_NUMBER = ComponentType(PrimitiveType.F64)
# Components of joints with one degree of freedom: hinges and slides.
JointPosition = Annotated[jax.Array, Component("joint_position", _NUMBER)]
JointVelocity = Annotated[jax.Array, Component("joint_velocity", _NUMBER)]
# Set by systems: the target of a joint's actuator, and the effort (N, N m) on a joint without an actuator.
JointTarget = Annotated[jax.Array, Component("joint_target", _NUMBER)]
JointEffort = Annotated[jax.Array, Component("joint_effort", _NUMBER)]


@dataclass(frozen=True)
class ReadComponent:
    """A component that follows the run: its name, and a function that returns its values (n, *shape) at a step."""

    name: str
    read: Callable[[int], Array]


@dataclass(frozen=True)
class WrittenComponent:
    """A component that systems write: its name, and a function that passes its values (n, *shape) to the run."""

    name: str
    write: Callable[[Array], None]


@dataclass(frozen=True)
class _Value:
    """The values of one component of one entity, for Entities.spawn."""

    carrier: Carrier
    value: Any

    def values(self) -> Iterator[tuple[Carrier, Any]]:
        yield self.carrier, self.value


@dataclass(frozen=True)
class Bound:
    """The connections between components and a run.

    Attributes:
        readings: Components that are set from the run before each tick.
        orders: Components that are passed to the run after each tick.
        cleared: Components that are set to zero before each tick.
        given: The components of each entity, with their initial values.
    """

    readings: list[ReadComponent] = field(default_factory=list)
    orders: list[WrittenComponent] = field(default_factory=list)
    cleared: list[str] = field(default_factory=list)
    given: dict[str, list[_Value]] = field(default_factory=dict)

    def add(self, annotation: Any, names: Sequence[str], values: Array) -> str:
        """Add a component with values (n, *shape) to entities, and return its name."""
        carrier = carrier_of(annotation)
        for name, value in zip(names, values, strict=True):
            self.given.setdefault(name, []).append(_Value(carrier, value))
        return carrier.component.name

    def follow(
        self, annotation: Any, names: Sequence[str], read: Callable[[int], Array], start: Array | None = None
    ) -> None:
        """Add a component that follows the run to entities. `start`: its initial values, by default those read."""
        self.readings.append(ReadComponent(self.add(annotation, names, read(0) if start is None else start), read))

    def obey(self, annotation: Any, names: Sequence[str], values: Array, write: Callable[[Array], None]) -> None:
        """Add a component that acts on the run to entities."""
        self.orders.append(WrittenComponent(self.add(annotation, names, values), write))


def spawn_all(run: Simulation, entities: Entities) -> Bound:
    """Spawn an entity for each frame, body, joint and sensor of a run, with its name, and connect them to the run.

    Frames have WorldPos; bodies also have WorldVel, Inertia and Force. Joints with one degree of freedom have
    JointPosition, JointVelocity and JointTarget, or JointEffort if they have no actuator. A sensor is the entity of its
    frame, with a component named after its type. A joint with the name of a body shares the body's entity.

    Args:
        run: The run.
        entities: Where to spawn.

    Returns:
        The connections.
    """
    bound = Bound()
    frames = [name for name in run.frames.names if name != run.world.fixed_frame]
    observe = run.observer(frames)
    if frames:
        start = transforms_of(np.nan_to_num(observe().pose))
        bound.follow(WorldPos, frames, lambda step: np.asarray(transforms_of(observe().pose)), start)
    bodies = [body for body in run.bodies if _pushed(run.bodies[body])]
    if bodies:
        rows = np.array([frames.index(body) for body in bodies])
        wrenches = [run.bodies[body].wrench for body in bodies]
        bound.follow(WorldVel, bodies, lambda step: swapped(observe().twist[rows]))
        bound.add(Inertia, bodies, _inertias(run, bodies))

        def push(forces: Array) -> None:
            for wrench, force in zip(wrenches, swapped(forces), strict=True):
                wrench[:] = force

        bound.obey(Force, bodies, np.zeros((len(bodies), 6)), push)
        bound.cleared.append(bound.orders[-1].name)
    _add_joints(run, bound)
    _add_sensors(run, bound)
    for name, values in bound.given.items():
        entities.spawn(values, name)
    return bound


def _add_joints(run: Simulation, bound: Bound) -> None:
    joints, names = run.joints, run.joints.scalar
    if not names:
        return
    bound.follow(JointPosition, names, lambda step: joints.positions)
    bound.follow(JointVelocity, names, lambda step: joints.velocities)
    driven = [joints[name] for name in names if joints[name].targets]
    free = [joints[name] for name in names if not joints[name].targets]

    def aim(annotation: Any, handles: Sequence[JointHandle], values: Array, key: str) -> None:
        def write(values: Array) -> None:
            for handle, value in zip(handles, values.tolist(), strict=True):
                setattr(handle, key, value)

        if handles:
            bound.obey(annotation, [handle.name for handle in handles], values, write)

    aim(JointTarget, driven, np.array([joint.target[0] for joint in driven]), "target")
    aim(JointEffort, free, np.zeros(len(free)), "effort")


def _add_sensors(run: Simulation, bound: Bound) -> None:
    """Add a component for each type of sensor; if shapes differ, further components are TYPE_2, TYPE_3 and so on."""
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
        bound.follow(Annotated[jax.Array, component], names, read)


def _newest(sensors: Sequence[SensorHandle], shape: tuple[int, ...], step: int) -> Array:
    """Return the latest values (n, *shape) of sensors; NaN for those that have not measured yet."""
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


def _inertias(run: Simulation, bodies: Sequence[str]) -> Array:
    """Return the principal moments and masses (n, 7) of bodies, in the layout of SpatialInertia."""
    model: Any = run.engines["rigid_bodies"]
    rows = [model.model.body(body) for body in bodies]
    return np.array([[*row.inertia, 0.0, 0.0, 0.0, float(row.mass[0])] for row in rows])
