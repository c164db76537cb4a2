"""Sessions and the browser view on the command line: --view, the viewer, and error reports."""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from sim_node.cli.arguments import UsageError, whole
from sim_node.cli.parser import add_optional
from sim_node.packages import how_to_install
from sim_node.recording.bag import BagError
from sim_node.recording.decompression import MAX_BYTES
from sim_node.recording.settings import SettingsFault
from sim_node.session import MissingExtra
from sim_node.viewing.ports import DEFAULT_PORT, PagePortInUse, free_port

if TYPE_CHECKING:
    from sim_node.session import Session
    from sim_node.viewing.browser.ghosts import Ghost
    from sim_node.viewing.browser.viewer import Viewer

LAST_PORT = 65535
MAX_MB = 1e5


def add_view(parser: argparse.ArgumentParser) -> None:
    """--view [PORT]."""
    what = "show the run in the browser, on this machine alone (default: port 8080, or the next that is free)"
    add_optional(parser, "--view", "PORT", str.isdecimal, type=port_number, const=True, default=False, help=what)


def add_look_back(parser: argparse.ArgumentParser) -> None:
    """--look-back MB."""
    what = "how much of the run the page keeps to look back at (default: 256)"
    parser.add_argument("--look-back", metavar="MB", type=megabytes, default=256_000_000, help=what)


def add_ghost(parser: argparse.ArgumentParser) -> None:
    """--ghost BAG, --ghost TOPIC."""
    what = (
        "also show this bag, translucent and at the time of the page; repeat it for several; live: the running graph; "
        "TOPIC or TOPIC=FRAME: a body where the poses of a topic have it"
    )
    parser.add_argument("--ghost", metavar="BAG", action="append", default=[], help=what)


def ghosts_of(arguments: argparse.Namespace) -> list[Ghost]:
    """Return the ghosts given by --ghost. Raises UsageError and BagError."""
    if not arguments.ghost:
        return []
    with session_faults():
        from sim_node.session.bag_ghost import BagGhost
        from sim_node.viewing.browser.ghosts import TopicGhost
    report = partial(print, flush=True)
    later = getattr(arguments, "live", False)  # frames of the graph may appear later
    found: list[Ghost] = []
    for word in arguments.ghost:
        if word == "live" and not Path(word).exists():
            found.append(_live_ghost(arguments, report))
            continue
        topic, _, frame = word.partition("=")
        if topic.startswith("/") and not Path(topic).exists():
            found.append(TopicGhost(topic, frame, None if later else report))
        else:
            found.append(BagGhost(word, report, getattr(arguments, "chunk_limit", MAX_BYTES)))
    return found


def _live_ghost(arguments: argparse.Namespace, report: Callable[[str], object]) -> Ghost:
    """Return the running graph as a ghost, for a page that does not show the graph itself. Raises UsageError."""
    if getattr(arguments, "live", False):
        raise UsageError("--ghost live: --live shows the graph itself; give a BAG or a WORLD without --live")
    if not getattr(arguments, "no_ros", True):
        raise UsageError("--ghost live: the run moves the frames of the graph itself; add --no-ros")
    if getattr(arguments, "export", None) is not None:
        raise UsageError("--ghost live: a page of --export plays without the graph")
    try:
        from sim_node.ros.live_ghost import LiveGhost
    except ImportError as error:
        raise UsageError(f"--ghost live needs ROS 2: {how_to_install(error)}; see `sim_node doctor`") from None
    return LiveGhost(report)


def add_foxglove(parser: argparse.ArgumentParser, what: str) -> None:
    """--foxglove [PORT]."""
    text = f"serve {what} to Foxglove, on this machine alone (default: port 8765, or the next that is free)"
    add_optional(parser, "--foxglove", "PORT", str.isdecimal, type=port_number, const=True, default=False, help=text)


def refuse_taken_ports(*ports: bool | int | None) -> None:
    """Raise UsageError if a requested port cannot be opened, before anything is started."""
    with session_faults():
        for port in ports:
            if port is not None and not isinstance(port, bool):
                free_port(port)


def _page_line(url: str, *, asked: bool) -> str:
    """Return the line with a page's address. If no port was requested, it says why the port is not the default."""
    moved = not asked and not url.endswith(f":{DEFAULT_PORT}")
    return f"viewer: {url}" + (f" (port {DEFAULT_PORT} is in use)" if moved else "")


def print_page(session: Session, port: bool | int) -> None:
    """Print the addresses of a session's page, given the requested port, and of its Foxglove server."""
    if session.viewer is not None:
        print(_page_line(session.viewer.url, asked=not isinstance(port, bool)), flush=True)
    if session.foxglove is not None:
        print(f"foxglove: {session.foxglove.url}", flush=True)


def opened(port: int | None, title: str, ghosts: Sequence[Ghost] = ()) -> Viewer:
    """Open a viewer and print its address. Raises UsageError."""
    with session_faults():
        from sim_node.viewing.browser.viewer import Viewer

        viewer = Viewer(port, title)
    viewer.ghosts.sources = list(ghosts)
    print(_page_line(viewer.url, asked=port is not None), flush=True)
    return viewer


def megabytes(text: str) -> int:
    """Parse a size in MB and return it in bytes. Raises ArgumentTypeError."""
    try:
        size = float(text)
    except ValueError:
        size = math.nan
    if not 0.0 < size <= MAX_MB:
        raise argparse.ArgumentTypeError(f"{text!r} is not a size; more than 0 and up to {MAX_MB:g} MB are possible")
    return round(1e6 * size)


def port_number(text: str) -> int:
    """Parse a port."""
    return whole(text, 0, LAST_PORT, f"a port; a whole number up to {LAST_PORT} is needed")


@contextmanager
def session_faults() -> Iterator[None]:
    """Convert user errors of a recording or a viewer to UsageError."""
    try:
        yield
    except (BagError, SettingsFault) as fault:
        raise UsageError(f"--record: {fault}") from None
    except (MissingExtra, PagePortInUse) as fault:
        raise UsageError(str(fault)) from None
