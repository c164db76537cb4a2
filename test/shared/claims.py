"""What only one test of this machine may use at a time: DDS domains, ports, instances of autopilots."""

from __future__ import annotations

import fcntl
import itertools
import os
import socket
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from waiting import PATIENCE, until

# A file for each number. Its lock is the claim: it ends with the process at the latest, however that ends. Not in
# $TMPDIR, which differs between suites, nor in a folder per user, who all share the network.
LOCKS = Path("/tmp/sim_node-test-claims")
# DDS maps domains to ports from 7400 on, 250 to each; up to 101 they stay clear of Linux' ephemeral range, and these
# clear of those that people choose by hand.
DOMAINS = range(61, 102)
FIRST_DDS_PORT, DDS_PORTS = 7400, 250
# Above Linux' ephemeral range, so that no socket which is bound to "any port" takes one between claim and use.
PORTS = range(61_000, 65_000)
# MAVLink gives instance i the system id i + 1, which ends at 255.
INSTANCES = range(60, 254)
# Of instance i. PX4 and the built-in autopilot: simulator 4560 + i, ground station 14540 + i, from 14800 + i.
# ArduPilot: 9002 + 10 i and the one after it.
_TCP, _UDP = socket.SOCK_STREAM, socket.SOCK_DGRAM


class Claims:
    """The claims of this process. They are kept until `release`, or the end of the process."""

    def __init__(self) -> None:
        self._held: list[int] = []
        # Suites that begin together begin at different numbers, and no number is used again soon.
        self._turns: dict[str, itertools.count[int]] = {}

    def __len__(self) -> int:
        return len(self._held)

    def claim(
        self, kind: str, numbers: Sequence[int], is_free: Callable[[int], bool], patience: float = PATIENCE
    ) -> int:
        """A number, none of them 0, that nobody has claimed and nobody uses. Where there is none, waits for one."""
        turn = self._turns.setdefault(kind, itertools.count(os.getpid() * 37))
        found = until(lambda: self._try(kind, numbers, is_free, next(turn)), f"a free {kind}", 0.2, patience)
        assert found is not None
        return found

    def release(self, kept: int = 0) -> None:
        """Gives up all claims but the first so many."""
        while len(self._held) > kept:
            os.close(self._held.pop())

    def _try(self, kind: str, numbers: Sequence[int], is_free: Callable[[int], bool], turn: int) -> int | None:
        first = turn % len(numbers)
        for number in (*numbers[first:], *numbers[:first]):
            lock = _locked(LOCKS / f"{kind}-{number}")
            if lock is None:
                continue
            if is_free(number):
                self._held.append(lock)
                return number
            os.close(lock)
        return None


CLAIMS = Claims()


def free_domain() -> int:
    """A DDS domain without participants."""
    return CLAIMS.claim("domain", DOMAINS, lambda domain: not _ports_in_use() & _dds_ports(domain))


def free_port(kind: socket.SocketKind = _UDP) -> int:
    """A port of 127.0.0.1."""
    return CLAIMS.claim("port", PORTS, lambda port: can_be_bound(kind, port))


def free_instance() -> int:
    """An instance of an autopilot, with the ports that go by it: see sim_node.autopilots.lockstep."""

    def is_free(instance: int) -> bool:
        ports = [(_TCP, 4560 + instance), (_UDP, 14540 + instance), (_UDP, 14800 + instance)]
        ports += [(_UDP, 9002 + 10 * instance), (_UDP, 9003 + 10 * instance)]
        return all(can_be_bound(kind, port) for kind, port in ports)

    return CLAIMS.claim("instance", INSTANCES, is_free)


def claim_alone(what: str) -> None:
    """Waits until no other test of this machine does the same."""
    CLAIMS.claim(what.replace(" ", "-"), range(1, 2), lambda number: True, patience=3.0 * PATIENCE)


def _locked(path: Path) -> int | None:
    """A file descriptor that holds the lock of a file, None where somebody else holds it."""
    try:
        file = _opened(path)
    except FileNotFoundError:
        with suppress(FileExistsError):
            LOCKS.mkdir()
            LOCKS.chmod(0o1777)
        file = _opened(path)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(file)
        return None
    return file


def _opened(path: Path) -> int:
    """The file as it is, else a new one that others may open too."""
    try:
        return os.open(path, os.O_RDONLY)  # O_CREAT would be refused for another user's file in a sticky folder
    except FileNotFoundError:
        file = os.open(path, os.O_RDONLY | os.O_CREAT, 0o644)
        os.fchmod(file, 0o644)
        return file


def can_be_bound(kind: socket.SocketKind, port: int) -> bool:
    """Whether nobody has a port of 127.0.0.1. A connection of an earlier test, in TIME_WAIT, does not count."""
    with socket.socket(socket.AF_INET, kind) as probe:
        if kind == _TCP:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def _dds_ports(domain: int) -> set[int]:
    first = FIRST_DDS_PORT + DDS_PORTS * domain
    return set(range(first, first + DDS_PORTS))


def _ports_in_use() -> set[int]:
    """UDP ports of this machine that somebody has bound; empty where the system does not tell."""
    ports = set()
    for table in ("/proc/net/udp", "/proc/net/udp6"):
        if Path(table).exists():
            rows = Path(table).read_text(encoding="ascii").splitlines()[1:]
            ports |= {int(row.split()[1].rpartition(":")[2], 16) for row in rows}
    return ports
