"""How warnings look on the command line."""

from __future__ import annotations

import sys
import warnings
from typing import TextIO

from sim_node.plugins import PluginWarning
from sim_node.world.problems import WorldWarning


def print_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    """Warnings of worlds and of plug-ins as one line each; others as Python has them."""
    if issubclass(category, (WorldWarning, PluginWarning)):
        print(f"warning: {message}", file=sys.stderr)
    else:
        print(warnings.formatwarning(message, category, filename, lineno, line), end="", file=sys.stderr)
