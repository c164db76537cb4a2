"""A PX4 behind an agent: its topics become MAVLink again, and MAVLink its inputs, by the tables of its names."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from types import SimpleNamespace
from typing import Any

import pytest
from dialect_messages import installed, typestore
from hypothesis import example, given
from hypothesis import strategies as st
from pymavlink.dialects.v20 import all as mavlink
from test_px4_names import TILTED, Heard, attitude, heartbeat

from sim_node.mavlink.codec import EncodeError, MavlinkMessage, frame_bytes
from sim_node.mavlink.parser import Parser
from sim_node.mavlink.px4.agent import INPUT_TYPES, OUTPUTS, FmuOutputs, inputs_of
from sim_node.mavlink.px4.inputs import INPUTS
from sim_node.mavlink.px4.names import topics_of
from sim_node.mavlink.px4.telemetry import readers
from sim_node.mavlink.telemetry import Telemetry
from sim_node.mavlink.topics import FrameNames

ROWS = {row.name: row for row in INPUTS}
METRES = st.floats(-1e4, 1e4, width=32)


@pytest.fixture(scope="module", autouse=True)
def _definitions(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with installed(tmp_path_factory.mktemp("prefix"), ("px4_msgs",), readers, topics_of):
        yield


class Agent:
    """What a vehicle publishes under PX4's names, read as that of a PX4."""

    def __init__(self) -> None:
        self.heard, self.outputs = Heard(), FmuOutputs()
        self.found: dict[str, Any] = {}

    def give(self, message: Any) -> dict[str, Any]:
        """Return the fields of what a message has become on the graph and is again, by its name."""
        self.found = {}
        for topic, messages in self.heard.give(message, after_ns=1_000_000).items():
            name = topic.rpartition("_v")[0] if topic[-3:-1] == "_v" else topic
            for each in messages if name in OUTPUTS else []:
                for sent, fields in self.outputs.frames(name, each):
                    [parsed] = Parser(datagrams=True).feed(frame_bytes(sent, fields, self.outputs.system, 1, 0))
                    assert sent not in self.found, "each once, although it is on two topics"
                    self.found[sent] = parsed.fields
        return self.found


def agent() -> Agent:
    made = Agent()
    assert made.give(attitude(TILTED)) == {}, "nothing before the status names the system"
    made.give(heartbeat(6, armed=True))
    assert made.outputs.system == 3
    return made


@given(st.sampled_from([(6, 0), (4, 4), (4, 6), (3, 0), (2, 0), (1, 0), (5, 0)]), st.booleans())
def test_a_heartbeat_is_the_same_behind_an_agent(mode: tuple[int, int], armed: bool) -> None:
    found = Agent().give(heartbeat(*mode, armed=armed, status=4 if armed else 3))["HEARTBEAT"]
    main, sub = mode
    assert found.custom_mode == main << 16 | sub << 24
    assert (found.base_mode & 128 != 0, found.type, found.autopilot) == (armed, 2, mavlink.MAV_AUTOPILOT_PX4)
    assert found.system_status == (4 if armed else 3)


@given(st.tuples(*[METRES] * 6))
def test_position_and_velocity_are_the_same_behind_an_agent(numbers: tuple[float, ...]) -> None:
    found = agent().give(mavlink.MAVLink_local_position_ned_message(1000, *numbers))["LOCAL_POSITION_NED"]
    assert (found.x, found.y, found.z, found.vx, found.vy, found.vz) == numbers


