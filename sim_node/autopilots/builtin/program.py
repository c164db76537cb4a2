"""What flies one vehicle of a run: the built-in autopilot with its usual ground links, ready to run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from sim_node.autopilots.builtin.autopilot import BuiltinAutopilot
from sim_node.autopilots.builtin.dialect import DIALECTS, rover
from sim_node.autopilots.builtin.ground_messages import handle
from sim_node.autopilots.builtin.memory import Memory
from sim_node.autopilots.builtin.simulator import MemoryLink
from sim_node.autopilots.builtin.vehicle_parameters import Chassis, VehicleParameters
from sim_node.mavlink.connection import Connection, Identity
from sim_node.mavlink.links import Endpoint, endpoint_of
from sim_node.mavlink.links.udp import UdpOut
from sim_node.mavlink.ports import FIRST_GROUND_PORT, FIRST_OWN_PORT, FIRST_STATION_PORT
from sim_node.mavlink.signing import Signing, owner_of, signing_of

# Where ground stations listen, all on the same port, and from which port they are sent to, as PX4's simulator does.
STATION_PORT = 14550


def usual_links(instance: int, more: Sequence[Endpoint]) -> tuple[list[Endpoint], list[Endpoint]]:
    """Return the ground links of an instance, and those of them that get heartbeats alone until somebody answers.

    They send from ports that a bridge and a ground station know again where the autopilot is started again.
    """
    here, station = f"127.0.0.1:{FIRST_GROUND_PORT + instance}", f"127.0.0.1:{STATION_PORT}"
    own: list[Endpoint] = [UdpOut(f"udpout:{here}", here, FIRST_OWN_PORT + instance)]
    quiet: list[Endpoint] = []
    if not any(isinstance(link, UdpOut) and link.address == ("127.0.0.1", STATION_PORT) for link in more):
        quiet = [UdpOut(f"udpout:{station}", station, FIRST_STATION_PORT + instance)]
    return [*own, *quiet, *more], quiet


def made_autopilot(
    vehicle: VehicleParameters,
    instance: int,
    links: Sequence[Endpoint],
    quiet: Sequence[Endpoint],
    *,
    simulator: tuple[str, int] | None,
    memory: Memory,
    signing: Callable[[int], Signing | None],
    like: str = "",
    show: Callable[[str], None] = lambda line: None,
) -> BuiltinAutopilot:
    """Return the autopilot of a vehicle.

    Args:
        vehicle: The vehicle.
        instance: Its number, from which its MAVLink system id follows.
        links: Its ground links.
        quiet: Those of them that get heartbeats alone until somebody answers.
        simulator: The address of the simulator, None if it is in this process.
        memory: What it remembers after it has died.
        signing: What checks and signs a ground link, by its number.
        like: What it presents itself as; by default, what the vehicle says.
        show: Takes a line for people.

    Returns:
        The autopilot, which does not run yet.
    """
    identity = Identity(instance + 1, 1)
    connections = [Connection(link, identity, signing(number)) for number, link in enumerate(links)]
    listeners = [connection for connection in connections if connection.link in quiet]
    name = like or vehicle.like
    dialect = DIALECTS[rover(name) if isinstance(vehicle.airframe, Chassis) else name]
    return BuiltinAutopilot(vehicle, dialect, identity.system, simulator, connections, handle, memory, show, listeners)


def in_process(vehicle: VehicleParameters, instance: int, memory: Memory) -> tuple[BuiltinAutopilot, MemoryLink]:
    """Return the autopilot of a vehicle that this process simulates, and its link. Raises SigningFault for its key."""
    links, quiet = usual_links(instance, [endpoint_of(url) for url in vehicle.links])
    key = Path(vehicle.signing_key) if vehicle.signing_key else None
    signing = partial(_signing, key, owner_of(instance))
    made = made_autopilot(vehicle, instance, links, quiet, simulator=None, memory=memory, signing=signing)
    assert isinstance(made.link, MemoryLink)
    return made, made.link


def _signing(key: Path | None, owner: str, link_id: int) -> Signing | None:
    return None if key is None else signing_of(key, "required", link_id, owner)
