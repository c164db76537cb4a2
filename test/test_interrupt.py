"""Waiting for signals, in processes of their own that get real ones."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from signal import Signals

import pytest
from nightly import only
from waiting import PATIENCE

from sim_node.interrupt import Interrupt

EACH = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT]

PRELUDE = """
import os, signal, sys, threading
import sim_node.interrupt
from sim_node.interrupt import Interrupt
say = lambda text: print(text, flush=True)
"""

# Waits, then works at its end until it is told to go on.
WAITS = """
with Interrupt() as interrupt:
    say("ready")
    interrupt.wait()
    say("over")
    sys.stdin.readline()
say("clean")
"""


class Child:
    """A Python program that is talked to by lines and signals."""

    def __init__(self, program: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", PRELUDE + program],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def receive(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def tell(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write("go on\n")
        self.process.stdin.flush()

    def signal(self, number: Signals) -> None:
        self.process.send_signal(number)

    def end(self) -> tuple[int, list[str], str]:
        """Exit code, what was still said, and the last line on stderr."""
        out, err = self.process.communicate(timeout=PATIENCE)
        return self.process.returncode, out.split(), err.strip().rpartition("\n")[2]


@contextmanager
def child(program: str) -> Iterator[Child]:
    running = Child(program)
    # Not one of the lines that are waited for may hang the test.
    watchdog = threading.Timer(PATIENCE, running.process.kill)
    watchdog.start()
    try:
        yield running
    finally:
        watchdog.cancel()
        running.process.kill()
        running.process.communicate()


@pytest.mark.parametrize("number", EACH)
def test_a_signal_ends_the_wait_and_not_the_process(number: Signals) -> None:
    with child(WAITS) as waiting:
        assert waiting.receive() == "ready"
        waiting.signal(number)
        assert waiting.receive() == "over"
        waiting.tell()
        assert waiting.end() == (0, ["clean"], "")


@pytest.mark.parametrize("first", EACH)
@pytest.mark.parametrize("second", only(EACH, 0))
def test_a_doubled_signal_is_one(first: Signals, second: Signals) -> None:
    """A terminal and `timeout` both send it: the second comes while the program ends."""
    with child("sim_node.interrupt.PATIENCE_S = 3600.0\n" + WAITS) as waiting:
        assert waiting.receive() == "ready"
        waiting.signal(first)
        waiting.signal(second)
        assert waiting.receive() == "over"
        waiting.signal(second)
        waiting.tell()
        assert waiting.end() == (0, ["clean"], "")


def test_nohup_keeps_a_hangup_away() -> None:
    with child("signal.signal(signal.SIGHUP, signal.SIG_IGN)\n" + WAITS) as waiting:
        assert waiting.receive() == "ready"
        waiting.signal(signal.SIGHUP)
        waiting.signal(signal.SIGTERM)
        assert waiting.receive() == "over"
        waiting.signal(signal.SIGHUP)
        waiting.tell()
        assert waiting.end() == (0, ["clean"], "")


def test_an_impatient_signal_is_a_keyboard_interrupt() -> None:
    """One that comes longer after the first than patience lasts ends what hangs at the end."""
    with child("sim_node.interrupt.PATIENCE_S = 0.0\n" + WAITS) as waiting:
        assert waiting.receive() == "ready"
        waiting.signal(signal.SIGINT)
        assert waiting.receive() == "over"
        waiting.signal(signal.SIGINT)
        code, output, error = waiting.end()
        assert (code, output, error) == (-signal.SIGINT, [], "KeyboardInterrupt")


def test_an_impatient_signal_ends_a_start_that_hangs() -> None:
    """The first one is kept for the wait that has not begun; the second is enough."""
    hangs = """
class Told(Interrupt):
    def _handle(self, number, frame):
        super()._handle(number, frame)
        say("signal")
sim_node.interrupt.PATIENCE_S = 0.0
with Told():
    say("ready")
    sys.stdin.readline()
"""
    with child(hangs) as starting:
        assert starting.receive() == "ready"
        starting.signal(signal.SIGTERM)
        assert starting.receive() == "signal"
        starting.signal(signal.SIGTERM)
        assert starting.end()[2] == "KeyboardInterrupt"


@pytest.mark.parametrize("number", EACH)
def test_a_signal_before_the_wait_is_kept(number: Signals) -> None:
    """It came while the program was starting: starting ends well and can know, the wait does not begin."""
    starts = f"""
