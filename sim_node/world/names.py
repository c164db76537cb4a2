"""Frame names: slash-separated, relative, unique in a world; their components and hierarchical paths."""

from __future__ import annotations

import re
from collections.abc import Iterator

BASE_LINK = "base_link"
LONGEST = 255
_VALID = re.compile(r"[^\s/]+(/[^\s/]+)*")


def fault(name: str) -> str | None:
    """Why `name` cannot be a frame name, or None. tf2 refuses a leading slash, REP 105 has relative names."""
    if not name:
        return "is empty"
    if len(name) > LONGEST:
        return f"has {len(name)} characters; allowed: up to {LONGEST}"
    if name.startswith("/"):
        return f"begins with a slash, which tf2 refuses; did you mean {name.strip('/') or 'map'}?"
    if not _VALID.fullmatch(name) or not name.isprintable():
        return "may have no white space, no control characters, no empty part and no slash at its end"
    return None


def last(name: str) -> str:
    """`CAM_FRONT` of `drone/CAM_FRONT`."""
    return name.rpartition("/")[2]


def prefixed(prefix: str, name: str) -> str:
    """`name` under `prefix`, with exactly one slash between them; an empty prefix changes nothing."""
    return f"{prefix.rstrip('/')}/{name}" if prefix.strip("/") else name


def extend_path(parent_path: str, parent: str, name: str) -> str:
    """The hierarchical path of frame `name` below `parent`: world/drone/base_link/body_visual.

    The leading parts that a name has in common with its parent's are said once: below `drone/base_link` at
    `map/drone/base_link`, both `drone/CAM_FRONT` and `drone/base_link/CAM_FRONT` are
    `map/drone/base_link/CAM_FRONT`.
    """
    parts, above = name.split("/"), parent.split("/")
    shared = 0
    while shared < min(len(parts) - 1, len(above)) and parts[shared] == above[shared]:
        shared += 1
    return "/".join((parent_path, *parts[shared:]))


def enclosing(name: str) -> Iterator[str]:
    """`a/b`, then `a`, for `a/b/c`: the names that it lies below, nearest first."""
    while name := name.rpartition("/")[0]:
        yield name
