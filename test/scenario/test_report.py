"""Reports: one page that loads nothing, the same for the same runs, with marks where they were violated."""

from __future__ import annotations

import itertools
import json
import re
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from sim_node.extensions.scenario.report import pass_rate, write_report
from sim_node.extensions.scenario.report_plots import PlotAxes, apart, thinned
from sim_node.extensions.scenario.scenarios import Scenario
from sim_node.extensions.scenario.testing import RunPlan, judge_scenario
from sim_node.extensions.sweep import variation
from sim_node.viewing.graph_axes import ticks

BALL = """\
world: ball                  # A ball <b>that</b> is thrown.
physics: {gravity: [0, 0, -10], timestep: 0.01}
time: {step: 0.01}
bodies:
  - {name: ball, joint: {type: free, qd: [3, 0, 5, 0, 0, 0]}, geometry: [{sphere: 0.1, mass: 1.0}]}
expect:
  duration: 1
  must: [always altitude(ball) < 1.2 m, always x(ball) < 9 m]
"""


class Tags(HTMLParser):
    """The tags of a page with their attributes; the page is well formed."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str]]] = []
        self._open: list[str] = []
        self.feed(page)
        assert self._open == []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, {key: value or "" for key, value in attributes}))
        if tag != "meta":
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, {key: value or "" for key, value in attributes}))

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag


def test_a_page_of_many_runs(tmp_path: Path) -> None:
    world = tmp_path / "ball.yaml"
    world.write_text(BALL)
    plan = RunPlan(8, (variation("bodies[ball].joint.qd[2]", "grid(4.7, 5.4, 8)"),), workers=1, keep=0)
    tested = judge_scenario(Scenario("ball", str(world)), plan, tmp_path / "results")
    # v^2 / 20 is above 1.2 from 4.9 on.
    assert [each.verdict for each in tested.certificates] == ["pass", "pass", *["fail"] * 6]
    page = write_report([tested], tmp_path / "report").read_text()
    assert write_report([tested], tmp_path / "again").read_text() == page
    tags = Tags(page).found
    assert not [value for _, attributes in tags for key, value in attributes.items() if key in ("src", "srcset")]
    assert "http" not in re.sub(r"<meta http-equiv.*?>", "", page)
    assert "<b>that</b>" not in page
    assert "2 of 8 runs passed: <b>25.00%</b>, and with 95 % confidence 7.15% to 59.07%" in page
    circles = [attributes for tag, attributes in tags if tag == "circle"]
    assert [each["class"] for each in circles].count("pass") == 2
    # The worst two, each with its violation in the plot of its altitude, and one good run.
    assert [each["class"] for each in circles].count("violated") == 2
    assert re.findall(r"<h3>Run (\d+), seed", page) == ["7", "6", "1"]
    paths = [json.loads(attributes["data-paths"]) for tag, attributes in tags if tag == "canvas"]
    points = np.array(paths[0][0]["points"])
    np.testing.assert_allclose(points[:, 2], 5.4 / 3 * points[:, 0] - 5 * (points[:, 0] / 3) ** 2, atol=1e-4)
    assert paths[0][0]["violated"][2] >= 1.2
    assert "violated" not in paths[2][0]


@pytest.mark.parametrize(
    ("passed", "runs", "low", "high"),
    # R. G. Newcombe, Two-sided confidence intervals for the single proportion, Statistics in Medicine 17 (1998).
    [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611), (1, 29, 0.0061, 0.1718)],
)
def test_intervals_are_those_of_newcombes_table(passed: int, runs: int, low: float, high: float) -> None:
    rate, least, most = pass_rate(passed, runs)
    assert rate == passed / runs
    assert (round(least, 4), round(most, 4)) == (low, high)


def test_plots_keep_the_extremes_of_long_signals() -> None:
    times = np.linspace(0.0, 60.0, 60_001)
    values = np.sin(times)
    values[12_345] = 9.0
    at, kept = thinned(times, values)
    assert len(at) < 700
    assert (np.diff(at) >= 0.0).all()
    assert kept.max() == 9.0
    assert at[np.argmax(kept)] == times[12_345]


def test_axes_map_the_ends_to_the_frame() -> None:
    axes = PlotAxes([0.0, 60.0], [-1.0, 1.0])
    assert (axes.x(0.0), axes.x(60.0)) == (56.0, 628.0)
    assert axes.y(1.0) < axes.y(0.0) < axes.y(-1.0)
    assert ticks(0.0, 60.0, 6) == [0.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0]
    # By hand; sums of steps leave 5.6e-17 where 0 is.
    assert [f"{each:.4g}" for each in ticks(-0.3, 0.2, 5)] == ["-0.3", "-0.2", "-0.1", "0", "0.1", "0.2"]
    assert len(PlotAxes([1.0], [2.0]).drawn("", "one point")) > 0


def test_numbers_of_events_lie_on_no_others() -> None:
    """A digit of 18 pixels, as on a phone, is at most 12 wide (0.6 em in DejaVu Sans)."""
    rng = np.random.default_rng(2)
    axes = PlotAxes([0.0, 60.0], [0.0, 1.0], "s")
    times = np.sort(rng.uniform(0.0, 60.0, 30)).tolist()
    marks = apart(axes, [(at_s, number, number) for number, at_s in enumerate(times, 1)])
    ends = [(x - 6.0 * len(text), x + 6.0 * len(text)) for x, text in marks]
    assert all(right <= left for (_, right), (left, _) in itertools.pairwise(ends))
    numbers = [text.split("-") for _, text in marks]
    assert [number for each in numbers for number in range(int(each[0]), int(each[-1]) + 1)] == list(range(1, 31))
    assert apart(axes, [(10.0, 1, 2), (30.0, 3, 3)]) == [(axes.x(10.0), "1-2"), (axes.x(30.0), "3")]
