"""Write sim_node/messages/standard_messages.txt from the .msg files of a ROS 2 Jazzy, fields and defaults only.

Run from the repository: python tools/standard_messages.py [SHARE]
"""

from __future__ import annotations

import sys
from pathlib import Path

PACKAGES = (
    *("builtin_interfaces", "diagnostic_msgs", "geometry_msgs", "nav_msgs", "rosgraph_msgs", "sensor_msgs"),
    *("std_msgs", "tf2_msgs", "visualization_msgs"),
)
OUT = Path(__file__).parents[1] / "sim_node" / "messages" / "standard_messages.txt"


def main() -> None:
    share = Path(sys.argv[1] if len(sys.argv) > 1 else Path(sys.prefix) / "share")
    parts = []
    for package in PACKAGES:
        files = sorted((share / package / "msg").glob("*.msg"))
        if not files:
            sys.exit(f"{share}: no messages of {package}")
        parts += [f"# {package}/msg/{file.stem}\n{fields(file.read_text(encoding='utf-8'))}" for file in files]
    OUT.write_text("".join(parts), encoding="utf-8")


def fields(text: str) -> str:
    """The lines of fields, without comments and constants."""
    plain = (" ".join(line.partition("#")[0].split()) for line in text.splitlines())
    return "".join(f"{line}\n" for line in plain if line and "=" not in line.replace("<=", ""))


if __name__ == "__main__":
    main()
