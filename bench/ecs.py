"""Worlds in Python beside the same step written by hand in plain JAX, and beside Elodin where it is installed.

Run from the repository: python -m bench.ecs [--out bench/results/ecs.json]

A falling body, three bodies that attract each other, a thousand and ten thousand that fall; ticks alone, ticks that are
all kept, and ticks with callbacks that read and write two components. Set ELODIN_PYTHON to the interpreter of an
environment with Elodin 0.16.2 (elodin==0.16.2 iree-base-compiler==3.10.0 jax==0.9.0.1) to see its `Exec.run` and
`World.run`, too. Exit code 1 where a ratio is below its target.
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import jax
import jax.numpy as jnp
import numpy as np

import sim_node.extensions.elodin as el
from bench.ecs_by_hand import State, attract, fall, tick
from bench.pairs import Pairs, aim
from sim_node.extensions.elodin.live import Live
from sim_node.extensions.elodin.step_context import StepContext, Stepper

STEP = 1 / 240
# Ticks of one call, by bodies: about 20 to 50 ms.
TICKS = {1: 20_000, 3: 15_000, 1000: 200, 10_000: 20}
Pull = Annotated[el.Edge, el.Component("pull")]


@el.map
def weight(f: el.Force, i: el.Inertia) -> el.Force:
    return f + el.SpatialForce(linear=i.mass() * jnp.array([0.0, 0.0, -9.81]))


@el.system
def attraction(graph: el.GraphQuery[Pull], q: el.Query[el.WorldPos, el.Inertia]) -> el.Query[el.Force]:
    def one(force: el.Force, a: el.WorldPos, ai: el.Inertia, b: el.WorldPos, bi: el.Inertia) -> el.Force:
        r = b.linear() - a.linear()
        return force + el.SpatialForce(linear=ai.mass() * bi.mass() * r / jnp.linalg.norm(r) ** 3)

    return graph.edge_fold(q, q, el.Force, el.SpatialForce(), one)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--out", type=Path, default=Path("bench/results/ecs.json"))
    arguments = parser.parse_args()
    pairs = Pairs()
    # Elodin's process keeps a core busy, so that nothing else is measured while it lives.
    for bodies in TICKS:
        ticks_alone(pairs, bodies)
    for bodies in (1, 1000):
        kept(pairs, bodies)
    callbacks(pairs)
    with elodin() as theirs:
        for bodies in (1, 3):
            ticks_beside(pairs, bodies, theirs)
    world_run(pairs)
    first_tick(pairs)
    pairs.save(arguments.out)
    return 1 if pairs.missed else 0


def live(bodies: int) -> Live:
    """Bodies at places and speeds of their own; three attract each other."""
    world = el.World()
    rng = np.random.default_rng(bodies)
    for place, speed in zip(rng.normal(size=(bodies, 3)), rng.normal(size=(bodies, 6)), strict=True):
        world.spawn(
            el.Body(
                world_pos=el.SpatialTransform(linear=place),
                world_vel=el.SpatialMotion(speed[:3], 0.1 * speed[3:]),
                inertia=el.SpatialInertia(1.0, np.array([1.0, 2.0, 3.0])),
            )
        )
    if bodies == 3:
        for left in (1, 2, 3):
            for right in {1, 2, 3} - {left}:
                world.spawn(el.C(Pull, el.Edge(left, right)))
    system = attraction if bodies == 3 else weight
    return Live(world.program(el.six_dof(sys=system), STEP))


def by_hand(running: Live, ticks: int, keep: bool) -> Any:
    """The same start and ticks in plain JAX. It starts from where it was, as the other does."""
    forces = attract if len(running.get("world_pos")) == 3 else fall
    inertia = jnp.asarray(running.get("inertia"))

    def ticks_of(state: State, inertia: Any, step: Any) -> Any:
        def one(now: State, _: None) -> tuple[State, Any]:
            after = tick(now, inertia, step, forces)
            return after, after if keep else None

        return jax.lax.scan(one, state, None, length=ticks)

    run = jax.jit(ticks_of)
    state = [jnp.asarray(running.get(name)) for name in ("world_pos", "world_vel", "world_accel", "force", "tick")]

    def again() -> None:
        nonlocal state
        state, _ = run(tuple(state), inertia, STEP)
        jax.block_until_ready(state)

    return again


def ticks_alone(pairs: Pairs, bodies: int) -> None:
    running, ticks = live(bodies), TICKS[bodies]

    def ours() -> None:
        running.advance(ticks)
        running.block()

    pairs.measure(
        f"{ticks} ticks, {bodies} bodies", ours, {"plain JAX": by_hand(running, ticks, keep=False)}, target=0.8
    )


def ticks_beside(pairs: Pairs, bodies: int, theirs: Any) -> None:
    """Beside Elodin's Exec, whose process is there all the time."""
    if theirs is None:
        return
    running, ticks = live(bodies), TICKS[bodies]
    few = ticks // 100

    def ours() -> None:
        running.advance(ticks)
        running.block()

    theirs(f"prepare {bodies}")
    units = {"ours": ticks, "Elodin": few}
    pairs.measure(f"a tick, {bodies} bodies", ours, {"Elodin": lambda: theirs(f"exec {few}")}, units=units)


