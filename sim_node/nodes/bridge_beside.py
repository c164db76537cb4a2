"""A bridge beside a simulation, in its process: what the built-in autopilots tell becomes topics by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sim_node.autopilot.vehicle_co_simulator import missing
from sim_node.world import World, WorldError

if TYPE_CHECKING:
    from sim_node.nodes.bridge import BridgeNode

FIRST_PORT = 14540


def bridges_for(world: World, prefix: str, *, use_sim_time: bool) -> tuple[BridgeNode, ...]:
    """One bridge node for all vehicles of a world that the built-in autopilot flies; none where there are none.

    Topics are below the vehicles' names, frames are those of the world, which the simulation itself moves. prefix:
    before the names of frames.
    """
    flown = flown_by_builtin(world)
    if not flown:
        return ()
    # Here and not above: worlds without autopilots start without pymavlink.
    from sim_node.nodes.bridge import BridgeNode
    from sim_node.nodes.bridge_parameters import is_namespace

    names = {instance + 1: name for instance, name in flown.items() if is_namespace(name)}
    parameters = {
        "urls": [f"udpin:127.0.0.1:{FIRST_PORT + instance}" for instance in flown],
        "vehicle_names": ",".join(f"{system}={name}" for system, name in names.items()),
        "map_frame": world.fixed_frame,
        "odom_frame": prefix + "{name}/odom",
        "base_frame": prefix + "{name}/base_link",
        "tf_parent": "none",
        "use_sim_time": use_sim_time,
        # What the arguments of the process say of recording is for the simulation.
        "record": "",
    }
    return (BridgeNode(parameters, beside=True),)


def parameters_beside(world: World) -> tuple[str, ...]:
    """The parameters of the bridge that bridges_for makes; none where it makes none. Raises WorldError."""
    if not flown_by_builtin(world):
        return ()
    try:
        from sim_node.nodes.bridge_parameters import SPECS
    except ImportError as error:
        raise WorldError([missing(vehicle, error) for vehicle in world.vehicles if vehicle.autopilot]) from None
    return tuple(SPECS)


def flown_by_builtin(world: World) -> dict[int, str]:
    """The names of the vehicles that the built-in autopilot flies, by its instances."""
    return {
        vehicle.autopilot.instance: vehicle.name
        for vehicle in world.vehicles
        if vehicle.autopilot is not None and vehicle.autopilot.type == "mavlink_builtin"
    }
