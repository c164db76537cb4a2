"""The simulator side for PX4's rovers, against one on a real socket that answers at 100 Hz while it drives."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import suppress

import numpy as np
import pytest
from claims import free_instance
from exchanging import take_turns
from pymavlink.dialects.v20 import common as mavlink
from waiting import until

from sim_node.autopilots.lockstep import Sample
from sim_node.autopilots.lockstep.px4 import Px4Rover

EPOCH_US, STEP_US, PERIOD_US = 1_000_000, 4_000, 10_000
LEFT, RIGHT = -0.25, 0.75


class Rover:
    """Runs its controllers with the first HIL_SENSOR of every 10 ms, as PX4's clock is set by them.

    drives: whether they publish. answered_us: the time of the last controls that it has sent.
    """

    def __init__(self, address: tuple[str, int]) -> None:
        self.drives, self.answered_us, self.heard_us = False, 0, 0
        self._due_us = 0
        self._socket = socket.create_connection(address)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._mav = mavlink.MAVLink(None, 1, 1)
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        with suppress(OSError):
            while data := self._socket.recv(65536):
                for message in self._mav.parse_buffer(data) or ():
                    if message.get_type() == "HIL_SENSOR":
                        self._hear(message.time_usec)

    def _hear(self, time_us: int) -> None:
        if time_us >= self._due_us:
            self._due_us = time_us - time_us % PERIOD_US + PERIOD_US
            if self.drives:
                self.answered_us = time_us
                answer = self._mav.hil_actuator_controls_encode(time_us, [RIGHT, LEFT, *[0.0] * 14], 129, 1)
                self._socket.sendall(answer.pack(self._mav))
        self.heard_us = time_us

    def close(self) -> None:
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._thread.join()
        self._socket.close()


@pytest.fixture
def px4() -> Iterator[Px4Rover]:
    simulator = Px4Rover(free_instance(), 2, -1.0)
    simulator.open()
    yield simulator
    simulator.close()


@pytest.fixture
def rover(px4: Px4Rover) -> Iterator[Rover]:
    found = Rover(px4.address)
    yield found
    found.close()


def sample(step: int) -> Sample:
    at_rest = np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0])
    return Sample(step * STEP_US * 1000, at_rest, np.zeros(3), np.zeros(3), np.array([0.0, 0.0, 9.80665]))


def test_it_is_ahead_by_less_than_a_period_and_a_sample_while_the_rover_drives(px4: Px4Rover, rover: Rover) -> None:
    rover.drives = True
    begin = 0
    while not px4.wait.lockstep:
        assert take_turns(px4, sample(begin)) in ((0.0, 0.0), (RIGHT, LEFT))
        begin += 1
    for step in range(begin, begin + 250):
        assert take_turns(px4, sample(step)) == (RIGHT, LEFT)
        assert EPOCH_US + step * STEP_US - rover.answered_us < PERIOD_US + STEP_US
    assert (px4.wait.lost, px4.wait.lockstep) == (0, True)


def test_its_wheels_stand_and_time_passes_no_faster_than_real_time_while_it_is_silent(
    px4: Px4Rover, rover: Rover
) -> None:
    px4.send(sample(0))
    px4.receive()
    began = time.monotonic()
    for step in range(1, 51):
        assert take_turns(px4, sample(step)) == (0.0, 0.0)
    assert time.monotonic() - began > 49 * STEP_US * 1e-6
    until(lambda: rover.heard_us == EPOCH_US + 50 * STEP_US, "the last sample is there")
    assert (px4.wait.lost, px4.wait.lockstep, bool(px4.wait.peer)) == (0, False, True)
