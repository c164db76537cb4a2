"""Makes .venv: the pinned packages, the real rclpy where no ROS 2 is sourced, tf2_msgs, sim_node itself.

Standard library only, and readable by old interpreters: it must be able to say that they are too old.
"""

import ast
import contextlib
import os
import platform
import re
import shutil
import subprocess
import sys
import sysconfig
import time

ROOT = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
VENV = os.path.join(ROOT, ".venv")
VENV_PYTHON = os.path.join(VENV, "bin", "python")
# Removed at the end.
UV = os.path.join(VENV, "uv")
PLUGIN = os.path.join(ROOT, "test", "plugin")
# The folder and the ROS distro that .venv was made for. The Makefile compares it.
MADE_FOR = os.path.join(VENV, ".made-for")
OLDEST, NEWEST = (3, 10), (3, 14)
OLDEST_NUMPY = (1, 26)
# Locks that have another one for numpy 1.
FOR_NUMPY1 = {"elodin": "elodin1"}


class Stop(Exception):
    """The machine lacks something; the message is one line that says what to do."""


def main(parts):
    started = time.monotonic()
    # Set where another Python's ROS wheels have found their libraries; ours would then not look for their own.
    os.environ.pop("_ROS_WHEELS_BOOTSTRAP_COMPLETE", None)
    try:
        interpreter = suitable_interpreter()
        if interpreter != sys.executable:
            os.execv(interpreter, [interpreter, os.path.realpath(__file__), *parts])
        if not os.access(ROOT, os.W_OK):
            raise Stop("%s cannot be written to, and .venv is made there; copy it to where it can" % ROOT)
        sourced = ros_is_sourced()
        if not sourced:
            require_wheel_platform(sys.platform, platform.machine(), platform.libc_ver())
        provide(missing_packages(sourced))
        make_venv(sourced)
        uv = provide_uv()
        install(uv, ["core"] + ([] if sourced else ["ros"]) + parts, sourced)
        with beside(*([] if sourced else [BUILD_TF2_MSGS]), COMPILE_KERNELS):
            install_project(uv)
            if "test" in parts:
                install_plugin(uv)
        shutil.rmtree(UV, ignore_errors=True)
    except Stop as stop:
        sys.exit("sim_node set-up: %s" % stop)
    except subprocess.CalledProcessError as failure:
        sys.exit("sim_node set-up: `%s` failed, its output is above" % " ".join(map(str, failure.cmd[:6])))
    except KeyboardInterrupt:
        sys.exit("sim_node set-up: interrupted; run it again to go on")
    say("done in %.0f s; the command is .venv/bin/sim_node" % (time.monotonic() - started))


def say(text):
    print("sim_node set-up: " + text, flush=True)


# Which Python, which ROS


def suitable_interpreter():
    """This interpreter if it can be used, or another one on this machine."""
    base = base_interpreter()
    if os.environ.get("ROS_DISTRO"):
        return interpreter_of_ros([base, "/usr/bin/python3"])
    if is_suitable(sys.version_info):
        return base
    for minor in range(NEWEST[1], OLDEST[1] - 1, -1):
        found = shutil.which("python3.%d" % minor)
        # A version manager's shim can be on PATH for a version that is not there.
        if found and output_of([found, "-c", ""]) is not None:
            return found
    raise Stop(
        "Python 3.%d to 3.%d is needed and %s is %s; install one and run, for example, `make PYTHON=python3.12`"
        % (OLDEST[1], NEWEST[1], sys.executable, platform.python_version())
    )


def base_interpreter():
    """What is below this interpreter's venv, if any: a venv of a venv does not see the packages of the first."""
    below = os.path.join(sys.base_prefix, "bin", "python%d.%d" % sys.version_info[:2])
    return below if sys.prefix != sys.base_prefix and os.path.exists(below) else sys.executable


def is_suitable(version):
    return OLDEST <= tuple(version[:2]) <= NEWEST


