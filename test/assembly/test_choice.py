"""Which of several assemblies is chosen, what is told of the others, and how many freedoms there really are."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from linkages import bar, four_bar, freudenstein, heading, snapped, wrapped
from nightly import only

from sim_node.assembly import Assembly, assembly_of
from sim_node.world import Mate, MateConnector, System, World

LENGTHS = (1.0, 3.0, 2.5, 3.2)
THETA = 0.7


def closing_angle(phi: float) -> float:
    """Of the rocker in the coupler, from the rocker's."""
    tip = np.array([3.2 + 2.5 * np.cos(phi), 2.5 * np.sin(phi)]) - [np.cos(THETA), np.sin(THETA)]
    return wrapped(phi - float(np.arctan2(tip[1], tip[0])))


def steps(assembly: Assembly, kind: str) -> list[tuple[float, ...]]:
    return [step.value for step in assembly.steps if step.kind == kind]


@pytest.mark.parametrize("phi", only(freudenstein(*LENGTHS, THETA), 0))
def test_near_chooses_on_the_mate_that_closes_the_loop_whatever_the_order(phi: float) -> None:
    for order in itertools.permutations(range(4)):
        system = four_bar(*LENGTHS, THETA)
        mates = [*system.mates[:3], replace(system.mates[3], near=(closing_angle(phi) + 0.3,))]
        assembly = snapped(replace(system, mates=tuple(mates[k] for k in order)))
        assert abs(wrapped(heading(assembly, "s/rocker") - phi)) < 1e-9, order


@pytest.mark.parametrize("near", only([((2.5, 2.5),), ((-2.5, 2.5),), (None,)], 1))
def test_hinges_are_within_half_a_turn_or_their_limits(near: tuple[float, float] | None) -> None:
    """An angle of 4.38 is -1.9: from `near`, solvers went on beyond half a turn."""
    beyond = 0
    for theta in np.linspace(-3.1, 3.1, 7).tolist():
        system = four_bar(*LENGTHS, theta, near=near)
        assembly = snapped(system)
        for m, values in assembly.values.items():
            assert -np.pi < values[0] <= np.pi
            # The same angle, a turn on, if its limits say so; the crank's is given.
            mate = system.mates[m]
            if mate.name == "output" and values[0] < -0.1:
                on = values[0] + 2 * np.pi
                limited = replace(mate, limits=((on - 0.05, on + 0.05),), near=None)
                turned = snapped(replace(system, mates=(*system.mates[:2], limited, system.mates[3])))
                assert turned.conflicts == ()
                assert turned.values[m][0] == pytest.approx(on)
                beyond += 1
    assert beyond


def test_what_is_free_is_held_where_near_wants_it() -> None:
    wanted = closing_angle(freudenstein(*LENGTHS, THETA)[0])
    system = four_bar(*LENGTHS, None)
    mates = (*system.mates[:3], replace(system.mates[3], near=(wanted,)))
    assembly = snapped(replace(system, mates=mates))
    assert abs(wrapped(assembly.values[assembly.table.mate_names.index("s/closing")][0] - wanted)) < 1e-9
    assert steps(assembly, "held") == [pytest.approx((wanted,))]


def test_the_other_assembly_is_reported_and_listed() -> None:
    """A four-bar has two, by Freudenstein's equation; without `near` it is the one that moves less from rest."""
    system = four_bar(*LENGTHS, THETA)
    assert steps(snapped(system), "others") == [(1.0, 1.0)]
    assembly = assembly_of(World("w", systems=(system,)), every=True)
    (other,) = assembly.others
    row = assembly.table.mate_names.index("s/output")
    found = sorted(wrapped(values[row][0]) for values in (assembly.values, other.values))
    np.testing.assert_allclose(found, sorted(map(wrapped, freudenstein(*LENGTHS, THETA))), atol=1e-9)
    moved = [sum(wrapped(q[0]) ** 2 for q in values.values()) for values in (assembly.values, other.values)]
    assert moved[0] < moved[1]
    rocker = other.in_roots[assembly.table.names.index("s/rocker")]
    angle = 2.0 * np.arctan2(rocker[5], rocker[6])
    assert abs(wrapped(angle - other.values[row][0])) < 1e-9


