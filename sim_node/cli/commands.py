"""The subcommands of `sim_node`. A new one is a new file with one `@command` entry; only the one called is imported."""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib.metadata import EntryPoint
from typing import TypeVar

from sim_node.plugins import PluginFault, described, error_line, offered
from sim_node.registry import Registry

# In the order of help: what runs, what looks at worlds, bags and graphs, what reads and writes world files, what reads
# and writes bags, and what to do where nothing works.
SHIPPED = (
    *("run", "replay", "record", "bridge", "autopilot"),
    *("view", "render", "rviz", "tree", "lookup"),
    *("check", "snap", "convert", "urdf"),
    *("info", "plot", "export", "diff", "repair"),
    "doctor",
)


@dataclass(frozen=True)
class Command:
    """A subcommand.

    name: the word on the command line. run: does its work and returns the exit code. add_arguments: declares its
    arguments on a parser. summary: its line of help. until_interrupted: whether it goes on until SIGINT or SIGTERM,
    which is then a good end; it finds the Interrupt in `arguments.interrupt`, else None. starts_node: whether
    `arguments.ros_args`, what followed --ros-args, may be given, for rclpy.
    """

    name: str
    run: Callable[[argparse.Namespace], int]
    add_arguments: Callable[[argparse.ArgumentParser], None]
    summary: str
    until_interrupted: bool = False
    starts_node: bool = False


class Commands(Registry[str, Command]):
    """The subcommands by word. A word tells its module, so that one can be had without importing the others.

    Of sim_node's own, the module is sim_node.cli.WORD; of another package's, the one that the entry point WORD names.
    """

    def words(self) -> tuple[str, ...]:
        """Return the words of all subcommands, without importing one."""
        return (*SHIPPED, *dict.fromkeys(point.name for point in self._points() if point.name not in SHIPPED))

    def find(self, word: str) -> Command | None:
        """Return the subcommand of a word, importing no other; None where there is none.

        Installed packages are searched only for a word that is not shipped. Raises PluginFault for a command of
        another package that cannot be loaded.
        """
        if word in SHIPPED:
            importlib.import_module(_MODULE.format(word))
        elif point := next((each for each in self._points() if each.name == word), None):
            plugin, root = described(point), point.module.partition(".")[0]
            try:
                point.load()
            except (Exception, SystemExit) as error:
                raise PluginFault(f"plug-in {plugin} cannot be loaded: {error_line(error, root)}") from error
            if not self.added(word):
                raise PluginFault(f"plug-in {plugin} adds no command {word!r}, which its entry point is named after")
        else:
            return None
        return self._entries[word][1]

    def _load_shipped_first(self, names: Iterable[str], module: str) -> None:
        """Shipped words are known without importing their modules."""
        for name in names:
            if name in SHIPPED and module != _MODULE.format(name):
                raise ValueError(f"{self.noun} {name!r}: both {_MODULE.format(name)} and {module}")

    def _points(self) -> tuple[EntryPoint, ...]:
        return offered().get(self.group, ())


_MODULE = "sim_node.cli.{}"
COMMANDS = Commands("command", shipped=tuple(map(_MODULE.format, SHIPPED)), group="sim_node.commands")
R = TypeVar("R", bound=Callable[[argparse.Namespace], int])


def no_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare nothing."""


def command(
    name: str,
    add_arguments: Callable[[argparse.ArgumentParser], None] = no_arguments,
    *,
    until_interrupted: bool = False,
    starts_node: bool = False,
) -> Callable[[R], R]:
    """Register a function `run(arguments)`, which returns the exit code, as a subcommand.

    The first line of its module's docstring, or else of its own, is its line of help. For the other arguments see
    Command.
    """

    def enter(run: R) -> R:
        doc = sys.modules[run.__module__].__doc__ or run.__doc__ or ""
        summary = doc.strip().partition("\n")[0]
        entry = Command(name, run, add_arguments, summary, until_interrupted, starts_node)
        COMMANDS.add(name, module=run.__module__)(entry)
        return run

    return enter
