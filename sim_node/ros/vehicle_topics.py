"""A vehicle on the graph: its telemetry topics, its frames in both conventions, and its interpolated pose."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sim_node.mavlink.axes import Quaternion
from sim_node.mavlink.telemetry import Telemetry
from sim_node.mavlink.topics import VehicleTopic
from sim_node.messages.tf_sink import TF, TF_STATIC, SendPoses, serialised
from sim_node.messages.topic import Outlet, Send
from sim_node.spatial.frames import Frame
from sim_node.spatial.frames.axes import rotation
from sim_node.spatial.geometry.arrays import FloatArray


class VehiclePublishers:
    """Publishes serialized messages on the topics below a vehicle's name.

    sensors: namespace of measurements below that name. now_ns: the graph's clock.
    """

    def __init__(self, outlet: Outlet, name: str, sensors: str, now_ns: Callable[[], int]) -> None:
        self._outlet, self._name, self._sensors, self._now_ns = outlet, name, sensors, now_ns
        self._sends: dict[VehicleTopic, Send] = {}

    def send(self, topic: VehicleTopic, data: bytes) -> None:
        """Publish a message."""
        send = self._sends.get(topic)
        if send is None:
            send = self._sends[topic] = self._outlet.advertise(topic.below(self._name, self._sensors))
        send(self._now_ns(), data)


class VehicleTf:
    """Publishes map -> map_ned and base_link -> base_link_frd once, and parent -> base_link in `stream`.

    parent: parent of the moving frame; None to publish none.
    """

    def __init__(self, outlet: Outlet, telemetry: Telemetry, parent: str | None) -> None:
        frames = telemetry.frames
        self._poses = telemetry.poses
        parents, children = [frames.map, frames.base], [frames.map_ned, frames.base_frd]
        turns = [rotation(Frame.NED, Frame.ENU, None), rotation(Frame.FRD, Frame.FLU, None)]
        if parent == frames.odom:
            parents.append(frames.odom)
            children.append(frames.odom + "_ned")
            turns.append(turns[0])
        self._advertise = advertise = serialised(outlet)
        self._base = frames.base
        self._fixed: dict[str, SendPoses] = {}
        self._still = advertise(TF_STATIC)(parents, children)
        self._still_poses: FloatArray = np.zeros((len(parents), 7))
        self._still_poses[:, 3:] = turns
        self._moving = advertise(TF)([parent], [frames.base]) if parent else None
        self._row: FloatArray = np.zeros((1, 7))
        self._last_ns = 0

    def publish_static(self, stamp_ns: int) -> None:
        """Publish the static frames."""
        self._still(stamp_ns, self._still_poses)

    def publish_fixed(self, child: str, rotation: Quaternion, stamp_ns: int) -> None:
        """Publish a frame that is fixed to base_link. A separate publisher latches it beside the others."""
        send = self._fixed.get(child)
        if send is None:
            send = self._fixed[child] = self._advertise(TF_STATIC)([self._base], [child])
        send(stamp_ns, np.array([[0.0, 0.0, 0.0, *rotation]]))

    def stream(self, at_ns: int, ahead_ns: int) -> None:
        """Publish the pose at a time, if telemetry is available and that pose has not been published yet."""
        if self._moving is None or at_ns == self._last_ns:
            return
        pose = self._poses.at(at_ns, ahead_ns)
        if pose is not None:
            self._last_ns = at_ns
            self._row[0] = pose
            self._moving(at_ns, self._row)
