"""Tools for AI assistants: an MCP server over a running graph, worlds and bags."""

from typing import TYPE_CHECKING

from sim_node.lazy import public

if TYPE_CHECKING:
    from sim_node.tools.access import Access, Limits
    from sim_node.tools.graph import Cancelled, Graph, Patience, ToolRefused
    from sim_node.tools.registry import TOOLS, Call, tool

__all__ = ["TOOLS", "Access", "Call", "Cancelled", "Graph", "Limits", "Patience", "ToolRefused", "tool"]

__getattr__, __dir__ = public(
    __name__,
    {
        "TOOLS": "registry",
        "Access": "access",
        "Call": "registry",
        "Cancelled": "graph",
        "Graph": "graph",
        "Limits": "access",
        "Patience": "graph",
        "ToolRefused": "graph",
        "tool": "registry",
    },
)
