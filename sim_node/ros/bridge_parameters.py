"""The bridge node's parameters, and the objects created from them: connections, log playback, names, limits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from rclpy.node import Node

from sim_node import names
from sim_node.mavlink.connection import Connection, Identity
from sim_node.mavlink.links import EndpointFault, endpoint_of
from sim_node.mavlink.setpoints import SetpointLimits
from sim_node.mavlink.signing import MODES, Signing, SigningFault, signing_of
from sim_node.mavlink.tlog import TlogPlayback
from sim_node.mavlink.topics import FrameNames, is_namespace
from sim_node.ros.dialects import DIALECTS, NAMES
from sim_node.ros.parameters import RECORD, ParameterFault, ParameterSpec, changing, fixed
from sim_node.ros.px4.agent import SCHEME as AGENT
from sim_node.text import did_you_mean

TF_PARENTS = ("map", "odom", "none")

SPECS: dict[str, ParameterSpec] = {
    "urls": fixed(
        ["udpin:127.0.0.1:14540"],
        "Links: udpin:HOST:PORT, udpout:HOST:PORT, tcp:HOST:PORT, serial:DEVICE:BAUD, fmu:NAMESPACE.",
    ),
    "tlog": fixed("", "A telemetry log to play instead of the links."),
    "tlog_speed": fixed(1.0, "Its pace; 0.0 is as fast as possible.", 0.0, 1000.0),
    "system_id": fixed(255, "Our own MAVLink system id.", 1, 255),
    "component_id": fixed(191, "Our own MAVLink component id.", 1, 255),
    "vehicle_name": fixed("vehicle{id}", "Namespace of a vehicle's topics; {id} is its system id."),
    "vehicle_names": fixed("", "Names of individual system ids, as in 1=drone,2=tower."),
    "names": fixed("enu", "Names of topics and services, separated by commas: enu (ours), mavros, px4, ap."),
    "mavros_namespace": fixed(
        "mavros", "Namespace of MAVROS' names; for several vehicles with {id} or {name}, as in uas{id}/mavros."
    ),
    "px4_namespace": fixed(
        "auto",
        "Namespace of PX4's names (fmu), with {id} or {name}; auto for those of PX4's simulation: none, px4_1, "
        "px4_2 by system id.",
    ),
    "ap_namespace": fixed(
        "ap", "Namespace of ArduPilot's DDS names; for several vehicles with {id} or {name}, as in uas{id}/ap."
    ),
    "sensor_namespace": fixed(
        "", "Namespace of the autopilot's own sensors below the vehicle's, as in autopilot; empty for MAVROS' names."
    ),
    "map_frame": fixed("map", "Frame of local positions; {name} is the vehicle's name."),
    "odom_frame": fixed("{name}/odom", "Frame of odometry without a known heading."),
    "base_frame": fixed("{name}/base_link", "Frame of the vehicle."),
    "tf_parent": fixed("map", "Parent of the vehicle's frame on /tf; none sends no moving frames.", words=TF_PARENTS),
    "tf_rate": fixed(60.0, "Interpolated poses on /tf per second (Hz).", 1.0, 1000.0),
    "tf_delay": changing(
        0.1, "How far in the past these poses are (s); use more than the gaps of telemetry.", 0.0, 5.0
    ),
    "tf_ahead": changing(0.0, "How far poses may be extrapolated past the newest telemetry (s).", 0.0, 1.0),
    "setpoint_rate": fixed(20.0, "How often a setpoint is repeated (Hz).", 2.0, 100.0),
    "setpoint_timeout": fixed(
        0.5, "How long a setpoint is repeated without a new message (s); also how far its stamp may be off.", 0.1, 5.0
    ),
    "stream_rate": fixed(50.0, "Rate of the messages to request from ArduPilot (Hz); 0.0 requests none.", 0.0, 400.0),
    "orientation_stdev": fixed(
        0.0, "Standard deviation of each axis of imu/data's orientation (rad); 0.0: unknown.", 0.0, 10.0
    ),
    "angular_velocity_stdev": fixed(
        0.0, "Standard deviation of each axis of angular rates in imu (rad/s); 0.0: unknown.", 0.0, 100.0
    ),
    "linear_acceleration_stdev": fixed(
        0.0, "Standard deviation of each axis of specific forces in imu (m/s²); 0.0: unknown.", 0.0, 1000.0
    ),
    "magnetic_stdev": fixed(0.0, "Standard deviation of each axis of imu/mag's field (T); 0.0: unknown.", 0.0, 1.0),
    "timesync": fixed(True, "Request the time of autopilots, ten times a second."),
    "heartbeat_timeout": fixed(3.0, "A vehicle that sends nothing for this long is not connected (s).", 0.1, 60.0),
    "max_vehicles": fixed(32, "Further system ids are ignored.", 1, 254),
    "signing_key": fixed("", "File with the MAVLink 2 signing key: 32 bytes or 64 hexadecimal digits."),
    "signing": fixed("required", "Whether to accept unsigned frames if there is a key.", words=MODES),
    "takeoff_height": changing(10.0, "Height of ~/cmd/takeoff above home (m).", 0.5, 1000.0),
    "goto_tolerance": changing(0.5, "Distance to the target at which a goto is reached (m).", 0.05, 100.0),
    "mission_file": changing("", "Waypoints that mission/push sends: YAML or JSON."),
    "limit_distance": changing(1000.0, "Setpoints further from home than this are refused (m).", 0.0, 1e6),
    "limit_height": changing(120.0, "Setpoints higher above home than this are refused (m).", 0.0, 1e5),
    "limit_velocity": changing(20.0, "Setpoints faster than this are refused (m/s).", 0.0, 1000.0),
    "limit_acceleration": changing(10.0, "Setpoints with more acceleration than this are refused (m/s²).", 0.0, 1000.0),
}
SPECS |= RECORD
# In the order of autopilot.topics.Deviations.
DEVIATIONS = ("orientation_stdev", "angular_velocity_stdev", "linear_acceleration_stdev", "magnetic_stdev")


def names_of(values: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the naming schemes under which vehicles are published. Raises ParameterFault for an unknown one."""
    words = tuple(dict.fromkeys(word.strip() for word in values["names"].split(",") if word.strip()))
    for word in words:
        if word not in NAMES:
            raise ParameterFault(
                f"parameter names: unknown {word!r}{did_you_mean(word, NAMES)} (known: {', '.join(NAMES)})", "names"
            )
    if not words:
        raise ParameterFault(f"parameter names: at least one is needed (known: {', '.join(NAMES)})", "names")
    return words


