"""What bags say of message types: their definitions and hashes, without a ROS installation."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

# The distribution whose messages sim_node writes.
DISTRIBUTION = "jazzy"


class UnknownType(Exception):
    """A message type whose definition is not known; the message names it."""


class Definition(NamedTuple):
    """A type's definition (ros2msg, with all that it refers to) and its hash (RIHS01, REP 2016)."""

    text: str
    type_hash: str


@cache
def definition_of(type: str) -> Definition:
    """The definition of package/msg/Name as ROS 2 Jazzy has it. Raises UnknownType."""
    store = _store()
    if type not in store.fielddefs:
        raise UnknownType(f"the definition of {type} is not known")
    text, _ = store.generate_msgdef(type, ros_version=2)
    return Definition(text, store.hash_rihs01(type))


@cache
def _store() -> Any:
    # Here, because loading it takes a tenth of a second.
    from rosbags.typesys import Stores, get_typestore

    return get_typestore(Stores.ROS2_JAZZY)
