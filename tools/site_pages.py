"""Writes the pages of the site that come from the code: the keys of world files, the commands, the Python reference.

Run by `make docs`: .venv/bin/python tools/site_pages.py FOLDER
"""

import argparse
import contextlib
import importlib
import io
import os
import shutil
import sys
from pathlib import Path
from types import ModuleType

from sim_node.cli.commands import GROUPS
from sim_node.cli.main import main as sim_node
from sim_node.world.schema import SCHEMAS

# Public rooms in the order of the reference.
ROOMS = (
    *("", "world", "simulation", "session", "sensors", "frames", "tree", "recording", "nodes", "ecs", "gym", "sweep"),
    *(
        "control",
        "scene",
        "viewing",
        "autopilot",
        "formats",
        "assembly",
        "physics",
        "wire",
        "columns",
        "geometry",
        "tools",
    ),
)
TITLES = {
    "world": (
        "Keys of world files",
        "Every key of [world files](../world-files.md), from the declarations that readers use.",
    ),
    "vehicle": ("Keys of vehicle models", "Every key of the files of [vehicle models](../vehicles.md)."),
}


def write_pages(folder):
    """Write all pages below a folder, which is made anew."""
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "python").mkdir(parents=True)
    for kind, schema in SCHEMAS.items():
        (folder / f"{kind}-file.md").write_text(keys_page(kind, schema()), encoding="utf-8")
    (folder / "commands.md").write_text(commands_page(), encoding="utf-8")
    for room in ROOMS:
        module = f"sim_node.{room}".rstrip(".")
        if not hasattr(importlib.import_module(module), "__all__"):
            sys.exit(f"{module} has no __all__")
        (folder / "python" / f"{room or 'index'}.md").write_text(room_page(module), encoding="utf-8")


def keys_page(kind, schema):
    title, about = TITLES[kind]
    lines = [f"# {title}", "", about, "", f"`sim_node schema {kind}` writes the same as a JSON Schema.", ""]
    known = schema["definitions"]
    for name, form in schema["properties"].items():
        if not form.get("deprecated"):
            lines += [f"## {name}", "", form.get("description", ""), "", *tables(form, known)]
    lines += ["## Shared mappings", ""]
    for name, form in known.items():
        lines += [f"### {name}", "", form.get("description", ""), "", *rows(form, known)]
    return "\n".join(lines) + "\n"


def tables(form, known, path=""):
    """The tables of the mappings in a form that have no name of their own."""
    if form.get("type") == "object" and "properties" in form and "allOf" not in form:
        return [*([f"`{path}`", ""] if path else []), *rows(form, known)]
    found = []
    for inner in inner_forms(form):
        found += tables(inner, known, path)
    return found


def inner_forms(form):
    """The forms that a form consists of."""
    if "items" in form:
        yield form["items"]
    for word in ("anyOf", "allOf"):
        yield from form.get(word, ())
    if "if" in form:
        yield from (form[word] for word in ("then", "else") if word in form)
    if isinstance(form.get("additionalProperties"), dict):
        yield form["additionalProperties"]
    if form.get("type") == "object" and "properties" in form and "allOf" in form:
        yield {key: value for key, value in form.items() if key != "allOf"}


def rows(form, known):
    """A table of the keys of a mapping."""
    required = form.get("required", ())
    lines = ["| Key | Value | Meaning |", "|---|---|---|"]
    inner = []
    for key, value in form["properties"].items():
        needed = " (required)" if key in required else ""
        meaning = value.get("description", known.get(named(value), {}).get("description", ""))
        lines.append(f"| `{key}`{needed} | {cell(shown(value))} | {cell(meaning)} |")
        if named(value) is None:
            inner += [part for each in [value, *inner_forms(value)] for part in nested(key, each, known)]
    return [*lines, "", *inner]


def nested(key, form, known):
    """The table of a mapping within a mapping."""
    return [f"Keys of `{key}`:", "", *rows(form, known)] if "properties" in form and "allOf" not in form else []


def named(form):
    return form["$ref"].rpartition("/")[2] if "$ref" in form else None


def shown(form):
    """A form in a few words."""
    if (name := named(form)) is not None:
        return f"[{name}](#{name.replace(' ', '-').lower()})"
    if "enum" in form:
        words = [
            f"`{'none' if word is None else str(word).lower() if isinstance(word, bool) else word}`"
            for word in form["enum"]
        ]
        return ", ".join(words)
    if "anyOf" in form:
        return " or ".join(dict.fromkeys(filter(None, map(shown, form["anyOf"]))))
    kind = form.get("type")
    if kind == "array":
        least, most = form.get("minItems", 0), form.get("maxItems")
        size = f"{least} " if least and least == most else ""
        inner = shown(form["items"])
        plural = inner.replace("number", "numbers", 1) if inner.startswith(("number", "whole")) else inner
        return f"list of {size}{plural}"
    if kind in ("number", "integer"):
        return ("whole " if kind == "integer" else "") + "number" + limits(form)
    if isinstance(kind, list):
        return " or ".join(kind)
    return {"object": "mapping", "string": "text", "boolean": "`true`, `false`"}.get(kind, "anything")


def limits(form):
    low, high, above = (form.get(word) for word in ("minimum", "maximum", "exclusiveMinimum"))
    words = [f"from {low:g}" if low is not None else "", f"above {above:g}" if above is not None else ""]
    words.append(f"to {high:g}" if high is not None else "")
    return "".join(f" {word}" for word in words if word)


def cell(text):
    return text.replace("|", "\\|")


def commands_page():
    lines = [
        "# Commands",
        "",
        "What each command says with `--help`. [The command line](../command-line.md) explains what they share.",
        "",
    ]
    os.environ["COLUMNS"] = "100"
    for title, words in GROUPS.items():
        lines += [f"## {title.capitalize()}", ""]
        for word in words:
            lines += [f"### {word}", "", "```text", help_of(word).rstrip(), "```", ""]
    return "\n".join(lines)


def help_of(word):
    shown = io.StringIO()
    with contextlib.redirect_stdout(shown), contextlib.suppress(SystemExit):
        sim_node([word, "--help"])
    return shown.getvalue()


def room_page(module):
    room = importlib.import_module(module)
    options = "    options: {show_root_heading: false, show_root_toc_entry: false, members: false}"
    lines = [f"# {module}", "", f"::: {module}", options, ""]
    for name in sorted(room.__all__):
        member = getattr(room, name)
        home = member.__name__ if isinstance(member, ModuleType) else getattr(member, "__module__", None) or module
        if home.partition(".")[0] == "sim_node":
            lines += [f"::: {module}.{name}", ""]
        else:
            lines += [f"## {module}.{name} {{ #{module}.{name} }}", "", f"That of `{home}`.", ""]
    return "\n".join(lines)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path)
    write_pages(parser.parse_args().folder)
