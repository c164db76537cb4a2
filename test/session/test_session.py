"""Sessions as their users have them: real bags, ports, pages and programs; how they open, fail and close."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest
import yaml
from claims import can_be_bound, free_instance, free_port
from mcap.reader import make_reader
from waiting import PATIENCE, until, until_ended

from sim_node.autopilots.lockstep.px4 import FIRST_PORT as PX4_PORT
from sim_node.cli.main import main
from sim_node.mavlink.ports import PortInUse
from sim_node.messages.topic import Send, Topic, absolute
from sim_node.recording.bag import BagError
from sim_node.recording.settings import RecordingSettings
from sim_node.session import MissingExtra, Publishing, Session
from sim_node.simulation import Snapshot
from sim_node.viewing.ports import PagePortInUse
from sim_node.world import FrameTable, World, WorldError
from sim_node.world.load import loads

SMALL = RecordingSettings(spare_bytes=0)
WORLD = """
world: yard
origin: {{latitude: 47.4, longitude: 8.5, altitude: 488}}
time: {{step: 0.004}}
physics: {{integrator: euler, timestep: 0.001}}
vehicles:
  - {{name: v, model: iris, autopilot: {{type: px4, instance: {instance}}}}}
processes:
  sleeper: {{command: [{command}, "1000000"], log: log.txt}}
"""


class Ticks:
    """A sink that keeps the times of its ticks, and raises after some."""

    def __init__(self, after: int = sys.maxsize, failure: BaseException | None = None) -> None:
        self.ns: list[int] = []
        self.after, self.failure = after, failure
        self.closed = False

    def open(self, world: World, frames: FrameTable) -> None:
        pass

    def write(self, snapshot: Snapshot) -> None:
        self.ns.append(snapshot.time_ns)
        if len(self.ns) > self.after and self.failure is not None:
            raise self.failure

    def close(self) -> None:
        self.closed = True


class Kept:
    """An outlet that keeps what comes, by topic."""

    def __init__(self) -> None:
        self.messages: dict[str, list[tuple[int, bytes]]] = {}

    def advertise(self, topic: Topic) -> Send:
        kept = self.messages.setdefault(absolute(topic.name), [])
        return lambda time_ns, data: kept.append((time_ns, bytes(data)))


class Yard:
    """A world with everything: an autopilot's port, a program, and where it is recorded and shown."""

    def __init__(self, folder: Path, command: str = "sleep") -> None:
        self.folder = folder
        self.bag = folder / "bag"
        instance = free_instance()
        self.autopilot, self.page = PX4_PORT + instance, free_port(socket.SOCK_STREAM)
        self.world = folder / "yard.yaml"
        self.world.write_text(WORLD.format(instance=instance, command=command), encoding="utf-8")
        self.before = set(threading.enumerate())
        self.ticks = Ticks()

    def session(self, **options: Any) -> Session:
        given = {"record": self.bag, "recording": SMALL, "view": self.page, "processes": True, "sinks": (self.ticks,)}
        return Session(self.world, **{**given, **options})

    def assert_nothing_is_left(self) -> None:
        """No thread, no child, no port."""
        until(lambda: all(map(is_idle, set(threading.enumerate()) - self.before)), "the end of all threads")
        assert not [child for child in psutil.Process().children(recursive=True) if "1000000" in child.cmdline()]
        for port in (self.autopilot, self.page):
            assert can_be_bound(socket.SOCK_STREAM, port)


def is_idle(thread: threading.Thread) -> bool:
    """Of a pool: it ends with its pool, whenever that is collected."""
    return thread.name.startswith(("ThreadPoolExecutor", "asyncio"))


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def times(bag: Path, topic: str = "/clock") -> list[int]:
    """Of the messages on a topic, read by the index of a file that is whole."""
    (path,) = bag.glob("*.mcap")
    with path.open("rb") as stream:
        reader = make_reader(stream, validate_crcs=True)
        summary = reader.get_summary()
        assert summary is not None
        assert summary.chunk_indexes
        return [message.log_time for _, _, message in reader.iter_messages([topic])]


def data(bag: Path) -> bytes:
    (path,) = bag.glob("*.mcap")
    return path.read_bytes()


# What a session does


def test_a_constructor_starts_nothing(tmp_path: Path) -> None:
    yard = Yard(tmp_path)
    process = psutil.Process()
    before = set(threading.enumerate()), process.children(recursive=True), process.num_fds()
    session = yard.session()
    assert (set(threading.enumerate()), process.children(recursive=True), process.num_fds()) == before
    assert not yard.bag.exists()
    session.close()
    yard.assert_nothing_is_left()
    with pytest.raises(RuntimeError, match=r"not open; write `with Session"):
        session.run(1.0)