def test_a_linkage_with_one_way_to_assemble_reports_no_other() -> None:
    """Stretched: the bars reach just over the gap."""
    system = System(
        "s",
        bodies=(bar("left", 1.0), bar("right", 0.5)),
        connectors=(MateConnector("g0"), MateConnector("g1", np.array([1.5, 0, 0]))),
        mates=(
            Mate("l", "hinge", ("g0", "left/a")),
            Mate("r", "hinge", ("g1", "right/b")),
            Mate("t", "hinge", ("left/b", "right/a")),
        ),
    )
    assembly = snapped(system)
    assert steps(assembly, "others") == []
    # Infinitesimally it gives way, but it cannot move.
    assert steps(assembly, "singular") == [(1.0, 0.0)]
    assert assembly.degrees_of_freedom == 0


def test_a_flat_parallelogram_has_one_freedom_and_is_singular() -> None:
    """Where all four bars lie on one line, it can go on as a parallelogram or as an antiparallelogram."""
    flat, raised = (snapped(four_bar(1.0, 2.0, 1.0, 2.0, theta)) for theta in (0.0, 0.5))
    assert steps(flat, "singular") == [(2.0, 1.0)]
    assert steps(raised, "singular") == []
    assert flat.degrees_of_freedom == raised.degrees_of_freedom == 1


@pytest.mark.parametrize("scale", only([1e-4, 1.0, 1e4], 0))
def test_the_tolerance_is_relative_to_the_size(scale: float) -> None:
    """A gap that is a hundred-thousandth too wide is too wide, unless the system tolerates a ten-thousandth."""
    system = System(
        "s",
        bodies=(bar("left", scale), bar("right", 0.5 * scale)),
        connectors=(MateConnector("g0"), MateConnector("g1", np.array([(1.5 + 1e-5) * scale, 0, 0]))),
        mates=(
            Mate("l", "hinge", ("g0", "left/a")),
            Mate("r", "hinge", ("g1", "right/b")),
            Mate("t", "hinge", ("left/b", "right/a")),
        ),
    )
    (conflict,) = snapped(system).conflicts
    assert conflict.distance == pytest.approx(1e-5 * scale, rel=1e-3)
    assert snapped(replace(system, tolerance=1e-4)).conflicts == ()
    crank, coupler, rocker, ground = (scale * length for length in LENGTHS)
    assert snapped(four_bar(crank, coupler, rocker, ground, THETA)).conflicts == ()


def test_a_pair_that_floats_has_six_freedoms_more() -> None:
    pair = System("s", bodies=(bar("p", 1.0), bar("q", 1.0)), mates=(Mate("h", "hinge", ("p/b", "q/a")),))
    held = replace(pair, connectors=(MateConnector("g"),), mates=(*pair.mates, Mate("l", "lock", ("g", "p/a"))))
    assert (snapped(pair).degrees_of_freedom, snapped(held).degrees_of_freedom) == (7, 1)


@pytest.mark.parametrize("phi", freudenstein(*LENGTHS, THETA))
def test_limits_are_respected_while_a_loop_is_closed(phi: float) -> None:
    """Limits about either of the two rocker angles lead to it; about neither, the mate cannot be met."""
    system = four_bar(*LENGTHS, THETA)

    def limited(low: float, high: float) -> Assembly:
        mates = list(system.mates)
        mates[2] = replace(mates[2], limits=((low, high),))
        return snapped(replace(system, mates=tuple(mates)))

    assembly = limited(wrapped(phi) - 0.2, wrapped(phi) + 0.2)
    assert assembly.conflicts == ()
    assert abs(wrapped(heading(assembly, "s/rocker") - phi)) < 1e-9
    (conflict,) = limited(wrapped(phi) + 0.05, wrapped(phi) + 0.1).conflicts
    assert conflict.kind == "limits"
    assert "beyond its limits" in str(conflict)
