"""CDR bytes of ROS messages that are sent every tick: laid out once, rewritten in place. Independent of ROS."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sim_node.lazy import public

if TYPE_CHECKING:
    from sim_node.wire.clock import ClockSink
    from sim_node.wire.definitions import UnknownMessage
    from sim_node.wire.encoding import LayoutFault, encode
    from sim_node.wire.layout import MessageLayout
    from sim_node.wire.marker_messages import Marker, MarkerType
    from sim_node.wire.sensor_topics import SensorSink
    from sim_node.wire.tf_message_reader import TfMessageReader, TransformBatch, Unreadable
    from sim_node.wire.tf_sink import TfMessageBytes, TfSink
    from sim_node.wire.topic import ChangingOutlet, Outlet, Qos, Tee, Topic

__all__ = [
    "ChangingOutlet",
    "ClockSink",
    "LayoutFault",
    "Marker",
    "MarkerType",
    "MessageLayout",
    "Outlet",
    "Qos",
    "SensorSink",
    "Tee",
    "TfMessageBytes",
    "TfMessageReader",
    "TfSink",
    "Topic",
    "TransformBatch",
    "UnknownMessage",
    "Unreadable",
    "encode",
]

__getattr__, __dir__ = public(
    __name__,
    {
        "ChangingOutlet": "topic",
        "ClockSink": "clock",
        "LayoutFault": "encoding",
        "Marker": "marker_messages",
        "MarkerType": "marker_messages",
        "MessageLayout": "layout",
        "Outlet": "topic",
        "Qos": "topic",
        "SensorSink": "sensor_topics",
        "Tee": "topic",
        "TfMessageBytes": "tf_sink",
        "TfMessageReader": "tf_message_reader",
        "TfSink": "tf_sink",
        "Topic": "topic",
        "TransformBatch": "tf_message_reader",
        "UnknownMessage": "definitions",
        "Unreadable": "tf_message_reader",
        "encode": "encoding",
    },
)
