"""Worlds in Python as programs of their own: scripts written for Elodin, Ctrl-C, pauses, and processes beside them."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from waiting import PATIENCE

import sim_node.extensions.elodin as el
from sim_node.recording.opening import open_bag

# Written for Elodin: only its import line is another one. A drone hovers under a flight controller that is a stub, in
# lockstep, as the examples of the Elodin Python API do it.
HOVER = '''\
import sys
import typing
from dataclasses import field

import elodin as el
import jax
from jax import numpy as jnp
import numpy as np

SIM_TIME_STEP = 1.0 / 200.0
MAX_TICKS = 400

Accel = typing.Annotated[
    jax.Array,
    el.Component("accel", el.ComponentType(el.PrimitiveType.F64, (3,)), metadata={"element_names": "x,y,z"}),
]
MotorCommand = typing.Annotated[
    jax.Array,
    el.Component(
        "motor_command", el.ComponentType(el.PrimitiveType.F64, (4,)), metadata={"external_control": "true"}
    ),
]
Side = el.Annotated[el.Edge, el.Component("side", el.ComponentType.Edge)]


@el.dataclass
class Drone(el.Archetype):
    accel: Accel = field(default_factory=lambda: jnp.zeros(3))
    motor_command: MotorCommand = field(default_factory=lambda: jnp.zeros(4))


@el.dataclass
class SideOf(el.Archetype):
    a: Side

    def __init__(self, a: el.EntityId, b: el.EntityId):
        self.a = Side(a, b)


@el.map
def thrust(f: el.Force, p: el.WorldPos, command: MotorCommand) -> el.Force:
    return f + el.SpatialForce(linear=p.angular() @ jnp.array([0.0, 0.0, 1.0]) * jnp.sum(command))


@el.map
def gravity(f: el.Force, inertia: el.Inertia) -> el.Force:
    return f + el.SpatialForce(linear=jnp.array([0.0, 0.0, -9.81]) * inertia.mass())


@el.system
def measure(q: el.Query[el.WorldAccel]) -> el.Query[Accel]:
    return q.map(Accel, lambda a: a.linear() + jnp.array([0.0, 0.0, 9.81]))


@el.system
def keep_apart(graph: el.GraphQuery[Side], q: el.Query[el.WorldPos]) -> el.Query[el.Force]:
    return graph.edge_fold(q, q, el.Force, el.Force(), lambda f, a, b: f + el.Force(linear=0.0 * a.linear()))


world = el.World()
drone = world.spawn(
    [el.Body(world_pos=el.WorldPos(linear=jnp.array([0.0, 0.0, 2.0])), inertia=el.SpatialInertia(0.5)), Drone()],
    name="drone",
)
base = world.spawn(el.Body(), name="Base Station")
world.spawn(SideOf(drone, base), name="drone -> base")
world.schematic("""
    object_3d drone.world_pos { box x=0.3 y=0.3 z=0.1 }
""", "drone.kdl")
done = []


def post_step(tick: int, ctx: el.StepContext):
    sensors = ctx.component_batch_operation(reads=["drone.accel", "drone.world_pos", "drone.world_vel"])
    height, climb = sensors["drone.world_pos"][6], sensors["drone.world_vel"][5]
    total = 0.5 * (9.81 + 8.0 * (3.0 - height) - 5.0 * climb)
    ctx.write_component("drone.motor_command", np.full(4, total / 4))
    if tick == 0:
        assert ctx.read_component("base_station.world_pos")[6] < 0.0, "it falls"
    if tick % 100 == 0:
        print(tick, round(float(height), 3), flush=True)
    if tick >= MAX_TICKS - 1:
        done.append(float(height))
        ctx.stop_recipes()


sys_ = keep_apart | measure | el.six_dof(sys=gravity | thrust)
world.run(sys_, SIM_TIME_STEP, max_ticks=MAX_TICKS, post_step=post_step, interactive=False, start_timestamp=0,
          default_playback_speed=1.0, log_level="warn")
print("height", done)
'''
HERE = """\
import sim_node.extensions.elodin as el
import sys, time
import jax.numpy as jnp

@el.map
def gravity(f: el.Force) -> el.Force:
    return f + el.SpatialForce(linear=jnp.array([0.0, 0.0, -9.81]))

