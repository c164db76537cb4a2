"""Columns: the state of a run as named arrays with a declared layout, one row for each entity."""

from sim_node.columns.column import Array, AtInstants, Checkpoint, Column, Rows
from sim_node.columns.columns import Columns

__all__ = ["Array", "AtInstants", "Checkpoint", "Column", "Columns", "Rows"]
