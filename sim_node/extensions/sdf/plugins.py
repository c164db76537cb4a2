"""Gazebo's systems by name: their equivalents here, those without effect, and those that are missing."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from sim_node.extensions.sdf.elements import SdfReading, child, gazebo_topic, place_of, text, text_of
from sim_node.extensions.sdf.joints import Joint
from sim_node.extensions.sdf.mechanism import SdfLink, SdfMechanism
from sim_node.extensions.sdf.scopes import ScopeFault, SdfScope, find
from sim_node.extensions.sdf.surroundings import SdfSurroundings
from sim_node.registry import Registry
from sim_node.text import did_you_mean
from sim_node.world.problems import Place, quoted
from sim_node.world.readers.xml_elements import Element

_FILE = re.compile(r"(?:lib)?(?:gz-sim\d*|ignition-gazebo\d*|gz_sim|gazebo)[-_](?P<name>.+?)(?:[-_]system)?(?:\.so)?")


@dataclass(frozen=True)
class SdfPlugin:
    """A plug-in of a file, with the parts to which it adds.

    Attributes:
        element: Its element.
        scope: The scope that contains it.
        reading: What is being read.
        found: The parts made so far.
        around: The surroundings of the models.
    """

    element: Element
    scope: SdfScope
    reading: SdfReading
    found: SdfMechanism
    around: SdfSurroundings

    def number(self, key: str, default: float) -> float:
        """Return the number of one of its keys."""
        return self.reading.number(self.element, key, default=default)

    def whole(self, key: str, default: int) -> int:
        """Return the integer of one of its keys."""
        return self.reading.whole(self.element, key, default=default)

    def text(self, key: str, default: str = "") -> str:
        """Return the text of one of its keys."""
        return text(self.element, key, default=default)

    def flag(self, key: str) -> bool:
        """Return whether one of its keys is true."""
        return self.reading.flag(self.element, key)

    def joint(self, key: str) -> Joint:
        """Return the joint named by one of its keys. Raises ScopeFault."""
        named = child(self.element, key)
        if named is None or not text_of(named):
            raise ScopeFault(self.element, f"{key} is missing")
        return self.joint_of(named)

    def joints(self, key: str) -> Iterator[Joint]:
        """Yield the joints named by one of its keys. Raises ScopeFault."""
        return map(self.joint_of, self.element.all(key))

    def joint_of(self, named: Element) -> Joint:
        """Return the joint that an element names. Raises ScopeFault."""
        name, joints = text_of(named), self.found.joints
        owner, entry = find(self.scope, name, named)
        found = joints.get((owner, entry.name))
        if found is None:
            raise ScopeFault(named, f"{quoted(name)} is no joint here{did_you_mean(name, (n for _, n in joints))}")
        return found

    def link(self, key: str) -> SdfLink:
        """Return the link named by one of its keys, by default the first link of the model. Raises ScopeFault."""
        named = child(self.element, key)
        if named is None or not text_of(named):
            return self.found.canonical(self.scope, self.element, key)
        _, entry = find(self.scope, text_of(named), named)
        if entry not in self.found.links:
            raise ScopeFault(named, f"{quoted(entry.name)} is a {entry.kind}; a link is needed")
        return self.found.links[entry]

    def moved(self, joint: Joint) -> str:
        """Return the simulated name of a joint: that of the link that it moves."""
        return self.found.links[joint.child[1]].frame

    def topic(self, key: str, default: str) -> str:
        """Return the Gazebo topic named by one of its keys, by default one below the topics of its model."""
        return gazebo_topic(self.text(key) or f"model/{self.scope.unmerged.path}/{default}")

    def place(self, name: str = "") -> Place:
        """Return its location, for the parts that are made from it."""
        return place_of(self.element, name)

    def approximate(self, message: str) -> None:
        """Warn that its effect differs from Gazebo."""
        self.reading.approximate(self.element, message)

    def leave_out(self, message: str) -> None:
        """Warn that it is left out."""
        self.reading.leave_out(self.element, message)


# Adds the equivalent of a plug-in. Raises ScopeFault for an invalid plug-in.
Add = Callable[[SdfPlugin], None]


class GazeboSystem(NamedTuple):
    """The equivalent of a Gazebo system.

    Attributes:
        about: A description.
        add: The function that adds it; None for a system without an effect.
        ignored: Its elements that have no effect.
        turn: Systems with a lower turn are added before it, because it converts their parts (1), or depends on the
            result of all others (2, 3).
    """

    about: str
    add: Add | None = None
    ignored: tuple[str, ...] = ()
    turn: int = 0


# By class. Systems that every run includes, or that concern something that is not simulated, have no function.
SYSTEMS: Registry[str, GazeboSystem] = Registry(
    "system of Gazebo",
    shipped=tuple(
        f"sim_node.extensions.sdf.{name}"
        for name in (
            "system_drives",
            "system_joints",
            "system_forces",
            "system_water",
            "system_autopilots",
            "system_sensors",
            "system_triggers",
            "plugins",
        )
    ),
)


def system(name: str, about: str, ignored: str = "", *, turn: int = 0) -> Callable[[Add], Add]:
    """Register a function of an SdfPlugin that adds the equivalent of a Gazebo system.

    Args:
        name: The class of the system.
        about: A description of the equivalent.
        ignored: Its elements that have no effect, separated by spaces.
        turn: Systems with a lower turn are added before it.

    Returns:
        The decorator.
    """

    def enter(add: Add) -> Add:
        SYSTEMS.add(name, module=add.__module__)(GazeboSystem(about, add, tuple(ignored.split()), turn))
        return add

    return enter


SYSTEMS.add("MotorFailureSystem")(GazeboSystem("any run lets rotors fail on request"))
SYSTEMS.add("CpuLidar")(GazeboSystem("lidars need no plug-in"))
SYSTEMS.add("PosePublisher")(GazeboSystem("/tf has all poses"))
SYSTEMS.add(
    *("Physics", "UserCommands", "SceneBroadcaster", "Sensors", "Imu", "Magnetometer", "AirPressure", "NavSat"),
    *(
        "Altimeter",
        "ForceTorque",
        "Contact",
        "AirSpeed",
        "LogicalCamera",
        "DopplerVelocityLogSystem",
        "OpticalTactilePlugin",
        "Label",
    ),
    *("LogRecord", "LogPlayback", "LogVideoRecorder", "Performer", "LevelManager", "EntitySemantics"),
    *("SystemMonitor", "JoyToTwist", "MagnetometerSystem", "CustomSensorSystem", "RosGzBridge", "OpticalFlow"),
    *("EnvironmentPreload", "SceneManager", "Comms", "RFComms", "PerfectComms", "AcousticComms", "Shader"),
)(GazeboSystem("a part of every run here"))
SYSTEMS.add(
    *("CameraVideoRecorder", "ParticleEmitter", "ParticleEmitter2", "ShaderParam", "VisualizeContacts", "Thermal"),
    *("ThermalSensor", "CameraTracking", "Projector", "MaterialColor", "LightControl", "ColladaWorldExporter"),
    *("SdfExporter", "ModelPhotoShoot", "FollowActor"),
)(GazeboSystem("of Gazebo's windows"))
# Systems that move something but have no equivalent.
MISSING = (
    *("CommsEndpoint", "Breadcrumbs", "LogicalAudioSensorPlugin", "PythonSystemLoader", "LedPlugin"),
    *("PerformerDetector", "DriveToPoseController", "FreeSpaceExplorer", "LighterThanAirDynamics", "LookupWheelSlip"),
    *("EnvironmentalSystem", "EnvironmentalSensorSystem", "WebsocketServer", "Elevator"),
    *("KineticEnergyMonitor", "ElevatorSystem", "LensFlare", "HydrodynamicsPlugin"),
    *("ParachutePlugin", "CameraZoomPlugin", "GstCameraPlugin", "CopterPlugin"),
    *("SpacecraftThrusterModel", "GimbalController"),
)


def system_name(plugin: Element) -> str:
    """Return the class of a plug-in, by any of the names that files use for it."""
    name, file = plugin.get("name"), plugin.get("filename")
    cased = {each.lower(): each for each in (*SYSTEMS, *MISSING)}
    candidates = [name.rpartition("::")[2]]
    library = _FILE.fullmatch(file.rpartition("/")[2])
    if library is not None:
        candidates.append(re.sub(r"[-_]", "", library["name"]))
    candidates.append(re.sub(r"^lib|\.so$|Plugin(?=\.so$|$)", "", file))
    for each in candidates:
        if each.lower() in cased:
            return cased[each.lower()]
        if (short := each.lower().removesuffix("plugin").removesuffix("system")) in cased:
            return cased[short]
    return candidates[0] or file


def add_plugins(reading: SdfReading, found: SdfMechanism, world: SdfScope, around: SdfSurroundings) -> None:
    """Add the equivalents of the systems of a world and its models. Invalid ones are left out with a warning."""
    named = [(SdfPlugin(each, scope, reading, found, around), system_name(each)) for scope, each in _plugins(world)]
    rows = [(plugin, name, SYSTEMS.get(name)) for plugin, name in named]
    for plugin, name, of in sorted(rows, key=lambda row: 0 if row[2] is None else row[2].turn):
        _add(plugin, name, of)


def _plugins(world: SdfScope) -> Iterator[tuple[SdfScope, Element]]:
    """Yield the plug-ins of a world, its models, and their links, joints, sensors and visuals, each with its scope."""
    for scope in world.within():
        for element in scope.element.all("plugin"):
            yield scope, element
        for entry in scope.entries.values():
            if entry.kind not in ("link", "joint"):
                continue
            owners = (entry.element, *(part for part in entry.element.children if part.tag in ("sensor", "visual")))
            for element in (each for owner in owners for each in owner.children if each.tag == "plugin"):
                yield scope, element


def _add(plugin: SdfPlugin, name: str, of: GazeboSystem | None) -> None:
    plugin.element.read = True
    if of is None:
        known = "is not simulated here" if name in MISSING else "is not known here"
        plugin.leave_out(f"the plug-in {quoted(name)} {known}")
    elif of.add is None:
        plugin.reading.ignore(plugin.element, of.about)
    else:
        for key in of.ignored:
            plugin.text(key)
        try:
            of.add(plugin)
        except ScopeFault as fault:
            # Gazebo also runs a world without a plug-in that it cannot configure.
            plugin.reading.leave_out(fault.element, f"{fault.message}; the plug-in {quoted(name)} is left out")
