"""Bags: rosbag2 recordings of runs and of the live graph, read, repaired, compared and replayed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sim_node.lazy import public

if TYPE_CHECKING:
    from sim_node.recording.bag import Bag, BagError, BagTopic
    from sim_node.recording.opening import open_bag

__all__ = ["Bag", "BagError", "BagTopic", "open_bag"]

__getattr__, __dir__ = public(
    __name__,
    {"Bag": "bag", "BagError": "bag", "BagTopic": "bag", "open_bag": "opening"},
)
