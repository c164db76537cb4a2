"""The registry of tools. To add a tool, register a function with typed arguments."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from sim_node.extensions.assistants.access import Access
from sim_node.extensions.assistants.graph import Graph, Patience, ToolRefused
from sim_node.registry import Registry, calling_module

if sys.version_info >= (3, 12):
    from typing import TypedDict
else:  # what turns answers into schemas reads no other there
    from typing_extensions import TypedDict


@dataclass(frozen=True)
class ToolCall:
    """The context of a tool call.

    Attributes:
        access: The permissions.
        patience: Waits, and detects that the caller cancels the call.
        running: Returns the graph, or raises ToolRefused, for example after the simulation has ended.
        progress: Reports the progress of the call: the completed fraction (0 to 1), and a line of text.
        pictures: PNG pictures that the answer shows, in addition to the result of the tool.
    """

    access: Access
    patience: Patience
    running: Callable[[], Graph]
    progress: Callable[[float, str], None] = lambda part, text: None
    pictures: list[bytes] = field(default_factory=list)

    @property
    def graph(self) -> Graph:
        """The running graph. Raises ToolRefused."""
        return self.running()


@dataclass(frozen=True)
class Tool:
    """A tool. `run` takes a ToolCall and typed keyword arguments; `changes` tells whether it changes anything."""

    run: Callable[..., Any]
    changes: bool


# The tools by the names that assistants use.
TOOLS: Registry[str, Tool] = Registry(
    "tool",
    shipped=tuple(
        f"sim_node.extensions.assistants.{module}"
        for module in ("transforms", "topics", "flight", "requests", "worlds", "files", "bags")
    ),
    group="sim_node.tools",
)
F = TypeVar("F", bound=Callable[..., Any])


def tool(name: str, *, changes: bool = False) -> Callable[[F], F]:
    """Register a function as a tool.

    Its arguments after the ToolCall have JSON types, as `Annotated[type, "description with unit"]`. Its docstring is
    the description for the assistant. It returns a TypedDict, which defines the schema of its answer, or a dict with
    any keys.

    Args:
        name: Name of the tool.
        changes: Whether it changes anything: moves a vehicle, steps a simulation, writes a file.

    Returns:
        The decorator.
    """

    def enter(function: F) -> F:
        TOOLS.add(name, module=calling_module())(Tool(function, changes))
        return function

    return enter


__all__ = ["TOOLS", "Tool", "ToolCall", "ToolRefused", "TypedDict", "tool"]
