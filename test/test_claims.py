"""What tests claim is theirs alone on this machine, until they give it up or are killed."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import claims
import pytest
from claims import Claims

CLAIM = """
import sys
from claims import CLAIMS
print(CLAIMS.claim(sys.argv[1], range(1, 5), lambda number: True), flush=True)
sys.stdin.readline()
"""


@pytest.fixture
def kind() -> Iterator[str]:
    """A kind of number that nobody else claims."""
    name = f"test-{os.getpid()}"
    yield name
    for path in claims.LOCKS.glob(f"{name}-*"):
        path.unlink()


def claimant(kind: str) -> subprocess.Popen[str]:
    """Another suite's process, which claims one of 1 to 4 and keeps it."""
    environment = {**os.environ, "PYTHONPATH": str(Path(claims.__file__).parent)}
    return subprocess.Popen(
        [sys.executable, "-c", CLAIM, kind], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
    )


def number_of(process: subprocess.Popen[str]) -> int:
    assert process.stdout is not None
    return int(process.stdout.readline())


def test_no_two_processes_have_the_same(kind: str) -> None:
    """Not even where they begin at the same number; a fifth waits until one is killed."""
    with ExitStack() as opened:
        others = [opened.enter_context(claimant(kind)) for _ in range(4)]

        def kill_all() -> None:
            for other in others:
                other.kill()

        opened.callback(kill_all)
        assert sorted(map(number_of, others)) == [1, 2, 3, 4]
        fifth = opened.enter_context(claimant(kind))
        others.append(fifth)
        ours = Claims()
        assert ours._try(kind, range(1, 5), lambda number: True, 0) is None
        others[0].kill()
        assert number_of(fifth) in range(1, 5)


def test_what_is_given_up_is_free(kind: str) -> None:
    one, other = Claims(), Claims()
    first = one.claim(kind, [7], lambda number: True)
    assert other._try(kind, [7], lambda number: True, 0) is None
    one.claim(kind, [8], lambda number: True)
    one.release(kept=1)
    assert other.claim(kind, [7, 8], lambda number: True) == 8
    one.release()
    assert other.claim(kind, [7], lambda number: True) == first
    other.release()


def test_what_somebody_uses_is_passed_over() -> None:
    """Who asks for no claim: a participant of a domain, a server."""
    domain = claims.free_domain()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as participant:
        participant.bind(("127.0.0.1", claims.FIRST_DDS_PORT + claims.DDS_PORTS * domain + 10))
        assert claims._ports_in_use() & claims._dds_ports(domain)
    port = claims.free_port(socket.SOCK_STREAM)
    with socket.create_server(("127.0.0.1", port)):
        assert not claims.can_be_bound(socket.SOCK_STREAM, port)
        assert claims.free_port(socket.SOCK_STREAM) != port
    assert claims.can_be_bound(socket.SOCK_STREAM, port)
