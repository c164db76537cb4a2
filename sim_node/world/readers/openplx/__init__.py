"""Worlds from OpenPLX, the modelling language of openplx.org."""

from sim_node.world.readers.openplx.reader import read_openplx

__all__ = ["read_openplx"]
