"""Resources that assistants can read without a tool: pages of docs/, shipped worlds, and schemas of their files."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from mcp.server.mcpserver import MCPServer

from sim_node.world.locate import shipped_worlds
from sim_node.world.schema import SCHEMAS

DOCS = Path(__file__).parents[3] / "docs"


def add_resources(server: MCPServer[Any]) -> None:
    """Add the pages and worlds of this installation, and the JSON Schemas of world and vehicle files."""
    for path in sorted(DOCS.glob("*.md")):
        _add(server, f"docs://{path.stem}", path.name, "text/markdown", functools.partial(path.read_text, "utf-8"))
    for name, path in shipped_worlds().items():
        type = "application/yaml" if path.suffix in (".yaml", ".yml") else "text/plain"
        _add(server, f"world://{name}", path.name, type, functools.partial(path.read_text, "utf-8"))
    for kind, schema in SCHEMAS.items():
        _add(
            server,
            f"schema://{kind}",
            f"{kind}.schema.json",
            "application/schema+json",
            functools.partial(_json, schema),
        )


def _json(schema: Callable[[], dict[str, Any]]) -> str:
    return json.dumps(schema(), ensure_ascii=False)


def _add(server: MCPServer[Any], uri: str, title: str, type: str, read: Callable[[], str]) -> None:
    server.resource(uri, name=uri.partition("://")[2], title=title, mime_type=type)(lambda: read())
