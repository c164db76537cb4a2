"""Layouts of every standard message beside rosbags' own serialisation, and what is refused."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cdr_reading import SECOND
from hypothesis import given, settings
from hypothesis import strategies as st
from nightly import only
from rclpy.serialization import deserialize_message
from rosbags.interfaces import Nodetype
from rosbags.typesys import Stores, get_typestore
from sensor_msgs.msg import Imu, PointCloud2

from sim_node.messages import definitions
from sim_node.messages.definitions import fields_of
from sim_node.messages.encoding import LayoutFault
from sim_node.messages.layout import MessageLayout

STORE = get_typestore(Stores.ROS2_JAZZY)
# rosbags' Jazzy is of before nav_msgs 5.3.6 took over three messages.
NEWER = {"nav_msgs/msg/Goals", "nav_msgs/msg/Trajectory", "nav_msgs/msg/TrajectoryPoint"}
TYPES = sorted(definitions._standard().keys() - NEWER)
# rosidl gives messages without fields one.
DUMMY = "structure_needs_at_least_one_member"
POLYGON = "geometry_msgs/msg/Polygon"
TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=9)
NUMBERS = {
    "bool": st.booleans(),
    # rosbags packs bytes as signed numbers.
    "byte": st.integers(0, 127),
    "char": st.integers(0, 255),
    "float32": st.floats(width=32, allow_nan=False),
    "float64": st.floats(allow_nan=False),
    **{f"int{n}": st.integers(-(2 ** (n - 1)), 2 ** (n - 1) - 1) for n in (8, 16, 32, 64)},
    **{f"uint{n}": st.integers(0, 2**n - 1) for n in (8, 16, 32, 64)},
}


def drawn(data: st.DataObject, type: str) -> tuple[Any, dict[str, Any]]:
    """A message of rosbags, and the fields to lay out the same one."""
    parts = {name: value(data, *of) for name, of in STORE.fielddefs[type][1] if name != DUMMY}
    dummy = {name: 0 for name, _ in STORE.fielddefs[type][1] if name == DUMMY}
    message = STORE.types[type](**{name: each for name, (each, _) in parts.items()}, **dummy)
    return message, {name: output for name, (_, output) in parts.items()}


def value(data: st.DataObject, kind: Any, what: Any) -> tuple[Any, Any]:
    if kind == Nodetype.NAME:
        return drawn(data, what)
    if kind == Nodetype.BASE:
        chosen = data.draw(TEXTS if what[0] == "string" else NUMBERS[what[0]])
        return chosen, chosen
    inner, bound = what
    count = bound if kind == Nodetype.ARRAY else data.draw(st.integers(0, min(bound or 3, 3)))
    if inner[0] == Nodetype.BASE and inner[1][0] != "string":
        chosen = data.draw(st.lists(NUMBERS[inner[1][0]], min_size=count, max_size=count))
        return np.array(chosen, {"byte": "u1", "char": "u1"}.get(inner[1][0], inner[1][0])), chosen
    rows = [value(data, *inner) for _ in range(count)]
    return [row for row, _ in rows], [output for _, output in rows]


@pytest.mark.parametrize("type", TYPES)
def test_fields_are_those_of_rosbags(type: str) -> None:
    """Names, in their order, of each standard definition."""
    assert [field.name for field in fields_of(type)] == [n for n, _ in STORE.fielddefs[type][1] if n != DUMMY]


@pytest.mark.parametrize("type", only(TYPES, *range(0, len(TYPES), 4)))
@settings(max_examples=4)
@given(st.data())
def test_bytes_are_those_of_rosbags(type: str, data: st.DataObject) -> None:
    """Every type, with lists and texts of any length."""
    message, fields = drawn(data, type)
    assert MessageLayout(type, fields).write(0) == bytes(STORE.serialize_cdr(message, type))


def test_defaults_are_those_of_the_definition() -> None:
    """geometry_msgs/Quaternion is the identity; sensor_msgs/NavSatStatus of Jazzy is unknown, -2."""
    assert MessageLayout("geometry_msgs/msg/Quaternion", {}).at("w").tolist() == [1.0]
    assert MessageLayout("sensor_msgs/msg/NavSatFix", {}).at("status.status").tolist() == [-2]


def test_numbers_are_rewritten_by_the_names_of_their_fields() -> None:
    layout = MessageLayout("sensor_msgs/msg/Imu", {"header.frame_id": "imu", "angular_velocity_covariance": np.eye(3)})
    layout.at("angular_velocity")[:] = [1.0, 2.0, 3.0]
    layout.at("linear_acceleration.z")[:] = 9.81
    first = deserialize_message(layout.write(2 * SECOND + 7), Imu)
    layout.at("angular_velocity.x")[:] = -1.0
    second = deserialize_message(layout.write(3 * SECOND), Imu)
    rate = first.angular_velocity
    assert ([rate.x, rate.y, rate.z], first.linear_acceleration.z) == ([1.0, 2.0, 3.0], 9.81)
    assert (first.header.frame_id, first.header.stamp.sec, first.header.stamp.nanosec) == ("imu", 2, 7)
    assert first.angular_velocity_covariance.tolist() == np.eye(3).ravel().tolist()
    assert (first.orientation.x, first.orientation.w) == (0.0, 1.0)
    assert (second.angular_velocity.x, second.angular_velocity.y, second.header.stamp.sec) == (-1.0, 2.0, 3)


def test_every_header_in_a_message_has_the_stamp() -> None:
    """A TFMessage has one for each of its transforms."""
    transforms = [{"header.frame_id": "map", "child_frame_id": name} for name in ("a", "long_name", "b")]
    layout = MessageLayout("tf2_msgs/msg/TFMessage", {"transforms": transforms})
    layout.at("transforms[1].transform")[:] = [1, 2, 3, 0, 0, 0, 1]
    got = STORE.deserialize_cdr(layout.write(5 * SECOND), "tf2_msgs/msg/TFMessage").transforms
    assert [(each.header.stamp.sec, each.child_frame_id) for each in got] == [(5, "a"), (5, "long_name"), (5, "b")]
    assert [each.transform.translation.y for each in got] == [0.0, 2.0, 0.0]


def test_a_field_of_each_message_of_a_list_is_written_at_once() -> None:
    """Texts of any length between them; an array of points is a list of messages too."""
    rows = [{"child_frame_id": "x" * length} for length in range(9)]
    layout = MessageLayout("tf2_msgs/msg/TFMessage", {"transforms": rows})
    poses = np.random.default_rng(0).normal(size=(9, 7))
    memory, places = layout.rows("transforms[].transform")
    memory[places] = poses
    got = STORE.deserialize_cdr(layout.write(0), "tf2_msgs/msg/TFMessage").transforms
    assert [each.transform.rotation.w for each in got] == poses[:, 6].tolist()
    assert [each.transform.translation.x for each in got] == poses[:, 0].tolist()
    points = np.arange(6.0).reshape(2, 3)
    polygon = STORE.deserialize_cdr(MessageLayout("geometry_msgs/msg/Polygon", {"points": points}).write(0), POLYGON)
    assert [[each.x, each.y, each.z] for each in polygon.points] == points.tolist()


def test_a_time_takes_nanoseconds() -> None:
    """Or is set by `write`, where that is asked for; a header's that is named stays."""
    kind = "sensor_msgs/msg/TimeReference"
    for layout, sent in (
        (MessageLayout(kind, {"time_ref": 3 * SECOND + 5}), (7, 3)),
        (MessageLayout(kind, {}, times=("time_ref",)), (7, 7)),
        (MessageLayout(kind, {"header.stamp": 2 * SECOND, "time_ref": np.int64(3 * SECOND)}), (2, 3)),
    ):
        got = STORE.deserialize_cdr(layout.write(7 * SECOND), kind)
        assert (got.header.stamp.sec, got.time_ref.sec) == sent


