"""Values as world files write them: data that reads back as the same numbers."""

from __future__ import annotations

import decimal
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sim_node.geometry.arrays import FloatArray
from sim_node.world.fields import PROVENANCE


def seconds(nanoseconds: int) -> float | decimal.Decimal:
    """Return a time in seconds: as a float where that says the nanosecond, else as a decimal that does."""
    number, exact = nanoseconds / 1e9, decimal.Decimal(nanoseconds).scaleb(-9)
    return number if decimal.Decimal(repr(number)) == exact else exact


def pose_words(pose: FloatArray, scale: FloatArray | None = None) -> dict[str, Any]:
    """Return a pose (7,), and the scale of a frame that has one."""
    words = {"position": pose[:3].tolist(), "quaternion": pose[3:].tolist()}
    return words if scale is None else {**words, "scale": scale.tolist()}


def one_or_more(values: FloatArray) -> Any:
    """Return a number where there is one, else the list of them."""
    numbers = values.tolist()
    return numbers[0] if len(numbers) == 1 else numbers


def given(words: Mapping[str, Any]) -> dict[str, Any]:
    """Return plain data of what is not None, in its order."""
    return {key: plain(value) for key, value in words.items() if value is not None}


def plain(value: Any) -> Any:
    """Return a value as numbers, texts, lists and mappings of them."""
    if isinstance(value, (np.ndarray, np.generic)):
        return value.tolist()
    if isinstance(value, Mapping):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, (tuple, list)):
        return [plain(each) for each in value]
    if isinstance(value, Path):
        return str(value)
    return words_of(value) if is_dataclass(value) and not isinstance(value, type) else value


def words_of(part: Any) -> dict[str, Any]:
    """Return what the fields of a dataclass say, under their names; a `pose` as position and quaternion."""
    words: dict[str, Any] = {}
    for field in fields(part):
        value = getattr(part, field.name)
        if value is not None and field.name not in PROVENANCE:
            words[field.name] = pose_words(np.asarray(value)) if field.name == "pose" else plain(value)
    return words
