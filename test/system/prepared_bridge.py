"""A bridge node in a process of its own, which reports what is imported and compiled once it is made."""

from __future__ import annotations

import json
import sys
import threading
from typing import Any

from sim_node.interrupt import ExitInterrupt
from sim_node.ros.bridge import BridgeNode
from sim_node.ros.spin import run_node


def main() -> None:
    events: list[str] = []
    before: set[str] = set()
    asked = False

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if before and not asked and event in ("import", "compile"):
            events.append(f"{threading.current_thread().name}: {event} {arguments[0]!r:.120}")

    class Node(BridgeNode):
        def ask_to_end(self) -> None:
            """After Ctrl-C nobody waits for the loop."""
            nonlocal asked
            asked = True
            print(json.dumps({"modules": sorted(set(sys.modules) - before), "events": events}), flush=True)

    def make() -> BridgeNode:
        node = Node()
        sys.addaudithook(hook)
        before.update(sys.modules)
        return node

    with ExitInterrupt() as interrupt:
        sys.exit(run_node(make, interrupt))


if __name__ == "__main__":
    main()
