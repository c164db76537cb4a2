"""Makes .venv: the pinned packages, the real rclpy where no ROS 2 is sourced, tf2_msgs, sim_node itself.

Standard library only, and readable by old interpreters: it must be able to say that they are too old.
"""

import os
import platform
import re
import shutil
import subprocess
import sys
import sysconfig
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
VENV = os.path.join(ROOT, ".venv")
VENV_PYTHON = os.path.join(VENV, "bin", "python")
OLDEST, NEWEST = (3, 10), (3, 14)
APT = "sudo apt-get install -y "


class Stop(Exception):
    """The machine lacks something; the message is one line that says what to do."""


def main(parts):
    started = time.monotonic()
    try:
        interpreter = suitable_interpreter()
        if interpreter != sys.executable:
            os.execv(interpreter, [interpreter, os.path.abspath(__file__)] + parts)
        sourced = ros_is_sourced()
        if not sourced:
            require_wheel_platform()
            require_compiler()
        make_venv(sourced)
        install(["core"] + ([] if sourced else ["ros"]) + parts, sourced)
        if not sourced and not importable("tf2_msgs"):
            build_tf2_msgs()
        install_project()
    except Stop as stop:
        sys.exit("sim_node set-up: %s" % stop)
    except subprocess.CalledProcessError as failure:
        sys.exit("sim_node set-up: `%s` failed, its output is above" % " ".join(map(str, failure.cmd[:6])))
    except KeyboardInterrupt:
        sys.exit("sim_node set-up: interrupted; run it again to go on")
    print("sim_node set-up: done in %.0f s; the command is .venv/bin/sim_node" % (time.monotonic() - started))


def say(text):
    print("sim_node set-up: " + text, flush=True)


def suitable_interpreter():
    """This interpreter, or a newer one on PATH where this one is too old."""
    if OLDEST <= sys.version_info[:2] <= NEWEST:
        return sys.executable
    for minor in range(NEWEST[1], OLDEST[1] - 1, -1):
        found = shutil.which("python3.%d" % minor)
        # A version manager's shim can be on PATH for a version that is not there.
        if found and subprocess.call([found, "-c", ""], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) == 0:
            return found
    raise Stop(
        "Python 3.%d to 3.%d is needed and this is %s; install one and run `make PYTHON=python3.12`"
        % (OLDEST[1], NEWEST[1], platform.python_version())
    )


