"""Message definitions and type hashes for bags, without a ROS installation."""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import Any, NamedTuple

from sim_node.recording.bag import BagTopic
from sim_node.world.locate import share

# The ROS 2 distribution whose definitions are written.
DISTRIBUTION = "jazzy"
# Maximum number of cached definitions, because bags and peers may use any type names.
MAX_KEPT = 1024
# Separator of definitions in a ros2msg text.
_RULE = "=" * 80 + "\n"
# Start of IDL; its includes; rosbag2's separator of types.
_MODULE = re.compile(r"^\s*module\b", re.MULTILINE)
_INCLUDE = re.compile(r"^#.*$", re.MULTILINE)
_BETWEEN_IDL = re.compile(r"^=+\nIDL: .*$", re.MULTILINE)


class UnknownMessageType(Exception):
    """The definition of a message type is not known. The message names the type."""


class MessageDefinition(NamedTuple):
    """The definition of a type (ros2msg, with all types that it refers to) and its hash (RIHS01, REP 2016)."""

    text: str
    type_hash: str


@lru_cache(MAX_KEPT)
def definition_of(type: str) -> MessageDefinition:
    """Return the definition of package/msg/Name in ROS 2 Jazzy, or else as installed. Raises UnknownMessageType."""
    store = _store()
    if type not in store.fielddefs:
        installed = installed_definition(type)
        if installed is not None:
            return installed
        raise UnknownMessageType(f"the definition of {type} is not known")
    text, _ = store.generate_msgdef(type, ros_version=2)
    return MessageDefinition(text, store.hash_rihs01(type))


def definition_here(type: str) -> MessageDefinition:
    """Return the installed definition of package/msg/Name, as used by publishers here, or else that in ROS 2 Jazzy.

    Raises UnknownMessageType.
    """
    return installed_definition(type) or definition_of(type)


def bag_topic(name: str, type: str) -> BagTopic:
    """Return a BagTopic for a topic outside a bag. Its definition is empty if the type is not known."""
    try:
        known = definition_of(type)
    except UnknownMessageType:
        return BagTopic(name, type, 0)
    return BagTopic(name, type, 0, definition=known.text, type_hash=known.type_hash)


@lru_cache(MAX_KEPT)
def installed_definition(type: str) -> MessageDefinition | None:
    """Return the definition of package/msg/Name from the installed packages; None if a file is missing."""
    from rosbags.typesys import Stores, get_types_from_msg, get_typestore

    texts: dict[str, str] = {}
    types: dict[str, Any] = {}
    wanted = [type]
    while wanted:
        name = wanted.pop(0)
        if name in texts:
            continue
        package, _, last = name.partition("/msg/")
        folder = share(package)
        path = None if folder is None else folder / "msg" / f"{last}.msg"
        if path is None or not path.is_file():
            return None
        texts[name] = path.read_text(encoding="utf-8")
        found = get_types_from_msg(texts[name], name)
        types |= found
        wanted += [each for _, fields in found.values() for _, field in fields for each in _names(field)]
    store = get_typestore(Stores.EMPTY)
    store.register(types)
    parts = [f"{_RULE}MSG: {name.replace('/msg/', '/')}\n{text}" for name, text in texts.items() if name != type]
    return MessageDefinition("\n".join([texts[type], *parts]), store.hash_rihs01(type))


def types_in(type: str, definition: str) -> dict[str, Any]:
    """Return the fields of all types in a bag's definition of package/msg/Name, ros2msg or IDL, as parsed by rosbags.

    Raises rosbags' TypesysError.
    """
    from rosbags.typesys import get_types_from_idl, get_types_from_msg

    if not _MODULE.search(definition):
        return dict(get_types_from_msg(definition, type))
    parts = (part for part in _BETWEEN_IDL.split(_INCLUDE.sub("", definition)) if part.strip())
    return {name: fields for part in parts for name, fields in get_types_from_idl(part).items()}


def _names(field: Any) -> list[str]:
    """Return the message types that a rosbags field refers to."""
    kind, content = field
    if kind.name == "NAME":
        return [content]
    return _names(content[0]) if kind.name in ("ARRAY", "SEQUENCE") else []


@cache
def _store() -> Any:
    # Created on demand because loading takes a tenth of a second.
    from rosbags.typesys import Stores, get_typestore

    return get_typestore(Stores.ROS2_JAZZY)
