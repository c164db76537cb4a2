"""rviz2 configuration of a world: its frames, its topics with their QoS, and views, including those of a schematic."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import yaml

from sim_node.messages.sensor_topics import sensor_messages
from sim_node.messages.topic import Topic
from sim_node.spatial.geometry import poses, quaternions
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.viewing.cameras import Sight, ViewportCamera
from sim_node.viewing.display_sinks import MARKERS, description_topic, path_topic
from sim_node.viewing.extent import Extent, around, places_of
from sim_node.viewing.markers import MARKER_GROUPS, ROBOTS
from sim_node.viewing.robots import Robot, robots_of
from sim_node.viewing.rviz_displays import DISPLAYS, PLUGINS, Properties, head, robot_model, shown
from sim_node.viewing.schematic import Viewport
from sim_node.viewing.sensor_marks import NAMES
from sim_node.viewing.shown_signals import WORLD_POS, ShownSignals, scene_reference
from sim_node.world import FrameTable, World
from sim_node.world.layout import Layout, lay_out

# Vertical field of view of rviz cameras (Ogre::Frustum), and their pitch.
FIELD_OF_VIEW = math.pi / 4.0
PITCH, YAW = 0.5, 0.8
# Number of frames above which names would obscure the scene.
MAX_NAMES = 60
FIXED_FRAME = "<Fixed Frame>"


def configuration(fixed_frame: str, displays: Sequence[Properties], extent: Extent, views: Sequence[Properties]) -> str:
    """Return the YAML text, with the whole extent in view. views: additional views to select."""
    config = {
        "Panels": [
            {"Class": "rviz_common/Displays", "Name": "Displays"},
            {"Class": "rviz_common/Views", "Name": "Views"},
            {"Class": "rviz_common/Time", "Name": "Time", "SyncMode": 0},
        ],
        "Visualization Manager": {
            "Class": "",
            "Displays": list(displays),
            "Enabled": True,
            "Global Options": {"Background Color": "48; 48; 48", "Fixed Frame": fixed_frame, "Frame Rate": 60},
            "Name": "root",
            "Tools": [{"Class": f"{PLUGINS}/{tool}"} for tool in ("MoveCamera", "Select", "FocusCamera", "Measure")],
            "Transformation": {"Current": {"Class": f"{PLUGINS}/TF"}},
            "Value": True,
            "Views": {"Current": _orbit(extent), "Saved": list(views)},
        },
        "Window Geometry": {"Height": 900, "Width": 1400},
    }
    return yaml.safe_dump(config, sort_keys=False, allow_unicode=True, width=120)


def grid(extent: Extent) -> Properties:
    """Return a grid with cells of 1, 10 or 100 m, slightly above ground at height zero."""
    radius = extent.radius
    cell = 10.0 ** max(0, math.ceil(math.log10(radius / 40.0)))
    return {
        **head("Grid", "Grid"),
        "Reference Frame": FIXED_FRAME,
        "Plane": "XY",
        "Cell Size": cell,
        "Plane Cell Count": max(10, 2 * math.ceil(1.2 * radius / cell)),
        "Offset": {"X": 0, "Y": 0, "Z": 0.005},
        "Color": "160; 160; 164",
        "Alpha": 0.5,
    }


def tf(frames: FrameTable, poses: FloatArray) -> Properties:
    """Return the TF display, with axis lengths that correspond to the distances between static frames."""
    apart = np.linalg.norm(poses[frames.static & (frames.parents > 0), :3], axis=1)
    apart = apart[apart > 1e-3]
    scale = float(np.clip(2.0 * np.median(apart), 0.15, 2.0)) if len(apart) else 1.0
    return {
        **head("TF", "TF"),
        "Frame Timeout": 15,
        "Marker Scale": round(scale, 3),
        "Show Arrows": len(frames) <= MAX_NAMES,
        "Show Axes": True,
        "Show Names": len(frames) <= MAX_NAMES,
        "Update Interval": 0,
    }


def from_above(extent: Extent) -> Properties:
    """Return a view from above."""
    return {
        "Class": f"{PLUGINS}/TopDownOrtho",
        "Name": "From above",
        "Target Frame": FIXED_FRAME,
        "Angle": 0,
        "X": float(extent.centre[0]),
        "Y": float(extent.centre[1]),
        "Scale": round(400.0 / extent.radius, 3),
    }


def point(position: FloatArray) -> Properties:
    """Return a position in rviz's format."""
    return {axis: round(float(value), 3) + 0.0 for axis, value in zip("XYZ", position, strict=True)}


