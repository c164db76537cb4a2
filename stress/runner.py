"""Feeds a door from several processes, and ends those that hang."""

from __future__ import annotations

import multiprocessing
import os
import resource
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import psutil

from stress import doors
from stress.door import Door
from stress.feeding import Find, Outcome, feed, made
from stress.keeping import SEEDS, kept

# A burst that is not over after so much time on the processor, or on the clock, hangs (s): many times what `feed`
# reports as slow, so that it is reported there if it ends at all. The clock counts for what waits for ever; so does a
# start, which compiles.
HANG_BUSY, HANG_WAITING = 20.0, 300.0
# Memory that one process may map beyond what it has once the door is open (bytes).
ADDRESS_SPACE = 4 << 30
# Processes that hang, in a row of restarts, after which the door is given up.
MAX_HANGS = 10

Opener = Callable[[str, Path], Door]


@dataclass
class _Worker:
    process: Any
    pipe: Connection
    begun: Any
    numbers: range


def run(
    name: str, inputs: int, seed: int, workers: int, folder: Path = SEEDS, opener: Opener = doors.opened
) -> Outcome:
    """Feed a door its kept seeds and `inputs` mutations, shared by `workers` processes.

    Args:
        name: Of the door.
        inputs: How many mutations.
        seed: Of the run: the same seed gives the same inputs.
        workers: Processes.
        folder: Where kept seeds are.
        opener: Opens a door by its name, in each process.
    """
    total, hangs = Outcome(), 0
    share = max(1, -(-inputs // workers))
    todo = [range(at, min(at + share, inputs)) for at in range(0, inputs, share)] or [range(0)]
    running = [_started(name, numbers, seed, folder if not i else None, opener) for i, numbers in enumerate(todo)]
    while running:
        for worker in list(running):
            if worker.pipe.poll(0.05):
                running.remove(worker)
                try:
                    found = worker.pipe.recv()
                except EOFError:
                    found = None
                worker.process.join()
                if isinstance(found, Outcome):
                    _add(total, found)
                    continue
                what = "the process ended" if found is None else str(found)
                end = f"{what} (exit code {worker.process.exitcode})"
            elif _hangs(worker):
                running.remove(worker)
                worker.process.kill()
                worker.process.join()
                end = "hangs"
            else:
                continue
            # What is left of its share goes on in another process.
            hangs += 1
            at = worker.begun[0]
            burst, size = _burst(name, at, seed, opener, folder)
            total.finds.append(Find(name, at, end, end, "", burst))
            total.fed += max(at - worker.numbers.start, 0)
            left = range(max(at, worker.numbers.start - size) + size, worker.numbers.stop)
            if left and hangs < MAX_HANGS and at >= 0:
                running.append(_started(name, left, seed, None, opener))
    return total


def _started(name: str, numbers: range, seed: int, folder: Path | None, opener: Opener) -> _Worker:
    # Each thread of MuJoCo's compiler would reserve 64 MB of addresses for its allocator.
    os.environ.setdefault("MALLOC_ARENA_MAX", "2")
    context = multiprocessing.get_context("spawn")
    mine, theirs = context.Pipe()
    # The first number of the burst, the time on the clock and on the processor when it began.
    begun = context.Array("d", [-1.0, time.monotonic(), 0.0], lock=False)
    arguments = (name, numbers, seed, folder, opener, theirs, begun)
    process = context.Process(target=_work, args=arguments, daemon=True)
    process.start()
    theirs.close()
    return _Worker(process, mine, _Begun(begun), numbers)


class _Begun:
    """The shared numbers of a worker, the first as a whole one."""

    def __init__(self, shared: Any) -> None:
        self._shared = shared

    def __getitem__(self, at: int) -> Any:
        return int(self._shared[0]) if at == 0 else float(self._shared[at])


def _hangs(worker: _Worker) -> bool:
    if time.monotonic() - worker.begun[1] > HANG_WAITING:
        return True
    if worker.begun[0] < 0:
        return False
    try:
        times = psutil.Process(worker.process.pid).cpu_times()
    except psutil.NoSuchProcess:
        return False
    return bool(times.user + times.system - worker.begun[2] > HANG_BUSY)


def _work(
    name: str, numbers: range, seed: int, folder: Path | None, opener: Opener, pipe: Connection, begun: Any
) -> None:
    def note(number: int) -> None:
        begun[0], begun[1], begun[2] = number, time.monotonic(), time.process_time()

    with tempfile.TemporaryDirectory(prefix="sim_node_stress_") as scratch:
        note(-1)
        try:
            door = opener(name, Path(scratch))
            limit = psutil.Process().memory_info().vms + ADDRESS_SPACE
            resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
            try:
                pipe.send(feed(door, name, numbers, seed, kept(name, folder) if folder else (), note))
            finally:
                door.close()
        except Exception as fault:  # a door that does not open, or seeds that are not sound
            pipe.send(f"{type(fault).__name__}: {fault}")
            raise


def _burst(name: str, first: int, seed: int, opener: Opener, folder: Path) -> tuple[tuple[bytes, ...], int]:
    """Return the inputs that a process was at when it ended, and the size of a burst."""
    with tempfile.TemporaryDirectory(prefix="sim_node_stress_") as scratch:
        door = opener(name, Path(scratch))
        try:
            if first < 0:
                return (), door.burst
            seeds = list(door.seeds())
            return tuple(made(door, name, seeds, seed, first + i) for i in range(door.burst)), door.burst
        finally:
            door.close()


def _add(total: Outcome, part: Outcome) -> None:
    total.fed += part.fed
    total.seconds += part.seconds
    total.results += part.results
    total.finds += part.finds
