"""Supervision of programs: start them, report how they end, restart them if desired, and stop all of them together."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress

from sim_node.simulation.programs import guard
from sim_node.simulation.programs.program import Program, ProgramFault, end_of, opened

# Time between SIGTERM and SIGKILL, s.
PATIENCE_S = 2.0
# Initial and maximum pause before a restart, s. It doubles each time, until the program has run for STEADY_S.
FIRST_PAUSE_S, MAX_PAUSE_S, STEADY_S = 1.0, 30.0, 10.0


class Supervisor:
    """Runs programs until `stop`, each in a session and process group of its own.

    No program outlives this process, however it ends: see `sim_node.simulation.programs.guard`. Use a supervisor from
    one thread; only `ask_to_end` may be called from any.

    Args:
        report: Called with one line of text whenever a program starts or ends, from threads of the supervisor.
        patience_s: How long a program may take to end (s).

    Attributes:
        running: The programs by name.
    """

    def __init__(self, report: Callable[[str], None] = lambda line: None, *, patience_s: float = PATIENCE_S) -> None:
        self.running: dict[str, Running] = {}
        self._leaving: list[Running] = []
        self._report, self._patience_s = report, patience_s

    def __enter__(self) -> Supervisor:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self, program: Program) -> Running:
        """Start a program, after its delay if it has one.

        Args:
            program: The program to start.

        Returns:
            The running program.

        Raises:
            ProgramFault: The program cannot be started, or another one has its name.
        """
        if program.name in self.running:
            raise ProgramFault(f"a second program {program.name!r}")
        running = self.running[program.name] = Running(program, self._report, self._patience_s)
        return running

    def end(self, name: str) -> None:
        """End one program, without waiting for it. Another one may use its name from now on.

        Args:
            name: The program.

        Raises:
            KeyError: There is no such program.
        """
        running = self.running.pop(name)
        self._leaving.append(running)
        running.ask_to_end()

    def ask_to_end(self) -> None:
        """Send all programs SIGTERM, and SIGKILL to those that run on for too long. Do not wait for them."""
        # Iterate over a copy: a change of the world may start programs from the thread of the run.
        for running in tuple(self.running.values()):
            running.ask_to_end()

    def wait(self, seconds: float) -> None:
        """Wait until all programs have ended, up to a time limit.

        Args:
            seconds: The maximum time to wait, s.
        """
        deadline = time.monotonic() + seconds
        for running in tuple(self.running.values()):
            running.ended.wait(max(deadline - time.monotonic(), 0.0))

    def stop(self) -> None:
        """Stop all programs, and wait until they have ended."""
        self.ask_to_end()
        for running in (*self._leaving, *self.running.values()):
            running.join()
        self._leaving.clear()
        self.running.clear()


class Running:
    """A program that is started and restarted by a thread.

    Attributes:
        program: The program.
        starts: How often it has been started.
        ended: Set once it has ended and will not be restarted.
    """

    def __init__(self, program: Program, report: Callable[[str], None], patience_s: float = PATIENCE_S) -> None:
        self.program, self._patience_s = program, patience_s
        self.starts = 0
        self.ended = threading.Event()
        self._executable = program.executable()
        self._log = program.log_file()
        self._report = report
        self._over = threading.Event()
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._output = self._open_log()
        self._thread = threading.Thread(target=self._supervise, name=f"program {program.name}", daemon=True)
        self._thread.start()

    @property
    def pid(self) -> int | None:
        """The process id of the guard, whose only child is the program; None while it does not run."""
        process = self._process
        return None if process is None else process.pid

    def status(self) -> str:
        """Describe in one line whether the program runs."""
        if self.pid is not None:
            return f"runs, started {self.starts} times" if self.starts > 1 else "runs"
        return "has ended" if self.ended.is_set() else "waits to be started"

    def ask_to_end(self) -> None:
        """Stop the program, without waiting for its end."""
        with self._lock:
            self._over.set()
            process = self._process
        if process is not None and process.stdin is not None:
            process.stdin.close()

    def join(self) -> None:
        """Wait until the program has ended."""
        self._thread.join()

    def _open_log(self) -> int:
        try:
            return opened(self._log)
        except OSError as error:
            raise ProgramFault(f"cannot write its log {self._log}: {error.strerror}") from None

    def _supervise(self) -> None:
        """Run the thread: start the program, and restart it as its policy demands."""
        name, restart = self.program.name, self.program.restart
        pause_s = FIRST_PAUSE_S
        try:
            self._over.wait(self.program.delay_s)
            while True:
                began = time.monotonic()
                code = self._run()
                if code is None or self._over.is_set():
                    return
                lasted = time.monotonic() - began
                again = restart == "always" or (restart == "on-failure" and code != 0)
                pause_s = FIRST_PAUSE_S if lasted >= STEADY_S else pause_s
                then = f", started again in {pause_s:g} s" if again else ""
                self._report(f"{name}: ended with {_shown(code)} after {lasted:.1f} s{then}{end_of(self._log)}")
                if not again:
                    return
                self._over.wait(pause_s)
                pause_s = min(2.0 * pause_s, MAX_PAUSE_S)
        finally:
            self.ended.set()
            os.close(self._output)

    def _run(self) -> int | None:
        """Run the program once. Return its exit code, or None if it was not started."""
        program = self.program
        command = [
            sys.executable,
            "-I",
            "-S",
            guard.__file__,
            str(self._patience_s),
            self._executable,
            *program.command,
        ]
        with self._lock:
            if self._over.is_set():
                return None
            try:
                process = subprocess.Popen(
                    command,
                    stdin=subprocess.PIPE,
                    stdout=self._output,
                    stderr=self._output,
                    cwd=program.cwd,
                    env=program.environment,
                    start_new_session=True,
                )
            except OSError as error:
                self._report(f"{program.name}: cannot be started: {error.strerror}")
                return None
            self._process = process
            self.starts += 1
        self._report(f"{program.name}: started, its output goes to {self._log}")
        code = process.wait()
        with self._lock:
            self._process = None
        if process.stdin is not None:
            with suppress(OSError):
                process.stdin.close()
        return code


def _shown(code: int) -> str:
    """Describe an exit code, as in `exit code 1` or `signal SIGSEGV`."""
    number = -code if code < 0 else code - 128
    with suppress(ValueError):
        return f"signal {signal.Signals(number).name}"
    return f"exit code {code}"
