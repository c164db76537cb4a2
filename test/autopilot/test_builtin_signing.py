"""`sim_node autopilot` with a signing key: who has the key is heard and answered, who has not is not."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from claims import free_port
from pymavlink.dialects.v20 import ardupilotmega as mavlink
from waiting import until

from sim_node.autopilot.signing import EPOCH_S
from sim_node.cli.main import main

KEY = bytes(range(32))
GUIDED = "guided"


def heartbeat(key: bytes | None) -> bytes:
    sender = mavlink.MAVLink(None, 255, 190)
    if key is not None:
        sender.signing.secret_key, sender.signing.sign_outgoing = key, True
        sender.signing.timestamp = int((time.time() - EPOCH_S) * 100_000)
    packed: bytes = sender.heartbeat_encode(6, 8, 0, 0, 0).pack(sender)
    return packed


def heard(ground: socket.socket) -> list[bytes]:
    found = []
    try:
        while True:
            found.append(ground.recv(2048))
    except BlockingIOError:
        return found


def test_only_who_has_the_key_is_answered(tmp_path: Path) -> None:
    (tmp_path / "key").write_bytes(KEY)
    (tmp_path / "key").chmod(0o600)
    port = free_port()
    command = [sys.executable, "-m", "sim_node.cli.main", "autopilot", "--world", GUIDED, "--sim", "tcp:127.0.0.1:1"]
    command += ["--mavlink", f"udpin:{port}", "--signing-key", str(tmp_path / "key")]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    grounds = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(3)]
    friend, stranger, liar = grounds
    for ground in grounds:
        ground.setblocking(False)
        ground.bind(("127.0.0.1", 0))

    def asked() -> list[bytes]:
        assert process.poll() is None
        stranger.sendto(heartbeat(None), ("127.0.0.1", port))
        liar.sendto(heartbeat(KEY[::-1]), ("127.0.0.1", port))
        friend.sendto(heartbeat(KEY), ("127.0.0.1", port))
        return heard(friend)

    try:
        answers = until(asked, "an answer to signed heartbeats", poll_s=0.1)
        receiver = mavlink.MAVLink(None)
        receiver.signing.secret_key = KEY
        for answer in answers:
            assert receiver.decode(bytearray(answer)).get_signed()
        # Whoever was heard gets each message, in the order of who was heard first.
        assert heard(stranger) == heard(liar) == []
    finally:
        process.kill()
        process.wait()
        for ground in grounds:
            ground.close()


def test_a_key_that_is_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "key").write_bytes(b"short")
    assert main(["autopilot", "--world", GUIDED, "--signing-key", str(tmp_path / "key")]) == 2
    assert "--signing-key: " in capsys.readouterr().err
    assert main(["autopilot", "--world", GUIDED, "--signing", "required"]) == 2
    assert "--signing requires --signing-key" in capsys.readouterr().err
