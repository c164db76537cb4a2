"""Sessions and the browser view on the command line: --view, the viewer, and error reports."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from sim_node.cli.arguments import UsageError
from sim_node.cli.parser import add_optional
from sim_node.recording.bag import BagError
from sim_node.recording.settings import SettingsFault
from sim_node.session import MissingExtra
from sim_node.viewing.ports import PagePortInUse

if TYPE_CHECKING:
    from sim_node.session import Session
    from sim_node.viewing.browser.viewer import Viewer

# Value of --view without PORT.
_ANY = -1
LAST_PORT = 65535


def add_view(parser: argparse.ArgumentParser) -> None:
    """--view [PORT]."""
    what = "show the run in the browser, on this machine alone (default: port 8080, or the next that is free)"
    add_optional(parser, "--view", "PORT", str.isdecimal, type=port_number, const=_ANY, help=what)


def add_foxglove(parser: argparse.ArgumentParser, what: str) -> None:
    """--foxglove [PORT]."""
    text = f"serve {what} to Foxglove, on this machine alone (default: port 8765, or the next that is free)"
    add_optional(parser, "--foxglove", "PORT", str.isdecimal, type=port_number, const=_ANY, help=text)


def foxglove_of(arguments: argparse.Namespace) -> bool | int:
    """Return the value of --foxglove for a Session: whether to serve the run, or at which port."""
    return arguments.foxglove is not None and (arguments.foxglove == _ANY or int(arguments.foxglove))


def view_of(arguments: argparse.Namespace) -> bool | int:
    """Return the value of --view for a Session: whether to show the run, or at which port."""
    return arguments.view is not None and (arguments.view == _ANY or int(arguments.view))


def port_of(arguments: argparse.Namespace) -> int | None:
    """Return the port of --view; None for the default."""
    return None if arguments.view is None or arguments.view == _ANY else int(arguments.view)


def print_page(session: Session) -> None:
    """Print the addresses of a session's page and of its Foxglove server, if it has them."""
    if session.viewer is not None:
        print(f"viewer: {session.viewer.url}", flush=True)
    if session.foxglove is not None:
        print(f"foxglove: {session.foxglove.url}", flush=True)


def opened(port: int | None, title: str) -> Viewer:
    """Open a viewer and print its address. Raises UsageError."""
    with session_faults():
        from sim_node.viewing.browser.viewer import Viewer

        viewer = Viewer(port, title)
    print(f"viewer: {viewer.url}", flush=True)
    return viewer


def port_number(text: str) -> int:
    """Parse a port."""
    if not (text.isascii() and text.isdecimal() and int(text) <= LAST_PORT):
        raise argparse.ArgumentTypeError(f"{text!r} is not a port; a whole number up to {LAST_PORT} is needed")
    return int(text)


@contextmanager
def session_faults() -> Iterator[None]:
    """Turn user errors of a recording or a viewer into UsageError."""
    try:
        yield
    except (BagError, SettingsFault) as fault:
        raise UsageError(f"--record: {fault}") from None
    except (MissingExtra, PagePortInUse) as fault:
        raise UsageError(str(fault)) from None
