"""What lets a command start sooner."""

from __future__ import annotations

import gc
import subprocess
import sys

import pytest

from sim_node.start_up import collection_paused

LOADS = """
import sys, threading
from sim_node.start_up import load_rclpy_ahead
load_rclpy_ahead()
[each.join() for each in threading.enumerate() if each is not threading.main_thread()]
print("rclpy" in sys.modules, "_rclpy_pybind11" in open("/proc/self/maps").read())
import rclpy.node
"""


def test_garbage_is_collected_again_after_an_error_too() -> None:
    assert gc.isenabled()
    with collection_paused(), collection_paused():
        assert not gc.isenabled()
    assert gc.isenabled()
    with pytest.raises(ZeroDivisionError), collection_paused():
        _ = 1 / 0
    assert gc.isenabled()


@pytest.mark.skipif(sys.platform != "linux", reason="reads which libraries are loaded from /proc")
def test_the_libraries_of_rclpy_are_there_before_it_is_imported() -> None:
    ran = subprocess.run([sys.executable, "-c", LOADS], capture_output=True, text=True, check=True)
    assert ran.stdout.split() == ["False", "True"]


def test_without_rclpy_nothing_is_loaded() -> None:
    hidden = "import sys; sys.modules['rclpy'] = None\n" + LOADS.replace("import rclpy.node", "")
    ran = subprocess.run([sys.executable, "-c", hidden], capture_output=True, text=True, check=False)
    assert ran.stdout.split() == ["True", "False"], ran.stderr
