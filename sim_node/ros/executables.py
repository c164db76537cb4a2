"""The executables for `ros2 run` and launch files. All settings are parameters."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from sim_node.interrupt import ExitInterrupt, Interrupt
from sim_node.packages import how_to_install

if TYPE_CHECKING:
    from sim_node.ros.simulation import SimulationNode


def simulation(arguments: list[str] | None = None) -> int:
    """Run `ros2 run sim_node simulation`. Return the exit code. See run_node for the arguments."""
    # Entered before rclpy is loaded, so that Ctrl-C during the import is handled as well.
    with ExitInterrupt() as interrupt, _starting(interrupt):
        from sim_node.ros.simulation import SimulationNode, headline
        from sim_node.ros.spin import run_node

        def announce(node: SimulationNode) -> None:
            node.get_logger().info(headline(node))

        return run_node(SimulationNode, interrupt, arguments, announce)


def bridge(arguments: list[str] | None = None) -> int:
    """Run `ros2 run sim_node bridge`. Return the exit code. See run_node for the arguments."""
    with ExitInterrupt() as interrupt, _starting(interrupt):
        from sim_node.ros.bridge import BridgeNode
        from sim_node.ros.spin import run_node

        return run_node(BridgeNode, interrupt, arguments)


def replay(arguments: list[str] | None = None) -> int:
    """Run `ros2 run sim_node replay`. Return the exit code. See run_node for the arguments."""
    with ExitInterrupt() as interrupt, _starting(interrupt):
        from sim_node.ros.replay import ReplayNode, prepare_replay
        from sim_node.ros.spin import run_node

        prepare_replay()
        return run_node(ReplayNode, interrupt, arguments)


@contextmanager
def _starting(interrupt: Interrupt) -> Iterator[None]:
    """Exit with code 1 and one line if a package is not installed, and with 0 on Ctrl-C while kernels compile."""
    # No garbage arises until the node runs, and searching for cycles would take 0.04 s.
    gc.disable()
    try:
        yield
    except KeyboardInterrupt:
        if not interrupt.asked:
            raise
        raise SystemExit(0) from None
    except ModuleNotFoundError as error:
        print(f"sim_node: {how_to_install(error)}", file=sys.stderr)
        raise SystemExit(1) from None
    finally:
        gc.enable()
