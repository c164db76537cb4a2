"""Bridges in the simulation's process: topics of built-in autopilots without a separate program."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from sim_node.autopilots.vehicle_co_simulator import missing
from sim_node.mavlink.ports import PortInUse
from sim_node.mavlink.topics import BESIDE_SIMULATION, is_namespace
from sim_node.ros.calls import Orders
from sim_node.ros.parameters import ParameterFault
from sim_node.ros.spin import LoopNode
from sim_node.simulation import Sink
from sim_node.world import FrameTable, World, WorldError
from sim_node.world.autopilots import VEHICLES, autopiloted, flown_by_builtin
from sim_node.world.vehicles import BUILTIN

if TYPE_CHECKING:
    from sim_node.ros.bridge import BridgeNode

FIRST_PORT = 14540


def bridges_for(world: World, prefix: str, *, use_sim_time: bool, name: str = "bridge") -> tuple[BridgeNode, ...]:
    """Return a bridge node for all vehicles of a world that have a built-in autopilot; none if there are none.

    Topics are below the vehicles' names. Frames are those of the world, which the simulation publishes. prefix: prefix
    of frame names. name: name of the node.
    """
    flown = flown_by_builtin(world)
    if not flown:
        return ()
    # Imported here so that worlds without autopilots run without pymavlink.
    from sim_node.ros.bridge import BridgeNode

    names = {instance + 1: name for instance, name in flown.items() if is_namespace(name)}
    parameters = {
        "urls": [_url(instance) for instance in flown],
        "vehicle_names": ",".join(f"{system}={name}" for system, name in names.items()),
        "map_frame": world.fixed_frame,
        "odom_frame": prefix + "{name}/odom",
        "base_frame": prefix + "{name}/base_link",
        "sensor_namespace": BESIDE_SIMULATION,
        "tf_parent": "none",
        "use_sim_time": use_sim_time,
        # The process's recording arguments are for the simulation.
        "record": "",
    }
    return (BridgeNode(parameters, beside=name, keys=keys_of(world)),)


class LaterBridges(Sink):
    """A sink that bridges vehicles added by changes of the world, each with its own node.

    The initial bridge, from `bridges_for`, is stopped when all of its vehicles are gone.

    Args:
        node: The simulation node that the bridges run beside.
        prefix: Prefix of frame names.
        use_sim_time: Whether the bridges use simulation time.
    """

    def __init__(self, node: LoopNode, prefix: str, *, use_sim_time: bool) -> None:
        self._node, self._prefix, self._use_sim_time = node, prefix, use_sim_time
        self._orders = Orders(node)
        # Instances and names of the bridged vehicles: all of them, and those of the initial bridge.
        self._flown: set[tuple[int, str]] | None = None
        self._first: set[tuple[int, str]] = set()
        self._running: dict[tuple[int, str], BridgeNode] = {}

    def open(self, world: World, frames: FrameTable) -> None:
        """Bridge vehicles that have been added, and stop the bridges of vehicles that have been removed."""
        was, now = self._flown, set(flown_by_builtin(world).items())
        self._flown = now
        if was is None:
            self._first = set(now)
        elif was != now:
            self._orders.add(lambda: self._change(world, now - was, was - now))

    def stop(self) -> None:
        """Stop the bridges' threads."""
        for bridge in self._running.values():
            bridge.loop.stop()

    def _change(self, world: World, added: Collection[tuple[int, str]], removed: Collection[tuple[int, str]]) -> None:
        """Apply a change. Called in the executor's thread."""
        executor = self._node.executor
        assert executor is not None, "it calls this"
        ended: list[LoopNode] = [self._running.pop(each) for each in self._running.keys() & removed]
        if self._first and self._first.issubset(removed):
            ended += [each for each in self._node.beside if each not in {*self._running.values(), *ended}]
        self._first.difference_update(removed)
        for each in ended:
            each.loop.stop()
            executor.remove_node(each)
            self._node.beside = tuple(other for other in self._node.beside if other is not each)
            each.destroy_node()
        for instance, name in sorted(added):
            parts = {kind: tuple(each for each in world.parts.get(kind, ()) if each.name == name) for kind in VEHICLES}
            alone = replace(world, **parts)
            try:
                (bridge,) = bridges_for(alone, self._prefix, use_sim_time=self._use_sim_time, name=f"bridge_{instance}")
            except (ParameterFault, PortInUse) as fault:
                self._node.get_logger().error(f"{name} is not bridged: {fault}")
                continue
            self._running[instance, name] = bridge
            self._node.beside = (*self._node.beside, bridge)
            executor.add_node(bridge)
            bridge.loop.start(ended=lambda: None)


def parameters_beside(world: World) -> tuple[str, ...]:
    """Return the parameters of the bridge that bridges_for creates; none if it creates none. Raises WorldError."""
    if not flown_by_builtin(world):
        return ()
    try:
        from sim_node.ros.bridge_parameters import SPECS
    except ImportError as error:
        raise WorldError([missing(vehicle, error) for vehicle, _ in autopiloted(world)]) from None
    return tuple(SPECS)


def keys_of(world: World) -> dict[str, Path]:
    """Return the signing keys of built-in autopilots, by the URL that the bridge uses for each."""
    return {
        _url(autopilot.instance): autopilot.signing_key
        for _, autopilot in autopiloted(world)
        if autopilot.type == BUILTIN and autopilot.signing_key is not None
    }


def _url(instance: int) -> str:
    return f"udpin:127.0.0.1:{FIRST_PORT + instance}"
