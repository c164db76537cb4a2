"""A command in two parts from separate topics: the newest of both, once both are available."""

from __future__ import annotations

from typing import Generic, TypeVar

A = TypeVar("A")
B = TypeVar("B")


class NewestPair(Generic[A, B]):
    """The newest parts of a command, each valid for a limited time.

    An expired part counts as missing: its publisher may be gone, and the other publisher must not keep it alive.

    names: names of the parts, for messages. lifetime_s: how long a part is valid, s; 0 for no limit.
    """

    def __init__(self, names: tuple[str, str], lifetime_s: float) -> None:
        self._names, self._lifetime_s = names, lifetime_s
        self._first: tuple[A, int] | None = None
        self._second: tuple[B, int] | None = None

    def put_first(self, part: A, now_ns: int) -> None:
        """Keep the newest first part."""
        self._first = part, now_ns

    def put_second(self, part: B, now_ns: int) -> None:
        """Keep the newest second part."""
        self._second = part, now_ns

    def forget(self) -> None:
        """Drop both parts."""
        self._first = self._second = None

    def complete(self, now_ns: int) -> tuple[A, B, float]:
        """Return both parts, and the age of the older one, s. Raises ValueError with the reason if one is missing."""
        if self._first is None or self._second is None:
            have, miss = self._names if self._second is None else self._names[::-1]
            raise ValueError(f"{have} without {miss}: nothing is sent before both are there")
        ages_s = [(now_ns - at_ns) * 1e-9 for _, at_ns in (self._first, self._second)]
        for name, age_s in zip(self._names, ages_s, strict=True):
            if self._lifetime_s and not 0.0 <= age_s < self._lifetime_s:
                raise ValueError(f"the last {name} is {age_s:.3g} s old; allowed: {self._lifetime_s:g} s")
        return self._first[0], self._second[0], max(ages_s)
