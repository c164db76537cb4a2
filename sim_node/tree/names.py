"""Frame names: their last component, and the hierarchical path that they stand for."""

from __future__ import annotations

from collections.abc import Iterable


def last(name: str) -> str:
    """`CAM_FRONT` of `drone/CAM_FRONT`."""
    return name.rpartition("/")[2]


def hierarchical_path(names: Iterable[str]) -> str:
    """Join names from the root down into one slash-separated path: world/drone/base_link/body_visual.

    Leading components that a name shares with its parent are said once: below `drone/base_link` both
    `drone/CAM_FRONT` and `drone/base_link/CAM_FRONT` add `CAM_FRONT`.
    """
    path: list[str] = []
    parent: list[str] = []
    for name in names:
        parts = name.split("/")
        shared = 0
        while shared < min(len(parts) - 1, len(parent)) and parts[shared] == parent[shared]:
            shared += 1
        path.extend(parts[shared:])
        parent = parts
    return "/".join(path)
