"""Joint types that cannot be: refused where they are made, in whose package that is."""

from __future__ import annotations

from typing import Any

import pytest

from sim_node.world.joints import JointPart, JointType, hinge, slide


@pytest.mark.parametrize(
    ("part", "reported"),
    [
        (hinge((0.0, 1.0)), r"part 0 has the axis \(0.0, 1.0\); three numbers are needed"),  # type: ignore[arg-type]
        (slide((0.0, 0.0, 0.0)), "a direction is needed, finite and not zero"),
        (slide((0.0, float("nan"), 0.0)), "a direction is needed, finite and not zero"),
        (JointPart("hing"), "the kind 'hing'; did you mean hinge"),  # type: ignore[arg-type]
    ],
)
def test_a_part_that_cannot_be_is_refused(part: Any, reported: str) -> None:
    with pytest.raises(ValueError, match=f"joint type 'turret': .*{reported}"):
        JointType("turret", (part,))
