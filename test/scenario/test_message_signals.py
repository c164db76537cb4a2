"""Signals of topics, of MAVLink and of batteries; missions from files; cells of a battery that fail."""

from __future__ import annotations

from operator import attrgetter
from pathlib import Path

import numpy as np
import pytest
from claims import free_instance
from nightly import only

from sim_node.extensions.scenario.formula_error import FormulaError
from sim_node.extensions.scenario.message_signals import held
from sim_node.extensions.scenario.runs import run_alone
from sim_node.extensions.scenario.signals import formula, open_signal
from sim_node.recording import open_bag
from sim_node.simulation import Simulation
from sim_node.world import World, WorldError, load, loads

SECOND = 1_000_000_000
FLOWN = """
world: flown
origin: {{latitude: 47.397742, longitude: 8.545594, altitude: 488.0}}
time: {{step: 0.004}}
physics: {{integrator: euler, timestep: 0.001}}
ground: {{color: [0.42, 0.50, 0.36]}}
vehicles:
  - name: drone
    model: iris
    pose: {{position: [0, 0, 0.13]}}
    autopilot: {{type: mavlink_builtin, in_process: true, like: {like}, instance: {instance}}}
scenario: [{events}]
expect: {{every: 0.1, must: [{must}]}}
"""
MISSION = "frame: enu\nitems: [{type: takeoff, height: 3}, {type: waypoint, position: [6, 0, 4]}, {type: land}]\n"


def flown(events: str, *must: str, like: str = "px4") -> World:
    quoted = ", ".join(f'"{each}"' for each in must)
    return loads(FLOWN.format(like=like, instance=free_instance(), events=events, must=quoted))


def test_a_field_of_a_topic_is_that_of_the_newest_message_in_the_bag(tmp_path: Path) -> None:
    ball = """
world: ball
origin: {latitude: 47.0, longitude: 8.0, altitude: 500.0}
time: {step: 0.01}
bodies: [{name: ball, joint: {type: free, qd: [3, 0, 5, 0, 0, 0]}, geometry: [{sphere: 0.1, mass: 1.0}]}]
sensors:
  - {name: ball/GPS, parent: ball, type: gps, rate: 5, latency: 0.13}
  - {name: ball/IMU, parent: ball, type: imu, rate: 50}
expect: {duration: 2, every: 0.02, must: [eventually /ball/gps/fix.altitude > 500]}
"""
    fields = {"/ball/gps/fix": "altitude", "/ball/imu/data_raw": "angular_velocity.y"}
    world = loads(
        ball.replace("altitude > 500", f"altitude > 500, always {'/ball/imu/data_raw.angular_velocity.y'} < 9")
    )
    run = run_alone(world, 3, 2 * SECOND, bag=tmp_path / "bag")
    with open_bag(tmp_path / "bag") as bag:
        found = {
            name: [(each.time_ns, float(attrgetter(field)(each.message))) for each in bag.read(name)]
            for name, field in fields.items()
        }
    for name, field in fields.items():
        times, values = (np.array(each) for each in zip(*found[name], strict=True))
        newest = np.searchsorted(times, np.round(run.times * 1e9).astype(np.int64), side="right") - 1
        assert len(values) in (10, 101)
        np.testing.assert_array_equal(run.samples[f"{name}.{field}"], values[np.maximum(newest, 0)])


def test_before_the_first_message_the_value_is_that_of_the_first() -> None:
    nan = float("nan")
    np.testing.assert_array_equal(held(np.array([nan, nan, 3.0, 4.0, nan])), [3.0, 3.0, 3.0, 4.0, nan])
    assert np.isnan(held(np.array([nan, nan]))).all()


def test_mavlink_is_in_si_units_and_one_sample_late() -> None:
    events = "{at: 0.5, do: [{order: {order: take_off, height: 4}}, {order: arm}]}"
    relative, latitude = "mavlink(drone, GLOBAL_POSITION_INT.relative_alt)", "mavlink(drone, GLOBAL_POSITION_INT.lat)"
    must = (f"always {relative} < 9 m", "always altitude(drone) < 9 m", f"always {latitude} < 48 deg")
    run = run_alone(flown(events, *must), 0, 6 * SECOND)
    assert run.verdict.verdict == "pass", run.verdict
    told, true = run.samples[relative], run.samples["altitude(drone)"]
    assert true.max() > 3.0
    # It is asked for at a sample, and tells of the step after it.
    np.testing.assert_allclose(told[2:], true[1:-1] - 0.13, atol=0.03)
    np.testing.assert_allclose(np.degrees(run.samples[latitude]), 47.397742, atol=1e-6)


