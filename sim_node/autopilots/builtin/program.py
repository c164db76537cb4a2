"""Assembly of a built-in autopilot with its default ground links."""

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

# UDP port of ground stations. As with PX4's simulator, all vehicles send to the same one.
STATION_PORT = 14550


def usual_links(instance: int, more: Sequence[Endpoint]) -> tuple[list[Endpoint], list[Endpoint]]:
    """Return the ground links of an instance, and the subset that carries only heartbeats until a peer responds.

    Source ports are fixed, so that a bridge and a ground station recognise the autopilot after a restart.

    Args:
        instance: Instance number, from 0.
        more: Further ground links.
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
    """Return the autopilot of a vehicle, not running yet.

    Args:
        vehicle: The vehicle.
        instance: Instance number, from 0. The MAVLink system id is one higher.
        links: Ground links.
        quiet: The subset of `links` that carries only heartbeats until a peer responds.
        simulator: Address of the simulator; None if it is in this process.
        memory: State that survives a crash of the process.
        signing: Returns what checks and signs the frames of a ground link, given the link's index; None for unsigned
            links.
        like: Autopilot to imitate; by default, that of the vehicle.
        show: Prints a line for users.

    Returns:
        The autopilot.
    """
    identity = Identity(instance + 1, 1)
    connections = [Connection(link, identity, signing(number)) for number, link in enumerate(links)]
    listeners = [connection for connection in connections if connection.link in quiet]
    name = like or vehicle.like
    dialect = DIALECTS[rover(name) if isinstance(vehicle.airframe, Chassis) else name]
    return BuiltinAutopilot(vehicle, dialect, identity.system, simulator, connections, handle, memory, show, listeners)


def in_process(vehicle: VehicleParameters, instance: int, memory: Memory) -> tuple[BuiltinAutopilot, MemoryLink]:
    """Return the autopilot of a vehicle that is simulated in this process, and its link.

    Raises:
        SigningFault: The signing key is invalid.
    """
    links, quiet = usual_links(instance, [endpoint_of(url) for url in vehicle.links])
    key = Path(vehicle.signing_key) if vehicle.signing_key else None
    signing = partial(_signing, key, owner_of(instance))
    made = made_autopilot(vehicle, instance, links, quiet, simulator=None, memory=memory, signing=signing)
    assert isinstance(made.link, MemoryLink)
    return made, made.link


def _signing(key: Path | None, owner: str, link_id: int) -> Signing | None:
    return None if key is None else signing_of(key, "required", link_id, owner)
