"""The evolution strategy of docs/environments.md reaches the returns that the page states."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("gymnasium", reason="needs gymnasium")

PAGE = Path(__file__).parents[2] / "docs" / "environments.md"


def strategy() -> dict[str, Any]:
    """The names that the page's block defines; its last lines, which run it briefly, are left out."""
    block = re.search(r"^```python\n(def play.*?)^policy, result = ", PAGE.read_text(encoding="utf-8"), re.M | re.S)
    assert block is not None
    assert len(block[1].splitlines()) <= 60
    names: dict[str, Any] = {}
    exec("import gymnasium\nimport numpy as np\nimport sim_node.extensions.gym\n" + block[1], names)
    return names


def rows() -> list[tuple[str, ...]]:
    """The page's table: id, sigma, rate, generations, return."""
    found: list[tuple[str, ...]] = re.findall(
        r"^\| `(sim_node/\w+-v0)` \| ([\d.]+) \| ([\d.]+) \| (\d+) \| (\d+) \|", PAGE.read_text(encoding="utf-8"), re.M
    )
    assert [row[0] for row in found] == ["sim_node/CartPole-v0", "sim_node/Hover-v0"]
    return found


@pytest.mark.peers
@pytest.mark.parametrize("row", range(2))
def test_the_strategy_reaches_the_stated_return(row: int) -> None:
    identifier, sigma, rate, generations, goal = rows()[row]
    _, result = strategy()["train"](identifier, float(goal), int(generations), float(sigma), float(rate))
    assert result >= float(goal)


def test_the_strategy_fits_on_a_page() -> None:
    assert callable(strategy()["train"])
    assert rows()
