"""Mistakes of a plug-in are told as its own: one line with its name, its package and the line of its code.

Each is one replacement in a copy of test/plugin: at every door, code that raises, and code that gives nonsense.
"""

from __future__ import annotations

import re
import socket
import threading
from contextlib import suppress
from pathlib import Path

import pytest
from forked import Forks
from plugins import HALL, command, python, with_mistake

RUN = ("run", "hall.yaml", "--no-ros", "--duration", "1", "--speed", "max")
CHECK = ("check", "hall.yaml")
INCLUDE = "frames: [{name: dock}]\ninclude: [{file: hall.yaml, prefix: a, parent: dock}]\n"
BELTS = "name,x,y,z,yaw_deg,length,speed,pallets\ninfeed,1,2,0.8,90,2.0,0.5,4\n"

# File, what stands there, what stands there instead, the command, what is told; the line is that of the replacement
# unless the entry as a whole is to blame.
RAISED = {
    "part entries": ("belt.py", "yield entry\n", "yield entry.nothing\n", CHECK),
    "part problems": ("belt.py", "if not 0.0 < belt.length", "if not 0.0 < belt.lenth", RUN),
    "part mobility": ("belt.py", 'return "dynamic"', 'return "dynamic" + 1', RUN),
    "part start": ("belt.py", "return np.array([self.offset()", "return np.array([self.offst()", RUN),
    "section": ("belt.py", "pose, _ = read_pose", "pose = read_poze", CHECK),
    "open engine": ("engine.py", "world.time.step_ns\n", "world.time.stepns\n", RUN),
    "engine reset": ("engine.py", "        self._steps[0] = 0\n", "        self._no()\n", RUN),
    "engine step": ("engine.py", "self._steps[0] += steps", "self._stepz[0] += steps", RUN),
    "engine write": ("engine.py", "poses[self._rows] =", "poses[:, self._rows] =", RUN),
    "sensor measure": ("reflector.py", "(each.at.x,", "(each.at.w,", RUN),
    "sensor messages": ("reflector.py", '"range": channels(0)}', '"range": chanels(0)}', CHECK),
    "force reader": ("drive.py", "velocity.vector(3,", "velocity.vectr(3,", CHECK),
    "open force element": (
        "drive.py",
        "self._coefficients = np.array([force.coefficient",
        "self._k = np.array([force.k",
        RUN,
    ),
    "force element act": ("drive.py", "arms = data.xipos", "arms = data.xpis", RUN),
    "reader": ("belts_file.py", "if tuple(head) != COLUMNS", "if tuple(head) != COLUMS", ("check", "line.belts")),
    "add_arguments": ("throughput.py", 'add_argument("world"', 'add_argumnt("world"', ("throughput", "hall.yaml")),
    "command": ("throughput.py", "abs(belt.speed)", "abs(belt.spd)", ("throughput", "hall.yaml")),
    "import command": ("throughput.py", "import argparse\n", "import argparze\n", ("throughput", "hall.yaml")),
    "syntax of command": ("throughput.py", "return 0", "return 0 0", ("throughput", "hall.yaml")),
    "link": ("unix_link.py", "self.url, self._path = url, path", "self.url, self._path = ulr, path", ()),
    "link open": ("unix_link.py", "socket.socket(socket.AF_UNIX)", "socket.socket(socket.AF_UNX)", ()),
    "link read": ("unix_link.py", "return [(data, None)]", "return [(dta, None)]", ()),
    "link write": ("unix_link.py", "self._socket.sendall(data)", "self._socket.sendal(data)", ()),
}
# The same, and what is told.
NONSENSE = {
    "part entries": ("belt.py", "yield entry\n", "yield entry.name\n", CHECK, "an Entry is needed, found 'infeed'"),
    "part problems": ("belt.py", "if not 0.0 <", "yield belt\n            if not 0.0 <", RUN, "a Problem is needed"),
    "part mobility": ("belt.py", '"dynamic"', '"fast"', CHECK, "is 'fast'; allowed: static, mountable, dynamic"),
    "part shape": ("belt.py", "0.0, 0.0, 1.0])", "0.0, 1.0])", CHECK, "is of shape (6,); a pose (7,) is needed"),
    "part pose": ("belt.py", "0.0, 0.0, 1.0])", "0.0, 0.0, 0.5])", CHECK, "not a pose with a unit quaternion"),
    "part renamed": (
        *("belt.py", "    def data(", "    def renamed(self, part, rename): return 3\n    def data("),
        *(("check", "site.yaml"), "from renamed(), a Belt or None is needed, found 3"),
    ),
    "engine": (
        "engine.py",
        "return BeltEngine(pallets, world, layout, columns) if",
        "return 3 if",
        RUN,
        "an Engine or None",
    ),
    "engine without reset": ("engine.py", "def reset", "def rest", RUN, "which has no reset"),
    "engine pose": (
        "engine.py",
        "% self._lengths[places]",
        "% 0.0",
        RUN,
        "write() left the pose of infeed/pallet_0 at [nan,",
    ),
    "sensor shape": (
        "reflector.py",
        ", keepdims=True",
        "",
        RUN,
        "measured values of 1 sensors have shape (1,), not (1, C)",
    ),
    "sensor noise": (
        *("reflector.py", "return ((self.noise, 1),)", "return ((self.noise, 2),)", RUN),
        "measured values of 1 sensors have shape (1, 1), but quantities() has noise for 2 of each",
    ),
    "force element": (
        *("drive.py", "return Drives(forces, compiled, data) if", "return data if", RUN),
        "a ForceElement or None is needed, found <mujoco",
    ),
    "force element forces": ("drive.py", "- velocities)", "- np.inf)", RUN, "act() made forces that are not finite"),
    "reader": (
        *("belts_file.py", "return World(path.stem, ", "return dict(", ("check", "line.belts")),
        "a World or None is needed, found {'belts'",
    ),
    "silent reader": (
        *("belts_file.py", "return World(path.stem, belts=belts, source=str(shown))", "return None"),
        *(("check", "line.belts"), "returned None and recorded no error"),
    ),
    "command": ("throughput.py", "return 0", 'return "done"', ("throughput", "hall.yaml"), "run returned 'done'"),
    "name of command": (
        *("throughput.py", '@command("throughput"', '@command("through"', ("throughput", "hall.yaml")),
        "adds no command 'throughput'",
    ),
    "link": ("unix_link.py", "def fileno", "def filno", (), "an Endpoint is needed"),
    "link read": ("unix_link.py", "return [(data, None)]", "return data", (), "a list of (bytes, address) is needed"),
    "link fileno": ("unix_link.py", "self._socket.fileno()", "str(self._socket.fileno())", (), "a number is needed"),
}
PLUGIN = r"plug-in sim-node-conveyor [\d.]+ \(sim_node\.\w+: \w+ = conveyor\.\w+\)"


