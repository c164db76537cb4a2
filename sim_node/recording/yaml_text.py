"""Untrusted YAML, parsed with the compiled loader where that is safe, since it crashes on deeply nested text."""

from __future__ import annotations

import re
from typing import Any

import yaml

_FAST: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_MAX_DEPTH = 500
# Opening of a collection within a line
_FLOW = re.compile(r"\[(?!\])|\{(?!\})")
_BLOCK = re.compile(r"^[ \-?]*", re.MULTILINE)


def loaded(text: str) -> Any:
    """Parse a text. Raises YAMLError, RecursionError, ValueError."""
    opened = sum(1 for _ in _FLOW.finditer(text))
    indented = max(len(each[0]) for each in _BLOCK.finditer(text))
    return yaml.load(text, _FAST if opened + indented <= _MAX_DEPTH else yaml.SafeLoader)
