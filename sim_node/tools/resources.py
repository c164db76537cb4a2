"""What assistants can read without a call: the pages of docs/ and the shipped worlds."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

from mcp.server.mcpserver import MCPServer

from sim_node.world.locate import shipped_worlds

DOCS = Path(__file__).parents[2] / "docs"


def add_resources(server: MCPServer[Any]) -> None:
    """Add the pages and worlds that this installation has."""
    for path in sorted(DOCS.glob("*.md")):
        _add(server, f"docs://{path.stem}", path, "text/markdown")
    for name, path in shipped_worlds().items():
        _add(server, f"world://{name}", path, "application/yaml" if path.suffix in (".yaml", ".yml") else "text/plain")


def _add(server: MCPServer[Any], uri: str, path: Path, type: str) -> None:
    read = functools.partial(path.read_text, "utf-8")
    server.resource(uri, name=path.stem, title=path.name, mime_type=type)(lambda: read())
