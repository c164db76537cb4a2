"""Mistakes in a world's file: one error each when the world is built, with the file, the line and the nearest name."""

from __future__ import annotations

import runpy
import traceback
from pathlib import Path

import pytest

from sim_node.extensions.elodin.errors import EcsError

PRELUDE = """\
from __future__ import annotations
from dataclasses import dataclass
from typing import Annotated
import jax
import jax.numpy as jnp
import numpy as np
from sim_node.extensions.elodin import standard as el
from sim_node.extensions.elodin.algebra import *
from sim_node.extensions.elodin.quaternion import *
from sim_node.extensions.elodin.archetypes import *
from sim_node.extensions.elodin.components import *
from sim_node.extensions.elodin.layouts import *
from sim_node.extensions.elodin.dynamics import *
from sim_node.extensions.elodin.entities import Entities
from sim_node.extensions.elodin.program import compiled
from sim_node.extensions.elodin.graphs import *
from sim_node.extensions.elodin.queries import *
from sim_node.extensions.elodin.systems import *

Wind = Annotated[jax.Array, Component("wind", ComponentType(PrimitiveType.F64, (3,)))]
Speed = Annotated[jax.Array, Component("speed", ComponentType.F64)]
Count = Annotated[jax.Array, Component("count", ComponentType.U64)]
Link = Annotated[Edge, Component("link")]
world = Entities()
ball = world.spawn([el.Body(), C((Wind, Count), (np.zeros(3), 0))], "ball")
world.spawn(C(Speed, 1.0), "vane")
def build(system):
    return compiled(world, system, 0.1, NewtonEuler())
"""
# Each with the line that is at fault marked by `# <-`, and what the message says.
MISTAKES = {
    "a query that matches nothing": (
        """
        @map
        def push(w: Wind, s: Speed) -> Wind:  # <-
            return w * s
        build(push)
        """,
        "push: no entity has all of wind, speed (wind: ball; speed: vane)",
    ),
    "an unknown component": (
        """
        Wnid = Annotated[jax.Array, Component("wnid", ComponentType(PrimitiveType.F64, (3,)))]
        @map
        def push(f: el.Force, w: Wnid) -> el.Force:  # <-
            return f
        build(push)
        """,
        "push: no entity has the component 'wnid'; did you mean wind?",
    ),
    "an unknown component in the result": (
        """
        Sped = Annotated[jax.Array, Component("sped", ComponentType.F64)]
        @map
        def push(w: Wind) -> Sped:  # <-
            return w[0]
        build(push)
        """,
        "push: no entity has the component 'sped'; did you mean speed?",
    ),
    "a misspelt annotation": (
        """
        @map
        def push(w: Wnd) -> el.Force:  # <-
            return el.Force()
        """,
        "push: the annotation 'Wnd' names nothing; did you mean Wind?",
    ),
    "a misspelt name of a module": (
        """
        @map
        def push(w: Wind) -> el.Forse:  # <-
            return el.Force()
        """,
        "module 'sim_node.extensions.elodin.standard' has no attribute 'Forse'; did you mean Force?",
    ),
    "a misspelt annotation of an archetype": (
        """
        @dataclass
        class Gusts(Archetype):  # <-
            wind: Wimd
        world.spawn(Gusts(np.zeros(3)))
        """,
        "Gusts: the annotation 'Wimd' names nothing; did you mean Wind?",
    ),
    "no return annotation": (
        """
        @map
        def push(w: Wind):  # <-
            return w
        """,
        "push: has no return annotation; it says which components are written",
    ),
    "no annotation of a parameter": (
        """
        @map
        def push(w: Wind, s) -> Wind:  # <-
            return w
        """,
        "push: the parameter 's' has no annotation",
    ),
    "a parameter of any number": (
        """
        @map
        def push(*w: Wind) -> Wind:  # <-
            return w
        """,
        "push: the parameter 'w' is not a positional one",
    ),
    "no component": (
        """
        @map
        def push(w: float) -> Wind:  # <-
            return w
        """,
        "push: float is not a component; write Annotated[jax.Array, Component('name', ComponentType(...))]",
    ),
    "another layout of a component": (
        """
        Wide = Annotated[jax.Array, Component("wind", ComponentType(PrimitiveType.F64, (4,)))]
        @map
        def push(w: Wide) -> Wide:  # <-
            return w
        build(push)
        """,
        "push: 'wind' is float64 of shape (4,) here, and float64 of shape (3,) at rocket.py:",
    ),
    "a shape that does not fit": (
        """
        @map
        def push(w: Wind) -> Wind:  # <-
            return w[:2]
        build(push)
        """,
        "push: wind: has the shape (2,); it needs float64 of shape (3,)",
    ),
    "a number for a spatial class": (
        """
        @map
        def push(f: el.Force) -> el.Force:  # <-
            return 3.0
        build(push)
        """,
        "push: force: has the shape (); it needs float64 of shape (6,)",
    ),
    "another spatial class": (
        """
        @map
        def push(f: el.Force) -> el.Force:  # <-
            return SpatialMotion()
        build(push)
        """,
        "push: force: is a SpatialMotion; it needs a SpatialForce",
    ),
    "a floating-point number for a whole one": (
        """
        @map
        def count(n: Count) -> Count:  # <-
            return n + 0.5
        build(count)
        """,
        "count: count: has numbers of type float64; it needs uint64 of shape ()",
    ),
    "nothing returned": (
        """
        @map
        def push(w: Wind) -> Wind:  # <-
            w + 1
        build(push)
        """,
        "push: wind: has no value; it needs float64 of shape (3,)",
    ),
    "too few returned": (
        """
        @map
        def push(w: Wind, n: Count) -> tuple[Wind, Count]:  # <-
            return w
        build(push)
        """,
        "push: returns 1 value(s); it needs a tuple of 2: wind, count",
    ),
    "a system that returns an array": (
        """
        @system
        def push(q: Query[Wind]) -> Query[Wind]:  # <-
            return q.bufs[0]
        build(push)
        """,
        "push: returned an array; it needs a Query",
    ),
    "a system that returns another query": (
        """
        @system
        def push(q: Query[Wind]) -> Query[Wind]:  # <-
            return q.map(Count, lambda w: 1)
        build(push)
        """,
        "push: returned a query of count; annotated is wind",
    ),
    "a component for a query": (
        """
        @system
        def push(w: Wind) -> Query[Wind]:  # <-
            return w
        """,
        "is not a Query[...] or GraphQuery[...]; or use @map for plain components",
    ),
    "a query for a component": (
        """
        @map
        def push(graph: GraphQuery[Link], w: Wind) -> Wind:  # <-
            return w
        """,
        "push: GraphQuery cannot be used with @map; use @system",
    ),
    "a graph of no edges": (
        """
        @system
        def pull(graph: GraphQuery[Wind], q: Query[Wind]) -> Query[Wind]:  # <-
            return q
        build(pull)
        """,
        "pull: 'wind' is not an edge component",
    ),
    "an edge to nowhere": (
        """
        world.spawn(C(Link, Edge(ball, 77)))  # <-
        build(None)
        """,
        "link: there is no entity 77",
    ),
    "edges of other entities": (
        """
        world.spawn(C(Link, Edge(2, 2)))
        @system
        def pull(graph: GraphQuery[Link], q: Query[Wind]) -> Query[Wind]:  # <-
            return graph.edge_fold(q, q, Wind, np.zeros(3), lambda a, b, c: a)
        build(pull)
        """,
        "pull: no edge connects the entities of the two queries",
    ),
    "a wrong start of a fold": (
        """
        world.spawn(C(Link, Edge(ball, ball)))
        @system
        def pull(graph: GraphQuery[Link], q: Query[Wind]) -> Query[Wind]:  # <-
            return graph.edge_fold(q, q, Wind, 0.0, lambda a, b, c: a)
        build(pull)
        """,
        "pull: init_value: wind: has the shape (); it needs float64 of shape (3,)",
    ),
    "a plain function": (
        """
        def push(w: Wind) -> Wind:  # <-
            return w
        build([push])
        """,
        "push: is a plain function; decorate it with @map or @system",
    ),
    "no system": (
        """
        compiled(world, 3, 0.1, NewtonEuler())  # <-
        """,
        "system: int is not a system",
    ),
    "no step": (
        """
        compiled(world, None, 0, NewtonEuler())  # <-
        """,
        "sim_time_step: 0 is not a number of seconds above zero",
    ),
    "no time step": (
        """
        six_dof(-1.0)  # <-
        """,
        "six_dof: time_step: -1.0 is not a number of seconds above zero",
    ),
    "effectors for a time step": (
        """
        @map
        def push(f: el.Force) -> el.Force:
            return f
        six_dof(push)  # <-
        """,
        "six_dof: time_step comes first; write six_dof(sys=...)",
    ),
    "an effector that moves": (
        """
        @map
        def stop(v: el.WorldVel) -> el.WorldVel:
            return v
        build(six_dof(sys=stop))  # <-
        """,
        "six_dof: an effector writes world_vel, which Rk4 integrates; run it before or after six_dof",
    ),
    "an exception": (
        """
        def lift(v):
            return {"up": v}["down"]  # <-
        @map
        def push(w: Wind) -> Wind:
            return lift(w)
        build(push)
        """,
        "push: KeyError: 'down'",
    ),
    "shapes that do not meet": (
        """
        @map
        def push(w: Wind) -> Wind:
            y = 2 * w
            return y + jnp.zeros(4)  # <-
        build(push)
        """,
        "push: TypeError: add got incompatible shapes for broadcasting: (3,), (4,).",
    ),
    "a branch on a value": (
        """
        @map
        def push(w: Wind) -> Wind:
            if w[0] > 1:  # <-
                return w
            return -w
        build(push)
        """,
        "use jnp.where or jax.lax.cond",
    ),
    "NumPy on a value": (
        """
        @system
        def push(q: Query[Wind]) -> Query[Wind]:
            return q.map(Wind, lambda w: np.linalg.norm(w) * w)  # <-
        build(push)
        """,
        "use jax.numpy",
    ),
    "a range of a value": (
        """
        @map
        def push(w: Wind, n: Count) -> Wind:
            for _ in range(n):  # <-
                w = w + 1
            return w
        build(push)
        """,
        "use jax.lax.fori_loop",
    ),
    "a number of a value": (
        """
        @map_seq
        def push(w: Wind) -> Wind:
            return w * float(w[0])  # <-
        build(push)
        """,
        "compute with the array itself",
    ),
    "a mask of a value": (
        """
        @map
        def push(w: Wind) -> Wind:
            return w[w > 0]  # <-
        build(push)
        """,
        "use jnp.where",
    ),
    "a value that is kept": (
        """
        kept = []
        @map
        def keep(w: Wind) -> Wind:
            kept.append(w)
            return w
        @map
        def push(w: Wind) -> Wind:
            return w + kept[0]  # <-
        build([keep, push])
        """,
        "return it instead of keeping it in a variable",
    ),
    "a function of other arguments": (
        """
        @system
        def push(q: Query[Wind, Count]) -> Query[Wind]:
            return q.map(Wind, lambda w: w)  # <-
        build(push)
        """,
        "push: TypeError: ",
    ),
    "an exception in an effector": (
        """
        @map
        def push(f: el.Force) -> el.Force:
            return f + 1  # <-
        build(six_dof(sys=push))
        """,
        "push: TypeError: unsupported operand type(s) for +: 'SpatialForce' and 'int'",
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake(mistake: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    body, message = MISTAKES[mistake]
    lines = [line[8:] for line in body.strip("\n").splitlines()]
    file = tmp_path / "rocket.py"
    file.write_text(PRELUDE + "\n".join(lines) + "\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(EcsError) as caught:
        runpy.run_path(str(file), run_name="__main__")
    (problem,) = caught.value.problems
    at = PRELUDE.count("\n") + next(n for n, line in enumerate(lines, 1) if "# <-" in line)
    # A function's place is that of its first decorator.
    decorated = lines[next(n for n, line in enumerate(lines) if "# <-" in line) - 1].startswith("@")
    assert str(caught.value).startswith(f"rocket.py:{at - decorated}:1: ") or problem.where.line == at
    assert message in str(caught.value)
    shown = "".join(traceback.format_exception(caught.value))
    assert "site-packages/jax" not in shown
    assert caught.value.__cause__ is None
