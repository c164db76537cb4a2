"""The fields of a diagnostic_msgs/DiagnosticStatus."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

OK, WARN, ERROR, STALE = range(4)


def diagnostic(level: int, name: str, message: str, hardware_id: str, values: Mapping[str, str]) -> dict[str, Any]:
    """Return the fields of one status."""
    pairs = [{"key": key, "value": value} for key, value in values.items()]
    return {"level": level, "name": name, "message": message, "hardware_id": hardware_id, "values": pairs}
