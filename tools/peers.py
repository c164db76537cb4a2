"""Makes .venv/peers/NAME for each requirements/peers/NAME.txt: clients of others, with which tests fly the autopilot.

Each has an environment of its own, since they pin packages that contradict each other's. One that cannot be installed
is named and left out; its tests are skipped then.
"""

import os
import shutil
import subprocess
import sys
import venv

ROOT = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
PINNED = os.path.join(ROOT, "requirements", "peers")
PEERS = os.path.join(ROOT, ".venv", "peers")


def main():
    for name in sorted(os.listdir(PINNED)):
        make(name[: -len(".txt")], os.path.join(PINNED, name))


def make(name, pinned):
    """An environment with exactly the packages of a file, unless it is there already."""
    folder = os.path.join(PEERS, name)
    with open(pinned, encoding="utf-8") as file:
        wanted = "%s\n%s" % (sys.version, file.read())
    stamp = os.path.join(folder, "installed.txt")
    if os.path.exists(stamp):
        with open(stamp, encoding="utf-8") as file:
            if file.read() == wanted:
                return
    shutil.rmtree(folder, ignore_errors=True)
    print("sim_node set-up: client %s" % name, flush=True)
    venv.create(folder, with_pip=True)
    pip = [os.path.join(folder, "bin", "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    if subprocess.call([*pip, "--no-deps", "-r", pinned]):
        shutil.rmtree(folder, ignore_errors=True)
        print("sim_node set-up: client %s cannot be installed; its tests are skipped" % name, flush=True)
        return
    with open(stamp, "w", encoding="utf-8") as file:
        file.write(wanted)


if __name__ == "__main__":
    main()
