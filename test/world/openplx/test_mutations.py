"""Mutated models: each loads or gives located errors; never a traceback, never for long."""

from __future__ import annotations

import random
import re
import time
import warnings
from pathlib import Path
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sim_node.world import World, WorldError, load

ROOT = Path(__file__).parents[3]
SEEDS = [
    (Path(__file__).parent / "models" / "snap_parent.openplx").read_text(encoding="utf-8"),
    (ROOT / "config" / "worlds" / "clock.openplx").read_text(encoding="utf-8"),
    '''\
import @"part.openplx" as Part
LIMIT is Real: 2 * Math.PI
const Modes:
    fast is Int: 2
trait Heavy:
    .doc: """heavy"""
    inertia.mass: 1e3
Body is Physics3D.Bodies.RigidBody:
    with Heavy
    optional other is Body reference
    ball is Physics3D.Geometries.Sphere with Elsewhere.Shiny:
        radius: [0.1, 0.2][Modes.fast - 1]
    pin is Physics3D.Interactions.MateConnector:
        normal: {0, 1, 0}
    static fn make(a: Real, b: Real[]) -> Body
    kinematics:
        local_cm_transform.position: Math.Vec3.from_xyz(1, -2, LIMIT) * 0.5
Rig is Simulation.Environment:
    gravity becomes Simulation.UniformGravitationalField:
        vector.z: -1.62
    a is Body:
        kinematics.local_transform.rotation: Math.Quat.from_euler_angles(0.1, 0.2, 0.3)
    b becomes Body
    held is Physics3D.Interactions.Cylindrical:
        connectors: [a.pin, b.pin]
        initial_angle: -LIMIT / (2 + 1)
    rail is Physics3D.Interactions.Prismatic:
        connectors: [b.pin, Physics3D.Interactions.World]
    handle is Physics3D.Interactions.RedirectedMateConnector:
        redirected_parent: this.a
    engine is DriveTrain.Engine or Physics3D.System
operator *(lhs: Body, rhs: Real) -> Body
''',
]
WORDS = re.compile(r'"""|"|\w+|\s+|[^\w\s]')
PIECES = (
    *(
        "",
        " ",
        "\n",
        "\n    ",
        "\t",
        "    ",
        ":",
        ".",
        ",",
        "[",
        "]",
        "{",
        "}",
        "(",
        ")",
        "[]",
        "=",
        "@",
        "$",
        "#",
        '"',
        '"""',
    ),
    *(
        "is",
        "becomes",
        "with",
        "or",
        "reference",
        "const",
        "trait",
        "optional",
        "static",
        "fn",
        "operator",
        "import",
        "this",
    ),
    *(
        "true",
        "0",
        "-1",
        "1e400",
        "99999999999999999999",
        "0.5",
        "1.",
        "Real",
        "Int",
        "Bool",
        "String",
        "Real[]",
        "Body",
        "Rig",
    ),
    *(
        "Physics3D",
        "Math",
        "Math.Vec3",
        "System",
        "x",
        "position",
        "rotation",
        "a.b.c",
        "World",
        "Math.INF",
        "\0",
        "\u00e9",
        "\ud7ff",
    ),
    *(
        "Math.Vec3.from_xyz(1, 2, 3)",
        "{1, 2, 3}",
        "-",
        "+",
        "*",
        "/",
        "->",
        "\r\n",
        "\r",
        "\\",
        "Physics3D.Interactions.World",
    ),
)
PART = "Wheel:\n    radius is Real: 0.3\n"
# Of computing; each of these files loads in some 15 ms.
SLOWEST_S = 3.0
LOCATED = re.compile(r"[^:]+\.openplx(:\d+:\d+)?: .+")


def mutated(text: str, random: random.Random) -> str:
    words = WORDS.findall(text)
    for _ in range(random.choice((1, 1, 2, 3, 8))):
        at = random.randrange(len(words))
        what = random.randrange(6)
        if what == 0:
            words[at] = random.choice(PIECES)
        elif what == 1:
            words.insert(at, random.choice(PIECES))
        elif what == 2:
            del words[at : at + random.choice((1, 1, 2, 10))]
        elif what == 3:
            other = random.randrange(len(words))
            words[at], words[other] = words[other], words[at]
        elif what == 4:
            words[at] = words[random.randrange(len(words))]
        else:
            end = at + random.randrange(1, 30)
            words[at:at] = words[at:end] * random.choice((1, 2, 20))
        if not words:
            return ""
    return "".join(words)


def loads_or_says_why(path: Path) -> World | None:
    before = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return load(path)
        except WorldError as error:
            for problem in error.problems:
                assert LOCATED.fullmatch(str(problem)), str(problem)
                assert "Traceback" not in str(problem)
            return None
        finally:
            assert time.process_time() - before < SLOWEST_S


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("mutations")
    (folder / "part.openplx").write_text(PART, encoding="utf-8")
    return folder


@pytest.mark.parametrize("seed", SEEDS, ids=["snap_parent", "clock", "rich"])
def test_seeds_load(seed: str, folder: Path) -> None:
    path = folder / "w.openplx"
    path.write_text(seed, encoding="utf-8")
    assert loads_or_says_why(path) is not None


@settings(max_examples=400, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from(SEEDS), st.randoms(use_true_random=False))
def test_mutated_models(folder: Path, seed: str, random: Random) -> None:
    path = folder / "w.openplx"
    path.write_text(mutated(seed, random), encoding="utf-8", newline="")
    loads_or_says_why(path)


@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.sampled_from(PIECES), max_size=60).map("".join))
def test_pieces_in_any_order(folder: Path, text: str) -> None:
    path = folder / "w.openplx"
    path.write_text(text, encoding="utf-8", newline="")
    loads_or_says_why(path)


@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=200))
def test_any_bytes(folder: Path, data: bytes) -> None:
    path = folder / "w.openplx"
    path.write_bytes(data)
    loads_or_says_why(path)
