#!/bin/sh
# Pins requirements/*.in to requirements/*.lock for CPython 3.10 and newer, with hashes (needs uv: pip install uv).
set -eu
cd "$(dirname "$0")/../requirements"
constraints=""
for part in core ros test; do
    # shellcheck disable=SC2086
    uv pip compile --quiet --universal --python-version 3.10 --generate-hashes --no-emit-index-url \
        --no-header --no-annotate $constraints $part.in -o $part.lock
    constraints="$constraints -c $part.lock"
done
