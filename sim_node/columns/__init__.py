"""Columns: the state of a run as named arrays with a declared layout, a row for each entity."""

from sim_node.columns.column import Array, AtInstants, Column, Rows
from sim_node.columns.columns import Columns
from sim_node.columns.entries import Memory

__all__ = ["Array", "AtInstants", "Column", "Columns", "Memory", "Rows"]
