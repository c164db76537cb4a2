"""Recordings of runs, and what the mcap library reads of them."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from mcap.reader import make_reader
from waiting import PATIENCE

from sim_node.recording.recorder import Recorder
from sim_node.recording.settings import RecordingSettings
from sim_node.recording.worlds import attachments_of, custom_data
from sim_node.session.publishing import Publishing, published
from sim_node.simulation import Loop, Simulation, Sink
from sim_node.world import load


class Read(NamedTuple):
    topic: str
    time_ns: int
    data: bytes


def record(
    world: str | Path,
    folder: Path,
    settings: RecordingSettings | None = None,
    *,
    seconds: float = 1.0,
    seed: int = 0,
    sinks: tuple[Sink, ...] = (),
) -> list[str]:
    """A run as fast as possible, all of it recorded; returns what the recording had to tell."""
    reported: list[str] = []
    simulation = Simulation(load(world), seed)
    recorder = Recorder(
        folder,
        settings or RecordingSettings(spare_bytes=0),
        attachments_of(simulation.world, seed, False),
        custom_data(simulation.world, seed),
        warn=reported.append,
    )
    run(Loop(simulation, (*sinks_into(recorder), *sinks), real_time_factor=0.0, duration_ns=round(seconds * 1e9)))
    simulation.close()
    return reported


def sinks_into(recorder: Recorder) -> tuple[Sink, ...]:
    """The sinks of a run that is only recorded."""
    return published(Publishing(), recorder).sinks


def run(loop: Loop) -> None:
    """To its end. Raises what made it fail."""
    import threading

    over = threading.Event()
    loop.start(over.set)
    assert over.wait(PATIENCE)
    loop.stop()


def files(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.mcap"))


def messages(path: Path, *, log_time_order: bool = False) -> list[Read]:
    """As they lie in a file, every checksum checked."""
    with path.open("rb") as stream:
        reader = make_reader(stream, validate_crcs=True)
        return [
            Read(channel.topic, message.log_time, message.data)
            for _, channel, message in reader.iter_messages(log_time_order=log_time_order)
        ]