world = el.World()
world.spawn(el.Body(), "ball")
"""


def started(tmp_path: Path, text: str, *arguments: str, **more: Any) -> subprocess.Popen[str]:
    script = tmp_path / "world.py"
    script.write_text(text)
    command = [sys.executable, str(script), *arguments]
    return subprocess.Popen(
        command,
        cwd=tmp_path,
        env={**os.environ, "ROS_LOG_DIR": str(tmp_path / "log")},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **more,
    )


# Takes seconds: make test has scripts that run, end and fail in test_python_files.py, and programs of recipes in
# test_recipes.py.
@pytest.mark.nightly
def test_a_script_with_a_mistake_prints_its_message_alone(tmp_path: Path) -> None:
    """Frames of the package would hide the line of the script."""
    mistake = "@el.map\ndef wind(f: el.Force) -> el.Force:\n    return f if f.linear()[0] > 0 else f + f\n\n"
    process = started(tmp_path, HERE + mistake + "world.run(el.six_dof(sys=gravity | wind), 0.01)\n", "run")
    output, errors = process.communicate()
    assert (process.returncode, output) == (2, "")
    (line,) = errors.splitlines()
    assert line.startswith("world.py:13:1: wind: ")
    assert "use jnp.where or jax.lax.cond" in line


def test_a_script_for_elodin_runs_with_its_import_line_changed(tmp_path: Path) -> None:
    """The loop is a second-order system of a natural frequency of 8^0.5 rad/s that settles at 3 m."""
    text = HOVER.replace("import elodin as el", "import sim_node.extensions.elodin as el")
    assert len(set(text.splitlines()) ^ set(HOVER.splitlines())) == 2
    process = started(tmp_path, text, "run")
    output, errors = process.communicate()
    assert process.returncode == 0, errors
    lines = output.splitlines()
    assert [line.split()[0] for line in lines] == ["0", "100", "200", "300", "height"]
    assert abs(float(lines[-1].partition("[")[2].rstrip("]")) - 3.0) < 0.02
    assert errors == ""


RUNS = """
def up():
    print("up", flush=True)
    return False

world.run(el.six_dof(sys=gravity), is_canceled=up)
print("as fast as possible", flush=True)
up()
world.run(el.six_dof(sys=gravity))
print("without callbacks", flush=True)
up()
world.run(el.six_dof(sys=gravity), 1 / 2, run_time_step=1000.0)
print("in real time", flush=True)
world.run(el.six_dof(sys=gravity), post_step=lambda tick, ctx: (up(), time.sleep(1000)))
print("in a callback", flush=True)
world.run(el.six_dof(sys=gravity), is_canceled=up, db_path="bag", start_timestamp=0)
print("recorded", flush=True)
"""


# make test has the script of a recording in test_python_files.py.
@pytest.mark.nightly
def test_a_recording_has_the_script_and_the_modules_beside_it(tmp_path: Path) -> None:
    """As Elodin 0.17 keeps the source of a simulation in its database: of its folder, not of Python or of libraries."""
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "__init__.py").write_text("from . import laws\n")
    (tmp_path / "lib" / "laws.py").write_text("G = 9.81\n")
    (tmp_path / "unused.py").write_text("")
    (tmp_path / "main.py").write_text(
        "import numpy, lib, sim_node.extensions.elodin as el\nw = el.World()\nw.spawn(el.Body(), 'a')\n"
        "w.run(el.six_dof(), max_ticks=1, db_path='bag', interactive=False)\n"
    )
    subprocess.run([sys.executable, "main.py"], cwd=tmp_path, check=True, timeout=PATIENCE)
    with open_bag(tmp_path / "bag") as bag:
        found = {each.name: each.data for each in bag.attachments() if each.name.startswith("world/")}
    assert set(found) == {"world/main.py", "world/lib/__init__.py", "world/lib/laws.py"}
    assert found["world/lib/laws.py"] == b"G = 9.81\n"


# Takes seconds: make test has a script that Ctrl-C ends in test_python_files.py.
@pytest.mark.nightly
def test_a_signal_ends_a_run_and_the_script_goes_on(tmp_path: Path) -> None:
    process = started(tmp_path, HERE + RUNS)
    assert process.stdout is not None
    kinds = ["as fast as possible", "without callbacks", "in real time", "in a callback", "recorded"]
    for how, number in zip(kinds, (signal.SIGINT, signal.SIGTERM) * 3, strict=False):
        assert process.stdout.readline() == "up\n"
        _wait_for_handler(process.pid)
        process.send_signal(number)
        lines = iter(process.stdout.readline, f"{how}\n")
        assert set(lines) <= {"up\n"}
    _, errors = process.communicate()
    assert (process.returncode, errors) == (0, "")
    with el.open_recording(tmp_path / "bag") as recorded:
        assert len(recorded.history("globals.tick")) >= 1


def _wait_for_handler(pid: int) -> None:
    """Wait until a process has a handler for SIGTERM, which only a run sets."""
    while True:
        status = Path(f"/proc/{pid}/status").read_text()
        caught = int(next(line.split()[1] for line in status.splitlines() if line.startswith("SigCgt")), 16)
        if caught >> (signal.SIGTERM - 1) & 1:
            return
        os.sched_yield()


# Takes seconds: make test has scripts that run, end and fail in test_python_files.py, and programs of recipes in
# test_recipes.py.
@pytest.mark.nightly
def test_a_run_in_a_terminal_pauses_at_its_end_until_ctrl_c(tmp_path: Path) -> None:
    outer, inner = pty.openpty()
    text = f"{HERE}\nworld.run(el.six_dof(sys=gravity), max_ticks=3)\nprint('after')\n"
    process = started(tmp_path, text, stdin=inner)
    os.close(inner)
    assert process.stderr is not None
    line = process.stderr.readline()
    assert line == "Paused after 3 ticks. Press Ctrl-C to end; interactive=False ends at once.\n"
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate()
    os.close(outer)
    assert (process.returncode, output, errors) == (0, "after\n", "")


FIRMWARE = """\
import signal, sys
fifo = open(sys.argv[1], "w")
def end(*_):
    fifo.write("down\\n")
    sys.exit(0)
