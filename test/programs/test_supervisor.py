"""Programs are started, watched, started again and ended, with real processes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from waiting import PATIENCE, has_ended, until, until_ended

from sim_node.simulation.programs import Program, ProgramFault, Supervisor
from sim_node.simulation.programs.program import log_folder


class Reported:
    """Lines that a supervisor tells."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._grew = threading.Condition()

    def __call__(self, line: str) -> None:
        with self._grew:
            self.lines.append(line)
            self._grew.notify_all()

    def wait_for(self, text: str, times: int = 1) -> str:
        with self._grew:
            assert self._grew.wait_for(lambda: len(self._with(text)) >= times, PATIENCE), self.lines
        return self._with(text)[times - 1]

    def _with(self, text: str) -> list[str]:
        return [line for line in self.lines if text in line]


@pytest.fixture
def reported() -> Reported:
    return Reported()


@pytest.fixture
def supervisor(reported: Reported) -> Iterator[Supervisor]:
    with Supervisor(reported) as supervisor:
        yield supervisor


@pytest.fixture(autouse=True)
def logs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ROS_LOG_DIR", str(tmp_path / "log"))
    return tmp_path / "log"


def python(name: str, script: str, **more: object) -> Program:
    return Program(name, (sys.executable, "-u", "-c", textwrap.dedent(script)), **more)  # type: ignore[arg-type]


def appeared(file: Path) -> str:
    """The first line of a file, once it is whole."""
    line = until(lambda: file.exists() and file.read_text().rpartition("\n")[0], f"a line in {file}")
    return str(line).partition("\n")[0]


def test_output_goes_to_the_log_and_the_end_is_reported(supervisor: Supervisor, reported: Reported, logs: Path) -> None:
    supervisor.start(python("px4", "import sys; print('booting'); print('no airframe', file=sys.stderr); sys.exit(3)"))
    line = reported.wait_for("ended")
    assert line.startswith("px4: ended with exit code 3 after ")
    assert "booting | no airframe" in line
    assert str(logs / "px4.log") in line
    assert (logs / "px4.log").read_text() == "booting\nno airframe\n"


def test_the_last_log_is_kept(supervisor: Supervisor, reported: Reported, logs: Path) -> None:
    logs.mkdir()
    (logs / "px4.log").write_text("before")
    supervisor.start(python("px4", "print('now')"))
    reported.wait_for("ended with exit code 0")
    assert (logs / "px4.log.1").read_text() == "before"
    assert (logs / "px4.log").read_text() == "now\n"


def test_a_signal_is_reported_by_its_name(supervisor: Supervisor, reported: Reported) -> None:
    supervisor.start(python("px4", "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)"))
    assert "signal SIGSEGV" in reported.wait_for("ended")


def test_arguments_environment_and_folder_reach_it_whole(
    supervisor: Supervisor, reported: Reported, tmp_path: Path
) -> None:
    script = "import os, sys; print([sys.argv[1:], os.environ['WHO'], os.getcwd(), sys.stdin.read()])"
    words = ("two words", "$HOME", ";", "*", "")
    program = Program(
        "one", (sys.executable, "-c", script, *words), tmp_path, {"WHO": "me & you"}, log=tmp_path / "log.txt"
    )
    supervisor.start(program)
    reported.wait_for("ended with exit code 0")
    assert (tmp_path / "log.txt").read_text().strip() == str([list(words), "me & you", str(tmp_path), ""])


@pytest.mark.parametrize(
    ("restart", "code", "starts"), [("never", 1, 1), ("on-failure", 0, 1), ("on-failure", 1, 2), ("always", 0, 2)]
)
def test_it_is_started_again_as_asked(
    supervisor: Supervisor, reported: Reported, restart: str, code: int, starts: int
) -> None:
    running = supervisor.start(python("px4", f"raise SystemExit({code})", restart=restart))
    reported.wait_for("started, its", times=starts)
    assert ("started again in 1 s" in reported.wait_for("ended")) is (starts == 2)
    if starts == 1:
        assert running.ended.wait(PATIENCE)
    assert running.starts == starts


def test_pauses_between_starts_grow(supervisor: Supervisor, reported: Reported) -> None:
    supervisor.start(python("px4", "raise SystemExit(1)", restart="always"))
    reported.wait_for("again in 1 s")
    reported.wait_for("again in 2 s")


STUBBORN = """
    import os, signal, subprocess, sys, time
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda number, frame: print("asked", flush=True))
    deaf = "import signal, time; signal.signal(15, signal.SIG_IGN); print('up', flush=True); time.sleep(3600)"
    child = subprocess.Popen([sys.executable, "-c", deaf], stdout=subprocess.PIPE)
    child.stdout.readline()
    print(os.getpid(), child.pid, flush=True)
    while True:
        time.sleep(3600)
"""


def test_what_does_not_heed_sigterm_is_killed_two_seconds_later(
    supervisor: Supervisor, reported: Reported, tmp_path: Path
) -> None:
    log = tmp_path / "log.txt"
    supervisor.start(python("px4", STUBBORN, log=log))
    processes = [psutil.Process(int(word)) for word in appeared(log).split()]
    assert len(processes) == 2
    started = time.monotonic()
    supervisor.stop()
    assert time.monotonic() - started >= 2.0
    until_ended(*processes)
    assert "asked" in log.read_text(), "SIGTERM came first"


