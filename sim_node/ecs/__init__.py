"""Worlds written in Python: entities, components and systems, compiled by JAX."""

from __future__ import annotations