def ros_is_sourced():
    """Whether a ROS 2 of the user's own is set up in this shell."""
    outside = {name: value for name, value in os.environ.items() if name != "VIRTUAL_ENV"}
    probe = "import rclpy, tf2_msgs.msg, os; print(os.environ.get('ROS_DISTRO', 'of unknown distro'))"
    ran = subprocess.run([sys.executable, "-c", probe], env=outside, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    if ran.returncode == 0:
        say("using the ROS 2 that is set up in this shell (%s)" % ran.stdout.decode().strip())
    return ran.returncode == 0


def require_wheel_platform():
    machine, libc = platform.machine(), platform.libc_ver()
    if sys.platform != "linux" or machine != "x86_64":
        raise Stop(
            "rclpy comes from PyPI for Linux on x86-64 alone and this is %s on %s; install ROS 2 Jazzy, "
            "source its setup.bash and run make again" % (sys.platform, machine)
        )
    if libc[0] == "glibc" and tuple(map(int, libc[1].split(".")[:2])) < (2, 28):
        raise Stop("glibc 2.28 or newer is needed (Debian 10, Ubuntu 20.04) and this is %s" % libc[1])


def require_compiler():
    """A C++ compiler and Python.h, which building tf2_msgs takes."""
    missing = []
    if not any(shutil.which(name) for name in (os.environ.get("CXX", "c++"), "g++", "clang++")):
        missing.append("g++")
    if not os.path.exists(os.path.join(sysconfig.get_path("include"), "Python.h")):
        missing.append("python3-dev")
    if missing:
        provide(missing, "to build tf2_msgs")


def provide(packages, why):
    """Installs Debian packages where this is root (a container), else says the command that does."""
    command = APT + " ".join(packages)
    if os.geteuid() != 0 or not shutil.which("apt-get"):
        raise Stop("%s needed %s; run: %s" % (" and ".join(packages), why, command))
    say("installing %s, needed %s" % (" and ".join(packages), why))
    environment = dict(os.environ, DEBIAN_FRONTEND="noninteractive")
    apt = ["apt-get", "-q", "-y", "-o", "Dpkg::Use-Pty=0"]
    subprocess.run(apt + ["update"], env=environment, check=True, stdout=subprocess.DEVNULL)
    subprocess.run(
        apt + ["install", "--no-install-recommends"] + packages,
        env=environment,
        check=True,
        stdout=subprocess.DEVNULL,
    )


def make_venv(sourced):
    """A venv of this interpreter; an unfinished or foreign one is made anew."""
    if os.path.exists(VENV_PYTHON):
        probe = "import pip, sys; print('%d.%d' % sys.version_info[:2])"
        ran = subprocess.run([VENV_PYTHON, "-c", probe], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        with_site = "include-system-site-packages = true" in open(os.path.join(VENV, "pyvenv.cfg")).read()
        if ran.stdout.decode().strip() == "%d.%d" % sys.version_info[:2] and with_site == sourced:
            return
    if subprocess.call([sys.executable, "-c", "import ensurepip, venv"], stderr=subprocess.DEVNULL) != 0:
        provide(["python3-venv"], "to make .venv")
    say("making .venv with Python %s" % platform.python_version())
    options = ["--clear"] + (["--system-site-packages"] if sourced else [])
    subprocess.run([sys.executable, "-m", "venv"] + options + [VENV], check=True)


def install(parts, sourced):
    """The pinned packages of requirements/<part>.lock, checked by their hashes."""
    say("installing pinned packages (%s)" % ", ".join(parts))
    locks = [os.path.join(ROOT, "requirements", part + ".lock") for part in parts]
    if sourced:  # the sourced ROS was built against its own numpy: what is there stays
        locks = [without_what_is_there(locks)]
    command = [VENV_PYTHON, "-m", "pip", "install", "-qq", "--disable-pip-version-check", "--no-deps"]
    for lock in locks:
        command += ["--require-hashes", "-r", lock]
    subprocess.run(command, check=True)


def without_what_is_there(locks):
    """One lock file of those entries whose distribution the environment does not have yet."""
    listing = "import importlib.metadata as m; print('\\n'.join(d.metadata['Name'] or '' for d in m.distributions()))"
    ran = subprocess.run([VENV_PYTHON, "-c", listing], check=True, stdout=subprocess.PIPE)
    there = {canonical(name) for name in ran.stdout.decode().split()}
    entries = []
    for lock in locks:
        with open(lock) as file:
            entries += re.findall(r"^\S.*?(?=^\S|\Z)", file.read(), re.MULTILINE | re.DOTALL)
    wanted = [entry for entry in dict.fromkeys(entries) if canonical(entry.split("==")[0]) not in there]
    path = os.path.join(VENV, "wanted.lock")
    with open(path, "w") as file:
        file.writelines(wanted)
    return path


def canonical(name):
    return re.sub(r"[-_.]+", "-", name).lower()


def importable(module):
    return subprocess.call([VENV_PYTHON, "-c", "import " + module], stderr=subprocess.DEVNULL) == 0


def build_tf2_msgs():
    """Builds interfaces/tf2_msgs into .venv."""
    say("building tf2_msgs")
    point_generators_here()
    build = os.path.join(VENV, "build", "tf2_msgs")
    shutil.rmtree(build, ignore_errors=True)
    os.makedirs(build)
    environment = dict(os.environ, PATH=os.path.join(VENV, "bin") + os.pathsep + os.environ.get("PATH", ""))
    for name in ("AMENT_PREFIX_PATH", "CMAKE_PREFIX_PATH", "PYTHONPATH", "PYTHONHOME"):
        environment.pop(name, None)
    cmake = os.path.join(VENV, "bin", "cmake")
    configure = [
        cmake,
        "-S",
        os.path.join(ROOT, "interfaces", "tf2_msgs"),
        "-B",
        build,
        "-DCMAKE_INSTALL_PREFIX=" + VENV,
        "-DCMAKE_PREFIX_PATH=" + VENV,
        "-DPython3_EXECUTABLE=" + VENV_PYTHON,
        "-DBUILD_TESTING=OFF",
    ]
    log = os.path.join(VENV, "build", "tf2_msgs.log")
    with open(log, "w") as output:
        for command in (configure, [cmake, "--build", build, "-j2"], [cmake, "--install", build]):
            if subprocess.call(command, env=environment, stdout=output, stderr=subprocess.STDOUT) != 0:
                with open(log) as text:
                    sys.stderr.write("".join(text.readlines()[-30:]))
                raise Stop("tf2_msgs did not build; the whole log is %s" % os.path.relpath(log))
    shutil.rmtree(build)
    if not importable("tf2_msgs.msg"):
        raise Stop("tf2_msgs was built and cannot be imported; the log is %s" % os.path.relpath(log))


def point_generators_here():
    """The wheels' CMake exports name the Python and numpy headers of the machine they were built on."""
    query = "import numpy, sysconfig; print(sysconfig.get_path('include')); print(numpy.get_include())"
    ran = subprocess.run([VENV_PYTHON, "-c", query], check=True, stdout=subprocess.PIPE)
    python_headers, numpy_headers = ran.stdout.decode().splitlines()
    for folder, _, names in os.walk(os.path.join(VENV, "share")):
        for name in names:
            if not name.endswith("rosidl_generator_pyExport.cmake"):
                continue
            path = os.path.join(folder, name)
            with open(path) as file:
                text = file.read()
            here = re.sub(r"/opt/python/[^;\"]*/numpy/_?core/include", numpy_headers, text)
            here = re.sub(r"/opt/python/[^;\"/]*/include/python3\.\d+", python_headers, here)
            if here != text:
                with open(path, "w") as file:
                    file.write(here)


def install_project():
    """sim_node itself, editable, so that a change of the source is a change of the command."""
    say("installing sim_node")
    command = [VENV_PYTHON, "-m", "pip", "install", "-qq", "--disable-pip-version-check", "--no-deps"]
    subprocess.run(command + ["--no-build-isolation", "--editable", ROOT], check=True)


if __name__ == "__main__":
    main(sys.argv[1:])
