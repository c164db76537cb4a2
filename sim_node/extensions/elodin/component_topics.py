"""Components of a world in Python as topics: the choice of message, and its encoding for many instants at once."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from sim_node import names
from sim_node.extensions.elodin.errors import EcsError
from sim_node.extensions.elodin.frame_names import FIXED_FRAME, WORLD, WORLD_POS, frame_name
from sim_node.messages.clock import CLOCK
from sim_node.messages.layout import MessageLayout
from sim_node.messages.message_rows import MessageRows, StridedNumbers
from sim_node.messages.sensor_topics import ros_name
from sim_node.messages.tf_sink import TF, TF_STATIC
from sim_node.messages.topic import LATCHED, Qos, Topic

if TYPE_CHECKING:
    from sim_node.extensions.elodin.structure import ComponentStructure


# The limit of rmw for a topic name, less its prefix of 8 characters.
MAX_LENGTH = 247


def topic_name(component: str, entity: str = "") -> str:
    """Return the topic name of a component, in characters that ROS allows.

    Entity names are converted to lower case; characters other than ASCII letters, digits and slashes become `_`; a part
    that begins with a digit is prefixed with `_`. `mass` of `Saturn V/1st stage` is on `/saturn_v/_1st_stage/mass`.

    Args:
        component: The component.
        entity: The entity, or an empty string for a topic that several entities share.
    """
    last = ros_name(frame_name(component))
    return f"/{ros_name(frame_name(entity).lower())}/{last}" if entity else f"/{last}"


def frames_of(entities: Iterable[str], fixed_frame: str = FIXED_FRAME) -> list[str]:
    """Return the frame names of entities.

    Raises:
        EcsError: Two entities would have the same frame, one would have that of the world, or a name is too long.
    """
    used = {fixed_frame: "the world"}
    found = []
    for entity in entities:
        frame = frame_name(entity)
        fault = names.fault(frame)
        if fault is not None:
            raise EcsError(f"the frame of entity {entity!r} {fault}", key=WORLD_POS)
        if frame in used:
            raise EcsError(
                f"entity {entity!r} and {used[frame]} have the same frame, {frame}; rename the entity", key=WORLD_POS
            )
        used[frame] = f"entity {entity!r}"
        found.append(frame)
    return found


def claimed(used: dict[str, str], name: str, owner: str) -> str:
    """Record the owner of a topic and return the topic. Raises EcsError if it is taken or too long."""
    if name in used:
        raise EcsError(f"{owner} and {used[name]} would both be on the topic {name}; rename one", key="topics")
    if len(name) > MAX_LENGTH:
        raise EcsError(f"{owner}: its topic has {len(name)} characters; allowed: up to {MAX_LENGTH}", key="topics")
    used[name] = owner
    return name


# With more topics than this, the entities of a component share one.
MAX_TOPICS = 200
# As deep as the queues of sensors, and reliable: reliable publishers match every subscriber.
STATES = Qos(depth=50)
# The MultiArray prefix for each dtype; std_msgs has none for bool.
_ARRAYS = {
    "float64": "Float64",
    "float32": "Float32",
    **{f"{sign}int{bits}": f"{sign.upper()}Int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)},
    "bool": "UInt8",
}


@dataclass(frozen=True)
class ComponentTable:
    """What messages need to know about a component of a world.

    Attributes:
        name: Its name.
        dtype: The NumPy type of its numbers.
        shape: The shape of a value.
        entities: The names of the entities that have it, in the order of spawning.
        labels: The labels of its elements, if any.
        once: Whether its values never change, as for edges and assets.
        external: Whether callbacks write it, at times of their own choice.
        private: Whether exports leave it out.
        frame: The frame in which poses and vectors are expressed.
    """

    name: str
    dtype: str
    shape: tuple[int, ...]
    entities: tuple[str, ...]
    labels: tuple[str, ...] = ()
    once: bool = False
    external: bool = False
    private: bool = False
    frame: str = FIXED_FRAME

    @property
    def size(self) -> int:
        """The number of elements of a value."""
        return int(np.prod(self.shape, dtype=np.int64))


@dataclass(frozen=True)
class _Standard:
    """A standard message that suits a component, by the component's name and layout.

    Attributes:
        type: package/msg/Name.
        size: The number of elements of a value, float64.
        fields: The slice of a value that each field has, by path.
        in_body: Whether the values are expressed in the entity's frame instead of the fixed frame.
    """

    type: str
    size: int
    fields: Mapping[str, slice]
    in_body: bool = False


# Spatial vectors are [angular linear] in the axes of the fixed frame; inertias [Ix Iy Iz px py pz m] in those of the
# body.
_STANDARD = {
    "world_vel": _Standard(
        "geometry_msgs/msg/TwistStamped", 6, {"twist.angular": slice(0, 3), "twist.linear": slice(3, 6)}
    ),
    "world_accel": _Standard(
        "geometry_msgs/msg/AccelStamped", 6, {"accel.angular": slice(0, 3), "accel.linear": slice(3, 6)}
    ),
    "force": _Standard(
        "geometry_msgs/msg/WrenchStamped", 6, {"wrench.torque": slice(0, 3), "wrench.force": slice(3, 6)}
    ),
    "inertia": _Standard(
        "geometry_msgs/msg/InertiaStamped",
        7,
        {
            "inertia.ixx": slice(0, 1),
            "inertia.iyy": slice(1, 2),
            "inertia.izz": slice(2, 3),
            "inertia.com": slice(3, 6),
            "inertia.m": slice(6, 7),
        },
        in_body=True,
    ),
}
_TRANSFORM = {"transforms[].transform.rotation": slice(0, 4), "transforms[].transform.translation": slice(4, 7)}


class ComponentTopic:
    """A topic, and the rows of a component that its messages carry.

    Args:
        topic: The topic.
        table: The component.
        rows: The rows of the table.
        layout: The layout of the message for one instant.
        fields: The slice of a value that each field of the message has, by path. Each entity has one element of the
            list that a path marks by [], or one of equal parts of the field.

    Attributes:
        topic: The topic.
        component: The name of the component.
        rows: The rows of the component's array that are in its messages.
        entities: The names of the entities of these rows.
        size: The size of a message, bytes.
    """

    def __init__(
        self, topic: Topic, table: ComponentTable, rows: slice, layout: MessageLayout, fields: Mapping[str, slice]
    ) -> None:
        self.topic, self.component, self.rows = topic, table.name, rows
        self.entities = table.entities[rows]
        self._table = table
        self._messages = MessageRows(layout)
        self.size = self._messages.size
        n = len(self.entities)
        self._fields: list[tuple[StridedNumbers, slice]] = []
        if table.size:
            for path, numbers in fields.items():
                self._fields += [(columns, numbers) for columns in self._messages.columns(path, n)]

    def encode(self, values: npt.NDArray[Any], stamps_ns: npt.NDArray[np.int64]) -> npt.NDArray[np.uint8]:
        """Return the messages for T instants.

        Args:
            values: Values (T, n, *shape) of the topic's entities.
            stamps_ns: (T,) stamps of the headers, ns.

        Returns:
            The CDR of each message, (T, size).

        Raises:
            ValueError: The values have another shape.
            OverflowError: A time does not fit into a stamp.
        """
        needed = (len(stamps_ns), len(self.entities), *self._table.shape)
        if values.shape != needed:
            raise ValueError(f"{self.topic.name}: found values {values.shape}; {needed} are needed")
        flat = values.reshape(len(stamps_ns), len(self.entities), self._table.size)
        memory = self._messages.memory(len(stamps_ns))
        for columns, numbers in self._fields:
            rows = slice(columns.first, columns.first + columns.runs)
            self._messages.view(memory, columns)[:] = flat[:, rows, numbers]
        self._messages.stamp(memory, stamps_ns)
        return self._messages.messages(memory)

    def fits(self, messages: npt.NDArray[np.uint8]) -> npt.NDArray[np.bool_]:
        """Return which of the messages (T, size) differ from this topic's only in values and stamps."""
        template, fixed = self._fixed
        return (messages[:, fixed] == template[fixed]).all(axis=1)  # type: ignore[no-any-return]

    @cached_property
    def _fixed(self) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.bool_]]:
        """A template message, and a mask of the bytes that are the same in all messages."""
        memory = self._messages.memory(2)
        for columns, _ in self._fields:
            view = self._messages.view(memory, columns).view(np.uint8)
            view[0], view[1] = 0, 255
        self._messages.stamp(memory, np.array([0, 2**31 * 10**9 - 1]))
        zeros, ones = self._messages.messages(memory)
        return zeros, zeros == ones

    def decode(self, messages: npt.NDArray[np.uint8]) -> npt.NDArray[Any]:
        """Return the values (T, n, *shape) in messages (T, size) that fit this topic."""
        memory = self._messages.loaded(messages)
        flat = np.empty((len(messages), len(self.entities), self._table.size), np.dtype(self._table.dtype))
        for columns, numbers in self._fields:
            rows = slice(columns.first, columns.first + columns.runs)
            flat[:, rows, numbers] = self._messages.view(memory, columns)
        return flat.reshape(len(messages), len(self.entities), *self._table.shape)