@dataclass(frozen=True)
class Naming:
    """Names of vehicles and their frames, from the parameters."""

    vehicle: str
    map: str
    odom: str
    base: str
    sensors: str
    special: Mapping[int, str]
    dialects: Mapping[str, str]

    def name(self, system: int) -> str:
        """Return the namespace of a vehicle."""
        return self.special.get(system) or self.vehicle.replace("{id}", str(system))

    def dialect_namespace(self, dialect: str, system: int) -> str:
        """Return the namespace of a vehicle in a naming scheme of DIALECTS; empty for none."""
        if (found := self.dialects[dialect]) == "auto":  # as in PX4's simulation: none, px4_1, px4_2
            return f"{dialect}_{system - 1}" if system > 1 else ""
        return found.replace("{id}", str(system)).replace("{name}", self.name(system))

    def dialect_frames(self, dialect: str, system: int) -> FrameNames:
        """Return the frames of a vehicle in a naming scheme: base_link and odom, or uas1/base_link and uas1/odom."""
        before, slash, _ = self.dialect_namespace(dialect, system).rpartition("/")
        return FrameNames(self.frames(system).map, f"{before}{slash}odom", f"{before}{slash}base_link")

    def frames(self, system: int) -> FrameNames:
        """Return the frames of a vehicle."""
        name = self.name(system)
        return FrameNames(
            *(frame.replace("{name}", name).replace("{id}", str(system)) for frame in (self.map, self.odom, self.base))
        )


