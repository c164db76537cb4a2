"""The tables of docs/sensors.md and the docstrings of sensors agree with the sensors' parameters."""

from __future__ import annotations

import inspect
import math
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from sim_node.simulation.sensors import SENSORS, Noise, RangeNoise
from sim_node.simulation.sensors.parameters import spec_of

PAGE = (Path(__file__).parents[2] / "docs" / "sensors.md").read_text(encoding="utf-8")


def shown(default: Any) -> str:
    if isinstance(default, (float, int)):
        if math.isnan(default):
            return "EGM96 at the origin"
        return "none" if math.isinf(default) else f"{default:g}"
    if isinstance(default, tuple):
        return ", ".join(default) or "none"
    changed = [part for part in fields(default) if getattr(default, part.name) != part.default]
    return ", ".join(f"{part.name} {getattr(default, part.name):g}" for part in changed) or "none"


def rows() -> list[str]:
    noise = [
        f"| `{part.name}` | {spec_of(part).unit} | {shown(part.default)} | {spec_of(part).meaning} |"
        for kind in (Noise(), RangeNoise())
        for part in fields(kind)
    ]
    return noise + [
        f"| `{name}` | `{part.name}` | {spec_of(part).unit} | {shown(part.default)} | {spec_of(part).meaning} |"
        for name, kind in sorted(SENSORS.items())
        for part in fields(kind())  # type: ignore[arg-type]
    ]


@pytest.mark.parametrize("row", rows())
def test_each_parameter_stands_in_its_table(row: str) -> None:
    assert row in PAGE.splitlines()


@pytest.mark.parametrize("kind", sorted(SENSORS))
def test_each_type_stands_there_with_its_topics(kind: str) -> None:
    for topic in SENSORS[kind]().messages("sensor", "map"):
        assert f"| `{topic.topic}` | {topic.type.replace('/msg/', '/')}" in PAGE
    assert f"| `{kind}` | " in PAGE


@pytest.mark.parametrize("kind", [Noise, RangeNoise, *SENSORS.values()])
def test_docstrings_describe_each_parameter(kind: Any) -> None:
    for part in fields(kind):
        spec = spec_of(part)
        meaning = f"noise of the {spec.meaning}" if isinstance(part.default, (Noise, RangeNoise)) else spec.meaning
        unit = "" if spec.unit in ("1", "names", "year") else f", {spec.unit}"
        line = f"{part.name}: {meaning[0].upper()}{meaning[1:]}{unit}."
        assert line in (inspect.getdoc(kind) or "").replace("    ", "").splitlines()
