"""The section `signals` of world files."""

from __future__ import annotations

from sim_node.world.readers.keys import Keys, choice, flag, listing, text
from sim_node.world.readers.yaml_section import Context, section
from sim_node.world.readers.yaml_values import Value, boolean
from sim_node.world.signals import OF_ACTUATORS, OF_JOINTS, NamedSignal

QUANTITIES = (*OF_JOINTS, *OF_ACTUATORS)
SIGNAL_KEYS = Keys(
    {
        "name": text("Its name, of which the topic is made."),
        "of": text("The joint or the actuator."),
        "quantity": choice("What it is of that.", QUANTITIES),
        "input": flag("Whether the topic sets it."),
    },
    required=("name", "of", "quantity"),
)


@section("signals", listing("Numbers of joints and actuators on topics.", SIGNAL_KEYS))
def read_signals(value: Value, context: Context) -> None:
    """Read a list of signals."""
    for entry in value.items():
        errors = len(entry.report.errors)
        table = entry.table(SIGNAL_KEYS)
        name, of = (table.get(key) for key in ("name", "of"))
        quantity = table.choice("quantity", QUANTITIES, "")
        is_input = boolean(table, "input", default=False)
        if len(entry.report.errors) == errors and name is not None and of is not None:
            context.add(NamedSignal(name.text(), of.text(), quantity, is_input, entry.place))
