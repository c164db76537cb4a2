"""What the command prints without a subcommand: its help, in groups, and its version."""

from __future__ import annotations

import platform
import textwrap
import warnings
from collections.abc import Sequence
from importlib.metadata import version
from typing import NoReturn

from sim_node.cli.arguments import UsageError
from sim_node.cli.commands import COMMANDS, GROUPS, SHIPPED
from sim_node.cli.parser import StrictParser
from sim_node.plugins import PluginFault, PluginWarning

_EPILOG = """\
sim_node COMMAND --help shows the help of a command; sim_node worlds lists the shipped worlds. --debug, after a command,
shows the traceback of an internal error."""
_DESCRIPTION = "Worlds from files, simulated and published on the TF tree."
_OPTIONS = {"-h, --help": "show this help message and exit", "--version": "show the version and exit"}


def parse_without_command(words: Sequence[str]) -> NoReturn:
    """Print help or version, and exit. Raises UsageError if neither is requested."""
    parser = _Overview(prog="sim_node", usage="sim_node [-h] [--version] COMMAND ...")
    parser.add_argument("--version", action="version", version=version_line())
    parser.parse_args(words)
    raise UsageError("a command is needed; sim_node --help lists them")


def version_line() -> str:
    """Return the versions of sim_node and of the Python that runs it."""
    return f"sim_node {version('sim_node')} (Python {platform.python_version()})"


class _Overview(StrictParser):
    """Shows the subcommands in groups, which argparse does not have."""

    def format_help(self) -> str:
        """Return usage, commands by group, and options."""
        width = self._get_formatter()._width  # width of the terminal
        others = tuple(word for word in COMMANDS.words() if word not in SHIPPED)
        usage = textwrap.wrap(self.format_usage(), width, subsequent_indent=" " * 16)
        lines = [*usage, "", *textwrap.wrap(_DESCRIPTION, width), ""]
        for title, words in {**GROUPS, **({"of plug-ins": others} if others else {})}.items():
            lines += [f"{title}:", *(line for word in words for line in _row(word, width)), ""]
        lines += ["options:", *(line for each in _OPTIONS.items() for line in _hanging(*each, width, 2, 18)), ""]
        return "\n".join([*lines, *textwrap.wrap(_EPILOG, width), ""])


def _row(word: str, width: int) -> list[str]:
    """Return the lines of a command; none, with a warning, if its plug-in cannot be loaded."""
    try:
        summary = COMMANDS.summary(word)
    except PluginFault as fault:
        warnings.warn(PluginWarning(str(fault)), stacklevel=2)
        return []
    return _hanging(word, summary, width, 4, 16)


def _hanging(term: str, text: str, width: int, indent: int, hang: int) -> list[str]:
    """Return the lines of a term and its text, with the text starting at column `hang`."""
    return textwrap.wrap(
        text, max(width, 38), initial_indent=(" " * indent + term).ljust(hang), subsequent_indent=" " * hang
    )
