"""Draws a world's frames and the paths of what moves as SVG: python tools/draw_world.py WORLD T0 T1 out.svg."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from html import escape

import numpy as np

from sim_node.simulation import Simulation
from sim_node.spatial.geometry import poses
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.world import FrameTable, load

WIDTH, HEIGHT, MARGIN = 1040, 430, 30
SCENE, CLOSE_UP = (0, 0, 600, HEIGHT), (610, 15, 415, HEIGHT - 30)  # left, top, width, height
AZIMUTH, ELEVATION = np.radians(-62), np.radians(32)
AXES = ("#e5484d", "#30a46c", "#3e7bfa")  # x red, y green, z blue, as in rviz
INK, TIE, FAINT, PATH = "#1c2024", "#8b93a1", "#d6dae0", "#f5a524"
Place = Callable[[FloatArray], FloatArray]


def main(world_name: str, begin: float, end: float, out: str) -> None:
    """Writes the picture: the world on the left, the first thing that moves from close by on the right."""
    simulation = Simulation(load(world_name), sensors=False)
    frames = simulation.frames
    times = np.linspace(begin, end, 240)
    history = np.stack([frames.in_root(simulation.seek(round(t * 1e9)).poses) for t in times])
    moving = np.flatnonzero(~frames.static)
    travellers = [row for row in moving if not any(above in moving for above in frames.chain(row)[1:])]
    body = [row for row in range(len(frames)) if travellers[0] in frames.chain(row)]
    with open(out, "w", encoding="utf-8") as file:
        file.write(
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" '
            f'font-family="Inter, Helvetica, Arial, sans-serif" font-size="13">\n'
            f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>\n'
            + "\n".join([*scene(frames, history, travellers), *close_up(frames, history[-1], body)])
            + "\n</svg>\n"
        )


def scene(frames: FrameTable, history: FloatArray, travellers: list[int]) -> Iterator[str]:
    """The paths (T, N, 7) of what moves, over a metre grid, and the frames near the root."""
    now, paths = history[-1], history[:, travellers, :3].reshape(-1, 3)
    ground = grid(paths)
    place = fitted(np.concatenate([paths, ground.reshape(-1, 3)]), SCENE)
    yield from (line(place(segment), FAINT, 1) for segment in ground)
    for row in travellers:
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in place(history[:, row, :3]))
        yield f'<polyline points="{path}" fill="none" stroke="{PATH}" stroke-width="2"/>'
        yield line(place(np.stack([now[row, :3] * (1, 1, 0), now[row, :3]])), TIE, 1, dash="4 4")
        yield line(place(now[[frames.parents[row], row], :3]), TIE, 1, dash="2 3")
    for row in [0, *travellers]:
        yield from triad(now[row], place, 0.9)
        yield text(place(now[row, :3]) + (8, 18), frames.names[row])


def close_up(frames: FrameTable, now: FloatArray, rows: list[int]) -> Iterator[str]:
    """The frames of one body, their names in a column."""
    left, top, width, height = CLOSE_UP
    yield f'<rect x="{left}" y="{top}" width="{width}" height="{height}" rx="8" fill="#f8f9fb" stroke="{FAINT}"/>'
    place = fitted(now[rows, :3], (left, top + 40, width - 190, height - 80))
    at = {row: place(now[row, :3]) for row in rows}
    for row in rows[1:]:
        yield line(np.stack([at[int(frames.parents[row])], at[row]]), TIE, 1, dash="2 3")
    order = sorted(rows, key=lambda row: (at[row][1], -at[row][0]))
    for place_in_column, row in enumerate(order):
        y = top + height / 2 + (place_in_column - (len(order) - 1) / 2) * min(30, (height - 30) / len(order))
        yield line(np.array([at[row], (left + width - 172, y)]), FAINT, 0.8)
        yield text((left + width - 166, y + 4), frames.names[row].rpartition("/")[2])
    for row in rows:
        yield from triad(now[row], place, 0.08 if row == rows[0] else 0.05)


def flat(points: FloatArray) -> FloatArray:
    """Parallel projection of points (..., 3) onto the picture (..., 2), y downwards."""
    ca, sa, ce, se = np.cos(AZIMUTH), np.sin(AZIMUTH), np.cos(ELEVATION), np.sin(ELEVATION)
    x, y, z = np.moveaxis(np.asarray(points, dtype=float), -1, 0)
    return np.stack([-sa * x + ca * y, se * (ca * x + sa * y) - ce * z], axis=-1)


def fitted(points: FloatArray, box: tuple[float, float, float, float]) -> Place:
    """The projection that fits all points into a box (left, top, width, height) of the picture."""
    left, top, width, height = box
    corners = flat(points)
    low, high = corners.min(axis=0), corners.max(axis=0)
    scale = min((width - 2 * MARGIN) / (high[0] - low[0]), (height - 2 * MARGIN) / (high[1] - low[1]))
    offset = np.array([left + width / 2, top + height / 2]) - scale * (low + high) / 2
    return lambda xyz: flat(xyz) * scale + offset


def grid(points: FloatArray) -> FloatArray:
    """A metre grid (L, 2, 3) on the ground below all points."""
    low, high = np.floor(points.min(axis=0)) - 1, np.ceil(points.max(axis=0)) + 1
    across = [[(x, low[1], 0), (x, high[1], 0)] for x in np.arange(low[0], high[0] + 1)]
    along = [[(low[0], y, 0), (high[0], y, 0)] for y in np.arange(low[1], high[1] + 1)]
    return np.array(across + along)


def triad(pose: FloatArray, place: Place, length: float) -> Iterator[str]:
    """A frame's three axes."""
    tips = poses.apply(pose, np.eye(3) * length)
    for tip, colour in zip(tips, AXES, strict=True):
        yield line(place(np.stack([pose[:3], tip])), colour, 2.5)


def line(ends: FloatArray, colour: str, width: float, dash: str = "") -> str:
    """A straight line (2, 2)."""
    (x1, y1), (x2, y2) = ends
    dashed = f' stroke-dasharray="{dash}"' if dash else ""
    return (
        f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" '
        f'stroke="{colour}" stroke-width="{width}" stroke-linecap="round"{dashed}/>'
    )


def text(at: Sequence[float] | FloatArray, words: str) -> str:
    """Words, beginning at a place."""
    return f'<text x="{at[0]:.1f}" y="{at[1]:.1f}" fill="{INK}">{escape(words)}</text>'


if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]), float(sys.argv[3]), sys.argv[4])
