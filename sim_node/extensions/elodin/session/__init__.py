"""Worlds written in Python: World, its runs and their histories."""
