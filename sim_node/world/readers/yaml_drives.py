"""The `drives` of a world file: position servos on joints."""

from __future__ import annotations

from sim_node.world.body_checks import MAX_MASS
from sim_node.world.drives import Drive
from sim_node.world.readers.yaml_section import Context, section
from sim_node.world.readers.yaml_values import Table, Value

DRIVE_KEYS = ("joint", "stiffness", "damping", "force", "target", "amplitude", "period", "phase")


@section("drives")
def read_drives(value: Value, context: Context) -> None:
    """A list of drives, a joint each."""
    for entry in value.items():
        errors = len(entry.report.errors)
        table = entry.table(DRIVE_KEYS, required=("joint", "stiffness"))
        joint, force = table.get("joint"), table.get("force")
        name = "" if joint is None else joint.text()
        drive = Drive(
            joint=name,
            stiffness=_number(table, "stiffness", 0.0, low=0.0),
            damping=_number(table, "damping", 0.0, low=0.0),
            force=None if force is None else force.number(0.0, MAX_MASS),
            target=_number(table, "target", 0.0),
            amplitude=_number(table, "amplitude", 0.0),
            period=_number(table, "period", 1.0, low=1e-6),
            phase=_number(table, "phase", 0.0),
            place=entry.place if joint is None else joint.place,
        )
        if len(entry.report.errors) == errors:
            context.add(drive)


def _number(table: Table, key: str, default: float, low: float = -MAX_MASS) -> float:
    value = table.get(key)
    return default if value is None else value.number(low, MAX_MASS)
