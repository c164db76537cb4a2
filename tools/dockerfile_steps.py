"""Runs the steps of a Dockerfile in a folder that holds a root file system, by chroot: no container engine is needed.

As root: python3 tools/dockerfile_steps.py Dockerfile ROOT [ARGUMENT ...], where ROOT comes from debootstrap. ARGUMENTs
are for the entry point; by default, those of CMD. Knows what the Dockerfile uses: ENV, RUN, WORKDIR, COPY ., ENTRYPOINT
and CMD.
"""

import contextlib
import json
import os
import shutil
import subprocess
import sys

# How this machine reaches package indexes, which a container engine is told with --build-arg.
PASSED = ("PIP_INDEX_URL", "PIP_CERT", "http_proxy", "https_proxy")
CERTIFICATES = "/etc/pip-certificates.pem"


def main(dockerfile, root, *given):
    environment = {"HOME": "/root", "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}
    environment.update({name: os.environ[name] for name in PASSED if name in os.environ})
    if "PIP_CERT" in environment:
        shutil.copy(environment["PIP_CERT"], root + CERTIFICATES)
        environment["PIP_CERT"] = CERTIFICATES
    folder, entry, command = "/", [], []
    context = os.path.dirname(os.path.abspath(dockerfile))
    shutil.copy("/etc/resolv.conf", root + "/etc/resolv.conf")
    with open(dockerfile, encoding="utf-8") as lines:
        steps = [line.strip().partition(" ") for line in lines if line.strip() and not line.startswith("#")]
    for word, _, rest in steps:
        if word == "FROM":
            print(f"FROM {rest}: {root} stands for it")
        elif word == "ENV":
            name, _, value = rest.partition("=")
            environment[name] = value
        elif word == "WORKDIR":
            folder = rest
            os.makedirs(root + folder, exist_ok=True)
        elif word == "COPY" and rest.startswith(". "):
            copy(context, root + rest.split()[1])
        elif word == "RUN":
            print(f"RUN {rest}", flush=True)
            in_root(root, folder, environment, ["sh", "-c", rest])
        elif word == "ENTRYPOINT":
            entry = json.loads(rest)
        elif word == "CMD":
            command = json.loads(rest)
        else:
            sys.exit(f"{dockerfile}: {word} {rest}: not known here")
    in_root(root, folder, environment, [*entry, *(given or command)])


def copy(context, target):
    """Copies what git knows: what .dockerignore leaves out is not in git."""
    names = subprocess.check_output(["git", "ls-files", "-z", "--cached"], cwd=context, text=True)
    for name in filter(None, names.split("\0")):
        path = os.path.join(target, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        shutil.copy2(os.path.join(context, name), path)


def in_root(root, folder, environment, words):
    # env finds the program on the PATH of the image.
    variables = [f"{name}={value}" for name, value in environment.items()]
    inside = ["sh", "-c", 'cd "$0" && exec "$@"', folder, "env", "-i", *variables, *words]
    subprocess.run(["chroot", root, *inside], check=True)


@contextlib.contextmanager
def mounted(root):
    """What a container engine mounts: processes and devices."""
    folders = [folder for folder in ("/proc", "/dev") if not os.path.ismount(root + folder)]
    for folder in folders:
        subprocess.run(["mount", "--rbind", folder, root + folder], check=True)
    try:
        yield
    finally:
        for folder in folders:
            subprocess.run(["umount", "--lazy", root + folder], check=True)


if __name__ == "__main__":
    with mounted(sys.argv[2]):
        main(*sys.argv[1:])
