"""Draw docs/images/frames.svg: the six conventions, their axes taken from sim_node.spatial.frames.

Run from the repository: python tools/draw_frames.py [docs/images/frames.svg]
"""

import sys
from pathlib import Path

import numpy as np

from sim_node.spatial.frames import Frame, convert_position, convert_velocity

WIDTH, HEIGHT = 1000, 560
INK, FAINT, PAPER = "#333333", "#b8c4d0", "#ffffff"
AXIS_COLOURS = ("#d62728", "#2ca02c", "#1f77b4")  # x red, y green, z blue, as RViz has them
PLACE = (40.0, 44.0, 0.0)
EARTH = 6378137.0


def main() -> None:
    path = Path(sys.argv[1] if len(sys.argv) > 1 else "docs/images/frames.svg")
    parts = [globe(np.array((232.0, 306.0)), 150.0)]
    for frame, column, row in ((Frame.ENU, 0, 0), (Frame.NED, 1, 0), (Frame.FLU, 0, 1), (Frame.FRD, 1, 1)):
        parts.append(triad(frame, np.array((575.0 + 265.0 * column, 165.0 + 265.0 * row))))
    body = "\n".join(parts)
    path.write_text(
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" '
        f'font-family="DejaVu Sans, Verdana, sans-serif" font-size="14" fill="{INK}" role="img" '
        f'aria-label="The six coordinate conventions">\n'
        f'<rect width="{WIDTH}" height="{HEIGHT}" rx="8" fill="{PAPER}"/>\n{body}\n</svg>\n',
        encoding="utf-8",
    )


# ------------------------------------------------------------------------------------------------- ECEF and LLA


def globe(centre, radius):
    """Earth seen from above 64 E, with the axes of ECEF, one place in LLA and the local frame that touches it."""
    azimuth = 64.0
    view = camera(azimuth, elevation=22.0)

    def screen(points):
        return centre + radius * project(view, np.asarray(points))

    def surface(latitudes, longitudes):
        lla = np.stack(np.broadcast_arrays(latitudes, longitudes, 0.0), axis=-1)
        return convert_position(lla, Frame.LLA, Frame.ECEF) / EARTH

    def in_front(points):
        return points[points @ view[2] >= 0]

    around, upright = azimuth + np.arange(-180.0, 181.0, 3.0), np.arange(-90.0, 91.0, 3.0)
    out = [f'<circle cx="{centre[0]}" cy="{centre[1]}" r="{radius}" fill="#eef3f8" stroke="{FAINT}"/>']
    for latitude in range(-60, 61, 30):
        out.append(line(screen(in_front(surface(latitude, around))), FAINT, 0.8))
    for longitude in range(-180, 180, 30):
        out.append(line(screen(in_front(surface(upright, longitude))), FAINT, 0.8))

    latitude, longitude, _ = PLACE
    out.append(line(screen(surface(0.0, np.linspace(0, longitude, 40))), "#8c564b", 2.5))
    out.append(line(screen(surface(np.linspace(0, latitude, 40), longitude)), "#9467bd", 2.5))
    out.append(text(moved(screen(surface(0.0, 0.5 * longitude)), -6, 34), "longitude", "#8c564b", "middle"))
    out.append(text(moved(screen(surface(0.17 * latitude, longitude)), 8, 4), "latitude", "#9467bd"))

    origin = screen(np.zeros(3))
    for axis, colour, name in zip(np.eye(3), AXIS_COLOURS, Frame.ECEF.axes, strict=True):
        out.append(line(np.stack([origin, screen(axis)]), colour, 1.4, dash="3 4"))
        out.append(arrow(screen(axis), screen(1.38 * axis), colour))
        out.append(text(moved(screen(1.5 * axis), 0, 5), name, colour, "middle", bold=True))

    foot = surface(latitude, longitude)
    east, north, up = (convert_velocity(v, Frame.ENU, Frame.ECEF, PLACE) for v in np.eye(3))
    corners = [foot + 0.2 * (a * east + b * north) for a, b in ((-1, -1), (1, -1), (1, 1), (-1, 1), (-1, -1))]
    out.append(line(screen(corners), "#ff7f0e", 1.2, fill="#ff7f0e40"))
    for v in (east, north, up):
        out.append(arrow(screen(foot), screen(foot + 0.36 * v), "#ff7f0e"))
    out.append(text(moved(screen(foot + 0.36 * up), -4, -6), "altitude, up", "#e06c00", "end"))
    out.append(text(moved(screen(foot + 0.36 * east), 5, 5), "east", "#e06c00"))
    out.append(text(moved(screen(foot + 0.36 * north), 4, -6), "north", "#e06c00", "middle"))

    out.append(text((centre[0], 40.0), "ECEF and LLA", INK, "middle", bold=True, size=18))
    out.append(text((centre[0], 60.0), "fixed to the whole Earth", INK, "middle"))
    out.append(text((centre[0], HEIGHT - 42.0), "ECEF: x, y, z in metres from Earth's centre", INK, "middle"))
    out.append(text((centre[0], HEIGHT - 22.0), "LLA: degrees, degrees, metres above WGS84", INK, "middle"))
    return "\n".join(out)


