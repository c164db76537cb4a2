"""The topics of a vehicle's telemetry: name, type, QoS, frame and unit of each, and how its bytes are laid out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

from sim_node.registry import Registry, calling_module
from sim_node.wire import topic as wire
from sim_node.wire.layout import Pack
from sim_node.wire.topic import Qos


@dataclass(frozen=True)
class FrameNames:
    """The frames of one vehicle on the TF tree.

    map: what local positions are in (ENU, its origin the estimator's); odom: of odometry that does not know north;
    base: the vehicle (FLU).
    """

    map: str = "map"
    odom: str = "odom"
    base: str = "base_link"

    @property
    def map_ned(self) -> str:
        """The map as the autopilot has it."""
        return self.map + "_ned"

    @property
    def base_frd(self) -> str:
        """The body as the autopilot has it."""
        return self.base + "_frd"


class Profile(Enum):
    """How a topic is sent: as rclcpp's SensorDataQoS and MAVROS have it."""

    SENSOR = Qos(depth=5, reliability="best_effort")
    RELIABLE = Qos(depth=10)
    LATCHED = Qos(depth=1, durability="transient_local")


@dataclass(frozen=True, eq=False)
class Topic:
    """One topic below a vehicle's namespace.

    type: package/Name; frame: the header's, in words; about: content and unit. layout: of messages that are packed
    in place, given a vehicle's frames and the variant of Telemetry.pack; None where they are encoded anew each time.
    """

    name: str
    type: str
    profile: Profile
    frame: str
    about: str
    layout: Callable[..., Pack] | None = None

    def below(self, namespace: str) -> wire.Topic:
        """The topic as it is sent below a namespace, empty for none."""
        name = f"{namespace}/{self.name}" if namespace else self.name
        return wire.Topic(name, self.type.replace("/", "/msg/"), self.profile.value)


TOPICS: Registry[str, Topic] = Registry(
    "topic", shipped=("sim_node.autopilot.translation",), group="sim_node.translations"
)


def topic(
    name: str,
    type: str,
    profile: Profile,
    frame: str,
    about: str,
    layout: Callable[..., Pack] | None = None,
) -> Topic:
    """Registers a topic. Raises ValueError for a name that is there already."""
    module = calling_module()
    return TOPICS.add(name, module=module)(Topic(name, type, profile, frame, about, layout))


def telemetry_of(vehicle: str) -> tuple[wire.Topic, ...]:
    """All topics of telemetry below a vehicle's name, as a bridge publishes them."""
    return tuple(each.below(f"/{vehicle}") for each in TOPICS.values())