# Takes seconds: make test has a mission that is flown, and signals of MAVLink.
@pytest.mark.nightly
def test_a_failed_cell_takes_its_voltage_and_the_others_give_more_current() -> None:
    events = (
        "{at: 0.1, do: {battery: {of: drone, endurance: 200}}}, "
        "{at: 1, do: [{order: {order: take_off, height: 2}}, {order: arm}]}, "
        "{at: 10, do: {battery: {of: drone, failed_cells: 1, seconds: 8}}}"
    )
    must = ("always events_succeed()", "always battery(drone) > 20 %", "always battery_voltage(drone) > 1 V")
    run = run_alone(flown(events, *must, "always battery_current(drone) > 0.1 A"), 0, 20 * SECOND)
    assert run.verdict.verdict == "pass", run.verdict
    charge, voltage, current = (run.samples[f"battery{each}(drone)"] for each in ("", "_voltage", "_current"))
    # Power is the same at three quarters of the cells; each loses 5 mOhm of the additional current.
    assert current[150] / current[95] == pytest.approx(4.0 / 3.0, abs=0.01)
    one = voltage[95] / 4.0
    expected = 3.0 * (one - 0.45 * (charge[95] - charge[150]) - 0.005 * (current[150] - current[95]))
    assert voltage[150] == pytest.approx(expected, abs=0.02)
    assert voltage[190] == pytest.approx(voltage[95], abs=0.25)  # sound again
    # It loses charge by 4/3 as fast; both are told in whole per cent, over 7 s each.
    assert (charge[105] - charge[175]) == pytest.approx(7.0 / 200.0 * 4.0 / 3.0 * 1.02, abs=0.0101)


@pytest.mark.parametrize("like", only(["px4", "ardupilot"], 0))
def test_a_mission_file_is_sent_and_flown(tmp_path: Path, like: str) -> None:
    (tmp_path / "there.yaml").write_text(MISSION)
    text = FLOWN.format(
        like=like,
        instance=free_instance(),
        events="{name: go, at: 0.5, do: {mission: there.yaml}}",
        must="always events_succeed(), eventually x(drone) > 5.5 m, (landed(drone) for at least 1 s) within 20 s",
    )
    (tmp_path / "world.yaml").write_text(text)
    run = run_alone(load(tmp_path / "world.yaml"), 0, 22 * SECOND)
    assert run.verdict.verdict == "pass", (run.verdict, run.events)
    assert [each.text for each in run.events][-1].startswith("drone has the mission of")
    assert not run.events[-1].error


# Takes seconds: make test has a mission that is flown, and signals of MAVLink.
@pytest.mark.nightly
@pytest.mark.parametrize("fault", only(["loss: 0.5", "duplicate: 1"], 0))
def test_a_mission_over_a_bad_link_arrives_all_the_same(tmp_path: Path, fault: str) -> None:
    (tmp_path / "there.yaml").write_text(MISSION)
    events = f"{{at: 0.1, do: [{{link: {{of: drone, {fault}}}}}, {{mission: {{file: there.yaml, start: false}}}}]}}"
    text = FLOWN.format(like="px4", instance=free_instance(), events=events, must="always events_succeed()")
    (tmp_path / "world.yaml").write_text(text)
    first, second = (run_alone(load(tmp_path / "world.yaml"), 1, 6 * SECOND).events for _ in range(2))
    assert first[-1].text == "drone has the mission of 3 items"
    assert first == second  # what is lost is asked for again by the time of the simulation


