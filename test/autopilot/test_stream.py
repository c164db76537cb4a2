"""A repeated setpoint: at its rate, and never once its message is too old by either of two clocks."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sim_node.mavlink.setpoints import Setpoint
from sim_node.mavlink.vehicle import ClockReading, SetpointStream

SECOND = 1_000_000_000
RATE, LIFETIME_S = 20.0, 0.5
SETPOINT = Setpoint("SET_ATTITUDE_TARGET", {})


@given(
    st.lists(st.tuples(st.integers(0, 60_000_000), st.floats(0.0, 20.0)), max_size=200),
    st.integers(0, 2 * SECOND),
    st.integers(-5 * SECOND, 5 * SECOND),
)
def test_nothing_is_sent_once_it_is_old(turns: list[tuple[int, float]], jump_at_ns: int, jump_ns: int) -> None:
    """In turns of any length, of simulated time at any pace, which jumps once (a reset of the run)."""
    stream, ended = SetpointStream(RATE, LIFETIME_S), []
    steady_ns, graph_ns = 7 * SECOND, 100 * SECOND
    received = ClockReading(steady_ns, graph_ns)
    stream.set(SETPOINT, "cmd_vel", received, lambda: ended.append(steady_ns))
    sent: list[int] = []
    jumped = False
    for pause_ns, pace in turns:
        if stream.due(steady_ns, graph_ns) is not None:
            assert steady_ns - received.steady_ns < LIFETIME_S * SECOND
            assert -LIFETIME_S * SECOND < graph_ns - received.graph_ns < LIFETIME_S * SECOND
            sent.append(steady_ns)
        steady_ns, graph_ns = steady_ns + pause_ns, graph_ns + round(pause_ns * pace)
        if not jumped and steady_ns - received.steady_ns > jump_at_ns:
            jumped, graph_ns = True, graph_ns + jump_ns
    assert len(sent) <= RATE * LIFETIME_S + 1
    assert len(ended) <= 1
    stream.due(received.steady_ns + SECOND, graph_ns)
    assert len(ended) == 1
    assert (stream.setpoint, stream.owner) == (None, "")


def test_a_setpoint_of_a_command_holds_until_it_is_stopped() -> None:
    """A goto is given once. 1000 s at 20 Hz."""
    stream = SetpointStream(RATE, LIFETIME_S)
    stream.set(SETPOINT, "goto")
    assert sum(stream.due(10_000_000 * turn, 0) is not None for turn in range(100_000)) == 20_000
    assert not stream.stop("cmd_vel")
    assert stream.stop("goto")
    assert stream.due(2000 * SECOND, 0) is None


def test_a_message_that_comes_makes_it_young_again() -> None:
    stream = SetpointStream(RATE, LIFETIME_S)
    sent = 0
    for turn in range(1000):  # 10 s, a message each 0.4 s
        now_ns = turn * 10_000_000
        if turn % 40 == 0:
            stream.set(SETPOINT, "cmd_vel", ClockReading(now_ns, now_ns))
        sent += stream.due(now_ns, now_ns) is not None
    assert sent == 200
