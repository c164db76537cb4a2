"""Only those who use the tree pay for loading compiled code."""

from __future__ import annotations

import subprocess
import sys

from waiting import PATIENCE

PROGRAM = """
import sys
import sim_node.spatial.geometry.poses, sim_node.spatial.frames, sim_node.world, sim_node.messages.tf_message_reader
assert "numba" not in sys.modules
import sim_node.spatial.tree
assert "numba" not in sys.modules
sim_node.spatial.tree.TransformTree
assert "numba" in sys.modules
assert "rclpy" not in sys.modules
"""


def test_numba_comes_with_the_tree_and_only_with_it() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
