"""Doors with one fault each, by which the runner is tested."""

from __future__ import annotations

import multiprocessing
import os
import time
from collections.abc import Sequence
from pathlib import Path
from random import Random

from stress import feeding
from stress.door import Stateless

BAD = b"7"
# Of the processes that feed these doors: the ceilings are reached soon, so that the tests of them are cheap.
MAX_SECONDS, MAX_BYTES, MAX_GROWTH = 0.3, 64 << 20, 8 << 20


class Faulty(Stateless):
    """Mutations are digits; one of them does not survive."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._grown: list[bytes] = []
        self._compiled = False

    def seeds(self) -> Sequence[bytes]:
        return [b"0"]

    def mutate(self, rng: Random, seed: bytes) -> bytes:
        return b"%d" % rng.randrange(10)

    def feed(self, data: bytes) -> str:
        if self._name == "grows":
            self._grown.append(bytes([len(self._grown) % 255 + 1]) * (1 << 17))
        if self._name == "grows once":
            self._grown.append(b"\1" * ((32 << 20) if len(self._grown) == 500 else 1))
        if data != BAD:
            return "fine"
        if self._name == "raises":
            raise ValueError("seven")
        first, self._compiled = not self._compiled, True
        if self._name == "slow" or (self._name == "compiles" and first):
            until = time.process_time() + MAX_SECONDS + 0.2
            while time.process_time() < until:
                pass
        if self._name == "takes memory":
            bytearray(os.urandom(1)) * (MAX_BYTES + (8 << 20))
        if self._name == "dies":
            os._exit(3)
        if self._name == "waits":
            time.sleep(3600.0)
        return "seven"


def opened(name: str, folder: Path) -> Faulty:
    if multiprocessing.parent_process() is not None:
        feeding.MAX_SECONDS, feeding.MAX_BYTES, feeding.MAX_GROWTH = MAX_SECONDS, MAX_BYTES, MAX_GROWTH
    return Faulty(name)
