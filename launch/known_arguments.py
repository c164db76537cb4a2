"""Refuses arguments on the command line of `ros2 launch` that no launch file declares, which launch ignores."""

from launch.actions import OpaqueFunction

from launch import LaunchContext, LaunchDescription


def refusing_unknown_arguments(description: LaunchDescription) -> LaunchDescription:
    """The description of a launch file, with a check before its first action.

    Only of the file that is launched: one that includes it may have arguments of its own.
    """
    known = [argument.name for argument in description.get_launch_arguments()]

    def check(context: LaunchContext) -> None:
        given = [word.partition(":=")[0] for word in context.argv]
        is_included = not set(context.launch_configurations) <= set(given)
        unknown = [name for name in given if name not in known]
        if unknown and not is_included:
            listed = f"known: {', '.join(known)}"
            raise RuntimeError(f"unknown launch argument {unknown[0]}{_hint(unknown[0], known)} ({listed})")

    return LaunchDescription([OpaqueFunction(function=check), *description.entities])


def _hint(name: str, known: list[str]) -> str:
    try:
        from sim_node.text import did_you_mean
    except ImportError:  # launched from a checkout that is not installed
        return ""
    return did_you_mean(name, known)
