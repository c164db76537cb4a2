"""A bag of a robot that is not ours: topics of all types that are drawn, serialised by rosbags."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image
from rosbags.rosbag2 import StoragePlugin, Writer
from rosbags.typesys import Stores, get_typestore

STORE = get_typestore(Stores.ROS2_JAZZY)
# Zurich, and a place that pymap3d puts 30 m east, 40 m north and 12 m above it.
ORIGIN = (47.397742, 8.545594, 488.0)
SECONDS = 3
GRID = np.array([[0, 100, -1], [50, 0, 0]], dtype=np.int8)
URDF = """<robot name="rover">
  <material name="paint"><color rgba="1 0 1 1"/></material>
  <link name="chassis"><visual><origin xyz="0 0 0.5" rpy="0 0 1.5707963267948966"/>
    <geometry><box size="2 1 0.25"/></geometry><material name="paint"/></visual></link>
  <link name="mast"><visual><geometry><mesh filename="package://nobody/mast.stl"/></geometry></visual></link>
</robot>"""


def a(kind: str, **fields: Any) -> Any:
    """A message: package/Name and its fields; numbers that are left out are 0, texts empty, sequences too."""
    package, _, name = kind.partition("/")
    full = f"{package}/msg/{name}"
    made = STORE.types[full]
    for field, (kind_number, of) in STORE.fielddefs[full][1]:
        fields.setdefault(field, _empty(int(kind_number), of))
    return made(**fields)


def _empty(kind: int, of: Any) -> Any:
    if kind == 1:
        return "" if of[0] == "string" else False if of[0] == "bool" else 0
    if kind == 2:
        return a(of.replace("/msg/", "/"))
    count = of[1] if kind == 3 else 0
    inner_kind, inner = of[0]
    return (
        np.zeros(count, dtype="u1" if inner[0] == "octet" else inner[0])
        if int(inner_kind) == 1 and inner[0] != "string"
        else []
    )


def header(frame: str, at_s: float = 0.0) -> Any:
    whole = int(at_s)
    return a(
        "std_msgs/Header",
        frame_id=frame,
        stamp=a("builtin_interfaces/Time", sec=whole, nanosec=round((at_s - whole) * 1e9)),
    )


def point(x: float, y: float, z: float, kind: str = "Point") -> Any:
    return a(f"geometry_msgs/{kind}", x=float(x), y=float(y), z=float(z))


def pose(position: tuple[float, float, float], xyzw: tuple[float, ...] = (0.0, 0.0, 0.0, 1.0)) -> Any:
    turn = a("geometry_msgs/Quaternion", **dict(zip("xyzw", map(float, xyzw), strict=True)))
    return a("geometry_msgs/Pose", position=point(*position), orientation=turn)


def stamped(frame: str, position: tuple[float, float, float], at_s: float = 0.0) -> Any:
    return a("geometry_msgs/PoseStamped", header=header(frame, at_s), pose=pose(position))


def cloud(frame: str) -> Any:
    """Two points, red and blue, as PCL packs them."""
    packed = np.array([0x00FF0000, 0x000000FF], dtype=np.uint32).view(np.float32)
    rows = np.array([(1, 0, 0, packed[0]), (0, 2, 0, packed[1])], dtype="<f4")
    fields = [
        a("sensor_msgs/PointField", name=name, offset=4 * k, datatype=7, count=1)
        for k, name in enumerate(("x", "y", "z", "rgb"))
    ]
    data = np.frombuffer(rows.tobytes(), np.uint8)
    return a(
        "sensor_msgs/PointCloud2",
        header=header(frame),
        height=1,
        width=2,
        fields=fields,
        point_step=16,
        row_step=32,
        data=data,
    )


def jpeg(frame: str) -> Any:
    """A green picture of 32 x 16 pixels."""
    stream = io.BytesIO()
    Image.new("RGB", (32, 16), (0, 200, 0)).save(stream, "JPEG")
    data = np.frombuffer(stream.getvalue(), np.uint8)
    return a("sensor_msgs/CompressedImage", header=header(frame), format="jpeg", data=data)


def marker(number: int, kind: int, at: tuple[float, float, float], action: int = 0, **fields: Any) -> Any:
    given = {
        "header": header("map"),
        "ns": "test",
        "scale": point(1.0, 2.0, 3.0, "Vector3"),
        "color": a("std_msgs/ColorRGBA", r=0.0, g=1.0, b=0.0, a=1.0),
        **fields,
    }
    return a("visualization_msgs/Marker", id=number, type=kind, action=action, pose=pose(at), **given)


def transforms(parent: str, child: str, position: tuple[float, float, float], at_s: float) -> Any:
    moved = a("geometry_msgs/Transform", translation=point(*position, "Vector3"))
    moved.rotation.w = 1.0
    one = a("geometry_msgs/TransformStamped", header=header(parent, at_s), child_frame_id=child, transform=moved)
    return a("tf2_msgs/TFMessage", transforms=[one])


def written(folder: Path, messages: list[tuple[str, float, Any]]) -> Path:
    """A bag of (topic, seconds, message)."""
    with Writer(folder, version=9, storage_plugin=StoragePlugin.MCAP) as writer:
        connections: dict[str, Any] = {}
        for topic, at_s, message in messages:
            kind = message.__msgtype__
            if topic not in connections:
                connections[topic] = writer.add_connection(topic, kind, typestore=STORE)
            writer.write(connections[topic], round(at_s * 1e9), STORE.serialize_cdr(message, kind))
    return folder


def robot(folder: Path, fix: tuple[float, float, float]) -> Path:
    """A rover at (10 t, 0, 0) below map, and a topic of each type; fix: where its receiver is from 1 s on."""
    odom = a("nav_msgs/Odometry", header=header("odom_ned"), child_frame_id="base_link")
    odom.pose.pose = pose((1.0, 2.0, -3.0))
    # A quarter turn about x of an FRD body in NED.
    imu = a("sensor_msgs/Imu", header=header("chassis_frd"))
    imu.orientation = a("geometry_msgs/Quaternion", x=0.0, y=0.0, z=0.0, w=1.0)
    grid = a("nav_msgs/OccupancyGrid", header=header("map"), data=GRID.ravel())
    grid.info = a("nav_msgs/MapMetaData", resolution=np.float32(0.5), width=3, height=2, origin=pose((-1.0, -2.0, 0.0)))
    array = a("geometry_msgs/PoseArray", header=header("chassis"), poses=[pose((0, 0, 1)), pose((0, 1, 1))])
    path = a("nav_msgs/Path", header=header("map"), poses=[stamped("map", (0, 0, 0)), stamped("map", (3, 0, 4))])
    fixes = [
        a("sensor_msgs/NavSatFix", header=header("gps", at_s), latitude=lla[0], longitude=lla[1], altitude=lla[2])
        for at_s, lla in ((0.0, ORIGIN), (1.0, fix))
    ]
    return written(
        folder,
        [
            ("/robot_description", 0.0, a("std_msgs/String", data=URDF)),
            ("/map", 0.0, grid),
            ("/points", 0.0, cloud("chassis")),
            ("/camera/compressed", 0.0, jpeg("chassis")),
            ("/goal", 0.0, stamped("map", (7.0, 8.0, 9.0))),
            ("/particles", 0.0, array),
            ("/plan", 0.0, path),
            ("/odom", 0.0, odom),
            ("/imu", 0.0, imu),
            (
                "/markers",
                0.0,
                a("visualization_msgs/MarkerArray", markers=[marker(0, 1, (4, 5, 6)), marker(1, 2, (0, 0, 0))]),
            ),
            ("/markers", 0.01, a("visualization_msgs/MarkerArray", markers=[marker(1, 2, (0, 0, 0), action=2)])),
            ("/fix", 0.0, fixes[0]),
            ("/fix", 1.0, fixes[1]),
            *(("/tf", t / 10, transforms("map", "chassis", (float(t), 0.0, 0.0), t / 10)) for t in range(10 * SECONDS)),
        ],
    )
