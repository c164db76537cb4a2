"""Stops long commands at random moments, by Ctrl-C and by kill -9: python -m stress.stops [COMMAND ...] [--stops N].

After each stop nothing that the command started may run, its ports are free, no output is half-written under its own
name, and a bag misses at most a second of what the command had reported.
"""

from __future__ import annotations

import argparse
import os
import pty
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import av
import psutil

from sim_node.recording.bag import BagError
from sim_node.recording.opening import open_bag

# From a signal to the end of everything (s): many times what an idle machine needs.
PATIENCE_S = 60.0
# What a kill may cost of a recording (s), and what a report may be late: tqdm rounds to a tenth.
MOST_LOST_S, ROUNDED_S = 1.0, 0.1
MARK = "SIM_NODE_STRESS_STOP"
SIM_NODE = (sys.executable, "-m", "sim_node.cli.main")
DOMAINS = range(90, 100)
_REPORTED = re.compile(rb"([0-9.]+) s simulated")
FILM_S, FPS = 3, 10


@dataclass(frozen=True)
class Stopped:
    """How a command ended.

    Attributes:
        folder: Where it wrote.
        killed: Whether by kill -9.
        code: Its exit code.
        output: What it printed.
    """

    folder: Path
    killed: bool
    code: int
    output: bytes


Check = Callable[[Stopped], Iterable[str]]


@dataclass(frozen=True)
class Command:
    """A command to stop.

    Attributes:
        words: Its words, in which DIR stands for a folder of its own, BAG for a bag, and PORT for a free port.
        longest: It is stopped within so much time of its start (s).
        checks: What has to hold of its output.
        beside: Another command that runs meanwhile.
    """

    words: str
    longest: float = 4.0
    checks: tuple[Check, ...] = ()
    beside: str = ""


def bag_is_whole(end: Stopped) -> Iterator[str]:
    """What was recorded can be read; after Ctrl-C without damage, and at most a second is missing."""
    folder = end.folder / "bag"
    if not folder.exists():
        return
    reported = [float(number) for number in _REPORTED.findall(end.output)]
    last = max(reported, default=0.0)
    try:
        with open_bag(folder) as bag:
            for _ in bag.messages():
                pass
            recorded = bag.end_ns / 1e9 if bag.count else 0.0
            if not end.killed and bag.damage:
                yield f"the bag is damaged: {bag.damage[0]}"
    except BagError as error:
        recorded = 0.0
        if not end.killed:
            yield f"the bag cannot be read: {error}"
    if last - recorded > MOST_LOST_S + ROUNDED_S:
        yield f"{last:.1f} s were reported, {recorded:.1f} s are in the bag"


def film_is_whole(end: Stopped) -> Iterator[str]:
    """A film under its own name has all its pictures."""
    path = end.folder / "film.mp4"
    if path.exists():
        try:
            with av.open(str(path)) as film:
                pictures = sum(1 for _ in film.decode(video=0))
        except av.FFmpegError as error:
            yield f"film.mp4 cannot be read: {error}"
            return
        if pictures < FILM_S * FPS:
            yield f"film.mp4 has {pictures} pictures of {FILM_S * FPS}"
    yield from _unmarked(end, {"film.mp4"})


def tables_are_whole(end: Stopped) -> Iterator[str]:
    """Each table under its own name is the one of an export that was not stopped."""
    whole = end.folder.parent / "whole"
    for path in (end.folder / "csv").glob("[!.]*.csv"):
        if path.read_bytes() != (whole / path.name).read_bytes():
            yield f"{path.name} is half-written"


def repaired_is_whole(end: Stopped) -> Iterator[str]:
    """A repaired bag is complete, or is not there."""
    folder = end.folder / "repaired"
    if folder.exists():
        with open_bag(folder) as bag, open_bag(end.folder.parent / "source") as source:
            if bag.damage or bag.count != source.count:
                yield f"the repaired bag has {bag.count} of {source.count} messages, {bag.damage[:1]}"
    yield from _unmarked(end, {"repaired"})


def _unmarked(end: Stopped, names: set[str]) -> Iterator[str]:
    left = [path.name for path in end.folder.iterdir()]
    half = [name for name in left if name not in names and not name.startswith(".") and ".part" not in name]
    if half:
        yield f"left behind without a mark: {', '.join(half)}"
    if not end.killed and set(left) - names:
        yield f"left behind: {', '.join(sorted(set(left) - names))}"