def test_a_packer_has_a_message_of_its_own() -> None:
    """Fields of several types; two packers of a layout do not see each other's numbers."""
    layout = MessageLayout("sensor_msgs/msg/Range", {"header.frame_id": "sonar", "variance": 0.5})
    first, second = (layout.packer("radiation_type", "field_of_view", "min_range", "range") for _ in range(2))
    kept = first(SECOND, (1, 0.25, 0.5, 2.0))
    second(2 * SECOND, (0, 1.0, 1.0, 1.0))
    got = STORE.deserialize_cdr(first(SECOND, (1, 0.25, 0.5, 2.0)), "sensor_msgs/msg/Range")
    assert first(SECOND, (1, 0.25, 0.5, 2.0)) == kept
    assert (got.header.frame_id, got.header.stamp.sec, got.radiation_type, got.variance) == ("sonar", 1, 1, 0.5)
    assert (got.field_of_view, got.min_range, got.max_range, got.range) == (0.25, 0.5, 0.0, 2.0)


@pytest.mark.parametrize(
    ("ask", "reported"),
    [
        (lambda layout: layout.packer("rage"), "no field 'rage'; did you mean range"),
        (lambda layout: layout.at("header"), "header does not consist of equal numbers"),
        (lambda layout: layout.length("range"), "range is not a list"),
        (lambda layout: layout.rows("ranges[].x"), "no field 'ranges'; did you mean range"),
        (lambda layout: MessageLayout(layout.type, {}, times=("stamp",)), "no field 'stamp'"),
        (
            lambda layout: MessageLayout("geometry_msgs/msg/Polygon", {"points": np.ones((2, 2))}),
            "points needs rows of 3 numb",
        ),
    ],
)
def test_places_that_a_message_does_not_have_are_refused(ask: Callable[[MessageLayout], object], reported: str) -> None:
    with pytest.raises(LayoutFault, match=reported):
        ask(MessageLayout("sensor_msgs/msg/Range", {}))


