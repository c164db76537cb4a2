"""What packages import."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path


@cache
def imported(folder: Path) -> frozenset[str]:
    """The top-level modules that a package imports and neither is nor has from the standard library."""
    found = set()
    for path in folder.rglob("*.py"):
        if {"templates", "adapters"} & {*path.parts}:  # of packages of others, and what these import
            continue
        for node in _statements(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                found |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                found.add(node.module.partition(".")[0])
    return frozenset(found - set(sys.stdlib_module_names) - {folder.name})


def _statements(node: ast.AST) -> Iterator[ast.AST]:
    """All below a node; expressions, most of what is there, have none in them."""
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, ast.expr):
            yield child
            yield from _statements(child)
