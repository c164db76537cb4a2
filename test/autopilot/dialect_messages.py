"""Messages of vehicles under the names of others: their definitions, an independent library's types, what was heard."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from pymavlink.dialects.v20 import all as mavlink
from rosbags.typesys import Stores, get_types_from_msg, get_typestore

from sim_node.cli.build import interface_texts
from sim_node.mavlink.dialects import VehicleNames, field_names
from sim_node.mavlink.parser import Parser
from sim_node.mavlink.telemetry import Heartbeat, Telemetry
from sim_node.mavlink.topics import FrameNames
from sim_node.mavlink.translation import TRANSLATIONS
from sim_node.messages import definitions

ARRIVAL = 1_700_000_000_000_000_000
MAV = mavlink.MAVLink(None, 1, 1)


def install(prefix: Path, package: str, texts: Mapping[str, str]) -> None:
    """Write the definitions of a package as `sim_node build` installs them, without the build."""
    for name, text in texts.items():
        path = prefix / "share" / package / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


@contextmanager
def installed(prefix: Path, packages: Sequence[str], *caches: Any) -> Iterator[None]:
    """Let packages be those that are installed; what was read of them before and meanwhile is forgotten."""
    for package in packages:
        install(prefix, package, interface_texts(package))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AMENT_PREFIX_PATH", str(prefix))
        yield
    for each in (definitions.fields_of, definitions.constant_of, field_names, *caches):
        each.cache_clear()


@cache
def typestore(*packages: str) -> Any:
    """Return the types of packages as rosbags reads them, which takes half a second the first time."""
    store = get_typestore(Stores.ROS2_JAZZY)
    found: dict[str, Any] = {}
    for package in packages:
        for name, text in interface_texts(package).items():
            if name.endswith(".msg"):
                found |= get_types_from_msg(text, f"{package}/msg/{Path(name).stem}")
    store.register(found)
    return store


class HeardVehicle:
    """A vehicle under other names, and what came of the messages that it was given, by topic."""

    names: VehicleNames

    def __init__(self, store: Any, autopilot: int, system: int = 1, frames: FrameNames | None = None) -> None:
        self.messages: dict[str, list[Any]] = {}
        self._store = store
        self.vehicle = Telemetry(system, frames or FrameNames(), lambda topic, data: None)
        self.vehicle.publishes = False
        self.vehicle.heartbeat = Heartbeat(autopilot=autopilot, type=2)
        self.vehicle.arrival_ns = ARRIVAL

    def send(self, topic: Any, data: bytes) -> None:
        read = self._store.deserialize_cdr(data, topic.type.replace("/", "/msg/"))
        self.messages.setdefault(topic.name.removeprefix("fmu/out/"), []).append(read)

    def give(self, message: Any, after_ns: int = 0) -> dict[str, list[Any]]:
        self.vehicle.arrival_ns += after_ns
        self.messages.clear()
        self.take(message.pack(MAV))
        return self.messages

    def take(self, frame: bytes) -> None:
        [parsed] = Parser(datagrams=True).feed(frame)
        if parsed.name in TRANSLATIONS:
            TRANSLATIONS[parsed.name](parsed.fields, self.vehicle)
        if self.names.reads(parsed.name):
            self.names.receive(parsed.name, parsed.fields)
