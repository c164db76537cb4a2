"""The sensors of a world that a scene can show."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from sim_node.messages.sensor_topics import messages_of
from sim_node.simulation.sensors import Channels, groups_of
from sim_node.simulation.sensors.registry import Index
from sim_node.viewing.browser.sensor_views import VIEWS
from sim_node.world import FrameTable, World


class SensorTopicView(NamedTuple):
    """A source of messages whose type is in VIEWS.

    frame: the sensor's frame. fields: constant fields of its messages. of: the part of a measurement to show.
    """

    frame: str
    type: str
    fields: Mapping[str, Any]
    of: Index = ...


def topic_views_of(world: World, frames: FrameTable) -> dict[str, SensorTopicView]:
    """Return the sensors of a world that can be shown, by name, each with its first message type that has a view."""
    found: dict[str, SensorTopicView] = {}
    for group in groups_of(world):
        for name, sensor in zip(group.names, group.sensors, strict=True):
            messages = [each.message for each in messages_of(group.kind, name, sensor, world.fixed_frame)]
            # Camera images are drawn using the fields of their CameraInfo.
            constant = {path: value for message in messages for path, value in message.fields.items()}
            for message in messages:
                frame = message.fields.get("header.frame_id", name)
                changing = [value.of for value in message.fields.values() if isinstance(value, Channels)]
                if message.type in VIEWS and changing and frame in frames.names:
                    found.setdefault(
                        name, SensorTopicView(frame, message.type, {**constant, **message.fields}, changing[0])
                    )
    return found
