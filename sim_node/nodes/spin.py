"""A node from start to finish: rclpy up, the loop and the executor running, all down again on a signal."""

from __future__ import annotations

import gc
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import Protocol

import rclpy
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions
from rclpy.utilities import remove_ros_args

from sim_node.autopilot.ports import PortInUse
from sim_node.interrupt import Interrupt
from sim_node.nodes.environment import prepare
from sim_node.nodes.parameters import ParameterFault
from sim_node.nodes.ros_arguments import overrides, unheard
from sim_node.plugins import blamed
from sim_node.recording.bag import BagError, RecordingStopped
from sim_node.world import WorldError
from sim_node.world.problems import counted

FAILED = 1
USER_MISTAKE = 2


class Runs(Protocol):
    """What a node does in a thread of its own."""

    def start(self, *, ended: Callable[[], None]) -> None:
        """Begins; `ended` is called when it comes to its end by itself."""

    def stop(self) -> None:
        """Ends it, and raises what made it fail."""


class LoopNode(Node):
    """A node that runs a loop. beside: nodes that run as long as it does."""

    loop: Runs
    beside: Sequence[LoopNode] = ()

    def destroy_node(self) -> None:
        """Those beside it first."""
        for node in self.beside:
            node.destroy_node()
        super().destroy_node()

    def ask_to_end(self) -> None:
        """The end has come: what takes long to end may begin with it."""


def run_node(make: Callable[[], LoopNode], interrupt: Interrupt, arguments: list[str] | None = None) -> int:
    """Makes a node and runs it until its loop ends or `interrupt`. Returns the exit code.

    arguments: the command line with its --ros-args, sys.argv where None. What the user got wrong is printed
    on stderr, without a traceback, and gives 2. Interrupted while it starts, it goes no further.
    """
    if interrupt.asked:
        return 0
    prepare()
    words = sys.argv if arguments is None else arguments
    try:
        # Signals are ours: a context that a handler shuts down would fail the tick that is being sent.
        rclpy.init(args=words, signal_handler_options=SignalHandlerOptions.NO)
    except Exception as error:  # rclpy has a class per fault of the command line, without a common one
        print(f"sim_node: {error}", file=sys.stderr)
        return USER_MISTAKE
    try:
        if interrupt.asked:
            return 0
        left = remove_ros_args(words)[1:]
        if left:
            raise ParameterFault(f"unexpected argument {left[0]!r}; parameters are --ros-args -p NAME:=VALUE")
        node = make()
        try:
            for line in unheard(overrides(words), [each.get_fully_qualified_name() for each in (node, *node.beside)]):
                print(f"warning: {line}", file=sys.stderr, flush=True)
            spin(node, interrupt)
        finally:
            node.destroy_node()
    except WorldError as error:
        print(f"{error}\n{counted(len(error.problems), 'error')}, nothing was started", file=sys.stderr)
        return USER_MISTAKE
    except ParameterFault as fault:
        places = [each.where for each in overrides(words) if each.name == fault.name]
        print(f"{(places and str(places[-1])) or 'sim_node'}: {fault}\nnothing was started", file=sys.stderr)
        return USER_MISTAKE
    except PortInUse as fault:
        print(f"sim_node: {fault}", file=sys.stderr)
        return FAILED
    except BagError as error:
        print(f"sim_node: {error}", file=sys.stderr)
        return USER_MISTAKE
    except RecordingStopped:  # which has told why
        return FAILED
    except Exception as error:
        theirs = blamed(error)
        if theirs is None:
            raise
        print(f"sim_node: {theirs}", file=sys.stderr)
        return FAILED
    finally:
        rclpy.shutdown()
        # All that is left goes with the process: to look through it for cycles takes half of a Ctrl-C's time.
        gc.freeze()
    return 0


def spin(node: LoopNode, interrupt: Interrupt) -> None:
    """Runs a node's loop and its callbacks until `interrupt`; raises what made the loop fail."""
    executor = SingleThreadedExecutor()
    nodes = [*node.beside, node]
    for each in nodes:
        executor.add_node(each)
    callbacks = threading.Thread(target=executor.spin, name="callbacks", daemon=True)
    callbacks.start()
    with ExitStack() as running:
        running.callback(callbacks.join, 1.0)
        running.callback(executor.shutdown, 1.0)
        for each in nodes:
            running.callback(each.loop.stop)
            each.loop.start(ended=interrupt.wake)
        running.callback(node.ask_to_end)
        interrupt.wait()