def kept(pairs: Pairs, bodies: int) -> None:
    """All components of each tick, as NumPy arrays."""
    running = live(bodies)
    ticks = running.program.chunk
    hand = by_hand(running, ticks, keep=True)
    pairs.measure(f"{ticks} ticks kept, {bodies} bodies", lambda: running.record(ticks), {"plain JAX": hand})


def callbacks(pairs: Pairs) -> None:
    """A pre_step and a post_step that read and write two components each, beside plain jitted calls."""

    def pre(_: int, context: StepContext) -> None:
        position = context.read_component("entity_1.world_pos")
        velocity = context.read_component("entity_1.world_vel")
        velocity[3] = 0.5 * position[4]
        context.write_component("entity_1.world_vel", velocity)
        context.write_component("entity_1.world_pos", position)

    def post(_: int, context: StepContext) -> None:
        names = ["entity_1.world_pos", "entity_1.world_vel"]
        values = context.component_batch_operation(reads=names)
        context.component_batch_operation(writes=values)

    running = live(1)
    stepper = Stepper(running, pre, post)
    step = jax.jit(partial(tick, forces=fall))
    inertia = jnp.asarray(running.get("inertia"))
    state: Any = tuple(
        jnp.asarray(running.get(name)) for name in ("world_pos", "world_vel", "world_accel", "force", "tick")
    )

    def plain() -> None:
        nonlocal state
        state = step(state, inertia, STEP)

    pairs.measure("a tick with callbacks", stepper.step, {"plain jitted call": plain}, target=0.4)


def world_run(pairs: Pairs) -> None:
    """World.run, which records: its time between ticks, without the time to compile. Elodin's is stated by itself."""
    for bodies, factor in ((1, 3.0), (1000, 50.0)):
        running = live(bodies)
        ticks = min(TICKS[bodies], running.program.chunk)
        running.advance(1)

        def ours(running: Live = running, ticks: int = ticks) -> float:
            began = time.perf_counter()
            running.advance(ticks)
            running.block()
            return (time.perf_counter() - began) / ticks

        rounds = []
        for _ in range(3):
            mine = ours()
            # A process each: a second World.run in one finds its port in use.
            with elodin() as fresh:
                if fresh is None:
                    return
                rounds.append((mine, float(fresh(f"world {bodies} {1000 if bodies == 1 else 20}"))))
        mine, other = (statistics.median(each) for each in zip(*rounds, strict=True))
        ratio = statistics.median(b / a for a, b in rounds)
        name = f"a tick beside World.run, {bodies} bodies"
        print(f"{name:<34} {mine * 1e6:.3g} us   Elodin {other * 1e6:.3g} us   ratio {ratio:.3g}x", flush=True)
        seconds = {"ours": mine, "Elodin": other}
        pairs.rows.append({"name": name, "seconds": seconds, "fastest": "Elodin", "ratio": ratio, "target": factor})


FIRST_TICK = """
import sim_node.extensions.elodin as el
import jax.numpy as jnp
@el.map
def weight(f: el.Force, i: el.Inertia) -> el.Force:
    return f + el.SpatialForce(linear=i.mass() * jnp.array([0.0, 0.0, -9.81]))
world = el.World()
world.spawn(el.Body(), name="ball")
world.run(el.six_dof(1 / 240, weight), sim_time_step=1 / 240, max_ticks=1, interactive=False)
import time
print(time.time())
"""


def first_tick(pairs: Pairs) -> None:
    """A process, from `python` to the end of its first tick: with an empty cache of compiled steps, and a warm one.

    The limits are 2 s and 1 s; the ratio is the limit over the time.
    """
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "ball.py"
        file.write_text(FIRST_TICK, encoding="utf-8")
        for name, limit, rounds in (("cold", 2.0, 3), ("warm", 1.0, 5)):
            times = []
            for at in range(rounds):
                cache = Path(folder) / (f"cache{at}" if name == "cold" else "cache0")
                environment = {**os.environ, "JAX_COMPILATION_CACHE_DIR": str(cache)}
                began = time.time()
                ended = subprocess.check_output([sys.executable, file], env=environment, cwd=Path(__file__).parents[1])
                times.append(float(ended) - began)
            taken = statistics.median(times)
            print(f"{f'first tick, {name}':<34} {taken:.3g} s{aim(f'limit {limit:.3g} s', taken <= limit)}", flush=True)
            row = {"name": f"first tick, {name}", "seconds": {"ours": taken}, "ratio": limit / taken, "target": 1.0}
            pairs.rows.append(row)


