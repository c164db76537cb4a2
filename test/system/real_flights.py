"""PX4 and ArduPilot themselves in lockstep with a run, flown over MAVLink, in simulated time: how busy the machine is
changes nothing.
"""

from __future__ import annotations

import math
import os
import signal
import struct
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from pymavlink import mavutil
from pymavlink.dialects.v20 import ardupilotmega as mavlink
from real_kinds import ALTITUDE, LATITUDE, LONGITUDE, ROVER, Kind
from waiting import until

from sim_node.autopilots.vehicle_co_simulator import attach_autopilots
from sim_node.mavlink.ports import is_locked, px4_lock
from sim_node.simulation import Simulation
from sim_node.simulation.pacing import Pacer
from sim_node.spatial.frames.altitudes import coarse_geoid_undulation
from sim_node.spatial.geometry import poses
from sim_node.world import load

# Metres per degree there, by WGS84's radii of curvature.
_E2, _A = 6.69437999014e-3, 6378137.0
_W = math.sqrt(1.0 - _E2 * math.sin(math.radians(LATITUDE)) ** 2)
NORTH = math.radians(1.0) * (_A * (1.0 - _E2) / _W**3 + ALTITUDE)
EAST = math.radians(1.0) * (_A / _W + ALTITUDE) * math.cos(math.radians(LATITUDE))
# Altitude of the origin above the sea, as the simulated GPS has it.
ABOVE_SEA = ALTITUDE - float(coarse_geoid_undulation(LATITUDE, LONGITUDE))
WORLD = """
origin: {{latitude: {latitude}, longitude: {longitude}, altitude: {altitude}}}
time: {{step: {step}}}
{vehicle}
{more}
"""
# POSITION_TARGET_TYPEMASK: what is ignored where a velocity, or a position, is all that is given.
_VELOCITY_ALONE, _POSITION_ALONE = 3527, 3576
# Time between two looks at messages (s).
_LOOK = 0.04
# How long to wait for PX4 to have read what was sent to it (s, of this machine).
_ECHO_PATIENCE = 5.0


class Text(NamedTuple):
    """A STATUSTEXT: simulated time (s), severity (lower is worse), the text."""

    time: float
    severity: int
    text: str


class Estimate(NamedTuple):
    """Where the autopilot believed to be: its error (m) east, north, up; the deviations (m) that it states, or nan."""

    time: float
    error: np.ndarray
    horizontal: float
    vertical: float


