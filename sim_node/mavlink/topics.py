"""Names of a vehicle on the graph: the topics of its telemetry with their layouts, its services, its namespace."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from sim_node.messages import topic as wire
from sim_node.messages.layout import Pack
from sim_node.messages.telemetry_messages import plain
from sim_node.messages.topic import Qos
from sim_node.moved import renamed
from sim_node.registry import Registry, calling_module

# Services of a vehicle, and its topics other than telemetry, below its namespace.
SERVICES = (
    *("cmd/arming", "cmd/takeoff", "cmd/land", "cmd/return", "cmd/guided"),
    *("mission/push", "mission/pull", "mission/clear", "mission/start"),
)
RESULTS, WAYPOINTS = "command_result", "mission/waypoints"
# Modules with the shipped translations and topics, in the order of the registries.
TRANSLATION_MODULES = tuple(
    f"sim_node.mavlink.translation.{name}"
    for name in (
        *("attitude", "global_position", "health", "imu", "local_position", "onboard", "payload"),
        *("state", "targets"),
    )
)
# Beside a simulation, the autopilot's own sensors are published below this namespace: MAVROS' names (imu/data_raw) may
# be those of the simulated sensors.
BESIDE_SIMULATION = "autopilot"


@dataclass(frozen=True)
class FrameNames:
    """Names of a vehicle's frames in the TF tree.

    Attributes:
        map: Frame of local positions (ENU, its origin is that of the estimator).
        odom: Frame of odometry without a known heading.
        base: The vehicle (FLU).
    """

    map: str = "map"
    odom: str = "odom"
    base: str = "base_link"

    def named(self, frame: str) -> str:
        """Return the name of a frame on the graph.

        Args:
            frame: Name in the description of a topic: map, odom, base_link or one that begins with base_link_, or
                another frame.

        Returns:
            Its name on the graph.
        """
        if frame.startswith("base_link_"):
            return frame.replace("base_link", self.base, 1)
        return {"map": self.map, "odom": self.odom, "base_link": self.base}.get(frame, frame)

    @property
    def map_ned(self) -> str:
        """Name of the map in the autopilot's convention."""
        return self.map + "_ned"

    @property
    def base_frd(self) -> str:
        """Name of the body in the autopilot's convention."""
        return self.base + "_frd"


class Deviations(NamedTuple):
    """Standard deviations of an autopilot's measurements, per axis, which MAVLink does not carry; 0 if unknown.

    Attributes:
        orientation: That of the estimated orientation (rad).
        rate: That of angular rates (rad/s).
        force: That of specific forces (m/s²).
        field: That of the magnetic field (T).
    """

    orientation: float = 0.0
    rate: float = 0.0
    force: float = 0.0
    field: float = 0.0


class Profile(Enum):
    """QoS profiles of topics, as in rclcpp's SensorDataQoS and MAVROS."""

    SENSOR = Qos(depth=5, reliability="best_effort")
    RELIABLE = Qos(depth=10)
    LATCHED = Qos(depth=1, durability="transient_local")
    STATE = Qos(depth=10, durability="transient_local")
    PARAMETERS = Qos(depth=1000)
    # QoS that ArduPilot's AP_DDS requests from its agent, for its time and for its radio.
    CLOCK = Qos(depth=20)
    NEWEST = Qos(depth=1, reliability="best_effort")
    # QoS that PX4's uXRCE-DDS client requests from its agent.
    PX4 = Qos(depth=1, reliability="best_effort", durability="transient_local")


@dataclass(frozen=True, eq=False)
class VehicleTopic:
    """A topic below a vehicle's namespace.

    Attributes:
        name: Name below the namespace.
        type: package/Name.
        frames: Names of frames, separated by spaces: that of the header, and that of the child if there is one. Empty
            for messages without frames, and if each message names its own.
        layout: Makes a function that packs the messages, from the names of the frames on the graph and the variant of
            Telemetry.pack_variant. None for messages of wire's PLAIN, and for those that are encoded each time.
        profile: QoS.
        measured: Whether it contains measurements of the autopilot's sensors instead of estimates.
    """

    name: str
    type: str
    frames: str = ""
    layout: Callable[..., Pack] | None = None
    profile: Profile = Profile.SENSOR
    measured: bool = False

    def packer(self, names: FrameNames, *variant: Hashable) -> Pack:
        """Return a function that packs its messages.

        Args:
            names: Names of the vehicle's frames.
            variant: See Telemetry.pack_variant.

        Returns:
            The function.
        """
        frames = [names.named(frame) for frame in self.frames.split()]
        if self.layout is not None:
            return self.layout(*frames, *variant)
        return plain(self.type.replace("/", "/msg/"), *frames)

    def below(self, namespace: str, sensors: str = "") -> wire.Topic:
        """Return the topic with its name below a namespace.

        Args:
            namespace: The vehicle's namespace; empty for none.
            sensors: Namespace of measurements below that; empty for none.

        Returns:
            The topic.
        """
        name = "/".join(part for part in (namespace, sensors if self.measured else "", self.name) if part)
        return wire.Topic(name, self.type.replace("/", "/msg/"), self.profile.value)


TOPICS: Registry[str, VehicleTopic] = Registry("topic", shipped=TRANSLATION_MODULES, group="sim_node.translations")


def topic(
    name: str,
    type: str,
    frames: str = "",
    layout: Callable[..., Pack] | None = None,
    *,
    profile: Profile = Profile.SENSOR,
    measured: bool = False,
) -> VehicleTopic:
    """Register a topic. docs/bridge.md describes the contents of each.

    Args:
        name: Name below the vehicle's namespace.
        type: package/Name.
        frames: See VehicleTopic.
        layout: See VehicleTopic.
        profile: QoS.
        measured: See VehicleTopic.

    Returns:
        The topic.

    Raises:
        ValueError: The name is in use.
    """
    module = calling_module()
    return TOPICS.add(name, module=module)(VehicleTopic(name, type, frames, layout, profile, measured))


def telemetry_of(vehicle: str, sensors: str = "") -> tuple[wire.Topic, ...]:
    """Return all telemetry topics below a vehicle's name, as a bridge publishes them.

    Args:
        vehicle: The vehicle's namespace.
        sensors: Namespace of measurements below that; BESIDE_SIMULATION for a bridge beside a simulation.

    Returns:
        The topics.
    """
    return tuple(each.below(f"/{vehicle}", sensors) for each in TOPICS.values())


def is_namespace(name: str) -> bool:
    """Return whether a name is a valid namespace. The empty name is valid."""
    plain = name.replace("/", "").replace("_", "")
    return not name or (plain.isascii() and plain.isalnum() and not name[0].isdigit())


__getattr__ = renamed(__name__, Topic="VehicleTopic")
