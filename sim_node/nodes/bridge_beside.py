"""A bridge in the process of a simulation: topics of the built-in autopilots without a separate node."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from sim_node.autopilot.topics import BESIDE_SIMULATION, flown_by_builtin, is_namespace
from sim_node.autopilot.vehicle_co_simulator import missing
from sim_node.world import World, WorldError

if TYPE_CHECKING:
    from sim_node.nodes.bridge import BridgeNode

FIRST_PORT = 14540


def bridges_for(world: World, prefix: str, *, use_sim_time: bool) -> tuple[BridgeNode, ...]:
    """Return a bridge node for all vehicles of a world with a built-in autopilot; none if there are none.

    Topics are below the vehicles' names. Frames are those of the world, which the simulation publishes. prefix: goes
    before the names of frames.
    """
    flown = flown_by_builtin(world)
    if not flown:
        return ()
    # Imported here, so that worlds without autopilots run without pymavlink.
    from sim_node.nodes.bridge import BridgeNode

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
        # Recording arguments of the process are for the simulation.
        "record": "",
    }
    return (BridgeNode(parameters, beside=True, keys=keys_of(world)),)


def parameters_beside(world: World) -> tuple[str, ...]:
    """Return the parameters of the bridge that bridges_for creates; none if it creates none. Raises WorldError."""
    if not flown_by_builtin(world):
        return ()
    try:
        from sim_node.nodes.bridge_parameters import SPECS
    except ImportError as error:
        raise WorldError([missing(vehicle, error) for vehicle in world.vehicles if vehicle.autopilot]) from None
    return tuple(SPECS)


def keys_of(world: World) -> dict[str, Path]:
    """Return the signing keys of the built-in autopilots that have one, by the bridge's URL for them."""
    return {
        _url(autopilot.instance): autopilot.signing_key
        for autopilot in (vehicle.autopilot for vehicle in world.vehicles)
        if autopilot is not None and autopilot.type == "mavlink_builtin" and autopilot.signing_key is not None
    }


def _url(instance: int) -> str:
    return f"udpin:127.0.0.1:{FIRST_PORT + instance}"