# Runs in Elodin's own interpreter: a line in, a line out.
ELODIN = """
import json, sys, time
answers = sys.stdout
sys.stdout = sys.stderr
sys.argv = [sys.argv[0], "run", sys.argv[1]]
import elodin as el, jax, jax.numpy as jnp, numpy as np, typing
Pull = typing.Annotated[el.Edge, el.Component("pull", el.ComponentType.Edge)]
@el.dataclass
class Pulls(el.Archetype):
    pull: Pull
@el.map
def weight(f: el.Force, i: el.Inertia) -> el.Force:
    return f + el.SpatialForce(linear=i.mass() * jnp.array([0.0, 0.0, -9.81]))
@el.system
def attraction(graph: el.GraphQuery[Pull], q: el.Query[el.WorldPos, el.Inertia]) -> el.Query[el.Force]:
    def one(force, a, ai, b, bi):
        r = b.linear() - a.linear()
        return force + el.SpatialForce(linear=ai.mass() * bi.mass() * r / jnp.linalg.norm(r) ** 3)
    return graph.edge_fold(q, q, el.Force, el.SpatialForce(), one)
def world(n):
    w = el.World()
    rng = np.random.default_rng(n)
    ids = [
        w.spawn(
            el.Body(
                world_pos=el.SpatialTransform(linear=jnp.array(p)),
                world_vel=el.SpatialMotion(angular=jnp.array(v[:3]), linear=jnp.array(0.1 * v[3:])),
                inertia=el.SpatialInertia(1.0, jnp.array([1.0, 2.0, 3.0])),
            ),
            name=f"b{k}",
        )
        for k, (p, v) in enumerate(zip(rng.normal(size=(n, 3)), rng.normal(size=(n, 6))))
    ]
    if n == 3:
        for a in range(3):
            for b in range(3):
                if a != b:
                    w.spawn(Pulls(Pull(ids[a], ids[b])), name=f"e{a}{b}")
    return w, el.six_dof(sys=attraction if n == 3 else weight)
for line in sys.stdin:
    what, *numbers = line.split()
    numbers = [int(each) for each in numbers]
    answer = None
    if what == "prepare":
        w, s = world(numbers[0])
        # A call starts at the time of day, and must not end after it: the next one would be in the past.
        run = w.build(s, 1e-6, backend="jax-cpu")
        run.run(2, show_progress=False)
    elif what == "exec":
        run.run(numbers[0], show_progress=False)
    else:
        n, ticks = numbers
        w, s = world(n)
        times = []
        def post(tick, ctx):
            if tick in (1, ticks - 1):
                times.append(time.perf_counter())
        w.run(s, 1 / 240, max_ticks=ticks, post_step=post, interactive=False, backend="jax-cpu", log_level="error")
        answer = (times[1] - times[0]) / (ticks - 2)
    answers.write(json.dumps(answer) + "\\n")
    answers.flush()
"""


def free_port() -> int:
    """A port of the loopback that nothing listens on."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


@contextmanager
def elodin() -> Iterator[Any]:
    """A function that lets Elodin's interpreter run something and returns its answer; None where there is none."""
    interpreter = os.environ.get("ELODIN_PYTHON")
    if not interpreter:
        print("ELODIN_PYTHON is not set: no rows of Elodin", flush=True)
        yield None
        return
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    with (
        tempfile.TemporaryDirectory() as folder,
        open(Path(folder) / "log", "w", encoding="utf-8") as log,
        subprocess.Popen(
            [interpreter, "-c", ELODIN, f"127.0.0.1:{free_port()}"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            cwd=folder,
            env={**environment, "JAX_PLATFORMS": "cpu"},
        ) as process,
    ):
        assert process.stdin is not None
        assert process.stdout is not None
        sent, answers = process.stdin, process.stdout

        def ask(line: str) -> Any:
            sent.write(line + "\n")
            sent.flush()
            while True:
                answer = answers.readline()
                if not answer:
                    said = (Path(folder) / "log").read_text(encoding="utf-8").strip()[-500:]
                    raise RuntimeError(f"Elodin ended while it was asked: {line}\n{said}")
                try:
                    return json.loads(answer)
                except ValueError:
                    continue  # its native code prints, too

        yield ask
        sent.close()


if __name__ == "__main__":
    sys.exit(main())
