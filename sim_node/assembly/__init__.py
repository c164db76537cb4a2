"""Assembly: the poses that a world leaves open, found from its mates (SNAP)."""

from sim_node.assembly.snap import snap
from sim_node.assembly.steps import Assembly, Step
from sim_node.assembly.table import Table, tabulate

__all__ = ["Assembly", "Step", "Table", "snap", "tabulate"]
