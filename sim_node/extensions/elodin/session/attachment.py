"""The bag attachment of a world in Python, which describes how to convert messages back to components."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from sim_node.extensions.elodin.component_sink import in_namespace, published_tables
from sim_node.extensions.elodin.component_topics import ComponentTable, topics_of_tables
from sim_node.extensions.elodin.frame_names import WORLD_POS
from sim_node.extensions.elodin.script import modules_beside
from sim_node.recording.worlds import Attached, files_below, library, run_attachments
from sim_node.world import World

# The name of the attachment that a reader needs.
COMPONENTS = "components.json"


def described(
    tables: Sequence[ComponentTable],
    constant: Collection[str],
    start_us: int,
    step: float,
    record_every: int = 1,
    names: Mapping[str, str] | None = None,
) -> Attached:
    """Return the attachment that describes components.

    Args:
        tables: The components.
        constant: The names of the components that never change.
        start_us: Start time, microseconds since 1970.
        step: Time between two ticks, s.
        record_every: The number of ticks from one recorded tick to the next.
        names: The names of topics in the bag, where they differ from those of the components.
    """
    about = {
        "start_us": start_us,
        "step": step,
        "record_every": record_every,
        "constant": tuple(constant),
        "components": [asdict(table) for table in tables],
        "topics": names or {},
    }
    data = json.dumps(about, indent=1, ensure_ascii=False).encode() + b"\n"
    return Attached(COMPONENTS, "application/json", data, everywhere=True)


def with_script(script: str | Path | None, components: Attached, start_us: int) -> tuple[tuple[Attached, ...], str]:
    """Return the attachments of a script's own recording, including its local modules, and the name of its world."""
    path = None if script is None else Path(script)
    files = files_below((path, *modules_beside(path))) if path is not None and path.is_file() else ()
    contents = [(f"world/{name}", file.read_bytes()) for name, file in files]
    name = "world" if path is None else path.stem
    return (*run_attachments(name, contents, {"start_us": start_us}), components), name


def custom_data(name: str) -> Mapping[str, str]:
    """Return the custom data of metadata.yaml."""
    return {"written_by": library(), "world": name}


def of_session(world: World, publish_rate: float, prefix: str, resolve: Callable[[str], str]) -> tuple[Attached, ...]:
    """Return the attachment of a session's recording.

    Args:
        world: The world; it must be in Python.
        publish_rate: Published ticks per simulated second (Hz).
        prefix: Prefix of the names of all frames and topics.
        resolve: Makes the names of topics absolute.
    """
    step = world.python.captured.program.structure.step
    tables, constant = published_tables(world, prefix)
    if world.python.captured.source is not None:
        # The world also has frames that are not of entities.
        tables = [table for table in tables if table.name != WORLD_POS]
    topics = [each.topic for each in topics_of_tables(tables, constant)]
    own = {each.name: resolve(in_namespace(each).name) for each in topics if each.name != "/tf"}
    names = {name: found for name, found in own.items() if name != found}
    every = max(1, round(1.0 / (step * publish_rate)))
    return (described(tables, constant, world.time.start_ns // 1000, step, every, names),)
