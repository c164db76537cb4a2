"""Events happen at their steps, in their order, again after a reset and a restore, and say what is wrong."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from sim_node import Simulation
from sim_node.cli.main import main
from sim_node.extensions.scenario.events import Event, ScenarioAction
from sim_node.extensions.scenario.timetable import happened
from sim_node.world import WorldError, WorldWarning, loads

BALL = """
world: ball
time: {step: 0.01}
physics: {gravity: [0, 0, 0]}
bodies:
  - {name: ball, joint: {type: free}, geometry: [{sphere: 0.1, mass: 2}]}
  - {name: hook, pose: {position: [0, 0, 3]}, geometry: [{box: [0.1, 0.1, 0.1]}]}
"""


def run_of(scenario: str, seed: int = 0, world: str = BALL) -> Simulation:
    return Simulation(loads(f"{world}scenario:\n{scenario}"), seed)


def times(run: Simulation) -> list[tuple[str, float]]:
    return [(each.event, round(each.time_ns / 1e9, 9)) for each in happened(run)]


PUSH = "do: {push: {body: ball, force: [4, 0, 0], seconds: 1}}"


def test_a_push_of_4_n_for_1_s_gives_2_kg_a_speed_of_2_m_s() -> None:
    run = run_of(f"  - {{at: 1, {PUSH}}}")
    run.step(100)
    assert run.bodies["ball"].twist[0] == 0.0
    run.step(1)
    assert run.bodies["ball"].twist[0] == pytest.approx(0.02, abs=1e-12)  # F t / m from its very step on
    run.step(99)
    assert run.bodies["ball"].twist[0] == pytest.approx(2.0, abs=1e-12)
    run.step(200)
    assert run.bodies["ball"].twist[0] == pytest.approx(2.0, abs=1e-12)


def test_triggers_have_their_times() -> None:
    run = run_of(
        f"""
  - {{name: pushed, at: 1, {PUSH}}}
  - {{name: moved, when: x(ball) > 1 m, do: {{pause: }}}}
  - {{name: then, after: moved, delay: 0.5, do: {{pause: }}}}
  - {{name: at once, after: then, do: {{pause: }}}}
  - {{name: again, every: 1, until: 3, do: {{pause: }}}}
"""
    )
    run.run(4.0)
    found = dict(times(run))
    assert found["pushed"] == 1.0
    # Of 2 m/s² from 1 s on.
    assert found["moved"] == pytest.approx(2.0, abs=0.011)
    assert found["then"] == pytest.approx(found["moved"] + 0.5)
    assert found["at once"] == found["then"]
    assert [at for name, at in times(run) if name == "again"] == [1.0, 2.0, 3.0]


def test_nothing_happens_after_until_with_its_delay_either() -> None:
    run = run_of(
        f"""
  - {{name: pushed, at: 1, {PUSH}}}
  - {{name: at, at: 2, delay: 1.5, until: 3, do: {{pause: }}}}
  - {{name: between, between: [2, 2.1], delay: 1.5, until: 3, do: {{pause: }}}}
  - {{name: every, every: 1, delay: 0.5, until: 3, do: {{pause: }}}}
  - {{name: when, when: x(ball) > 1 m, delay: 1.5, until: 3, do: {{pause: }}}}
  - {{name: after, after: pushed, delay: 2.5, until: 3, do: {{pause: }}}}
"""
    )
    run.run(5.0)
    assert times(run) == [("pushed", 1.0), ("every", 1.5), ("every", 2.5)]


def test_a_condition_that_holds_again_does_nothing_unless_it_may() -> None:
    swing = """
  - {every: 1, times: 4, do: {set: {what: [ball], pose: [2, 0, 0]}}}
  - {every: 1, delay: 0.5, times: 4, do: {set: {what: [ball], pose: [0, 0, 0]}}}
  - {name: once, when: x(ball) > 1 m, do: {pause: }}
  - {name: thrice, when: x(ball) > 1 m, times: 3, do: {pause: }}
