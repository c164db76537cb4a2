"""Samples a Scenic program several times and runs each scene: python scenic_runs.py PROGRAM COUNT."""

import json
import random
import sys

import scenic

random.seed(7)
scenario = scenic.scenarioFromFile(sys.argv[1], mode2D=False)
simulator = scenario.getSimulator()
runs = []
for _ in range(int(sys.argv[2])):
    scene, _ = scenario.generate()
    simulation = simulator.simulate(scene, maxSteps=50, timestep=0.1)
    records = simulation.result.records
    runs.append(
        {
            "height": records["height"],
            "x": records["x"][0][1],
            "yaw": records["yaw"],
            "verdict": simulation.verdict,
        }
    )
print(json.dumps(runs))