def test_all_are_asked_at_once(supervisor: Supervisor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three programs that do not heed SIGTERM: each has it before the time of any is over, here an hour."""
    monkeypatch.setattr("sim_node.simulation.programs.supervisor.PATIENCE_S", 3600.0)
    logs = [tmp_path / f"{number}.txt" for number in range(3)]
    for number, log in enumerate(logs):
        supervisor.start(python(f"p{number}", STUBBORN, log=log))
    processes = [psutil.Process(int(word)) for log in logs for word in appeared(log).split()]
    stopping = threading.Thread(target=supervisor.stop)
    stopping.start()
    until(lambda: all("asked" in log.read_text() for log in logs), "SIGTERM to all")
    assert not any(map(has_ended, processes))
    for process in processes:
        process.kill()
    stopping.join(PATIENCE)
    assert not stopping.is_alive()


def test_sigterm_comes_first(supervisor: Supervisor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program that heeds it is not waited for any longer: here SIGKILL would come after an hour."""
    monkeypatch.setattr("sim_node.simulation.programs.supervisor.PATIENCE_S", 3600.0)
    script = """
        import signal, sys, time
        signal.signal(signal.SIGTERM, lambda *_: (print("landed", flush=True), sys.exit(0)))
        print("flies", flush=True)
        time.sleep(3600)
    """
    log = tmp_path / "log.txt"
    supervisor.start(python("px4", script, log=log))
    appeared(log)
    supervisor.stop()
    assert log.read_text() == "flies\nlanded\n"


def test_what_it_leaves_behind_is_ended_with_it(supervisor: Supervisor, reported: Reported, tmp_path: Path) -> None:
    """A program that ends and leaves a child in its group: ports would stay taken for the next start."""
    script = f"""
        import pathlib, subprocess, time
        print(subprocess.Popen(["sleep", "3600"]).pid, flush=True)
        while not pathlib.Path({str(tmp_path / "seen")!r}).exists():
            time.sleep(0.01)
    """
    log = tmp_path / "log.txt"
    supervisor.start(python("px4", script, log=log))
    # Looked at while it lives: afterwards its number may be another process's.
    child = psutil.Process(int(appeared(log)))
    (tmp_path / "seen").touch()
    reported.wait_for("ended with exit code 0")
    until_ended(child)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells processes that another one was killed")
@pytest.mark.parametrize("victim", ["supervisor", "guard"])
def test_nothing_outlives_a_kill(victim: str, tmp_path: Path) -> None:
    log = tmp_path / "log.txt"
    script = f"""
        import sys, time
        from pathlib import Path
        from sim_node.simulation.programs import Program, Supervisor
        command = ({sys.executable!r}, "-c", {textwrap.dedent(STUBBORN)!r})
        one = Supervisor().start(Program("one", command, log=Path({str(log)!r})))
        while one.pid is None:
            time.sleep(0.01)
        print(one.pid, flush=True)
        time.sleep(3600)
    """
    with subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(script)], stdout=subprocess.PIPE, text=True
    ) as running:
        assert running.stdout is not None
        guard = psutil.Process(int(running.stdout.readline()))
        program, child = (psutil.Process(int(word)) for word in appeared(log).split())
        os.kill({"supervisor": running.pid, "guard": guard.pid}[victim], signal.SIGKILL)
        until_ended(program)
        if victim == "supervisor":
            until_ended(child, guard)
        else:
            child.kill()  # the kernel ends the guard's own child only
        running.kill()


def test_a_terminals_ctrl_c_is_not_for_programs(supervisor: Supervisor, reported: Reported, tmp_path: Path) -> None:
    """They are in sessions of their own: the signal to a terminal's group does not reach them."""
    log = tmp_path / "log.txt"
    running = supervisor.start(
        python("px4", "import os, time; print(os.getpid(), flush=True); time.sleep(3600)", log=log)
    )
    pid = int(appeared(log))
    assert running.pid is not None
    assert len({os.getsid(0), os.getsid(pid), os.getsid(running.pid)}) == 3
    assert os.getpgid(pid) == pid


def test_a_delayed_start_can_be_called_off(supervisor: Supervisor, reported: Reported) -> None:
    running = supervisor.start(Program("late", ("true",), delay_s=3600.0))
    supervisor.stop()
    assert running.starts == 0
    assert not reported.lines


def test_faults_are_reported_before_anything_runs(supervisor: Supervisor, tmp_path: Path) -> None:
    (tmp_path / "plain").write_text("text")
    (tmp_path / "plain").chmod(0o644)
    for program, message in (
        (Program("p", ("no-such-program",)), "no program 'no-such-program' on PATH"),
        (Program("p", ("./absent",), tmp_path), f"no program {tmp_path}/absent"),
        (Program("p", ("./plain",), tmp_path), "plain is not executable"),
        (Program("p", ("true",), tmp_path / "absent"), "no such folder"),
        (Program("p", ("true",), log=tmp_path / "plain" / "x.log"), "cannot write its log"),
    ):
        with pytest.raises(ProgramFault, match=message):
            supervisor.start(program)
    assert not supervisor.running


def test_logs_go_where_ros_has_them(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """rcl_logging: $ROS_LOG_DIR, else $ROS_HOME/log; XDG Base Directory Specification 0.8 for the rest."""
    assert log_folder() == tmp_path / "log"
    monkeypatch.delenv("ROS_LOG_DIR")
    monkeypatch.setenv("ROS_HOME", str(tmp_path / "ros"))
    assert log_folder() == tmp_path / "ros" / "log"
    monkeypatch.delenv("ROS_HOME")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    assert log_folder() == tmp_path / "state" / "sim_node" / "log"
    monkeypatch.setenv("XDG_STATE_HOME", "relative")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert log_folder() == tmp_path / ".local" / "state" / "sim_node" / "log"