"""
    run = run_of(swing)
    run.run(6.0)
    assert [name for name, _ in times(run) if "e" in name[2:] and "event" not in name] == ["once", *["thrice"] * 3]


def test_times_drawn_with_the_seed_repeat_and_differ() -> None:
    drawn = "  - {name: pushed, between: [1, 9], do: {push: {body: ball, force: [1, 0, 0]}}}"
    found = []
    for seed in (1, 1, 2):
        run = run_of(drawn, seed)
        run.run(10.0)
        found += [at for _, at in times(run)]
    assert found[0] == found[1] != found[2]
    assert all(1.0 <= at <= 9.0 for at in found)


def test_the_same_bytes_follow_in_steps_of_any_size_after_a_reset_and_a_restore() -> None:
    scenario = f"  - {{at: 1, {PUSH}}}\n  - {{when: x(ball) > 0.1 m, do: {{attach: {{name: ball, parent: hook}}}}}}"
    run = run_of(scenario)
    run.run(3.0)
    whole, log = run.snapshot().poses.tobytes(), happened(run)
    run.reset()
    for _ in range(150):
        run.step(1)
    middle = run.state
    run.run(1.5)
    assert (run.snapshot().poses.tobytes(), happened(run)) == (whole, log)
    run.reset()
    run.restore(middle)
    assert happened(run) == log[: len(happened(run))]
    run.run(1.5)
    assert (run.snapshot().poses.tobytes(), happened(run)) == (whole, log)


def test_attached_bodies_move_as_one_from_the_step_on() -> None:
    run = run_of("  - {at: 0.5, do: [{attach: {name: ball, parent: hook, pose: [0, 0, -1]}}, {detach: ball}]}")
    run.run(0.5)
    assert run.bodies["ball"].pose[2] == 0.0
    run.step(1)
    assert run.bodies["ball"].pose[2] == pytest.approx(2.0)
    assert [each.error for each in happened(run)] == [False, False]


def test_what_fails_is_an_error_and_its_followers_do_not_happen(caplog: pytest.LogCaptureFixture) -> None:
    run = run_of(
        """
  - {name: lost, at: 0.1, do: [{detach: ball}, {pause: }]}
  - {after: lost, do: {pause: }}
"""
    )
    with caplog.at_level("INFO", logger="sim_node"):
        run.run(1.0)
    (found,) = happened(run)
    assert found.error
    assert found.event == "lost"
    assert caplog.messages == [f"0.1 s: error: lost: {found.text}"]
    assert "ball" in found.text


def test_python_describes_the_same_events() -> None:
    world = loads(BALL)
    events = (
        Event(at_ns=10**9, do=(ScenarioAction("push", {"body": "ball", "force": [4.0, 0.0, 0.0], "seconds": 1.0}),)),
    )
    run = Simulation(replace(world, parts={**world.parts, "scenario": events}))
    other = run_of(f"  - {{at: 1, {PUSH}}}")
    run.run(2.5)
    other.run(2.5)
    np.testing.assert_array_equal(run.snapshot().poses, other.snapshot().poses)


@pytest.mark.parametrize(
    ("scenario", "message"),
    [
        ("  - {at: 5, do: {pushh: {body: ball}}}", "<text>:9:18: scenario[0].do.pushh: no action 'pushh'"),
        ("  - {at: 5, do: {push: {boddy: ball}}}", "<text>:9:25: scenario[0].do.push.boddy: push has no 'boddy'"),
        ("  - {at: 5, do: {push: {body: ball}}}", "<text>:9:18: scenario[0].do.push: push needs force"),
        ("  - {after: nothing, do: {pause: }}", "<text>:9:13: scenario[0].after: no event 'nothing'"),
        ("  - {when: z(ball) > 1 s, do: {pause: }}", "<text>:9:12: scenario[0].when: z(ball) is in m, and 1 s in s"),
        ("  - {between: [5, 3], do: {pause: }}", "scenario[0].between: the second time is before the first"),
        ("  - {at: 5, every: 1, do: {pause: }}", "scenario[0].every: cannot be combined with at"),
        ("  - {at: 5, do: {reset: }}", "no action 'reset'"),
    ],
)  # fmt: skip
def test_mistakes_are_named_where_they_are(scenario: str, message: str) -> None:
    with pytest.raises(WorldError) as error:
        run_of(scenario)
    assert message in str(error.value)


def test_mistakes_in_conditions_and_actions_are_told_with_those_of_the_whole_file() -> None:
    scenario = (
        "  - {when: speed(ball) > , colour: red, do: {pause: }}\n"
        "  - {when: sped(ball) > 1 m/s, do: {pushh: {body: ball}}}\n"
        "expect: {must: [altitude(ball) > 1 kg]}\n"
    )
    with pytest.raises(WorldError) as error:
        run_of(scenario)
    keys = ["scenario[0].colour", "scenario[0].when", "scenario[1].when", "scenario[1].do.pushh", "expect.must[0]"]
    assert sorted(each.key for each in error.value.problems) == sorted(keys)


@pytest.mark.parametrize(
    ("scenario", "message"),
    [
        ("  - {at: 5, do: {push: {body: bal, force: [1, 0, 0]}}}", "<text>:9:31: scenario[0].do.push.body: no body "
        "'bal' at the start; did you mean ball?"),
        ("  - {at: 5, do: {trigger: hitt}}\n  - {name: hit, do: {pause: }}", "<text>:9:27: scenario[0].do.trigger: no "
        "event 'hitt' at the start; did you mean hit?"),
        ("  - {at: 5, do: {jam: drone}}", "<text>:9:23: scenario[0].do.jam: no vehicle 'drone' at the start"),
    ],
)  # fmt: skip
def test_names_that_the_world_lacks_are_warned_of_where_they_are(scenario: str, message: str) -> None:
    with pytest.warns(WorldWarning) as found:
        loads(f"{BALL}scenario:\n{scenario}")
    assert [str(each.message) for each in found] == [message]


@pytest.mark.filterwarnings("error")
def test_names_may_be_those_of_what_is_spawned_later() -> None:
    loads(
        f"""{BALL}scenario:
  - {{at: 1, do: {{spawn: {{text: 'world: box', name: box}}}}}}
  - {{at: 2, do: {{push: {{body: box, force: [1, 0, 0]}}}}}}
