"""Draw a world at an instant, or a film of it, without a display."""

from __future__ import annotations

import argparse
import re
import signal
import sys
from collections.abc import Iterable, Sequence
from fractions import Fraction
from pathlib import Path

from tqdm import tqdm

from sim_node.cli.errors import UsageError
from sim_node.cli.worlds import add_at, add_randomised, add_world, drawn, finite, loaded
from sim_node.world import UnknownFrame, World
from sim_node.world.problems import quoted

DEFAULT_DURATION_S = 10.0
MOST_PIXELS = 8192
# Shadows of pictures are soft; for films that would take too long.
SUNS_OF_A_PICTURE = 16
MOST_PICTURES = 200_000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """WORLD, when, from where, with what beside its shapes, and to which file."""
    add_world(parser)
    add_randomised(parser)
    out = parser.add_mutually_exclusive_group(required=True)
    out.add_argument("-o", "--out", metavar="FILE", type=Path, help="write a picture: .png, .jpg or .webp")
    out.add_argument("--video", metavar="FILE", type=Path, help="write a film: .mp4, .gif or .webp")
    camera = "a camera or frame of the world, or x,y,z[@x,y,z][,degrees]: from where, at what, the angle across"
    parser.add_argument("--camera", metavar="SPEC", default="", help=f"{camera} (default: sees all that there is)")
    follow = "go along with FRAME; a viewpoint is then relative to its place, as in --camera=-3,-2,1"
    parser.add_argument("--follow", metavar="FRAME", default="", help=follow)
    parser.add_argument("--size", metavar="WxH", type=_size, help="pixels (default: the camera's own, or 1280x720)")
    frames = "show the axes and names of these frames, or of all (default: of all in worlds without shapes)"
    parser.add_argument("--frames", metavar="NAME", nargs="+", help=frames)
    parser.add_argument("--trail", metavar="FRAME", nargs="+", default=[], help="show the way that these have come")
    parser.add_argument("--time", action="store_true", help="write the time on it")
    picture = parser.add_argument_group("with -o")
    add_at(picture)
    film = parser.add_argument_group("with --video")
    film.add_argument("--from", dest="begin", metavar="S", type=finite, help="begin at this time (default: the start)")
    film.add_argument(
        "--duration", metavar="S", type=finite, help=f"simulated seconds (default {DEFAULT_DURATION_S:g})"
    )
    film.add_argument("--fps", metavar="N", type=_positive, help="pictures per second (default 30)")
    film.add_argument("--speed", metavar="X", type=_positive, help="simulated per second of the film (default 1)")


def run(arguments: argparse.Namespace) -> int:
    """Writes the file, and says so. Nothing is left of one that could not be finished."""
    path: Path = arguments.out or arguments.video
    world = loaded(arguments)
    times_ns, fps = _times(world, arguments)
    try:
        # Here and not above: only who draws needs what draws.
        from sim_node.viewing.canvas import NoOpenGL
        from sim_node.viewing.films import FILMS, FilmError, write_film
        from sim_node.viewing.framing import ShotError
        from sim_node.viewing.pictures import PICTURES, write_picture
        from sim_node.viewing.shots import Shot, draw
    except ImportError as error:
        raise UsageError(
            f"drawing needs what is not installed ({error}); run: pip install 'sim_node[physics,view]'"
        ) from None
    _check_file(path, "picture" if arguments.out else "film", PICTURES if arguments.out else FILMS, arguments)
    shot = Shot(
        camera=arguments.camera,
        follow=arguments.follow,
        size=arguments.size,
        frames=None if arguments.frames is None else tuple(arguments.frames),
        trails=tuple(arguments.trail),
        has_time=arguments.time,
        suns=SUNS_OF_A_PICTURE if arguments.out else 1,
    )
    # As Ctrl-C: nothing half written is left.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    pictures = draw(drawn(world, arguments), shot, times_ns, arguments.seed or 0, _with_bar)
    try:
        if arguments.out:
            write_picture(next(pictures), path)
        else:
            write_film(pictures, len(times_ns), fps, path)
    except (ShotError, FilmError, NoOpenGL, UnknownFrame) as error:
        raise UsageError(str(error)) from None
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror or error}") from None
    print(f"{path}: {_told(times_ns, fps, film=not arguments.out)}, {path.stat().st_size / 1000:.0f} kB")
    return 0


def _times(world: World, arguments: argparse.Namespace) -> tuple[list[int], Fraction]:
    """The instants of the pictures, and how many of them pass in a second."""
    start_ns = world.time.start_ns
    if arguments.out:
        given = {
            "--from": arguments.begin,
            "--duration": arguments.duration,
            "--fps": arguments.fps,
            "--speed": arguments.speed,
        }
        for option, value in given.items():
            if value is not None:
                raise UsageError(f"{option} is of films; a picture has --at")
        return [start_ns if arguments.at is None else round(arguments.at * 1e9)], Fraction(1)
    if arguments.at is not None:
        raise UsageError("--at is of pictures; a film has --from and --duration")
    fps = arguments.fps or Fraction(30)
    begin_ns = start_ns if arguments.begin is None else round(arguments.begin * 1e9)
    duration = Fraction(str(DEFAULT_DURATION_S if arguments.duration is None else arguments.duration))
    if duration <= 0:
        raise UsageError(f"--duration {float(duration):g}: a time above zero is needed")
    step_ns = 10**9 * (arguments.speed or Fraction(1)) / fps
    count = max(1, round(duration * 10**9 / step_ns))
    if count > MOST_PICTURES:
        raise UsageError(f"a film of {count} pictures; allowed: up to {MOST_PICTURES}")
    return [begin_ns + round(index * step_ns) for index in range(count)], fps


def _check_file(path: Path, noun: str, known: Iterable[str], arguments: argparse.Namespace) -> None:
    if path.suffix.lower() not in known:
        other = " (a film goes to --video)" if arguments.out and path.suffix.lower() in (".mp4", ".gif") else ""
        raise UsageError(f"{path}: no {noun} ends in {quoted(path.suffix)}{other}; allowed: {', '.join(sorted(known))}")
    if not path.parent.is_dir():
        raise UsageError(f"{path}: there is no folder {path.parent}")


def _with_bar(times_ns: Sequence[int], what: str) -> Iterable[int]:
    """A bar on a terminal, where there is more than one thing to wait for."""
    hidden = not sys.stderr.isatty() or len(times_ns) < 2
    return tqdm(times_ns, desc=what, unit="instant", disable=hidden, leave=False)


def _told(times_ns: Sequence[int], fps: Fraction, *, film: bool) -> str:
    if not film:
        return f"at {times_ns[0] / 1e9:g} s"
    return f"{len(times_ns)} pictures, {float(len(times_ns) / fps):g} s from {times_ns[0] / 1e9:g} s on"


def _size(text: str) -> tuple[int, int]:
    found = re.fullmatch(r"(\d{1,5})x(\d{1,5})", text)
    size = (int(found[1]), int(found[2])) if found else (0, 0)
    if not all(16 <= pixels <= MOST_PIXELS for pixels in size):
        raise argparse.ArgumentTypeError(f"{text!r} is no size; as 1280x720, each from 16 to {MOST_PIXELS}, is needed")
    return size


def _positive(text: str) -> Fraction:
    try:
        number = Fraction(text)
    except (ValueError, ZeroDivisionError):
        number = Fraction(0)
    if not 0 < number <= 1_000_000:
        raise argparse.ArgumentTypeError(f"{text!r}; a number above zero is needed")
    return number
