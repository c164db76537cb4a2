"""`sim_node autopilot` with a signing key: who has the key is heard and answered, who has not is not."""

from __future__ import annotations

import hashlib
import socket
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
from claims import free_instance, free_port
from pymavlink.dialects.v20 import ardupilotmega as mavlink
from waiting import until

from sim_node.autopilots.builtin.vehicle_parameters import to_json
from sim_node.autopilots.builtin.world import parameters_in
from sim_node.cli.main import main
from sim_node.mavlink.signing import EPOCH_S
from sim_node.recording.worlds import attachments_of
from sim_node.world import load

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


def world_with_key(folder: Path, ground: int, mode: int = 0o600) -> Path:
    """A world whose autopilot sends to a port, signed with the key beside it."""
    (folder / "flight.key").write_bytes(KEY)
    (folder / "flight.key").chmod(mode)
    world = folder / "signed.yaml"
    world.write_text(
        "origin: {latitude: 47.4, longitude: 8.5, altitude: 488}\ntime: {step: 0.004}\n"
        "bodies: [{name: ground, geometry: [{plane: true}]}]\nvehicles:\n"
        "  - name: drone\n    model: iris\n    pose: {position: [0, 0, 0.13]}\n"
        f"    autopilot: {{type: mavlink_builtin, instance: {free_instance()}, signing_key: flight.key, "
        f"links: ['udpout:{ground}']}}\n"
    )
    return world


@pytest.mark.nightly
def test_a_run_starts_an_autopilot_with_the_key_of_its_world(tmp_path: Path) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as ground:
        ground.bind(("127.0.0.1", 0))
        ground.setblocking(False)
        world = world_with_key(tmp_path, ground.getsockname()[1])
        command = [sys.executable, "-m", "sim_node.cli.main", "run", str(world), "--no-ros"]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        try:

            def frames() -> list[bytes]:
                assert process.poll() is None
                return heard(ground)

            # https://mavlink.io/en/guide/message_signing.html; pymavlink's dialect lacks some of the messages.
            for frame in until(frames, "frames of the autopilot", poll_s=0.1):
                assert frame[2] & 1
                assert frame[-6:] == hashlib.sha256(KEY + frame[:-6]).digest()[:6]
        finally:
            process.terminate()
            process.wait()
    assert list(tmp_path.glob("flight.key.autopilot*.timestamp0"))


# Takes seconds: make test has both ends with a key, below, and in test_signing.py.
@pytest.mark.nightly
@pytest.mark.usefixtures("ros_domain")
def test_the_bridge_beside_a_run_has_the_key_of_its_world(tmp_path: Path) -> None:
    """Or it would not find the vehicle: frames that are signed with an unknown key are refused."""
    pytest.importorskip("rclpy", reason="needs ROS 2")
    log = tmp_path / "log"
    world = world_with_key(tmp_path, free_port())
    with log.open("w") as output:
        command = [sys.executable, "-m", "sim_node.cli.main", "run", str(world)]
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT)
        try:

            def found() -> bool:
                assert process.poll() is None
                return "topics below drone" in log.read_text()

            until(found, "the vehicle at the bridge", poll_s=0.1)
        finally:
            process.terminate()
            process.wait()
    # Two programs, one key: each has timestamps of its own.
    assert (tmp_path / "flight.key.timestamp0").is_file()
    assert list(tmp_path.glob("flight.key.autopilot*.timestamp0"))


@pytest.mark.parametrize("fault", ["other users can read it", "No such file", "needs 32 bytes"])
def test_a_run_refuses_a_key_that_is_none(fault: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    world = world_with_key(tmp_path, free_port(), 0o644 if "read" in fault else 0o600)
    if "file" in fault:
        (tmp_path / "flight.key").unlink()
    elif "bytes" in fault:
        (tmp_path / "flight.key").write_bytes(b"short")
    assert main(["check", str(world)]) == 0
    assert main(["run", str(world), "--no-ros", "--duration", "1"]) == 2
    error = capsys.readouterr().err
    assert f"{world}:5:5: vehicles[0].autopilot.signing_key: signing key " in error
    assert fault in error
    assert error.splitlines()[1:] == ["1 error, nothing was started"]


def test_a_key_is_not_recorded(tmp_path: Path) -> None:
    world = world_with_key(tmp_path, free_port())
    as_read = load(world)
    made = replace(as_read, files=())
    for each in (as_read, made):
        attached = attachments_of(each, 1, randomised=False)
        assert not any(KEY in file.data or file.name.endswith(".key") for file in attached)
        again = tmp_path / "again.yaml"
        again.write_bytes(attached[1].data)
        autopilot = load(again).vehicles[0].autopilot
        assert autopilot is not None
        assert autopilot.signing_key is not None


def test_a_craft_of_somebody_else_names_no_key(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    world = load(world_with_key(tmp_path, free_port()))
    craft = tmp_path / "craft.json"
    craft.write_text(to_json(parameters_in(world, world.vehicles[0])))
    assert main(["autopilot", "--craft", str(craft)]) == 2
    assert "signing_key: give the key by --signing-key" in capsys.readouterr().err


def test_a_key_that_is_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "key").write_bytes(b"short")
    assert main(["autopilot", "--world", GUIDED, "--signing-key", str(tmp_path / "key")]) == 2
    assert "--signing-key: " in capsys.readouterr().err
    assert main(["autopilot", "--world", GUIDED, "--signing", "required"]) == 2
    assert "--signing requires --signing-key" in capsys.readouterr().err