def _orbit(extent: Extent) -> Properties:
    radius = extent.radius + 0.001  # numbers in the file are rounded
    return {
        "Class": f"{PLUGINS}/Orbit",
        "Name": "Whole world",
        "Target Frame": FIXED_FRAME,
        "Distance": round(radius / math.sin(FIELD_OF_VIEW / 2.0), 3),
        "Focal Point": point(extent.centre),
        "Pitch": PITCH,
        "Yaw": YAW,
        "Near Clip Distance": 0.01,
    }


# Distance of the focal point of a camera without look_at, m.
_AHEAD = 5.0


def viewport_views(world: World, layout: Layout, prefix: str) -> Iterator[Properties]:
    """Yield a view for each viewport that has a name and a `pos`, at its initial pose.

    A camera that moves with a frame becomes an Orbit view around it; one that also turns with it becomes a
    ThirdPersonFollower, which follows its heading. rviz cameras are upright and share one field of view. Raises
    WorldError for an unknown name.
    """
    if world.schematic is None:
        return
    frames, in_root = layout.frames, layout.frames.in_root(layout.poses)
    for viewport in world.schematic.viewports():
        if viewport.name and viewport.pos is not None:
            signals = ShownSignals(frames, reference=scene_reference(world.schematic, world))
            sight = _sight(viewport, signals, in_root)
            if sight is not None:
                yield _view(viewport, signals, frames, in_root, sight, prefix)


def _sight(viewport: Viewport, signals: ShownSignals, in_root: FloatArray) -> Sight | None:
    signals.update(in_root, {})
    return ViewportCamera(viewport, signals).sight()


def _view(
    viewport: Viewport, signals: ShownSignals, frames: FrameTable, in_root: FloatArray, sight: Sight, prefix: str
) -> Properties:
    followed = _followed(viewport)
    eye, target = sight.position, sight.target
    if viewport.look_at is None:
        target = eye + _AHEAD * (target - eye) / np.linalg.norm(target - eye)
    kind, frame, origin = "Orbit", FIXED_FRAME, np.array(poses.IDENTITY)
    if followed:
        row = frames.index(followed)
        frame, heading = prefix + followed, quaternions.to_rpy(in_root[row, 3:])[2]
        turned = in_root.copy()
        quarter = quaternions.from_axis_angle([0.0, 0.0, 1.0], 0.5 * np.pi)
        turned[row, 3:] = quaternions.multiply(quarter, turned[row, 3:])
        after = _sight(viewport, signals, turned)
        turns = after is not None and not np.allclose(after.position - after.target, sight.position - sight.target)
        if turns:
            kind = "ThirdPersonFollower"
        upright = quaternions.from_axis_angle([0.0, 0.0, 1.0], heading if turns else 0.0)
        origin = poses.pose(in_root[row, :3], upright)
    eye, target = (poses.apply(poses.invert(origin), each) for each in (eye, target))
    away = eye - target
    distance = float(np.linalg.norm(away))
    return {
        "Class": f"{PLUGINS}/{kind}",
        "Name": viewport.name,
        "Target Frame": frame,
        "Distance": round(distance, 3),
        "Focal Point": point(target),
        "Pitch": round(math.asin(float(np.clip(away[2] / distance, -1.0, 1.0))), 4),
        "Yaw": round(math.atan2(away[1], away[0]) % (2.0 * math.pi), 4),
    }


def _followed(viewport: Viewport) -> str:
    """Return the frame that the camera moves with, or an empty string."""
    assert viewport.pos is not None
    suffix = f".{WORLD_POS}"
    names = [str(name) for name in viewport.pos.names()]
    return next((name.removesuffix(suffix) for name in names if name.endswith(suffix)), "")


# Maximum number of enabled image displays, since each has a panel; further ones are disabled.
MAX_PICTURES = 2
NO_TELEMETRY: Mapping[str, Sequence[Topic]] = {}


