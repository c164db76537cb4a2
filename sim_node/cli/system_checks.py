"""What doctor looks at beside ROS 2 and plug-ins: physics, rendering, the viewer, films, ports, DDS and disk space."""

from __future__ import annotations

import errno
import importlib.metadata
import importlib.util
import os
import shutil
import socket
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from sim_node.packages import missing_message, wrong_version
from sim_node.recording.settings import SPARE_BYTES

Status = Literal["ok", "missing", "optional"]
LOOPBACK = "127.0.0.1"
# Ports that are used unless others are given, and by what.
PORTS = (
    (socket.SOCK_STREAM, 8080, "viewer", "the viewer takes the next that is free"),
    (socket.SOCK_STREAM, 4560, "PX4's simulator", "another instance is taken, or give the autopilot an instance"),
    (socket.SOCK_DGRAM, 14550, "ground stations", "give the bridge another --url"),
)
# Where participants of DDS find each other: the standard's group, and the first port of a domain.
DDS_GROUP, DDS_PORT, DDS_DOMAIN_GAIN = "239.255.0.1", 7400, 250
_PATIENCE_S = 1.0


@dataclass(frozen=True)
class Finding:
    """A row of doctor's report.

    Attributes:
        name: What was looked at.
        status: Whether it is there; missing is what nodes need.
        detail: Where it is, or what is wrong.
        remedy: What to do about it; empty if nothing is needed.
    """

    name: str
    status: Status
    detail: str
    remedy: str = ""

    def line(self) -> str:
        """Return the row as text."""
        return f"{self.name:<21} {self.detail}" + (f": {self.remedy}" if self.remedy else "")


def physics() -> Iterator[Finding]:
    """Whether rigid bodies can be simulated."""
    yield _package("mujoco", "MuJoCo", "rigid bodies")


def rendering() -> Iterator[Finding]:
    """Whether pictures can be drawn without a display."""
    if importlib.util.find_spec("mujoco") is None:
        return
    from sim_node.viewing.framebuffer import Framebuffer, NoOpenGL

    try:
        with Framebuffer((16, 16)):
            pass
    except NoOpenGL as error:
        reason, _, remedy = str(error).partition("; ")
        yield Finding("EGL", "optional", reason, remedy)
    else:
        yield Finding("EGL", "ok", os.environ.get("MUJOCO_GL") or "renders without a display")


def viewing() -> Iterator[Finding]:
    """Whether there is a viewer, and films can be written."""
    yield _package("viser", "viewer", "`sim_node view` and --view")
    yield _package("av", "PyAV", "films as .mp4")


def ports() -> Iterator[Finding]:
    """Whether the ports that are used by default are free."""
    for kind, port, use, otherwise in PORTS:
        name = f"port {port}"
        with socket.socket(socket.AF_INET, kind) as probe:
            try:
                probe.bind((LOOPBACK, port))
            except OSError as error:
                if error.errno != errno.EADDRINUSE:
                    yield Finding(name, "optional", f"cannot be bound ({use}): {error.strerror}")
                else:
                    yield Finding(name, "optional", f"in use by another program ({use})", otherwise)
            else:
                yield Finding(name, "ok", f"free ({use})")


def discovery() -> Iterator[Finding]:
    """Whether DDS participants on this machine can find each other: multicast on the loopback, and shared memory."""
    port = DDS_PORT + DDS_DOMAIN_GAIN * int(os.environ.get("ROS_DOMAIN_ID") or 0)
    fault = _multicast_fault(port)
    if fault:
        remedy = "sudo ip link set lo multicast on; in a container: --network host"
        yield Finding("DDS", "optional", f"no multicast on the loopback interface ({fault})", remedy)
    else:
        yield Finding("DDS", "ok", f"multicast on the loopback interface, from port {port}")
    yield _space("shared memory", Path("/dev/shm"), 64 * 2**20, "in a container: --shm-size 256m or --ipc host")


def disk() -> Iterator[Finding]:
    """Whether recordings have room, and where temporary files go."""
    yield _space("disk", Path.cwd(), SPARE_BYTES, "recordings stop while less is free (--min-free)")
    yield _space("temporary files", Path(tempfile.gettempdir()), SPARE_BYTES, "set TMPDIR to a folder with more")


CHECKS: tuple[Callable[[], Iterator[Finding]], ...] = (physics, rendering, viewing, ports, discovery, disk)


def _package(module: str, name: str, purpose: str) -> Finding:
    if importlib.util.find_spec(module) is None:
        return Finding(name, "optional", f"not here (for {purpose})", missing_message(module))
    version = importlib.metadata.version(module)
    if wrong := wrong_version(module, version):
        detail, _, remedy = wrong.rpartition(": ")
        return Finding(name, "optional", detail, remedy)
    return Finding(name, "ok", version)


def _space(name: str, folder: Path, needed: int, remedy: str) -> Finding:
    try:
        free = shutil.disk_usage(folder).free
    except OSError as error:
        return Finding(name, "optional", f"{folder} cannot be read", error.strerror or "")
    detail = f"{free / 1e9:.1f} GB free in {folder}"
    return Finding(name, "ok", detail) if free >= needed else Finding(name, "optional", detail, remedy)


def _multicast_fault(port: int) -> str:
    """Send a datagram to the group on the loopback interface and wait for it; return why it did not come, or ""."""
    loopback = socket.inet_aton(LOOPBACK)
    try:
        with (
            socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as receiver,
            socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender,
        ):
            receiver.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            receiver.bind((DDS_GROUP, 0))
            receiver.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, socket.inet_aton(DDS_GROUP) + loopback)
            receiver.settimeout(_PATIENCE_S)
            sender.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, loopback)
            sender.sendto(b"sim_node doctor", (DDS_GROUP, receiver.getsockname()[1]))
            receiver.recv(64)
    except TimeoutError:
        return "nothing arrives"
    except OSError as error:
        return error.strerror or str(error)
    return ""
