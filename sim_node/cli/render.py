"""Render a world or a bag as a picture or film, without a display."""

from __future__ import annotations

import argparse
import re
import signal
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

from sim_node.cli.arguments import UsageError, seconds, span
from sim_node.cli.bags import add_chunk_limit, counted_unreadable, report_damage
from sim_node.cli.bars import bar
from sim_node.cli.commands import command
from sim_node.cli.parser import add_list, anything, formerly, goes_with, refuse
from sim_node.cli.world_arguments import OF_WORLDS, add_at, add_randomised, add_world, drawn, loaded, seek
from sim_node.packages import how_to_install
from sim_node.recording.opening import is_bag, open_bag
from sim_node.recording.transforms import WALL_CLOCK_NS
from sim_node.world import FrameNotFound
from sim_node.world.fields import nanoseconds, within
from sim_node.world.mujoco_source import mujoco_fault
from sim_node.world.problems import quoted

if TYPE_CHECKING:
    from sim_node.viewing.render_requests import PoseSource

DEFAULT_DURATION_S = 10.0
MAX_PIXELS = 8192
# Number of sun samples of pictures, for soft shadows, which would take too long for films.
SUNS_OF_A_PICTURE = 16
MAX_PICTURES = 200_000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare WORLD, time, camera, annotations and file."""
    add_world(parser)
    add_randomised(parser)
    add_chunk_limit(parser)
    out = parser.add_mutually_exclusive_group(required=True)
    file = "write a picture: .png, .jpg or .webp"
    formerly(out, out.add_argument("-o", "--output", metavar="FILE", type=Path, help=file), "--out")
    out.add_argument("--video", metavar="FILE", type=Path, help="write a film: .mp4, .gif or .webp")
    camera = "a camera or frame of the world, or x,y,z[@x,y,z][,degrees]: from where, at what, the angle across"
    parser.add_argument("--camera", metavar="SPEC", default="", help=f"{camera} (default: everything is visible)")
    follow = "follow FRAME; a viewpoint is then relative to its position, as in --camera=-3,-2,1"
    named = "see it as this viewport of the world's schematic does"
    parser.add_argument("--viewport", metavar="NAME", default="", help=named)
    panels = "show the panels of the world's schematic, as the page does, instead of one view"
    parser.add_argument("--panels", action="store_true", help=panels)
    parser.add_argument("--follow", metavar="FRAME", default="", help=follow)
    parser.add_argument("--size", metavar="WxH", type=_size, help="pixels (default: the camera's own, or 1280x720)")
    frames = "show the axes and names of these frames, or of all (default: of all in worlds without shapes)"
    add_list(parser, "--frames", "NAME", anything, help=frames)
    add_list(parser, "--trail", "FRAME", anything, default=[], help="show the path of these frames")
    parser.add_argument("--time", action="store_true", help="write the time on the picture")
    picture = parser.add_argument_group("with -o")
    add_at(picture)
    film = parser.add_argument_group("with --video")
    film.add_argument("--from", dest="begin", metavar="S", type=seconds, help="start at this time (default: the start)")
    duration = f"simulated seconds (default {DEFAULT_DURATION_S:g}, or to a bag's end)"
    film.add_argument("--duration", metavar="S", type=span, help=duration)
    film.add_argument("--fps", metavar="N", type=_positive, help="pictures per second (default 30)")
    film.add_argument("--speed", metavar="X", type=_positive, help="simulated per second of the film (default 1)")
    parser.epilog = "A bag (its folder, or an .mcap or .db3 file) is rendered with its recorded transforms and world."


@command("render", add_arguments)
def run(arguments: argparse.Namespace) -> int:
    """Write the file and print a summary. An incomplete file is deleted."""
    path: Path = arguments.output or arguments.video
    if fault := mujoco_fault():
        raise UsageError(f"rendering needs MuJoCo, {fault}")
    try:
        # Imported here because only rendering needs it.
        from sim_node.viewing.framebuffer import NoOpenGL
        from sim_node.viewing.framing import RenderError
        from sim_node.viewing.pictures import FILMS, PICTURES, FilmError, write_film, write_picture
        from sim_node.viewing.render_requests import RenderRequest
        from sim_node.viewing.rendering import render_sources
    except ImportError as error:
        raise UsageError(f"rendering needs a package: {how_to_install(error)}") from None
    _check_file(path, "picture" if arguments.output else "film", PICTURES if arguments.output else FILMS, arguments)
    if arguments.viewport and (arguments.camera or arguments.follow):
        raise UsageError(f"--viewport cannot be combined with --{'camera' if arguments.camera else 'follow'}")
    if arguments.panels and (beside := {"camera", "viewport", "follow", "frames", "trail"} & arguments.given):
        raise UsageError(f"--panels cannot be combined with --{min(beside)}")
    request = RenderRequest(
        camera=arguments.camera,
        follow=arguments.follow,
        size=arguments.size,
        frames=None if arguments.frames is None else tuple(arguments.frames),
        trails=tuple(arguments.trail),
        has_time=arguments.time,
        viewport=arguments.viewport,
        panels=arguments.panels,
        sun_samples=SUNS_OF_A_PICTURE if arguments.output else 1,
    )
    # Like Ctrl-C, so that no incomplete file remains
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, signal.default_int_handler)
    with _sources(arguments) as sources:
        source = replace(sources[0], end_ns=sources[-1].end_ns)
        times_ns, fps = _times(source, arguments)
        pictures = render_sources(sources, request, times_ns, _with_bar)
        try:
            if arguments.output:
                write_picture(next(pictures), path)
                pictures.close()
            else:
                write_film(pictures, len(times_ns), fps, path)
        except (RenderError, FilmError, NoOpenGL, FrameNotFound) as error:
            raise UsageError(str(error)) from None
        except OSError as error:
            raise UsageError(f"{path} cannot be written: {error.strerror or error}") from None
    print(
        f"{path}: {_described(times_ns, fps, source, film=not arguments.output)}, {path.stat().st_size / 1000:.0f} kB"
    )
    return 0


@contextmanager
def _sources(arguments: argparse.Namespace) -> Iterator[list[PoseSource]]:
    """Yield the sources to render: a run of a world, or the worlds of a bag."""
    from sim_node.session.bag_world import sources_of_bag
    from sim_node.viewing.render_requests import source_of_run

    if not is_bag(arguments.world):
        goes_with(arguments, "a bag", ["chunk_limit"])
        yield [source_of_run(drawn(loaded(arguments), arguments), arguments.seed or 0, seek)]
        return
    refuse(arguments, "a bag", OF_WORLDS)
    with open_bag(arguments.world, arguments.chunk_limit) as bag:
        with (
            counted_unreadable() as unreadable,
            sources_of_bag(bag, lambda topics: bag.messages(topics), unreadable) as sources,
        ):
            yield sources
        report_damage(bag)


def _times(source: PoseSource, arguments: argparse.Namespace) -> tuple[list[int], Fraction]:
    """Return the instants of the pictures, and the frame rate."""
    start_ns = source.start_ns
    if arguments.output:
        for name, option in {"begin": "from", "duration": "duration", "fps": "fps", "speed": "speed"}.items():
            if name in arguments.given:
                raise UsageError(f"--{option} applies to films; use --at for a picture")
        return [start_ns if arguments.at is None else _instant(source, arguments.at)], Fraction(1)
    if arguments.at is not None:
        raise UsageError("--at applies to pictures; use --from and --duration for a film")
    fps = arguments.fps or Fraction(30)
    begin_ns = start_ns if arguments.begin is None else _instant(source, arguments.begin)
    left = (source.end_ns - begin_ns) / 1e9
    whole = min(DEFAULT_DURATION_S, left) if left > 0.0 else DEFAULT_DURATION_S
    duration = Fraction(str(whole if arguments.duration is None else arguments.duration))
    step_ns = 10**9 * (arguments.speed or Fraction(1)) / fps
    count = max(1, round(duration * 10**9 / step_ns))
    if count > MAX_PICTURES:
        raise UsageError(f"a film of {count} pictures; allowed: up to {MAX_PICTURES}")
    times_ns = [begin_ns + round(index * step_ns) for index in range(count)]
    _within(times_ns[-1])
    return times_ns, fps


def _instant(source: PoseSource, at: float) -> int:
    """Return a time, ns. If it is too small for a wall clock stamp, it is relative to the first stamp."""
    time_ns = nanoseconds(at)
    return time_ns if time_ns >= WALL_CLOCK_NS else _within(source.zero_ns + time_ns)


def _within(time_ns: int) -> int:
    try:
        return within(time_ns)
    except ValueError as error:
        raise UsageError(str(error)) from None


def _check_file(path: Path, noun: str, known: Iterable[str], arguments: argparse.Namespace) -> None:
    if path.suffix.lower() not in known:
        other = " (use --video for a film)" if arguments.output and path.suffix.lower() in (".mp4", ".gif") else ""
        raise UsageError(f"{path}: no {noun} ends in {quoted(path.suffix)}{other}; allowed: {', '.join(sorted(known))}")
    if not path.parent.is_dir():
        raise UsageError(f"{path}: folder {path.parent} does not exist")


def _with_bar(times_ns: Sequence[int], what: str) -> Iterable[int]:
    """Wrap instants in a progress bar on a terminal, if there is more than one."""
    return bar(times_ns, hidden=len(times_ns) < 2, desc=what, unit="instant", leave=False)


def _described(times_ns: Sequence[int], fps: Fraction, source: PoseSource, *, film: bool) -> str:
    first = (times_ns[0] - source.zero_ns) / 1e9
    if not film:
        return f"at {first:g} s"
    return f"{len(times_ns)} pictures, {float(len(times_ns) / fps):g} s from {first:g} s on"


def _size(text: str) -> tuple[int, int]:
    found = re.fullmatch(r"(\d{1,5})x(\d{1,5})", text)
    size = (int(found[1]), int(found[2])) if found else (0, 0)
    if not all(16 <= pixels <= MAX_PIXELS for pixels in size):
        raise argparse.ArgumentTypeError(f"{text!r} is not a size; 1280x720 for example, each from 16 to {MAX_PIXELS}")
    return size


def _positive(text: str) -> Fraction:
    try:
        number = Fraction(text)
    except (ValueError, ZeroDivisionError):
        number = Fraction(0)
    if not 0 < number <= 1_000_000:
        raise argparse.ArgumentTypeError(f"{text!r}; a number above zero is needed")
    return number
