"""Python files as worlds: every command reads them, errors have the user's line, and only a path that is given runs."""

from __future__ import annotations

import csv
import io
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from waiting import PATIENCE, until

import sim_node.extensions.elodin as el
from sim_node.cli.main import main
from sim_node.recording.changes import recorded_worlds
from sim_node.recording.opening import open_bag
from sim_node.simulation import Simulation
from sim_node.world import World, WorldError, WorldWarning, load, loads
from sim_node.world.locate import LocateError, locate, shipped_worlds
from sim_node.world.writers.yaml import to_yaml

IMPORTS = "import jax.numpy as jnp\nimport numpy as np\nimport sim_node.extensions.elodin as el\n"
# Without a system: nothing to compile.
BALL = IMPORTS + "w = el.World()\nw.spawn(el.Body(), name='ball')\n"
FALLING = (
    IMPORTS
    + """
print("made", __name__)

@el.map
def gravity(force: el.Force, inertia: el.Inertia) -> el.Force:
    return force + el.SpatialForce(linear=inertia.mass() * jnp.array([0.0, 0.0, -9.81]))

w = el.World()
start = el.SpatialTransform(linear=np.array([0.0, 0.0, 10.0]))
w.spawn(el.Body(world_pos=start, world_vel=el.SpatialMotion(linear=np.array([1.0, 2.0, 0.0]))), name="ball")
"""
)
RUN = "w.run(el.six_dof(sys=gravity), sim_time_step=1 / 250)\n"


SHIPPED = Path(__file__).parents[2] / "config" / "python"


def written(folder: Path, text: str | bytes, name: str = "rocket.py") -> Path:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


