"""YAML of strangers, with the compiled loader where that is safe: it crashes on text that is nested too deeply."""

from __future__ import annotations

import re
from typing import Any

import yaml

_FAST: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_MAX_DEPTH = 500
# What opens a collection within a line, and before the content of one.
_FLOW = re.compile(r"\[(?!\])|\{(?!\})")
_BLOCK = re.compile(r"^[ \-?]*", re.MULTILINE)


def loaded(text: str) -> Any:
    """Return the content of a text. Raises YAMLError, RecursionError, ValueError."""
    opened = sum(1 for _ in _FLOW.finditer(text))
    indented = max(len(each[0]) for each in _BLOCK.finditer(text))
    return yaml.load(text, _FAST if opened + indented <= _MAX_DEPTH else yaml.SafeLoader)