def test_an_array_in_a_list_of_bytes_is_its_memory() -> None:
    points = np.array([1.5, -2.5], "<f4")
    layout = MessageLayout("sensor_msgs/msg/PointCloud2", {"data": points})
    assert bytes(deserialize_message(layout.write(0), PointCloud2).data) == points.tobytes()
    layout.at("data", points)[1] = 4.0
    assert bytes(deserialize_message(layout.write(0), PointCloud2).data) == np.array([1.5, 4.0], "<f4").tobytes()


@pytest.mark.parametrize(
    ("type", "fields", "reported"),
    [
        ("sensor_msgs/msg/Imu", {"angular_velocty": [0, 0, 0]}, "no field 'angular_velocty'; did you mean angular_vel"),
        ("sensor_msgs/msg/Imu", {"angular_velocity": [0, 0]}, "angular_velocity needs 3 elements, found 2"),
        ("sensor_msgs/msg/Imu", {"header": [1, 2]}, "header does not consist of equal numbers"),
        ("sensor_msgs/msg/Imu", {"header.frame_id": 3}, "header.frame_id needs a text, found 3"),
        ("sensor_msgs/msg/Range", {"radiation_type": 256}, "radiation_type needs uint8, found 256"),
        ("sensor_msgs/msg/Range", {"radiation_type": 0.5}, "radiation_type needs uint8, found 0.5"),
        ("sensor_msgs/msg/Range", {"range": "far"}, "range needs numbers .float32., found 'far'"),
        ("sensor_msgs/msg/Rage", {}, "unknown message type sensor_msgs/msg/Rage; did you mean sensor_msgs/msg/Range"),
        ("sensor_msgs/Range", {}, "unknown message type sensor_msgs/Range; did you mean sensor_msgs/msg/Range"),
        ("there_is_no_such_package/msg/Word", {}, "is its package installed and sourced"),
        ("tf2_msgs/msg/TFMessage", {"transforms": [1.0]}, "transforms needs a list of mappings"),
        ("shape_msgs/msg/SolidPrimitive", {"dimensions": [1.0] * 4}, "dimensions may have up to 3 elements, found 4"),
    ],
)
@pytest.mark.usefixtures("installed")
def test_fields_that_do_not_fit_are_refused(type: str, fields: dict[str, Any], reported: str) -> None:
    with pytest.raises(LayoutFault, match=reported):
        MessageLayout(type, fields)


@pytest.mark.usefixtures("installed")
def test_an_installed_message_is_found_by_its_file() -> None:
    """Constants, comments, defaults, bounds, fields of its own package and of others."""
    layout = MessageLayout("weather_msgs/msg/Report", {"gust.speed": 3.5, "names": ["a", "bc"]})
    assert layout.write(0) == bytes.fromhex(
        "00010000"  # plain CDR
        "00000000 00000000 01000000 00 000000"  # header: stamp, an empty text, padding
        "02000000 02000000 6100 0000 03000000 626300 00"  # names
        "00006040"  # gust.speed 3.5
        "0000000000000840"  # level 3.0, at a multiple of 8 behind the first line
        "06000000 2361206227 00"  # remark
    )


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Two packages of messages, as a sourced workspace has them."""
    files = {
        "weather_msgs/msg/Gust.msg": "# of wind\nfloat32 speed\n",
        "weather_msgs/msg/Report.msg": "uint8 CALM=0\nstd_msgs/Header header\nstring<=4[<=3] names  # two\n"
        '\nGust gust\nfloat64 level 3.0  # of the sea\nstring remark "#a b\'"\n',
        "shape_msgs/msg/SolidPrimitive.msg": "uint8 BOX=1\nuint8 type\nfloat64[<=3] dimensions\n",
    }
    for name, text in files.items():
        path = tmp_path / "share" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    monkeypatch.setenv("AMENT_PREFIX_PATH", str(tmp_path))
    fields_of.cache_clear()
    yield
    fields_of.cache_clear()
