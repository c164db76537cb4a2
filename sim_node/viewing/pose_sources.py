"""What pictures are taken of: a world and its poses at instants, of a run or of a bag."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from sim_node.geometry.arrays import FloatArray
from sim_node.simulation import Simulation, Snapshot
from sim_node.world.model import LATEST_NS, World


@dataclass(frozen=True, eq=False)
class PoseSource:
    """An assembled world from a time to another, and where its frames are in between.

    poses: of instants (rising) the poses (N, 7) of all frames of `lay_out(world)`, each in its parent. name: what it
    is, for messages. zero_ns: what times that people give are counted from.
    """

    world: World
    poses: Callable[[Iterable[int]], Iterator[FloatArray]]
    start_ns: int
    end_ns: int = LATEST_NS
    zero_ns: int = 0
    name: str = "world"


def source_of_run(
    world: World, seed: int = 0, seek: Callable[[Simulation, int], Snapshot] = Simulation.seek
) -> PoseSource:
    """A run of a world; seek: how it gets to an instant. Raises what a Simulation does."""
    simulation = Simulation(world, seed, sensors=False)

    def poses(times_ns: Iterable[int]) -> Iterator[FloatArray]:
        return (seek(simulation, time_ns).poses for time_ns in times_ns)

    return PoseSource(simulation.world, poses, simulation.world.time.start_ns)
