"""The subcommands of `sim_node`. To add one, add a file with one `@command` entry. Only the called one is imported."""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from sim_node.plugins import Plugin, PluginFault, error_line, extensions, offered
from sim_node.registry import Registry

if TYPE_CHECKING:
    from sim_node.simulation.requests import Request


def _source_of(module: str) -> str:
    """Return the source of a module, without importing it."""
    spec = importlib.util.find_spec(module)
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).read_text(encoding="utf-8")


# `@request("WORD")`, or an extension's decorator for requests, above a function; and the function's first line of help.
_REQUEST = re.compile(r'^@\w+\("(\w+)".*\ndef (?s:.*?)^    """(.*?)(?:"""|$)', re.MULTILINE)


def _shipped_requests() -> Iterator[tuple[str, str]]:
    """Yield the words of requests and their lines of help, parsed from the source.

    Importing it would take 0.3 s of CPU time at each start of each command; parsing it takes 0.03 s.
    """
    for module in ("sim_node.session.requests", *(point.module for point in extensions("sim_node.requests"))):
        yield from _REQUEST.findall(_source_of(module))


_SHIPPED_REQUESTS = dict(_shipped_requests())
_EXTENSIONS = {point.name: point.module for point in extensions("sim_node.commands")}
# In the order of the help text
GROUPS: dict[str, tuple[str, ...]] = {
    "run": ("run", "fly", "replay", "record", "bridge", "autopilot"),
    "see": ("view", "render", "rviz", "tree", "lookup"),
    "use a running graph": ("topics", "echo", "pub", "call", "teleop"),
    "ask a running simulation": tuple(_SHIPPED_REQUESTS),
    "write worlds": ("new", "worlds", "check", "schema", "snap", "convert", "urdf", "map"),
    "read bags": ("info", "plot", "export", "diff", "repair"),
    "extensions": tuple(_EXTENSIONS),
    "set up": ("doctor", "build", "completion"),
}
_REQUESTS = "sim_node.cli.requests"
# Modules of the shipped subcommands
SHIPPED = {word: f"sim_node.cli.{word}" for words in GROUPS.values() for word in words}
SHIPPED |= _EXTENSIONS | dict.fromkeys(_SHIPPED_REQUESTS, _REQUESTS)


@dataclass(frozen=True)
class Command:
    """A subcommand.

    Attributes:
        name: The word on the command line.
        run: Runs the command and returns the exit code.
        add_arguments: Declares its arguments on a parser.
        summary: Its line of help.
        until_interrupted: Whether it runs until SIGINT or SIGTERM, which is then a normal end. `arguments.interrupt` is
            then the Interrupt, and otherwise None.
        starts_node: Whether it accepts --ros-args, which are passed to rclpy as `arguments.ros_args`.
    """

    name: str
    run: Callable[[argparse.Namespace], int]
    add_arguments: Callable[[argparse.ArgumentParser], None]
    summary: str
    until_interrupted: bool = False
    starts_node: bool = False


class Commands(Registry[str, Command]):
    """The subcommands by word. The word determines the module, so a command is found without importing the others.

    The module is sim_node.cli.WORD; for commands of an extension or another package, it is that of the entry point
    WORD.
    """

    def words(self) -> tuple[str, ...]:
        """Return the words of all subcommands without importing them, except requests if a plug-in has some."""
        of_plugins = _requests() if "sim_node.requests" in offered() else ()
        return tuple(dict.fromkeys((*SHIPPED, *(point.name for point in self._points()), *of_plugins)))

    def find(self, word: str) -> Command | None:
        """Return the subcommand for a word, importing no others; None if it does not exist.

        Installed packages are searched only for words that are not shipped. Raises PluginFault for a command of another
        package that cannot be loaded.
        """
        if word in SHIPPED:
            importlib.import_module(SHIPPED[word])
        elif point := next((each for each in self._points() if each.name == word), None):
            try:
                point.load()
            except (Exception, SystemExit) as error:
                reason = error_line(error, point.module.partition(".")[0])
                raise PluginFault(f"plug-in {point} cannot be loaded: {reason}") from error
            if not self.added(word):
                raise PluginFault(f"plug-in {point} adds no command {word!r}, although its entry point has that name")
        elif word in _requests():
            importlib.import_module(_REQUESTS)
        else:
            return None
        return self._entries[word][1]

    def summary(self, word: str) -> str:
        """Return the line of help of a subcommand. For shipped ones, it is read without importing them.

        Raises PluginFault for a command of another package that cannot be loaded.
        """
        if word in _SHIPPED_REQUESTS:
            return _SHIPPED_REQUESTS[word]
        if word not in SHIPPED:
            found = self.find(word)
            return "" if found is None else found.summary
        # The docstring of the module; parsing the source would take 36 times as long.
        return _source_of(SHIPPED[word]).split('"""')[1].partition("\n")[0]

    def _load_shipped_first(self, names: Iterable[str], module: str) -> None:
        """Only check names, because shipped words are known without importing their modules."""
        for name in names:
            if module != SHIPPED.get(name, module):
                raise ValueError(f"{self.noun} {name!r}: both {SHIPPED[name]} and {module}")

    def _points(self) -> tuple[Plugin, ...]:
        return offered().get(self.group, ())


def _requests() -> Registry[str, Request]:
    """Return the requests to runs, including those of plug-ins."""
    from sim_node.simulation.requests import REQUESTS  # here, because most commands make no requests

    return REQUESTS


COMMANDS = Commands("command", shipped=tuple(dict.fromkeys(SHIPPED.values())), group="sim_node.commands")
R = TypeVar("R", bound=Callable[[argparse.Namespace], int])


def no_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare no arguments."""


def command(
    name: str,
    add_arguments: Callable[[argparse.ArgumentParser], None] = no_arguments,
    *,
    until_interrupted: bool = False,
    starts_node: bool = False,
) -> Callable[[R], R]:
    """Register a function `run(arguments)`, which returns the exit code, as a subcommand.

    Its line of help is the first line of its module's docstring, or else of its own docstring.

    Args:
        name: The word on the command line.
        add_arguments: Declares its arguments on a parser.
        until_interrupted: Whether it runs until SIGINT or SIGTERM; see Command.
        starts_node: Whether it accepts --ros-args; see Command.

    Returns:
        The decorator.
    """

    def enter(run: R) -> R:
        doc = getattr(sys.modules.get(run.__module__), "__doc__", None) or run.__doc__ or ""
        summary = doc.strip().partition("\n")[0]
        entry = Command(name, run, add_arguments, summary, until_interrupted, starts_node)
        COMMANDS.add(name, module=run.__module__)(entry)
        return run

    return enter