def test_faults_of_a_mission_file_are_found_with_the_world(tmp_path: Path) -> None:
    (tmp_path / "bad.yaml").write_text(MISSION.replace("height", "hight"))
    text = FLOWN.format(like="px4", instance=0, events="{at: 1, do: {mission: bad.yaml}}", must="always finite()")
    (tmp_path / "world.yaml").write_text(text)
    with pytest.raises(WorldError, match=r"world\.yaml:12:\d+: .*bad\.yaml:2:25: items\[0\]\.hight: unknown key"):
        Simulation(load(tmp_path / "world.yaml"))
    (tmp_path / "world.yaml").write_text(text.replace("bad.yaml", "none.yaml"))
    with pytest.raises(WorldError, match=r"none\.yaml: No such file"):
        Simulation(load(tmp_path / "world.yaml"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("mavlink(drone, BATTERY_STATU.id)", "no MAVLink message 'BATTERY_STATU'; did you mean BATTERY_STATUS"),
        ("mavlink(drone, BATTERY_STATUS.voltages)", r"voltages is an array: write voltages\[0\]"),
        ("mavlink(drone, BATTERY_STATUS.voltages[10])", r"has 10 numbers, from \[0\] to \[9\]"),
        ("mavlink(drone, BATTERY_STATUS.curent_battery)", "no number 'curent_battery'; did you mean current_battery"),
        ("mavlink(drone, voltage)", r"MESSAGE\.FIELD or MESSAGE\.FIELD\[INDEX\] is needed"),
        ("mavlink(dron, VFR_HUD.alt)", "no vehicle 'dron' with an autopilot.*did you mean drone"),
        ("mavlink(drone, WIND_COV.wind_x)", "the built-in autopilot does not send WIND_COV"),
        ("battery(drone/base_link)", "no vehicle 'drone/base_link' with an autopilot"),
        ("/drone/gps/fi.altitude", r"no topic '/drone/gps/fi' of this run; did you mean /drone/gps/fix"),
        ("/drone/gps/fix.altitud", "no field altitud; did you mean altitude"),
        ("/drone/gps/fix.header.stamp.sec", r"stamps are no signals; age\(SENSOR\)"),
        ("/drone/imu/data_raw.angular_velocity", r"choose one of .*angular_velocity\.x"),
    ],
)
def test_a_signal_of_messages_that_is_none_is_named_with_the_nearest(text: str, message: str) -> None:
    run = Simulation(flown("", "always finite()"))
    with pytest.raises(FormulaError, match=message):
        open_signal(run, text)


@pytest.mark.parametrize("kind", ["px4", "ardupilot"])
def test_messages_of_an_autopilot_that_is_started_by_hand_are_no_signals(kind: str) -> None:
    text = FLOWN.format(like="px4", instance=0, events="", must="always battery(drone) > 0")
    by_hand = text.replace("mavlink_builtin, in_process: true, like: px4", kind)
    with pytest.raises(FormulaError, match=f"started by hand.*`sim_node test --autopilot {kind}` starts one"):
        open_signal(Simulation(loads(by_hand)), "battery(drone)")


def test_a_field_of_mavlink_is_not_compared_with_another_unit() -> None:
    with pytest.raises(FormulaError, match="is in m"):
        formula("mavlink(drone, GLOBAL_POSITION_INT.relative_alt) > 4 s")
    formula("battery(drone) > 20 % and battery_voltage(drone) > 14 V and mavlink(drone, VFR_HUD.throttle) < 90 %")


# Takes seconds: make test has a mission that is flown, and signals of MAVLink.
@pytest.mark.nightly
def test_fog_mixes_a_wall_with_the_horizon_by_its_distance() -> None:
    """Linearly: of a wall at 10 m, half is left where 20 m can be seen, and nothing where 10 m can."""
    world = """
world: foggy
time: {step: 0.01}
bodies: [{name: wall, pose: {position: [10.5, 0, 0]}, geometry: [{box: [1, 400, 400], color: [1, 0, 0]}]}]
frames: [{name: cart/base_link}]
sensors: [{name: cart/CAM, type: camera, rate: 10, width: 32, height: 24}]
scenario: [{at: 0.05, do: {fog: 20}}, {at: 0.15, do: {fog: 10}}, {at: 0.25, do: {fog: 0}}]
"""
    run = Simulation(loads(world))
    seen = []
    for _ in range(4):
        seen.append(run.snapshot().measurements["cart/CAM"].values[0].astype(float).mean((0, 1)))
        run.run(0.1)
    run.close()
    clear, half, none, again = seen
    assert clear[1] == clear[2] == 0.0
    np.testing.assert_allclose(none, 255.0 * np.array([0.86, 0.91, 0.96]), atol=1.5)
    np.testing.assert_allclose(half, (clear + none) / 2.0, atol=1.5)
    np.testing.assert_array_equal(again, clear)