def interpreter_of_ros(candidates):
    """The one that the ROS 2 of this shell was built for: that which can import its rclpy."""
    distro = os.environ["ROS_DISTRO"]
    for python in candidates:
        version = output_of([python, "-c", "import sys, rclpy; print('%d %d' % sys.version_info[:2])"])
        if version and not is_suitable(tuple(map(int, version.split()))):
            raise Stop(
                "Python 3.%d or newer is needed and the ROS 2 %s of this shell has %s; use a newer ROS 2, or a shell "
                "without it" % (OLDEST[1], distro, ".".join(version.split()))
            )
        if version:
            return python
    raise Stop(
        "ROS 2 %s is set up in this shell and %s cannot import its rclpy; run make with its Python (make PYTHON=...), "
        "or in a shell without it" % (distro, " and ".join(sorted(set(candidates))))
    )


def ros_is_sourced():
    """Whether a ROS 2 of the user's own is set up in this shell."""
    found = output_of([sys.executable, "-c", "import rclpy, os; print(os.path.dirname(rclpy.__file__))"])
    if found is None:
        return False
    distro = os.environ.get("ROS_DISTRO", "of unknown distro")
    if output_of([sys.executable, "-c", "import tf2_msgs.msg"]) is None:
        raise Stop("the ROS 2 of this shell has no tf2_msgs; run: sudo apt-get install -y ros-%s-tf2-ros" % distro)
    say("using the ROS 2 that is set up in this shell (%s, %s)" % (distro, found))
    return True


def output_of(command):
    """What a command prints, None where it fails."""
    try:
        ran = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    except OSError:
        return None
    return ran.stdout.decode().strip() if ran.returncode == 0 else None


def require_wheel_platform(system, machine, libc):
    """Raises Stop where rclpy has no wheels: it has for Linux on x86-64 with glibc 2.28 or newer."""
    if system != "linux" or machine != "x86_64" or libc[0] != "glibc":
        raise Stop(
            "rclpy comes from PyPI for Linux on x86-64 with glibc alone and this is %s on %s; install ROS 2 Jazzy, "
            "source its setup.bash and run make again" % (" ".join([system] + [name for name in libc if name]), machine)
        )
    if tuple(map(int, libc[1].split(".")[:2])) < (2, 28):
        raise Stop("glibc 2.28 or newer is needed and this is %s" % libc[1])


# What the system must have


def missing_packages(sourced):
    """The Debian packages that this set-up still lacks."""
    missing = []
    if not sourced and not is_importable("tf2_msgs.msg"):
        if not any(shutil.which(name) for name in (os.environ.get("CXX", "c++"), "g++", "clang++")):
            missing.append("g++")
        if not os.path.exists(os.path.join(sysconfig.get_path("include"), "Python.h")):
            missing.append("python3.%d-dev" % sys.version_info[1])
    if not venv_is_ours(sourced) and output_of([sys.executable, "-c", "import ensurepip, venv"]) is None:
        missing.append("python3.%d-venv" % sys.version_info[1])
    return missing


