"""Computes the robustness of formulas over traces with RTAMT: JSON in, JSON out. Runs in an environment of its own."""

import json
import sys

import rtamt

found = []
for asked in json.load(sys.stdin):
    specification = rtamt.StlDiscreteTimeOfflineSpecification()
    for name in asked["trace"]:
        specification.declare_var(name, "float")
    specification.spec = asked["formula"]
    specification.parse()
    times = list(range(len(next(iter(asked["trace"].values())))))
    result = specification.evaluate({"time": times, **asked["trace"]})
    found.append([value for _, value in result])
json.dump(found, sys.stdout)