COMMANDS: dict[str, Command] = {
    "run": Command("run orbit --record DIR/bag", checks=(bag_is_whole,)),
    "run --no-ros": Command("run orbit --no-ros --record DIR/bag", 5.0, (bag_is_whole,)),
    "run, autopilot": Command("run guided --no-ros --record DIR/bag", 5.0, (bag_is_whole,)),
    "run --view": Command("run orbit --no-ros --view PORT", 5.0),
    "record": Command("record DIR/bag --live", checks=(bag_is_whole,), beside="run orbit"),
    "replay": Command("replay BAG"),
    "view": Command("view orbit --port PORT"),
    "view BAG": Command("view BAG --port PORT"),
    "bridge": Command("bridge --url udpin:127.0.0.1:PORT"),
    "autopilot": Command("autopilot --world guided --mavlink udpin:127.0.0.1:PORT"),
    "render": Command(
        f"render orbit --video DIR/film.mp4 --duration {FILM_S} --fps {FPS} --size 320x240", 8.0, (film_is_whole,)
    ),
    "export": Command("export BAG --csv DIR/csv", 2.0, (tables_are_whole,)),
    "repair": Command("repair BAG -o DIR/repaired", 2.0, (repaired_is_whole,)),
}


@dataclass
class Tally:
    """What came of the stops of one command."""

    stops: int = 0
    faults: list[str] = field(default_factory=list)


def stop_often(
    name: str, stops: int, seed: int, domain: int, signals: Sequence[int] | None = None, bag_s: float = 6.0
) -> Tally:
    """Start and stop a command: as often by each signal.

    Args:
        name: Of COMMANDS.
        stops: For each signal.
        seed: Of the moments.
        domain: A DDS domain that nobody else is in.
        signals: SIGINT and SIGKILL, unless given.
        bag_s: Duration of the bag that a command reads (s).
    """
    command, tally, moments = COMMANDS[name], Tally(), random.Random(f"{name}/{seed}")
    with tempfile.TemporaryDirectory(prefix="sim_node_stops_", ignore_cleanup_errors=True) as root:
        environment = {**os.environ, "ROS_DOMAIN_ID": str(domain), "ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST"}
        environment |= {"ROS_LOG_DIR": str(Path(root, "log")), "PYTHONUNBUFFERED": "1"}
        _prepare(Path(root), command.words, environment, bag_s)
        with _running(command.beside, environment):
            for number in range(stops):
                for number_of_signal in signals or (signal.SIGINT, signal.SIGKILL):
                    moment = moments.uniform(0.05, command.longest)
                    what = f"{signal.Signals(number_of_signal).name} after {moment:.2f} s"
                    folder = Path(root, f"{number}-{number_of_signal}")
                    folder.mkdir()
                    tally.faults += [
                        f"{what}: {fault}" for fault in _stop(command, folder, environment, number_of_signal, moment)
                    ]
                    tally.stops += 1
                    shutil.rmtree(folder, ignore_errors=True)
    return tally


def _prepare(root: Path, words: str, environment: dict[str, str], bag_s: float) -> None:
    """Record a bag where one is needed, and export it once to its end."""
    if "BAG" not in words.split():
        return
    run = f"run survey --no-ros --speed max --duration {bag_s:g} --record {root}/source"
    subprocess.run([*SIM_NODE, *run.split()], check=True, capture_output=True, env=environment)
    if words.startswith("export"):
        export = f"export {root}/source --csv {root}/whole"
        subprocess.run([*SIM_NODE, *export.split()], check=True, capture_output=True, env=environment)


