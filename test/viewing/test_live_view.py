"""The running graph in the viewer: two real programs, and a page."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from page import opened
from page_graphs import graphs
from waiting import PATIENCE

pytest.importorskip("rclpy", reason="no ROS 2 here")
SIM_NODE = Path(sys.executable).parent / "sim_node"


# Takes seconds: make test has a page of the graph in test/system/test_controls_in_browser.py.
@pytest.mark.nightly
@pytest.mark.usefixtures("ros_domain")
def test_the_frames_of_a_running_simulation_appear_and_move(tmp_path: Path) -> None:
    schematic = tmp_path / "live.kdl"
    schematic.write_text('graph "/tf.transforms[0].transform.translation"', encoding="utf-8")
    simulation = subprocess.Popen([SIM_NODE, "run", "orbit"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    viewer = subprocess.Popen(
        [SIM_NODE, "view", "--live", "--port", "0", "--schematic", schematic], stdout=subprocess.PIPE, text=True
    )
    try:
        assert viewer.stdout is not None
        found = re.search(r"http://\S+", viewer.stdout.readline())
        assert found
        with opened(found[0]) as page:
            # The scene is made anew when the first transforms come.
            page.until(lambda page: any(m.get("props", {}).get("text") == "drone/base_link" for m in page.messages))
            label = next(m["name"] for m in page.messages if m.get("props", {}).get("text") == "drone/base_link")

            def path() -> np.ndarray:
                return np.array([m["position"] for m in page.all("SetPositionMessage", name=label)])[1:]

            # Latched before the viewer came.
            page.until(
                lambda page: any("/simulation/markers ·" in m.get("props", {}).get("text", "") for m in page.messages)
            )
            page.until(lambda page: len(path()) > 20 and np.ptp(path()[:, :2], axis=0).sum() > 1.0)
        labels, samples = graphs(found[0], lambda samples: len(samples.get(0, [])) > 5 and samples[0][-1][1][0])
        assert labels == [["x", "y", "z"]]
        assert np.hypot(*samples[0][-1][1][:2]) == pytest.approx(4.0, abs=0.02)
        # The drone circles at four metres.
        assert np.linalg.norm(path()[:, :2], axis=1) == pytest.approx(4.0, abs=0.02)
        viewer.send_signal(signal.SIGINT)
        assert viewer.wait(PATIENCE) == 0
    finally:
        for process in (viewer, simulation):
            process.kill()
            process.wait()
