"""Installations of PX4 and ArduPilot on this machine, and the processes that fly vehicles with them."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from sim_node.mavlink.ports import ARDUPILOT_APART, ARDUPILOT_SERIAL_PORT, FIRST_GROUND_PORT, HOST
from sim_node.spatial.frames import altitude_msl
from sim_node.world import Base, Multirotor, World
from sim_node.world.autopilots import Vehicle, sensors_on
from sim_node.world.locate import PACKAGE, share
from sim_node.world.processes import Process
from sim_node.world.vehicles import SPINS, Autopilot

PX4, ARDUPILOT = "px4", "ardupilot"
# Oldest supported versions.
OLDEST: Mapping[str, tuple[int, int]] = {PX4: (1, 14), ARDUPILOT: (4, 3)}
IMAGE = "px4io/px4-sitl"
_BUILD = "build/px4_sitl_default"
_DEFAULT_PARAMS, _COPTER_VERSION = "Tools/autotest/default_params", "ArduCopter/version.h"
_THIS_FIRMWARE = r'THISFIRMWARE "\w+ V(\d+)\.(\d+)'
_PATIENCE_S = 10.0
# Settings for a multirotor (False) and for a wheeled base (True): PX4's environment, with an airframe for external
# simulators, and ArduPilot's program and parameters.
_PX4_ENV: Mapping[bool, Mapping[str, str]] = {
    False: {"PX4_SYS_AUTOSTART": "10016", "PX4_SIM_MODEL": "none_iris"},
    True: {
        **{"PX4_SYS_AUTOSTART": "50000", "PX4_SIMULATOR": "none", "PX4_SIM_MODEL": "none_rover"},
        **{"PX4_PARAM_SIM_GZ_EN": "0", "PX4_PARAM_PWM_MAIN_FUNC1": "101", "PX4_PARAM_PWM_MAIN_FUNC2": "102"},
    },
}
# Rotors of that airframe (10016_none_iris), forward and left, m. Those of other vehicles are passed to PX4.
_IRIS = ((0.1515, -0.245), (-0.1515, 0.1875), (0.1515, 0.245), (-0.1515, -0.1875))
# Further parameter files of ArduPilot by the number of rotors, which turn the X into a larger one.
_ARDUPILOT_FRAMES: Mapping[int, tuple[str, ...]] = {6: ("copter-hexa.parm",), 8: ("copter-octa.parm",)}
_ARDUPILOT: Mapping[bool, tuple[str, tuple[str, ...]]] = {
    False: ("arducopter", ("copter.parm", "copter-X.parm")),
    True: ("ardurover", ("rover.parm", "rover-skid.parm")),
}


class NotInstalled(Exception):
    """An autopilot is not installed. The message says where it was looked for, and how to install it."""


@dataclass(frozen=True)
class Installed:
    """An installed autopilot.

    Attributes:
        kind: PX4 or ARDUPILOT.
        what: Description for users.
        command: The program, and words before its arguments, such as those of a container.
        data: Folder of PX4's etc or of ArduPilot's default parameters; None if the program finds it itself.
        version: Major and minor version, if known.
    """

    kind: str
    what: str
    command: tuple[str, ...]
    data: Path | None = None
    version: tuple[int, int] | None = None

    def process(self, vehicle: Vehicle, autopilot: Autopilot, world: World) -> Process:
        """Return the process that flies a vehicle, with its own folder, ports and parameters.

        Args:
            vehicle: The vehicle.
            autopilot: Its autopilot.
            world: The world. ArduPilot starts at its origin.

        Returns:
            The process.
        """
        wheels, number = isinstance(vehicle, Base), str(autopilot.instance)
        name = f"{self.kind}-{autopilot.instance}"
        if self.kind == PX4:
            etc = [] if self.data is None else [str(self.data)]
            env, command = _PX4_ENV[wheels], [*self.command, "-i", number, "-d", *etc]
            if isinstance(vehicle, Multirotor):
                env = {**env, **px4_geometry(vehicle)}
            if self.command[0] in _ENGINES:  # set inside of the container
                given = [word for key, value in env.items() for word in ("-e", f"{key}={value}")]
                command = [*self.command[:-1], *given, self.command[-1], "-i", number, "-d"]
            return Process(name, tuple(command), "${STATE_DIR}", tuple(env.items()), "on-failure")
        latitude, longitude, altitude = 0.0, 0.0, 0.0
        if world.origin is not None:
            latitude, longitude, altitude = world.origin.latitude, world.origin.longitude, world.origin.altitude
        above_sea = float(altitude_msl(altitude, latitude, longitude))
        program, defaults = _ARDUPILOT[wheels]
        command = [str(Path(self.command[0]).with_name(program)), "--model", "JSON:127.0.0.1", "-I", number]
        command += ["--sysid", str(autopilot.instance + 1)]
        command += ["--home", f"{latitude:.7f},{longitude:.7f},{above_sea:.2f},0"]
        if files := self._parameter_files(vehicle, world, defaults):
            command += ["--defaults", ",".join(map(str, files))]
        return Process(name, tuple(command), "${STATE_DIR}", (), "on-failure")

    def _parameter_files(self, vehicle: Vehicle, world: World, defaults: Sequence[str]) -> list[Path]:
        """Return ArduPilot's parameter files, from its checkout or, if there is none, from ours.

        Files of ours set up the log and rangefinders in any case.
        """
        package = share(PACKAGE)
        config = Path() if package is None else package / "config"
        frame = _ARDUPILOT_FRAMES.get(len(vehicle.rotors), ()) if isinstance(vehicle, Multirotor) else ()
        found = [config / ARDUPILOT / "log.parm"]
        found += [(self.data or config / ARDUPILOT) / each for each in (*defaults, *frame)]
        if any(sensor.type == "rangefinder" for sensor in sensors_on(world, vehicle.body)):
            found.append(config / "worlds" / "ardupilot.parm")
        # Ours include copter.parm, which is for an X, but none for rovers.
        return [each for each in found if self.data in each.parents or each.is_file()]


def px4_geometry(vehicle: Multirotor) -> dict[str, str]:
    """Return the environment variables that give PX4 the position and the direction of rotation of each rotor.

    Args:
        vehicle: The vehicle.

    Returns:
        Parameters of PX4's control allocation (CA_ROTORn_PX and so on, FRD) and outputs; empty if the rotors are those
        of the airframe.
    """
    rotors = vehicle.rotors
    if tuple((float(each.position[0]), float(each.position[1])) for each in rotors) == _IRIS:
        return {}
    found: dict[str, float] = {"CA_ROTOR_COUNT": len(rotors)}
    for index, each in enumerate(rotors):
        forward, left, up = each.position.tolist()
        turning = SPINS[each.spin] * each.moment_coefficient
        found |= {f"CA_ROTOR{index}_PX": forward, f"CA_ROTOR{index}_PY": -left, f"CA_ROTOR{index}_PZ": -up}
        found |= {f"CA_ROTOR{index}_KM": turning, f"PWM_MAIN_FUNC{index + 1}": 101 + index}
    return {f"PX4_PARAM_{name}": f"{value:.9g}" for name, value in found.items()}


def url_of(kind: str, instance: int) -> str:
    """Return the link on which a bridge receives an autopilot.

    Args:
        kind: PX4 or ARDUPILOT.
        instance: Instance number, from 0.

    Returns:
        The URL.
    """
    if kind == PX4:
        return f"udpin:{HOST}:{FIRST_GROUND_PORT + instance}"
    return f"tcp:{HOST}:{ARDUPILOT_SERIAL_PORT + ARDUPILOT_APART * instance}"


_ENGINES = ("docker", "podman")


def find(kind: str, environment: Mapping[str, str]) -> Installed:
    """Find an installed autopilot. Nothing is downloaded.

    The search covers the checkout that an environment variable names, else one in the home folder; then PATH; and for
    PX4, a container image that exists already.

    Args:
        kind: PX4 or ARDUPILOT.
        environment: Environment variables.

    Returns:
        The autopilot.

    Raises:
        NotInstalled: The autopilot was not found, or is too old.
    """
    found = next(_PLACES[kind](environment), None)
    if found is None:
        raise NotInstalled(_MENDS[kind])
    if found.version is not None and found.version < OLDEST[kind]:
        oldest, has = (".".join(map(str, each)) for each in (OLDEST[kind], found.version))
        raise NotInstalled(f"{found.what} is version {has}; {oldest} or later is needed")
    return found


_MENDS = {
    PX4: "no PX4: set PX4_DIR to a checkout in which `make px4_sitl` was run, install PX4's .deb so that px4 is on "
    f"PATH, or fetch its container: docker pull {IMAGE}",
    ARDUPILOT: "no ArduPilot: set ARDUPILOT_DIR to a checkout in which `./waf configure --board sitl && ./waf copter` "
    "was run, or put arducopter on PATH",
}


def _px4(environment: Mapping[str, str]) -> Iterator[Installed]:
    given = environment.get("PX4_DIR", "")
    for root in [Path(given).expanduser()] if given else [Path.home() / "PX4-Autopilot"]:
        program = root / _BUILD / "bin" / "px4"
        if program.is_file():
            header = root / _BUILD / "src/lib/version/build_git_version.h"
            version = _version(header, r'PX4_GIT_TAG_STR "v?(\d+)\.(\d+)')
            yield Installed(PX4, f"PX4 of {root}", (str(program),), root / _BUILD / "etc", version)
        elif given:
            raise NotInstalled(f"PX4_DIR is {given}, without {_BUILD}/bin/px4: run `make px4_sitl` there")
    if on_path := shutil.which("px4", path=environment.get("PATH")):
        # The .deb installs a script or a link; its target lies beside its etc.
        etc = Path(on_path).resolve().parents[1] / "etc"
        data = etc if (etc / "init.d-posix").is_dir() else None
        yield Installed(PX4, f"PX4 at {on_path}", (on_path,), data)
    for engine in _ENGINES:
        if _has_image(engine, environment):
            run = (engine, "run", "--rm", "-i", "--network", "host", IMAGE)
            yield Installed(PX4, f"PX4 in the {engine} image {IMAGE}", run)


def _ardupilot(environment: Mapping[str, str]) -> Iterator[Installed]:
    given = environment.get("ARDUPILOT_DIR", "")
    for root in [Path(given).expanduser()] if given else [Path.home() / "ardupilot"]:
        program = root / "build/sitl/bin/arducopter"
        if program.is_file() or program.with_name("ardurover").is_file():
            version = _version(root / _COPTER_VERSION, _THIS_FIRMWARE)
            yield Installed(ARDUPILOT, f"ArduPilot of {root}", (str(program),), root / _DEFAULT_PARAMS, version)
        elif given:
            built = "`./waf configure --board sitl && ./waf copter`"
            raise NotInstalled(f"ARDUPILOT_DIR is {given}, without build/sitl/bin/arducopter: run {built} there")
    if on_path := shutil.which("arducopter", path=environment.get("PATH")):
        # If it is in a checkout, the parameters are in a folder above it.
        *_, root = Path(on_path).resolve().parents[:4]
        data, version = root / _DEFAULT_PARAMS, _version(root / _COPTER_VERSION, _THIS_FIRMWARE)
        yield Installed(ARDUPILOT, f"ArduPilot at {on_path}", (on_path,), data if data.is_dir() else None, version)


_PLACES: Mapping[str, Callable[[Mapping[str, str]], Iterator[Installed]]] = {PX4: _px4, ARDUPILOT: _ardupilot}


def _version(file: Path, pattern: str) -> tuple[int, int] | None:
    try:
        found = re.search(pattern, file.read_text(encoding="utf-8", errors="replace"))
    except OSError:
        return None
    return None if found is None else (int(found[1]), int(found[2]))


def _has_image(engine: str, environment: Mapping[str, str]) -> bool:
    program = shutil.which(engine, path=environment.get("PATH"))
    if program is None:
        return False
    try:
        # This only inspects local images.
        asked = [program, "image", "inspect", IMAGE]
        return subprocess.run(asked, capture_output=True, timeout=_PATIENCE_S, check=False).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False
