"""The engine interface and the registry of engines. A new engine is a new file here with one `@engine` entry."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Literal, Protocol, runtime_checkable

from sim_node.registry import Registry
from sim_node.simulation.columns import Columns
from sim_node.spatial.geometry.arrays import FloatArray, IntArray
from sim_node.world.layout import Layout
from sim_node.world.model import World
from sim_node.world.problems import WorldError

if TYPE_CHECKING:
    from sim_node.simulation.physics.handles import BaseRecord, BodyRecord, VehicleRecord
    from sim_node.simulation.physics.joint_handles import JointRecord
    from sim_node.simulation.physics.signal_handles import SignalRecord
    from sim_node.simulation.sensors.alteration import Alteration
    from sim_node.simulation.sensors.context import Environment
    from sim_node.simulation.sensors.truth import FrameState


@runtime_checkable
class Engine(Protocol):
    """Moves some frames of a world. It claims their rows of the column `pose` and writes no others.

    An engine keeps its state in columns, which it declares when it is opened; see `Opener`. A run is saved by copying
    its columns, and restored by calling `reset` with the saved seed and then writing the columns back.
    """

    def reset(self, seed: int) -> None:
        """Go back to the start of the world. Called before the first step.

        Args:
            seed: The run's seed, from which all random numbers are drawn.
        """

    def step(self, steps: int) -> None:
        """Advance by whole steps of the world's time grid. n calls with one step equal one call with n, to the bit.

        Args:
            steps: Number of steps, each of `world.time.step_ns`.
        """

    def write(self, poses: FloatArray, ahead_ns: int) -> None:
        """Write the poses of the frames that this engine moves.

        Args:
            poses: Poses (N, 7) [x y z qx qy qz qw] of all frames of the world, each in its parent, m. Only the engine's
                own rows are written.
            ahead_ns: Time since the last whole step, less than one step, ns.
        """


@runtime_checkable
class DynamicEngine(Protocol):
    """An engine that integrates: it provides the current motion of frames, but not their poses at other times.

    A sensor needs a frame that such an engine moves, or whose row of `pose` is claimed with `instants`.
    """

    @property
    def carried(self) -> IntArray:
        """The rows (K,) of the frames whose motion it provides: those that it integrates."""

    def observer(self, rows: IntArray, state: FrameState, places: IntArray) -> Callable[[], None]:
        """Return a function that writes the motion of frames at the current step, from the forces of that step.

        Calling it must not affect the next step.

        Args:
            rows: Rows (K,) of the frames, all of them in `carried`.
            state: The state to write to, in the fixed frame.
            places: The rows (K,) of `state` to write, in the order of `rows`.

        Returns:
            The function; it takes no arguments and writes pose, twist and acceleration.
        """


@runtime_checkable
class Perceived(Protocol):
    """An engine whose shapes, wind, contacts and joints can be sensed."""

    def environment(self) -> Environment:
        """Return what sensors perceive besides the motion of their own frames, always at the current step."""


@runtime_checkable
class Resumable(Protocol):
    """An engine that a change of the world may add in the middle of a run."""

    def resume(self, step: int) -> None:
        """Go to a step. Called after `reset` and before the state of entities with the same name is restored.

        Args:
            step: Steps since the start of the run.
        """


@runtime_checkable
class Releasing(Protocol):
    """An engine with resources that it hands over to its successor, or releases, after a change of the world."""

    def release(self, successors: Mapping[str, Engine]) -> None:
        """Hand over or release the resources. The engine is not stepped again.

        Args:
            successors: The engines of the next generation, by name.
        """


@runtime_checkable
class Observed(Protocol):
    """An engine that calls observers within its steps.

    Attributes:
        observed: Whether observers are called; False during steps that will be undone.
    """

    observed: bool


@runtime_checkable
class Merging(Protocol):
    """An engine whose bodies can be joined while they move."""

    def merge(self, before: Engine, body: str) -> None:
        """Give a body that is now fixed to another one their common motion, conserving their momentum.

        Args:
            before: The engine of the previous generation, at the same instant.
            body: The body.
        """


@runtime_checkable
class Altering(Protocol):
    """An engine that alters the measurements of sensors, such as one that simulates their failures."""

    @property
    def alterations(self) -> Mapping[str, Alteration]:
        """The alteration of each sensor that has one, by name; the same mapping throughout the engine's life."""


@runtime_checkable
class Handled(Protocol):
    """An engine whose bodies, joints and vehicles can be read and set by name between two steps."""

    @property
    def bodies(self) -> Mapping[str, BodyRecord]:
        """Its bodies."""

    @property
    def joints(self) -> Mapping[str, JointRecord]:
        """Its joints."""

    @property
    def vehicles(self) -> Mapping[str, VehicleRecord | BaseRecord]:
        """Its vehicles."""


@runtime_checkable
class Signalled(Protocol):
    """An engine with signals, which can be read and set by name between two steps."""

    @property
    def signals(self) -> Mapping[str, SignalRecord]:
        """Its signals."""


# Opens an engine on a world, or returns None if the world has nothing for it to move. It declares the engine's state
# with `columns.add`, and claims the frames that the engine moves with `columns.claim("pose", names)`.
Opener = Callable[[World, Layout, Columns], Engine | None]
ENGINES: Registry[str, Opener] = Registry(
    "engine",
    shipped=(*(f"sim_node.simulation.physics.{name}" for name in ("keyframes", "rigid_bodies", "bases")),),
    group="sim_node.engines",
)
# Decorator that registers an Opener under a name.
engine = ENGINES.add


def engines_for(world: World, layout: Layout, columns: Columns) -> dict[str, Engine]:
    """Open the engines that have something to move in a world.

    Args:
        world: The world, assembled.
        layout: The layout of its frames.
        columns: The columns of the run, in which engines declare their state and claim their rows of `pose`.

    Returns:
        The engines by name, in the order of the registry.

    Raises:
        WorldError: An engine cannot simulate the world.
        PluginFault: An engine of a plug-in fails, for example by claiming a row that another engine has claimed.
    """
    engines: dict[str, Engine] = {}
    for name, opener in ENGINES.items():
        with ENGINES.blaming(name, WorldError):
            opened = opener(world, layout, columns.owned_by(f"engine {name!r}"))
        ENGINES.expect(name, opened, (Engine, type(None)), "an Engine or None")
        if opened is not None:
            engines[name] = opened
    return engines


def records_of(engines: Mapping[str, Engine], kind: Literal["bodies", "joints", "vehicles"]) -> dict[str, Any]:
    """Return the records of the bodies, joints or vehicles of all engines that offer handles, by name."""
    offered = [getattr(engine, kind) for engine in engines.values() if isinstance(engine, Handled)]
    return {name: record for records in offered for name, record in records.items()}
