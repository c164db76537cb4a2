"""Measures, against closed forms of a ball that is thrown and falls."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from sim_node import Simulation, World, WorldError, loads
from sim_node.extensions.sweep.functions import measure_of
from sim_node.extensions.sweep.job import Cases, Outcome
from sim_node.extensions.sweep.measures import MEASURES, Measure
from sim_node.extensions.sweep.runner import Runner
from sim_node.extensions.sweep.signals import MeasureFault
from sim_node.extensions.sweep.study import Study, prepare
from sim_node.extensions.sweep.variations import variation

G, UP = 10.0, 5.0
BALL = """\
world: ball
physics: {gravity: [0, 0, -10], timestep: 0.01}
time: {step: 0.01}
bodies:
  - {name: floor, geometry: [{plane: true}], pose: {position: [0, 0, -1]}}
  - {name: ball, joint: {type: free, qd: [3, 0, 5, 0, 0, 0]}, geometry: [{sphere: 0.1, mass: 1.0}]}
  - {name: wall, geometry: [{box: [1, 1, 1]}], pose: {position: [50, 0, 0]}}
"""
# Of a ball that flies for a second: z = 5 t - 5 t^2, from 0 over 1.25 at 0.5 s to 0.
TIMES = np.arange(101) * 0.01
HEIGHTS = UP * TIMES - G / 2 * TIMES**2


def outcome(measures: list[str], world: World | None = None, duration: float = 1.0) -> Outcome:
    prepared = prepare(Study(world or loads(BALL), duration, runs=1, measures=tuple(measures)))
    return next(iter(Runner(prepared.job).run(prepared.cases)))


def test_built_in_measures_agree_with_closed_forms() -> None:
    z = "pose[ball].z"
    expected = {
        f"max({z})": 1.25,
        f"min({z})": 0.0,
        f"mean({z})": HEIGHTS.mean(),
        f"rms({z})": np.sqrt((HEIGHTS**2).mean()),
        f"final({z})": 0.0,
        "final(twist[ball].speed)": np.hypot(3.0, UP),
        f"time_to({z} > 1.2)": 0.4,  # 5 t - 5 t^2 = 1.2
        f"time_to({z} > 2)": None,
        "final(pose[ball][0])": 3.0,
        "divergence()": None,
    }
    found = outcome(list(expected))
    assert found.status == "ok"
    for name, value in expected.items():
        assert found.measures[name] == (None if value is None else pytest.approx(value, abs=1e-9)), name


def test_the_final_pose_is_in_the_fixed_frame() -> None:
    text = BALL + "frames:\n  - {name: tip, parent: ball, pose: {position: [0, 0, 0.5]}}\n"
    found = outcome(["final_pose(tip)", "end=final_pose(ball)"], loads(text)).measures
    assert [found[f"final_pose(tip).{part}"] for part in "xyz"] == pytest.approx([3.0, 0.0, 0.5])
    assert [found[f"end.{part}"] for part in ("qx", "qy", "qz", "qw")] == pytest.approx([0, 0, 0, 1])


def test_contact_is_the_first_touch_of_two_bodies() -> None:
    """The ball's centre is at -0.9 m, a radius above the floor, after (5 + sqrt(25 + 18)) / 10 s."""
    touch = (UP + np.sqrt(UP**2 + 2 * G * 0.9)) / G
    measures = ["contact(ball, floor)", "contact(ball)", "contact(ball, wall)"]
    found = outcome(measures, duration=2.0).measures
    assert found["contact(ball, wall)"] is None
    for name in measures[:2]:
        assert isinstance(found[name], float)
        assert touch <= found[name] <= touch + 0.01 + 1e-9


def test_a_run_that_diverges_has_its_time_and_no_other_measure() -> None:
    text = BALL.replace("{sphere: 0.1, mass: 1.0}", "{box: [1, 2, 3], mass: 1.0}").replace(
        "qd: [3, 0, 5, 0, 0, 0]", "qd: [3, 0, 5, 1.0e8, 1.0e8, 1.0e8]"
    )
    found = outcome(["divergence()", "max(pose[ball].z)"], loads(text))
    assert found.status == "diverged"
    assert set(found.measures) == {"divergence()"}


FUNCTIONS = """\
from sim_node.extensions.sweep import records

@records("pose")
def landing(run):
    '''Where the ball comes down to its start, by the parabola through three instants.'''
    z, x = run.signal("pose[ball].z"), run.signal("pose[ball].x")
    first = int((z[1:] <= 1e-12).argmax()) + 1
    return {"x": x[first], "t": run.times[first], "name": run.simulation.world.name}

def broken(run):
    return 1 / 0

def wrong(run):
    return [1, 2]
"""


def test_functions_of_a_file_are_measures(tmp_path: Path) -> None:
    file = tmp_path / "landing.py"
    file.write_text(FUNCTIONS)
    found = outcome([str(file)])
    assert found.status == "ok", found.error
    assert found.measures["x"] == pytest.approx(3.0)
    assert found.measures["t"] == pytest.approx(1.0)
    assert found.measures["name"] == "ball"
    broken = outcome([f"{file}:broken"])
    assert broken.status == "failed"
    assert broken.error == f"ZeroDivisionError: division by zero ({file}:11, in broken)"
    assert "[1, 2]" in outcome([f"{file}:wrong"]).error