def provide(packages):
    """Installs Debian packages where this is root (a container), else says the command that does."""
    if not packages:
        return
    names = " ".join(packages)
    if not shutil.which("apt-get"):
        raise Stop("missing: what Debian calls %s; install it and run make again" % names)
    if os.geteuid() != 0:
        raise Stop("missing: %s; run: sudo apt-get update && sudo apt-get install -y %s" % (names, names))
    say("installing " + names)
    environment = dict(os.environ, DEBIAN_FRONTEND="noninteractive")
    apt = ["apt-get", "-q", "-y", "-o", "Dpkg::Use-Pty=0", "-o", "DPkg::Lock::Timeout=120"]
    for command in ([*apt, "update"], [*apt, "install", "--no-install-recommends", *packages]):
        ran = subprocess.run(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if ran.returncode != 0:
            sys.stderr.write(ran.stdout.decode(errors="replace"))
            raise Stop("apt-get could not install %s, its output is above" % names)


# .venv and what is in it


def made_for():
    return " ".join([ROOT, os.environ.get("ROS_DISTRO", "")]).strip()


def venv_is_ours(sourced):
    """Whether .venv is whole, and made by this Python for this folder and this ROS."""
    if output_of([VENV_PYTHON, "-c", "import pip, sys; print(sys.version)"]) != sys.version:
        return False
    with_site = "include-system-site-packages = true" in read(os.path.join(VENV, "pyvenv.cfg"))
    return with_site == sourced and os.path.exists(MADE_FOR) and read(MADE_FOR).strip() == made_for()


def make_venv(sourced):
    """A venv of this interpreter; an unfinished or foreign one is made anew."""
    if venv_is_ours(sourced):
        return
    anew = ", anew: it was unfinished, or made for another folder, Python or ROS" if os.path.exists(VENV) else ""
    say("making .venv with Python %s%s" % (platform.python_version(), anew))
    options = ["--clear"] + (["--system-site-packages"] if sourced else [])
    subprocess.run([sys.executable, "-m", "venv", *options, VENV], check=True)
    write(MADE_FOR, made_for() + "\n")


def provide_uv():
    """The path of uv, which takes a fifth of pip's time; None where it cannot be had."""
    command = [*PIP_INSTALL, "--retries=1", "--target", UV, "--upgrade", "--require-hashes", "-r", lock_of("uv")]
    ran = subprocess.run(command, env=without_others(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return os.path.join(UV, "bin", "uv") if ran.returncode == 0 else None


def install(uv, parts, sourced):
    """The pinned packages of requirements/<part>.lock, checked by their hashes.

    Python compiles their modules when they are first imported: most are not.
    """
    say("installing pinned packages (%s)" % ", ".join(parts))
    locks = with_numpy_of_ros(parts) if sourced else [lock_of(part) for part in parts]
    install_exactly(uv, ["--require-hashes"] + [word for lock in locks for word in ("-r", lock)])


def lock_of(part):
    return os.path.join(ROOT, "requirements", part + ".lock")


def with_numpy_of_ros(parts):
    """The locks without numpy: the modules of a sourced ROS 2 were built against its own.

    Where that is older than sim_node can use, numpy 1.26 takes its place, which runs modules built against any
    older numpy 1; numpy 2 does not.
    """
    there = output_of([VENV_PYTHON, "-c", "import numpy; print(numpy.__version__)"])
    version = tuple(map(int, there.split(".")[:2])) if there else (0, 0)
    kept = version >= OLDEST_NUMPY
    entries = [] if kept else lock_entries(lock_of("numpy1"))
    for part in parts:
        lock = lock_of(FOR_NUMPY1.get(part, part) if version < (2, 0) else part)
        entries += [entry for entry in lock_entries(lock) if not entry.startswith("numpy==")]
    path = os.path.join(VENV, "wanted.lock")
    write(path, "".join(dict.fromkeys(entries)))
    return [path]


def lock_entries(path):
    """The requirements of a lock file, each with its hashes."""
    return re.findall(r"^\S.*?(?=^\S|\Z)", read(path), re.MULTILINE | re.DOTALL)


def install_project(uv):
    """sim_node itself, editable, so that a change of the source is a change of the command."""
    say("installing sim_node")
    install_exactly(uv, ["--no-build-isolation", "--editable", ROOT])


def install_plugin(uv):
    """The plug-in that the tests use, in a folder of its own: most tests are about sim_node without one."""
    say("installing the tests' plug-in")
    site, copy = os.path.join(VENV, "plugins"), os.path.join(VENV, "build", "plugin")
    for folder in (site, copy):
        shutil.rmtree(folder, ignore_errors=True)
    # A build leaves folders beside the sources, which would get into a release.
    shutil.copytree(PLUGIN, copy, ignore=shutil.ignore_patterns("build", "*.egg-info", "__pycache__"))
    install_exactly(uv, ["--no-build-isolation", "--target", site, copy])
    shutil.rmtree(copy)


PIP_INSTALL = [VENV_PYTHON, "-m", "pip", "install", "--disable-pip-version-check", "--no-compile", "--no-deps"]
# What uv calls pip's settings.
UV_SETTINGS = {
    "index-url": "UV_DEFAULT_INDEX",
    "extra-index-url": "UV_INDEX",
    "find-links": "UV_FIND_LINKS",
    "no-index": "UV_NO_INDEX",
    "trusted-host": "UV_INSECURE_HOST",
    "cert": "SSL_CERT_FILE",
    "proxy": "ALL_PROXY",
}


def install_exactly(uv, arguments):
    """Install into .venv exactly what is named: by uv, or by pip where there is no uv or it fails, which says why."""
    quick = uv and [uv, "pip", "install", "--quiet", "--python", VENV_PYTHON, "--no-config", "--no-deps", *arguments]
    if quick and subprocess.call(quick, env=uv_environment(), stderr=subprocess.DEVNULL) == 0:
        return
    if subprocess.call([*PIP_INSTALL, "-qq", *arguments], env=without_others()) != 0:
        raise Stop("pip failed, its message is above (no network, or a proxy: see docs/installation.md)")


def uv_environment():
    """The environment with pip's settings, from its files and variables, as uv reads them."""
    # Of hashed pins, it does not matter which index they come from.
    environment = dict(without_others(), UV_INDEX_STRATEGY="unsafe-best-match")
    settings = output_of([VENV_PYTHON, "-m", "pip", "config", "list"]) or ""
    found = re.findall(r"^(global|install|:env:)\.(\S+)=(.*)$", settings, re.MULTILINE)
    for _, name, value in sorted(found, key=lambda setting: setting[0] == ":env:"):  # variables count more than files
        if name in UV_SETTINGS:
            separator = "," if name == "find-links" else " "
            environment[UV_SETTINGS[name]] = separator.join(ast.literal_eval(value).split())
    return environment


def without_others():
    """The environment without what leads to packages of a sourced ROS 2: they are not there to be counted."""
    environment = dict(os.environ, PIP_USER="0")
    environment.pop("PYTHONPATH", None)
    return environment


# tf2_msgs is the only message package that PyPI lacks. Kernels are compiled when they are imported, those that fly
# vehicles at their first call.
BUILD_TF2_MSGS = [VENV_PYTHON, "-m", "sim_node", "build", "tf2_msgs"]
KERNELS = ("spatial.frames.kernels", "spatial.tree.transform_tree", "simulation.sensors.kernels")
KERNELS += ("simulation.sensors.odometry_kernels", "simulation.physics.kinematics")
FLIGHT = "from sim_node.simulation import Simulation; from sim_node.world import load; "
FLIGHT += "run = Simulation(load('quadrotor')); run.run(0.1); run.present()"
COMPILE_KERNELS = [VENV_PYTHON, "-c", "".join("import sim_node.%s; " % room for room in KERNELS) + FLIGHT]


@contextlib.contextmanager
def beside(*commands):
    """Run commands beside the block, and wait for them at its end."""
    say("building messages, compiling kernels")
    running = [subprocess.Popen(command, cwd=ROOT) for command in commands]
    try:
        yield
        for process in running:
            if process.wait() != 0:
                raise subprocess.CalledProcessError(process.returncode, process.args)
    finally:
        for process in running:
            process.kill()


def is_importable(module):
    return output_of([VENV_PYTHON, "-c", "import " + module]) is not None


def read(path):
    with open(path) as file:
        return file.read()


def write(path, text):
    with open(path, "w") as file:
        file.write(text)


if __name__ == "__main__":
    main(sys.argv[1:])
