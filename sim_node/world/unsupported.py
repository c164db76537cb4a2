"""Hints for vehicles that users look for but that are not simulated."""

from __future__ import annotations

import re

# Keys of world files, and names of models and worlds, of aeroplanes.
_PARTS_OF_WINGS = r"(^|_)wings?(_|$)|fixed_?wing|vtol|airfoil|aileron|elevon|rudder|tailsitter"
_KEYS = re.compile(_PARTS_OF_WINGS)
_MODELS = re.compile(rf"{_PARTS_OF_WINGS}|plane|glider|cessna")


def no_such_key(key: str) -> str:
    """Return a hint for an unknown key of a world file; empty if it is not about such a vehicle."""
    return _hint(_KEYS, key)


def no_such_model(name: str) -> str:
    """Return a hint for an unknown name of a model or world; empty if it is not about such a vehicle."""
    return _hint(_MODELS, name)


def _hint(words: re.Pattern[str], text: str) -> str:
    sentence = "; fixed wings are not simulated: multirotors fly (vehicles), and wheeled bases drive (bases)"
    return sentence if words.search(text.casefold()) else ""
