"""What an engine is, and the engines there are. A new one is a new file here with one `@engine` entry."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Literal, Protocol, runtime_checkable

from sim_node.columns import Columns
from sim_node.geometry.arrays import FloatArray, IntArray
from sim_node.registry import Registry
from sim_node.world.layout import Layout
from sim_node.world.model import World
from sim_node.world.problems import WorldError

if TYPE_CHECKING:
    from sim_node.physics.handles import BodyRecord, JointRecord, VehicleRecord
    from sim_node.sensors.context import Environment
    from sim_node.sensors.truth import FrameState


@runtime_checkable
class Engine(Protocol):
    """Moves some frames of a world. It claims their rows of the column `pose` and writes no others.

    An engine keeps its state in columns, which it declares when it is opened: see `Opener`. A run is saved by copying
    them. It is restored by `reset` with the seed of the saved run, then by putting the columns back.
    """

    def reset(self, seed: int) -> None:
        """Go back to the world's start, with randomness drawn from `seed`. Called before the first step."""

    def step(self, steps: int) -> None:
        """Advance by whole steps of the world's time grid; n calls of one step equal one call of n, bit for bit."""

    def write(self, poses: FloatArray, ahead_ns: int) -> None:
        """Write its rows of poses (N, 7) as they are `ahead_ns` after the last whole step, less than a step."""


@runtime_checkable
class DynamicEngine(Protocol):
    """An engine that integrates: it knows how frames move, and has no instant before the present one.

    Sensors on frames need either this, or rows of `pose` claimed with `instants`.
    """

    @property
    def carried(self) -> IntArray:
        """The rows of the frames of which it knows how they move, as those that it integrates."""

    def observer(self, rows: IntArray, state: FrameState, places: IntArray) -> Callable[[], None]:
        """A function that writes how frames `rows`, all carried, move at the present step to `places` of a state.

        With all forces as they are at that step; what the next step computes stays as it is, to the bit.
        """


@runtime_checkable
class Perceived(Protocol):
    """An engine whose shapes, wind, contacts and joints sensors perceive."""

    def environment(self) -> Environment:
        """What sensors perceive beside how their frames move, at the present step whenever asked."""


@runtime_checkable
class Handled(Protocol):
    """An engine that offers bodies, joints and vehicles to be read and set by name between two steps."""

    @property
    def bodies(self) -> Mapping[str, BodyRecord]:
        """Its bodies."""

    @property
    def joints(self) -> Mapping[str, JointRecord]:
        """Its joints."""

    @property
    def vehicles(self) -> Mapping[str, VehicleRecord]:
        """Its vehicles."""


# Opens an engine on a world, or returns None where the world has nothing for it to move. It declares the engine's state
# with `columns.add`, and claims the frames that it moves with `columns.claim("pose", names)`.
Opener = Callable[[World, Layout, Columns], Engine | None]
ENGINES: Registry[str, Opener] = Registry(
    "engine",
    shipped=("sim_node.physics.keyframes", "sim_node.physics.rigid_bodies"),
    group="sim_node.engines",
)
# Registers what opens an engine.
engine = ENGINES.add


def engines_for(world: World, layout: Layout, columns: Columns) -> dict[str, Engine]:
    """Open the engines that have something to move in a world; by name, in the order of the registry.

    Raises:
        PluginFault: An engine of a plug-in fails, as when it claims what another engine has.
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
    """Return what all engines that offer handles know of their bodies, joints or vehicles, by name."""
    offered = [getattr(engine, kind) for engine in engines.values() if isinstance(engine, Handled)]
    return {name: record for records in offered for name, record in records.items()}
