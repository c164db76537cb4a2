"""The built wheel in an empty environment, alone and with each extra: every command works, or names what it lacks.

`make test-wheel` runs it; a row takes minutes on a busy machine, and this is the only test that downloads packages. pip
installs the core once. The environment of each extra is a copy of that one by hard links, in which pip installs the
rest: packages, their compiled files, the kernels that the core's row has compiled, and the messages that the row of
`ros` has built, are not made again.
"""

from __future__ import annotations

import pty
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from importlib import metadata
from pathlib import Path

import pytest
from claims import free_domain
from fetching import environment_of_pip
from installing import clone_environment, copy_sources
from waiting import PATIENCE, until

from sim_node.cli.commands import SHIPPED

LIMIT = 10.0 * PATIENCE
EXTRAS = tuple(metadata.metadata("sim_node").get_all("Provides-Extra") or ())
FILES = {
    "script.py": "import sim_node.extensions.elodin as el\nworld = el.World()\nworld.run(None)\n",
    "plan.yaml": "frame: enu\nitems: [{type: takeoff, height: 10}]\n",
    "ball.openplx": "Yard is Physics3D.System:\n    ball is Physics3D.Bodies.RigidBody\n",
    "yard.yaml": """\
world: yard
origin: {latitude: 47.4, longitude: 8.5, altitude: 488}
time: {step: 0.004}
ground: plane
bases: [{name: amr, model: differential, sensors: [IMU]}]
vehicles: [{name: drone, model: iris, pose: {position: [-3, 0, 0.13]}, autopilot: {type: mavlink_builtin}}]
bodies:
  - {name: post, pose: {position: [3, 0, 1]}, geometry: [{box: [0.2, 0.2, 2]}]}
  - {name: box, joint: free, pose: {position: [2, 0, 0.2]}, geometry: [{box: [0.4, 0.4, 0.4], mass: 1}]}
  - name: door
    parent: post
    joint: {type: hinge, axis: [0, 0, 1]}
    pose: {position: [0, 1, 0]}
    geometry: [{box: [0.1, 1, 1], mass: 1}]
actuators: [{joint: door, stiffness: 10, damping: 1, force: 10}]
scenario: [{name: doorbell, do: {gust: {velocity: [1, 0, 0], seconds: 1}}}]
""",
}
# Each command as it is run, and the extras that it needs, in the order in which it misses them; of A|B either, and a
# message names A. They run in this order, in one folder.
COMMANDS: tuple[tuple[str, str], ...] = (
    ("worlds", ""),
    ("check orbit", ""),
    ("check ball.openplx", ""),
    ("schema", ""),
    ("new world mine", ""),
    ("run guided --no-ros --duration 0.5 --speed max --record bag", ""),
    ("tree orbit", ""),
    ("tree bag", ""),
    ("lookup delivery map drone/base_link --at 5", ""),
    ("lookup bag map drone/base_link --at 0.2", ""),
    ("info bag", ""),
    ("diff bag bag", ""),
    ("repair bag -o repaired", ""),
    ("plot bag /drone/truth/odom.pose.pose.position.z -o plot.png", ""),
    ("export bag --csv csv", ""),
    ("export bag --parquet parquet", "export"),
    ("export bag -o bag.rrd", "export"),
    ("render orbit -o picture.png", ""),
    ("render orbit --video film.gif --duration 0.2", ""),
    ("render orbit --video film.mp4 --duration 0.2", "film"),
    ("rviz orbit -o orbit.rviz", ""),
    ("snap four_bar", ""),
    ("convert 1,2,3 --from NED --to ENU", ""),
    ("urdf arm -o arm.urdf", ""),
    ("map lidar_room -o room.yaml", ""),
    ("test hover_in_gusts --duration 1", ""),
    ("scene orbit -o scene.json", ""),
    ("check scene.json", ""),
    ("completion bash", ""),
    ("view orbit --port 0", ""),
    ("autopilot --world guided", ""),
    ("run script.py --no-ros --duration 0.1 --speed max", "elodin"),
    ("sweep double_pendulum --runs 2 --duration 0.1 -o sweep", "learn|elodin"),
    ("build tf2_msgs", "ros"),
    ("run orbit --duration 0.2", ""),
    ("replay bag --speed max", "ros"),
    ("bridge", "ros"),
    ("mcp", "ros mcp"),
)
# A run, and commands on its graph.
RUN = "run yard.yaml --view=0"
ON_THE_GRAPH = (
    "topics",
    "echo /clock --once",
    "lookup --live map amr/base_link",
    "tree --live",
    "record recorded --live",
    "teleop amr",
    "pub /amr/cmd_vel geometry_msgs/Twist {} --once",
    "call /simulation/pause",
    "step 5",
    "resume",
    "set box --pose 1,0,1",
    "push box 1,0,0 --seconds 0.1",
    "move box 1,1,1",
    "drive 0.5,0,0,0 --of amr --seconds 0.5",
    "joints door=0.5 --seconds 0.5",
    "wind 1,0,0",
    "gust 2,0,0 1",
    "fog 100",
    "light 0.5",
    "trigger doorbell",
    "fail amr/IMU stuck",
    "disturb drone/IMU --bias 0.1",
    "jam drone --seconds 1",
    "battery drone --endurance 600",
    "parameter SIM_BAT_DRAIN 100 --of drone",
    "link drone --loss 0.1",
    "order arm --of drone",
    "mission plan.yaml --of drone",
    "computer stop --of drone --seconds 1",
    "attach box post",
    "detach box",
    "spawn differential --name second --pose 2,2,0",
    "remove second",
    "pause",
    "reset",
    "unload",
    "load orbit",  # one without an autopilot, which would be run from the start
)
# PX4_DIR is a folder without it: exit 2.
NOT_INSTALLED = "fly px4"
# What those print that run until Ctrl-C.
LASTING = {
    "view orbit --port 0": "viewer: ",
    "autopilot --world guided": "system 1",
    "bridge": "node /bridge",
    RUN: "/simulation",
    "lookup --live map amr/base_link": "translation",
    "tree --live": "amr/base_link",
    "record recorded --live": "recording /",
    "teleop amr": "drives amr",
}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    words = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "-q",
        "--no-deps",
        "--no-build-isolation",
        "-w",
        str(folder),
        # A build in place packs what former builds left in build/, such as modules that have moved.
        str(copy_sources(folder / "sources")),
    ]
    subprocess.run(words, check=True, timeout=PATIENCE)
    return next(folder.glob("*.whl"))


