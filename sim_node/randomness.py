"""Random numbers: an independent stream for each consumer."""

from __future__ import annotations

import hashlib

import numpy as np


def stream(seed: int, owner: str, kind: str) -> np.random.Generator:
    """Return the generator for (seed, owner, kind), such as a sensor of a frame, independent of all others.

    Philox is a counter-based generator of independent streams: Salmon, Moraes, Dror & Shaw, Parallel random
    numbers: as easy as 1, 2, 3, SC 2011.
    """
    digest = hashlib.sha256(f"{owner}\0{kind}".encode()).digest()
    words = [int.from_bytes(digest[at : at + 4], "little") for at in range(0, 16, 4)]
    return np.random.Generator(np.random.Philox(np.random.SeedSequence(seed, spawn_key=words)))
