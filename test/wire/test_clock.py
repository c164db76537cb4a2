"""The bytes of a Clock message read by the real rclpy."""

from __future__ import annotations

import struct

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from rclpy.serialization import deserialize_message, serialize_message
from rosgraph_msgs.msg import Clock

from sim_node.messages.cdr import first_stamp
from sim_node.messages.clock import clock_writer

SECOND = 1_000_000_000
EARLIEST_NS, MAX_STAMP_NS = -(2**31) * SECOND, 2**31 * SECOND - 1


@given(st.integers(EARLIEST_NS, MAX_STAMP_NS))
@example(0)
@example(SECOND - 1)
@example(SECOND)
@example(-1)
@example(EARLIEST_NS)
@example(MAX_STAMP_NS)
def test_rclpy_reads_the_time_and_writes_the_same_bytes(time_ns: int) -> None:
    """To the nanosecond; a Clock has no padding, so the bytes are equal as such."""
    data = clock_writer()(time_ns)
    message = deserialize_message(data, Clock)
    assert message.clock.sec * SECOND + message.clock.nanosec == time_ns
    assert 0 <= message.clock.nanosec < SECOND
    assert serialize_message(message) == data


@given(st.integers(EARLIEST_NS, MAX_STAMP_NS), st.sampled_from("<>"))
def test_the_time_is_read_in_either_byte_order(time_ns: int, order: str) -> None:
    header = b"\0\1\0\0" if order == "<" else b"\0\0\0\0"
    assert first_stamp(header + struct.pack(order + "iI", *divmod(time_ns, SECOND))) == time_ns


@given(st.binary(max_size=20))
def test_any_bytes_are_a_time_or_a_value_error(data: bytes) -> None:
    """A Clock is 12 bytes of plain CDR; what is shorter, or encapsulated in another way, is none."""
    if len(data) >= 12 and data[0] == 0 and data[1] <= 1:
        assert first_stamp(data) >= EARLIEST_NS
        return
    with pytest.raises(ValueError, match=r"encapsulation|inside its stamp"):
        first_stamp(data)


@pytest.mark.parametrize("time_ns", [EARLIEST_NS - 1, MAX_STAMP_NS + 1])
def test_a_time_that_stamps_do_not_hold_is_refused(time_ns: int) -> None:
    """Instead of a stamp that has wrapped round."""
    with pytest.raises(OverflowError, match="must fit into 32 bits"):
        clock_writer()(time_ns)