def rviz_config(
    world: World, *, prefix: str = "", namespace: str = "", telemetry: Mapping[str, Sequence[Topic]] = NO_TELEMETRY
) -> str:
    """Return the rviz2 configuration of an assembled world.

    Args:
        world: The assembled world.
        prefix: The simulation node's frame_prefix.
        namespace: Namespace of the simulation node.
        telemetry: Topics that a bridge publishes, by names of vehicles.

    Returns:
        YAML text.

    Raises:
        WorldError: The world is invalid.
    """
    layout = lay_out(world)
    # rviz also draws the axes of frames without shapes.
    extent = around(np.concatenate([places_of(world, layout), layout.frames.in_root(layout.poses)[:, :3]]))
    robots = robots_of(world, layout.frames, prefix)
    displays = [
        grid(extent),
        tf(layout.frames, layout.poses),
        _markers(namespace, robots),
        *_group("Robots", [_robot(each, namespace) for each in robots]),
        *_group("Paths", _paths(world, prefix, namespace)),
        *_group("Sensors", _sensors(world, prefix, namespace)),
        *(
            part
            for vehicle, topics in telemetry.items()
            for part in _group(f"Telemetry of {vehicle}", _telemetry(vehicle, topics))
        ),
    ]
    views = [*_views(world, extent, prefix), *viewport_views(world, layout, prefix)]
    return configuration(world.fixed_frame, displays, extent, views)


def marker_groups(*, described: bool) -> Properties:
    """Return which marker groups are enabled. With robot descriptions, groups that show the same are disabled."""
    hidden = {NAMES, *([ROBOTS] if described else [])}
    return {group: group not in hidden for group in MARKER_GROUPS}


def _markers(namespace: str, robots: Sequence[Robot]) -> Properties:
    display = _required(shown("Markers", _absolute(MARKERS, namespace)))
    return {**display, "Namespaces": marker_groups(described=bool(robots))}


def _robot(robot: Robot, namespace: str) -> Properties:
    topic = _absolute(description_topic(robot), namespace)
    return robot_model(robot.frame_prefix + robot.name, topic, robot.tf_prefix)


def _paths(world: World, prefix: str, namespace: str) -> list[Properties]:
    topics = [(v.name, _absolute(path_topic(v.name, prefix), namespace)) for v in world.vehicles]
    return [_required(shown(f"{prefix}{name}", topic)) for name, topic in topics]


def _sensors(world: World, prefix: str, namespace: str) -> Iterator[Properties]:
    pictures = 0
    for name, topic, _ in sensor_messages(world, prefix):
        pictures += topic.type == "sensor_msgs/msg/Image"
        enabled = topic.type != "sensor_msgs/msg/Image" or pictures <= MAX_PICTURES
        display = shown(name, _absolute(topic, namespace), enabled=enabled)
        if display is not None:
            yield display


def without_display(world: World, *, prefix: str = "") -> dict[str, list[str]]:
    """Return the topics of sensors that rviz2 cannot show, by message type."""
    missing: dict[str, list[str]] = {}
    for _, topic, _ in sensor_messages(world, prefix):
        if topic.type not in DISPLAYS:
            missing.setdefault(topic.type, []).append(topic.name)
    return missing


def _telemetry(vehicle: str, topics: Sequence[Topic]) -> Iterator[Properties]:
    """Yield displays for the telemetry of a vehicle, for the types that rviz supports."""
    for topic in topics:
        display = shown(topic.name.removeprefix(f"/{vehicle}/"), topic)
        if display is not None:
            yield display


def _views(world: World, extent: Extent, prefix: str) -> list[Properties]:
    """Return views from above, and from behind each vehicle."""
    return [
        from_above(extent),
        *(
            {
                "Class": f"{PLUGINS}/ThirdPersonFollower",
                "Name": f"Behind {vehicle.name}",
                "Target Frame": prefix + vehicle.body,
                "Distance": 4,
                "Focal Point": point(np.zeros(3)),
                "Pitch": 0.4,
                "Yaw": math.pi,
            }
            for vehicle in world.vehicles
        ),
    ]


def _group(name: str, displays: Sequence[Properties] | Iterator[Properties]) -> list[Properties]:
    """Return the displays as a group, or an empty list if there are none."""
    inside = list(displays)
    if not inside:
        return []
    return [{"Class": "rviz_common/Group", "Name": name, "Enabled": True, "Value": True, "Displays": inside}]


def _absolute(topic: Topic, namespace: str) -> Topic:
    """Return a topic of the simulation node with its absolute name."""
    name = topic.name.replace("~/", "simulation/", 1)
    return Topic("/".join(["", *filter(None, namespace.split("/")), name]), topic.type, topic.qos)


def _required(display: Properties | None) -> Properties:
    assert display is not None
    return display