@pytest.mark.parametrize(
    ("text", "reported"),
    [
        ("maxx(pose[ball].z)", "did you mean max"),
        ("max(pose[bal].z)", "did you mean ball"),
        ("max(pos[ball].z)", "did you mean"),
        ("max(pose[ball].w)", "known: x, y, z"),
        ("max(pose[ball])", "has 7 numbers"),
        ("max(pose[ball][7])", "allowed: 0 to 6"),
        ("time_to(pose[ball].z = 1)", "is not a condition"),
        ("time_to(pose[ball].z < up)", "'up' is not a number"),
        ("contact(bal)", "did you mean ball"),
        ("final_pose(bal)", "did you mean ball"),
        ("nowhere.py", "No such file"),
        ("max", "is not a measure"),
        ("case=max(pose[ball].z)", "two columns of the results would be named 'case'"),
    ],
)
def test_a_wrong_measure_is_refused_before_anything_runs(text: str, reported: str) -> None:
    with pytest.raises(WorldError, match=reported):
        prepare(Study(loads(BALL), 1.0, runs=1, measures=(text,)))


def test_a_file_without_the_function_names_the_nearest(tmp_path: Path) -> None:
    file = tmp_path / "landing.py"
    file.write_text(FUNCTIONS)
    with pytest.raises(MeasureFault, match="did you mean landing"):
        measure_of(f"{file}:landign")


def test_a_measure_can_be_added() -> None:
    def steps(name: str, inside: str) -> Measure:
        return Measure(name, lambda run: {name: run.simulation.steps})

    with MEASURES.extended({"steps": steps}):
        prepared = prepare(Study(loads(BALL), 0.5, runs=1, measures=("steps()",)))
        assert next(iter(Runner(prepared.job).run(prepared.cases))).measures == {"steps()": 50}


def test_what_an_added_measure_gives_is_checked() -> None:
    def gives(value: object) -> Callable[[str, str], Measure]:
        return lambda name, inside: Measure(name, lambda run: value)  # type: ignore[arg-type, return-value]

    def leaves(name: str, inside: str) -> Measure:
        return Measure(name, lambda run: sys.exit())

    for maker, reported in (
        (gives({"seed": 1}), "measure 'm': m(): a value has the name 'seed', which each row has already"),
        (gives({"up()": 1}), "measure 'm': m(): a value has the name 'up()', which is that of a varied number or an"),
        (gives(3), "measure 'm': m(): a mapping of values by name is needed, found 3"),
        (gives({"m": [1]}), r"measure 'm': m(): returned [1]; a number"),
        (leaves, "SystemExit"),
    ):
        with MEASURES.extended({"m": maker, "up": lambda name, inside: Measure(name, lambda run: {name: 1})}):
            found = outcome(["up()", "m()"], duration=0.01)
        assert found.status == "failed"
        assert reported in found.error


# Takes seconds: make test has measures of single runs.
@pytest.mark.nightly
def test_the_scatter_of_a_ballistic_landing_agrees_with_the_closed_form() -> None:
    """Thrown with vx ~ N(3, 0.2) and vz ~ N(5, 0.1): at time T it is at (vx T, vz T - g T^2 / 2), with that scatter."""
    vary = {"bodies[ball].joint.qd[0]": "normal(3, 0.2)", "bodies[ball].joint.qd[2]": "normal(5, 0.1)"}
    runs, duration = 200, 0.8
    study = Study(
        loads(BALL),
        duration,
        tuple(variation(*each) for each in vary.items()),
        runs,
        sampling="latin_hypercube",
        measures=("final(pose[ball].x)", "final(pose[ball].z)", "apex=max(pose[ball].z)"),
        every=duration,
    )
    prepared = prepare(study)
    assert prepared.job.in_place is not None
    rows = list(Runner(prepared.job).run(prepared.cases))
    x, z = (np.array([row.measures[name] for row in rows]) for name in study.measures[:2])
    vx, vz = prepared.cases.values.values()
    assert np.abs(x - vx * duration).max() < 1e-9
    assert np.abs(z - (vz * duration - G / 2 * duration**2)).max() < 1e-9
    # Four standard errors of a mean, and of a standard deviation.
    for values, mean, deviation in ((x, 3.0 * duration, 0.2 * duration), (z, 5.0 * duration - 3.2, 0.1 * duration)):
        assert abs(values.mean() - mean) < 4 * deviation / np.sqrt(runs)
        assert abs(values.std() - deviation) < 4 * deviation / np.sqrt(2 * runs)


def test_cases_do_not_depend_on_those_before_them() -> None:
    vary = (variation("bodies[ball].geometry[0].mass", "uniform(1,2)"), variation("bodies[ball].joint.qd[2]", "1,5"))
    prepared = prepare(Study(loads(BALL), 0.3, vary, 6, measures=("final_pose(ball)",)))
    forward = {row.case.number: row.measures for row in Runner(prepared.job).run(prepared.cases)}
    cases: Cases = prepared.cases.part(np.array([5, 1, 3, 0]))
    backward = {row.case.number: row.measures for row in Runner(prepared.job).run(cases)}
    assert all(forward[number] == measures for number, measures in backward.items())
    # Beside runs of their own, which were never anything else.
    for case in list(prepared.cases)[:2]:
        alone = Simulation(loads(BALL).with_values(case.values), case.seed, sensors=False)
        alone.run(0.3)
        pose = alone.present().poses[alone.frames.index("ball")]
        assert pose.tolist() == list(forward[case.number].values())
