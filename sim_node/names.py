"""Frame names (slash-separated and relative): their components, patterns and hierarchical paths."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase

BASE_LINK = "base_link"
# Frames with these names that are fixed to a base_link are sensor mounts, and therefore static.
SENSOR_PATTERNS = ("CAM_*", "LIDAR_*", "RADAR_*", "IMU_*", "GPS_*", "GNSS_*")
# Suffix of optical frames, whose z axis points forward (REP 103).
OPTICAL = "_optical"
# Axes by a name's last component or its suffix: REP 103 for suffixes, REP 105 and REP 147 for names.
_AXES = {"_enu": "ENU", "_ned": "NED", "_flu": "FLU", "_frd": "FRD", "_ecef": "ECEF", OPTICAL: "optical"}
_AXES |= {"_optical_frame": "optical"}
_LEVEL = {"map": "ENU", "odom": "ENU", "world": "ENU", "utm": "ENU", "earth": "ECEF", "ecef": "ECEF"}
MAX_LENGTH = 255
_VALID = re.compile(r"[^\s/]+(/[^\s/]+)*")


def fault(name: str) -> str | None:
    """Return why `name` is not a valid frame name, or None. tf2 rejects leading slashes; REP 105 names are relative."""
    if not name:
        return "is empty"
    if len(name) > MAX_LENGTH:
        return f"has {len(name)} characters; allowed: up to {MAX_LENGTH}"
    if name.startswith("/"):
        return f"begins with a slash, which tf2 refuses; did you mean {name.strip('/') or 'map'}?"
    if not _VALID.fullmatch(name) or not name.isprintable():
        return "may have no white space, no control characters, no empty part and no slash at its end"
    return None


def convention(name: str, *, is_root: bool = False) -> str:
    """Return the axes of a frame, derived from its name: NED for odom_ned, FRD for drone/base_link_frd.

    Args:
        name: The frame.
        is_root: Whether it is the root of its tree. A root is ENU, like map, unless its name says otherwise.

    Returns:
        ENU, NED, FLU, FRD, ECEF, or optical (z forward, x to the right); FLU by default.
    """
    own = last(name)
    suffixed = next((axes for suffix, axes in _AXES.items() if own.endswith(suffix)), "")
    return suffixed or _LEVEL.get(own, "ENU" if is_root else "FLU")


def conventions() -> dict[str, str]:
    """Return the axes by the suffixes and names that determine them."""
    return {**_AXES, **_LEVEL}


def last(name: str) -> str:
    """Return the last component: `CAM_FRONT` of `drone/CAM_FRONT`."""
    return name.rpartition("/")[2]


def prefixed(prefix: str, name: str) -> str:
    """Return `name` below `prefix`, separated by exactly one slash. An empty prefix changes nothing."""
    return f"{prefix.rstrip('/')}/{name}" if prefix.strip("/") else name


def hierarchical_path(names: Iterable[str]) -> str:
    """Return the slash-separated path of a list of names, root first: world/drone/base_link/body_visual.

    Leading components that a name shares with its parent's appear once: below `drone/base_link`, both `drone/CAM_FRONT`
    and `drone/base_link/CAM_FRONT` add `CAM_FRONT`.
    """
    path: list[str] = []
    above: list[str] = []
    for name in names:
        parts = name.split("/")
        shared = 0
        while shared < min(len(parts) - 1, len(above)) and parts[shared] == above[shared]:
            shared += 1
        path += parts[shared:]
        above = parts
    return "/".join(path)


def fits(name: str, patterns: Iterable[str]) -> bool:
    """Return whether the last component of a name matches one of the patterns (CAM_*). Case-sensitive."""
    return any(fnmatchcase(last(name), pattern) for pattern in patterns)


def enclosing(name: str) -> Iterator[str]:
    """Yield the enclosing names, nearest first: `a/b` and then `a` for `a/b/c`."""
    while name := name.rpartition("/")[0]:
        yield name