@pytest.fixture(scope="module")
def environments(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[frozenset[str], Path]:
    """The environments that there are, by their extras: that of the core, and those of rows that have passed."""
    folder = tmp_path_factory.mktemp("core") / "env"
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    install(folder, str(wheel))
    return {frozenset(): folder}


def test_every_command_is_listed() -> None:
    lines = (*(words for words, _ in COMMANDS), RUN, *ON_THE_GRAPH, NOT_INSTALLED, "doctor")
    assert {line.split()[0] for line in lines} == set(SHIPPED)


@pytest.mark.wheel
@pytest.mark.timeout(7200)  # to make an environment and compile its kernels takes long on a busy machine
@pytest.mark.parametrize("extras", ["", *EXTRAS, "mcp,ros", "all,ros"])
def test_every_command_with_one_extra(
    extras: str, wheel: Path, environments: dict[frozenset[str], Path], tmp_path: Path
) -> None:
    have = frozenset(filter(None, extras.split(",")))
    shell = Shell(tmp_path, environments[max((each for each in environments if each <= have), key=len)])
    if extras:
        shell.environment = clone_environment(shell.environment, tmp_path / "env")
        install(shell.environment, f"{wheel}[{extras}]")
    for name, text in FILES.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    for words, needs in COMMANDS:
        shell.run(words, lacking(needs, have))
    missing = lacking("ros", have)
    with shell.begun(RUN) if not missing else nullcontext():
        for words in ON_THE_GRAPH:
            shell.run(words, missing)
    shell.run(NOT_INSTALLED, code=2)
    # Without ROS 2, nodes cannot run; with it and what `build` has added, all is there.
    shell.run("doctor", code=int("ros" not in have))
    assert not shell.faults, "\n".join(shell.faults)
    environments[have] = shell.environment


def lacking(needs: str, have: frozenset[str]) -> str:
    """The first extra that is needed and not there, "" if none is. `all` has all but ros."""

    def there(each: str) -> bool:
        return not have.isdisjoint(each.split("|")) or ("all" in have and each != "ros")

    return next((each.partition("|")[0] for each in needs.split() if not there(each)), "")


class Shell:
    """A folder, an environment whose commands run in it, and what was wrong with them."""

    def __init__(self, folder: Path, environment: Path) -> None:
        self.folder, self.environment = folder, environment
        self.faults: list[str] = []
        # `teleop` wants one. Its other end stays open, too.
        _, self._terminal = pty.openpty()
        own = {"ROS_DOMAIN_ID": str(free_domain()), "PYTHONUNBUFFERED": "1", "PX4_DIR": str(folder)}
        self._variables = {**environment_of_pip(), **own}

    def run(self, words: str, missing: str = "", code: int = 0) -> None:
        """Run a command, which must say that an extra is missing, or else exit with `code`."""
        if words in LASTING and not missing:
            with self.begun(words):
                return
        ran = subprocess.run(
            self._command(words), cwd=self.folder, env=self._variables, capture_output=True, text=True, timeout=LIMIT,
            stdin=self._terminal if words in LASTING else subprocess.DEVNULL, check=False,
        )  # fmt: skip
        if missing:
            named = f"sim_node[{missing}]" in ran.stderr and "internal error" not in ran.stderr
            right = named and ran.returncode in (1, 2)
        else:
            right = ran.returncode == code
        if not right:
            self.faults.append(f"{words}: {ran.returncode}: {(ran.stderr or ran.stdout)[-500:]}")

    @contextmanager
    def begun(self, words: str) -> Iterator[None]:
        """Run a lasting command, from where it prints what it should; Ctrl-C must end it."""
        output = self.folder / f"{words.split()[0]}.txt"
        with output.open("w") as out, subprocess.Popen(
            self._command(words), cwd=self.folder, env=self._variables, stdin=self._terminal, stdout=out,
            stderr=subprocess.STDOUT, start_new_session=True,
        ) as process:  # fmt: skip
            try:
                prints = LASTING[words]
                until(lambda: prints in output.read_text() or process.poll() is not None, words, patience=LIMIT)
                yield
                process.send_signal(signal.SIGINT)
                code = process.wait(LIMIT)
            finally:
                process.kill()
        if code != 0 or prints not in output.read_text():
            self.faults.append(f"{words}: {code}: {output.read_text()[-500:]}")

    def _command(self, words: str) -> list[str | Path]:
        return [self.environment / "bin" / "sim_node", *words.split()]


def install(environment: Path, wanted: str) -> None:
    """Let pip install something in an environment, and check that all fits together."""
    pip = [str(environment / "bin" / "python"), "-m", "pip"]
    for words in (["install", "-q", wanted], ["check"]):
        subprocess.run([*pip, *words], check=True, env=environment_of_pip())