@pytest.fixture(scope="module")
def falling(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(written(tmp_path_factory.mktemp("falling"), FALLING + RUN, "rocket.py"))


# What commands show


def test_check_counts_its_frames(falling: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", falling]) == 0
    assert capsys.readouterr().out == f"{falling}: valid, 3 frames, 1 moving\n"


# Takes seconds: make test has scripts that run and fail.
@pytest.mark.nightly
def test_lookup_gives_the_pose_of_an_entity(falling: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Free fall: z = 10 - g t^2 / 2. What the script prints is not mixed with the JSON."""
    for target in ("world", "map"):
        assert main(["lookup", falling, target, "ball", "--at", "3", "--json"]) == 0
        printed = capsys.readouterr()
        found = json.loads(printed.out)
        assert printed.err == "made __main__\n"
        np.testing.assert_allclose(found["translation"], [3.0, 6.0, 10.0 - 4.905 * 9.0], atol=1e-10)
        assert found["rotation"] == [0.0, 0.0, 0.0, 1.0]


def test_tree_shows_entities_below_the_fixed_frame(falling: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tree", falling, "--at", "1"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "rocket at 1 s: 3 frames, 1 moving",
        "map       ENU",
        "├─ world  ENU  static  position [0.000, 0.000, 0.000]  rpy_deg [0.0, 0.0, 0.0]",
        "└─ ball   FLU  moving  position [1.000, 2.000, 5.095]  rpy_deg [0.0, 0.0, 0.0]",
    ]


def test_a_recorded_run_has_its_transforms_components_and_script(
    falling: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bag = str(tmp_path / "bag")
    assert main(["run", falling, "--no-ros", "--speed", "max", "--duration", "1", "--record", bag]) == 0
    assert main(["lookup", bag, "map", "ball", "--at", "1", "--json"]) == 0
    found = json.loads(capsys.readouterr().out.splitlines()[-1])
    np.testing.assert_allclose(found["translation"], [1.0, 2.0, 10.0 - 4.905], atol=1e-6)
    assert main(["info", bag]) == 0
    info = capsys.readouterr().out
    for topic, type in {
        "/ball/world_vel": "geometry_msgs/msg/TwistStamped",
        "/ball/force": "geometry_msgs/msg/WrenchStamped",
        "/ball/inertia": "geometry_msgs/msg/InertiaStamped",
    }.items():
        assert any(line.split()[:2] == [topic, type] for line in info.splitlines())
    assert "attachment world/rocket.py: text/x-python" in info
    assert main(["export", bag, "--csv", str(tmp_path), "--topics", "/ball/world_vel"]) == 0
    with (tmp_path / "ball_world_vel.csv").open() as table:
        last = list(csv.DictReader(table))[-1]
    speeds = [float(last[f"twist.linear.{axis}"]) for axis in "xyz"]
    stamp = float(last["header.stamp.sec"]) + 1e-9 * float(last["header.stamp.nanosec"])
    assert stamp >= 1.0
    np.testing.assert_allclose(speeds, [1.0, 2.0, -9.81 * stamp], atol=1e-9)


def test_a_script_from_a_file_publishes_what_it_adds(tmp_path: Path) -> None:
    """The rest is on the topics of the file's sensors, and on /tf."""
    path, bag = str(SHIPPED / "balance.py"), tmp_path / "bag"
    run = ["run", path, "--no-ros", "--speed", "max", "--duration", "0.5", "--record", str(bag)]
    assert main(run) == 0
    with open_bag(bag) as opened:
        topics = {topic: sum(1 for _ in opened.messages([topic])) for topic in ("/tf", "/cart/joint_effort")}
        names = [each.name for each in opened.attachments()]
    assert topics["/tf"] == topics["/cart/joint_effort"] > 20
    assert names == ["run.json", "world/balance.py", "world/cart_pole.yaml", "components.json"]
    with el.open_recording(bag) as recorded:
        # Frames are on /tf, and sensors on topics of their own.
        assert not {"world_pos", "inertia"} & set(recorded.components)
        stamps, efforts = recorded.values("joint_effort", "cart")
        assert len(stamps) == len(efforts) == topics["/tf"]
        assert np.abs(efforts).max() > 0.0


def test_rviz_and_urdf_describe_it(falling: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["urdf", falling]) == 0
    assert '<joint name="ball_floating" type="floating">' in capsys.readouterr().out
    assert main(["rviz", falling]) == 0
    assert "Fixed Frame: map" in capsys.readouterr().out


def test_it_is_not_written_as_yaml(falling: str) -> None:
    with pytest.raises(WorldError, match="python: a world in Python is written by its script"):
        to_yaml(load(falling))


@pytest.mark.parametrize("path", sorted(SHIPPED.glob("*.py")), ids=lambda path: path.stem)
def test_shipped_scripts_are_worlds(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", str(path)]) == 0
    assert capsys.readouterr().out.startswith(f"{path}: valid, ")


@pytest.mark.nightly
def test_bodies_on_the_figure_eight_return_after_a_period(capsys: pytest.CaptureFixture[str]) -> None:
    """The period is 6.32591398 (Chenciner and Montgomery 2000)."""
    path = str(SHIPPED / "three_bodies.py")
    assert main(["lookup", path, "charlie", "alpha", "--at", "6.32591398", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    np.testing.assert_allclose(found["translation"], [0.97000436, -0.24308753, 0.0], atol=1e-5)


# As a program


def test_a_script_runs_as_a_program(tmp_path: Path) -> None:
    before = sys.modules["__main__"], list(sys.argv), sys.path[0]
    text = BALL + (
        "import sys, pathlib\n"
        "here = str(pathlib.Path(__file__).resolve().parent)\n"
        "assert __name__ == '__main__' and sys.modules['__main__'].w is w\n"
        "assert sys.argv == [__file__] and sys.path[0] == here, (sys.argv, sys.path[0])\n"
        "try:\n    w.run(None, sim_time_step=1 / 50)\nexcept Exception:\n    pass\n"
        "raise SystemExit('not reached')\n"
    )
    world = load(written(tmp_path, text))
    assert world.name == "rocket"
    assert world.time.step_ns == 20_000_000
    assert (sys.modules["__main__"], sys.argv, sys.path[0]) == before
    assert sys.path[-1] == str(tmp_path), "after all that this package may import later"


def test_scripts_import_the_modules_beside_them(tmp_path: Path) -> None:
    """Each its own, although they have one name; also in callbacks, later."""
    for height in (1.0, 2.0):
        folder = tmp_path / str(height)
        folder.mkdir()
        written(folder, f"HEIGHT = {height}\n", "config.py")
        written(folder, f"NAME = 'late{height:g}'\n", "later.py")
        text = IMPORTS + (
            "from config import HEIGHT\n"
            "def pre_step(tick, ctx):\n"
            "    import later\n"
            "    ctx.write_component('ball.world_pos', [0, 0, 0, 1.0, 0, 0, HEIGHT + len(later.NAME)])\n"
            "w = el.World()\n"
            "w.spawn(el.Body(), name='ball')\n"
            "w.run(None, sim_time_step=0.01, pre_step=pre_step)\n"
        )
        main_file = written(folder, text, "main.py")
        world = load(main_file)
        assert [path.name for path in world.files] == ["main.py", "config.py"]
        assert heights(world) == [0.0, height + 5.0]


def heights(world: World) -> list[float]:
    simulation = Simulation(world)
    found = []
    for steps in (0, 1):
        simulation.step(steps)
        found.append(float(simulation.snapshot().poses[simulation.frames.index("ball"), 2]))
    return found


def test_a_start_time_is_that_of_the_script(tmp_path: Path) -> None:
    world = load(written(tmp_path, BALL + "w.run(None, sim_time_step=0.01, start_timestamp=1_500_000)\n"))
    assert world.time.start_ns == 1_500_000_000


def test_a_start_before_1970_is_one_of_callbacks_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As Elodin's apollo-lander has it, in 1969: callbacks are told `start_timestamp + tick * sim_time_step`."""
    step = "def post_step(tick, ctx):\n    print(tick, ctx.timestamp, file=open('told.txt', 'a'))\n"
    text = BALL + step + "w.run(None, sim_time_step=0.01, start_timestamp=-5_000_000, post_step=post_step)\n"
    with pytest.warns(WorldWarning, match="start_timestamp: is before 1970") as said:
        world = load(written(tmp_path, text))
    assert len(said) == 1
    assert world.time.start_ns == 0
    monkeypatch.chdir(tmp_path)
    Simulation(world).step(3)
    told = [line.split() for line in (tmp_path / "told.txt").read_text().splitlines()]
    assert [int(timestamp) for _, timestamp in told] == [-5_000_000, -4_990_000, -4_980_000]


def test_names_that_frames_cannot_have_are_changed(tmp_path: Path) -> None:
    text = BALL + "w.spawn(el.Body(), name='Falcon 9')\nw.run(None)\n"
    world = load(written(tmp_path, text))
    assert [frame.name for frame in world.python.frames] == ["ball", "Falcon_9"]


def test_components_of_other_layouts_are_no_motion(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Names do not make poses and velocities: a script may have its own."""
    text = IMPORTS + (
        "from typing import Annotated\n"
        "import jax\n"
        "Own = lambda name: Annotated[jax.Array, el.Component(name, el.ComponentType(el.PrimitiveType.F64, (3,)))]\n"
        "w = el.World()\n"
        "w.spawn(el.C((el.WorldPos, Own('world_vel')), (el.SpatialTransform(), np.ones(3))), name='a')\n"
        "w.run(None, sim_time_step=0.01)\n"
    )
    path = str(written(tmp_path, text))
    assert main(["lookup", path, "map", "a", "--at", "0.015", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["translation"] == [0.0, 0.0, 0.0]
    written(
        tmp_path,
        text.replace("el.WorldPos, Own('world_vel')", "Own('world_pos'), el.WorldVel").replace(
            "el.SpatialTransform(), np.ones(3)", "np.ones(3), el.SpatialMotion()"
        ),
    )
    assert main(["tree", path, "--at", "0.015"]) == 0
    assert "2 frames, 0 moving" in capsys.readouterr().out


def test_recipes_are_processes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Which only start on request, as those of world files."""
    more = "cwd='/tmp', env={'A': '$1'}, restart_policy=el.s10.RestartPolicy.Instant, ready=el.s10.Ready.delay(1)"
    text = (
        BALL
        + f"w.recipe(el.s10.PyRecipe.process('firmware', 'sleep', ['100', '$x', '${{Y:-y}}'], {more}))\nw.run(None)\n"
    )
    path = written(tmp_path, text)
    (process,) = load(path).processes
    # Any dollar of a process begins a variable, and two are one.
    assert (process.name, process.command, process.cwd) == ("firmware", ("sleep", "100", "$$x", "${Y:-y}"), "/tmp")
    assert (process.env, process.restart) == ((("A", "$$1"),), "always")
    assert process.place.where.line == 6
    assert main(["check", str(path)]) == 0
    output = capsys.readouterr()
    assert "  process firmware: sleep 100" in output.out
    told = "recipe 'firmware': ready acts when the script runs by itself; processes of sim_node run start together"
    assert f"{path}:6:1: {told}" in output.out + output.err


def test_ctrl_c_ends_a_script(tmp_path: Path) -> None:
    ready = tmp_path / "ready"
    path = written(tmp_path, f"import time\nopen({str(ready)!r}, 'w').close()\nwhile True: time.sleep(0.01)\n")
    command = [sys.executable, "-m", "sim_node.cli.main", "run", str(path), "--no-ros"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as running:
        until(ready.exists, "the script")
        running.send_signal(signal.SIGINT)
        errors = running.communicate(timeout=PATIENCE)[1]
    assert running.returncode == 130
    assert errors == ""


# Errors


FAULTS: dict[str, tuple[str | bytes, str]] = {
    "syntax": ("x = 1\ny = (\n", "rocket.py:2:5: SyntaxError: '(' was never closed"),
    "name": ("import math\n\nmath.sqrtt(2)\n", "rocket.py:3:1: AttributeError: module 'math' has no attribute 'sqrtt'"),
    "import": ("import no_such_module\n", "rocket.py:1:1: ModuleNotFoundError: No module named 'no_such_module'"),
    "elodin": ("import elodin as el\n", "No module named 'elodin'; write `import sim_node.extensions.elodin as el`"),
    "exit": (
        "import sys\nsys.exit(3)\n",
        "rocket.py:2:1: ended by sys.exit(3) before World.run; a world in Python ends",
    ),
    "no run": ("x = 1\n", "rocket.py: ended without World.run; a world in Python ends with world.run(system"),
    "input": ("input('mass? ')\n", "rocket.py:1:1: EOFError"),
    "recursion": ("def f(): return f()\nf()\n", "rocket.py:1:1: RecursionError: maximum recursion depth exceeded"),
    "own": ("class Odd(BaseException): pass\nraise Odd('no\\nway')\n", "rocket.py:2:1: Odd: no way"),
    "mute": ("class E(Exception):\n  def __str__(self): 1 / 0\nraise E\n", "rocket.py:3:1: E: <a text that cannot be"),
    "null": ("x = 1\0\n", "rocket.py"),
    "bytes": (b"x = '\xff'\n", "rocket.py"),
    "empty name": (BALL + "w.spawn(el.Body(), name='ball')\n", "rocket.py:6:1: spawn: there is an entity named 'ball'"),
    "step": (BALL + "w.run(None, sim_time_step=1e-9)\n", "rocket.py: sim_time_step: found 1e-09 s; allowed: 1e-06 to"),
    "nowhere": (
        IMPORTS + "w = el.World()\np = el.SpatialTransform(linear=np.full(3, np.nan))\n"
        "w.spawn(el.Body(world_pos=p), name='ball')\nw.run(None)\n",
        "rocket.py:6:1: ball: world_pos: [nan, nan, nan, 0.0, 0.0, 0.0, 1.0] is not finite",
    ),
    "no match": (
        IMPORTS + "@el.map\ndef f(a: el.Force) -> el.Force:\n    return a\nw = el.World()\nw.run(f)\n",
        "rocket.py:4:1: f: no entity has the component 'force'",
    ),
    "in a system": (
        BALL + "@el.map\ndef f(a: el.Force) -> el.Force:\n    return a + missing\nw.run(f)\n",
        "rocket.py:8:1: f: NameError: name 'missing' is not defined",
    ),
}


@pytest.mark.parametrize("case", FAULTS)
def test_errors_are_one_line_with_the_users_place(
    case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text, expected = FAULTS[case]
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    written(tmp_path, text)
    assert main(["check", "rocket.py"]) == 2
    errors = capsys.readouterr().err.removeprefix("mass? ")
    assert expected in errors
    assert errors.startswith("rocket.py:")
    assert len(errors.splitlines()) == 2, errors
    assert errors.splitlines()[1] == "1 error"


def test_an_error_in_a_module_beside_it_has_its_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    written(tmp_path, "A = 1\nB = A / 0\n", "constants.py")
    written(tmp_path, "\nfrom constants import B\n")
    assert main(["check", "rocket.py"]) == 2
    assert "constants.py:2:1: ZeroDivisionError: division by zero" in capsys.readouterr().err
    written(tmp_path, "A = 1\nB = = 2\n", "constants.py")
    os.utime(tmp_path / "constants.py", (1, 1))
    assert main(["check", "rocket.py"]) == 2
    assert "constants.py:2:5: SyntaxError: invalid syntax" in capsys.readouterr().err


def test_an_endless_text_is_cut(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = written(tmp_path, "raise ValueError('a very long text ' * 1_000_000)\n")
    assert main(["check", str(path)]) == 2
    assert len(capsys.readouterr().err) < 3000


def test_an_error_in_a_callback_ends_the_run_with_its_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    text = BALL + (
        "def post_step(tick, ctx):\n    if tick == 7:\n        ctx.read_component('ball.world_velo')\n"
        "w.run(None, sim_time_step=0.01, post_step=post_step)\n"
    )
    written(tmp_path, text)
    assert main(["run", "rocket.py", "--no-ros", "--speed", "max", "--duration", "1"]) == 1
    assert "sim_node: rocket.py:8:1: RuntimeError: component 'ball.world_velo'" in capsys.readouterr().err
    assert main(["lookup", "rocket.py", "map", "ball", "--at", "0.05"]) == 0, "it has not failed by then"


# Only a path that is given runs


@pytest.fixture
def ran(tmp_path: Path) -> Path:
    """A file that `rocket.py` beside it makes when it runs."""
    made = tmp_path / "ran"
    written(tmp_path, f"open({str(made)!r}, 'w').close()\n" + BALL + "w.run(None, sim_time_step=0.01)\n")
    return made


def test_an_include_does_not_run_it(ran: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    written(tmp_path, "include:\n  - rocket.py\n", "inner.yaml")
    written(tmp_path, "include:\n  - inner.yaml\n  - {file: rocket.py, prefix: a}\n", "outer.yaml")
    assert main(["check", str(tmp_path / "outer.yaml")]) == 2
    errors = capsys.readouterr().err
    refused = "rocket.py is not included, because it would run as a program; give its path to a command"
    assert f"inner.yaml:2:5: include[0]: {refused}" in errors
    assert f"outer.yaml:3:12: include[1].file: {refused}" in errors
    assert not ran.exists()


def test_a_package_does_not_run_it(ran: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    share = tmp_path / "share" / "pkg"
    share.mkdir(parents=True)
    (tmp_path / "rocket.py").rename(share / "rocket.py")
    monkeypatch.setenv("AMENT_PREFIX_PATH", str(tmp_path))
    with pytest.raises(WorldError, match=r"would run as a program; give its path: .*/share/pkg/rocket\.py"):
        load("package://pkg/rocket.py")
    assert not ran.exists()


def test_a_text_is_not_run() -> None:
    with pytest.raises(WorldError, match="a text is not run as a program"):
        loads("1 / 0", ".py")


def test_no_shipped_name_runs_a_script() -> None:
    assert shipped_worlds()
    assert not [path for path in shipped_worlds().values() if path.suffix == ".py"]
    with pytest.raises(LocateError, match="no world 'three_bodies'"):
        locate("three_bodies")


@pytest.mark.parametrize("name", ["rocket.py", "rocket.PY"])
def test_a_bag_does_not_run_it(ran: Path, name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "rocket.py").rename(tmp_path / name)
    bag = str(tmp_path / "bag")
    run = ["run", str(tmp_path / name), "--no-ros", "--speed", "max", "--duration", "0.1", "--record", bag]
    assert main(run) == 0
    ran.unlink()
    assert main(["tree", bag]) == 0
    assert "ball" in capsys.readouterr().out
    with open_bag(bag) as opened, recorded_worlds(opened) as worlds:
        world = worlds[0]
        assert world is None
        assert [each.name for each in opened.attachments()] == ["run.json", f"world/{name}", "components.json"]
    assert not ran.exists()


def test_other_worlds_do_not_import_jax() -> None:
    program = (
        "import sys\nfrom sim_node.simulation import Simulation\nSimulation('orbit').step(3)\n"
        "import sim_node.session\nassert 'jax' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=PATIENCE)
