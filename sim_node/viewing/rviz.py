"""A configuration of rviz2 for one world: its frames, its topics with their QoS, and views of all of it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np
import yaml

from sim_node.geometry.arrays import FloatArray
from sim_node.sensors import groups_of
from sim_node.viewing.description_sink import description_topic
from sim_node.viewing.extent import around, places_of
from sim_node.viewing.marker_sink import MARKERS
from sim_node.viewing.markers import MISSIONS, PATHS, ROBOTS, SHAPES
from sim_node.viewing.path_sink import path_topic
from sim_node.viewing.robots import Robot, robots_of
from sim_node.viewing.rviz_displays import PLUGINS, Properties, head, shown, subscription
from sim_node.viewing.sensor_marks import FIELDS, NAMES, SENSORS
from sim_node.wire import qos
from sim_node.wire.sensor_topics import TOPICS, topic_of
from sim_node.wire.topic import Topic
from sim_node.world import FrameTable, World
from sim_node.world.layout import lay_out

# rviz' cameras see so much from their upper to their lower edge (Ogre::Frustum), and look down by so much.
FIELD_OF_VIEW = math.pi / 4.0
PITCH, YAW = 0.5, 0.8
# Pictures have panels of their own; more of them are there to be ticked. Names of more frames hide what they name.
MOST_PICTURES, MOST_NAMES = 2, 60
_FIXED = "<Fixed Frame>"


def rviz_config(world: World, *, prefix: str = "", namespace: str = "", telemetry: Sequence[str] = ()) -> str:
    """The YAML text of a configuration for an assembled world.

    prefix: the simulation's frame_prefix; namespace: that of its node. telemetry: vehicles whose topics of the bridge
    are shown too, as the bridge calls them. Raises WorldError.
    """
    layout = lay_out(world)
    centre, radius = around(places_of(world, layout))
    robots = robots_of(world, layout.frames, prefix)
    displays = [
        _grid(radius),
        _tf(layout.frames, layout.poses),
        _markers(namespace, robots),
        *_group("Robots", [_robot(robot, namespace) for robot in robots]),
        *_group("Paths", _paths(world, prefix, namespace)),
        *_group("Sensors", _sensors(world, prefix, namespace)),
        *(part for vehicle in telemetry for part in _group(f"Telemetry of {vehicle}", _telemetry(vehicle))),
    ]
    config = {
        "Panels": [
            {"Class": "rviz_common/Displays", "Name": "Displays"},
            {"Class": "rviz_common/Views", "Name": "Views"},
            {"Class": "rviz_common/Time", "Name": "Time", "SyncMode": 0},
        ],
        "Visualization Manager": {
            "Class": "",
            "Displays": displays,
            "Enabled": True,
            "Global Options": {"Background Color": "48; 48; 48", "Fixed Frame": world.fixed_frame, "Frame Rate": 60},
            "Name": "root",
            "Tools": [{"Class": f"{PLUGINS}/{tool}"} for tool in ("MoveCamera", "Select", "FocusCamera", "Measure")],
            "Transformation": {"Current": {"Class": f"{PLUGINS}/TF"}},
            "Value": True,
            "Views": {"Current": _orbit(centre, radius), "Saved": _saved_views(world, centre, radius, prefix)},
        },
        "Window Geometry": {"Height": 900, "Width": 1400},
    }
    return yaml.safe_dump(config, sort_keys=False, allow_unicode=True, width=120)


def _grid(radius: float) -> Properties:
    """Metres where they can be told apart, else tens or hundreds of them; a little above grounds at height zero."""
    cell = 10.0 ** max(0, math.ceil(math.log10(radius / 40.0)))
    return {
        **head("Grid", "Grid"),
        "Reference Frame": _FIXED,
        "Plane": "XY",
        "Cell Size": cell,
        "Plane Cell Count": max(10, 2 * math.ceil(1.2 * radius / cell)),
        "Offset": {"X": 0, "Y": 0, "Z": 0.005},
        "Color": "160; 160; 164",
        "Alpha": 0.5,
    }


def _tf(frames: FrameTable, poses: FloatArray) -> Properties:
    """Axes about as long as frames that are fixed to each other are apart."""
    apart = np.linalg.norm(poses[frames.static & (frames.parents > 0), :3], axis=1)
    apart = apart[apart > 1e-3]
    scale = float(np.clip(2.0 * np.median(apart), 0.15, 2.0)) if len(apart) else 1.0
    return {
        **head("TF", "TF"),
        "Frame Timeout": 15,
        "Marker Scale": round(scale, 3),
        "Show Arrows": len(frames) <= MOST_NAMES,
        "Show Axes": True,
        "Show Names": len(frames) <= MOST_NAMES,
        "Update Interval": 0,
    }


def _markers(namespace: str, robots: Sequence[Robot]) -> Properties:
    """Without what the models of robots show too."""
    hidden = {NAMES, *([ROBOTS] if robots else [])}
    groups = (SHAPES, ROBOTS, PATHS, MISSIONS, SENSORS, FIELDS, NAMES)
    display = _required(shown("Markers", _absolute(MARKERS, namespace)))
    return {**display, "Namespaces": {group: group not in hidden for group in groups}}


def _robot(robot: Robot, namespace: str) -> Properties:
    return {
        **head("RobotModel", robot.frame_prefix + robot.name),
        "Description Source": "Topic",
        "Description Topic": subscription(_absolute(description_topic(robot), namespace)),
        "TF Prefix": robot.tf_prefix,
        "Visual Enabled": True,
        "Collision Enabled": False,
        "Alpha": 1,
        "Update Interval": 0,
    }


def _paths(world: World, prefix: str, namespace: str) -> list[Properties]:
    topics = [(v.name, _absolute(path_topic(v.name, prefix), namespace)) for v in world.vehicles]
    return [_required(shown(f"{prefix}{name}", topic)) for name, topic in topics]


def _sensors(world: World, prefix: str, namespace: str) -> Iterator[Properties]:
    pictures = 0
    for group in groups_of(world):
        for name in group.names:
            for sensor_topic in TOPICS[group.kind]:
                topic = Topic(topic_of(prefix + name, sensor_topic.name), sensor_topic.type, qos.SENSOR_DATA)
                pictures += topic.type == "sensor_msgs/msg/Image"
                enabled = topic.type != "sensor_msgs/msg/Image" or pictures <= MOST_PICTURES
                display = shown(f"{prefix}{name}", _absolute(topic, namespace), enabled=enabled)
                if display is not None:
                    yield display


def _telemetry(vehicle: str) -> Iterator[Properties]:
    """What the bridge tells of a vehicle, where rviz has a display for it."""
    import sim_node.autopilot.translation  # noqa: F401  registers the topics
    from sim_node.autopilot.topics import TOPICS as TELEMETRY

    for told in TELEMETRY.values():
        package, _, name = told.type.partition("/")
        topic = Topic(f"/{vehicle}/{told.name}", f"{package}/msg/{name.rpartition('/')[2]}", told.profile.value)
        display = shown(told.name, topic)
        if display is not None:
            yield display


def _orbit(centre: FloatArray, radius: float) -> Properties:
    return {
        "Class": f"{PLUGINS}/Orbit",
        "Name": "Whole world",
        "Target Frame": _FIXED,
        "Distance": round(radius / math.sin(FIELD_OF_VIEW / 2.0), 3),
        "Focal Point": _point(centre),
        "Pitch": PITCH,
        "Yaw": YAW,
        "Near Clip Distance": 0.01,
    }


def _saved_views(world: World, centre: FloatArray, radius: float, prefix: str) -> list[Properties]:
    """From above, and from behind each vehicle."""
    above = {"Class": f"{PLUGINS}/TopDownOrtho", "Name": "From above", "Target Frame": _FIXED, "Angle": 0}
    above |= {"X": float(centre[0]), "Y": float(centre[1]), "Scale": round(400.0 / radius, 3)}
    return [
        above,
        *(
            {
                "Class": f"{PLUGINS}/ThirdPersonFollower",
                "Name": f"Behind {vehicle.name}",
                "Target Frame": prefix + vehicle.body,
                "Distance": 4,
                "Focal Point": _point(np.zeros(3)),
                "Pitch": 0.4,
                "Yaw": math.pi,
            }
            for vehicle in world.vehicles
        ),
    ]


def _group(name: str, displays: Sequence[Properties] | Iterator[Properties]) -> list[Properties]:
    """The displays as a group of their own, or nothing where there are none."""
    inside = list(displays)
    if not inside:
        return []
    return [{"Class": "rviz_common/Group", "Name": name, "Enabled": True, "Value": True, "Displays": inside}]


def _absolute(topic: Topic, namespace: str) -> Topic:
    """A topic of a node in a namespace, by its whole name."""
    return Topic("/".join(["", *filter(None, namespace.split("/")), topic.name]), topic.type, topic.qos)


def _required(display: Properties | None) -> Properties:
    assert display is not None
    return display


def _point(position: FloatArray) -> Properties:
    return {axis: round(float(value), 3) + 0.0 for axis, value in zip("XYZ", position, strict=True)}
