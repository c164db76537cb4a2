"""Worlds in Python as runs: run, recorded, and read back."""

from __future__ import annotations