def tables_of(structure: ComponentStructure, frame: str = FIXED_FRAME) -> tuple[ComponentTable, ...]:
    """Return the components of a compiled world with poses in a given frame, in the order of their first use."""
    found = []
    for name, component in structure.components.items():
        assert component.type is not None
        found.append(
            ComponentTable(
                name,
                component.type.dtype.name,
                component.type.shape,
                tuple(structure.names[entity] for entity in structure.entities[name]),
                component.labels() if component.metadata.get("element_names") else (),
                once=component.asset or name in structure.edges,
                external=component.is_set("external_control"),
                private=component.is_set("private"),
                frame=frame,
            )
        )
    return tuple(found)


def topics_of(structure: ComponentStructure, constant: Collection[str] = ()) -> list[ComponentTopic]:
    """Return the topics of the components of a compiled world.

    Args:
        structure: The compiled world.
        constant: Components that no system changes. They are published once, latched for late subscribers.

    Returns:
        The topics: /tf first, then those of each component, in order.

    Raises:
        EcsError: Two topics or frames would have one name, or a name is too long.
    """
    return topics_of_tables(tables_of(structure), constant)


def topics_of_tables(tables: Sequence[ComponentTable], constant: Collection[str] = ()) -> list[ComponentTopic]:
    """Return the topics of components; see `topics_of`. Raises EcsError."""
    used = {each.name: each.name for each in (CLOCK, TF, TF_STATIC)}
    framed = [table for table in tables if _is_pose(table)]
    others = [table for table in tables if not _is_pose(table)]
    found = [topic for table in framed for topic in _transforms(table)]
    many = sum(len(table.entities) for table in others) > MAX_TOPICS
    for table in others:
        qos = LATCHED if table.once or (table.name in constant and not table.external) else STATES
        if many and len(table.entities) > 1 and not table.external:
            name = claimed(used, topic_name(table.name), f"component {table.name!r}")
            found.append(_array(table, slice(0, len(table.entities)), name, qos))
            continue
        for row, entity in enumerate(table.entities):
            name = claimed(used, topic_name(table.name, entity), f"{entity}.{table.name}")
            found.append(_of_entity(table, row, name, qos))
    return found


