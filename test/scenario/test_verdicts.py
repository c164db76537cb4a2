"""Verdicts: pass, fail and error, the first violation, ready-made expectations, and the section `expect`."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from sim_node import Simulation, World, WorldError, load, loads
from sim_node.extensions.scenario import Expect, Expectation, Zone, judge, run_alone
from sim_node.extensions.scenario.expectations import READY, expected
from sim_node.session import Session
from sim_node.world import WorldWarning
from sim_node.world.writers.yaml import to_yaml

SECOND = 1_000_000_000
BALL = """\
world: ball
physics: {gravity: [0, 0, -10], timestep: 0.01}
time: {step: 0.01}
bodies:
  - {name: floor, geometry: [{plane: true}], pose: {position: [0, 0, -1]}}
  - {name: ball, joint: {type: free, qd: [3, 4, 5, 0, 0, 0]}, geometry: [{sphere: 0.1, mass: 1.0}]}
frames:
  - {name: mark, pose: {position: [3, 4, 0]}}
"""


def judged(*must: str, a: list[float], ended: str = "") -> tuple[str, str, float | None]:
    """The verdict on one signal, sampled each second."""
    expect = Expect(tuple(Expectation(text) for text in must))
    found = judge(expect, {"altitude(a)": np.array(a)}, SECOND, ended=ended)
    return found.verdict, found.reason, found.first.violated_at if found.first else None


@pytest.mark.parametrize(
    ("formula", "trace", "verdict", "at"),
    [
        ("always altitude(a) > 0", [1, 2, 3], "pass", None),
        ("always altitude(a) > 0", [1, 0, -3], "fail", 1.0),
        ("never altitude(a) > 2", [1, 2, 3, 4], "fail", 2.0),
        ("altitude(a) > 2 within 2 s", [1, 2, 2, 3], "fail", 2.0),
        ("altitude(a) > 2 within 2 s", [1, 2], "error", None),
        ("altitude(a) > 2 within 5 s", [1, 3], "pass", None),
        ("always (altitude(a) > 2 implies altitude(a) < 1 within 1 s)", [0, 3, 2, 0], "fail", 2.0),
        ("always (altitude(a) > 2 implies altitude(a) < 1 within 1 s)", [0, 3, 0, 3], "error", None),
        ("altitude(a) < 2 until altitude(a) > 4", [1, 3, 5], "fail", 1.0),
        ("eventually altitude(a) > 4", [1, 2, 3], "fail", 2.0),
        ("always altitude(a) >= 0", [0, 1], "pass", None),
        ("always altitude(a) > 0", [1, math.nan, 3], "error", None),
        ("always altitude(a) > 0", [1, math.nan, -3], "fail", 2.0),
    ],
)
def test_verdicts_and_first_violations(formula: str, trace: list[float], verdict: str, at: float | None) -> None:
    found = judged(formula, a=trace)
    assert found[0] == verdict
    assert found[2] == at


def test_reasons_name_time_amount_and_values() -> None:
    assert judged("always altitude(a) < 2 m", a=[1.0, 2.5, 3.0])[1] == (
        "always altitude(a) < 2 m: violated at 1 s by 1: altitude(a) = 2.5"
    )
    assert judged("always altitude(a) < 2 m", a=[1.0, math.nan])[1] == (
        "always altitude(a) < 2 m: could not be judged: altitude(a) has no value at 1 s"
    )
    assert judged("altitude(a) < 0 m within 9 s", a=[1.0, 2.0])[1] == (
        "altitude(a) < 0 m within 9 s: could not be judged: the run ended at 1 s, before it was decided"
    )


def test_a_run_that_diverged_is_an_error_unless_something_failed_before() -> None:
    ended = "the run diverged by 2 s"
    assert judged("always altitude(a) > 0", a=[1, 2], ended=ended)[0] == "error"
    assert judged("altitude(a) > 1 within 1 s", a=[1, 2], ended=ended)[:2] == ("error", ended)
    assert judged("always altitude(a) > 1", a=[2, 0], ended=ended)[0] == "fail"


def test_ready_made_expectations_are_formulas() -> None:
    assert set(READY) == {
        *("no_collision", "stays_inside", "stays_outside", "no_nan", "transform_kept", "in_time"),
        *("lands_within", "reaches"),
    }
    assert str(expected("no_collision(drone, pad)")) == "always not colliding(drone, pad)"
    assert str(expected("stays_inside(drone, field)")) == "always inside(drone, field) > 0 m"
    assert str(expected("in_time(imu, 20 ms)")) == "always age(imu) <= 20 ms"
    assert str(expected("lands_within(drone, 30 s)")) == "eventually[0 s, 30 s] landed(drone)"


def test_ready_made_expectations_in_a_run() -> None:
    """The ball bounces on the floor at 1.16 s, and meets the mark at 1 s."""
    must = {
        "no_collision(ball)": "fail",
        "no_collision(ball, floor)": "pass",
        "no_nan()": "pass",
        "transform_kept(mark)": "pass",
        "reaches(ball, mark, 0.05 m, 1.2 s)": "pass",
        "reaches(ball, mark, 0.05 m, 0.5 s)": "fail",
        "stays_inside(ball, field)": "fail",
        "stays_outside(ball, attic)": "pass",
        "lands_within(ball, 1 s)": "fail",
    }
    zones = (Zone("field", radius=5.5), Zone("attic", radius=9.0, floor=1.3))
    expect = Expect(tuple(map(Expectation, must)), duration=1.5, every=0.01, zones=zones)
    found = run_alone(_with(expect), 0, round(1.5 * SECOND)).verdict
    assert {each.title: each.verdict for each in found.findings} == must
    when = {each.title: each.violated_at for each in found.findings}
    # 5 t = 5.5 m from the middle, and -0.9 = 5 t - 5 t^2.
    assert when["stays_inside(ball, field)"] == pytest.approx(1.1, abs=0.011)
    assert when["no_collision(ball)"] == pytest.approx((5 + math.sqrt(25 + 18)) / 10, abs=0.02)


def test_runs_with_and_without_sensors_and_recording_are_the_same(tmp_path: Path) -> None:
    world = _with(Expect((Expectation("always altitude(ball) < 1.3 m"),)))
    alone = run_alone(world, 3, SECOND)
    assert run_alone(world, 3, SECOND, bag=tmp_path / "bag").digest == alone.digest
    assert run_alone(world, 3, SECOND, sensors=False).digest == alone.digest
    assert run_alone(world, 3, SECOND + 10_000_000).digest != alone.digest


def test_a_run_beside_another_of_the_same_autopilot_is_the_same() -> None:
    """It takes another instance, and says so before there is a run."""
    world = loads(
        "world: ap\norigin: {latitude: 47, longitude: 8, altitude: 488}\ntime: {step: 0.004}\nground: plane\n"
        "physics: {integrator: euler, timestep: 0.001}\n"
        "vehicles:\n  - {name: drone, model: iris, autopilot: {type: mavlink_builtin}}\n"
        "expect: {must: [no_nan()]}\n"
    )
    alone = run_alone(world, 0, SECOND // 5)
    with Session(world, real_time_factor=0.0):
        beside = run_alone(world, 0, SECOND // 5)
    assert beside.digest == alone.digest
    assert any("instance" in text for at, text in beside.log if at == 0.0)


def test_the_section_is_read_and_written() -> None:
    text = BALL + (
        "expect:\n  duration: 3\n  zones: [{name: field, polygon: [[0, 0], [9, 0], [9, 9]], ceiling: 8}]\n"
        "  must:\n    - always altitude(ball) < 1.3 m\n    - {name: lands, formula: 'lands_within(ball, 2 s)'}\n"
    )
    world = loads(text)
    (expect,) = world.parts["expect"]
    assert [each.title for each in expect.must] == ["always altitude(ball) < 1.3 m", "lands"]
    assert loads(to_yaml(world)).parts["expect"] == world.parts["expect"]


@pytest.mark.parametrize(
    ("section", "message"),
    [
        ("must: [always altitude(ball) < 3 s]", "<text>:8:34: expect.must[0]: altitude(ball) is in m, and 3 s in s"),
        ("must: ['no_colision(ball)']", "no signal 'no_colision'"),
        ("must: [lands_within(ball)]", "<text>:8:10: expect.must[0]: lands_within(ball): lands_within(FRAME, T)"),
        ("must: []", "<text>:8:9: expect.must: found 0"),
        ("must: [a() > 1, a() > 1]", "no signal 'a'"),
        ("musst: [no_nan()]", "did you mean must?"),
        ("{must: [no_nan()], zones: [{name: z}]}", "`polygon` or `radius` is needed, and not both"),
        ("{must: [no_nan(), no_nan()]}", "a second 'no_nan()'"),
    ],
)
def test_faults_of_the_section_name_their_place(section: str, message: str) -> None:
    body = f"expect: {section}\n" if section[0] == "{" else f"expect:\n  {section}\n"
    with pytest.raises(WorldError) as caught:
        loads(BALL.rstrip("\n").rsplit("frames:", 1)[0] + body)
    assert message in str(caught.value)


def test_what_an_included_file_expects_is_reported_as_unused(tmp_path: Path) -> None:
    (tmp_path / "part.yaml").write_text("expect: {must: [no_nan()]}\n")
    (tmp_path / "whole.yaml").write_text("include: [part.yaml]\n")
    with pytest.warns(WorldWarning, match=r"part.yaml:1:9: expect: is not used in an included file"):
        world = load(tmp_path / "whole.yaml")
    assert world.parts.get("expect", ()) == ()


def test_what_is_made_in_python_is_checked_too() -> None:
    with pytest.raises(WorldError, match=r"expect\.must\[0\]\.formula: altitude\(ball\) is a number: compare it"):
        Simulation(_with(Expect((Expectation("altitude(ball)"),))))


def _with(expect: Expect) -> World:
    world = loads(BALL)
    return replace(world, parts={**world.parts, "expect": (expect,)})
