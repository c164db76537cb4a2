"""Broken packets on the links of PX4 and ArduPilot, over real sockets.

After each burst comes a sound packet, which has to be answered: commands stay within 0 to 1, and no sound autopilot
is dropped.
"""

from __future__ import annotations

import select
import socket
import struct
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from random import Random

import numpy as np

from sim_node.autopilots.lockstep import ArduPilot, LockstepAutopilot, Px4, Sample
from sim_node.autopilots.lockstep.ardupilot import FIRST_PORT as ARDUPILOT_PORT
from sim_node.autopilots.lockstep.ardupilot import PORTS_PER_INSTANCE
from sim_node.autopilots.lockstep.px4 import FIRST_PORT as PX4_PORT
from sim_node.mavlink.codec import frame_bytes
from stress.mutations import broken_bytes

MOTORS = 4
# Other ones than the tests'.
INSTANCES = range(1000, 1100)
# Later than any time of the simulation (us): lockstep asks for no more.
LATER = 2**62


class Link:
    """A simulator link, and the socket of an autopilot."""

    burst = 40

    def __init__(self, kind: Callable[[int, int], LockstepAutopilot]) -> None:
        self._simulator, self._instance = _opened(kind)
        self._number = 0
        self.peer: socket.socket

    def sound(self, number: int) -> bytes:
        """Return what an autopilot that works sends."""
        raise NotImplementedError

    def seeds(self) -> Sequence[bytes]:
        """Packets of an autopilot that works."""
        return [self.sound(number) for number in range(0, 500, 7)]

    def mutate(self, rng: Random, seed: bytes) -> bytes:
        """As bytes: the formats have little more than a head and numbers."""
        return broken_bytes(seed, rng)

    def feed(self, data: bytes) -> str:
        """It is sent."""
        # A datagram that nobody read, of a burst before.
        with suppress(ConnectionRefusedError):
            self.peer.sendall(data)
        return "sent"

    def settle(self) -> None:
        """Sound packets are answered. What a burst has left over is taken in by the exchanges after it."""
        self._number += 1
        self.peer.sendall(self.sound(self._number))
        for _ in range(3):
            self._simulator.send(_sample(self._number))
            commands = self._simulator.receive()
            if commands is not None:
                assert len(commands) == MOTORS, commands
                assert all(0.0 <= command <= 1.0 for command in commands), commands
            self._number += 1
            self.peer.sendall(self.sound(self._number))
        while select.select([self.peer], [], [], 0.0)[0]:
            self.peer.recv(65536)
        assert self._simulator.wait.lost == 0, f"a sound autopilot was dropped {self._simulator.wait.lost} times"

    def close(self) -> None:
        """Closes both ends."""
        self.peer.close()
        self._simulator.close()


class ArduPilotLink(Link):
    """Servo packets in UDP."""

    def __init__(self, folder: Path) -> None:
        super().__init__(ArduPilot)
        self.peer = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.peer.connect(("127.0.0.1", ARDUPILOT_PORT + PORTS_PER_INSTANCE * self._instance))

    def sound(self, number: int) -> bytes:
        """16 or 32 channels in turns."""
        wide = number % 2
        pwm = [1000 + number % 1000] * (32 if wide else 16)
        return struct.pack(f"<HHI{len(pwm)}H", 29569 if wide else 18458, 1200, number & 0xFFFFFFFF, *pwm)


class Px4Link(Link):
    """MAVLink in TCP."""

    def __init__(self, folder: Path) -> None:
        super().__init__(Px4)
        self.peer = socket.create_connection(("127.0.0.1", PX4_PORT + self._instance))

    def sound(self, number: int) -> bytes:
        """Motor commands, as often as the longest frame that a broken header may announce would swallow."""
        controls = [number % 100 / 99.0] * MOTORS + [0.0] * (16 - MOTORS)
        fields = {"time_usec": LATER + number, "controls": controls, "mode": 129, "flags": 1}
        return frame_bytes("HIL_ACTUATOR_CONTROLS", fields, 1, 1, number & 0xFF) * 5


def _sample(number: int) -> Sample:
    level = np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0])
    force = np.array([0.0, 0.0, 9.81])
    return Sample(number * 4_000_000, level, np.zeros(3), np.zeros(3), force)


def _opened(kind: Callable[[int, int], LockstepAutopilot]) -> tuple[LockstepAutopilot, int]:
    for candidate in INSTANCES:
        simulator = kind(candidate, MOTORS)
        try:
            simulator.open()
        except OSError:
            continue
        return simulator, candidate
    raise OSError("no free port")
