"""Odometry of wheeled bases: nav_msgs/Odometry, and the transforms from odom to base."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from sim_node.messages.layout import MessageLayout
from sim_node.messages.sensor_topics import topic_of
from sim_node.messages.topic import Qos, Topic
from sim_node.messages.topic_sink import TopicSink
from sim_node.simulation import Snapshot
from sim_node.simulation.physics.bases import ODOMETRY
from sim_node.simulation.sensors.noise import UNKNOWN_VARIANCE
from sim_node.spatial.geometry import poses as pose_math
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.world import FrameTable, World
from sim_node.world.bases import Base

TYPE = "nav_msgs/msg/Odometry"
# Assumptions for the covariances, for wheel slip on a floor: standard deviations of the position after one metre, of
# the heading after one radian or one metre, and of the twist; m, rad, m/s and rad/s.
POSITION_DRIFT, HEADING_DRIFT, LINEAR_DEVIATION, ANGULAR_DEVIATION = 0.02, 0.02, 0.02, 0.03


def odometry_topics(world: World, prefix: str = "") -> list[Topic]:
    """Return the topic NAME/odom of each base of a world, in order."""
    return [Topic(topic_of(prefix + base.name, "odom"), TYPE, Qos()) for base in world.of(Base)]


class OdometrySink(TopicSink):
    """Publishes the odometry of all bases at every tick, reliably, with the same stamps as /tf."""

    def open(self, world: World, frames: FrameTable) -> None:
        """Lay out the messages."""
        sends = self._topics.renew(odometry_topics(world, self._prefix))
        made = (_OdometryMessage(self._prefix + base.odom, self._prefix + base.body) for base in world.of(Base))
        self._messages = list(zip(sends, made, strict=True))

    def refuses(self, world: World) -> str | None:
        """Return why the odometry of a changed world cannot be published, or None."""
        return self._topics.refused(odometry_topics(world, self._prefix))

    def write(self, snapshot: Snapshot) -> None:
        """Publish the odometry of a snapshot."""
        if not self._messages:
            return
        stamp_ns = self._stamp(snapshot.time_ns)
        for (send, message), row in zip(self._messages, snapshot[ODOMETRY].tolist(), strict=True):
            send(stamp_ns, message.write(stamp_ns, row))


class _OdometryMessage:
    """The CDR of a nav_msgs/Odometry, laid out once."""

    def __init__(self, odom: str, body: str) -> None:
        twist = [LINEAR_DEVIATION**2, LINEAR_DEVIATION**2, *[UNKNOWN_VARIANCE] * 3, ANGULAR_DEVIATION**2]
        fields: dict[str, Any] = {
            "header.frame_id": odom,
            "child_frame_id": body,
            "pose.pose": np.array(pose_math.IDENTITY),
            "pose.covariance": np.diag([0.0, 0.0, *[UNKNOWN_VARIANCE] * 3, 0.0]).ravel(),
            "twist.twist": np.zeros(6),
            "twist.covariance": np.diag(twist).ravel(),
        }
        self._layout = MessageLayout(TYPE, fields)
        self._pose, self._variances = self._layout.at("pose.pose"), self._layout.at("pose.covariance")
        self._twist = self._layout.at("twist.twist")

    def write(self, stamp_ns: int, row: list[float]) -> bytes:
        x, y, yaw, vx, vy, turn, path, turned = row
        self._pose[:2], self._pose[5], self._pose[6] = (x, y), math.sin(0.5 * yaw), math.cos(0.5 * yaw)
        self._twist[:2], self._twist[5] = (vx, vy), turn
        self._variances[0] = self._variances[7] = POSITION_DRIFT**2 * path
        self._variances[35] = HEADING_DRIFT**2 * (path + turned)
        return self._layout.write(stamp_ns)


class BaseTransforms(NamedTuple):
    """The transforms on /tf that replace those of the frame table for bases with odometry.

    In the frame table, odom is a child of its base. On /tf, it is the parent of the base (REP 105), and the child of
    the base's own parent.

    Attributes:
        rows: Rows of the frame table that are not sent unchanged.
        parents: Parents of the transforms that are sent instead.
        children: Children of these transforms.
        bodies: Rows of the bases.
        odoms: Rows of their odometry frames.
        localised: Which of the bases have a transform from the fixed frame to odom.
    """

    rows: frozenset[int]
    parents: list[str]
    children: list[str]
    bodies: list[int]
    odoms: list[int]
    localised: list[int]

    @classmethod
    def of(cls, world: World, frames: FrameTable, ids: list[str]) -> BaseTransforms:
        """Return the transforms for a world's bases. ids: names on /tf of the rows of the frame table."""
        bases = [base for base in world.of(Base) if base.transforms != "truth"]
        bodies, odoms = ([frames.index(getattr(base, key)) for base in bases] for key in ("body", "odom"))
        localised = [k for k, base in enumerate(bases) if base.transforms == "localised"]
        return cls(
            frozenset([*bodies, *odoms]),
            [*(ids[frames.parents[bodies[k]]] for k in localised), *(ids[row] for row in odoms)],
            [*(ids[odoms[k]] for k in localised), *(ids[row] for row in bodies)],
            bodies,
            odoms,
            localised,
        )

    def write(self, poses: FloatArray) -> FloatArray:
        """Return the poses of the transforms, given those (N, 7) of the frame table."""
        odoms = poses[self.odoms]
        starts = pose_math.compose(poses[self.bodies], odoms)[self.localised]
        return np.concatenate([starts, pose_math.invert(odoms)])