@given(st.integers(-899999999, 899999999), st.integers(-1799999999, 1799999999), st.integers(-500_000, 9_000_000))
def test_a_place_on_earth_is_the_same_behind_an_agent(lat: int, lon: int, alt: int) -> None:
    made = agent()
    fix = mavlink.MAVLink_gps_raw_int_message(
        *(5_000_000, 3, lat, lon, alt, 80, 120, 500, 27_000, 9),
        **{"alt_ellipsoid": alt, "h_acc": 1500, "v_acc": 2500, "vel_acc": 300, "hdg_acc": 0},
    )
    gps = made.give(fix)["GPS_RAW_INT"]
    assert (gps.lat, gps.lon, gps.alt) == pytest.approx((lat, lon, alt), abs=1)
    assert (gps.fix_type, gps.eph, gps.epv, gps.vel, gps.satellites_visible) == (3, 80, 120, 500, 9)
    assert gps.cog == pytest.approx(27_000, abs=1)
    home = mavlink.MAVLink_home_position_message(lat, lon, alt, 1.0, 2.0, 3.0, [1.0, 0.0, 0.0, 0.0], 0.0, 0.0, 0.0)
    kept = made.give(home)["HOME_POSITION"]
    assert (kept.latitude, kept.longitude, kept.altitude) == pytest.approx((lat, lon, alt), abs=1)
    above = mavlink.MAVLink_global_position_int_message(1000, lat, lon, alt + 5000, 5000, 100, -200, 0, 9000)
    found = made.give(above)["GLOBAL_POSITION_INT"]
    assert (found.lat, found.lon, found.alt) == pytest.approx((lat, lon, alt + 5000), abs=1)
    assert found.relative_alt == pytest.approx(5000, abs=2)


def test_attitude_inertial_sensors_and_state_are_the_same_behind_an_agent() -> None:
    made = agent()
    made.give(mavlink.MAVLink_local_position_ned_message(1000, *[0.0] * 6))  # with the odometry's rates
    sent = attitude(TILTED)
    found = made.give(sent)["ATTITUDE_QUATERNION"]
    assert (found.q1, found.q2, found.q3, found.q4) == pytest.approx((sent.q1, sent.q2, sent.q3, sent.q4), abs=1e-6)
    assert (found.rollspeed, found.pitchspeed, found.yawspeed) == pytest.approx((0.1, 0.2, 0.3))
    for landed in (1, 2):
        state = made.give(mavlink.MAVLink_extended_sys_state_message(0, landed))["EXTENDED_SYS_STATE"]
        assert state.landed_state == landed
    ack = made.give(mavlink.MAVLink_command_ack_message(400, 4))["COMMAND_ACK"]
    assert (ack.command, ack.result) == (400, 4)
    wind = made.give(mavlink.MAVLink_wind_cov_message(1, 3.0, -2.0, 0.0, 0.5, 0.5, 10.0, 0.0, 0.0))["WIND_COV"]
    assert (wind.wind_x, wind.wind_y, wind.var_horiz) == (3.0, -2.0, 0.5)


def received(name: str, fields: dict[str, Any]) -> MavlinkMessage:
    [found] = Parser(datagrams=True).feed(frame_bytes(name, fields, 255, 191, 0))
    return found


def as_message(topic: str, fields: Any) -> Any:
    """A message of an input, with the fields that are given and zeros for the others."""
    kind = typestore("px4_msgs").types[f"px4_msgs/msg/{INPUT_TYPES[topic]}"]
    names = {name for name in kind.__dataclass_fields__ if not name.isupper() and name != "__msgtype__"}
    assert set(fields) <= names, "fields of its definition"
    return SimpleNamespace(**{**dict.fromkeys(names, 0), **fields})


TELEMETRY = Telemetry(3, FrameNames(), lambda topic, data: None)


@given(st.integers(0, 0xFFF), st.tuples(*[METRES] * 11))
def test_a_setpoint_comes_back_as_it_was_sent(mask: int, numbers: tuple[float, ...]) -> None:
    names = ("x", "y", "z", "vx", "vy", "vz", "afx", "afy", "afz", "yaw", "yaw_rate")
    bits = (*range(9), 10, 11)
    mask &= ~(1 << 9)  # the bit of forces
    kept = {name: 0.0 if mask >> bit & 1 else number for name, bit, number in zip(names, bits, numbers, strict=True)}
    sent = {"coordinate_frame": 1, "type_mask": mask, **dict(zip(names, numbers, strict=True))}
    inputs, answers = inputs_of(received("SET_POSITION_TARGET_LOCAL_NED", sent))
    (mode, asked), (topic, fields) = inputs
    assert (mode, topic, answers) == ("offboard_control_mode", "trajectory_setpoint", ())
    if mask & 0x1FF == 0x1FF:
        return  # no position, velocity or acceleration: the row of this topic refuses it
    [(name, back)] = ROWS[topic].convert(as_message(topic, fields), TELEMETRY)
    assert name == "SET_POSITION_TARGET_LOCAL_NED"
    assert {each: back[each] for each in ("type_mask", *names)} == {"type_mask": mask, **kept}
    assert any(asked.get(need) for need in ROWS[topic].needs), "PX4 takes it in this mode"