with Interrupt() as interrupt:
    assert not interrupt.asked
    os.kill(os.getpid(), {int(number)})
    assert interrupt.asked
    say("started")
    interrupt.wait()
say("clean")
"""
    with child(starts) as starting:
        assert starting.end() == (0, ["started", "clean"], "")


@pytest.mark.parametrize("number", EACH)
def test_work_that_must_not_be_hit_ends_first(number: Signals) -> None:
    works = f"""
from sim_node.interrupt import held
try:
    with Interrupt():
        held.begin()
        held.begin()
        os.kill(os.getpid(), {int(number)})
        say("inner")
        held.end()
        say("outer")
        held.end()
        say("on")
except KeyboardInterrupt:
    say("interrupted")
"""
    with child(works) as working:
        assert working.end() == (0, ["inner", "outer", "interrupted"], "")


def test_numba_compiles_to_the_end_and_a_start_that_compiles_ends_then() -> None:
    """Its callbacks from LLVM drop exceptions, after which it fails, or goes on to the next function."""
    compiles = """
import numba
from numba.core import event
import sim_node.spatial.geometry.kernel
class Stop(event.Listener):
    def on_start(self, event):
        os.kill(os.getpid(), signal.SIGINT)
    def on_end(self, event):
        say("compiled")
event.register("numba:compile", Stop())
try:
    with Interrupt():
        numba.njit("float64(float64)")(lambda x: 2.0 * x)
        say("on")
except KeyboardInterrupt:
    say("interrupted")
"""
    with child(compiles) as compiling:
        assert compiling.end() == (0, ["compiled", "interrupted"], "")


def test_a_thread_ends_the_wait() -> None:
    wakes = """
with Interrupt() as interrupt:
    threading.Thread(target=interrupt.wake).start()
    interrupt.wait()
say("clean")
"""
    with child(wakes) as waiting:
        assert waiting.end() == (0, ["clean"], "")


def test_other_signals_with_handlers_do_not_end_the_wait() -> None:
    """As a library's SIGCHLD does not."""
    others = """
signal.signal(signal.SIGUSR1, lambda number, frame: say("usr1"))
told = []
with Interrupt() as interrupt:
    def wake():
        sys.stdin.readline()
        told.append(True)
        interrupt.wake()
    threading.Thread(target=wake).start()
    say("ready")
    interrupt.wait()
    say("told" if told else "too soon")
"""
    with child(others) as waiting:
        assert waiting.receive() == "ready"
        for _ in range(3):
            waiting.signal(signal.SIGUSR1)
            assert waiting.receive() == "usr1"
        waiting.tell()
        assert waiting.end() == (0, ["told"], "")


@pytest.mark.parametrize("raising", [False, True])
def test_afterwards_all_is_as_before(raising: bool) -> None:
    """Handlers, the descriptor that signals wake, and the number of open files."""
    restores = f"""
signal.signal(signal.SIGTERM, lambda number, frame: say("mine"))
handlers = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
read, write = os.pipe()
os.set_blocking(write, False)
signal.set_wakeup_fd(write)
files = len(os.listdir("/proc/self/fd"))
try:
    with Interrupt():
        if {raising}:
            raise LookupError
except LookupError:
    say("raised")
assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == handlers
assert len(os.listdir("/proc/self/fd")) == files
assert signal.set_wakeup_fd(write) == write
os.kill(os.getpid(), signal.SIGTERM)
assert os.read(read, 10) == bytes([signal.SIGTERM])
"""
    with child(restores) as restoring:
        assert restoring.end() == (0, ["raised", "mine"] if raising else ["mine"], "")


def test_another_thread_than_the_main_one_is_refused() -> None:
    """Python installs handlers in the main thread only, and says so."""
    refused = []

    def enter() -> None:
        try:
            with Interrupt():
                pass
        except ValueError as error:
            refused.append(str(error))

    thread = threading.Thread(target=enter)
    thread.start()
    thread.join(PATIENCE)
    assert len(refused) == 1
    assert "main thread" in refused[0]


@pytest.mark.parametrize("number", EACH)
def test_one_that_came_is_known_before_anybody_waits(number: Signals) -> None:
    with Interrupt() as interrupt:
        assert not interrupt.asked
        signal.raise_signal(number)
        assert interrupt.asked
        interrupt.wait()  # returns: it is not lost


def test_an_end_that_comes_by_itself_was_not_asked_for() -> None:
    with Interrupt() as interrupt:
        interrupt.wake()
        assert not interrupt.asked
