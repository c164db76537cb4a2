"""What the foot of a page says of a time that nothing on the page controls, such as that of the graph."""

from __future__ import annotations

from typing import Any

import pytest

from sim_node.viewing.browser.transport import FootControls


class Graph:
    """A graph whose time is set, and a page that asks for its state ten times a second."""

    def __init__(self) -> None:
        self.wall_s = self.time_s = 0.0
        self.controls = FootControls(
            None, lambda: round(1e9 * self.time_s), lambda: None, lambda: "", wall=lambda: self.wall_s
        )

    def after(self, seconds: float, speed: float) -> dict[str, Any]:
        for _ in range(round(10 * seconds)):
            self.wall_s += 0.1
            self.time_s += 0.1 * speed
            state = self.controls.state()
        return state


@pytest.mark.parametrize("speed", [0.0, 0.27, 1.0, 5.0])
def test_the_speed_of_the_graph_is_measured(speed: float) -> None:
    graph = Graph()
    state = graph.after(5.0, speed)
    assert (state["speed"], state["playing"]) == (pytest.approx(speed, abs=1e-6), speed > 0.0)
    state = graph.after(5.0, 0.5)
    assert (state["speed"], state["playing"]) == (pytest.approx(0.5), True)


def test_a_graph_that_stands_still_is_not_running() -> None:
    graph = Graph()
    graph.after(5.0, 1.0)
    assert not graph.after(4.0, 0.0)["playing"]


def test_a_reset_and_a_time_without_a_page_do_not_count() -> None:
    graph = Graph()
    graph.after(5.0, 1.0)
    graph.time_s = 0.0
    assert graph.after(2.0, 0.5)["speed"] == pytest.approx(0.5)
    graph.wall_s += 100.0
    assert graph.after(2.0, 2.0)["speed"] == pytest.approx(2.0)