@given(st.floats(-3.0, 3.0, width=32), st.floats(0.0, 1.0, width=32), st.booleans())
def test_attitudes_and_rates_come_back_as_they_were_sent(rate: float, thrust: float, by_rates: bool) -> None:
    x, y, z, w = TILTED.as_quat()
    rates = {"body_roll_rate": rate, "body_pitch_rate": -rate, "body_yaw_rate": rate}
    sent = {"type_mask": 128 if by_rates else 7, "q": (w, x, y, z), "thrust": thrust, **rates}
    (mode, asked), (topic, fields) = inputs_of(received("SET_ATTITUDE_TARGET", sent))[0]
    [(name, back)] = ROWS[topic].convert(as_message(topic, fields), TELEMETRY)
    assert (mode, name) == ("offboard_control_mode", "SET_ATTITUDE_TARGET")
    assert (back["type_mask"], back["thrust"]) == (sent["type_mask"], thrust)
    assert any(asked.get(need) for need in ROWS[topic].needs)
    if by_rates:
        assert {each: back[each] for each in rates} == rates
    else:
        assert back["q"] == pytest.approx((w, x, y, z), abs=1e-6)


def test_commands_come_back_as_they_were_sent_and_those_about_mavlink_are_answered() -> None:
    params = {f"param{number}": float(number) for number in range(1, 8)}
    ids = {"command": 22, "target_system": 3, "target_component": 1}
    [(topic, fields)], _ = inputs_of(received("COMMAND_LONG", {**ids, **params, "confirmation": 2}))
    assert (fields["source_system"], fields["source_component"], fields["from_external"]) == (255, 191, True)
    assert {each: fields[each] for each in (*params, "confirmation")} == {**params, "confirmation": 2}
    place = {"frame": 5, "x": 473977420, "y": 85455940, "z": 12.0}
    [(topic, fields)], _ = inputs_of(received("COMMAND_INT", {**ids, **place}))
    [(name, back)] = ROWS[topic].convert(as_message(topic, fields), TELEMETRY)
    assert name == "COMMAND_INT"
    assert {each: back[each] for each in place} == place
    inputs, [(name, answer)] = inputs_of(received("COMMAND_LONG", {**ids, "command": 511}))
    assert (inputs, name, answer) == ((), "COMMAND_ACK", {"command": 511, "result": 3})
    assert inputs_of(received("PARAM_REQUEST_LIST", {"target_system": 3})) == ((), ())


@given(st.lists(st.floats(), min_size=8, max_size=8), st.integers(0, 255))
@example([1.8e305] * 8, 1)
def test_any_numbers_become_frames_or_nothing(numbers: list[float], small: int) -> None:
    """PX4 publishes NaN and infinities where it knows nothing."""
    outputs = FmuOutputs()
    outputs.system = 1
    for index, (name, output) in enumerate(OUTPUTS.items()):
        kind = typestore("px4_msgs").types[output.topic.type.replace("/", "/msg/")]
        values: dict[str, Any] = {}
        for at, (field, of) in enumerate(kind.__dataclass_fields__.items()):
            number = numbers[at % 8]
            annotation = str(of.type)
            values[field] = (
                [number] * 14 if "ndarray" in annotation else number if "float" in annotation else bool(small & 1)
                if "bool" in annotation else small
            )  # fmt: skip
        for array, size in (("q", 4), ("angular_velocity", 3), ("gyro_rad", 3), ("accelerometer_m_s2", 3)):
            if array in values:
                values[array] = values[array][:size]
        values["timestamp"] = index + 1
        for sent, fields in outputs.frames(name, SimpleNamespace(**values)):
            with suppress(EncodeError):  # beyond what MAVLink has room for
                assert frame_bytes(sent, fields, 1, 1, 0)