class Flight:
    """A run whose vehicle `v` one of them flies.

    Args:
        kind: Which, and of what vehicle.
        folder: For its files.
        sensors: Of the vehicle, as in its world.
        more: Further lines of the world.
        seed: Of the run.
        parameters: Of the autopilot.
        speed: Of real time, at most: what it sends comes by the wall clock, later in a quicker simulation. 0 for any.

    Attributes:
        time: Simulated time (s).
        texts: All that it said.
        reports: What the simulation reported about its connection.
        latest: The latest message of each type.
    """

    def __init__(
        self,
        kind: Kind,
        folder: Path,
        *,
        sensors: str = "true",
        more: str = "",
        seed: int = 0,
        parameters: Mapping[str, float] = MappingProxyType({}),
        speed: float = 0.0,
    ) -> None:
        self._pacer = Pacer(speed)
        # A PX4 outside of these tests holds its instance.
        self.kind = kind
        self.instance = next(each for each in range(100) if not (kind.is_px4 and is_locked(px4_lock(each))))
        path = folder / "world.yaml"
        path.write_text(
            WORLD.format(
                latitude=LATITUDE, longitude=LONGITUDE, altitude=ALTITUDE, step=kind.step, more=more,
                vehicle=kind.vehicle.format(kind=kind.name, instance=self.instance, sensors=sensors),
            )
        )  # fmt: skip
        self.simulation = Simulation(load(path), seed=seed)
        self.reports: list[str] = []
        (self.co_simulator,) = attach_autopilots(self.simulation, self.reports.append)
        self._row = self.simulation.frames.names.index(kind.base)
        self.time = 0.0
        self.texts: list[Text] = []
        # Time and truth at each look; what it believed, by its own clock, which is behind by this (s).
        self._track: list[tuple[float, np.ndarray]] = []
        self._believed: list[tuple[float, np.ndarray, float, float]] = []
        self._behind = math.inf
        self.latest: dict[str, Any] = {}
        self._acknowledged: list[tuple[int, int]] = []
        self._chunks: dict[int, str] = {}
        self._next_heartbeat, self._echoes = 0.0, 0
        environment = {**os.environ, **kind.environment}
        environment |= {f"PX4_PARAM_{name}": str(value) for name, value in parameters.items()}
        listed = folder / "more.parm"
        listed.write_text("".join(f"{name} {value}\n" for name, value in parameters.items()))
        self._folder, self._environment, self._listed = folder, environment, listed
        self.process = self._start()
        self._link: Any = mavutil.mavlink_connection(
            kind.url(self.instance), source_system=250, retries=600, autoreconnect=True, dialect="ardupilotmega"
        )

    def _start(self) -> subprocess.Popen[bytes]:
        with open(self._folder / "autopilot.log", "ab") as log:
            return subprocess.Popen(
                self.kind.command(self.instance, self._listed), cwd=self._folder, env=self._environment,
                stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, start_new_session=True,
            )  # fmt: skip

    def begin(self) -> None:
        """Go on until it is in lockstep and sends fixes; ArduPilot, until its estimator knows the position by them.

        PX4's rovers are in lockstep while they drive only.
        """
        # It starts in its own time, by the wall clock: until then a step now and then keeps the run young.
        until(self._connected, f"{self.kind.name} in lockstep", 0.02)
        self._pacer.anchor(self.simulation.snapshot().time_ns)
        if not self.kind.is_px4:
            self._link.mav.request_data_stream_send(self._system, 1, mavlink.MAV_DATA_STREAM_ALL, 10, 1)
        self.until(lambda: "GPS_RAW_INT" in self.latest, 60.0, "sending")
        if not self.kind.is_px4:
            # It arms before that, and then refuses to take off.
            self.until(self._knows_position, 120.0, "sure of its position")

    def _knows_position(self) -> bool:
        status = self.latest.get("EKF_STATUS_REPORT")
        return status is not None and bool(status.flags & mavlink.EKF_POS_HORIZ_ABS)

    def _connected(self) -> bool:
        wait = self.co_simulator.wait
        self.simulation.step(1 if not wait.peer else round(_LOOK / self.kind.step))
        self._look()
        return bool(wait.peer) if self.kind.is_px4 and self.kind.vehicle is ROVER else wait.lockstep

    def restart(self) -> None:
        """Kill it, start it again, and go on until it knows its position."""
        self._kill()
        self.latest.clear()
        self.process = self._start()
        restarts = self.co_simulator.wait.restarts
        until(lambda: self._connected() and self.co_simulator.wait.restarts > restarts, "in lockstep again", 0.02)
        self.begin()

    def _kill(self) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def close(self) -> None:
        self._kill()
        self._link.close()
        self.simulation.close()

    @property
    def place(self) -> np.ndarray:
        """Metres east, north, up of where it stood, in truth."""
        # Below an include with a pose, its frame has a parent besides the world.
        (pose, row), frames, now = (poses.IDENTITY, self._row), self.simulation.frames, self.simulation.snapshot().poses
        while row >= 0:
            pose, row = poses.compose(now[row], pose), frames.parents[row]
        return np.asarray(pose[:3] - [0.0, 0.0, self.kind.stands])

    @property
    def path(self) -> list[np.ndarray]:
        """Where it was, as `place`, every 0.04 s."""
        return [place for _, place in self._track]

    @property
    def estimate(self) -> np.ndarray:
        """The same, as it believes. The origin of PX4's local positions is off by its GPS' error when it was set."""
        if self.kind.is_px4:
            on_earth = self.latest["GLOBAL_POSITION_INT"]
            east, north = (on_earth.lon * 1e-7 - LONGITUDE) * EAST, (on_earth.lat * 1e-7 - LATITUDE) * NORTH
            return np.array([east, north, on_earth.alt * 1e-3 - ABOVE_SEA - self.kind.stands])
        local = self.latest["LOCAL_POSITION_NED"]
        return np.array([local.y, local.x, -local.z])

    @property
    def estimates(self) -> list[Estimate]:
        """What it believed ten times a second, against the truth of the same instants."""
        times = np.array([time for time, _ in self._track])
        places = np.array([place for _, place in self._track])

        def truth(then: float) -> np.ndarray:
            return np.array([np.interp(then, times, column) for column in places.T])

        return [
            Estimate(then + self._behind, believed - truth(then + self._behind), horizontal, vertical)
            for then, believed, horizontal, vertical in self._believed
        ]

    @property
    def armed(self) -> bool:
        heartbeat = self.latest.get("HEARTBEAT")
        return heartbeat is not None and bool(heartbeat.base_mode & mavlink.MAV_MODE_FLAG_SAFETY_ARMED)

    def run(self, seconds: float) -> None:
        """Go on by simulated seconds."""
        end = self.time + seconds
        while self.time < end - 1e-6:
            self.simulation.step(round(_LOOK / self.kind.step))
            now_ns = self.simulation.snapshot().time_ns
            time.sleep(max(self._pacer.wait(now_ns), 0.0))
            self.time = now_ns * 1e-9
            self._look()

    def until(self, fits: Callable[[], Any], seconds: float, what: str) -> float:
        """Go on until it fits; return how long that took (s, simulated)."""
        begin = self.time
        while not fits():
            assert self.time - begin < seconds, f"not {what} in {seconds} s: at {self.place}; {self.texts[-8:]}"
            self.run(_LOOK)
        return self.time - begin

    def command(self, number: int, *parameters: float, seconds: float = 5.0) -> int:
        """Send MAV_CMD and return its MAV_RESULT, which comes within some simulated time."""
        padded = [*parameters, *[0.0] * (7 - len(parameters))]
        self._acknowledged.clear()
        self._link.mav.command_long_send(self._system, 1, number, 0, *padded)
        return self._answer(number, seconds)

    def _answer(self, number: int, seconds: float) -> int:
        self.until(lambda: any(each == number for each, _ in self._acknowledged), seconds, f"answered command {number}")
        return next(result for each, result in self._acknowledged if each == number)

    def insist(self, number: int, *parameters: float, seconds: float = 60.0) -> None:
        """Send MAV_CMD until it is accepted."""
        begin = self.time
        while self.command(number, *parameters) != mavlink.MAV_RESULT_ACCEPTED:
            assert self.time - begin < seconds, f"command {number} is refused: {self.texts[-8:]}"
            self.run(0.1)

    def stream(self, number: int, rate: float) -> None:
        """Ask for a message at a rate (Hz)."""
        self.insist(mavlink.MAV_CMD_SET_MESSAGE_INTERVAL, number, 1e6 / rate)

    def set_integer(self, name: str, value: int) -> None:
        """Set a parameter of PX4, whose integers come with their bytes in a float."""
        (as_float,) = struct.unpack("<f", struct.pack("<i", value))
        self.latest.pop("PARAM_VALUE", None)
        self._link.mav.param_set_send(self._system, 1, name.encode(), as_float, mavlink.MAV_PARAM_TYPE_INT32)
        self.until(lambda: "PARAM_VALUE" in self.latest, 5.0, f"{name} set")

    def set_parameter(self, name: str, value: float) -> None:
        """Set a number: any parameter of ArduPilot, and a float of PX4."""
        self.latest.pop("PARAM_VALUE", None)
        self._link.mav.param_set_send(self._system, 1, name.encode(), value, mavlink.MAV_PARAM_TYPE_REAL32)
        self.until(lambda: "PARAM_VALUE" in self.latest, 5.0, f"{name} set")

    def mode(self, name: str) -> None:
        """Switch to a mode."""
        main, sub = self.kind.modes[name]
        self.insist(mavlink.MAV_CMD_DO_SET_MODE, 1, main, sub)

    def arm(self) -> None:
        self.insist(mavlink.MAV_CMD_COMPONENT_ARM_DISARM, 1)

    def time_to_arm(self) -> float:
        """Ask ten times a second until it is armed; return how long that took (s, simulated).

        Its MAVLink is not in lockstep: on a busy machine its answers are late. One after the other, they add up.
        """
        begin = self.time
        self._acknowledged.clear()
        accepted = (mavlink.MAV_CMD_COMPONENT_ARM_DISARM, mavlink.MAV_RESULT_ACCEPTED)
        while accepted not in self._acknowledged:
            assert self.time - begin < 60.0, f"not armed: {self.texts[-8:]}"
            self._link.mav.command_long_send(self._system, 1, accepted[0], 0, 1, *[0.0] * 6)
            self.run(0.1)
        return self.time - begin

    def take_off(self, height: float) -> None:
        """From the ground, armed, and wait until it is there."""
        if self.kind.is_px4:
            above_sea = self.latest["GLOBAL_POSITION_INT"].alt * 1e-3 + height
            self.insist(mavlink.MAV_CMD_NAV_TAKEOFF, *[math.nan] * 6, above_sea)
        else:
            self.insist(mavlink.MAV_CMD_NAV_TAKEOFF, 0, 0, 0, 0, 0, 0, height)
        self.until(lambda: self.place[2] > height - 0.6, 40.0, f"{height} m up")

    def go_to(self, east: float, north: float, up: float) -> None:
        """Go there, up above home, and wait until it believes to be there."""
        self.go_there(east, north, up)
        goal = np.array([east, north, up])
        axes = 2 if self.kind.vehicle is ROVER else 3
        self.until(lambda: np.linalg.norm((self.estimate - goal)[:axes]) < 0.8, 60.0, f"at {goal}")
        self.run(5.0)

    def go_there(self, east: float, north: float, up: float) -> int:
        """Begin to; return the MAV_RESULT."""
        latitude, longitude = degrees(east, north)
        # Above home; PX4 takes it above sea level only.
        frame, height = mavlink.MAV_FRAME_GLOBAL_RELATIVE_ALT, up
        if self.kind.is_px4:
            frame, height = mavlink.MAV_FRAME_GLOBAL, ABOVE_SEA + self.kind.stands + up
        number = mavlink.MAV_CMD_DO_REPOSITION
        self._acknowledged.clear()
        self._link.mav.command_int_send(
            self._system, 1, frame, number, 0, 0, -1.0, 1.0, 0.0, math.nan,
            round(latitude * 1e7), round(longitude * 1e7), height,
        )  # fmt: skip
        return self._answer(number, 5.0)

    def move(self, east: float, north: float, up: float, seconds: float) -> None:
        """Set a velocity (m/s) again and again, four times a second."""
        for _ in range(round(4 * seconds)):
            self._set_target(_VELOCITY_ALONE, velocity=(north, east, -up))
            self.run(0.25)

    def set_position(self, east: float, north: float, up: float) -> None:
        """Set a position (m, of where it stood) once."""
        self._set_target(_POSITION_ALONE, position=(north, east, -up))

    def _set_target(self, mask: int, **given: tuple[float, float, float]) -> None:
        zero = (0.0, 0.0, 0.0)
        self._link.mav.set_position_target_local_ned_send(
            0, self._system, 1, mavlink.MAV_FRAME_LOCAL_NED, mask, *given.get("position", zero),
            *given.get("velocity", zero), *zero, 0.0, 0.0,
        )  # fmt: skip

    def fence(self, *inclusions: Sequence[tuple[float, float]]) -> None:
        """Send inclusions: polygons of metres east and north of home."""
        number = mavlink.MAV_CMD_NAV_FENCE_POLYGON_VERTEX_INCLUSION
        corners = [(number, float(len(each)), *corner, 0.0) for each in inclusions for corner in each]
        self._upload(corners, mavlink.MAV_MISSION_TYPE_FENCE)

    def upload(self, items: Sequence[tuple[int, float, float, float]]) -> None:
        """Send a mission: MAV_CMD, metres east, north and up of home."""
        if not self.kind.is_px4:
            items = [(mavlink.MAV_CMD_NAV_WAYPOINT, 0.0, 0.0, 0.0), *items]  # its first is home
        self._upload([(each[0], 0.0, *each[1:]) for each in items], mavlink.MAV_MISSION_TYPE_MISSION)

    def _upload(self, items: Sequence[tuple[int, float, float, float, float]], what: int) -> None:
        """Send items of a MAV_MISSION_TYPE: MAV_CMD, its first parameter, metres east, north and up of home."""
        frame = mavlink.MAV_FRAME_GLOBAL_RELATIVE_ALT_INT if what == 0 else mavlink.MAV_FRAME_GLOBAL
        for message in ("MISSION_REQUEST", "MISSION_REQUEST_INT", "MISSION_ACK"):
            self.latest.pop(message, None)
        self._link.mav.mission_count_send(self._system, 1, len(items), what)
        begin = self.time
        while "MISSION_ACK" not in self.latest:
            assert self.time - begin < 20.0, "the mission is not taken"
            self.run(_LOOK)
            asked = self.latest.pop("MISSION_REQUEST_INT", None) or self.latest.pop("MISSION_REQUEST", None)
            if asked is not None:
                command, first, east, north, up = items[asked.seq]
                latitude, longitude = degrees(east, north)
                self._link.mav.mission_item_int_send(
                    self._system, 1, asked.seq, frame, command, int(what == 0 and asked.seq == 0), 1, first, 0.0, 0.0,
                    math.nan if what == 0 else 0.0, round(latitude * 1e7), round(longitude * 1e7), up, what,
                )  # fmt: skip
        assert self.latest["MISSION_ACK"].type == mavlink.MAV_MISSION_ACCEPTED

    def fly_mission(self) -> None:
        """From the ground, disarmed, to the landing that it ends with."""
        if self.kind.is_px4:
            self.mode("mission")
            self.arm()
        else:
            self.mode("hold")
            self.arm()
            self.insist(mavlink.MAV_CMD_MISSION_START)
        self.until(lambda: self.place[2] > 2.0, 60.0, "in the air")
        self.until(lambda: not self.armed, 300.0, "landed and disarmed")

    def land(self) -> None:
        """Here, and wait until it has disarmed."""
        self.mode("land")
        self.until(lambda: not self.armed, 90.0, "landed and disarmed")

    @property
    def _system(self) -> int:
        return self.instance + 1

    def _look(self) -> None:
        self._track.append((self.simulation.snapshot().time_ns * 1e-9, self.place))
        self._wait_for_echo()
        while (message := self._link.recv_msg()) is not None:
            self._note(message)
        if self.time >= self._next_heartbeat and self._link.target_system is not None:
            self._next_heartbeat = self.time + 1.0
            with suppress(OSError):  # nobody is there yet
                self._link.mav.heartbeat_send(mavlink.MAV_TYPE_GCS, mavlink.MAV_AUTOPILOT_INVALID, 0, 0, 0)

    def _wait_for_echo(self) -> None:
        """Until PX4 has read all that was sent to it: its MAVLink runs in threads of its own, not in lockstep."""
        if not self.kind.is_px4 or "GPS_RAW_INT" not in self.latest:
            return
        self._echoes += 1
        self._link.mav.timesync_send(0, self._echoes)
        deadline = time.monotonic() + _ECHO_PATIENCE
        while time.monotonic() < deadline:
            message = self._link.recv_match(blocking=True, timeout=0.1)
            if message is not None:
                self._note(message)
                if message.get_type() == "TIMESYNC" and message.tc1 and message.ts1 == self._echoes:
                    return

    def _note(self, message: Any) -> None:
        kind = message.get_type()
        if message.get_srcSystem() != self._system or message.get_srcComponent() != 1:
            return
        self.latest[kind] = message
        if kind == "COMMAND_ACK":
            self._acknowledged.append((message.command, message.result))
        elif kind == "STATUSTEXT":
            self._note_text(message)
        elif kind == ("GLOBAL_POSITION_INT" if self.kind.is_px4 else "LOCAL_POSITION_NED"):
            self._note_estimate(message)

    def _note_text(self, message: Any) -> None:
        """A text of 50 characters is a chunk, and another one follows."""
        text = self._chunks.pop(message.id, "") + message.text
        if message.id and len(message.text) == 50:
            self._chunks[message.id] = text
        else:
            self.texts.append(Text(self.time, message.severity, text.strip()))

    def _note_estimate(self, message: Any) -> None:
        then, now = message.time_boot_ms * 1e-3, self._track[-1][0]
        # The message that took the shortest time to come: on a busy machine others are tens of milliseconds late.
        self._behind = min(self._behind, now - then)
        if not self._believed or then - self._believed[-1][0] > 0.09:
            stated = self.latest.get("ESTIMATOR_STATUS")
            deviations = (
                (math.nan, math.nan) if stated is None else (stated.pos_horiz_accuracy, stated.pos_vert_accuracy)
            )
            self._believed.append((then, self.estimate, *deviations))


def degrees(east: float, north: float) -> tuple[float, float]:
    """Latitude and longitude of metres from home."""
    return LATITUDE + north / NORTH, LONGITUDE + east / EAST


@contextmanager
def flight(kind: Kind, folder: Path, **settings: Any) -> Iterator[Flight]:
    """A flight whose autopilot is in lockstep, and sends its position."""
    flown = Flight(kind, folder, **settings)
    try:
        flown.begin()
        yield flown
    except BaseException:
        print("\n".join(map(str, flown.texts)))
        print((folder / "autopilot.log").read_text(errors="replace")[-3000:])
        raise
    finally:
        flown.close()
