"""Runs a command where launch, launch_ros, ros2cli and tf2_ros are: with_upstream.py PEERS COMMAND...

PEERS is a colcon workspace that has them, or its install folder; "" stands for the ROS 2 that is sourced. Exits with 2
where there is neither.
"""

import os
import subprocess
import sys


def main(peers, command):
    if not command:
        stop("usage: with_upstream.py PEERS COMMAND...")
    if peers:
        environment = sourced(set_up_file(peers))
    elif os.environ.get("ROS_DISTRO"):
        environment = dict(os.environ)
    else:
        stop(
            "upstream launch, ros2cli and tf2_ros are needed: source a ROS 2, or give a colcon workspace that has them "
            "(make test-ros PEERS=/path; CONTRIBUTING.md says what is in it)"
        )
    os.execvpe(command[0], command, environment)


def set_up_file(peers):
    """The setup.sh of a workspace or of its install folder."""
    for folder in (peers, os.path.join(peers, "install")):
        path = os.path.realpath(os.path.join(folder, "setup.sh"))
        if os.path.isfile(path):
            return path
    stop("PEERS=%s: no setup.sh and no install/setup.sh is there; give a colcon workspace that has been built" % peers)


def sourced(path):
    """This environment after `. path`.

    LD_LIBRARY_PATH is that of .venv's Python already. What the workspace puts before it stays before it: both have
    the libraries of a tf2_msgs, and only the workspace's has all that tf2_ros needs. Programs of the workspace start
    with `env python3`, which has to be .venv's: rclpy is there.
    """
    script = '. "$1" >&2 && exec env -0'
    ran = subprocess.run(["sh", "-c", script, "sh", path], stdout=subprocess.PIPE, check=False)
    if ran.returncode != 0:
        stop("%s failed, its output is above" % path)
    environment = dict(entry.split("=", 1) for entry in os.fsdecode(ran.stdout).split("\0") if entry)
    environment["PATH"] = os.pathsep.join([os.path.dirname(sys.executable), environment.get("PATH", os.defpath)])
    return environment


def stop(message):
    print(message, file=sys.stderr)
    sys.exit(2)


if __name__ == "__main__":
    main(*(sys.argv[1:2] or [""]), sys.argv[2:])
