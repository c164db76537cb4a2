"""Ports of autopilots on this machine, and checks whether they are in use."""

from __future__ import annotations

import errno
import fcntl
from pathlib import Path

HOST = "127.0.0.1"
# Ports of instance 0. Those of other instances are consecutive.
FIRST_SIMULATOR_PORT, FIRST_GROUND_PORT, FIRST_OWN_PORT = 4560, 14540, 14800
# Port on which the first PX4 listens for ground stations; ports of the first ArduPilot's simulator link and serial
# line, and the distance between those of its instances.
FIRST_STATION_PORT = 18570
ARDUPILOT_SIMULATOR_PORT, ARDUPILOT_SERIAL_PORT, ARDUPILOT_APART = 9002, 5760, 10


class PortInUse(Exception):
    """A port is in use. The message names it and a solution."""


def is_in_use(error: OSError) -> bool:
    """Return whether an address cannot be bound because it is in use."""
    return error.errno == errno.EADDRINUSE


def px4_lock(instance: int) -> Path:
    """Return the file that a PX4 instance locks while it runs, in any network namespace (its main.cpp)."""
    return Path(f"/tmp/px4_lock-{instance}")


def is_locked(path: Path) -> bool:
    """Return whether another process holds a POSIX lock on a file."""
    try:
        with path.open("r+b") as file:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False