@pytest.mark.parametrize(
    "parts", [(0.5, 1.5), *(pytest.param(each, marks=pytest.mark.nightly) for each in ((2.0,), (1.0, 0.5, 0.5)))]
)
def test_a_run_is_the_commands_run(parts: tuple[float, ...], tmp_path: Path) -> None:
    """The same bag, byte for byte, however the two seconds are divided."""
    with Session("orbit", seed=3, real_time_factor=0.0, record=tmp_path / "bag", recording=SMALL) as session:
        for seconds in parts:
            session.run(seconds)
            assert session.loop.paused
    command = ["run", "orbit", "--no-ros", "--seed", "3", "--duration", "2", "--speed", "max"]
    assert main([*command, "--record", str(tmp_path / "other" / "bag")]) == 0
    assert data(tmp_path / "bag") == data(tmp_path / "other" / "bag")


def test_a_world_of_its_own_and_a_path_are_run_too(tmp_path: Path) -> None:
    path = tmp_path / "still.yaml"
    path.write_text("world: still\nframes: [{name: a}]\n", encoding="utf-8")
    for world in (World("still"), path, str(path)):
        with Session(world, real_time_factor=0.0) as session:
            session.run(1.0)
            assert (session.world.name, session.simulation.time_ns) == ("still", 1_000_000_000)


def test_everything_is_there_while_it_is_open_and_gone_afterwards(tmp_path: Path) -> None:
    yard = Yard(tmp_path)
    with yard.session(real_time_factor=0.0) as session:
        socket.create_connection(("127.0.0.1", yard.autopilot)).close()
        assert session.viewer is not None
        assert urllib.request.urlopen(session.viewer.url, timeout=PATIENCE).status == 200
        sleeper = session.programs.running["sleeper"]
        pid = until(lambda: sleeper.pid, "the program runs")
        family = [guard := psutil.Process(pid), *guard.children(recursive=True)]
        assert not yard.bag.exists(), "time has not begun"
        session.start()
        until(lambda: len(yard.ticks.ns) > 0, "the first tick")
        assert session.loop.call(lambda: session.simulation.time_ns) >= 0
    until_ended(*family)
    assert yard.ticks.closed
    assert times(yard.bag) == yard.ticks.ns
    assert yaml.safe_load((yard.bag / "metadata.yaml").read_text())["rosbag2_bagfile_information"]["message_count"] > 0
    yard.assert_nothing_is_left()


def test_a_session_that_never_ran_leaves_nothing(tmp_path: Path) -> None:
    yard = Yard(tmp_path)
    with yard.session():
        pass
    assert not yard.bag.exists()
    yard.assert_nothing_is_left()


def test_what_an_outlet_gets_is_what_is_recorded(tmp_path: Path) -> None:
    kept = Kept()
    publishing = Publishing(outlet=kept)
    with Session(
        "quadrotor", real_time_factor=0.0, record=tmp_path / "bag", recording=SMALL, publishing=publishing
    ) as session:
        session.run(0.5)
    (path,) = (tmp_path / "bag").glob("*.mcap")
    found: dict[str, list[tuple[int, bytes]]] = {}
    with path.open("rb") as stream:
        for _, channel, message in make_reader(stream).iter_messages(log_time_order=False):
            found.setdefault(channel.topic, []).append((message.log_time, message.data))
    assert len(found) > 5
    assert found == {topic: messages for topic, messages in kept.messages.items() if messages}


def test_a_session_is_opened_once() -> None:
    session = Session("orbit")
    with session, pytest.raises(RuntimeError, match="opened only once"):
        session.open()
    session.close()


# How it fails


def used(port: int) -> socket.socket:
    return socket.create_server(("127.0.0.1", port))


def test_a_taken_port_of_an_autopilot_opens_nothing(tmp_path: Path) -> None:
    yard = Yard(tmp_path)
    with used(yard.autopilot), pytest.raises(PortInUse, match="the port is in use"):
        yard.session().open()
    yard.assert_nothing_is_left()


def test_a_bag_that_is_there_closes_the_autopilots(tmp_path: Path) -> None:
    yard = Yard(tmp_path)
    yard.bag.mkdir()
    with pytest.raises(BagError, match="bag"):
        yard.session().open()
    yard.assert_nothing_is_left()


def test_a_taken_port_of_a_page_closes_the_autopilots(tmp_path: Path) -> None:
    yard = Yard(tmp_path)
    with used(yard.page), pytest.raises(PagePortInUse, match=str(yard.page)):
        yard.session().open()
    assert not yard.bag.exists()
    yard.assert_nothing_is_left()


def test_a_missing_program_is_reported_before_a_port_in_use(tmp_path: Path) -> None:
    yard = Yard(tmp_path, command="no_such_program_here")
    with used(yard.autopilot), pytest.raises(WorldError, match="no_such_program_here"):
        yard.session().open()
    yard.assert_nothing_is_left()


