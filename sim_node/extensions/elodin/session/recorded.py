"""Reading of the bag of a world in Python: components as arrays and tables, bit for bit as recorded."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from sim_node.extensions.elodin.component_topics import ComponentTable, ComponentTopic, topics_of_tables
from sim_node.extensions.elodin.errors import EcsError, caller
from sim_node.extensions.elodin.session.attachment import COMPONENTS
from sim_node.messages.clock import CLOCK
from sim_node.recording.bag import Bag, BagError
from sim_node.recording.opening import open_bag
from sim_node.session.errors import needing
from sim_node.text import did_you_mean

if TYPE_CHECKING:
    import polars

Array = npt.NDArray[Any]
Stamps = npt.NDArray[np.int64]


def open_recording(path: str | Path) -> RecordedRun:
    """Open the bag of a world in Python. Use it in a `with` statement, or close it after use.

    Args:
        path: The folder of the bag, or its file.

    Returns:
        The recorded run.

    Raises:
        BagError: The bag cannot be read, or is not of a world in Python.
    """
    bag = open_bag(path)
    try:
        found = next((each.data for each in bag.attachments() if each.name == COMPONENTS), None)
        if found is None:
            raise BagError(f"{path}: is not a recording of a world in Python: it has no {COMPONENTS}")
        return RecordedRun(path, bag, found)
    except BaseException:
        bag.close()
        raise


class RecordedRun:
    """A recorded run of a world in Python, opened by `open_recording`.

    Args:
        path: The folder, or its file, for messages.
        bag: The bag.
        about: The description of its components.

    Attributes:
        start_us: Start time, microseconds since 1970.
        step: Time between two ticks, s.
        record_every: The number of ticks from one recorded tick to the next.
        components: The components by name.
    """

    def __init__(self, path: str | Path, bag: Bag, about: bytes) -> None:
        self._path, self._bag = path, bag
        try:
            found = json.loads(about)
            self.start_us, self.record_every = int(found["start_us"]), int(found["record_every"])
            self.step = float(found["step"])
            tables = [_table(each) for each in found["components"]]
            self._topics = topics_of_tables(tables, found["constant"])
            # The names of topics in the bag, where they differ.
            self._names: dict[str, str] = dict(found.get("topics", {}))
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise BagError(f"{path}: attachment {COMPONENTS} is damaged: {error}") from None
        self.components: Mapping[str, ComponentTable] = {table.name: table for table in tables}

    @property
    def names(self) -> list[str]:
        """All names for `history`: `entity.component`."""
        return [f"{entity}.{table.name}" for table in self.components.values() for entity in table.entities]

    def values(self, component: str, entity: str) -> tuple[Stamps, Array]:
        """Return the recorded values of a component of an entity, with their times.

        Args:
            component: The component.
            entity: The entity.

        Returns:
            Times (T,), ns, and values (T, *shape).

        Raises:
            EcsError: There is no such component.
            BagError: Messages are not those of this component.
        """
        [series], _ = self._series([f"{entity}.{component}"])
        return series

    def history(self, names: str | Iterable[str]) -> polars.DataFrame:
        """Return components over time, like Exec.history.

        Args:
            names: One or several names `entity.component`.

        Returns:
            A column `time`, and one for each name. At ticks at which a component was not recorded, it has its last
            value.

        Raises:
            EcsError: There is no such component.
            BagError: Messages are not those of this component.
            MissingExtra: Polars is not installed.
        """
        with needing("the history of a recording"):
            import polars
        wanted = list(dict.fromkeys([names] if isinstance(names, str) else names))
        series, ticks = self._series(wanted)
        times = np.unique(np.concatenate([ticks, *(stamps for stamps, _ in series)]))
        columns = [polars.Series("time", (times // 1000).view("datetime64[us]"))]
        for name, (stamps, values) in zip(wanted, series, strict=True):
            at = np.searchsorted(stamps, times, side="right") - 1
            flat = values.reshape(len(values), -1) if values.ndim > 1 else values
            filled = flat[np.maximum(at, 0)] if len(flat) else np.zeros((len(times), *flat.shape[1:]), flat.dtype)
            column = polars.Series(name, filled)
            columns.append(
                column if (at >= 0).all() else column.zip_with(polars.Series(at >= 0), column.clear(len(at)))
            )
        return polars.DataFrame(columns)

    def close(self) -> None:
        """Close the bag."""
        self._bag.close()

    def __enter__(self) -> RecordedRun:
        return self

    def __exit__(self, *of: object) -> None:
        self.close()

    def _series(self, names: list[str]) -> tuple[list[tuple[Stamps, Array]], Stamps]:
        """Return the times and values of each `entity.component`, and the times of all ticks."""
        known = set(self.names)
        for name in names:
            if name not in known:
                near = did_you_mean(name, self.names)
                raise EcsError(f"there is no component {name!r} in {self._path}{near}", caller(), "history")
        places = [self._place(*name.rsplit(".", 1)) for name in names]
        none: tuple[Stamps, list[bytes]] = (np.empty(0, np.int64), [])
        messages = self._messages({CLOCK.name, *(topic.topic.name for topic, _ in places)})
        decoded: dict[ComponentTopic, tuple[Stamps, Array]] = {}
        for topic, _ in places:
            if topic not in decoded:
                decoded[topic] = self._decoded(topic, *messages.get(topic.topic.name, none))
        series = [(decoded[topic][0], decoded[topic][1][:, row]) for topic, row in places]
        return series, messages.get(CLOCK.name, none)[0]

    def _place(self, entity: str, component: str) -> tuple[ComponentTopic, int]:
        """Return the topic of a component of an entity, and its row there."""
        row = self.components[component].entities.index(entity)
        for topic in self._topics:
            if topic.component == component and topic.rows.start <= row < topic.rows.stop:
                return topic, row - topic.rows.start
        raise AssertionError(f"{entity}.{component} is on no topic")

    def _messages(self, topics: Iterable[str]) -> dict[str, tuple[Stamps, list[bytes]]]:
        """Return times and messages by topic."""
        stamps: dict[int, list[int]] = {}
        found: dict[int, list[bytes]] = {}
        for message in self._bag.messages([self._names.get(name, name) for name in topics]):
            stamps.setdefault(message.topic, []).append(message.time_ns)
            found.setdefault(message.topic, []).append(message.data)
        names = [topic.name for topic in self._bag.topics]
        own = {given: name for name, given in self._names.items()}
        return {
            own.get(names[topic], names[topic]): (np.array(stamps[topic], np.int64), each)
            for topic, each in found.items()
        }

    def _decoded(self, topic: ComponentTopic, stamps: Stamps, messages: list[bytes]) -> tuple[Stamps, Array]:
        sizes = np.array([len(each) for each in messages], np.int64)
        right = np.flatnonzero(sizes == topic.size)
        data = np.frombuffer(b"".join([messages[at] for at in right]), np.uint8).reshape(len(right), topic.size)
        fits = topic.fits(data)
        # Entities that callbacks write at their own times share /tf, but each has its own messages.
        if fits.sum() < len(messages) and not self.components[topic.component].external:
            raise BagError(f"{self._path}: {topic.topic.name}: a message is not one of {topic.component!r}")
        return stamps[right[fits]], topic.decode(data[fits])


def _table(entry: Mapping[str, Any]) -> ComponentTable:
    table = ComponentTable(**entry)
    return ComponentTable(
        **{**vars(table), "shape": tuple(map(int, table.shape)), "entities": tuple(map(str, table.entities))}
    )
