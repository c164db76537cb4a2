"""Draw docs/images/lidar_room.svg: what a camera and the lidars of the world `lidar_room` see at one instant.

Run from the repository: python tools/draw_scene.py [docs/images/lidar_room.svg]
"""

import base64
import struct
import sys
import zlib
from pathlib import Path

import numpy as np

from sim_node.simulation import Simulation
from sim_node.simulation.sensors import Lidar2d
from sim_node.spatial.geometry import poses
from sim_node.world import load

WIDTH, HEIGHT = 1000, 450
INK, PAPER, SCAN = "#333333", "#ffffff", "#d62728"
# Metres to pixels, and where the middle of the room is on the right.
SCALE, MIDDLE = 37.0, (805.0, 235.0)


def main() -> None:
    path = Path(sys.argv[1] if len(sys.argv) > 1 else "docs/images/lidar_room.svg")
    simulation = Simulation(load("lidar_room"))
    simulation.run(6.0)
    snapshot = simulation.snapshot()
    body = "\n".join([*picture(snapshot.measurements["CAM_CORNER"]), *plan(simulation, snapshot)])
    path.write_text(
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" '
        f'font-family="DejaVu Sans, Verdana, sans-serif" font-size="13" fill="{INK}" role="img" '
        f'aria-label="A camera\'s picture of a room, and lidar points of it from above">\n'
        f'<rect width="{WIDTH}" height="{HEIGHT}" rx="8" fill="{PAPER}"/>\n{body}\n</svg>\n',
        encoding="utf-8",
    )


def picture(reading):
    """The last picture of a camera."""
    if not len(reading.values):
        sys.exit("no OpenGL, no picture")
    data = base64.b64encode(png(reading.values[-1])).decode()
    yield '<text x="24" y="36" font-weight="bold">the world lidar_room: CAM_CORNER</text>'
    yield f'<image x="24" y="52" width="500" height="375" href="data:image/png;base64,{data}"/>'


def plan(simulation, snapshot):
    """The last cloud and scan of the cart from above, points at the height of walls and furniture."""
    yield '<text x="560" y="36" font-weight="bold">from above: LIDAR_TOP by height, LIDAR_FRONT in red</text>'
    cloud = in_map(simulation, snapshot, "cart/LIDAR_TOP", snapshot.measurements["cart/LIDAR_TOP"].values[-1][..., :3])
    for low in np.arange(0.02, 2.4, 0.3):
        layer = cloud[(cloud[:, 2] > low) & (cloud[:, 2] <= low + 0.3)]
        yield dots(layer[::2], 1.6, f"hsl({230 - 90 * low:.0f},60%,45%)")
    lidar = next(sensor for sensor in simulation.world.sensors if sensor.name == "cart/LIDAR_FRONT")
    fan = Lidar2d(samples=int(lidar.parameters["samples"])).fan()
    ranges = snapshot.measurements["cart/LIDAR_FRONT"].values[-1]
    seen = np.isfinite(ranges)
    yield dots(in_map(simulation, snapshot, "cart/LIDAR_FRONT", fan[seen] * ranges[seen, None]), 2.4, SCAN)
    cart = simulation.frames.lookup(snapshot.poses, "map", "cart/base_link")
    corners = poses.apply(cart, np.array([[0.35, 0, 0], [-0.35, 0.25, 0], [-0.35, -0.25, 0]]))
    yield f'<polygon points="{" ".join("{:.1f},{:.1f}".format(*screen(x, y)) for x, y, _ in corners)}" fill="{INK}"/>'


def in_map(simulation, snapshot, frame, points):
    points = points.reshape(-1, 3)
    return poses.apply(simulation.frames.lookup(snapshot.poses, "map", frame), points[np.isfinite(points[:, 0])])


def screen(x, y):
    return MIDDLE[0] + SCALE * x, MIDDLE[1] - SCALE * y


def dots(points, size, colour):
    """Points (N, 3) from above as one path."""
    places = [screen(x, y) for x, y, _ in points]
    path = "".join(f"M{right:.0f} {down:.0f}h0" for right, down in dict.fromkeys(places) if right < WIDTH - 8)
    return f'<path d="{path}" stroke="{colour}" stroke-width="{size}" stroke-linecap="round"/>'


def png(image):
    """A picture (height, width, 3) as a PNG file: W3C, Portable Network Graphics, third edition."""
    height, width, _ = image.shape
    rows = b"".join(b"\0" + row.tobytes() for row in image)

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    parts = chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows, 9)) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + parts


if __name__ == "__main__":
    main()
