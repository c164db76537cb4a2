"""Tools for AI assistants: an MCP server over a running graph, worlds and bags."""

from sim_node.lazy import public

with public(__name__):
    from sim_node.tools.access import Access as Access
    from sim_node.tools.access import Limits as Limits
    from sim_node.tools.graph import Cancelled as Cancelled
    from sim_node.tools.graph import Graph as Graph
    from sim_node.tools.graph import Patience as Patience
    from sim_node.tools.graph import ToolRefused as ToolRefused
    from sim_node.tools.registry import TOOLS as TOOLS
    from sim_node.tools.registry import Call as Call
    from sim_node.tools.registry import tool as tool