_NAMES = ("vehicle_name", "map_frame", "odom_frame", "base_frame", "sensor_namespace")


def naming(values: Mapping[str, Any]) -> Naming:
    """Create the names from the parameters. Raises ParameterFault if one is invalid."""
    special = _special(values["vehicle_names"])
    vehicle, map_, odom, base, sensors = (values[key] for key in _NAMES)
    dialects = {word: values[f"{word}_namespace"].strip("/") for word in DIALECTS}
    result = Naming(vehicle, map_, odom, base, sensors, special, dialects)
    for parameter in ("map_frame", "odom_frame", "base_frame"):
        name = values[parameter].replace("{name}", result.name(1)).replace("{id}", "1")
        why = names.fault(name)
        if why:
            raise ParameterFault(f"parameter {parameter}: {values[parameter]!r} {why}")
    spelled = {
        "vehicle_name": (vehicle, vehicle.replace("{id}", "1")),
        **{f"{word}_namespace": (result.dialect_namespace(word, 1),) * 2 for word in DIALECTS},
        "sensor_namespace": (sensors, sensors),
    }
    for parameter, (found, name) in spelled.items():
        if not is_namespace(name):
            raise ParameterFault(f"parameter {parameter}: found {found!r}; a namespace has letters, digits, _ and /")
    return result


def _special(text: str) -> dict[int, str]:
    """Parse ID=NAME,ID=NAME. Raises ParameterFault."""
    found: dict[int, str] = {}
    for part in text.split(",") if text else ():
        system, equals, name = (each.strip() for each in part.partition("="))
        if not (equals and name and system.isdecimal() and 0 < int(system) < 256 and is_namespace(name)):
            raise ParameterFault(f"parameter vehicle_names: found {part!r}; needs ID=NAME, as in 1=drone")
        found[int(system)] = name
    return found


def connections(values: Mapping[str, Any], keys: Mapping[str, Path]) -> list[Connection]:
    """Create the connections; none if a log is played.

    Args:
        values: The parameters.
        keys: Files with the signing keys of individual links, by URL, instead of the parameter.

    Raises:
        ParameterFault: A link or a key is invalid.
    """
    if values["tlog"]:
        return []
    urls = list(dict.fromkeys(values["urls"]))
    if not urls:
        raise ParameterFault("parameter urls: is empty; needs a link, as in udpin:127.0.0.1:14540")
    if "px4" in names_of(values) and (agents := [url for url in urls if url.partition(":")[0] == AGENT]):
        raise ParameterFault(f"parameter names: px4 would publish what {agents[0]} reads; leave it out")
    identity = Identity(values["system_id"], values["component_id"])
    try:
        return [
            Connection(endpoint_of(url), identity, _signing(values, keys.get(url), number))
            for number, url in enumerate(urls)
        ]
    except EndpointFault as fault:
        raise ParameterFault(f"parameter urls: {fault}") from None
    except SigningFault as fault:
        raise ParameterFault(f"parameter signing_key: {fault}") from None


def playback(values: Mapping[str, Any]) -> TlogPlayback | None:
    """Open the log to play, if any. Raises ParameterFault."""
    if not values["tlog"]:
        return None
    try:
        return TlogPlayback(Path(values["tlog"]), values["tlog_speed"])
    except OSError as error:
        raise ParameterFault(f"parameter tlog: {values['tlog']!r}: {error.strerror}") from None


def limits_of(node: Node) -> SetpointLimits:
    """Return the setpoint limits from the present values of the node's parameters."""
    return SetpointLimits(
        **{what.name: node.get_parameter(f"limit_{what.name}").value for what in fields(SetpointLimits)}
    )


def _signing(values: Mapping[str, Any], key: Path | None, link_id: int) -> Signing | None:
    key = key or (Path(values["signing_key"]) if values["signing_key"] else None)
    return None if key is None else signing_of(key, values["signing"], link_id)