@contextmanager
def _running(words: str, environment: dict[str, str]) -> Iterator[None]:
    if not words:
        yield
        return
    process = subprocess.Popen(
        [*SIM_NODE, *words.split()], env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        yield
    finally:
        process.send_signal(signal.SIGINT)
        process.wait()


def _stop(command: Command, folder: Path, environment: dict[str, str], number: int, moment: float) -> Iterator[str]:
    port = _free_port()
    places = {"BAG": str(folder.parent / "source"), "PORT": str(port)}
    words = [
        places.get(word, word.replace("DIR", str(folder)).replace("PORT", str(port))) for word in command.words.split()
    ]
    mark = uuid.uuid4().hex
    # A terminal: there, progress is reported five times a second.
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [*SIM_NODE, *words], env=environment | {MARK: mark}, stdin=subprocess.DEVNULL, stdout=theirs, stderr=theirs,
        start_new_session=True,
    )  # fmt: skip
    os.close(theirs)
    output = bytearray()
    reader = threading.Thread(target=_read, args=(ours, output), daemon=True)
    reader.start()
    try:
        time.sleep(moment)  # the moment is what is random; a busy machine is earlier in the command then
        over = process.poll() is not None
        process.send_signal(number)
        try:
            code = process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            yield f"runs on after {PATIENCE_S:g} s"
            process.kill()
            code = process.wait()
        orphans = _left(mark)
        if orphans:
            yield f"orphans: {', '.join(' '.join(each.info['cmdline'] or ['?'])[-80:] for each in orphans)}"
            for each in orphans:
                with suppress(psutil.NoSuchProcess):
                    each.kill()
    finally:
        if process.poll() is None:
            process.kill()
        reader.join(PATIENCE_S)
        os.close(ours)
    if b"Traceback" in output:
        yield f"a traceback: {bytes(output[-600:]).decode(errors='replace')}"
    if number == signal.SIGINT and not over and code not in (0, 130, -signal.SIGINT):
        yield f"exit code {code}: {bytes(output[-300:]).decode(errors='replace')}"
    if any(word.endswith(str(port)) for word in words) and not _is_free(port):
        yield f"port {port} is still in use"
    for check in command.checks:
        yield from check(Stopped(folder, number == signal.SIGKILL, code, bytes(output)))


def _read(terminal: int, into: bytearray) -> None:
    with suppress(OSError):  # of a terminal whose other end is closed
        while data := os.read(terminal, 65_536):
            into += data


def _left(mark: str) -> list[psutil.Process]:
    """The processes that a command has started and that do not end."""
    deadline = time.monotonic() + PATIENCE_S
    while True:
        found = []
        for process in psutil.process_iter(["cmdline", "status"]):
            with suppress(psutil.Error, OSError):
                if process.info["status"] != psutil.STATUS_ZOMBIE and process.environ().get(MARK) == mark:
                    found.append(process)
        if not found or time.monotonic() > deadline:
            return found
        time.sleep(0.05)


def _free_port() -> int:
    """Return a free port that the system gives to nobody: after a stop it is in use by what was stopped, or free."""
    while not _is_free(port := random.randrange(20_000, 30_000)):
        pass
    return port


def _is_free(port: int) -> bool:
    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
        with closing(socket.socket(socket.AF_INET, kind)) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # what is only in TIME_WAIT is free
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                return False
    return True


def main(arguments: list[str] | None = None) -> int:
    """Stop the commands; returns 1 where something was found."""
    parser = argparse.ArgumentParser(prog="python -m stress.stops", description=(__doc__ or "").partition(":")[0] + ".")
    parser.add_argument("commands", nargs="*", metavar="COMMAND", help=f"one of: {'; '.join(COMMANDS)}; all by default")
    parser.add_argument("--stops", type=int, default=100, help="by each of Ctrl-C and kill -9 (default: 100)")
    parser.add_argument("--seed", type=int, default=1, help="of the moments (default: 1)")
    # Most of the time they wait.
    cores = os.cpu_count() or 1
    parser.add_argument(
        "--workers", type=int, default=2 * cores, help="commands at a time (default: two for each core)"
    )
    options = parser.parse_args(arguments)
    unknown = [name for name in options.commands if name not in COMMANDS]
    if unknown:
        parser.error(f"no command {unknown[0]!r}; there are {'; '.join(COMMANDS)}")
    names = options.commands or list(COMMANDS)
    # A shell starts what it runs in the background with SIGINT ignored, and commands would inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    faults = 0
    with ThreadPoolExecutor(min(options.workers, len(DOMAINS))) as pool:
        began = time.monotonic()
        jobs = [
            pool.submit(stop_often, name, options.stops, options.seed, DOMAINS[number % len(DOMAINS)])
            for number, name in enumerate(names)
        ]
        for name, job in zip(names, jobs, strict=True):
            tally = job.result()
            faults += len(tally.faults)
            passed = time.monotonic() - began
            print(f"{name:<18} {tally.stops:>4} stops, {len(tally.faults)} faults, {passed:.0f} s so far")
            print("".join(f"    {fault}\n" for fault in tally.faults[:10]), end="", flush=True)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
