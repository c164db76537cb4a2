"""Spec files: the shipped ones, and errors with their places."""

from __future__ import annotations

from pathlib import Path

import pytest

from sim_node.extensions.gym.shipped import shipped_specs
from sim_node.extensions.gym.spec_file import load_spec
from sim_node.extensions.gym.task import GymTask
from sim_node.world import WorldError

SPEC = """\
world: cart_pole
rate: 50
signals:
  x: {joint: cart}
  angle: {joint: pole}
  lean: angle / 0.2
actions:
  force: {joint: cart, value: effort, low: -10, high: 10}
observation: [x, angle]
reward: 1 - lean ** 2
termination: abs(x) > 2
vary:
  bodies[pole].joint.q: uniform(-0.1, 0.1)
"""


def problems(tmp_path: Path, *changes: tuple[str, str]) -> list[str]:
    """The problems of the spec above with other lines, when it is opened; file names left out."""
    text = SPEC
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    file = tmp_path / "spec.yaml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(WorldError) as raised:
        GymTask(load_spec(file))
    return [str(problem).removeprefix(f"{file}:") for problem in raised.value.problems]


def test_the_example_is_valid(tmp_path: Path) -> None:
    (tmp_path / "spec.yaml").write_text(SPEC, encoding="utf-8")
    assert list(load_spec(tmp_path / "spec.yaml").signals) == ["x", "angle", "lean"]


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("joint: pole", "joint: pol", "5:10: signals.angle: no joint 'pol'; did you mean pole?"),
        (
            "{joint: pole}",
            "{joint: pole, value: speed}",
            "5:10: signals.angle.value: found 'speed'; allowed: position,",
        ),
        ("{joint: pole}", "{frame: tipp}", "5:10: signals.angle: no frame 'tipp'; did you mean tip?"),
        ("{joint: pole}", "{sensor: IMU_TIP, channels: [rate_q]}", "5:10: signals.angle: no channel 'rate_q'; did you"),
        ("{joint: pole}", "{jiont: pole}", "column is needed, found jiont; did you mean joint?"),
        (
            "angle / 0.2",
            "angel / 0.2",
            "6:9: signals.lean: no 'angel'; did you mean angle? (known: force, time, x, angl",
        ),
        ("angle / 0.2", "angle / (0.2", "6:9: signals.lean: 'angle / (0.2' is not an expression: '(' was never closed"),
        (
            "value: effort",
            "value: position",
            "8:10: actions.force: joint 'cart' has no position actuator (it has: none",
        ),
        ("low: -10", "low: 20", "8:10: actions.force: low 20.0 is not below high 10.0"),
        ("low: -10", "low: [1, 2]", "8:10: actions.force: low [1.0, 2.0] needs one finite number, or 1 of them"),
        ("low: -10", "low: -1e12", "8:10: actions.force: low or high is out of range; allowed: -1e+09 to 1e+09"),
        (
            "[x, angle]",
            "[x, angel]",
            "9:18: observation[1]: is no signal or action (known: x, angle, lean, force, time",
        ),
        (
            "rate: 50",
            "rate: 30",
            "2:7: rate: a period of 0.0333333 s is no whole number of the world's steps of 0.01 s;",
        ),
        ("rate: 50", "rate: 0", "2:7: rate: 0.0 is out of range; allowed: more than 0"),
        (
            "bodies[pole]",
            "bodies[pol]",
            "13:24: vary.'bodies[pol].joint.q': no [pol] here; did you mean pole? (known: ",
        ),
        ("uniform(-0.1, 0.1)", "unifrom(-0.1, 0.1)", "did you mean uniform"),
        ("reward: 1 - lean ** 2", "reward: '[x, lean]'", "10:9: reward: is an array of 2; a number is needed"),
        (
            "angle / 0.2",
            "([angle, 1]) + [1, 2, 3]",
            "6:9: signals.lean: '([angle, 1]) + [1, 2, 3]' cannot be",
        ),
        ("termination:", "terminaton:", "11:1: terminaton: unknown key; did you mean termination?"),
        ("world: cart_pole", "world: cart_poll", "1:8: world: no world 'cart_poll'; did you mean cart_pole?"),
    ],
)
def test_a_mistake_is_reported_where_it_is(tmp_path: Path, old: str, new: str, problem: str) -> None:
    found = problems(tmp_path, (old, new))
    assert any(problem in each for each in found), found


def test_a_route_has_a_whole_number_of_goals(tmp_path: Path) -> None:
    route = "route: {frame: tip, count: 2.5, low: [0, 0, 0], high: [1, 1, 1]}\nvary:"
    assert "12:28: route.count: a whole number is needed, found 2.5" in problems(tmp_path, ("vary:", route))


def test_all_mistakes_are_reported_at_once(tmp_path: Path) -> None:
    found = problems(
        tmp_path,
        ("x: {joint: cart}", "x: {joint: cat}"),
        ("joint: pole", "joint: pol"),
        ("value: effort", "value: push"),
    )
    assert [each.partition(": ")[0] for each in found] == ["4:6", "5:10", "8:10"]


def test_shipped_specs_are_found_by_name() -> None:
    assert list(shipped_specs()) == ["cart_pole", "hover", "waypoints"]
    with pytest.raises(WorldError, match=r"no environment 'hoover'; did you mean hover\?"):
        load_spec("hoover")


def test_a_piloted_vehicle_is_not_commanded(tmp_path: Path) -> None:
    change = (
        ("world: cart_pole", "world: quadrotor"),
        ("{joint: cart, value: effort", "{vehicle: drone, value: command"),
    )
    found = problems(
        tmp_path,
        *change,
        ("{joint: cart}", "time"),
        ("{joint: pole}", "time"),
        ("vary:\n  bodies[pole].joint.q: uniform(-0.1, 0.1)\n", ""),
    )
    assert "8:10: actions.force: vehicle 'drone' is flown by its pilot, which overwrites other commands" in found
