"""The `sim_node` command, one file per subcommand."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sim_node.lazy import public

if TYPE_CHECKING:
    from sim_node.cli.arguments import UsageError
    from sim_node.cli.commands import Command, command

__all__ = [
    "Command",
    "UsageError",
    "command",
]

__getattr__, __dir__ = public(
    __name__,
    {
        "Command": "commands",
        "UsageError": "arguments",
        "command": "commands",
    },
)
