"""Report what works here, what is missing and how to get it: ROS 2, physics, rendering, ports, disk, plug-ins."""

from __future__ import annotations

import argparse
import errno
import importlib
import importlib.metadata
import importlib.util
import json
import os
import platform
import shutil
import socket
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal

from sim_node.cli.arguments import add_json
from sim_node.cli.colours import coloured
from sim_node.cli.commands import command
from sim_node.packages import missing_message, missing_program, unusable, wrong_version
from sim_node.plugins import PluginWarning, extensions, offered
from sim_node.recording.settings import SPARE_BYTES
from sim_node.registry import Registry
from sim_node.text import did_you_mean

Status = Literal["ok", "missing", "optional"]
LOOPBACK = "127.0.0.1"
# Default ports and their users
PORTS = (
    (socket.SOCK_STREAM, 8080, "viewer", "the viewer takes the next that is free"),
    (socket.SOCK_STREAM, 4560, "PX4's simulator", "another instance is used, or give the autopilot an instance"),
    (socket.SOCK_DGRAM, 14550, "ground stations", "give the bridge another --url"),
)
# Discovery of DDS participants: the standard's multicast group, and the first port of a domain.
DDS_GROUP, DDS_PORT, DDS_DOMAIN_GAIN = "239.255.0.1", 7400, 250
_PATIENCE_S = 1.0


@dataclass(frozen=True)
class Finding:
    """A row of doctor's report.

    Attributes:
        name: What was checked.
        status: Whether it is available. Only what nodes need can be missing.
        detail: Where it is, or what is wrong.
        remedy: What to do; empty if nothing is needed.
    """

    name: str
    status: Status
    detail: str
    remedy: str = ""

    def line(self) -> str:
        """Return the row as text."""
        return f"{self.name:<21} {self.detail}" + (f": {self.remedy}" if self.remedy else "")


def physics() -> Iterator[Finding]:
    """Check whether rigid bodies can be simulated."""
    yield _package("mujoco", "MuJoCo", "rigid bodies")


def rendering() -> Iterator[Finding]:
    """Check whether pictures can be rendered without a display."""
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
    """Check whether there is a viewer, and whether films can be written."""
    yield _package("viser", "viewer", "`sim_node view` and --view")
    yield _package("av", "PyAV", "films as .mp4")


def ports() -> Iterator[Finding]:
    """Check whether the default ports are free."""
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
    """Check whether DDS participants on this machine can find each other: loopback multicast and shared memory."""
    port = DDS_PORT + DDS_DOMAIN_GAIN * int(os.environ.get("ROS_DOMAIN_ID") or 0)
    fault = _multicast_fault(port)
    if fault:
        remedy = "sudo ip link set lo multicast on; in a container: --network host"
        yield Finding("DDS", "optional", f"no multicast on the loopback interface ({fault})", remedy)
    else:
        yield Finding("DDS", "ok", f"multicast on the loopback interface, from port {port}")
    yield _space("shared memory", Path("/dev/shm"), 64 * 2**20, "in a container: --shm-size 256m or --ipc host")


def disk() -> Iterator[Finding]:
    """Check whether there is room for recordings, and where temporary files go."""
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
    """Send a datagram to the group on the loopback interface. Return why it did not arrive, or ""."""
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


# Modules of the registries that other packages may extend, by entry-point group
GROUPS: dict[str, tuple[str, ...]] = {
    "sim_node.autopilots": ("sim_node.autopilots.lockstep.autopilot", "sim_node.world.vehicles"),
    "sim_node.builtin": (
        "sim_node.autopilots.builtin.streams",
        "sim_node.autopilots.builtin.ground_messages",
        "sim_node.autopilots.builtin.commands",
        "sim_node.autopilots.builtin.mission",
        "sim_node.autopilots.builtin.dialect",
    ),
    "sim_node.bases": ("sim_node.world.base_types.registry",),
    "sim_node.commands": ("sim_node.cli.commands",),
    "sim_node.displays": ("sim_node.viewing.rviz_displays",),
    "sim_node.engines": ("sim_node.simulation.physics.engine",),
    "sim_node.films": ("sim_node.viewing.pictures",),
    "sim_node.forces": ("sim_node.simulation.physics.force_elements", "sim_node.world.forces"),
    "sim_node.joint_types": ("sim_node.world.joints",),
    "sim_node.links": ("sim_node.mavlink.links.endpoint",),
    "sim_node.loop_closures": ("sim_node.simulation.physics.loop_closures",),
    "sim_node.markers": ("sim_node.viewing.markers",),
    "sim_node.mate_types": ("sim_node.world.mate_types",),
    "sim_node.message_readers": ("sim_node.viewing.messages.readers",),
    "sim_node.parts": ("sim_node.world.part", "sim_node.world.readers.yaml_section"),
    "sim_node.pictures": ("sim_node.viewing.pictures",),
    "sim_node.readers": (
        "sim_node.world.readers.registry",
        "sim_node.world.readers.yaml_include",
        "sim_node.formats.xml_roots",
        "sim_node.world.locate",
    ),
    "sim_node.run_sources": ("sim_node.cli.run",),
    "sim_node.runs": ("sim_node.session.run_parts",),
    "sim_node.requests": ("sim_node.simulation.requests",),
    "sim_node.sensor_outlines": ("sim_node.viewing.sensor_marks",),
    "sim_node.sensor_views": ("sim_node.viewing.browser.sensor_views",),
    "sim_node.sensors": ("sim_node.world.sensor_types",),
    "sim_node.storages": ("sim_node.recording.bag",),
    "sim_node.translations": ("sim_node.mavlink.translation.rows", "sim_node.mavlink.topics"),
}


