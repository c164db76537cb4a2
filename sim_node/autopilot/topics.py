"""Topics of a vehicle's telemetry: name, type, QoS, frame and unit of each, and the layout of its bytes."""

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
    """Names of a vehicle's frames in the TF tree.

    Attributes:
        map: Frame of local positions (ENU, its origin is that of the estimator).
        odom: Frame of odometry without a known heading.
        base: The vehicle (FLU).
    """

    map: str = "map"
    odom: str = "odom"
    base: str = "base_link"

    @property
    def map_ned(self) -> str:
        """The map in the autopilot's convention."""
        return self.map + "_ned"

    @property
    def base_frd(self) -> str:
        """The body in the autopilot's convention."""
        return self.base + "_frd"


class Profile(Enum):
    """QoS profiles of topics, as in rclcpp's SensorDataQoS and MAVROS."""

    SENSOR = Qos(depth=5, reliability="best_effort")
    RELIABLE = Qos(depth=10)
    LATCHED = Qos(depth=1, durability="transient_local")


@dataclass(frozen=True, eq=False)
class Topic:
    """A topic below a vehicle's namespace.

    Attributes:
        name: The name below the namespace.
        type: package/Name.
        profile: QoS.
        frame: Description of the header's frame.
        about: Content and unit.
        layout: For messages that are packed in place: makes a function that packs them, for a vehicle's frames and the
            variant of Telemetry.pack. None for messages that are encoded each time.
    """

    name: str
    type: str
    profile: Profile
    frame: str
    about: str
    layout: Callable[..., Pack] | None = None

    def below(self, namespace: str) -> wire.Topic:
        """Return the topic as it is sent below a namespace.

        Args:
            namespace: The namespace; empty for none.

        Returns:
            The topic.
        """
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
    """Register a topic.

    Args:
        name: The name below the vehicle's namespace.
        type: package/Name.
        profile: QoS.
        frame: Description of the header's frame.
        about: Content and unit.
        layout: See Topic.

    Returns:
        The topic.

    Raises:
        ValueError: The name is in use.
    """
    module = calling_module()
    return TOPICS.add(name, module=module)(Topic(name, type, profile, frame, about, layout))


def telemetry_of(vehicle: str) -> tuple[wire.Topic, ...]:
    """Return all telemetry topics below a vehicle's name, as a bridge publishes them."""
    return tuple(each.below(f"/{vehicle}") for each in TOPICS.values())
