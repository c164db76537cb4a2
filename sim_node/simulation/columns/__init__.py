"""Columns: the state of a run as named arrays with a declared layout, one row for each entity."""

from sim_node.lazy import public

with public(__name__):
    from sim_node.simulation.columns.column import Array as Array
    from sim_node.simulation.columns.column import AtInstants as AtInstants
    from sim_node.simulation.columns.column import Checkpoint as Checkpoint
    from sim_node.simulation.columns.column import Column as Column
    from sim_node.simulation.columns.column import Rows as Rows
    from sim_node.simulation.columns.columns import Columns as Columns
