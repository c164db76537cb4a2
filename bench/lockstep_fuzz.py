"""A million broken packets to the simulator links of ArduPilot and PX4, over real sockets.

After each burst comes one sound packet, which has to be answered: nothing raises, nothing hangs, commands stay
within 0 to 1, and memory does not grow.
"""

from __future__ import annotations

import argparse
import random
import resource
import select
import socket
import struct
import sys
import time
from collections.abc import Callable

import numpy as np

from sim_node.autopilot.codec import frame_bytes
from sim_node.autopilot.lockstep import ArduPilot, Autopilot, Px4, Sample
from sim_node.autopilot.lockstep.ardupilot import FIRST_PORT as ARDUPILOT_PORT
from sim_node.autopilot.lockstep.ardupilot import PORTS_PER_INSTANCE
from sim_node.autopilot.lockstep.px4 import FIRST_PORT as PX4_PORT

BURST = 40
MOTORS = 4
# A sound packet is answered at once; far more than that, on a busy machine too, is a hang (s).
HANG = 100.0
# Other ones than the tests'.
INSTANCES = range(1000, 1100)
# What may come and go in the allocator (kB).
FLAT = 16_384
# Later than any time of the simulation (us): lockstep asks for no more.
LATER = 2**62
EXTREMES = (b"\0", b"\xff", b"\x7f", b"\x80", b"\x00\x00\xc0\x7f", b"\x00\x00\x80\x7f")


def mutated(packet: bytes, chance: random.Random) -> bytes:
    """A packet with bits turned, bytes gone or doubled, cut, filled with extremes, or all at random."""
    data = bytearray(packet)
    for _ in range(chance.randint(1, 4)):
        kind, at = chance.randrange(7), chance.randrange(len(data)) if data else 0
        if kind == 0 and data:
            data[at] ^= 1 << chance.randrange(8)
        elif kind == 1:
            data[at : at + chance.randint(1, 8)] = b""
        elif kind == 2:
            data[at:at] = data[at : at + chance.randint(1, 16)]
        elif kind == 3:
            del data[at:]
        elif kind == 4:
            pattern = chance.choice(EXTREMES)
            data[at : at + len(pattern)] = pattern
        elif kind == 5:
            data[at:at] = chance.randbytes(chance.randint(1, 64))
        elif kind == 6:
            data = bytearray(chance.randbytes(chance.randint(0, 96)))
    return bytes(data)


def fuzz_ardupilot(packets: int, seed: int = 1, instance: int | None = None) -> int:
    """So many broken servo packets, to an instance or one that is free; how many there were."""
    simulator, instance = _opened(ArduPilot, instance)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as peer:
        peer.connect(("127.0.0.1", ARDUPILOT_PORT + PORTS_PER_INSTANCE * instance))

        def sound(number: int) -> bytes:
            wide = number % 2
            pwm = [1000 + number % 1000] * (32 if wide else 16)
            return struct.pack(f"<HHI{len(pwm)}H", 29569 if wide else 18458, 1200, number & 0xFFFFFFFF, *pwm)

        try:
            return _fuzz(simulator, peer, sound, peer.send, packets, seed)
        finally:
            simulator.close()


def fuzz_px4(packets: int, seed: int = 1, instance: int | None = None) -> int:
    """So many broken frames in PX4's stream, to an instance or one that is free; how many there were."""
    simulator, instance = _opened(Px4, instance)
    try:
        with socket.create_connection(("127.0.0.1", PX4_PORT + instance)) as peer:

            def sound(number: int) -> bytes:
                controls = [number % 100 / 99.0] * MOTORS + [0.0] * (16 - MOTORS)
                fields = {"time_usec": LATER + number, "controls": controls, "mode": 129, "flags": 1}
                # As often as the longest frame that a broken header may announce would swallow.
                return frame_bytes("HIL_ACTUATOR_CONTROLS", fields, 1, 1, number & 0xFF) * 5

            return _fuzz(simulator, peer, sound, peer.sendall, packets, seed)
    finally:
        simulator.close()


def _fuzz(
    simulator: Autopilot, peer: socket.socket, sound: Callable[[int], bytes], send: Callable[[bytes], object],
    packets: int, seed: int,
) -> int:  # fmt: skip
    chance, done, number = random.Random(seed), 0, 1
    peer.setblocking(True)
    while done < packets:
        for _ in range(BURST):
            broken = mutated(sound(number), chance)
            try:
                send(broken)
            except ConnectionRefusedError:
                continue
        done += BURST
        number += 1
        send(sound(number))
        began = time.monotonic()
        # What a burst has left over is taken by the exchanges after it.
        for _ in range(3):
            simulator.send(_sample(number))
            commands = simulator.receive()
            if commands is not None:
                assert len(commands) == MOTORS, commands
                assert all(0.0 <= command <= 1.0 for command in commands), commands
            send(sound(number := number + 1))
        assert time.monotonic() - began < HANG, f"hung after {done} packets"
        while select.select([peer], [], [], 0.0)[0]:
            peer.recv(65536)
    assert simulator.wait.lost == 0, f"a sound autopilot was dropped {simulator.wait.lost} times"
    return done


def _sample(number: int) -> Sample:
    level = np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0])
    force = np.array([0.0, 0.0, 9.81])
    return Sample(number * 4_000_000, level, np.zeros(3), np.zeros(3), force)


def _opened(kind: Callable[[int, int], Autopilot], instance: int | None) -> tuple[Autopilot, int]:
    for candidate in INSTANCES if instance is None else [instance]:
        simulator = kind(candidate, MOTORS)
        try:
            simulator.open()
        except OSError:
            continue
        return simulator, candidate
    raise SystemExit("no free port")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--packets", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    for name, fuzz in (("ArduPilot", fuzz_ardupilot), ("PX4", fuzz_px4)):
        fuzz(arguments.packets // 10, arguments.seed)
        before, began = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.monotonic()
        done = fuzz(arguments.packets, arguments.seed + 1)
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
        print(f"{name:<12}{done:>12,} broken packets in {time.monotonic() - began:.0f} s, {grown} kB more memory")
        if grown > FLAT:
            print(f"FAILED: memory is not flat, {grown} kB more")
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
