"""A run in another process: stepped, read and acted on by a client that needs the standard library alone."""

from __future__ import annotations

import math
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from sim_node.extensions.scenario.adapters.client import SteppedRun, SteppedRunFault
from sim_node.extensions.scenario.runs import run_alone
from sim_node.world import load

BALL = """\
world: ball
physics: {gravity: [0, 0, -10], timestep: 0.01}
time: {step: 0.01}
bodies:
  - {name: ground, geometry: [{plane: true}]}
  - {name: ball, joint: {type: free, q: [0, 0, 2, 0, 0, 0, 1]}, geometry: [{sphere: 0.1, mass: 1.0}]}
expect: {duration: 5, must: [always altitude(ball) < 2.5 m]}
"""


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("adapters") / "ball.yaml"
    path.write_text(BALL)
    return path


@pytest.fixture(scope="module")
def run(world: Path) -> Iterator[SteppedRun]:
    found = SteppedRun(str(world), python=sys.executable)
    yield found
    found.close()


def test_a_run_in_another_process_is_stepped_read_and_pushed(run: SteppedRun) -> None:
    """It falls by 5 t^2 until a push of 40 N for 0.1 s, of which its weight takes 10 N, changes its speed by 3 m/s."""
    assert run.step_s == 0.01
    assert run.step(0.5) == 0.5
    assert run.value("altitude(ball)") == pytest.approx(0.75)
    pose, twist = run.state("ball")
    assert pose == pytest.approx([0, 0, 0.75, 0, 0, 0, 1])
    assert twist == pytest.approx([0, 0, -5, 0, 0, 0])
    assert not run.holds("climb_rate(ball) > -4 m/s")
    assert run.ask("push", body="ball", force=[0, 0, 40], seconds=0.1) == "ball is pushed by 40 N for 0.1 s"
    run.step(0.1)
    assert run.value("climb_rate(ball)") == pytest.approx(-2.0)
    assert run.holds("climb_rate(ball) > -4 m/s")
    assert run.verdict() == ("pass", "") or run.verdict()[0] == "error"  # the run goes on
    half = math.sqrt(0.5)
    run.ask("set", what=["ball"], pose=[1, 2, 3, 0, 0, half, half])
    assert run.state("ball")[0] == pytest.approx([1, 2, 3, 0, 0, half, half])
    run.step(0.1)
    verdict, reason = run.verdict()
    assert (verdict, "violated at" in reason) == ("fail", True)


# Takes seconds: make test has a run that is stepped.
@pytest.mark.nightly
def test_what_cannot_be_done_is_named_and_the_run_goes_on(run: SteppedRun, world: Path) -> None:
    for wrong, message in (
        (lambda: run.ask("psh"), "did you mean push"),
        (lambda: run.value("altitude(bal)"), "did you mean ball"),
        (lambda: run.state("bal"), "did you mean ball"),
        (lambda: run.holds("altitude(ball)"), "compare it"),
    ):
        with pytest.raises(SteppedRunFault, match=message):
            wrong()
    assert run.value("x(ball)") == pytest.approx(run.state("ball")[0][0])
    with pytest.raises(SteppedRunFault, match=r"bodies\[bal\].*did you mean ball"):
        SteppedRun(str(world), 0, {"bodies[bal].geometry[0].mass": 2.0}, python=sys.executable)
    with pytest.raises(SteppedRunFault, match="set SIM_NODE_PYTHON"):
        SteppedRun(str(world))
    with pytest.raises(SteppedRunFault, match="No such file"):
        SteppedRun(str(world), python="/none/python")


def test_a_run_that_is_stepped_is_the_run_that_is_judged(world: Path) -> None:
    other = SteppedRun(str(world), 3, python=sys.executable)
    for _ in range(20):
        other.step(0.1)
    at_once = run_alone(load(world), 3, 2 * 10**9)
    assert other.value("altitude(ball)") == at_once.samples["altitude(ball)"][-1]
    other.close()


def test_the_client_needs_the_standard_library_alone() -> None:
    code = (
        "import sys, sim_node.extensions.scenario.adapters.client\n"
        "print([n for n in sys.modules if n.partition('.')[0] in ('numpy', 'mujoco', 'yaml', 'scipy')])"
    )
    root = Path(__file__).parents[2]
    found = subprocess.run(
        [sys.executable, "-S", "-c", f"import sys; sys.path.insert(0, {str(root)!r})\n{code}"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert found.stdout == "[]\n"
