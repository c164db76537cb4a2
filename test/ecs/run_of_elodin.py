"""Runs an example of Elodin for a number of ticks, with Elodin or with this package, and saves what it computed.

    run_of_elodin.py MODULE EXAMPLE TICKS OUT [STATES]

MODULE is `elodin`, or what the example's import lines name in its place. OUT has each component, (ticks + 1, n, ...),
with the entities in the order of spawning. With STATES, the OUT of another run, it also has as `one/COMPONENT` what one
tick makes of each of those states.
"""

import os
import sys
import types
from contextlib import suppress

import numpy as np

MODULE, EXAMPLE, TICKS, OUT = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4]
STATES = sys.argv[5] if len(sys.argv) > 5 else None
# Seconds of the flight that rocket-barrowman computes before it makes a world: its ticks show no more.
FLIGHT = 11.0


class Done(BaseException):
    """The example has made its world."""


def saved(self, system, sim_time_step=1 / 120, *rest, **more):
    """In the place of World.run and World.to_jax."""
    entities = sorted(self.discover_components()["entities"], key=lambda each: each["id"])
    entities = [each for each in entities if each["name"].lower() != "globals"]
    theirs = MODULE == "elodin"
    execution = self.build(system, sim_time_step, **({"backend": "jax-cpu"} if theirs else {}))
    execution.run(TICKS)
    found = {}
    for entity in entities:
        for component in sorted(entity["components"]):
            name = f"{entity['name']}.{component}"
            found.setdefault(component, []).append(numbers(execution.history(name)[name]))
    found = {component: np.stack(rows, axis=1) for component, rows in found.items()}
    if STATES is not None:
        program = self.program(system, sim_time_step)
        for component, values in after_one_tick(program, np.load(STATES)).items():
            found["one/" + component] = values
    np.savez(OUT, **found)
    raise Done


def numbers(series):
    return np.array(series.to_list())


def after_one_tick(program, states):
    """What a tick makes of states (T, n, ...): all at once."""
    import jax

    before = {}
    for name, start in program.start.items():
        given = np.repeat(start[None], TICKS, axis=0)
        if name == "tick":
            given = np.arange(float(TICKS)).reshape(given.shape)
        elif name in states and name not in program.structure.edges:
            given = states[name][:-1].reshape(given.shape).astype(start.dtype)
        before[name] = given
    after = jax.jit(jax.vmap(program.step))(before)
    return {name: np.asarray(after[name]).reshape(states[name][1:].shape) for name in program.start if name in states}


sys.argv = [EXAMPLE, "run"]
sys.path.insert(0, os.path.dirname(EXAMPLE))
with open(EXAMPLE, encoding="utf-8") as file:
    source = file.read()
module = types.ModuleType("__main__")
module.__dict__["__file__"] = EXAMPLE
sys.modules["__main__"] = module
el = __import__(MODULE, fromlist=["World"])
el.World.run = el.World.to_jax = saved
if os.path.basename(os.path.dirname(EXAMPLE)) == "rocket-barrowman":
    from core import FlightSolver

    solve = FlightSolver.run
    FlightSolver.run = lambda solver, max_time: solve(solver, max_time=FLIGHT)
with suppress(Done):
    exec(compile(source, EXAMPLE, "exec"), module.__dict__)
