"""Bags: rosbag2 recordings of runs and of the live graph: read, repair, compare and replay them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sim_node.lazy import public

if TYPE_CHECKING:
    from sim_node.recording.bag import (
        Bag,
        BagAttachment,
        BagError,
        BagMessage,
        BagTopic,
        DecodedMessage,
        RecordingStopped,
        storage,
    )
    from sim_node.recording.opening import is_bag, open_bag
    from sim_node.recording.recorder import Recorder
    from sim_node.recording.settings import Settings, SettingsFault
    from sim_node.recording.split_bag import SplitBag
    from sim_node.recording.transforms import BagTransforms

__all__ = [
    "Bag",
    "BagAttachment",
    "BagError",
    "BagMessage",
    "BagTopic",
    "BagTransforms",
    "DecodedMessage",
    "Recorder",
    "RecordingStopped",
    "Settings",
    "SettingsFault",
    "SplitBag",
    "is_bag",
    "open_bag",
    "storage",
]

__getattr__, __dir__ = public(
    __name__,
    {
        "Bag": "bag",
        "BagAttachment": "bag",
        "BagError": "bag",
        "BagMessage": "bag",
        "BagTopic": "bag",
        "BagTransforms": "transforms",
        "DecodedMessage": "bag",
        "Recorder": "recorder",
        "RecordingStopped": "bag",
        "Settings": "settings",
        "SettingsFault": "settings",
        "SplitBag": "split_bag",
        "is_bag": "opening",
        "open_bag": "opening",
        "storage": "bag",
    },
)