def reported(forked: Forks, folder: Path, words: tuple[str, ...]) -> tuple[int, str]:
    """The exit code and the errors of a command with the copy of the plug-in; without words, of a bridge."""
    (folder / "hall.yaml").write_text(HALL)
    (folder / "site.yaml").write_text(INCLUDE)
    (folder / "line.belts").write_text(BELTS)
    if words:
        return forked.run(folder, *words, site=folder / "site")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(folder / "sock"))
        listening.listen()
        talk = threading.Thread(target=_talk, args=(listening,), daemon=True)
        talk.start()
        return forked.run(folder, "bridge", "--url", f"unix:{folder / 'sock'}", site=folder / "site")


def _talk(listening: socket.socket) -> None:
    """Say something to whoever comes, and hear until they go."""
    connection, _ = listening.accept()
    with connection, suppress(OSError):
        connection.sendall(b"\xfd")
        while connection.recv(4096):
            pass


@pytest.mark.usefixtures("ros_domain")
@pytest.mark.parametrize("door", RAISED)
def test_what_raises_is_reported_with_its_line(door: str, forked: Forks, tmp_path: Path) -> None:
    file, old, new, words = RAISED[door]
    path, line = with_mistake(tmp_path, file, old, new)
    code, error = reported(forked, tmp_path, words)
    assert code in (1, 2), error
    assert "Traceback" not in error
    [output] = [output for output in error.splitlines() if "plug-in" in output]
    assert re.search(PLUGIN, output), output
    assert f"({path}:{line}" in output, output


@pytest.mark.usefixtures("ros_domain")
@pytest.mark.parametrize("door", NONSENSE)
def test_nonsense_is_reported_with_the_line_of_what_gave_it(door: str, forked: Forks, tmp_path: Path) -> None:
    file, old, new, words, message = NONSENSE[door]
    path, _ = with_mistake(tmp_path, file, old, new)
    code, error = reported(forked, tmp_path, words)
    assert code in (1, 2), error
    assert "Traceback" not in error
    [output] = [output for output in error.splitlines() if "plug-in" in output]
    assert re.search(PLUGIN, output), output
    assert message in output
    assert door == "name of command" or f"({path}:" in output, output


@pytest.mark.parametrize(
    "words", [("throughpt",), *(pytest.param(words, marks=pytest.mark.nightly) for words in (("--help",), ("doctor",)))]
)
def test_a_command_that_cannot_be_loaded_leaves_the_others(words: tuple[str, ...], tmp_path: Path) -> None:
    path, line = with_mistake(tmp_path, "throughput.py", "import argparse\n", "import argparze\n")
    done = command(tmp_path, *words, site=tmp_path / "site")
    assert "Traceback" not in done.stderr
    assert done.returncode == (2 if words == ("throughpt",) else 0), done.stderr
    if words == ("--help",):
        assert re.search(rf"warning: {PLUGIN} cannot be loaded: ModuleNotFoundError: ", done.stderr)
        assert f"({path}:{line}" in done.stderr
        assert "    doctor" in done.stdout
    elif words == ("doctor",):
        assert f"cannot be loaded: ModuleNotFoundError: No module named 'argparze' ({path}:{line}" in done.stdout


# Takes seconds: make test has plug-ins that cannot be loaded.
@pytest.mark.nightly
def test_words_for_a_world_file_that_are_no_mapping(tmp_path: Path) -> None:
    path, _ = with_mistake(tmp_path, "belt.py", 'return {**place, "length"', 'return 3, {"length"')
    (tmp_path / "hall.yaml").write_text(HALL)
    code = (
        "from sim_node.world import load; from sim_node.world.writers.yaml import to_yaml; to_yaml(load('hall.yaml'))"
    )
    done = python(tmp_path, "-c", code, site=tmp_path / "site")
    output = done.stderr.splitlines()[-1]
    assert re.search(
        f"PluginFault: {PLUGIN}: kind of part 'belts': from data\\(\\), a dict is needed, found \\(3,", output
    )
    assert f"({path}:" in output


def test_a_command_cannot_take_the_name_of_a_shipped_one(tmp_path: Path) -> None:
    with_mistake(tmp_path, "throughput.py", '@command("throughput"', '@command("run"')
    done = command(tmp_path, "throughput", "hall.yaml", site=tmp_path / "site")
    assert done.returncode == 1
    assert "ValueError: command 'run': both sim_node.cli.run and conveyor.throughput" in done.stderr