# -------------------------------------------------------------------------------------------- ENU, NED, FLU, FRD


def triad(frame, centre):
    """One frame's axes over the ground, or over a vehicle whose nose is marked."""
    view = camera(azimuth=-62.0, elevation=24.0)
    length = 78.0

    def screen(points):
        return centre + length * project(view, np.asarray(points, dtype=float))

    house = Frame.ENU if frame in (Frame.ENU, Frame.NED) else Frame.FLU
    ground = frame.kind.value == "local"
    out = plane(screen) if ground else vehicle(screen)
    for i, unit in enumerate(np.eye(3)):
        axis = convert_velocity(unit, frame, house)
        out.append(arrow(screen(np.zeros(3)), screen(axis), AXIS_COLOURS[i]))
        tip = screen(1.12 * axis)
        anchor = "middle" if abs(axis[2]) else ("start" if tip[0] > centre[0] else "end")
        shift = (0, -4 if axis[2] > 0 else 14) if axis[2] else (0, 5)
        out.append(text(moved(tip, *shift), f"{'xyz'[i]} {frame.axes[i]}", AXIS_COLOURS[i], anchor, bold=True))
    out.append(text(moved(centre, 0, -125), frame.name, INK, "middle", bold=True, size=18))
    users = {"local": "fixed to the ground", "body": "fixed to the vehicle"}[frame.kind.value]
    out.append(text(moved(centre, 0, -105), users, INK, "middle"))
    return "\n".join(out)


def plane(screen):
    out = [line(screen([(-1, -1, 0), (1, -1, 0), (1, 1, 0), (-1, 1, 0), (-1, -1, 0)]), FAINT, 1, fill="#eef3f8")]
    for s in (-0.5, 0.0, 0.5):
        out.append(line(screen([(s, -1, 0), (s, 1, 0)]), FAINT, 0.7))
        out.append(line(screen([(-1, s, 0), (1, s, 0)]), FAINT, 0.7))
    return out


def vehicle(screen):
    """A quadrotor: four rotors, the two in front filled."""
    turn = np.linspace(0, 2 * np.pi, 41)
    circle = 0.26 * np.stack([np.cos(turn), np.sin(turn), 0 * turn], axis=1)
    out = [line(screen([(-0.5, s * -0.5, 0), (0.5, s * 0.5, 0)]), INK, 3) for s in (1, -1)]
    for x, y in ((0.5, 0.5), (0.5, -0.5), (-0.5, 0.5), (-0.5, -0.5)):
        out.append(line(screen(circle + np.array((x, y, 0.05))), FAINT, 1.5, fill="#ffcf9e" if x > 0 else "#eef3f8"))
    return out


# ----------------------------------------------------------------------------------------------------- drawing


def camera(azimuth, elevation):
    """Rows right, up, towards the eye, for an eye at that azimuth and elevation in degrees."""
    a, e = np.radians((azimuth, elevation))
    eye = np.array((np.cos(e) * np.cos(a), np.cos(e) * np.sin(a), np.sin(e)))
    right = np.array((-np.sin(a), np.cos(a), 0.0))
    return np.stack([right, np.cross(eye, right), eye])


def project(view, points):
    return np.stack([points @ view[0], -(points @ view[1])], axis=-1)


def line(points, colour, width, dash="", fill="none"):
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    dashes = f' stroke-dasharray="{dash}"' if dash else ""
    return f'<polyline points="{path}" fill="{fill}" stroke="{colour}" stroke-width="{width}"{dashes}/>'


def arrow(start, end, colour):
    along = (end - start) / np.linalg.norm(end - start)
    across = np.array((-along[1], along[0]))
    head = [end, end - 11 * along + 4.5 * across, end - 11 * along - 4.5 * across]
    shaft = line([start, end - 9 * along], colour, 3)
    return shaft + f'<polygon points="{" ".join(f"{x:.1f},{y:.1f}" for x, y in head)}" fill="{colour}"/>'


def moved(position, right, down):
    return position + np.array((right, down))


def text(position, words, colour=INK, anchor="start", bold=False, size=14):
    weight = ' font-weight="bold"' if bold else ""
    x, y = position
    style = f'fill="{colour}" text-anchor="{anchor}" font-size="{size}"{weight}'
    return f'<text x="{x:.1f}" y="{y:.1f}" {style}>{words}</text>'


if __name__ == "__main__":
    main()
