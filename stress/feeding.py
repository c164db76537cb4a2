"""Feeds inputs to a door, one burst after the other, and measures the time and the memory that each burst takes."""

from __future__ import annotations

import ctypes
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from random import Random

import psutil

from stress.door import Door

# Of one burst: time on the processor (s), and memory beyond what was there before (bytes).
MAX_SECONDS = 2.0
MAX_BYTES = 256 << 20
# Memory that may come in each of the last two quarters of a run (bytes): caches and the allocator are full by then, and
# what is imported late, as for the first file of a kind, comes in one of them.
MAX_GROWTH = 16 << 20
# Fewer bursts in the half before them say nothing of growth.
MIN_BURSTS = 250
# Frames of a traceback that tell one find from another.
PLACES = 2


@dataclass(frozen=True)
class Find:
    """An input that a door did not survive.

    Attributes:
        door: Its name.
        number: Of the input in the run, -1 for a kept seed or where no single input is to blame.
        what: One line: the exception, or the ceiling that was broken.
        place: Tells finds apart: the last places of the traceback.
        trace: The traceback, or empty.
        inputs: The burst up to the input.
    """

    door: str
    number: int
    what: str
    place: str
    trace: str
    inputs: tuple[bytes, ...]


@dataclass
class Outcome:
    """What became of the inputs of one run. seconds: on the processor, of all processes, without their start."""

    fed: int = 0
    seconds: float = 0.0
    results: Counter[str] = field(default_factory=Counter)
    finds: list[Find] = field(default_factory=list)


def made(door: Door, name: str, seeds: Sequence[bytes], seed: int, number: int) -> bytes:
    """Return the input of a number: the same in every process."""
    rng = Random(f"{name}/{seed}/{number}")
    return door.mutate(rng, rng.choice(seeds))


def feed(
    door: Door,
    name: str,
    numbers: Sequence[int],
    seed: int,
    kept: Iterable[tuple[bytes, ...]] = (),
    begun: Callable[[int], None] = lambda number: None,
) -> Outcome:
    """Feed each of the sound seeds, the kept ones, and then mutations of the sound ones by their numbers.

    Args:
        door: The door.
        name: Its name.
        numbers: Of the inputs.
        seed: Of the run.
        kept: Bursts that once broke it.
        begun: Called before each burst with its first number.
    """
    outcome, sound = Outcome(), list(door.seeds())
    for data in dict.fromkeys(sound):  # unmeasured: what is imported and compiled once takes its time
        begun(-1)
        outcome.results[f"seed {door.feed(data)}"] += 1
        door.settle()
    for burst in kept:
        begun(-1)
        _feed_burst(door, name, -1, burst, outcome)
    start, process = time.process_time(), psutil.Process()
    used: dict[int, int] = {}
    for at in range(0, len(numbers), door.burst):
        if at >= len(numbers) * (2 + len(used)) / 4 and len(used) < 2:
            used[at] = _in_use(process)
        chosen = numbers[at : at + door.burst]
        begun(chosen[0])
        _feed_burst(door, name, chosen[0], [made(door, name, sound, seed, number) for number in chosen], outcome)
    outcome.seconds = time.process_time() - start
    used[len(numbers)] = _in_use(process)
    grown, half = min((after - before for before, after in pairwise(used.values())), default=0), next(iter(used))
    if half >= MIN_BURSTS * door.burst and grown > MAX_GROWTH:
        what = f"memory grows: {grown >> 20} MB or more in each of two quarters, from input {half} to {len(numbers)}"
        outcome.finds.append(Find(name, -1, what, "growth", "", ()))
    return outcome


def _in_use(process: psutil.Process) -> int:
    """Return the memory of a process, bytes, without what its allocator keeps of freed memory."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # glibc's
    if trim is not None:
        trim(0)
    return int(process.memory_info().rss)


def _feed_burst(door: Door, name: str, first: int, burst: Sequence[bytes], outcome: Outcome) -> None:
    took, grown, fed = _measured(door, name, first, burst, outcome)
    if took > MAX_SECONDS:  # once more, without what was imported or compiled for the first time
        took = _measured(door, name, first, fed, Outcome())[0]
    if took > MAX_SECONDS:
        outcome.finds.append(Find(name, first, f"takes {took:.1f} s", "slow", "", fed))
    if grown > MAX_BYTES:
        outcome.finds.append(Find(name, first, f"takes {grown >> 20} MB", "memory", "", fed))


def _measured(
    door: Door, name: str, first: int, burst: Sequence[bytes], outcome: Outcome
) -> tuple[float, int, tuple[bytes, ...]]:
    """Feed a burst, up to an input that it does not survive. Return time (s), memory (bytes) and what was fed."""
    began, before, number = time.process_time(), _peak(), first
    fed: list[bytes] = []
    try:
        for data in burst:
            fed.append(data)
            outcome.results[door.feed(data)] += 1
            outcome.fed += 1
            number += first >= 0
        door.settle()
    except Exception as fault:
        frames = traceback.extract_tb(fault.__traceback__)[-PLACES:]
        place = " ".join(f"{Path(frame.filename).name}:{frame.lineno}" for frame in frames)
        what = f"{type(fault).__name__}: {fault}"
        trace = traceback.format_exc()
        outcome.finds.append(Find(name, number, what[:500], f"{type(fault).__name__} {place}", trace, tuple(fed)))
    return time.process_time() - began, _peak() - before, tuple(fed)


def _peak() -> int:
    """Bytes of memory that this process has had at most: not of ru_maxrss, which is inherited."""
    with open("/proc/self/status", "rb") as status:
        text = status.read()
    at = text.index(b"VmHWM:")
    return int(text[at + 6 : text.index(b"kB", at)]) << 10
