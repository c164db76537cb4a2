"""Draw docs/images/assembly.svg: the three-level example, assembled in its three ways by sim_node.assembly.

Run from the repository: python tools/draw_assembly.py [docs/images/assembly.svg]
"""

import sys
from pathlib import Path

import numpy as np

from sim_node.assembly import assembly_of
from sim_node.spatial.geometry import poses, quaternions
from sim_node.world import Mate, MateConnector, RigidBody, System, World

WIDTH, HEIGHT = 1000, 300
INK, FAINT, PAPER, SOLVED = "#333333", "#9fb0c0", "#ffffff", "#d62728"
AXIS_COLOURS = ("#d62728", "#2ca02c", "#1f77b4")  # x red, y green, z blue, as RViz has them
ROD = np.array([[x, y, z] for x in (-0.05, 0.05) for y in (-0.05, 0.05) for z in (-0.5, 0.5)])
EDGES = [(i, j) for i in range(8) for j in range(i) if bin(i ^ j).count("1") == 1]
NAMES = ("World", "S1", "S2", "R")


def main() -> None:
    path = Path(sys.argv[1] if len(sys.argv) > 1 else "docs/images/assembly.svg")
    diagonal = np.array([1.0, 1.0, 1.0]) / np.sqrt(3.0)
    from_x = poses.pose(np.zeros(3), shortest_arc(np.array([1.0, 0, 0]), diagonal))
    from_y = poses.pose(np.zeros(3), shortest_arc(np.array([0, 1.0, 0]), diagonal))
    cases = ((from_x, from_y, None), (from_x, None, from_y), (None, from_x, from_y))
    titles = ("R = inv(S1 S2) A inv(M)", "S2 = inv(S1) A inv(R M)", "S1 = A inv(S2 R M)")
    panels = [panel(k, case, title) for k, (case, title) in enumerate(zip(cases, titles, strict=True))]
    path.write_text(
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" '
        f'font-family="DejaVu Sans, Verdana, sans-serif" font-size="14" fill="{INK}" role="img" '
        f'aria-label="A rod assembled in three ways">\n'
        f'<rect width="{WIDTH}" height="{HEIGHT}" rx="8" fill="{PAPER}"/>\n' + "\n".join(panels) + "\n</svg>\n",
        encoding="utf-8",
    )


def panel(k: int, given, title: str) -> str:
    """One way: the frames where they came to stand, an arrow for each local transform, red for the solved one."""
    rod = RigidBody("rod", given[2], connectors=(MateConnector("end", [0, 0, -0.6], [0, 1, 0], [0, 0, 1]),))
    outer = System("outer", given[0], systems=(System("inner", given[1], bodies=(rod,)),))
    here = MateConnector("here", [0.5, 0, 0], [0, 1, 0], [1, 0, 0])
    mate = Mate("lock", "lock", ("outer/inner/rod/end", "here"))
    assembly = assembly_of(World("w", systems=(System("w", systems=(outer,), connectors=(here,), mates=(mate,)),)))
    table = assembly.table
    frames = [
        assembly.in_roots[table.names.index(name)] for name in ("w", "w/outer", "w/outer/inner", "w/outer/inner/rod")
    ]
    solved = [pose is None for pose in given].index(True)

    def screen(points):
        x, y, z = np.moveaxis(np.asarray(points, dtype=float), -1, 0)
        flat = np.stack([0.94 * x - 0.42 * y, -z - 0.30 * y - 0.2 * x], axis=-1)
        return flat * 120.0 + (k * 330.0 + 75.0, 185.0)

    out = [text((k * 330.0 + 165.0, 36.0), title, 15, "middle")]
    corners = screen(poses.apply(frames[3], ROD))
    out += [line(corners[i], corners[j], FAINT, 1.2) for i, j in EDGES]
    end = screen(poses.apply(frames[3], (0, 0, -0.6)))
    out.append(f'<circle cx="{end[0]:.1f}" cy="{end[1]:.1f}" r="5" fill="none" stroke="{INK}" stroke-width="1.5"/>')
    out.append(text(end + (0.0, -14.0), "A", 12, "middle"))
    for i in range(3):
        a, b = screen(frames[i][:3]), screen(frames[i + 1][:3])
        out.append(line(a, b, SOLVED if i == solved else FAINT, 3.0 if i == solved else 1.5))
    seen: list[np.ndarray] = []
    for name, frame in zip(NAMES, frames, strict=True):
        at = screen(frame[:3])
        for axis, colour in zip(np.eye(3), AXIS_COLOURS, strict=True):
            out.append(line(at, screen(poses.apply(frame, 0.3 * axis)), colour, 2.0))
        below = sum(np.linalg.norm(at - other) < 30.0 for other in seen)
        seen.append(at)
        mark = SOLVED if NAMES.index(name) == solved + 1 else INK
        out.append(text(at + (0.0, 52.0 + 16.0 * below), name, 12, "middle", mark))
    return "\n".join(out)


def shortest_arc(a, b):
    across = np.cross(a, b)
    return quaternions.normalise(np.array([*across, 1.0 + a @ b]))


def line(a, b, colour: str, width: float) -> str:
    return (
        f'<line x1="{a[0]:.1f}" y1="{a[1]:.1f}" x2="{b[0]:.1f}" y2="{b[1]:.1f}" stroke="{colour}" '
        f'stroke-width="{width}" stroke-linecap="round"/>'
    )


def text(at, words: str, size: int, anchor: str, colour: str = INK) -> str:
    place = f'x="{at[0]:.1f}" y="{at[1]:.1f}" font-size="{size}" text-anchor="{anchor}"'
    return f'<text {place} fill="{colour}">{words}</text>'


if __name__ == "__main__":
    main()
