"""What can go wrong with a conversion, each with what was found and what is allowed."""

from __future__ import annotations


class FrameMismatch(TypeError):
    """Two values, or a value and the code that takes it, do not speak of the same frame. The message names both."""


class OriginRequired(ValueError):
    """A local frame meets a global one, and nobody said where the local frame lies on Earth."""


class AttitudeRequired(ValueError):
    """A world frame meets a body frame: how the vehicle is turned, or where it is, decides the answer."""


class InvalidCoordinates(ValueError):
    """Numbers that are no place on Earth: a latitude beyond a pole, a point at Earth's centre."""


class GeoidUnavailable(RuntimeError):
    """Heights above the ellipsoid and above mean sea level meet, and no geoid model is installed."""
