#!/bin/sh
# Pins requirements/*.in to requirements/*.lock for CPython 3.10 and newer, with hashes (needs uv: pip install uv).
set -eu
cd "$(dirname "$0")/../requirements"

lock() {
    part=$1
    shift
    uv pip compile --quiet --universal --python-version 3.10 --generate-hashes --no-emit-index-url \
        --no-header --no-annotate "$@" "$part.in" -o "$part.lock"
}

lock uv
lock core
# lark-parser is an earlier lark: both have the folder lark, and what is installed last wins.
lock ros -c core.lock --no-emit-package lark-parser
lock film -c core.lock
lock elodin -c core.lock
lock learn -c core.lock -c elodin.lock
lock mcp -c core.lock -c elodin.lock
# rerun-sdk names numpy and pillow, fmpy names lark: core.lock has them.
# colcon-core names pytest-cov for a verb that no test uses. Where coverage is installed, numba imports it: 0.08 s for each
# of the thousand programs that tests start.
lock test -c core.lock -c ros.lock -c elodin.lock -c learn.lock -c mcp.lock \
    --no-emit-package coverage --no-emit-package pytest-cov --no-emit-package numpy --no-emit-package pillow --no-emit-package lark
lock ray -c core.lock -c elodin.lock -c test.lock
lock coverage
lock dist
lock docs
lock numpy1
# Installed without numpy, which is that of the sourced ROS 2.
lock elodin1 -c core.lock --no-emit-package numpy
