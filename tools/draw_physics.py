"""Draw docs/images/physics.svg: the tip of `double_pendulum`, and the spectrum of the gusts that blow in `buoys`.

Run from the repository: python tools/draw_physics.py [docs/images/physics.svg]
"""

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
from scipy.signal import welch
from svg import FAINT, INK, line, text, write_page

from sim_node.simulation import Simulation
from sim_node.simulation.physics.wind import WindField
from sim_node.world import load

TIP, OTHER, ROD = "#1f77b4", "#d62728", "#333333"
ALONG, UP = "#d62728", "#1f77b4"


def main() -> None:
    path = Path(sys.argv[1] if len(sys.argv) > 1 else "docs/images/physics.svg")
    body = "\n".join([*pendulum(40, 440), *gusts(580, 950)])
    write_page(path, "The path of a double pendulum, and the spectrum of simulated gusts", body)


def pendulum(left, right):
    """Two double pendulums, one let go a thousandth of a radian higher: their tips, seen from the side."""
    world = load("double_pendulum")
    nudged = replace(world.bodies[0], q=world.bodies[0].q + 1e-3)
    runs = [tips(world), tips(replace(world, bodies=(nudged, *world.bodies[1:])))]
    points = np.concatenate([run[0] for run in runs])
    pivot = runs[0][1][0]
    reach = np.abs(points - pivot).max() * 1.02
    scale = (right - left) / 2 / reach

    def screen(at):
        return np.column_stack(
            [(left + right) / 2 + scale * (at[:, 0] - pivot[0]), 222 - scale * (at[:, 1] - pivot[1])]
        )

    yield text(left, 34, "double_pendulum, let go twice, 1 mrad apart", bold=True)
    for (path, joints), colour in zip(runs, (OTHER, TIP), strict=True):
        yield line(screen(path), colour, 1.2)
        yield line(screen(joints), ROD, 3)
        yield from (f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5" fill="{colour}"/>' for x, y in screen(joints)[1:])


def tips(world):
    """Where the tip was (T, 2) in twelve seconds, and the joints at their end (3, 2): across, up."""
    simulation = Simulation(world)
    frames = simulation.frames
    rows = [frames.index(name) for name in ("upper", "lower", "tip")]
    found = np.array([frames.in_root(simulation.seek(t * 10_000_000).poses)[rows, :3] for t in range(1200)])
    across = int(np.argmax(np.ptp(found[:, 2, :2], axis=0)))
    return found[:, 2][:, [across, 2]], found[-1][:, [across, 2]]


def gusts(left, right):
    """The spectra of two hours of gusts, and Dryden's."""
    top, bottom, dt = 60.0, 350.0, 0.05
    wind = load("buoys").wind
    air = WindField(wind, dt)
    speeds = np.empty((144_000, 3))
    for row in speeds:
        row[:] = air.current
        air.advance()
    direction = wind.velocity / np.linalg.norm(wind.velocity)
    low_x, high_x, low_y, high_y = -2.5, 0.5, -3.5, 2.0

    def screen(frequency, density):
        x = left + (np.log10(frequency) - low_x) / (high_x - low_x) * (right - left)
        y = bottom - (np.log10(density) - low_y) / (high_y - low_y) * (bottom - top)
        return np.column_stack([x, y])

    yield text(left, 34, "two hours of gusts: spectrum", bold=True)
    for power in range(-3, 3):
        yield line(screen(np.array([10**low_x, 10**high_x]), np.full(2, 10.0**power)), FAINT, 0.8)
        yield text(
            left - 8, screen(np.array([1.0]), np.array([10.0**power]))[0, 1] + 4, f"{10.0**power:g}", anchor="end"
        )
    for power in range(-2, 1):
        ends = screen(np.full(2, 10.0**power), np.array([10**low_y, 10**high_y]))
        yield line(ends, FAINT, 0.8)
        yield text(ends[0, 0], bottom + 18, f"{10.0**power:g}", anchor="middle")
    yield text(right, bottom + 36, "Hz", anchor="end")
    yield text(left - 52, top - 8, "m²/s² per Hz")
    for axis, series, colour in ((0, (speeds - wind.velocity) @ direction, ALONG), (2, speeds[:, 2], UP)):
        frequency, density = welch(series, 1 / dt, nperseg=8192, detrend=False)
        shown = (frequency > 10**low_x) & (frequency < 10**high_x)
        yield line(screen(frequency[shown], density[shown]), colour, 1.2)
        time = wind.gusts.scale_length[axis] / wind.gusts.speed
        squared = (2 * np.pi * frequency[shown] * time) ** 2
        shape = 1 / (1 + squared) if axis == 0 else 0.5 * (1 + 3 * squared) / (1 + squared) ** 2
        yield line(screen(frequency[shown], 4 * time * wind.gusts.intensity[axis] ** 2 * shape), INK, 1.6, "6 4")
    yield text(left, 400, "along the wind", ALONG)
    yield text(left + 120, 400, "upwards", UP)
    yield text(left + 200, 400, "Dryden")


if __name__ == "__main__":
    main()
