"""Values as data of world files, which read back as the same numbers."""

from __future__ import annotations

import decimal
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.world.fields import is_provenance


def seconds(nanoseconds: int) -> float | decimal.Decimal:
    """Return a time in seconds: as a float if that represents the nanosecond exactly, else as a decimal."""
    number, exact = nanoseconds / 1e9, decimal.Decimal(nanoseconds).scaleb(-9)
    return number if decimal.Decimal(repr(number)) == exact else exact


def pose_data(pose: FloatArray, scale: FloatArray | None = None) -> dict[str, Any]:
    """Return a pose (7,), and the scale of a frame if it has one."""
    data = {"position": pose[:3].tolist(), "quaternion": pose[3:].tolist()}
    return data if scale is None else {**data, "scale": scale.tolist()}


def one_or_more(values: FloatArray) -> Any:
    """Return a single number, or a list of several."""
    numbers = values.tolist()
    return numbers[0] if len(numbers) == 1 else numbers


def given(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values that are not None as plain data, in order."""
    return {key: plain(value) for key, value in values.items() if value is not None}


def plain(value: Any) -> Any:
    """Return a value as numbers, texts, and lists and mappings of these."""
    if isinstance(value, (np.ndarray, np.generic)):
        return value.tolist()
    if isinstance(value, Mapping):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, (tuple, list)):
        return [plain(each) for each in value]
    if isinstance(value, Path):
        return str(value)
    return data_of(value) if is_dataclass(value) and not isinstance(value, type) else value


def data_of(part: Any) -> dict[str, Any]:
    """Return the fields of a dataclass by name; a `pose` as position and quaternion."""
    data: dict[str, Any] = {}
    for field in fields(part):
        value = getattr(part, field.name)
        if value is not None and not is_provenance(field):
            data[field.name] = pose_data(np.asarray(value)) if field.name == "pose" else plain(value)
    return data
