"""What the exit of a node means for a launch: the end of all, and that `ros2 launch` fails where the node failed."""

from collections.abc import Callable

from launch.actions import Shutdown
from launch.events.process import ProcessExited

from launch import Action, LaunchContext


def ends_launch(what: str) -> Callable[[ProcessExited, LaunchContext], list[Action]]:
    """For `on_exit` of the node that all others go by: whatever else runs waits for a clock that has stopped."""

    def ended(event: ProcessExited, context: LaunchContext) -> list[Action]:
        if event.returncode and not context.is_shutdown:
            # The one way to have `ros2 launch` exit with 1; it shuts down all others as Shutdown does.
            raise RuntimeError(f"{what} has failed with exit code {event.returncode}")
        return [Shutdown(reason=f"{what} has ended")]

    return ended
