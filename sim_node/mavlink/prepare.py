"""Preparation of the first mission, setpoint and message of each kind, before links are open.

Imports depend on the disk, and compiling a kernel takes up to seconds. Meanwhile the bridge's loop would send no
setpoint and no heartbeat, and PX4's failsafes act after half a second.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from sim_node.mavlink.codec import first_frame_bytes, frame_bytes, load_kinds
from sim_node.mavlink.mission.plan import as_messages, read_plan
from sim_node.mavlink.telemetry import PX4, Home
from sim_node.mavlink.topics import TOPICS
from sim_node.mavlink.translation import TRANSLATIONS
from sim_node.messages.encoding import encode
from sim_node.messages.tf_sink import TF
from sim_node.spatial.frames import Frame, Ned, convert_covariance, convert_position, geoid_undulation

_HOME = Home(47.397742, 8.545594, 488.0, Ned((0.0, 0.0, 0.0)))
_PLAN = "frame: enu\nitems: [{type: waypoint, position: [0, 0, 1]}]"


@cache
def prepare() -> None:
    """Import, compile and read all that the bridge's loop and its missions use. Do nothing if called again."""
    load_kinds()
    TRANSLATIONS.table()
    for topic in TOPICS.values():
        encode(topic.type.replace("/", "/msg/"), {})
    encode(TF.type, {})
    frame_bytes("HEARTBEAT", {}, 1, 1, 0)
    first_frame_bytes("HEARTBEAT", {}, 1, 1, 0)
    as_messages(read_plan(_PLAN, "plan"), _HOME, PX4)
    place = _HOME.latitude, _HOME.longitude, _HOME.altitude_msl
    convert_position(place, Frame.LLA, Frame.NED, place)
    convert_position((0.0, 0.0, 0.0), Frame.NED, Frame.LLA, place)
    convert_covariance(np.eye(6), Frame.NED, Frame.ENU)
    geoid_undulation(_HOME.latitude, _HOME.longitude)