def test_a_program_that_cannot_be_started_closes_all_the_rest(tmp_path: Path) -> None:
    yard = Yard(tmp_path, command="no_such_program_here")
    with pytest.raises(WorldError, match="no_such_program_here"):
        yard.session().open()
    assert not yard.bag.exists()
    yard.assert_nothing_is_left()


def test_what_fails_in_a_run_is_raised_once_and_the_bag_is_whole(tmp_path: Path) -> None:
    ticks = Ticks(30, OSError("the cable is out"))
    session = Session("orbit", real_time_factor=0.0, record=tmp_path / "bag", recording=SMALL, sinks=(ticks,))
    session.open()
    with pytest.raises(OSError, match="the cable is out"):
        session.run(10.0)
    session.close()
    assert ticks.closed
    assert times(tmp_path / "bag") == ticks.ns


def test_an_exception_in_the_block_closes_the_session(tmp_path: Path) -> None:
    yard = Yard(tmp_path)

    def body() -> None:
        with yard.session(paused=True) as session:
            session.start()
            session.loop.call(lambda: 1 // 0)

    with pytest.raises(ZeroDivisionError):
        body()
    assert times(yard.bag) == yard.ticks.ns == [0]
    yard.assert_nothing_is_left()


def test_ctrl_c_in_a_run_closes_the_session(tmp_path: Path) -> None:
    """It comes as the main thread waits for the run's end."""
    ticks = Ticks()

    def interrupt() -> None:
        until(lambda: len(ticks.ns) > 5, "it runs")
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    threading.Thread(target=interrupt).start()
    with pytest.raises(KeyboardInterrupt), Session(
        "orbit", record=tmp_path / "bag", recording=SMALL, sinks=(ticks,)
    ) as session:  # fmt: skip
        session.run(1e6)
    assert times(tmp_path / "bag") == ticks.ns


# Takes seconds: make test has packages that are missing in test/test_packages.py.
@pytest.mark.nightly
def test_a_missing_package_is_named_with_its_extra(tmp_path: Path) -> None:
    """In a process that has no packages of extras."""
    program = (
        "import sys, importlib.util; sys.modules['foxglove'] = None\n"
        "found = importlib.util.find_spec\n"
        "importlib.util.find_spec = lambda name, package=None: None if name == 'foxglove' else found(name, package)\n"
        "from sim_node.session import MissingExtra, Session\n"
        "try: Session('orbit', foxglove=0).open()\n"
        "except MissingExtra as error: print(error)"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, env=os.environ, timeout=PATIENCE, capture_output=True, text=True,
        check=True,
    )  # fmt: skip
    assert "foxglove is not installed" in ran.stdout
    assert "pip install 'sim_node[export]'" in ran.stdout
    assert issubclass(MissingExtra, ImportError)


def test_lines_for_people_go_where_they_are_reported_to(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """To the logger of the package, unless somebody takes them."""
    yard = Yard(tmp_path)
    lines: list[str] = []
    tell: Callable[[str], None] = lines.append
    with caplog.at_level("INFO", "sim_node"):
        with yard.session(processes=None, report=tell):
            pass
        assert not caplog.messages
        with yard.session(processes=None):
            pass
    assert any("PX4" in line or "px4" in line for line in lines)
    assert lines == caplog.messages
    assert not [line for line in lines if "sleeper" in line], "nobody asked for processes, nor could ask for them"


def test_connections_of_autopilots_follow_changes_of_the_world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    reports: list[str] = []
    instance = free_instance()
    with_px4 = loads(WORLD.format(instance=instance, command=sys.executable))
    without = replace(with_px4, vehicles=(), processes=())
    with Session(without, processes=True, real_time_factor=0.0, report=reports.append) as session:
        session.run(0.02)
        assert not session.autopilots
        session.loop.change(with_px4)
        assert [each.name for each in session.autopilots] == ["v"]
        sleeper = session.programs.running["sleeper"]
        until(lambda: sleeper.pid is not None, "the program of the new process runs")
        assert Path("log.txt").exists(), "a world without a file is in the current folder"
        assert not can_be_bound(socket.SOCK_STREAM, PX4_PORT + instance)
        session.run(0.02)
        with pytest.raises(WorldError, match="another process of this name is running"):
            session.loop.change(replace(with_px4, processes=(replace(with_px4.processes[0], restart="always"),)))
        session.loop.change(without)
        assert sleeper.ended.wait(PATIENCE)
        assert not session.programs.running
        assert not session.autopilots
        session.run(0.02)
    assert can_be_bound(socket.SOCK_STREAM, PX4_PORT + instance)