"""
    )


def test_check_tells_all_that_a_run_lacks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    world = tmp_path / "ball.yaml"
    world.write_text(
        f"""{BALL}scenario:
  - {{when: z(bal) > 1 m, do: {{pause: }}}}
expect: {{must: [z(ball) < 1 km, "always pose[balll].z > 1"]}}
"""
    )
    assert main(["check", str(world)]) == 2
    assert capsys.readouterr().err.splitlines() == [
        f"{world}:9:12: scenario[0].when: no frame or vehicle 'bal'; did you mean ball?",
        f"{world}:10:33: expect.must[1]: pose[balll].z: column 'pose' has no row 'balll'; did you mean ball?",
        "2 errors",
    ]


def test_check_tells_mistakes_of_sensors_and_events_at_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    world = tmp_path / "ball.yaml"
    world.write_text(
        f"{BALL}sensors: [{{name: imu, type: imuu, parent: ball}}]\nscenario: [{{at: 1, do: {{puush: 2}}}}]\n"
    )
    assert main(["check", str(world)]) == 2
    first, second, count = capsys.readouterr().err.splitlines()
    assert first.startswith(f"{world}:8:29: sensors[0].type: 'imuu' is no sensor; did you mean imu?")
    assert second.startswith(f"{world}:9:25: scenario[0].do.puush: no action 'puush'; did you mean push?")
    assert count == "2 errors"


def test_a_condition_on_what_the_world_has_not_ends_the_run_where_it_is_written() -> None:
    run = run_of("  - {when: z(bal) > 1 m, do: {pause: }}")
    with pytest.raises(
        WorldError, match=r"<text>:9:12: scenario\[0\]\.when: no frame or vehicle 'bal'; did you mean ball"
    ):
        run.step(1)


def test_events_by_hand_wait_for_it() -> None:
    from sim_node.extensions.scenario.timetable import surroundings_of

    run = run_of(f"  - {{name: hit, {PUSH}}}")
    run.run(1.0)
    assert not happened(run)
    surroundings_of(run).context.ask("trigger", event="hit")
    run.step(1)
    assert times(run) == [("hit", 1.0)]


def test_expectations_may_ask_what_has_happened() -> None:
    from sim_node.extensions.scenario import SignalCondition

    run = run_of(f"  - {{name: hit, at: 1, {PUSH}}}\n  - {{name: lost, at: 2, do: {{detach: ball}}}}")
    hit, well = SignalCondition(run, "happened(hit)"), SignalCondition(run, "events_succeed()")
    found = []
    for _ in range(300):
        run.step(1)
        found.append((hit.evaluate(), well.evaluate()))
    # It happens when its step is left.
    assert found.index((True, True)) == 100
    assert found.index((True, False)) == 200
