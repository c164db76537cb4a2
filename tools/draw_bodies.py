"""Draws how a world's bodies move, as SVG: python tools/draw_bodies.py WORLD T0 T1 FRAME out.svg.

Each frame is tied to its parent, unless that is the fixed frame, and each shape is a stroke along its longest side, at
six instants, the last one in ink and colour; FRAME leaves its path.
"""

from __future__ import annotations

import sys

import numpy as np
from draw_world import FAINT, HEIGHT, INK, PATH, TIE, WIDTH, fitted, grid, line, text, triad

from sim_node.simulation import Simulation
from sim_node.spatial.geometry import poses
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.world import Geometry, load

INSTANTS, SAMPLES = 6, 240
# The axis that shapes lie along, and which of their sizes that is.
ALONG = {"box": (0, 0), "sphere": (2, 0), "cylinder": (2, 1), "capsule": (2, 1)}
BOX = (0, 0, WIDTH, HEIGHT)


def main(world_name: str, begin: float, end: float, frame: str, out: str) -> None:
    """Writes the picture."""
    simulation = Simulation(load(world_name), sensors=False)
    frames = simulation.frames
    times = np.linspace(begin, end, SAMPLES)
    history = np.stack([frames.in_root(simulation.seek(round(t * 1e9)).poses) for t in times])
    shown = history[:, :, :3].reshape(-1, 3)
    ground = grid(shown)
    place = fitted(shown, BOX)
    follow = frames.index(frame)
    strokes = [
        (frames.index(body.name), stroke_of(shape), colour_of(shape))
        for body in simulation.world.bodies
        for shape in body.geometry
        if shape.shape in ALONG
    ]
    parts = [line(place(segment), FAINT, 1) for segment in ground]
    for instant in np.linspace(0, SAMPLES - 1, INSTANTS).astype(int):
        last = instant == SAMPLES - 1
        for row in np.flatnonzero(frames.parents > 0):
            ends = place(history[instant, [int(frames.parents[row]), row], :3])
            parts.append(line(ends, INK if last else TIE, 2 if last else 1))
        for row, stroke, colour in strokes:
            ends = place(poses.apply(history[instant, row], stroke))
            parts.append(line(ends, colour if last else FAINT, 6 if last else 3))
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in place(history[:, follow, :3]))
    parts.append(f'<polyline points="{path}" fill="none" stroke="{PATH}" stroke-width="2"/>')
    size = 0.04 * float(np.ptp(shown, axis=0).max())
    for row in range(len(frames)):
        parts += triad(history[-1, row], place, size)
    parts += [text(place(history[-1, row, :3]) + (10, 14), frames.names[row]) for row in (0, follow)]
    with open(out, "w", encoding="utf-8") as file:
        file.write(
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" '
            f'font-family="Inter, Helvetica, Arial, sans-serif" font-size="13">\n'
            f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>\n' + "\n".join(parts) + "\n</svg>\n"
        )


def stroke_of(shape: Geometry) -> FloatArray:
    """The ends (2, 3) of a shape along its longest side, in its body."""
    half = np.zeros(3)
    axis, size = (
        ALONG[shape.shape] if shape.shape != "box" else (int(np.argmax(shape.size)), int(np.argmax(shape.size)))
    )
    half[axis] = shape.size[size] / 2
    return poses.apply(shape.pose, np.stack([-half, half]))


def colour_of(shape: Geometry) -> str:
    """As SVG says it."""
    rgba = (0.6, 0.6, 0.65) if shape.colour is None else shape.colour[:3]
    return "#" + "".join(f"{round(255 * float(part)):02x}" for part in rgba)


if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]), float(sys.argv[3]), sys.argv[4], sys.argv[5])
