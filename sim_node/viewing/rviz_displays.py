"""rviz displays by message type. Names of displays and properties are those of rviz2."""

from __future__ import annotations

from typing import Any

from sim_node.messages.topic import Topic
from sim_node.registry import Registry

Properties = dict[str, Any]

# The class of a display, and its properties that differ from rviz's defaults. Classes of rviz_default_plugins are
# given by name alone, others as package/Class.
Display = tuple[str, Properties]
# By message type, package/msg/Name
DISPLAYS: Registry[str, Display] = Registry(
    "display", shipped=("sim_node.viewing.rviz_displays",), group="sim_node.displays"
)
PLUGINS = "rviz_default_plugins"
# Queue size for messages waiting for their transform: rviz's default of 10 is too small for sensors faster than /tf
# ("queue is full").
FILTER_SIZE = 100
# Depth of subscriptions that are not latched: more than a sensor publishes between two rviz frames.
DEPTH = 20


def shown(name: str, topic: Topic, *, enabled: bool = True) -> Properties | None:
    """Return the display of a topic with an absolute name; None if rviz has no display for it, such as for an Imu."""
    if topic.type not in DISPLAYS:
        return None
    plugin, properties = DISPLAYS[topic.type]
    return {**head(plugin, name, enabled=enabled), "Topic": subscription(topic), **properties}


def head(plugin: str, name: str, *, enabled: bool = True) -> Properties:
    """Return the properties that every display starts with."""
    return {
        "Class": plugin if "/" in plugin else f"{PLUGINS}/{plugin}",
        "Name": name,
        "Enabled": enabled,
        "Value": enabled,
    }


def subscription(topic: Topic) -> Properties:
    """Return a subscription that matches the QoS of the topic."""
    qos = topic.qos
    return {
        "Value": topic.name,
        "Depth": qos.depth if qos.latched else max(qos.depth, DEPTH),
        "Filter size": FILTER_SIZE,
        "History Policy": "Keep Last",
        "Reliability Policy": "Reliable" if qos.reliability == "reliable" else "Best Effort",
        "Durability Policy": "Transient Local" if qos.latched else "Volatile",
    }


def robot_model(name: str, description: Topic, tf_prefix: str) -> Properties:
    """Return the display of a robot, given its description topic (absolute name). tf_prefix: prefix of its frames."""
    return {
        **head("RobotModel", name),
        "Description Source": "Topic",
        "Description Topic": subscription(description),
        "TF Prefix": tf_prefix,
        "Visual Enabled": True,
        "Collision Enabled": False,
        "Alpha": 1,
        "Update Interval": 0,
    }


_POINTS: Properties = {
    "Style": "Flat Squares",
    "Size (m)": 0.04,
    "Alpha": 1,
    "Decay Time": 0,
    "Position Transformer": "XYZ",
    "Use Fixed Frame": True,
    "Selectable": True,
}
# The latest pose as an arrow; the covariance is disabled.
_ODOMETRY: Properties = {
    "Keep": 1,
    "Position Tolerance": 0,
    "Angle Tolerance": 0,
    "Covariance": {"Value": False},
    "Shape": {
        "Value": "Arrow",
        "Alpha": 1,
        "Color": "255; 25; 0",
        "Shaft Length": 0.4,
        "Shaft Radius": 0.02,
        "Head Length": 0.12,
        "Head Radius": 0.05,
    },
}

_SHIPPED: dict[str, Display] = {
    "nav_msgs/msg/Odometry": ("Odometry", _ODOMETRY),
    "nav_msgs/msg/Path": ("Path", {"Line Style": "Lines", "Color": "25; 255; 0", "Buffer Length": 1}),
    "sensor_msgs/msg/Image": ("Image", {"Normalize Range": True, "Median window": 5}),
    "sensor_msgs/msg/LaserScan": ("LaserScan", {**_POINTS, "Color Transformer": "AxisColor", "Axis": "Z"}),
    "sensor_msgs/msg/PointCloud2": (
        "PointCloud2",
        {
            **_POINTS,
            "Color Transformer": "Intensity",
            "Channel Name": "intensity",
            "Autocompute Intensity Bounds": True,
        },
    ),
    "sensor_msgs/msg/Range": ("Range", {"Color": "255; 255; 255", "Alpha": 0.4, "Buffer Length": 1}),
    "geometry_msgs/msg/PoseStamped": ("Pose", {"Shape": "Axes", "Axes Length": 0.5, "Axes Radius": 0.02}),
    # Scales: 1 N is shown as 1 cm, 1 N m as 10 cm.
    "geometry_msgs/msg/WrenchStamped": (
        "Wrench",
        {"Force Arrow Scale": 0.01, "Torque Arrow Scale": 0.1, "Arrow Width": 0.1, "History Length": 1},
    ),
    # A dot coloured by the value, between rviz's minimum and maximum.
    "sensor_msgs/msg/Temperature": ("Temperature", {"Style": "Spheres", "Size (m)": 0.1}),
    "sensor_msgs/msg/RelativeHumidity": ("RelativeHumidity", {"Style": "Spheres", "Size (m)": 0.1}),
    "sensor_msgs/msg/Illuminance": ("Illuminance", {"Style": "Spheres", "Size (m)": 0.1}),
    # Disabled, because most vehicles have a barometer whose colour hardly changes.
    "sensor_msgs/msg/FluidPressure": (
        "FluidPressure",
        {"Enabled": False, "Value": False, "Style": "Spheres", "Size (m)": 0.1},
    ),
    "visualization_msgs/msg/MarkerArray": ("MarkerArray", {}),
    "visualization_msgs/msg/Marker": ("Marker", {}),
    "nav_msgs/msg/OccupancyGrid": ("Map", {"Alpha": 0.7, "Color Scheme": "map", "Draw Behind": True}),
    "geometry_msgs/msg/PointStamped": ("PointStamped", {}),
    "geometry_msgs/msg/PolygonStamped": ("Polygon", {}),
    "geometry_msgs/msg/PoseArray": ("PoseArray", {}),
    "geometry_msgs/msg/PoseWithCovarianceStamped": ("PoseWithCovariance", {}),
}
for _type, _display in _SHIPPED.items():
    DISPLAYS.add(_type)(_display)
