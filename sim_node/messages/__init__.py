"""Serialized ROS messages that are sent every tick: laid out once, rewritten in place. Independent of ROS."""

from sim_node.lazy import public

with public(__name__, Marker="FrameMarker"):
    from sim_node.messages.clock import ClockSink as ClockSink
    from sim_node.messages.definitions import UnknownMessage as UnknownMessage
    from sim_node.messages.encoding import LayoutFault as LayoutFault
    from sim_node.messages.encoding import encode as encode
    from sim_node.messages.layout import MessageLayout as MessageLayout
    from sim_node.messages.marker_messages import FrameMarker as FrameMarker
    from sim_node.messages.marker_messages import MarkerType as MarkerType
    from sim_node.messages.sensor_topics import SensorSink as SensorSink
    from sim_node.messages.tf_message_reader import TfMessageReader as TfMessageReader
    from sim_node.messages.tf_message_reader import TransformBatch as TransformBatch
    from sim_node.messages.tf_message_reader import Unreadable as Unreadable
    from sim_node.messages.tf_sink import TfMessageBytes as TfMessageBytes
    from sim_node.messages.tf_sink import TfSink as TfSink
    from sim_node.messages.topic import ChangingOutlet as ChangingOutlet
    from sim_node.messages.topic import Outlet as Outlet
    from sim_node.messages.topic import Qos as Qos
    from sim_node.messages.topic import Tee as Tee
    from sim_node.messages.topic import Topic as Topic
