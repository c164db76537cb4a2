"""Tools for AI assistants: an MCP server over a running graph, worlds and bags."""

from sim_node.lazy import public

with public(__name__, Limits="FlightLimits", Call="ToolCall"):
    from sim_node.extensions.assistants.access import Access as Access
    from sim_node.extensions.assistants.access import FlightLimits as FlightLimits
    from sim_node.extensions.assistants.graph import Cancelled as Cancelled
    from sim_node.extensions.assistants.graph import Graph as Graph
    from sim_node.extensions.assistants.graph import Patience as Patience
    from sim_node.extensions.assistants.graph import ToolRefused as ToolRefused
    from sim_node.extensions.assistants.registry import TOOLS as TOOLS
    from sim_node.extensions.assistants.registry import ToolCall as ToolCall
    from sim_node.extensions.assistants.registry import tool as tool
