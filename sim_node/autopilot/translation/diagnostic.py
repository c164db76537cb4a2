"""diagnostic_msgs/DiagnosticStatus as bytes."""

from __future__ import annotations

from collections.abc import Mapping

from sim_node.wire.cdr_writer import CdrWriter

OK, WARN, ERROR, STALE = range(4)


def diagnostic(level: int, name: str, message: str, hardware_id: str, values: Mapping[str, str]) -> bytes:
    """One status."""
    writer = CdrWriter().number("B", level).text(name).text(message).text(hardware_id)
    writer.number("I", len(values))
    for key, value in values.items():
        writer.text(key).text(value)
    return writer.bytes()
