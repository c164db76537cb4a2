"""The registry of tools: a new one is a function with typed arguments and one entry."""

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
    """What a tool has at hand when it is called.

    Attributes:
        access: What the user allows.
        patience: Waits, and notices when the caller cancels the call.
        running: Returns the graph, or raises ToolRefused, such as after the simulation has ended.
        progress: Reports how far the call is: the part that is done (0 to 1), and a line of text.
        pictures: PNG pictures that the answer shows, in addition to what the tool returns.
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
    """A tool. run: takes a Call and typed keyword arguments; changes: whether it changes anything."""

    run: Callable[..., Any]
    changes: bool


# By the name that an assistant calls.
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

    Its arguments after the Call have types that JSON has, as `Annotated[type, "what it is, with its unit"]`; its
    docstring is what the assistant reads. It returns a TypedDict, from which the schema of its answer follows, or a
    dict with any keys.

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
