"""rviz2 configuration for replaying a bag: its displayable topics, in its own frames."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace
from xml.etree.ElementTree import ParseError

import numpy as np
from defusedxml.common import DefusedXmlException
from defusedxml.ElementTree import fromstring

from sim_node.messages.tf_message_reader import Unreadable
from sim_node.messages.topic import Topic
from sim_node.recording.bag import Bag, BagTopic
from sim_node.recording.decoding import Decoder, UnreadableMessage
from sim_node.recording.frames import BagFrames
from sim_node.recording.qos import offer
from sim_node.viewing.display_sinks import MARKERS
from sim_node.viewing.extent import around
from sim_node.viewing.rviz import MAX_PICTURES, configuration, from_above, grid, marker_groups, tf
from sim_node.viewing.rviz_displays import DEPTH, Properties, robot_model, shown

_PICTURE, _TEXT = "sensor_msgs/msg/Image", "std_msgs/msg/String"


def bag_config(bag: Bag, unreadable: Unreadable) -> str:
    """Return the rviz2 configuration of a bag as YAML.

    The fixed frame is the root of the bag's tree. Subscriptions match the QoS that a replay offers.

    Args:
        bag: The bag.
        unreadable: Counts the messages that are skipped.

    Raises:
        BagError: The bag has no transforms.
    """
    frames = BagFrames(bag, unreadable)
    table = frames.table
    in_root = table.in_root(frames.poses)
    extent = around(np.concatenate([in_root[:, :3], frames.places]))
    robots = list(_robots(bag, table.names, unreadable))
    displays = [grid(extent), tf(table, frames.poses), *robots, *_topics(bag, described=bool(robots))]
    return configuration(table.names[0], displays, extent, [from_above(extent)])


def _topics(bag: Bag, *, described: bool) -> Iterator[Properties]:
    """Yield the displays of topics. described: whether robots are shown by their descriptions."""
    pictures = 0
    for topic in bag.topics:
        pictures += topic.type == _PICTURE
        display = shown(topic.name, _replayed(topic), enabled=topic.type != _PICTURE or pictures <= MAX_PICTURES)
        if display is not None and topic.type == MARKERS.type and topic.name.endswith("/markers"):
            display["Namespaces"] = marker_groups(described=described)
        if display is not None:
            yield display


def _robots(bag: Bag, frames: Collection[str], unreadable: Unreadable) -> Iterator[Properties]:
    """Yield the displays of robot descriptions, with the namespace as TF prefix if the bag's frames have it."""
    for topic in bag.topics:
        space, _, name = topic.name.rpartition("/")
        if name != "robot_description" or topic.type != _TEXT:
            continue
        decode = Decoder(topic)
        try:
            first = next((decode(message.data).data for message in bag.messages([topic.name])), "")
        except UnreadableMessage as error:
            unreadable.count(topic.name, error)
            continue
        try:
            links = [link.get("name", "") for link in fromstring(first).iter("link")]
        except (ParseError, DefusedXmlException):
            continue
        prefix = space.strip("/")
        if not any(f"{prefix}/{link}" in frames for link in links):
            prefix = ""
        yield robot_model(prefix or links[0] if links else topic.name, _replayed(topic), prefix)


def _replayed(topic: BagTopic) -> Topic:
    """Return a topic as a replay offers it. The replay chooses the depth of topics that are not latched."""
    qos = offer(topic)
    return Topic(topic.name, topic.type, qos if qos.latched else replace(qos, depth=DEPTH))
