"""The person at the keyboard: Ctrl-C at any moment, wrong arguments, output that goes into a pipe."""

from __future__ import annotations

import fcntl
import os
import random
import signal
import struct
import subprocess
import sys
import termios
import time
from contextlib import suppress
from itertools import product
from pathlib import Path

import psutil
import pytest
from in_process import exit_code
from nightly import only
from processes import EXECUTABLE, SIM_NODE, Program, handles, program, sim_node
from waiting import PATIENCE, until, until_ended

from sim_node.ros import executables

# Seeded, so that a failure can be looked at again. From the first line of the command on, while it imports, until well
# into the run. One moment for each signal here, for test_interrupted tries more in one process; three in the night.
MOMENTS = random.Random(7)
CASES = [
    pytest.param(number, MOMENTS.uniform(0.0, 2.25), marks=[pytest.mark.nightly] * (count > 0))
    for number in (signal.SIGINT, signal.SIGTERM)
    for count in range(3)
]


@pytest.mark.usefixtures("ros_domain")
@pytest.mark.parametrize(("number", "moment"), CASES, ids=lambda value: f"{value:.2f}")
# The executable calls the same function; test_colcon.py starts it.
@pytest.mark.parametrize(
    "command",
    only([sim_node("run", "orbit"), [EXECUTABLE, "--ros-args", "-p", "world:=orbit"]], 0),
    ids=["sim_node run", "executable"],
)
def test_a_signal_at_any_moment_ends_it(command: list[str | Path], number: int, moment: float) -> None:
    with program(command) as node:
        until(lambda: handles(node.process.pid, number), "Python has started, and our handlers are there")
        time.sleep(moment)  # the moment is the point of the test; on a busy machine it comes earlier in the program
        started = psutil.Process(node.process.pid)
        family = [started, *started.children(recursive=True)]
        code = node.stop(number)
        assert code == 0, node.output
        assert "Traceback" not in node.output
        until_ended(*family)


# Twice is once, and once more.
# Takes seconds: make test has a camera whose program is killed in test/sensors/test_cameras.py.
@pytest.mark.nightly
@pytest.mark.parametrize("times", only([1, 2], 1))
def test_ctrl_c_while_a_picture_is_drawn_is_no_traceback(times: int) -> None:
    """Once or twice, to the whole group as a terminal does it: nobody is there any more to take the picture."""
    # However long the first is ago, the second is not somebody's who has lost patience.
    patient = "import sys, sim_node.interrupt as i; i.PATIENCE_S = 3600.0; from sim_node.cli.main import main; "
    run = [sys.executable, "-c", patient + "sys.exit(main(sys.argv[1:]))", "run", "lidar_room", "--no-ros"]
    with program(run) as node:
        drawing = drawing_process(node)
        drawing.suspend()
        try:
            asked, answers = (os.readlink(f"/proc/{drawing.pid}/fd/{number}") for number in (0, answers_of(drawing)))
            until(lambda: waiting_in(f"/proc/{drawing.pid}/fd/0") > 0, "a picture is asked for")
            os.killpg(node.process.pid, signal.SIGINT)
            until(lambda: not {asked, answers} & set(pipes_of(node.process.pid).values()), "nobody waits for it")
            if times == 2:
                os.killpg(node.process.pid, signal.SIGINT)
        finally:
            drawing.resume()
        assert node.wait() == 0
        until_ended(drawing)
        assert "Traceback" not in node.output, node.output


def drawing_process(node: Program) -> psutil.Process:
    """The one that draws what cameras see, ready to."""
    node.wait_for("lidar_room: ")

    def found() -> list[psutil.Process]:
        if "cameras see nothing" in node.output:
            pytest.skip(f"no OpenGL here: {node.output}")
        children = psutil.Process(node.process.pid).children()
        # Its answers have a number of their own once it draws.
        return [child for child in children if "render_worker" in " ".join(child.cmdline()) and answers_of(child)]

    until(found, "drawing")
    return found()[0]


def answers_of(drawing: psutil.Process) -> int:
    """The file descriptor of its answers, 0 where it has none yet."""
    pipes = pipes_of(drawing.pid)
    return next((number for number, pipe in pipes.items() if number > 2 and pipe != pipes.get(0)), 0)


def pipes_of(process: int) -> dict[int, str]:
    """The pipes that a process has open, by file descriptor."""
    links: dict[int, str] = {}
    with suppress(OSError):
        for number in os.listdir(f"/proc/{process}/fd"):
            with suppress(OSError):
                links[int(number)] = os.readlink(f"/proc/{process}/fd/{number}")
    return {number: link for number, link in links.items() if link.startswith("pipe:")}


def waiting_in(pipe: str) -> int:
    """Bytes that nobody has read yet."""
    number = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        (count,) = struct.unpack("i", fcntl.ioctl(number, termios.FIONREAD, b"\0" * 4))
        return int(count)
    finally:
        os.close(number)


