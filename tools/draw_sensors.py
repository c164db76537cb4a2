"""Draw docs/images/sensors.svg: what a GPS makes of the flight of `survey`, and the noise of its gyroscope.

Run from the repository: python tools/draw_sensors.py [docs/images/sensors.svg]
"""

import sys
from pathlib import Path

import numpy as np
from svg import FAINT, INK, line, text, write_page

from sim_node.randomness import stream
from sim_node.simulation import Simulation
from sim_node.simulation.sensors import Imu, NoiseBank
from sim_node.spatial.frames import Frame, convert_position
from sim_node.world import load

MARGIN = 64
TRUE, READ, PARTS = "#1f77b4", "#d62728", ("#2ca02c", "#9467bd")


def main() -> None:
    path = Path(sys.argv[1] if len(sys.argv) > 1 else "docs/images/sensors.svg")
    body = "\n".join([*flight(60, 470), *allan(580, 950)])
    write_page(path, "GPS fixes along a flight, and the Allan deviation of a gyroscope", body)


def flight(left, right):
    """The drone's path and its receiver's fixes, seen from above."""
    world = load("survey")
    simulation = Simulation(world)
    simulation.run(66.0)
    measurements = simulation.snapshot().measurements
    path = measurements["drone/TRUTH"].values[:, :2]
    origin = (world.origin.latitude, world.origin.longitude, world.origin.altitude)
    fixes = convert_position(measurements["drone/GPS_MAIN"].values[:, :3], Frame.LLA, Frame.ENU, origin)[:, :2]
    scale = (right - left) / 116.0

    def screen(points):
        return np.column_stack([left + scale * (points[:, 0] + 16.0), 300.0 - scale * (points[:, 1] + 8.0)])

    yield text(left, 40, "the world survey: true path and GPS fixes", bold=True)
    yield line(screen(path), TRUE, 2.2)
    yield from (f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2" fill="{READ}"/>' for x, y in screen(fixes))
    bar = screen(np.array([[0.0, -20.0], [20.0, -20.0]]))
    yield line(bar, INK, 1.5)
    yield text(bar[1, 0] + 8, bar[1, 1] + 4, "20 m")
    yield text(left, 400, "path", TRUE)
    yield text(left + 50, 400, "fixes, 5 Hz, half of them within 2.5 m", READ)


def allan(left, right):
    """The Allan deviation of ten minutes of the default gyroscope, and of its parts as configured."""
    top, bottom, rate = 60.0, 350.0, 100.0
    noise = Imu().gyroscope
    bank = NoiseBank([((noise, 3),)] * 8, [stream(0, f"imu {i}", "imu") for i in range(8)], rate)
    measurements = bank.record(np.zeros((8, 3)), 60_000).reshape(-1, 24)
    spans = np.unique(np.round(np.logspace(0, 4.2, 40)).astype(int))
    times = spans / rate
    sums = np.concatenate([np.zeros((1, 24)), np.cumsum(measurements, axis=0)])
    found = [np.sqrt(np.mean((sums[2 * n :] - 2 * sums[n:-n] + sums[: -2 * n]) ** 2) / (2 * n * n)) for n in spans]
    memory = noise.correlation_time
    decay = 1 - memory / (2 * times) * (3 - 4 * np.exp(-times / memory) + np.exp(-2 * times / memory))
    white = noise.density / np.sqrt(times)
    bias = noise.bias_instability * np.sqrt(2 * memory / times * np.maximum(decay, 0.0))
    low, high = np.log10(1e-6), np.log10(3e-3)

    def screen(values):
        x = left + (np.log10(times) + 2.0) / 4.3 * (right - left)
        y = bottom - (np.log10(np.maximum(values, 1e-30)) - low) / (high - low) * (bottom - top)
        return np.column_stack([x, y])[np.asarray(values) > 1e-6]

    yield text(left, 40, "ten minutes of its gyroscope: Allan deviation", bold=True)
    for power in range(-6, -2):
        y = bottom - (power - low) / (high - low) * (bottom - top)
        yield line(np.array([[left, y], [right, y]]), FAINT, 0.8)
        yield text(left - 8, y + 4, f"1e{power}", anchor="end")
    for power in range(-2, 3):
        x = left + (power + 2.0) / 4.3 * (right - left)
        yield line(np.array([[x, top], [x, bottom]]), FAINT, 0.8)
        yield text(x, bottom + 18, f"{10.0**power:g}", anchor="middle")
    yield text(right, bottom + 36, "s", anchor="end")
    yield text(left - 52, top + 4, "rad/s")
    yield line(screen(white), PARTS[0], 1.6, "6 4")
    yield line(screen(bias), PARTS[1], 1.6, "6 4")
    yield line(screen(np.array(found)), READ, 2.4)
    yield text(left, 400, "simulated", READ)
    yield text(left + 84, 400, "density", PARTS[0])
    yield text(left + 150, 400, "bias_instability", PARTS[1])


if __name__ == "__main__":
    main()
