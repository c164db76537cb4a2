"""Computes the robustness of formulas over traces with mstlo: JSON in, JSON out. Runs in an environment of its own."""

import json
import sys

import mstlo_python as mstlo

found = []
for asked in json.load(sys.stdin):
    monitor = mstlo.Monitor(mstlo.parse_formula(asked["formula"]), semantics="DelayedQuantitative")
    batch = {name: [(value, float(at)) for at, value in enumerate(values)] for name, values in asked["trace"].items()}
    found.append(monitor.update_batch(batch).verdicts())
json.dump(found, sys.stdout)
