"""Tests of a flight: each runs a simulation of its own, in simulated time."""

WORLD = "test_$name.yaml"


def test_takes_off(sim):
    run = sim.run(WORLD)
    run.until("altitude(drone) > 2 m", 10)
    assert run.value("speed(drone)") < 6.0


def test_reaches_the_first_waypoint(sim):
    sim.run(WORLD).until("x(drone) > 5.5 m and altitude(drone) > 3.5 m", 15)


def test_a_heavy_drone_flies_too(sim):
    sim.passes(WORLD, "(altitude(drone) > 2.5 m) within 8 s", duration=10)