def world_frame(tables: Sequence[ComponentTable], frame: str = FIXED_FRAME) -> ComponentTopic | None:
    """Return /tf_static with the frame in which poses are expressed; if that is the root, with the frame `world`.

    Args:
        tables: The components of the world.
        frame: The frame in which poses are expressed.

    Returns:
        The topic, whose transform is encoded from a value of WorldPos; None if an entity has the frame `world`.
    """
    name = WORLD if frame == FIXED_FRAME else frame
    if name == WORLD and any(WORLD in frames_of(table.entities) for table in tables if _is_pose(table)):
        return None
    table = ComponentTable(WORLD_POS, "float64", (7,), (name,))
    layout = MessageLayout(TF_STATIC.type, {"transforms": [{"header.frame_id": FIXED_FRAME, "child_frame_id": name}]})
    return ComponentTopic(TF_STATIC, table, slice(0, 1), layout, _TRANSFORM)


def _is_pose(table: ComponentTable) -> bool:
    return table.name == WORLD_POS and (table.dtype, table.shape) == ("float64", (7,))


def _transforms(table: ComponentTable) -> list[ComponentTopic]:
    """Return /tf, with all entities in one message, or one message each if callbacks write them at their own times."""
    rows = [{"header.frame_id": table.frame, "child_frame_id": frame} for frame in frames_of(table.entities)]
    each = [slice(row, row + 1) for row in range(len(rows))] if table.external else [slice(0, len(rows))]
    return [
        ComponentTopic(TF, table, part, MessageLayout(TF.type, {"transforms": rows[part]}), _TRANSFORM) for part in each
    ]


def _of_entity(table: ComponentTable, row: int, name: str, qos: Qos) -> ComponentTopic:
    standard = _STANDARD.get(table.name)
    if standard is not None and (table.dtype, table.shape) == ("float64", (standard.size,)):
        frame = frame_name(table.entities[row]) if standard.in_body else table.frame
        layout = MessageLayout(standard.type, {"header.frame_id": frame})
        return ComponentTopic(Topic(name, standard.type, qos), table, slice(row, row + 1), layout, standard.fields)
    if not table.shape:
        type = f"std_msgs/msg/{'Bool' if table.dtype == 'bool' else _ARRAYS[table.dtype]}"
        layout = MessageLayout(type, {})
        return ComponentTopic(Topic(name, type, qos), table, slice(row, row + 1), layout, {"data": slice(0, 1)})
    return _array(table, slice(row, row + 1), name, qos)


def _array(table: ComponentTable, rows: slice, name: str, qos: Qos) -> ComponentTopic:
    """Return a MultiArray topic of one entity, or of several as (entities x elements)."""
    type = f"std_msgs/msg/{_ARRAYS[table.dtype]}MultiArray"
    entities = table.entities[rows]
    lengths, labels = list(table.shape) or [1], [""] * max(len(table.shape), 1)
    # The labels of the elements go to the last dimension, that of a vector's elements.
    labels[-1] = ",".join(table.labels)
    if len(entities) > 1:
        lengths, labels = [len(entities), *lengths], [",".join(entities), *labels]
    dimensions = [
        {"label": label, "size": length, "stride": int(np.prod(lengths[at:], dtype=np.int64))}
        for at, (label, length) in enumerate(zip(labels, lengths, strict=True))
    ]
    dtype = np.dtype("u1" if table.dtype == "bool" else table.dtype)
    numbers = np.zeros(len(entities) * table.size, dtype)
    layout = MessageLayout(type, {"layout.dim": dimensions, "data": numbers})
    return ComponentTopic(Topic(name, type, qos), table, rows, layout, {"data": slice(0, table.size)})