def groups() -> dict[str, tuple[str, ...]]:
    """Return the modules of the registries that other packages may extend, by entry-point group."""
    return GROUPS | {point.name: (point.module,) for point in extensions("sim_node.registries")}


def registries_of(group: str) -> list[Registry[Any, Any]]:
    """Return the registries that an entry-point group adds to; none for an unknown group."""
    found: dict[int, Registry[Any, Any]] = {}  # once each, though modules import registries of others
    for module in groups().get(group, ()):
        for each in vars(importlib.import_module(module)).values():
            if isinstance(each, Registry) and each.group == group:
                found[id(each)] = each
    return list(found.values())


def installed_plugins() -> Iterator[tuple[str, bool]]:
    """Yield, for each entry point of another package, what it adds or why it fails, and whether it works."""
    known = groups()
    for group, points in offered().items():
        registries = registries_of(group)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PluginWarning)  # reported in the line
            loaded = [registry.plugins() for registry in registries]
        for row, point in enumerate(points):
            faults: list[str] = []
            if not registries:
                status = f"no such group{did_you_mean(group, known)} (known: {', '.join(sorted(known))})"
            else:
                faults = [plugins[row].fault for plugins in loaded if plugins[row].fault]
                each = zip(registries, loaded, strict=True)
                added = [f"{registry.noun} {name}" for registry, plugins in each for name in plugins[row].names]
                status = f"cannot be loaded: {faults[0]}" if faults else ", ".join(added) or "adds nothing"
            yield f"{point}: {status}", bool(registries) and not faults


# Module or program, and what it is needed for
NEEDED = (
    ("rclpy", "everything on the graph"),
    ("tf2_msgs", "/tf and /tf_static"),
    ("geometry_msgs", "/tf"),
    ("rosgraph_msgs", "/clock"),
    ("std_srvs", "services"),
    ("diagnostic_msgs", "/diagnostics"),
)
OPTIONAL = (
    ("tf2_ros", "typed publishing and the Python listener"),
    ("launch_ros", "`ros2 launch`"),
    ("pymavlink", "`sim_node bridge`"),
    ("jax", "worlds in Python"),
    ("simulation_interfaces", "services to spawn, query, step and reset"),
    ("polars", "`sim_node sweep`"),
    ("ray", "`sim_node sweep --engine ray`"),
)
PROGRAMS = (("ros2", "the ros2 command line"), ("rviz2", "rviz"))
WORDS: dict[Status, str] = {"missing": "missing", "optional": "not here"}
COLOURS: dict[Status, str] = {"missing": "red", "optional": "yellow"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare --json."""
    add_json(parser)


@command("doctor", add_arguments)
def run(arguments: argparse.Namespace) -> int:
    """Return 0 if nodes can run, 1 if something is missing."""
    findings = list(_findings())
    missing = [finding.name for finding in findings if finding.status == "missing"]
    if arguments.json:
        print(json.dumps([asdict(finding) for finding in findings], indent=2))
        return 1 if missing else 0
    for finding in findings:
        line = finding.line()
        print(line if finding.status == "ok" else coloured(line, COLOURS[finding.status], sys.stdout))
    if missing and (Path(__file__).parents[2] / "Makefile").is_file():
        print("this checkout gets what nodes need by `make setup` (Linux x86-64)")
    print("nodes can run" if not missing else f"nodes cannot run without {', '.join(missing)}; --no-ros works")
    return 1 if missing else 0


def _findings() -> Iterator[Finding]:
    yield Finding("sim_node", "ok", version("sim_node"))
    yield Finding("Python", "ok", f"{platform.python_version()} ({sys.executable})")
    needed = [_found(name, "missing", purpose, _folder(name), missing_message) for name, purpose in NEEDED]
    needed = [_importable(finding) for finding in needed]
    yield from needed
    if all(finding.status == "ok" for finding in needed):
        yield from _graph()
    for name, purpose in OPTIONAL:
        yield _found(name, "optional", purpose, _folder(name), missing_message)
    for name, purpose in PROGRAMS:
        yield _found(name, "optional", purpose, shutil.which(name), missing_program)
    for check in CHECKS:
        yield from check()
    for row, (line, works) in enumerate(installed_plugins()):
        yield Finding("" if row else "plug-ins", "ok" if works else "optional", line)


def _found(name: str, absent: Status, purpose: str, place: str | None, remedy: Callable[[str], str]) -> Finding:
    """Return where something was found, or what it is for and how to install it."""
    if place:
        return Finding(name, "ok", place)
    return Finding(name, absent, f"{WORDS[absent]} (for {purpose})", remedy(name))


def _importable(finding: Finding) -> Finding:
    """Return the finding, or why the module cannot be imported: it may be broken, or for another Python."""
    if finding.status != "ok":
        return finding
    try:
        importlib.import_module(finding.name)
    except Exception as error:  # a broken package may raise anything
        folder = Path(finding.detail)
        reason = unusable(folder, error if isinstance(error, ImportError) else ImportError(repr(error)))
        return Finding(finding.name, "missing", f"{folder} cannot be imported", reason)
    return finding


def _folder(module: str) -> str | None:
    spec = importlib.util.find_spec(module)
    return None if spec is None or spec.origin is None else str(Path(spec.origin).parent)


def _graph() -> Iterator[Finding]:
    """Check the distribution, the middleware and the discovery range."""
    from sim_node.ros.environment import distro, middleware, prepare

    prepare()
    yield Finding("distro", "ok", distro())
    yield Finding("middleware", "ok", middleware())
    reach = os.environ.get("ROS_AUTOMATIC_DISCOVERY_RANGE") or "the network (as your ROS 2 is set up)"
    yield Finding("discovery", "ok", f"{reach}, domain {os.environ.get('ROS_DOMAIN_ID', '0')}")