signal.signal(signal.SIGTERM, end)
fifo.write("up\\n")
fifo.flush()
while True:
    signal.pause()
"""
WITH_FIRMWARE = """
import os
os.mkfifo("fifo")
world.recipe(el.s10.PyRecipe.process(name="firmware", cmd=sys.executable, args=["firmware.py", "fifo"]))

def post_step(tick, ctx):
    if tick == 0:
        global fifo
        fifo = open("fifo")
        print(fifo.readline(), end="", flush=True)
        ctx.stop_recipes()
        print(fifo.readline(), end="", flush=True)
    print(tick, flush=True)

world.run(el.six_dof(sys=gravity), max_ticks=2, post_step=post_step, interactive=False, log_level="error")
"""


# Takes seconds: make test has scripts that run, end and fail in test_python_files.py, and programs of recipes in
# test_recipes.py.
@pytest.mark.nightly
def test_processes_of_recipes_run_until_they_are_stopped(tmp_path: Path) -> None:
    (tmp_path / "firmware.py").write_text(FIRMWARE)
    process = started(tmp_path, HERE + WITH_FIRMWARE, "run")
    output, errors = process.communicate()
    assert (output, errors) == ("up\ndown\n0\n1\n", "")


@pytest.mark.nightly
def test_an_option_prevents_the_processes_and_a_run_without_a_terminal_ends_by_itself(tmp_path: Path) -> None:
    text = f"""{HERE}
world.recipe(el.s10.PyRecipe.process(name="firmware", cmd="touch", args=["started"]))
world.run(el.six_dof(sys=gravity), max_ticks=2, post_step=lambda tick, ctx: ctx.stop_recipes())
"""
    process = started(tmp_path, text, "run", "--no-s10", stdin=subprocess.DEVNULL)
    assert process.communicate() == ("", "")
    assert not (tmp_path / "started").exists()


FINALIZER = """
import os, signal
class Dropped:
    def __del__(self):
        os.kill(os.getpid(), signal.SIGINT)
        for _ in range(1000):  # the handler runs in here, where exceptions are dropped
            pass
def collect(tick, context):
    Dropped()
    print("dropped", flush=True)
    time.sleep(1000)
world.run(el.six_dof(sys=gravity), post_step=collect)
print("ended", flush=True)
"""


@pytest.mark.nightly
def test_a_signal_that_hits_a_finalizer_is_not_lost(tmp_path: Path) -> None:
    process = started(tmp_path, HERE + FINALIZER)
    with process:
        output, errors = process.communicate(timeout=PATIENCE)
    assert (process.returncode, errors) == (0, "")
    assert output.splitlines()[-1] == "ended"
