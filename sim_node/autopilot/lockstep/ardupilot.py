"""ArduPilot in lockstep: servo packets come by UDP, each is answered once."""

from __future__ import annotations

import select
import socket
from contextlib import suppress
from typing import ClassVar

from sim_node.autopilot.lockstep.ardupilot_json import Servos, read_servos, reply
from sim_node.autopilot.lockstep.autopilot import Commands, Wait, autopilot
from sim_node.autopilot.lockstep.ground_truth import GroundTruthSource
from sim_node.autopilot.lockstep.sample import Sample
from sim_node.autopilot.lockstep.sample_source import SampleSource
from sim_node.simulation import Simulation
from sim_node.world import Multirotor

FIRST_PORT, PORTS_PER_INSTANCE = 9002, 10
HOST = "127.0.0.1"
_DATAGRAM = 2048


@autopilot("ardupilot")
class ArduPilot:
    """The physics side of SITL's `--model JSON`.

    Its clock begins at zero with the first packet of each start of the autopilot, whose frame numbers then begin
    anew. A packet that repeats the last one asks for the last answer again: that one was lost.
    """

    senses: ClassVar[type[SampleSource]] = GroundTruthSource

    def __init__(self, instance: int, motors: int) -> None:
        self.address = (HOST, FIRST_PORT + PORTS_PER_INSTANCE * instance)
        self.wait = Wait(f"ArduPilot {instance} (udp {HOST}:{self.address[1]})")
        self._motors = motors
        self._socket: socket.socket | None = None
        self._peer: tuple[str, int] | None = None
        self._servos: Servos | None = None
        self._began_ns = 0
        self._now_ns = 0
        self._answer = b""

    @classmethod
    def of(cls, simulation: Simulation, vehicle: Multirotor, rate: float) -> ArduPilot:
        """That of a vehicle in a run."""
        assert vehicle.autopilot is not None
        return cls(vehicle.autopilot.instance, len(vehicle.rotors))

    def open(self) -> None:
        """Raises OSError where the port is taken."""
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        try:
            self._socket.bind(self.address)
        except OSError:
            self.close()
            raise
        self._socket.setblocking(False)

    def close(self) -> None:
        """Lets go of the port."""
        if self._socket is not None:
            self._socket.close()
        self._socket, self._peer = None, None

    def send(self, sample: Sample) -> None:
        """Answers the last packet."""
        if sample.time_ns < self._now_ns:
            # The world began anew; ArduPilot's clock must not go back with it.
            self._began_ns -= self._now_ns - sample.time_ns
        self._now_ns = sample.time_ns
        if self._peer is not None:
            self._answer = reply(sample, sample.time_ns - self._began_ns)
            self._send()

    def receive(self) -> Commands | None:
        """Waits for the next one."""
        if self._peer is None:
            return self._commands() if self._next(0.0) else None
        if self.wait.until(self._next):
            return self._commands()
        if not self.wait.stop.is_set():
            self._peer, self._servos, self._answer = None, None, b""
            self.wait.lose()
        return (0.0,) * self._motors

    def _commands(self) -> Commands:
        assert self._servos is not None
        return tuple(self._servos.command(channel) for channel in range(self._motors))

    def _next(self, seconds: float) -> bool:
        """Whether a packet that asks for a new step came."""
        assert self._socket is not None
        if not select.select([self._socket], [], [], seconds)[0]:
            return False
        while True:
            try:
                packet, peer = self._socket.recvfrom(_DATAGRAM)
            except BlockingIOError:
                return False
            except ConnectionError:
                continue  # an answer found nobody
            servos = read_servos(packet)
            if servos is None:
                continue
            if self._servos is not None and peer == self._peer and servos.frame == self._servos.frame:
                self._send()
                continue
            self._take(servos, peer)
            return True

    def _take(self, servos: Servos, peer: tuple[str, int]) -> None:
        anew = self._servos is None or servos.frame < self._servos.frame
        self._servos, self._peer = servos, peer
        self.wait.peer, self.wait.lockstep = f"{peer[0]}:{peer[1]}", True
        if anew:
            self._began_ns = self._now_ns

    def _send(self) -> None:
        if self._answer and self._socket is not None and self._peer is not None:
            with suppress(OSError):  # it will ask again
                self._socket.sendto(self._answer, self._peer)
