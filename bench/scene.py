"""Sensors that perceive the scene, in the world `lidar_room`: rays beside MuJoCo's own, pictures beside none.

Run from the repository: python -m bench.scene [--out bench/results/scene.json]

A cloud of 64 x 1024 points from ray to message, beside a bare mj_multiRay of as many; the steps of a run whose cameras
draw beside it without being waited for, beside the same run without cameras; and pictures that are waited for. At last
both together: the world `warehouse` with a lidar of 64 rings at 10 Hz and a camera of 640 x 480 at 30 Hz, of real time.
Exit code 1 below that.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from dataclasses import replace
from pathlib import Path

import mujoco
import numpy as np

from bench.pairs import Pairs, figure
from sim_node.messages.sensor_topics import writer
from sim_node.simulation import Simulation
from sim_node.simulation.physics import RigidBodyEngine
from sim_node.simulation.sensors import Lidar3d
from sim_node.world import Sensor, World, load

RINGS, SAMPLES = 64, 1024
ROUNDS, REAL_TIME = 10, 1.0
SHOWN = np.array([1, 1, 1, 0, 0, 0], dtype=np.uint8)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--out", type=Path, default=Path("bench/results/scene.json"))
    arguments = parser.parse_args()
    pairs = Pairs()
    room = load("lidar_room")
    clouds(pairs, room)
    pictures(pairs, room)
    held = warehouse(pairs)
    pairs.save(arguments.out)
    return 0 if held else 1


def clouds(pairs: Pairs, room: World) -> None:
    (lidar,) = (sensor for sensor in room.sensors if sensor.name == "cart/LIDAR_TOP")
    dense = {"rings": RINGS, "samples": SAMPLES, "rate": 1.0 / (room.time.step_ns * 1e-9)}
    simulation = Simulation(replace(room, sensors=(replace(lidar, parameters=dense),)))
    engine = next(engine for engine in simulation.engines.values() if isinstance(engine, RigidBodyEngine))
    scanner = Lidar3d(rings=RINGS, samples=SAMPLES)
    [message] = scanner.messages(lidar.name, room.fixed_frame)
    write = writer(message, scanner.shape(), lidar.name)

    def reported() -> bytes:
        simulation.step()
        return write(simulation.time_ns, simulation.present().measurements[lidar.name].values[0])

    rays = RINGS * SAMPLES
    fan = scanner.fan().ravel()
    hits, distances = np.empty(rays, np.int32), np.empty(rays)
    at = simulation.frames.lookup(simulation.snapshot().poses, room.fixed_frame, lidar.name)[:3]
    body = engine.model.body("cart/base_link").id

    def bare() -> None:
        model, data = engine.model, engine.data
        mujoco.mj_multiRay(model, data, at, fan, SHOWN, 1, body, hits, distances, None, rays, 100.0)

    pairs.measure(f"cloud of {RINGS} x {SAMPLES}", reported, {"mj_multiRay": bare})


def pictures(pairs: Pairs, room: World) -> None:
    blind = Simulation(replace(room, sensors=()))
    cameras = tuple(sensor for sensor in room.sensors if sensor.type == "camera")
    seeing = Simulation(replace(room, sensors=cameras))
    if not seeing.snapshot().measurements[cameras[0].name].values.size:
        return

    def beside() -> None:
        for _ in range(100):
            seeing.step(wait=False)

    def alone() -> None:
        for _ in range(100):
            blind.step()

    pairs.measure("1 s of steps, cameras not waited for", beside, {"no cameras": alone})
    one = Sensor("CAM", room.fixed_frame, cameras[-1].pose, type="camera", parameters={"rate": 100.0})
    waiting = Simulation(replace(room, sensors=(one,)))
    pairs.measure("640 x 480 picture, waited for", waiting.step, {"no camera": blind.step})


def warehouse(pairs: Pairs) -> bool:
    world = load("warehouse")
    mountings = {sensor.name: sensor for sensor in world.sensors}
    lidar = replace(
        mountings["amr1/LIDAR"], type="lidar_3d", parameters={"rings": RINGS, "samples": SAMPLES, "rate": 10.0}
    )
    camera = replace(mountings["amr1/CAMERA"], type="camera", parameters={"width": 640, "height": 480, "rate": 30.0})
    simulation = Simulation(replace(world, sensors=(lidar, camera)))
    if not simulation.snapshot().measurements[camera.name].values.size:
        return True
    factors = []
    for _ in range(ROUNDS):
        began = time.monotonic()
        simulation.run(1.0)
        factors.append(1.0 / (time.monotonic() - began))
    factor = statistics.median(factors)
    name = "warehouse, lidar of 64 rings and camera"
    pairs.rows.append({"name": name, "real time factor": factor, "target": REAL_TIME, "ratio": None})
    return figure(name, factor, "times real time", target=REAL_TIME)


if __name__ == "__main__":
    sys.exit(main())
