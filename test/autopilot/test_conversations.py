"""Commands that end together, begin each other, or fail: each is answered once, and no other vehicle notices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from claims import free_port
from hypothesis import given
from hypothesis import strategies as st
from peer import CoSimulator, peer
from running import Running, running

from sim_node.mavlink import commands
from sim_node.mavlink.codec import MavlinkMessage
from sim_node.mavlink.setpoints import Setpoint
from sim_node.mavlink.transaction import MAX_WAITING, Conversations, Outgoing, Result, Transaction
from sim_node.mavlink.vehicle import Vehicle

Make = Callable[[Vehicle], Transaction]


def ask_together(bridge: Running, *makes: Make) -> list[tuple[str, str]]:
    """The names and answers of commands that are given in one turn of the bridge."""
    vehicle, answers = bridge.vehicle(), []

    def act(now_ns: int) -> None:
        for make in makes:
            vehicle.begin(make(vehicle), lambda each, result: answers.append((each.name, result.text)), now_ns)

    bridge.bridge.post(act)
    bridge.wait_for(lambda: len(answers) == len(makes), "all answers")
    return answers


def three_commands(bridge: Running) -> list[tuple[str, str]]:
    return ask_together(
        bridge,
        lambda vehicle: commands.set_mode("LAND", vehicle.telemetry),
        lambda vehicle: commands.set_mode("RTL", vehicle.telemetry),
        lambda vehicle: commands.takeoff(5.0, 120.0, vehicle.telemetry),
    )


@pytest.fixture
def two_vehicles() -> Any:
    port = free_port()
    with running(f"udpin:127.0.0.1:{port}") as bridge, peer(port) as autopilot, peer(port, system=2):
        yield bridge, autopilot


def other_vehicle_answers(bridge: Running) -> bool:
    return bridge.ask(lambda vehicle: commands.arm(True), system=2).ok


def test_three_commands_that_are_refused_together(two_vehicles: tuple[Running, CoSimulator]) -> None:
    bridge, autopilot = two_vehicles
    bridge.vehicle()
    autopilot.refuse |= {176: (4, ""), 22: (4, "")}
    assert sorted(three_commands(bridge)) == [("mode LAND", "failed"), ("mode RTL", "failed"), ("takeoff", "failed")]
    assert other_vehicle_answers(bridge)


# Takes seconds: make test has conversations that begin and end in any order.
@pytest.mark.nightly
def test_three_commands_that_nobody_answers(two_vehicles: tuple[Running, CoSimulator]) -> None:
    bridge, autopilot = two_vehicles
    bridge.vehicle()
    autopilot.drop_commands |= {176: 100, 22: 100}
    answers = three_commands(bridge)
    assert {name for name, _ in answers} == {"mode LAND", "mode RTL", "takeoff"}
    assert all(text == f"no answer to {name} after 4 attempts" for name, text in answers)
    assert other_vehicle_answers(bridge)


class Failing(Transaction):
    """Raises in one of its steps."""

    key = name = "failing"

    def __init__(self, step: str) -> None:
        self._step = step

    def _at(self, step: str) -> list[Outgoing]:
        if step == self._step:
            raise AttributeError(f"fault in {step}")
        return []

    def start(self, now_ns: int) -> list[Outgoing]:
        return self._at("start")

    def receive(self, message: MavlinkMessage, now_ns: int) -> list[Outgoing]:
        return self._at("receive")

    def tick(self, now_ns: int) -> list[Outgoing]:
        return self._at("tick")


@pytest.mark.parametrize("step", ["start", "receive", "tick"])
def test_an_exception_ends_its_transaction_alone(two_vehicles: tuple[Running, CoSimulator], step: str) -> None:
    bridge, _ = two_vehicles
    for _ in range(3):
        failed = bridge.ask(lambda vehicle: Failing(step))
        assert failed == (False, "internal error: AttributeError; the log has the details", None)
    assert bridge.ask(lambda vehicle: commands.arm(True)).ok
    assert other_vehicle_answers(bridge)
    loud = [line for line in bridge.complaints if "Traceback" in line]
    assert len(loud) == 1, "its traceback once"
    assert loud[0].startswith(f"system 1: failing: internal error: AttributeError at {__file__.rpartition('/')[2]}:")
    assert f"fault in {step}" in loud[0]


def test_exceptions_elsewhere_in_a_conversation_are_survived(two_vehicles: tuple[Running, CoSimulator]) -> None:
    """In what is told of a result, in a request of another thread, and in a setpoint that no message can hold."""
    bridge, _ = two_vehicles
    vehicle = bridge.vehicle()

    def raising(*told: object) -> None:
        raise RuntimeError("nobody expects this")

    bridge.bridge.post(lambda now_ns: vehicle.begin(commands.arm(True), raising, now_ns))
    bridge.bridge.post(raising)
    bridge.wait_for(lambda: "the result of arm: internal error: RuntimeError" in "".join(bridge.complaints))

    def unsendable(now_ns: int) -> None:
        vehicle.stream.set(Setpoint("SET_ATTITUDE_TARGET", {"thrust": 1e308}), "test")

    bridge.bridge.post(unsendable)
    bridge.wait_for(lambda: "EncodeError" in "".join(bridge.complaints))
    assert bridge.ask(lambda vehicle: commands.arm(False)).ok
    assert other_vehicle_answers(bridge)


class Scripted(Transaction):
    """Ends in a tick of its own, at its start if that is 0, or when it is cancelled."""

    def __init__(self, key: str, name: str, ticks: int) -> None:
        self.key, self.name, self._ticks = key, name, ticks

    def start(self, now_ns: int) -> list[Outgoing]:
        return self.tick(now_ns)

    def tick(self, now_ns: int) -> list[Outgoing]:
        self._ticks -= 1
        return self.end(True, "done") if self._ticks < 0 else [("HEARTBEAT", {"type": self.name})]


def unexpected(what: str, error: Exception, now_ns: int) -> None:
    raise error


# What is done in a turn, and what is done in the report of each result: begin (key, ticks), or cancel a key.
ACTIONS = st.one_of(st.tuples(st.sampled_from("abc"), st.integers(0, 3)), st.sampled_from("abc"))


@given(st.lists(st.lists(ACTIONS, max_size=6), max_size=8), st.lists(ACTIONS, max_size=12))
def test_whatever_begins_and_ends_in_whatever_order(turns: list[list[Any]], reactions: list[Any]) -> None:
    """Each is answered once; of one key one runs at a time, in the order in which they came."""
    begun: dict[str, list[str]] = {key: [] for key in "abc"}
    sent: list[str] = []
    ended: list[str] = []
    left = list(reactions)
    conversations = Conversations(
        lambda outgoing, now_ns: sent.extend(fields["type"] for _, fields in outgoing),
        unexpected,
    )

    def act(action: Any) -> None:
        if isinstance(action, str):
            conversations.cancel(action, "cancelled", 0)
            return
        key, ticks = action
        name = f"{key}{len(begun[key])}"
        begun[key].append(name)
        conversations.begin(Scripted(key, name, ticks), end, 0)

    def end(transaction: Transaction, result: Result) -> None:
        ended.append(transaction.name)
        if left:
            act(left.pop())

    for turn in turns:
        for action in turn:
            act(action)
        conversations.tick(0)
    for _ in range(200):
        conversations.tick(0)
    assert sorted(ended) == sorted(name for names in begun.values() for name in names)
    for key, names in begun.items():
        running_order = list(dict.fromkeys(name for name in sent if name.startswith(key)))
        assert running_order == [name for name in names if name in running_order]
        # Once another one runs, an earlier one sends no more.
        turns_of = [names.index(name) for name in sent if name.startswith(key)]
        assert turns_of == sorted(turns_of)


def test_more_than_can_wait_are_refused() -> None:
    answers: list[Result] = []
    conversations = Conversations(lambda outgoing, now_ns: None, unexpected)
    for number in range(MAX_WAITING + 3):
        conversations.begin(Scripted("a", str(number), 1), lambda each, result: answers.append(result), 0)
    assert [result.text for result in answers] == [f"{MAX_WAITING} requests are already waiting"] * 2
    for _ in range(10 * MAX_WAITING):
        conversations.tick(0)
    assert len(answers) == MAX_WAITING + 3
