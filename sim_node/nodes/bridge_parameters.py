"""The bridge node's parameters, and what they make: connections, a recording, names, limits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from rclpy.node import Node

from sim_node import names
from sim_node.autopilot.connection import Connection, Identity
from sim_node.autopilot.links import EndpointFault, endpoint_of
from sim_node.autopilot.playback import Playback
from sim_node.autopilot.setpoints import Limits
from sim_node.autopilot.signing import MODES, Signing, SigningFault, signing_of
from sim_node.autopilot.topics import FrameNames
from sim_node.nodes.parameters import RECORD, ParameterFault, Spec

TF_PARENTS = ("map", "odom", "none")

SPECS: dict[str, Spec] = {
    "urls": Spec(
        ["udpin:127.0.0.1:14540"],
        "Links: udpin:HOST:PORT, udpout:HOST:PORT, tcp:HOST:PORT, serial:DEVICE:BAUD.",
        fixed=True,
    ),
    "tlog": Spec("", "A telemetry log to play instead of the links.", fixed=True),
    "tlog_speed": Spec(1.0, "Its pace; 0.0 is as fast as possible.", fixed=True, low=0.0, high=1000.0),
    "system_id": Spec(255, "Our own MAVLink system id.", fixed=True, low=1, high=255),
    "component_id": Spec(191, "Our own MAVLink component id.", fixed=True, low=1, high=255),
    "vehicle_name": Spec("vehicle{id}", "Namespace of a vehicle's topics; {id} is its system id.", fixed=True),
    "vehicle_names": Spec("", "Other names of some system ids, as in 1=drone,2=tower.", fixed=True),
    "map_frame": Spec("map", "Frame of local positions; {name} is the vehicle's name.", fixed=True),
    "odom_frame": Spec("{name}/odom", "Frame of odometry that does not know north.", fixed=True),
    "base_frame": Spec("{name}/base_link", "Frame of the vehicle.", fixed=True),
    "tf_parent": Spec(
        "map", "Parent of the vehicle's frame on /tf; none sends no moving frames.", fixed=True, words=TF_PARENTS
    ),
    "tf_rate": Spec(60.0, "Interpolated poses on /tf per second (Hz).", fixed=True, low=1.0, high=1000.0),
    "tf_delay": Spec(0.1, "How far in the past these poses are (s): longer than telemetry's gaps.", low=0.0, high=5.0),
    "tf_ahead": Spec(0.0, "How far poses may be extrapolated past the newest telemetry (s).", low=0.0, high=1.0),
    "setpoint_rate": Spec(20.0, "How often a setpoint is repeated (Hz).", fixed=True, low=2.0, high=100.0),
    "stream_rate": Spec(
        50.0, "What ArduPilot is asked to send (Hz); 0.0 asks for nothing.", fixed=True, low=0.0, high=400.0
    ),
    "timesync": Spec(True, "Ask autopilots for their time, ten times a second.", fixed=True),
    "heartbeat_timeout": Spec(
        3.0, "A vehicle that sends nothing for so long is not connected (s).", fixed=True, low=0.1, high=60.0
    ),
    "max_vehicles": Spec(32, "System ids beyond so many are left aside.", fixed=True, low=1, high=254),
    "signing_key": Spec("", "File with the MAVLink 2 signing key: 32 bytes or 64 hexadecimal digits.", fixed=True),
    "signing": Spec("required", "What happens to unsigned frames where there is a key.", fixed=True, words=MODES),
    "takeoff_height": Spec(10.0, "Of ~/cmd/takeoff, above home (m).", low=0.5, high=1000.0),
    "goto_tolerance": Spec(0.5, "How near a goto has to come (m).", low=0.05, high=100.0),
    "mission_file": Spec("", "Waypoints that mission/push sends: YAML or JSON."),
    "limit_distance": Spec(1000.0, "Setpoints further from home than this are refused (m).", low=0.0, high=1e6),
    "limit_height": Spec(120.0, "Setpoints higher above home than this are refused (m).", low=0.0, high=1e5),
    "limit_velocity": Spec(20.0, "Faster setpoints are refused (m/s).", low=0.0, high=1000.0),
    "limit_acceleration": Spec(10.0, "Harder setpoints are refused (m/s²).", low=0.0, high=1000.0),
}
SPECS |= RECORD


@dataclass(frozen=True)
class Naming:
    """How vehicles and their frames are called, as the parameters have it."""

    vehicle: str
    map: str
    odom: str
    base: str
    special: Mapping[int, str]

    def name(self, system: int) -> str:
        """The namespace of a vehicle."""
        return self.special.get(system) or self.vehicle.replace("{id}", str(system))

    def frames(self, system: int) -> FrameNames:
        """The frames of a vehicle."""
        name = self.name(system)
        return FrameNames(
            *(frame.replace("{name}", name).replace("{id}", str(system)) for frame in (self.map, self.odom, self.base))
        )


def naming(values: Mapping[str, Any]) -> Naming:
    """Raises ParameterFault for names that are none."""
    special = _special(values["vehicle_names"])
    made = Naming(values["vehicle_name"], values["map_frame"], values["odom_frame"], values["base_frame"], special)
    for parameter in ("map_frame", "odom_frame", "base_frame"):
        name = values[parameter].replace("{name}", made.name(1)).replace("{id}", "1")
        why = names.fault(name)
        if why:
            raise ParameterFault(f"parameter {parameter}: {values[parameter]!r} {why}")
    if not is_namespace(values["vehicle_name"].replace("{id}", "1")):
        raise ParameterFault(
            f"parameter vehicle_name: found {values['vehicle_name']!r}; letters, digits, _ and / make a namespace"
        )
    return made


def is_namespace(name: str) -> bool:
    """Whether topics may stand below a name; the empty one is none, and fine."""
    plain = name.replace("/", "").replace("_", "")
    return not name or (plain.isascii() and plain.isalnum() and not name[0].isdigit())


def _special(text: str) -> dict[int, str]:
    """ID=NAME,ID=NAME. Raises ParameterFault."""
    found: dict[int, str] = {}
    for part in text.split(",") if text else ():
        system, equals, name = (each.strip() for each in part.partition("="))
        if not (equals and name and system.isdecimal() and 0 < int(system) < 256 and is_namespace(name)):
            raise ParameterFault(f"parameter vehicle_names: found {part!r}; needs ID=NAME, as in 1=drone")
        found[int(system)] = name
    return found


def connections(values: Mapping[str, Any]) -> list[Connection]:
    """The links, none where a recording is played. Raises ParameterFault."""
    if values["tlog"]:
        return []
    urls = list(dict.fromkeys(values["urls"]))
    if not urls:
        raise ParameterFault("parameter urls: is empty; needs a link, as in udpin:127.0.0.1:14540")
    identity = Identity(values["system_id"], values["component_id"])
    try:
        return [Connection(endpoint_of(url), identity, _signing(values, number)) for number, url in enumerate(urls)]
    except EndpointFault as fault:
        raise ParameterFault(f"parameter urls: {fault}") from None
    except SigningFault as fault:
        raise ParameterFault(f"parameter signing_key: {fault}") from None


def playback(values: Mapping[str, Any]) -> Playback | None:
    """The recording, if one is to be played. Raises ParameterFault."""
    if not values["tlog"]:
        return None
    try:
        return Playback(Path(values["tlog"]), values["tlog_speed"])
    except OSError as error:
        raise ParameterFault(f"parameter tlog: {values['tlog']!r}: {error.strerror}") from None


def limits_of(node: Node) -> Limits:
    """What setpoints may not exceed, as the node's parameters have it now."""
    return Limits(**{what.name: node.get_parameter(f"limit_{what.name}").value for what in fields(Limits)})


def _signing(values: Mapping[str, Any], link_id: int) -> Signing | None:
    if not values["signing_key"]:
        return None
    return signing_of(Path(values["signing_key"]), values["signing"], link_id)
