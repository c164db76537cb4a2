"""Write the tables of docs/sdf.md from the tables of the readers: `python tools/sdf_tables.py`."""

from __future__ import annotations

from pathlib import Path

from sim_node.extensions.sdf.effects import WITHOUT_EFFECT
from sim_node.extensions.sdf.joints import TYPES as JOINTS
from sim_node.extensions.sdf.plugins import MISSING, SYSTEMS
from sim_node.extensions.sdf.sensors import MISSING as SENSORS_MISSING
from sim_node.extensions.sdf.sensors import TYPES as SENSORS
from sim_node.extensions.sdf.shapes import GEOMETRIES

PAGE = Path(__file__).resolve().parents[1] / "docs" / "sdf.md"
START, END = "<!-- {} -->", "<!-- end of {} -->"


def tables() -> dict[str, str]:
    """Return the tables by name, in Markdown."""
    return {
        "systems": _table(
            ("Plug-in", "Here"),
            [
                *((name, each.about) for name, each in SYSTEMS.items() if each.add is not None),
                (
                    ", ".join(sorted(n for n, s in SYSTEMS.items() if s.add is None)),
                    "no effect: runs have it, or draw it",
                ),
                (", ".join(sorted(MISSING)), "**not simulated**: left out with a warning"),
            ],
        ),
        "joints": _table(
            ("Joint", "Here"),
            [(name, f"`{kind}`" if kind else "**not simulated**") for name, (kind, _) in JOINTS.items()],
        ),
        "sensors": _table(
            ("Sensor", "Here"),
            [
                *((name, " and ".join(f"`{kind}`" for kind, _ in kinds)) for name, (kinds, _) in SENSORS.items()),
                (", ".join(sorted(SENSORS_MISSING)), "**not simulated**: left out with a warning"),
            ],
        ),
        "geometries": ", ".join(f"`{name}`" for name in GEOMETRIES) + "\n",
        "elements": _table(("Elements without effect", "Why"), _by_reason()),
    }


def _by_reason() -> list[tuple[str, str]]:
    reasons: dict[str, list[str]] = {}
    for key, why in WITHOUT_EFFECT.items():
        reasons.setdefault(why, []).append(key)
    return [(", ".join(f"`{key}`" for key in sorted(keys)), why) for why, keys in reasons.items()]


def _table(head: tuple[str, str], rows: list[tuple[str, str]]) -> str:
    lines = [f"| {' | '.join(head)} |", "|---|---|", *(f"| {' | '.join(row)} |" for row in rows)]
    return "\n".join(lines) + "\n"


def written(page: str) -> str:
    """Return the page with the present tables."""
    for name, table in tables().items():
        start, end = START.format(name), END.format(name)
        head, _, rest = page.partition(start)
        _, _, tail = rest.partition(end)
        page = f"{head}{start}\n{table}{end}{tail}"
    return page


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
