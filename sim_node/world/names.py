"""Frame names: slash-separated, relative, unique in a world; their components and hierarchical paths."""

from __future__ import annotations

import re
from collections.abc import Iterator

BASE_LINK = "base_link"
_VALID = re.compile(r"[^\s/]+(/[^\s/]+)*")


def fault(name: str) -> str | None:
    """Why `name` cannot be a frame name, or None. tf2 refuses a leading slash, REP 105 has relative names."""
    if not name:
        return "is empty"
    if name.startswith("/"):
        return f"begins with a slash, which tf2 refuses; did you mean {name.strip('/') or 'map'}?"
    if not _VALID.fullmatch(name):
        return "may have no white space, no empty part and no slash at its end"
    return None


def last(name: str) -> str:
    """`CAM_FRONT` of `drone/CAM_FRONT`."""
    return name.rpartition("/")[2]


def namespace(name: str) -> str:
    """`drone/` of `drone/CAM_FRONT`, empty for a name of one component."""
    head, slash, _ = name.rpartition("/")
    return head + slash


def prefixed(prefix: str, name: str) -> str:
    """`name` under `prefix`, with exactly one slash between them; an empty prefix changes nothing."""
    return f"{prefix.rstrip('/')}/{name}" if prefix.strip("/") else name


def extend_path(parent_path: str, parent: str, name: str) -> str:
    """The hierarchical path of frame `name` below `parent`: world/drone/base_link/body_visual.

    What the name repeats of its parent's name or namespace is said once: below `drone/base_link` at
    `map/drone/base_link`, both `drone/CAM_FRONT` and `drone/base_link/CAM_FRONT` are
    `map/drone/base_link/CAM_FRONT`.
    """
    for shared in (parent + "/", namespace(parent)):
        if shared and name.startswith(shared):
            return f"{parent_path}/{name[len(shared) :]}"
    return f"{parent_path}/{name}"


def enclosing(name: str) -> Iterator[str]:
    """`a/b`, then `a`, for `a/b/c`: the names that it lies below, nearest first."""
    while name := name.rpartition("/")[0]:
        yield name
