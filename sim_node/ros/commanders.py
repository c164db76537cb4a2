"""What commands the parts of a run: joints, bodies, multirotors, bases and signals."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

from sim_node.ros.newest_pair import NewestPair
from sim_node.simulation import Loop
from sim_node.simulation.commander import Commander
from sim_node.simulation.joint_commander import JointCommander
from sim_node.simulation.latest_commands import LatestCommands, Trials, Undone
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.world import World


class Commanders:
    """Commands of a run. Those of a kind are made when the first is needed.

    Args:
        prefix: Prefix of topics and frames.
        loop: The run.
        undone: Called with what was commanded and why, where the next step would not have survived it.

    Attributes:
        newest: The newest command of each base and each signal.
    """

    def __init__(self, prefix: str, loop: Loop, undone: Undone) -> None:
        self.prefix, self.loop, self._undone = prefix, loop, undone
        self.newest: LatestCommands[Callable[[], None]] = LatestCommands()
        self._pairs: dict[str, NewestPair[FloatArray, float]] = {}

    @cached_property
    def bodies(self) -> Commander:
        """What commands bodies and multirotors. Raises WorldError."""
        commander = Commander(self.loop.simulation, self._undone)
        self.loop.simulation.connect(commander)
        return commander

    @cached_property
    def joints(self) -> JointCommander:
        """What commands joints."""
        simulation = self.loop.simulation
        commander = JointCommander(simulation, simulation.world.joint_commands, self._undone)
        simulation.connect(commander)
        return commander

    @cached_property
    def trials(self) -> Trials:
        """What tries commands of bases and signals."""
        return Trials(self.loop.simulation, self._undone)

    def pair_of(self, vehicle: str) -> NewestPair[FloatArray, float]:
        """Return the newest attitude and thrust of a vehicle."""
        if vehicle not in self._pairs:
            commands = next(each for each in self.loop.simulation.world.vehicle_commands if each.vehicle == vehicle)
            self._pairs[vehicle] = NewestPair(("attitude", "thrust"), commands.timeout)
        return self._pairs[vehicle]

    def of(self, world: World) -> tuple[JointCommander | Commander, ...]:
        """Return those that command joints, bodies and vehicles of a world. Raises WorldError."""
        return (
            *([self.joints] if world.joint_commands else []),
            *([self.bodies] if world.body_commands or world.vehicle_commands else []),
        )
