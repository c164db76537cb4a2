"""Builds simulation_interfaces into .venv, from interfaces/simulation_interfaces/definitions.txt.

Not part of the set-up, because it takes minutes and most runs do not need it. A sourced ROS 2 brings its own.
"""

import os
import shutil
import subprocess
import sys
import time

import bootstrap

PACKAGE = "simulation_interfaces"
SOURCE = os.path.join(bootstrap.ROOT, "interfaces", PACKAGE)
FILES = ("CMakeLists.txt", "package.xml")


def main():
    started = time.monotonic()
    try:
        if bootstrap.ros_is_sourced():
            if bootstrap.output_of([bootstrap.VENV_PYTHON, "-c", "import %s.srv" % PACKAGE]) is None:
                distro = os.environ.get("ROS_DISTRO", "DISTRO")
                raise bootstrap.Stop(
                    "the ROS 2 of this shell has no %s; run: sudo apt-get install -y ros-%s-simulation-interfaces"
                    % (PACKAGE, distro)
                )
            bootstrap.say("the ROS 2 of this shell has %s" % PACKAGE)
            return
        if bootstrap.is_built(PACKAGE):
            bootstrap.say("%s is built" % PACKAGE)
            return
        folder = os.path.join(bootstrap.VENV, "build", PACKAGE + ".source")
        lay_out(folder)
        bootstrap.build(PACKAGE, folder, os.cpu_count() or 1)
        shutil.rmtree(folder)
    except bootstrap.Stop as stop:
        sys.exit("sim_node set-up: %s" % stop)
    except subprocess.CalledProcessError as failure:
        sys.exit("sim_node set-up: `%s` failed, its output is above" % " ".join(map(str, failure.cmd[:6])))
    except KeyboardInterrupt:
        sys.exit("sim_node set-up: interrupted; run it again to go on")
    bootstrap.say("%s is built, in %.0f s" % (PACKAGE, time.monotonic() - started))


def lay_out(folder):
    """Writes the package as rosidl needs it: a file for each interface."""
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    for name in FILES:
        shutil.copy(os.path.join(SOURCE, name), folder)
    for name, text in definitions().items():
        kind = name.split("/")[0]
        os.makedirs(os.path.join(folder, kind), exist_ok=True)
        bootstrap.write(os.path.join(folder, name + "." + kind), text)


def definitions():
    """The text of each interface, such as msg/Bounds, by its name."""
    found, name = {}, None
    for line in bootstrap.read(os.path.join(SOURCE, "definitions.txt")).splitlines(True):
        if line.startswith("## "):
            name = line[3:].strip()
            found[name] = ""
        elif name is not None:
            found[name] += line
    return found


if __name__ == "__main__":
    main()
