"""What an engine is, and the engines there are. A new one is a new file here with one `@engine` entry."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from sim_node.geometry.arrays import FloatArray, IntArray
from sim_node.registry import Registry
from sim_node.world.layout import Layout
from sim_node.world.model import World

if TYPE_CHECKING:
    from sim_node.sensors.setting import Surroundings
    from sim_node.sensors.truth import FrameState


@runtime_checkable
class Engine(Protocol):
    """Moves some frames of a world. It owns their rows of the pose array and writes no others."""

    def reset(self, seed: int) -> None:
        """Goes back to the world's start, with randomness drawn from `seed`."""

    def step(self, steps: int) -> None:
        """Advances by whole steps of the world's time grid; n calls of one step equal one call of n, bit for bit."""

    def write(self, poses: FloatArray, ahead_ns: int) -> None:
        """Writes its rows of poses (N, 7) as they are `ahead_ns` after the last whole step, less than a step."""

    def state(self) -> bytes:
        """All that its future depends on."""

    def restore(self, state: bytes) -> None:
        """Goes on from a state of the same world, to the bit. Raises ValueError for one of another."""

    def surroundings(self) -> Surroundings | None:
        """What sensors perceive beside how their frames move, at the present step whenever asked; None for nothing."""


@runtime_checkable
class Carrier(Protocol):
    """An engine that integrates: it knows how frames move, and has no instant before the present one."""

    @property
    def carried(self) -> IntArray:
        """The rows of the frames of which it knows how they move, as those that it integrates."""

    def observer(self, rows: IntArray, state: FrameState, places: IntArray) -> Callable[[], None]:
        """A function that writes how frames `rows`, all carried, move at the present step to `places` of a state.

        With all forces as they are at that step; what the next step computes stays as it is, to the bit.
        """


@runtime_checkable
class Timetable(Protocol):
    """An engine whose frames follow functions of time: how they move is told by neighbouring instants."""

    def write_instants(self, poses: FloatArray, ahead_ns: IntArray) -> None:
        """Writes its rows of poses (K, N, 7) as `write` does, at K instants from 1 ms before to 3 ms after now."""


# Opens an engine on a world, or says None where the world has nothing for it to move.
Opener = Callable[[World, Layout], Engine | None]
ENGINES: Registry[str, Opener] = Registry(
    "engine",
    shipped=("sim_node.physics.keyframes", "sim_node.physics.rigid_bodies"),
    group="sim_node.engines",
)
# Registers what opens an engine.
engine = ENGINES.add


def engines_for(world: World, layout: Layout) -> dict[str, Engine]:
    """The engines that have something to move in a world, by name, in the order of the registry."""
    opened = {name: opener(world, layout) for name, opener in ENGINES.items()}
    for name, engine in opened.items():
        ENGINES.expect(name, engine, (Engine, type(None)), "an Engine or None")
    return {name: engine for name, engine in opened.items() if engine is not None}
