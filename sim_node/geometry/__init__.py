"""Quaternions, rigid transforms and interpolation, as functions of plain arrays."""
