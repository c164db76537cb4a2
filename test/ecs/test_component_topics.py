"""Components as ROS messages, decoded by rosbags: every number where the message's definition has it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from ecs_structures import PLAIN, Ticks, component, same_bits, spatial, structure_of, ticks
from hypothesis import given
from hypothesis import strategies as st
from rclpy.exceptions import InvalidTopicNameException
from rclpy.validate_full_topic_name import validate_full_topic_name
from rosbags.typesys import Stores, get_typestore

from sim_node.extensions.elodin.component_topics import MAX_LENGTH, MAX_TOPICS, ComponentTopic, topic_name, topics_of
from sim_node.extensions.elodin.errors import EcsError
from sim_node.extensions.elodin.frame_names import frame_name
from sim_node.messages.clock import ClockRows
from sim_node.names import fault

STORE = get_typestore(Stores.ROS2_JAZZY)


def decoded(topic: ComponentTopic, messages: np.ndarray) -> list[Any]:
    return [STORE.deserialize_cdr(each.tobytes(), topic.topic.type) for each in messages]


def only(*given_: Any, **settings_: Any) -> ComponentTopic:
    [topic] = topics_of(structure_of(*given_, **settings_))
    return topic


STAMPS = np.array([1_500_000_007, 2_000_000_000], np.int64)


@pytest.mark.parametrize(
    ("name", "type", "field", "angular", "linear"),
    [
        ("world_vel", "geometry_msgs/msg/TwistStamped", "twist", "angular", "linear"),
        ("world_accel", "geometry_msgs/msg/AccelStamped", "accel", "angular", "linear"),
        ("force", "geometry_msgs/msg/WrenchStamped", "wrench", "torque", "force"),
    ],
)
def test_spatial_vectors_are_angular_first_and_in_the_fixed_frame(
    name: str, type: str, field: str, angular: str, linear: str
) -> None:
    topic = only(spatial(name))
    assert (topic.topic.name, topic.topic.type) == (f"/ball/{name}", type)
    values = np.arange(12.0).reshape(2, 1, 6)
    for at, message in enumerate(decoded(topic, topic.encode(values, STAMPS))):
        part = getattr(message, field)
        first, second = getattr(part, angular), getattr(part, linear)
        assert [first.x, first.y, first.z, second.x, second.y, second.z] == values[at, 0].tolist()
        assert message.header.frame_id == "map"
        assert message.header.stamp.sec * 10**9 + message.header.stamp.nanosec == STAMPS[at]


def test_inertia_is_in_the_frame_of_its_body() -> None:
    topic = only(spatial("inertia"))
    [message] = decoded(topic, topic.encode(np.array([[[1.0, 2.0, 3.0, 0.1, 0.2, 0.3, 7.0]]]), STAMPS[:1]))
    inertia = message.inertia
    assert (inertia.ixx, inertia.iyy, inertia.izz, inertia.m) == (1.0, 2.0, 3.0, 7.0)
    assert (inertia.ixy, inertia.ixz, inertia.iyz) == (0.0, 0.0, 0.0)
    assert message.header.frame_id == "ball"


@given(st.lists(PLAIN, min_size=1, max_size=30, unique=True))
def test_poses_are_transforms_of_frames_by_the_entities_names(entities: list[str]) -> None:
    """Names of all lengths: the rows of a TFMessage are not at equal distances then."""
    topic = only(spatial("world_pos"), entities=tuple(entities))
    values = np.random.default_rng(0).normal(size=(2, len(entities), 7))
    for at, message in enumerate(decoded(topic, topic.encode(values, STAMPS))):
        assert [each.child_frame_id for each in message.transforms] == entities
        for row, each in enumerate(message.transforms):
            q, p = each.transform.rotation, each.transform.translation
            assert [q.x, q.y, q.z, q.w, p.x, p.y, p.z] == values[at, row].tolist()
            assert each.header.frame_id == "map"
            assert each.header.stamp.sec * 10**9 + each.header.stamp.nanosec == STAMPS[at]
    assert topic.topic.name == "/tf"


@given(ticks())
def test_any_component_has_its_numbers_in_its_message_and_back(drawn: Ticks) -> None:
    """The bits of all types and shapes; the product of the dimensions is the number of elements."""
    for topic in topics_of(drawn.structure):
        values = drawn.arrays[topic.component][:, topic.rows]
        messages = topic.encode(values, drawn.stamps)
        assert messages.shape == (len(drawn.stamps), topic.size)
        assert topic.fits(messages).all()
        assert same_bits(topic.decode(messages), values)
        for at, message in enumerate(decoded(topic, messages)):
            if not hasattr(message, "layout"):
                continue
            dimensions = message.layout.dim
            kind = np.uint8 if values.dtype == bool else values.dtype
            assert same_bits(message.data, values[at].ravel().astype(kind))
            assert [each.size for each in dimensions] == (list(values.shape[2:]) or [1])
            assert [each.stride for each in dimensions] == [
                int(np.prod([below.size for below in dimensions[dimension:]])) for dimension in range(len(dimensions))
            ]


@pytest.mark.parametrize(
    ("dtype", "scalar", "array"),
    [
        ("float64", "Float64", "Float64MultiArray"),
        ("float32", "Float32", "Float32MultiArray"),
        ("uint64", "UInt64", "UInt64MultiArray"),
        ("int8", "Int8", "Int8MultiArray"),
        ("bool", "Bool", "UInt8MultiArray"),
    ],
)
def test_other_components_are_numbers_and_arrays_of_their_type(dtype: str, scalar: str, array: str) -> None:
    one, three = topics_of(structure_of(component("fuel", dtype), component("motors", dtype, (3,))))
    assert (one.topic.type, three.topic.type) == (f"std_msgs/msg/{scalar}", f"std_msgs/msg/{array}")
    assert (one.topic.name, three.topic.name) == ("/ball/fuel", "/ball/motors")


def test_element_names_are_the_label_of_the_last_dimension() -> None:
    topic = only(component("wind", shape=(3,), element_names="x, y,z"))
    [message] = decoded(topic, topic.encode(np.zeros((1, 1, 3)), STAMPS[:1]))
    assert [each.label for each in message.layout.dim] == ["x,y,z"]


def test_many_entities_share_a_message() -> None:
    """Above the limit; at the limit each has its own. Poses are no topics of entities."""
    names = tuple(f"ball_{number}" for number in range(MAX_TOPICS // 2 + 1))
    components = spatial("world_pos"), spatial("world_vel"), component("fuel", element_names="kg")
    assert len(topics_of(structure_of(*components, entities=names[:-1]))) == 1 + MAX_TOPICS
    _, velocity, fuel = topics_of(structure_of(*components, entities=names))
    assert (velocity.topic.name, fuel.topic.name) == ("/world_vel", "/fuel")
    values = np.random.default_rng(0).normal(size=(2, len(names), 6))
    for at, message in enumerate(decoded(velocity, velocity.encode(values, STAMPS))):
        assert message.layout.dim[0].label.split(",") == list(names)
        assert [each.size for each in message.layout.dim] == [len(names), 6]
        assert (message.data == values[at].ravel()).all()
    [message] = decoded(fuel, fuel.encode(np.zeros((1, len(names))), STAMPS[:1]))
    assert [(each.size, each.label) for each in message.layout.dim][1] == (1, "kg")


def test_what_callbacks_write_at_times_of_their_own_is_never_shared() -> None:
    names = tuple(f"ball_{number}" for number in range(MAX_TOPICS + 1))
    command = component("command", external_control="true")
    assert len(topics_of(structure_of(command, entities=names))) == len(names)


def test_edges_assets_and_constants_are_latched() -> None:
    constant, changing = topics_of(structure_of(component("a"), component("b")), constant=["a"])
    assert (constant.topic.qos.latched, changing.topic.qos.latched) == (True, False)


@given(st.text(min_size=1).filter(lambda name: "." not in name), st.text(min_size=1, max_size=20))
def test_any_name_gives_a_topic_and_a_frame_that_ros_allows(entity: str, name: str) -> None:
    topic = topic_name(name, entity)
    if len(topic) > MAX_LENGTH:
        with pytest.raises(InvalidTopicNameException, match="length"):
            validate_full_topic_name(topic)
    else:
        validate_full_topic_name(topic)
    assert fault(frame_name(entity)) is None or len(frame_name(entity)) > 255


def test_names_are_changed_as_documented() -> None:
    assert topic_name("mass", "Saturn V/1st stage") == "/saturn_v/_1st_stage/mass"
    assert topic_name("Thrust curve", "λ//x") == "/_/x/Thrust_curve"
    assert frame_name("/Saturn V//1st stage") == "Saturn_V/1st_stage"


@pytest.mark.parametrize(
    ("components", "entities", "message"),
    [
        ([component("x")], ("A b", "a_b"), "a_b.x and A b.x would both be on the topic /a_b/x; rename one"),
        ([spatial("world_pos")], ("a b", "a_b"), "entity 'a_b' and entity 'a b' have the same frame, a_b"),
        ([spatial("world_pos")], ("map",), "entity 'map' and the world have the same frame, map"),
        ([component("x")], ("a" * 300,), "characters; allowed: up to 247"),
        ([spatial("world_pos")], ("a" * 300,), "has 300 characters; allowed: up to 255"),
        ([component("clock")], tuple(f"e{n}" for n in range(MAX_TOPICS + 1)), "component 'clock' and /clock would"),
    ],
)
def test_clashing_names_are_refused(components: list[Any], entities: tuple[str, ...], message: str) -> None:
    with pytest.raises(EcsError) as raised:
        topics_of(structure_of(*components, entities=entities))
    assert message in str(raised.value)


def test_messages_of_others_do_not_fit() -> None:
    ball, cube = topics_of(structure_of(spatial("inertia"), entities=("ball", "cube")))
    assert ball.size == cube.size
    assert not ball.fits(cube.encode(np.ones((2, 1, 7)), STAMPS)).any()


def test_wrong_values_are_refused() -> None:
    topic = only(spatial("world_vel"))
    with pytest.raises(ValueError, match=r"/ball/world_vel: found values \(2, 6\); \(2, 1, 6\) are needed"):
        topic.encode(np.zeros((2, 6)), STAMPS)
    with pytest.raises(OverflowError, match="seconds must fit into 32 bits"):
        topic.encode(np.zeros((1, 1, 6)), np.array([2**31 * 10**9]))


@given(st.lists(st.integers(0, 2**31 * 10**9 - 1), max_size=20))
def test_clocks_have_their_times(times: list[int]) -> None:
    messages = ClockRows().encode(np.array(times, np.int64))
    clocks = [STORE.deserialize_cdr(each.tobytes(), "rosgraph_msgs/msg/Clock").clock for each in messages]
    assert [clock.sec * 10**9 + clock.nanosec for clock in clocks] == times
