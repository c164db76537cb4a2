"""What programs with DroneKit begin with: names that Python no longer has, and waiting."""

from __future__ import annotations

import collections
import collections.abc
import sys
import time

# DroneKit is of 2019; Python has had these names in collections.abc alone since 3.10.
for name in ("MutableMapping", "Mapping", "Iterable", "Callable"):
    if not hasattr(collections, name):
        setattr(collections, name, getattr(collections.abc, name))


def until(fits, what: str) -> None:  # type: ignore[no-untyped-def]
    """Wait until something is true."""
    deadline = time.monotonic() + 120.0
    while not fits():
        if time.monotonic() > deadline:
            sys.exit(f"not within two minutes: {what}")
        time.sleep(0.05)