@pytest.mark.usefixtures("ros_domain")
def test_a_duration_ends_by_itself_and_says_where_things_are() -> None:
    with program(sim_node("run", "orbit", "--duration", "1", "--speed", "max")) as node:
        assert node.wait() == 0
        for words in (
            "fixed frame map",
            "/tf ",
            "60 Hz",
            "/tf_static",
            "latched",
            "/clock",
            "lookup --live map drone/base_link",
        ):
            assert words in node.output


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["run", "orbitt"], "no world 'orbitt'; did you mean orbit?"),
        (["run", "orbit", "--speed", "fast"], "'fast' is not a speed"),
        (["run", "orbit", "--duration", "-1"], "seconds above zero are needed"),
        (["run", "orbit", "--duration", "nan"], "--duration"),
        (["run", "orbit", "--no-ros", "--ros-args", "-p", "seed:=1"], "exclude each other"),
        (["run", "orbit", "--ros-args", "-p", "publish_rate:=fast"], "publish_rate"),
        (["run", "orbit", "--ros-args", "-p", "publish_rate:=-3.0"], "publish_rate"),
        (["run", "orbit", "--ros-args", "-p", "stamp:=wal"], "allowed: sim, wall"),
        (["run", "orbit", "--ros-args", "-p"], "-p"),
        (
            ["run", "orbit", "--ros-args", "-p", "publish_rat:=3"],
            "unknown parameter publish_rat; did you mean publish_rate?",
        ),
        (
            ["run", "orbit", "--ros-args", "-p", "publish_rate:=fast"],
            "parameter publish_rate: 'fast' has the wrong type",
        ),
        (
            ["run", "orbit", "--ros-args", "-p", "takeoff_height:=3.0"],
            "unknown parameter takeoff_height (known: allow, allow_network, bridge, ",
        ),
        (
            ["run", "orbit", "--seed", "1", "--ros-args", "-p", "seed:=2"],
            "parameter seed: the command's own options set it",
        ),
        (["run", "--ros-args", "-p", "world:=orbit"], "parameter world: name the world before --ros-args"),
        (["run", "orbit", "--ros-args", "--", "--spede", "2"], "unknown option --spede; did you mean --speed?"),
        (["record", "bag", "--live", "--ros-args", "-p", "rate:=2"], "unknown parameter rate (sim_node_record has no"),
        (["fly"], "fly"),
        (["lookup", "orbit", "map", "drone/CAM_FRNT"], "did you mean drone/CAM_FRONT?"),
        (["tree", "orbit", "--at", "-1"], "before the world's start"),
        ([], "a command is needed"),
    ],
    ids=" ".join,
)
@pytest.mark.usefixtures("ros_domain")
def test_a_mistake_is_one_clear_message_and_exit_code_2(
    arguments: list[str], words: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert exit_code(arguments) == 2
    out, error = capfd.readouterr()
    assert words in error
    assert "Traceback" not in error
    assert out == ""


@pytest.mark.parametrize(
    ("text", "code", "words"),
    [
        (
            "/**:\n  ros__parameters: {seed: 1,\n    publish_rat: 3.0}",
            2,
            "FILE:3:5: unknown parameter publish_rat; did you",
        ),
        (
            "simulation:\n  ros__parameters:\n    publish_rate: true",
            2,
            "FILE:3:5: parameter publish_rate: True has the wrong type",
        ),
        ("/**:\n  ros__parameters: {a: {b: 1}}", 2, "FILE:2:25: unknown parameter a.b (known: "),
        ("simulaton:\n  ros__parameters: {seed: 1}", 0, "warning: FILE:2:21: no node '/simulaton' here; did you mean"),
        ("site:\n  simulation:\n    ros__parameters: {seed: 1}", 0, "FILE:3:23: no node '/site/simulation' here"),
        ("/**:\n  ros__parameters: {use_sim_time: false, qos_overrides: {/tf: {publisher: {depth: 9}}}}", 0, ""),
        ("/nav:\n  ros__parameters: {x: 1}\n/*:\n  ros__parameters: {seed: 1}", 0, ""),
    ],
)
@pytest.mark.usefixtures("ros_domain")
def test_a_file_of_parameters_is_used_whole(
    tmp_path: Path, text: str, code: int, words: str, capfd: pytest.CaptureFixture[str]
) -> None:
    """What it sets for these nodes and they do not know is a mistake; what is for nobody here is told."""
    file = tmp_path / "parameters.yaml"
    file.write_text(text)
    ended = exit_code(["run", "orbit", "--duration", "0.1", "--ros-args", "--params-file", str(file)])
    error = capfd.readouterr().err
    assert ended == code, error
    assert words.replace("FILE", str(file)) in error
    assert "Traceback" not in error
    assert bool(words) or "warning" not in error


@pytest.mark.usefixtures("ros_domain")
def test_parameters_of_the_bridge_beside_a_simulation_are_known(capfd: pytest.CaptureFixture[str]) -> None:
    """The first that neither of the two nodes has is refused, before anything is started."""
    known = ["-p", "takeoff_height:=5.0", "-p", "bridge:goto_tolerance:=0.2", "-p", "publish_rate:=50.0"]
    assert exit_code(["run", "guided", "--ros-args", *known, "-p", "takeof_height:=1.0"]) == 2
    error = capfd.readouterr().err
    assert "sim_node: unknown parameter takeof_height; did you mean takeoff_height? (known: " in error
    assert "waiting for autopilot" not in error


# make test gives them to the simulation, in test_a_file_of_parameters_is_used_whole.
@pytest.mark.nightly
@pytest.mark.parametrize("node", only(["simulation", "bridge", "replay"], 1))
@pytest.mark.usefixtures("ros_domain")
def test_a_node_takes_parameters_alone(node: str, capfd: pytest.CaptureFixture[str]) -> None:
    command = str(Path(__file__).parents[2] / "scripts" / node)
    ran = subprocess.run([command, "orbit"], capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert ran.returncode == 2, ran.stderr
    assert "unexpected argument 'orbit'; parameters are --ros-args -p NAME:=VALUE" in ran.stderr
    assert "Traceback" not in ran.stderr

    assert getattr(executables, node)(["--ros-args", "-p", "record_compresion:=lz4", "-p", "step_sise:=1.0"]) == 2
    error = capfd.readouterr().err
    assert "unknown parameter" in error
    assert "Traceback" not in error


def test_a_broken_world_is_reported_with_its_places(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    world = tmp_path / "yard.yaml"
    world.write_text(
        "world: yard\nframes:\n  - {name: a, parant: map}\n  - {name: b, pose: {quaternion: [0, 0, 0, 0]}}\n"
    )
    for command in ("check", "run", "tree"):
        assert exit_code([command, str(world)]) == 2
        first, second, summary = capfd.readouterr().err.splitlines()
        assert first.startswith(f"{world}:3:15: frames[0].parant: unknown key; did you mean parent?")
        assert second.startswith(f"{world}:4:34: frames[1].pose.quaternion: is zero")
        assert summary.startswith("2 errors")


# Takes seconds: make test has a pipe that closes in test/cli/test_bags.py.
@pytest.mark.nightly
def test_output_into_a_closed_pipe_is_no_error(tmp_path: Path) -> None:
    many = "".join(f"  - {{name: part_{n}}}\n" for n in range(5000))
    world = tmp_path / "many.yaml"
    world.write_text("frames:\n" + many)
    ran = subprocess.run(
        f"{SIM_NODE} tree {world} | head -1", shell=True, capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    assert ran.stdout == "many at 0 s: 5001 frames, 0 moving\n"
    assert ran.stderr == ""


STUBBORN = (
    "import os, signal, time; signal.signal(15, signal.SIG_IGN); print(os.getpid(), flush=True); time.sleep(3600)"
)


@pytest.mark.usefixtures("ros_domain")
# The others are stopped the same way; kill -9 leaves them to the supervisor.
@pytest.mark.parametrize(
    ("way", "number"), only(product(("--no-ros", "--ros-args"), (signal.SIGINT, signal.SIGTERM, signal.SIGKILL)), 5)
)
def test_the_programs_of_a_world_end_with_it(tmp_path: Path, number: int, way: str) -> None:
    """Also one that does not heed SIGTERM, which gets its 2 s first, and whatever ends sim_node itself."""
    world, log = tmp_path / "yard.yaml", tmp_path / "log.txt"
    world.write_text(f"world: yard\nprocesses:\n  p: {{command: [{sys.executable}, -c, '{STUBBORN}'], log: log.txt}}\n")
    with program(sim_node("run", world, "--processes", way)) as node:
        node.wait_for("p: started, its output goes to")
        until(lambda: log.exists() and log.read_text().endswith("\n"), "the program's line")
        stubborn = psutil.Process(int(log.read_text()))
        family = [stubborn, *stubborn.parents()[:1]]
        began = time.monotonic()
        code = node.stop(number)
        assert number == signal.SIGKILL or time.monotonic() - began >= 2.0
        assert code == (-signal.SIGKILL if number == signal.SIGKILL else 0), node.output
        until_ended(*family)


def test_a_world_starts_nothing_by_itself(tmp_path: Path) -> None:
    world = tmp_path / "yard.yaml"
    world.write_text("world: yard\nprocesses: {p: {command: [touch, made]}}\n")
    with program(sim_node("run", world, "--no-ros", "--duration", "0.1")) as node:
        assert node.wait() == 0
        assert "not starting p: touch made" in node.output
    assert not (tmp_path / "made").exists()
