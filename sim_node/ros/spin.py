"""Run a node: start rclpy, the loop and the executor, and stop all of them on a signal."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from typing import Any, Protocol, TypeVar

import rclpy
from rclpy.clock import Clock, ClockType
from rclpy.executors import SingleThreadedExecutor
from rclpy.impl.implementation_singleton import rclpy_implementation as _rclpy
from rclpy.node import Node
from rclpy.utilities import remove_ros_args
from rclpy.waitable import Waitable

try:
    from rclpy.event_handler import EventHandler
except ImportError:  # before ROS 2 Iron
    from rclpy.qos_event import QoSEventHandler as EventHandler

from sim_node.interrupt import Interrupt
from sim_node.mavlink.ports import PortInUse
from sim_node.packages import RosNotStarted
from sim_node.plugins import blamed
from sim_node.recording.bag import BagError, RecordingStopped
from sim_node.ros.parameters import ParameterFault
from sim_node.ros.participant import spinning, start_ros
from sim_node.ros.ros_arguments import overrides, without_effect
from sim_node.world import WorldError
from sim_node.world.problems import RunFailed, counted

# How often to poll the events of publishers and subscriptions, s.
EVENTS_S = 1.0
FAILED = 1
USER_MISTAKE = 2


class Runs(Protocol):
    """The work that a node does in a separate thread."""

    def start(self, *, ended: Callable[[], None]) -> None:
        """Start the thread. `ended` is called when it ends by itself."""

    def stop(self) -> None:
        """Stop the thread. Raises the exception that made it fail, if any."""


class LoopNode(Node):
    """A node that runs a loop. beside: nodes that run as long as it does.

    At each wake-up, rclpy's executor searches the list of all waitables for each of them. Most are events of publishers
    and subscriptions, two for each, such as an incompatible QoS. They are rare and never urgent, so the node polls them
    once a second instead, and the executor does not wait for them.

    Args:
        name: The name of the node.
        options: As in rclpy's Node.
    """

    loop: Runs
    beside: Sequence[LoopNode] = ()

    def __init__(self, name: str, **options: Any) -> None:
        super().__init__(name, **options)
        self.create_timer(EVENTS_S, self._handle_events, clock=Clock(clock_type=ClockType.STEADY_TIME))

    @property
    def waitables(self) -> Iterator[Waitable]:
        """What the executor waits for besides topics, services and timers."""
        return (each for each in super().waitables if not isinstance(each, EventHandler))

    def _handle_events(self) -> None:
        events = [each for each in super().waitables if isinstance(each, EventHandler)]
        with ExitStack() as held:
            for event in events:
                held.enter_context(event)
            held.enter_context(self.context.handle)
            found = _rclpy.WaitSet(0, 0, 0, 0, 0, len(events), self.context.handle)
            found.clear_entities()
            for event in events:
                event.add_to_wait_set(found)
            found.wait(0)
            ready = [event for event in events if event.is_ready(found)]
        for event in ready:
            self.executor.create_task(event.execute, event.take_data())

    def destroy_node(self) -> None:
        """Destroy the node, after the nodes beside it."""
        for node in self.beside:
            node.destroy_node()
        super().destroy_node()

    def ask_to_end(self) -> None:
        """Begin shutting down what takes a while to end."""


N = TypeVar("N", bound=LoopNode)


def run_node(
    make: Callable[[], N],
    interrupt: Interrupt,
    arguments: list[str] | None = None,
    running: Callable[[N], object] = lambda node: None,
) -> int:
    """Create a node and run it until its loop ends or `interrupt` is signalled.

    User errors are printed on stderr, without a traceback.

    Args:
        make: Creates the node.
        interrupt: Ends the run. If it is signalled during startup, nothing is started.
        arguments: The command line with its --ros-args; None for sys.argv.
        running: Called with the node once its loop runs.

    Returns:
        The exit code; 2 for a user error.
    """
    if interrupt.asked:
        return 0
    command_line = sys.argv if arguments is None else arguments
    try:
        start_ros(command_line)
    except RosNotStarted as error:
        print(f"sim_node: {error}", file=sys.stderr)
        return USER_MISTAKE
    try:
        if not interrupt.asked:
            _run(make, interrupt, command_line, running)
    except KeyboardInterrupt:
        if not interrupt.asked:
            raise
        # Nothing has started yet: a world in Python was being read.
    except Exception as error:
        return _report(error, command_line)
    finally:
        rclpy.shutdown()
        # The process is ending, and a search for cycles would take half of the time after Ctrl-C.
        gc.freeze()
    return 0


def _run(make: Callable[[], N], interrupt: Interrupt, command_line: list[str], running: Callable[[N], object]) -> None:
    unused = remove_ros_args(command_line)[1:]
    if unused:
        raise ParameterFault(f"unexpected argument {unused[0]!r}; parameters are --ros-args -p NAME:=VALUE")
    node = make()
    try:
        made: list[LoopNode] = [node, *node.beside]
        names = [each.get_fully_qualified_name() for each in made]
        for line in without_effect(overrides(command_line), names):
            print(f"warning: {line}", file=sys.stderr, flush=True)
        # Existing objects stay alive, and each search for cycles in them would stop all threads for 0.1 s.
        gc.freeze()
        gc.enable()  # see executables.py
        spin(node, interrupt, partial(running, node))
    finally:
        node.destroy_node()


def _report(error: Exception, command_line: list[str]) -> int:
    """Print an error of the user or of a plug-in, and return the exit code. Raises any other error again."""
    code, text = FAILED, f"sim_node: {error}"
    if isinstance(error, WorldError):
        code, text = USER_MISTAKE, f"{error}\n{counted(len(error.problems), 'error')}, nothing was started"
    elif isinstance(error, ParameterFault):
        places = [str(each.where) for each in overrides(command_line) if each.name == error.name]
        code, text = USER_MISTAKE, f"{''.join(places[-1:]) or 'sim_node'}: {error}\nnothing was started"
    elif isinstance(error, BagError):
        code = USER_MISTAKE
    elif isinstance(error, RecordingStopped):  # already reported
        return FAILED
    elif not isinstance(error, RunFailed | PortInUse):
        theirs = blamed(error)
        if theirs is None:
            raise error
        text = f"sim_node: {theirs}"
    print(text, file=sys.stderr)
    return code


def spin(node: LoopNode, interrupt: Interrupt, started: Callable[[], object]) -> None:
    """Run a node's loop and callbacks until `interrupt`. Raises the exception that made the loop fail, if any."""
    executor = SingleThreadedExecutor()
    nodes = [*node.beside, node]
    for each in nodes:
        executor.add_node(each)
    with ExitStack() as running:
        running.enter_context(spinning(executor))
        for each in nodes:
            running.callback(each.loop.stop)
            each.loop.start(ended=interrupt.wake)
        running.callback(node.ask_to_end)
        started()
        interrupt.wait()
