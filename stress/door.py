"""What a fuzzer has to provide for one door: seeds, mutations, and how an input is fed."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Protocol


class Door(Protocol):
    """A way by which bytes of others get into sim_node.

    A door is made with a scratch folder, and may keep sockets and threads until `close`.

    Attributes:
        burst: Inputs between two calls of `settle`. Time and memory are measured over a burst. A door whose inputs
            stay in a socket or change its state has more than one, so that a find can be repeated as a whole.
    """

    burst: int

    def seeds(self) -> Sequence[bytes]:
        """Return sound inputs, from which the hostile ones are made."""

    def mutate(self, rng: Random, seed: bytes) -> bytes:
        """Return a hostile input; the same for the same state of `rng`."""

    def feed(self, data: bytes) -> str:
        """Feed one input.

        Returns:
            What became of it, in a word or two: outcomes are counted.

        Raises:
            Exception: Whatever the door's own error does not cover. It is a find.
        """

    def settle(self) -> None:
        """Check, after a burst, that whoever is behind the door still works. Raises AssertionError where not."""

    def close(self) -> None:
        """Let go of sockets, threads and files."""


class Stateless:
    """What doors have in common whose inputs do not depend on each other."""

    burst = 1

    def settle(self) -> None:
        """Nothing is left of an input."""

    def close(self) -> None:
        """Nothing is kept."""
