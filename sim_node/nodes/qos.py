"""The QoS profiles, those that tf2_ros and rclcpp use for the same topics."""

from __future__ import annotations

from rclpy.qos import DurabilityPolicy, HistoryPolicy, QoSProfile, ReliabilityPolicy

TF = QoSProfile(depth=100, history=HistoryPolicy.KEEP_LAST, reliability=ReliabilityPolicy.RELIABLE)
TF_STATIC = QoSProfile(
    depth=1,
    history=HistoryPolicy.KEEP_LAST,
    reliability=ReliabilityPolicy.RELIABLE,
    durability=DurabilityPolicy.TRANSIENT_LOCAL,
)
# A late listener to tf2's own profile keeps as many latched messages as there are broadcasters, up to 100.
TF_STATIC_LISTENER = QoSProfile(
    depth=100,
    history=HistoryPolicy.KEEP_LAST,
    reliability=ReliabilityPolicy.RELIABLE,
    durability=DurabilityPolicy.TRANSIENT_LOCAL,
)
# Reliable, so that best-effort subscribers (rclcpp's ClockQoS) and reliable ones both match.
CLOCK = QoSProfile(depth=1, history=HistoryPolicy.KEEP_LAST, reliability=ReliabilityPolicy.RELIABLE)
DIAGNOSTICS = QoSProfile(depth=10)
# rmw_qos_profile_sensor_data, deep enough for what the fastest sensors tell between two ticks.
SENSOR_DATA = QoSProfile(depth=50, history=HistoryPolicy.KEEP_LAST, reliability=ReliabilityPolicy.BEST_EFFORT)
